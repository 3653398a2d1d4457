"""Nothing that is compiled keeps the user's objects alive; threads share compiled objects safely."""

import gc
import threading
import weakref

import pytest
import torch
from torch import nn

import supple

X = torch.ones(2, 3)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


def is_freed(ref: "weakref.ref[object]") -> bool:
    gc.collect()
    return ref() is None


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("grad", [True, False])
def test_a_deleted_model_is_freed(backend: str, grad: bool) -> None:
    net = Net()
    compiled = supple.compile(net, backend=backend)
    with torch.set_grad_enabled(grad):
        compiled(X)
    refs = [weakref.ref(net), weakref.ref(net.layer.weight)]
    del net, compiled
    assert [is_freed(ref) for ref in refs] == [True, True]


@pytest.mark.parametrize("backend", ["native", "eager"])
def test_a_model_that_was_an_argument_is_freed(backend: str) -> None:
    @supple.compile(backend=backend)
    def apply(net: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return net(x) + 1

    net = Net()
    with torch.no_grad():
        apply(net, X)
    refs = [weakref.ref(net), weakref.ref(net.layer.weight)]
    del net
    assert [is_freed(ref) for ref in refs] == [True, True]


def test_tensors_of_a_call_are_freed() -> None:
    compiled = supple.compile(lambda x: x * 2)
    x = torch.ones(3)
    y = compiled(x)
    refs = [weakref.ref(x), weakref.ref(y)]
    del x, y
    assert [is_freed(ref) for ref in refs] == [True, True]


def test_an_entry_goes_with_an_object_known_by_identity() -> None:
    @supple.compile(backend="eager")
    def called(f: object, x: torch.Tensor) -> torch.Tensor:
        return x + 1 if f is not None else x

    def make() -> object:
        return lambda: None

    function = make()
    called(function, X)
    ref = weakref.ref(function)
    del function
    assert is_freed(ref)
    assert torch.equal(called(None, X), X)


def test_a_compiled_function_is_freed() -> None:
    def make() -> object:
        def mine(x: torch.Tensor) -> torch.Tensor:
            return x + 1

        return mine

    function = make()
    compiled = supple.compile(function, backend="eager")  # type: ignore[type-var]
    compiled(X)  # type: ignore[operator]
    ref = weakref.ref(function)
    del function, compiled
    assert is_freed(ref)
    assert supple.stats()["entries"] == 0


def test_threads_that_call_at_once_get_right_results() -> None:
    @supple.compile(backend="eager")
    def scaled(x: torch.Tensor, n: int) -> torch.Tensor:
        return torch.relu(x) * n

    gate = threading.Barrier(4)
    wrong: list[object] = []

    def work(number: int) -> None:
        gate.wait()
        for place in range(30):
            n = (number + place) % 3
            found = scaled(X, n)
            if not torch.equal(found, X * n):
                wrong.append((number, n, found))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert supple.stats()["compilations"] == 2


def test_threads_that_compile_different_functions_at_once_get_right_results() -> None:
    functions = [supple.compile(lambda x, n=n: torch.softmax(x * n, -1) + n) for n in range(4)]
    gate = threading.Barrier(4)
    wrong: list[int] = []

    def work(number: int) -> None:
        gate.wait()
        x = torch.arange(12.0).reshape(3, 4)
        expected = torch.softmax(x * number, -1) + number
        if not torch.allclose(functions[number](x), expected):
            wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert supple.stats()["fallbacks"] == 0


def test_a_function_may_call_itself() -> None:
    @supple.compile(backend="eager")
    def power(x: torch.Tensor, n: int) -> torch.Tensor:
        return x if n == 0 else power(x, n - 1) * 2

    assert torch.equal(power(X, 3), X * 8)
