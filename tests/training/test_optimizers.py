"""`torch.optim` steps compiled whole: parameters and state as eager's, one graph once state exists."""

import copy
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import pytest
import torch
from torch import nn, optim

import supple
from supple.torch_private import FOREACH

OPTIONS: dict[str, tuple[Callable[..., optim.Optimizer], dict[str, Any]]] = {
    "sgd": (optim.SGD, {}),
    "sgd momentum": (optim.SGD, {"momentum": 0.9, "dampening": 0.2, "weight_decay": 0.1}),
    "sgd nesterov": (optim.SGD, {"momentum": 0.9, "nesterov": True, "maximize": True}),
    "adam": (optim.Adam, {}),
    "adam amsgrad": (optim.Adam, {"amsgrad": True, "weight_decay": 0.1}),
    "adamw": (optim.AdamW, {"weight_decay": 0.2}),
    "rmsprop": (optim.RMSprop, {}),
    "rmsprop centered": (optim.RMSprop, {"momentum": 0.9, "centered": True, "weight_decay": 0.1}),
    "adagrad": (optim.Adagrad, {}),
    "adagrad decay": (
        optim.Adagrad,
        {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.3},
    ),
    "adamax": (optim.Adamax, {"weight_decay": 0.1}),
    "adadelta": (optim.Adadelta, {}),
}

PARTS = [torch.full((2, 3), 2.0), torch.full((4,), 3.0)]
OPERANDS: dict[str, list[Any]] = {
    "addcmul": [PARTS, PARTS, torch.tensor([0.5, 2.0])],
    "addcdiv": [PARTS, PARTS, [0.5, 2.0]],
    "lerp": [PARTS, 0.25],
    "copy": [PARTS],
    "add": [torch.tensor(2.0)],
    "mul": [PARTS],
    "norm": [1],
}
"""What operators on lists take after the first list, where they take more than one number."""


class Pair:
    """Equal parameters with an optimizer each: the first steps compiled, the second by eager."""

    def __init__(self, make: Callable[..., optim.Optimizer], **options: Any) -> None:
        torch.manual_seed(0)
        shapes = [(4, 3), (3,), (), (4, 3)]
        values = [torch.randn(shape) for shape in shapes]
        self.parameters = [[nn.Parameter(value.clone()) for value in values] for _ in range(2)]
        options.setdefault("lr", 0.05)
        self.optimizers = [make(parameters, **options) for parameters in self.parameters]
        self.compiled = supple.compile(self.optimizers[0].step)

    def __iter__(self) -> Iterator[tuple[nn.Parameter, nn.Parameter]]:
        return zip(*self.parameters, strict=True)

    def step(self, without: tuple[int, ...] = ()) -> None:
        """Give both the same gradients, none to some, and step."""
        for place, (left, right) in enumerate(self):
            left.grad = None if place in without else torch.randn_like(left)
            right.grad = None if left.grad is None else left.grad.clone()
        self.compiled()
        self.optimizers[1].step()

    def check(self) -> None:
        """Compare parameters, state and gradients."""
        compiled, eager = (optimizer.state_dict() for optimizer in self.optimizers)
        torch.testing.assert_close(compiled["state"], eager["state"], rtol=1e-5, atol=1e-6)
        assert compiled["param_groups"] == eager["param_groups"]
        for left, right in self:
            torch.testing.assert_close(left, right, rtol=1e-5, atol=1e-6)
            torch.testing.assert_close(left.grad, right.grad, rtol=1e-5, atol=1e-6)
            assert left.is_leaf
            assert left.requires_grad


@pytest.mark.parametrize("foreach", [None, True])
@pytest.mark.parametrize("name", OPTIONS)
def test_five_steps_are_as_eager(name: str, foreach: bool | None) -> None:
    # TRN02
    make, options = OPTIONS[name]
    pair = Pair(make, foreach=foreach, **options)
    for _ in range(5):
        pair.step(without=(3,))
        pair.check()
    stats = supple.stats()
    assert not stats["breaks"]
    assert not stats["refusals"]
    assert not stats["fallbacks"]
    assert stats["graphs"] in (1, 2)


def test_what_changes_between_steps_is_seen() -> None:
    pair = Pair(optim.AdamW, weight_decay=0.1)

    def both(act: Callable[[optim.Optimizer, list[nn.Parameter]], object]) -> None:
        for optimizer, parameters in zip(pair.optimizers, pair.parameters, strict=True):
            act(optimizer, parameters)
        for _ in range(2):
            pair.step()
            pair.check()

    def leave(optimizer: optim.Optimizer, parameters: list[nn.Parameter]) -> None:
        optimizer.state.pop(parameters[3])
        del optimizer.param_groups[0]["params"][3]

    saved = [copy.deepcopy(optimizer.state_dict()) for optimizer in pair.optimizers]
    both(lambda optimizer, _: optimizer.param_groups[0].update(lr=0.01, betas=(0.5, 0.9)))
    state = [copy.deepcopy(optimizer.state_dict()) for optimizer in pair.optimizers]
    both(lambda optimizer, _: optimizer.param_groups[0].update(weight_decay=0.0, amsgrad=False))
    both(lambda optimizer, _: optimizer.load_state_dict(state.pop(0)))
    both(lambda optimizer, _: optimizer.load_state_dict(saved.pop(0)))
    both(lambda _, parameters: setattr(parameters[1], "data", parameters[1].data * 2))
    both(lambda optimizer, parameters: optimizer.state[parameters[0]]["exp_avg"].zero_())
    both(lambda optimizer, parameters: optimizer.state.pop(parameters[2]))
    both(leave)
    both(lambda optimizer, parameters: optimizer.add_param_group({"params": [parameters[3]], "lr": 0.2}))


