"""supple.compile: all ways to call it, what it returns, what it refuses."""

import copy
import functools
import inspect
import pickle

import pytest
import torch
from torch import nn

import supple
from supple.errors import InvalidBackendError, OptionsError

X = torch.tensor([1.0, 2.0, 3.0])


def scaled(x: torch.Tensor, n: int = 2) -> torch.Tensor:
    """Scale."""
    return x * n


class Owner:
    n = 3

    def method(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.n

    @supple.compile(backend="eager")
    def decorated(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.n

    @classmethod
    @supple.compile(backend="eager")
    def of_class(cls, x: torch.Tensor) -> torch.Tensor:
        return x * cls.n

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.n


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.note = "mine"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)

    def double_note(self) -> str:
        return self.note * 2


def graphs() -> object:
    return supple.stats()["graphs"]


def test_a_call_compiles_a_function() -> None:
    compiled = supple.compile(scaled, backend="eager")
    assert torch.equal(compiled(X, n=5), X * 5)
    assert graphs() == 1


def test_a_bare_decorator_compiles() -> None:
    @supple.compile
    def mine(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    assert torch.equal(mine(X), X + 1)
    assert graphs() == 1


def test_a_decorator_with_arguments_compiles() -> None:
    @supple.compile(backend="eager", fullgraph=True)
    def mine(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    assert torch.equal(mine(X), X + 1)
    assert graphs() == 1


def test_a_compiled_function_keeps_its_name_signature_and_original() -> None:
    compiled = supple.compile(scaled)
    assert compiled.__name__ == "scaled"
    assert compiled.__doc__ == "Scale."
    assert inspect.signature(compiled) == inspect.signature(scaled)
    assert compiled.orig is scaled  # type: ignore[attr-defined]


def test_compiling_again_compiles_the_original() -> None:
    once = supple.compile(scaled)
    assert supple.compile(once).orig is scaled  # type: ignore[attr-defined]


def test_methods_are_compiled() -> None:
    owner = Owner()
    assert torch.equal(supple.compile(owner.method, backend="eager")(X), X * 3)
    assert torch.equal(owner.decorated(X), X * 3)
    assert torch.equal(Owner.of_class(X), X * 3)
    assert graphs() == 3


def test_a_compiled_method_sees_its_owner() -> None:
    one, two = Owner(), Owner()
    two.n = 7
    assert torch.equal(one.decorated(X), X * 3)
    assert torch.equal(two.decorated(X), X * 7)


def test_objects_with_call_and_partials_are_compiled() -> None:
    assert torch.equal(supple.compile(Owner(), backend="eager")(X), X + 3)
    assert torch.equal(supple.compile(functools.partial(scaled, n=4), backend="eager")(X), X * 4)
    assert graphs() == 2


def test_a_function_written_in_c_stays_as_it_is() -> None:
    assert supple.compile(len) is len


def test_lambdas_and_closures_are_compiled() -> None:
    made = [supple.compile(lambda x, n=n: x * n, backend="eager") for n in (2, 3)]
    assert [one(X)[0].item() for one in made] == [2, 3]


@pytest.mark.parametrize("backend", ["native", "eager"])
def test_a_compiled_module_gives_the_result_of_the_original(backend: str) -> None:
    net = Net()
    compiled = supple.compile(net, backend=backend, fullgraph=True)
    with torch.no_grad():
        torch.testing.assert_close(compiled(X), net(X))
    assert graphs() == 1


def test_a_compiled_module_is_the_original_but_for_its_call() -> None:
    net = Net()
    compiled = supple.compile(net)
    assert isinstance(compiled, nn.Module)
    assert compiled.orig is net
    assert compiled.note == "mine"
    assert compiled.double_note() == "minemine"
    assert list(compiled.state_dict()) == ["layer.weight", "layer.bias"]
    assert [name for name, _ in compiled.named_parameters()] == ["layer.weight", "layer.bias"]
    assert next(iter(compiled.parameters())) is net.layer.weight
    assert "Net" in repr(compiled)
    compiled.note = "yours"
    assert net.note == "yours"
    del compiled.note
    assert not hasattr(net, "note")


def test_modes_and_conversions_act_on_the_original_and_return_the_wrapper() -> None:
    net = Net()
    compiled = supple.compile(net)
    assert compiled.eval() is compiled
    assert not net.training
    assert compiled.train().training
    assert compiled.to(torch.float64) is compiled
    assert net.layer.weight.dtype is torch.float64
    assert compiled.half() is compiled
    assert compiled.requires_grad_(False) is compiled
    assert not net.layer.weight.requires_grad


def test_state_loads_into_the_original() -> None:
    net, other = Net(), Net()
    supple.compile(net).load_state_dict(other.state_dict())
    assert torch.equal(net.layer.weight, other.layer.weight)


def test_hooks_on_the_wrapper_are_hooks_on_the_original() -> None:
    net = Net()
    compiled = supple.compile(net, backend="eager")
    compiled.register_forward_hook(lambda module, args, output: output + 100)
    assert torch.equal(compiled(X), net(X))
    assert (compiled(X) > 50).all()


def test_a_copy_is_compiled_and_independent() -> None:
    net = Net()
    compiled = supple.compile(net, backend="eager")
    copied = copy.deepcopy(compiled)
    assert copied.orig is not net
    with torch.no_grad():
        net.layer.weight.zero_()
    assert torch.equal(copied(X), copied.orig(X))
    assert not torch.equal(copied(X), compiled(X))


def test_a_compiled_module_is_pickled() -> None:
    compiled = supple.compile(nn.Linear(3, 3), backend="eager")
    loaded = pickle.loads(pickle.dumps(compiled))
    assert type(loaded) is type(compiled)
    assert torch.equal(loaded(X), compiled(X))


def test_a_compiled_module_is_a_part_of_others() -> None:
    outer = nn.Sequential(supple.compile(Net()), nn.ReLU())
    assert list(outer.state_dict()) == ["0.layer.weight", "0.layer.bias"]
    outer.eval()
    assert not outer[0].orig.training
    assert torch.equal(supple.compile(outer, backend="eager", fullgraph=True)(X), outer(X))


def test_compiled_functions_inside_compiled_functions_are_one_graph() -> None:
    inner = supple.compile(scaled, backend="eager")
    module = supple.compile(nn.ReLU(), backend="eager")

    @supple.compile(backend="eager", fullgraph=True)
    def outer(x: torch.Tensor) -> torch.Tensor:
        return module(inner(x)) + 1

    assert torch.equal(outer(X), X * 2 + 1)
    assert graphs() == 1


def test_two_compilations_of_one_function_have_their_own_entries() -> None:
    counters = [supple.testing.CompileCounter() for _ in range(2)]
    for counter in counters:
        supple.compile(scaled, backend=counter)(X)
    assert [counter.graphs for counter in counters] == [1, 1]


def test_disable_returns_the_object_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    assert supple.compile(scaled, disable=True) is scaled
    assert supple.compile(disable=True)(scaled) is scaled
    for name in ("SUPPLE_DISABLE", "TORCH_COMPILE_DISABLE"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "1")
            assert supple.compile(scaled) is scaled


def test_a_class_is_refused() -> None:
    with pytest.raises(TypeError, match="Net is a class: compile an instance"):
        supple.compile(Net)


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(TypeError, match="only something that can be called"):
        supple.compile(3)  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"mode": "default", "options": {}}, "exclude each other"),
        ({"mode": "fastest"}, "unknown mode 'fastest'; known modes are default, reduce-overhead"),
        ({"options": {"speed": 3}}, "unknown option 'speed'; known options are recompile_limit"),
        ({"options": {"fusion": 3}}, "option 'fusion' takes a bool"),
    ],
)
def test_arguments_are_checked_at_once(arguments: dict[str, object], text: str) -> None:
    with pytest.raises(OptionsError, match=text) as raised:
        supple.compile(**arguments)  # type: ignore[call-overload]
    assert isinstance(raised.value, RuntimeError)


