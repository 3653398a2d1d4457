"""How the results of a functional graph become what the captured graph returns: writes, aliases,
constants."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import assert_never, cast

import torch

from supple.ir.graph.nodes import Graph
from supple.ir.meta import TensorMeta


@dataclass(frozen=True, slots=True)
class Result:
    """Output `index` of the functional graph."""

    index: int


@dataclass(frozen=True, slots=True)
class InputItself:
    """The input at place `index`, the same object."""

    index: int


@dataclass(frozen=True, slots=True)
class ViewOfInput:
    """A view of the input at place `index`: sizes and strides of `meta`, whose offset counts from the
    input's."""

    index: int
    meta: TensorMeta


@dataclass(frozen=True, slots=True)
class ViewOfResult:
    """A view of output `index` of the functional graph; the offset of `meta` counts from its first
    element."""

    index: int
    meta: TensorMeta


@dataclass(frozen=True, slots=True)
class SameAs:
    """The same object as output `index` of the captured graph."""

    index: int


@dataclass(frozen=True, slots=True)
class Plain:
    """A Python value."""

    value: object


Output = Result | InputItself | ViewOfInput | ViewOfResult | SameAs | Plain


@dataclass(frozen=True, slots=True)
class Mutation:
    """After the run, output `index` of the functional graph is copied into the input at place `input`."""

    input: int
    index: int


@dataclass(frozen=True, slots=True)
class Convention:
    """How to call a functional graph in place of the captured one.

    Attributes:
        inputs: number of inputs of the captured graph; the functional graph has the same ones first.
        constants: tensors to pass after them.
        outputs: one for each output of the captured graph.
        mutations: writes to inputs, done before outputs are made, in this order. They hold only for inputs
        that share memory with no other input: `shares_memory` tells.
    """

    inputs: int
    constants: tuple[torch.Tensor, ...]
    outputs: tuple[Output, ...]
    mutations: tuple[Mutation, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether the functional graph can be called as it is: its outputs are the captured graph's."""
        results = tuple(Result(index) for index in range(len(self.outputs)))
        return not self.constants and not self.mutations and self.outputs == results


@dataclass(frozen=True, slots=True)
class Split:
    """A captured graph as functional ATen graphs.

    Attributes:
        source: the captured graph.
        forward: functional, decomposed.
        backward: None where no output needs gradients.
    """

    source: Graph
    forward: Graph
    backward: Graph | None
    convention: Convention


Runner = Callable[..., Sequence[object]]


def bind(convention: Convention, run: Runner, eager: Runner) -> Runner:
    """Return a function with the captured graph's inputs and outputs that calls `run`, the functional graph.

    Args:
        run: (*inputs, *constants) -> outputs of the functional graph.
        eager: the captured graph run by eager torch; used for a call whose written inputs share memory.
    """
    if convention.is_plain:
        return run

    def call(*inputs: object) -> Sequence[object]:
        if convention.mutations and shares_memory(convention, inputs):
            return eager(*inputs)
        results = run(*inputs, *convention.constants)
        with torch.no_grad():
            for mutation in convention.mutations:
                target = cast("torch.Tensor", inputs[mutation.input])
                target.copy_(cast("torch.Tensor", results[mutation.index]))
            return made_outputs(convention, (*inputs, *convention.constants), results)

    return call


def made_outputs(
    convention: Convention, inputs: Sequence[object], results: Sequence[object]
) -> tuple[object, ...]:
    """Return the captured graph's outputs from the functional graph's results."""
    made: list[object] = []
    for output in convention.outputs:
        match output:
            case Result():
                made.append(results[output.index])
            case InputItself():
                made.append(inputs[output.index])
            case ViewOfInput():
                made.append(_view(inputs[output.index], output.meta))
            case ViewOfResult():
                made.append(_view(results[output.index], output.meta))
            case SameAs():
                made.append(made[output.index])
            case Plain():
                made.append(output.value)
            case _:
                assert_never(output)
    return tuple(made)


def _view(base: object, meta: TensorMeta) -> torch.Tensor:
    assert isinstance(base, torch.Tensor), f"a view of {base}"
    return base.as_strided(
        [size.value for size in meta.sizes],
        [stride.value for stride in meta.strides],
        base.storage_offset() + meta.offset.value,
    )


def shares_memory(convention: Convention, inputs: Sequence[object]) -> bool:
    """Tell whether a written input shares its storage with another input."""
    homes = [item.untyped_storage().data_ptr() if isinstance(item, torch.Tensor) else 0 for item in inputs]
    return any(homes.count(homes[mutation.input]) > 1 for mutation in convention.mutations)