def test_parameters_take_part_when_they_have_gradients() -> None:
    pair = Pair(optim.Adam, lr=0.1)
    for without in ((), (0,), (1, 2), (), (0, 1, 2, 3), (2,)):
        pair.step(without)
        pair.check()


def test_frozen_and_shared_parameters_step_as_eager() -> None:
    pair = Pair(optim.SGD, momentum=0.9)
    for is_frozen in (False, True, False):
        for parameters in pair.parameters:
            parameters[0].requires_grad_(not is_frozen)
        pair.step()
        for left, right in pair:
            torch.testing.assert_close(left, right, rtol=1e-5, atol=1e-6)
            assert left.requires_grad == right.requires_grad
    for parameters in pair.parameters:
        flat = torch.zeros(100)
        for place, parameter in enumerate(parameters):
            part = flat[20 * place : 20 * place + parameter.numel()].view(parameter.shape)
            parameter.data = part.copy_(parameter.data)
    for _ in range(2):
        pair.step()
        pair.check()


def test_each_write_counts_as_one() -> None:
    pair = Pair(optim.AdamW)

    def versions(place: int) -> list[int]:
        states = [pair.optimizers[place].state[parameter].values() for parameter in pair.parameters[place]]
        return [item._version for item in (*pair.parameters[place], *chain(*states))]

    pair.step()
    before = [versions(place) for place in range(2)]
    for _ in range(2):
        pair.step()
    after = [versions(place) for place in range(2)]
    compiled, eager = ([b - a for a, b in zip(*two, strict=True)] for two in zip(before, after, strict=True))
    assert compiled == eager


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_types_step_as_eager(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    value = torch.randn(3, 4, dtype=dtype)
    results: list[torch.Tensor] = []
    for is_compiled in (True, False):
        parameter = nn.Parameter(value.clone())
        optimizer = optim.AdamW([parameter], lr=0.05)
        step = supple.compile(optimizer.step) if is_compiled else optimizer.step
        for _ in range(3):
            parameter.grad = value.cos()
            step()
        results.append(parameter.detach())
    tolerance = 1e-12 if dtype is torch.float64 else 1e-2
    torch.testing.assert_close(*results, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", sorted(FOREACH.keys() - {"mm"}))
def test_an_operator_on_lists_is_one_on_each_tensor(name: str) -> None:
    function: Any = FOREACH[name]
    schema = next(iter(getattr(torch.ops.aten, f"_foreach_{name}").overloads()))
    others: dict[str, list[Any]] = {
        "Scalar": [0.5],
        "List": [[torch.full((2, 3), 2.0), torch.full((4,), 3.0)]],
        "default": [],
    }
    extra = OPERANDS.get(name.rstrip("_"), others[schema])

    def run(left: list[torch.Tensor]) -> Any:
        result = function(left, *extra)
        return left if result is None else result

    torch.manual_seed(0)
    values = [torch.rand(2, 3) + 0.1, torch.rand(4) + 0.1]
    found, wanted = (
        one([value.clone() for value in values]) for one in (supple.compile(run, fullgraph=True), run)
    )
    assert type(found) is type(wanted)
    torch.testing.assert_close(found, wanted)
    assert not supple.stats()["refusals"]


def test_state_that_stays_is_not_written_again() -> None:
    pair = Pair(optim.SGD, momentum=0.9)
    pair.step()
    counter = supple.testing.CompileCounter()
    step = supple.compile(pair.optimizers[0].step, backend=counter)
    state = pair.optimizers[0].state[pair.parameters[0][0]]
    before = dict(state)
    step()
    assert all(state[name] is item for name, item in before.items())
    [guards] = [one.guards for one in supple.explain(step)().compilations if one.operations]
    assert not any("different objects" in str(guard) for guard in guards)


def test_a_recompilation_names_no_numbers_of_parameters() -> None:
    pair = Pair(optim.Adam)
    for _ in range(2):
        pair.step()
    [why] = supple.stats()["recompile_reasons"]  # pyright: ignore[reportGeneralTypeIssues]  # a list
    assert "were [], are [a Parameter, a Parameter, a Parameter, a Parameter]" in why


BESIDE_TORCH = """
import torch, supple
torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
for kind, options in ((torch.optim.SGD, {"momentum": 0.9}), (torch.optim.Adam, {})):
    supple.reset()
    model = torch.nn.Linear(3, 3)
    optimizer = kind(model.parameters(), lr=0.1, **options)
    step = supple.compile(optimizer.step)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(2, 3)).sum().backward()
        step()
    print(supple.stats()["graphs"], supple.stats()["breaks"])
"""


def test_what_torch_compile_marks_for_itself_is_no_break() -> None:
    # TRN02: once loaded, torch.compile wraps `_init_group` of every optimizer
    done = subprocess.run([sys.executable, "-c", BESIDE_TORCH], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["2", "0", "2", "0"], done.stderr