@pytest.mark.parametrize("mode", ["default", "reduce-overhead", "max-autotune", None])
@pytest.mark.parametrize("dynamic", [None, True, False])
def test_modes_and_dynamic_are_accepted(mode: str | None, dynamic: bool | None) -> None:
    assert torch.equal(supple.compile(scaled, backend="eager", mode=mode, dynamic=dynamic)(X), X * 2)


def test_backends_are_registered_by_name() -> None:
    counter = supple.testing.CompileCounter()
    supple.register_backend("counting", counter)
    assert {"native", "eager", "counting"} <= set(supple.list_backends())
    assert torch.equal(supple.compile(scaled, backend="counting")(X), X * 2)
    assert counter.graphs == 1

    @supple.register_backend("decorated")
    def decorated(gm: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> object:
        return gm.forward

    assert torch.equal(supple.compile(scaled, backend="decorated")(X), X * 2)
    assert "decorated" in supple.list_backends()


def test_built_in_backends_are_not_replaced() -> None:
    with pytest.raises(InvalidBackendError, match="built in"):
        supple.register_backend("native", supple.testing.CompileCounter())


def test_is_compiling_is_true_inside_captured_code_only() -> None:
    def asks(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if supple.is_compiling() and torch.compiler.is_compiling() else x - 1

    assert not supple.is_compiling()
    assert torch.equal(asks(X), X - 1)
    assert torch.equal(supple.compile(asks, backend="eager", fullgraph=True)(X), X + 1)


def test_a_disabled_function_runs_as_it_is() -> None:
    @supple.disable(reason="it prints")
    def plain(x: torch.Tensor) -> torch.Tensor:
        return x - 1 if not supple.is_compiling() else x

    assert torch.equal(supple.compile(lambda x: plain(x) * 2, backend="eager")(X), (X - 1) * 2)
    assert supple.compile(plain) is plain


def test_a_disabled_module_runs_as_it_is() -> None:
    net = supple.disable(Net())
    assert isinstance(net, Net)
    assert torch.equal(supple.compile(lambda x: net(x) * 2, backend="eager")(X), net(X) * 2)
    assert supple.stats()["breaks"] == 1


def test_reset_forgets_entries_and_counts() -> None:
    compiled = supple.compile(scaled, backend="eager")
    compiled(X)
    assert supple.stats()["entries"] == 1
    supple.reset()
    assert (supple.stats()["entries"], graphs()) == (0, 0)
    compiled(X)
    assert graphs() == 1


def test_the_statistics_name_what_happened() -> None:
    compiled = supple.compile(scaled)
    compiled(X)
    compiled(X, 3)
    stats = supple.stats()
    assert (stats["graphs"], stats["recompiles"], stats["entries"], stats["ops"]) == (2, 1, 2, 2)
    assert "L['n'] was 2, is 3" in stats["recompile_reasons"][0]  # type: ignore[index]
    assert {"capture", "guards", "autograd", "schedule", "codegen", "load"} <= set(stats["times"])  # type: ignore[call-overload]
    assert stats["kernels"] == len(stats["fused"])  # type: ignore[arg-type]
    assert all(seconds >= 0 for seconds in stats["times"].values())  # type: ignore[attr-defined]


def test_equal_graphs_are_built_once() -> None:
    first, second = supple.compile(lambda x: x * 3 + 1), supple.compile(lambda y: y * 3 + 1)
    first(X)
    kernels = supple.stats()["kernels"]
    second(X)
    assert supple.stats()["graphs"] == 2
    assert supple.stats()["kernels"] == kernels
