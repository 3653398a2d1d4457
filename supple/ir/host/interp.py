"""Run a host program step by step: library calls by eager torch, kernels by the function that is given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

import torch

from supple.base.marks import WRITTEN
from supple.base.rules import Rules
from supple.expr import Expr, evaluate
from supple.expr.real import Real, evaluate_real
from supple.ir.arguments import map_leaves
from supple.ir.host import nodes
from supple.ir.host.strides import fresh_strides
from supple.ir.ops import op_named

RunKernel = Callable[[str, Sequence[torch.Tensor], Sequence[float]], None]
"""(kernel name, tensors in parameter order, integers and floats): runs one kernel."""


@dataclass(slots=True)
class Machine:
    """Values by name, integers and floats by name, and how to run a kernel."""

    run_kernel: RunKernel
    values: dict[str, object]
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    floats: dict[str, float] = field(default_factory=dict[str, float])
    has_written: bool = False

    def number(self, e: Expr) -> int:
        """Return the value of a size expression."""
        return evaluate(e, self.sizes)

    def tensor(self, name: str) -> torch.Tensor:
        """Return a tensor."""
        value = self.values[name]
        assert isinstance(value, torch.Tensor), f"{name} is {value!r}, not a tensor"
        return value

    def argument(self, arg: object) -> object:
        """Return an argument with Values and Exprs replaced by what they stand for."""
        return map_leaves(self._leaf, arg)

    def _leaf(self, leaf: object) -> object:
        match leaf:
            case nodes.Value():
                return self.values[leaf.name]
            case Expr():
                return self.number(leaf)
            case Real():
                return evaluate_real(leaf, self.sizes, self.floats)
            case _:
                return leaf


#: Kind of step -> (machine, step) -> None.
runs: Final[Rules[Callable[..., None]]] = Rules("host interpreter")


def run(host: nodes.Host, inputs: Sequence[object], run_kernel: RunKernel) -> tuple[object, ...]:
    """Return the results of a host program.

    Args:
        host: a program that is well formed.
        inputs: in the order of `host.inputs`.
        run_kernel: runs one kernel; see `RunKernel`.
    """
    machine = Machine(run_kernel, dict(zip(host.inputs, inputs, strict=True)))
    try:
        for step in host.steps[:-1]:
            runs[type(step)](machine, step)
    except Exception as error:
        vars(error)[WRITTEN] = machine.has_written
        raise
    last = host.steps[-1]
    assert isinstance(last, nodes.Return), f"{last} is no Return"
    return tuple(machine.argument(value) for value in last.values)


@runs.on(nodes.Bind)
def _(machine: Machine, step: nodes.Bind) -> None:
    """A size of a tensor, or a number that the caller or a library call gave."""
    value = machine.values[step.value] if step.dim is None else machine.tensor(step.value).size(step.dim)
    if isinstance(value, float):
        machine.floats[step.number] = value
        return
    assert isinstance(value, int), f"{step.value} is {value!r}, not a number"
    machine.sizes[step.number] = value


@runs.on(nodes.Alloc)
def _(machine: Machine, step: nodes.Alloc) -> None:
    """A fresh tensor; NaN or a large number shows where it is read before it is written."""
    meta, strides = step.meta, fresh_strides(step.meta)
    fresh = torch.empty(list(map(machine.number, meta.sizes)), dtype=meta.dtype.torch, device=meta.device)
    if strides is not None:
        fresh = fresh.new_empty_strided(fresh.shape, list(map(machine.number, strides)))
    machine.values[step.name] = fresh.fill_(float("nan") if meta.dtype.is_float else 1)


@runs.on(nodes.Check)
def _(machine: Machine, step: nodes.Check) -> None:
    """An assertion."""
    tensor, meta = machine.tensor(step.name), step.meta
    sizes, strides = (list(map(machine.number, numbers)) for numbers in (meta.sizes, meta.strides))
    assert tensor.dtype is meta.dtype.torch, f"{step} has {tensor.dtype}"
    assert list(tensor.shape) == sizes, f"{step} has sizes {tuple(tensor.shape)}"
    steps = zip(sizes, tensor.stride(), strides, strict=True)
    is_laid_out = not tensor.numel() or all(size == 1 or one == other for size, one, other in steps)
    assert is_laid_out, f"{step} has strides {tensor.stride()}"


@runs.on(nodes.Launch)
def _(machine: Machine, step: nodes.Launch) -> None:
    """One kernel on its tensors."""
    tensors = [machine.tensor(name) for name in step.buffers]
    numbers = cast("list[float]", [machine.argument(number) for number in step.sizes])
    kinds = [float if isinstance(size, Real) else int for size in step.sizes]
    machine.run_kernel(step.kernel, tensors, [kind(n) for kind, n in zip(kinds, numbers, strict=True)])


@runs.on(nodes.Extern)
def _(machine: Machine, step: nodes.Extern) -> None:
    """One library call."""
    args = [machine.argument(arg) for arg in step.args]
    kwargs = {key: machine.argument(arg) for key, arg in step.kwargs.items()}
    result = op_named(step.op).call(*args, **kwargs)
    if not step.is_tuple:
        assert step.names[0] is not None, f"{step} has no name"
        machine.values[step.names[0]] = result
        return
    assert isinstance(result, (tuple, list)), f"{step.op} returned {type(result)}"
    for name, item in zip(step.names, result, strict=True):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]  # any operator
        if name is not None:
            machine.values[name] = item


@runs.on(nodes.View)
def _(machine: Machine, step: nodes.View) -> None:
    """The base's storage under other sizes and strides; the offset counts from the base's first element."""
    base, meta = machine.tensor(step.base), step.meta
    sizes, strides = (list(map(machine.number, numbers)) for numbers in (meta.sizes, meta.strides))
    start = base.storage_offset() + machine.number(meta.offset)
    machine.values[step.name] = base.as_strided(sizes, strides, start)


@runs.on(nodes.Free)
def _(machine: Machine, step: nodes.Free) -> None:
    """The name ends."""
    del machine.values[step.name]


@runs.on(nodes.Writes)
def _(machine: Machine, step: nodes.Writes) -> None:
    """Noted, for an exception."""
    machine.has_written = True


@runs.on(nodes.Return)
def _(machine: Machine, step: nodes.Step) -> None:
    """The end; `run` makes the results."""
