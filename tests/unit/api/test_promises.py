"""Promises about functions: nodes as they are, constant results, polyfills; those to torch count too."""

import binascii
import math
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import supple
from supple.testing import CompileCounterWithBackend

X = torch.arange(4.0)


@pytest.fixture
def counter() -> Iterator[CompileCounterWithBackend]:
    yield CompileCounterWithBackend("eager")
    supple.reset()


@supple.allow_in_graph
def opaque(x: torch.Tensor, by: int = 2) -> torch.Tensor:
    numbers = []
    for i in range(by):
        numbers.append(x * i)
    return sum(numbers, torch.zeros(()))


# X-ESC01
def test_a_function_allowed_in_graphs_is_one_node(counter: CompileCounterWithBackend) -> None:
    compiled = supple.compile(lambda x: opaque(x, by=3) + 1, backend=counter, fullgraph=True)
    assert torch.equal(compiled(X), opaque(X, 3) + 1)
    assert counter.op_count == 2
    native = supple.compile(lambda x: opaque(x, by=3) + 1, fullgraph=True)
    assert torch.equal(native(X), opaque(X, 3) + 1)


# X-ESC01
def test_gradients_flow_through_a_function_allowed_in_graphs() -> None:
    compiled = supple.compile(lambda x: opaque(x, by=3) + 1, fullgraph=True)
    w = X.clone().requires_grad_()
    compiled(w).sum().backward()
    assert torch.equal(w.grad, torch.full((4,), 3.0))


def scaled(by: float) -> Callable[[torch.Tensor], torch.Tensor]:
    def scale(x: torch.Tensor) -> torch.Tensor:
        return x * by

    return scale


# X-ESC01
def test_an_allowed_function_is_told_from_another_with_its_code() -> None:
    one, two, other = supple.allow_in_graph(scaled(2)), supple.allow_in_graph(scaled(3)), scaled(5)
    compiled = supple.compile(lambda f, x: f(x), backend="eager")
    for function in (one, two, other, one):
        assert torch.equal(compiled(function, X), function(X))


# X-ESC01
def test_what_torch_allows_in_graphs_is_allowed(counter: CompileCounterWithBackend) -> None:
    function = torch.compiler.allow_in_graph(scaled(7))
    compiled = supple.compile(lambda x: function(x) + 1, backend=counter, fullgraph=True)
    assert torch.equal(compiled(X), X * 7 + 1)
    assert "scale" in str(counter.seen[0].graph)


calls: list[int] = []


@supple.assume_constant_result
def looked_up(key: str) -> int:
    calls.append(zlib.crc32(key.encode()))
    return len(calls)


# X-ESC06
def test_an_assumed_constant_is_asked_once(counter: CompileCounterWithBackend) -> None:
    calls.clear()
    compiled = supple.compile(lambda x: x + looked_up("a"), backend=counter, fullgraph=True)
    assert [compiled(X)[0].item() for _ in range(3)] == [1, 1, 1]
    assert len(calls) == 1


class Settings:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    @supple.assume_constant_result
    def table(self) -> torch.Tensor:
        return torch.full((4,), self.scale)


# X-ESC06
def test_an_assumed_constant_may_be_a_tensor_of_an_object() -> None:
    compiled = supple.compile(lambda s, x: x * s.table(), backend="eager", fullgraph=True)
    for scale in (2.0, 3.0):
        settings = Settings(scale)
        assert torch.equal(compiled(settings, X), X * scale)


# X-ESC06
def test_what_torch_assumes_constant_is_constant() -> None:
    count: list[int] = []

    def counted() -> int:
        count.append(1)
        return len(count)

    function: Any = torch.compiler.assume_constant_result(counted)
    compiled = supple.compile(lambda x: x + function(), backend="eager", fullgraph=True)
    assert compiled(X)[0] == compiled(X)[0] == 1


@supple.substitute_in_graph(binascii.crc_hqx, skip_signature_check=True)
def crc_hqx(data: bytes, value: int) -> int:
    return len(data) + value


# X-ESC05
def test_a_polyfill_is_captured_in_place_of_a_function_in_c() -> None:
    compiled = supple.compile(lambda x: x + binascii.crc_hqx(b"abc", 1), backend="eager", fullgraph=True)
    assert compiled(X)[0] == 4


# X-ESC05
def test_what_torch_substitutes_is_substituted() -> None:
    @torch.compiler.substitute_in_graph(zlib.adler32, skip_signature_check=True)
    def adler32(data: bytes, value: int = 1) -> int:
        return len(data) * value

    compiled = supple.compile(lambda x: x + zlib.adler32(b"abc", 2), backend="eager", fullgraph=True)
    assert compiled(X)[0] == 6


# X-ESC05
def test_substitutes_are_checked() -> None:
    with pytest.raises(TypeError, match="other arguments"):
        supple.substitute_in_graph(math.nextafter)(lambda x: x)
    with pytest.raises(TypeError, match="only functions"):
        supple.substitute_in_graph(int)
    with pytest.raises(TypeError, match="Python function"):
        supple.substitute_in_graph(math.nextafter)(math.ulp)
    with pytest.raises(ValueError, match="rule already"):
        supple.substitute_in_graph(len)(lambda obj, /: 3)
    with pytest.raises(TypeError, match="can be called"):
        supple.allow_in_graph(3)
