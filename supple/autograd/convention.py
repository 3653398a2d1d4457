"""How the results of a functional graph become what the captured graph returns: writes, aliases,
constants."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never, cast

import torch

from supple.autograd.joint import Gradients
from supple.autograd.partition import Parts
from supple.expr import Expr
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
        constants: tensors and generators to pass after them.
        outputs: one for each output of the captured graph.
        mutations: writes to inputs, done before outputs are made, in this order. They hold only for inputs
        that share memory with no other input: `shares_memory` tells.
        sizes: which outputs of the functional graph are the symbolic sizes, strides and offsets of views.
    """

    inputs: int
    constants: tuple[object, ...]
    outputs: tuple[Output, ...]
    mutations: tuple[Mutation, ...] = ()
    sizes: Mapping[Expr, int] = field(default_factory=dict[Expr, int])

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
    backward: "Backward | None"
    convention: Convention


@dataclass(frozen=True, slots=True)
class Backward:
    """How gradients flow: the halves of the joint graph and what goes between them."""

    parts: Parts
    flows: Gradients


Runner = Callable[..., Sequence[object]]
#: (inputs and constants, results of the functional graph, outputs made so far) -> an output.
Maker = Callable[[Sequence[object], Sequence[object], Sequence[object]], object]


def bind(convention: Convention, run: Runner, eager: Runner) -> Runner:
    """Return a function with the captured graph's inputs and outputs that calls `run`, the functional graph.

    Args:
        run: (*inputs, *constants) -> outputs of the functional graph.
        eager: the captured graph run by eager torch; used for a call whose written inputs share memory.
    """
    if convention.is_plain:
        return run
    makers = [_maker(output, convention.sizes) for output in convention.outputs]

    def call(*inputs: object) -> Sequence[object]:
        if convention.mutations and shares_memory(convention, inputs):
            return eager(*inputs)
        inputs = (*inputs, *convention.constants)
        results = run(*inputs)
        made: list[object] = []
        with torch.no_grad():
            for mutation in convention.mutations:
                target = cast("torch.Tensor", inputs[mutation.input])
                target.copy_(cast("torch.Tensor", results[mutation.index]))
            for maker in makers:
                made.append(maker(inputs, results, made))
        return tuple(made)

    return call


def _maker(output: Output, sizes: Mapping[Expr, int]) -> Maker:
    """Return what makes an output of the captured graph in each call."""
    match output:
        case Result(index):
            return lambda _inputs, results, _made: results[index]
        case InputItself(index):
            return lambda inputs, _results, _made: inputs[index]
        case ViewOfInput(index, meta):
            view = _viewer(meta, sizes)
            return lambda inputs, results, _made: view(inputs[index], results)
        case ViewOfResult(index, meta):
            view = _viewer(meta, sizes)
            return lambda _inputs, results, _made: view(results[index], results)
        case SameAs(index):
            return lambda _inputs, _results, made: made[index]
        case Plain(value):
            return lambda _inputs, _results, _made: value
        case _:
            assert_never(output)


def _viewer(
    meta: TensorMeta, places: Mapping[Expr, int]
) -> Callable[[object, Sequence[object]], torch.Tensor]:
    """Return a function (base, results) -> the view of the base."""
    numbers = (*meta.sizes, *meta.strides, meta.offset)
    fixed = [number.value if number.is_const else 0 for number in numbers]
    computed = [(at, places[number]) for at, number in enumerate(numbers) if not number.is_const]
    rank = meta.rank

    def view(base: object, results: Sequence[object]) -> torch.Tensor:
        assert isinstance(base, torch.Tensor), f"a view of {base}"
        now = fixed.copy() if computed else fixed
        for at, place in computed:
            now[at] = cast("int", results[place])
        # A view made in no_grad mode of a tensor that requires gradients says that it does too.
        return base.detach().as_strided(now[:rank], now[rank:-1], base.storage_offset() + now[-1])

    return view


def shares_memory(convention: Convention, inputs: Sequence[object]) -> bool:
    """Tell whether a written input shares its storage with another input."""
    homes = [item.untyped_storage().data_ptr() if isinstance(item, torch.Tensor) else 0 for item in inputs]
    return any(homes.count(homes[mutation.input]) > 1 for mutation in convention.mutations)
