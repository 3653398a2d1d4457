"""`verify`: what is planted in the compiler is found and named; what is right is not blamed."""

import runpy
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch

import supple
from supple import autograd, native
from supple.autograd.lowering import Lowering, decompositions
from supple.codegen.cpu import inline, reduce, scalars, vector
from supple.codegen.cpu.convert import cast
from supple.errors import VerificationError
from supple.expr import const, substitute
from supple.ir.dtypes import DType
from supple.ir.graph.nodes import Var
from supple.ir.loops.nodes import Load, Loop
from supple.ir.program import Scheduled

Patch = pytest.MonkeyPatch
X = torch.linspace(-2, 2, 19 * 3).view(19, 3)
Y = torch.linspace(1, 5, 19 * 3).view(19, 3).sin()


def exp(patch: Patch) -> None:
    """A wrong constant: 2 % off in one coefficient of the polynomial of exp."""
    patch.setattr(inline, "EXP", (inline.EXP[0], inline.EXP[1] * 1.02, *inline.EXP[2:]))


def tail(patch: Patch) -> None:
    """Off by one in the mask of a tail: the last element is not written."""
    right = vector._remaining
    patch.setattr(
        vector,
        "_remaining",
        lambda block, base, end, count: right(
            block, base, block.code.op("sub", end, vector.constant(DType.I64, 1)), count
        ),
    )


def scalar(name: str, wrong: Callable[..., Any]) -> Callable[[Patch], None]:
    """A wrong rule of a scalar operation, given (right rule, tools, dtype, operands)."""

    def plant(patch: Patch) -> None:
        right = scalars.scalars[name]
        rule: Any = lambda s, dtype, args: wrong(right, s, dtype, args)  # noqa: E731
        patch.setitem(scalars.scalars._rules, name, rule)

    return plant


def through_bf16(right: Any, s: Any, dtype: DType, args: Any) -> Any:
    return cast(s.code, cast(s.code, right(s, dtype, args), DType.BF16), dtype)


def start(patch: Patch) -> None:
    """A maximum that starts with 0."""
    patch.setitem(reduce.KINDS, "max", replace(reduce.KINDS["max"], neutral=lambda dtype: 0))


def stride(patch: Patch) -> None:
    """A load that takes one axis for broadcast."""
    right = native.schedule

    def without(statement: Any, axis: Any) -> Any:
        if isinstance(statement, Load):
            return replace(statement, index=tuple(substitute(e, {axis: const(0)}) for e in statement.index))
        if isinstance(statement, Loop):
            return replace(statement, body=tuple(without(one, axis) for one in statement.body))
        return statement

    def wrong(*args: Any, **kwargs: Any) -> Scheduled:
        made = right(*args, **kwargs)
        nests = [replace(n, body=tuple(without(one, n.axes[0].symbol) for one in n.body)) for n in made.nests]
        return replace(made, nests=tuple(nests))

    patch.setattr(native, "schedule", wrong)


def gradient(patch: Patch) -> None:
    """A wrong gradient rule: tanh' = 1 - y."""
    rules: Any = decompositions._rules

    def wrong(b: Lowering, grad: Var, result: Var) -> Var:
        return b.mul(grad, b.sub(1.0, result))

    patch.setitem(rules, "aten.tanh_backward.default", wrong)


def split_as(change: Callable[[autograd.Split], autograd.Split]) -> Callable[[Patch], None]:
    def plant(patch: Patch) -> None:
        right = autograd.split
        patch.setattr(autograd, "split", lambda *args, **kwargs: change(right(*args, **kwargs)))

    return plant


def not_written(split: autograd.Split) -> autograd.Split:
    return replace(split, convention=replace(split.convention, mutations=()))


def swapped(split: autograd.Split) -> autograd.Split:
    """What is kept for backward, in the wrong order."""
    assert split.backward is not None
    parts = split.backward.parts
    return replace(split, backward=replace(split.backward, parts=replace(parts, inputs=parts.inputs[::-1])))


@dataclass(frozen=True)
class Planted:
    """A fault, a program that meets it, the output and operator that are to be named, and the stage."""

    plant: Callable[[Patch], None]
    program: Callable[..., Any]
    output: str
    operator: str
    stage: str
    args: tuple[torch.Tensor, ...] = (X, Y)


def written(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    x.mul_(y)
    return y + 1, y[0]


def weight(values: torch.Tensor = X) -> torch.Tensor:
    return values.clone().requires_grad_()


PLANTED = {
    "wrong constant in exp": Planted(
        exp, lambda x, y: (x + y).exp() * y, "output 0", "`exp`", "in code generation"
    ),
    "mask tail": Planted(tail, lambda x, y: x.sin() * y, "output 0", "`sin`", "in code generation"),
    "dropped term": Planted(
        scalar("add", lambda right, s, dtype, args: args[0]),
        lambda x, y: (x * y, (x + y).cos()),
        "output 0 (`cos`)",
        "`add`",
        "in code generation",
    ),
    "swapped operands": Planted(
        scalar("sub", lambda right, s, dtype, args: right(s, dtype, args[::-1])),
        lambda x, y: (x - y) * x,
        "output 0",
        "`sub`",
        "in code generation",
    ),
    "initial value": Planted(
        start, lambda x, y: (x - 9).amax(-1).exp(), "output 0", "`amax`", "in code generation"
    ),
    "stride of a load": Planted(stride, lambda x, y: x * y, "output 0", "`mul`", "in schedule"),
    "gradient rule": Planted(
        gradient,
        lambda x, y: (x * y).tanh(),
        "the gradient of L['x']",
        "`tanh`",
        "in decompositions",
        (weight(), Y),
    ),
    "write left out": Planted(
        split_as(not_written),
        written,
        "L['x'] after the call",
        "Tensor.mul_",
        "when forward and backward are traced",
    ),
    "rounding": Planted(
        scalar("mul", through_bf16), lambda x, y: (x + y) * y, "output 0", "`mul`", "in code generation"
    ),
    "kept for backward": Planted(
        split_as(swapped),
        lambda x, y: x * y,
        "the gradient of L['x']",
        "`mul`",
        "when forward and backward are traced",
        (weight(), weight(Y)),
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found_and_named(name: str, monkeypatch: Patch, tmp_path: Path) -> None:  # DBG10
    case = PLANTED[name]
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    compiled = supple.compile(case.program, fullgraph=True, verify="first")
    compiled(*case.args)
    supple.reset()
    case.plant(monkeypatch)
    before = [arg.detach().clone() for arg in case.args]
    with pytest.raises(VerificationError) as caught:
        supple.compile(case.program, fullgraph=True, verify="first")(*case.args)
    error = caught.value
    assert error.what.startswith(f"Compiled code differs from eager in {case.output}"), error
    assert case.operator in error.why, error
    assert case.stage in error.why, error
    assert error.stack[-1].filename == __file__
    assert all(map(torch.equal, before, case.args)), "nothing was changed"
    [script] = tmp_path.glob("supple-verify-*.py")
    with pytest.raises(VerificationError):  # DBG09
        runpy.run_path(str(script))
    monkeypatch.undo()
    supple.reset()
    runpy.run_path(str(script))
