"""How the results of a functional graph become what the captured graph returns: writes, aliases,
constants."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from typing import Any, assert_never, cast

import torch
from torch.autograd.graph import increment_version

from supple.autograd.joint import Gradients
from supple.autograd.partition import Parts
from supple.expr import Expr
from supple.expr.real import Real
from supple.ir.arguments import leaves
from supple.ir.graph.nodes import Arg, Graph, Number, Var, map_arg
from supple.ir.ops import Op
from supple.torch_private import OpOverload


@dataclass(frozen=True, slots=True)
class Result:
    """Output `index` of the functional graph."""

    index: int


@dataclass(frozen=True, slots=True)
class InputItself:
    """The input at place `index`, the same object."""

    index: int


@dataclass(frozen=True, slots=True)
class ViewItem:
    """What call `call` of the convention's views gives: item `item`, or all."""

    call: int
    item: int | None


Made = Result | InputItself | ViewItem


@dataclass(frozen=True, slots=True)
class ViewCall:
    """A call of a view operator, as eager makes it; its numbers may be symbolic.

    Attributes:
        has_grad: whether gradients are recorded.
        is_inference: whether it is made in inference mode, of which the errors of later writes tell.
    """

    base: Made
    op: Op
    args: tuple[Arg, ...]
    kwargs: Mapping[str, Arg]
    has_grad: bool
    is_inference: bool


@dataclass(frozen=True, slots=True)
class SameAs:
    """The same object as output `index` of the captured graph."""

    index: int


@dataclass(frozen=True, slots=True)
class Plain:
    """A Python value."""

    value: object


Output = Made | SameAs | Plain


@dataclass(frozen=True, slots=True)
class Mutation:
    """After the run, output `index` of the functional graph is copied into the input at place `input`.

    Attributes:
        writes: how often eager writes the input.
        has_grad: whether the copy is recorded for autograd.
        is_read: whether gradients depend on what the input was before.
        is_placed: whether something goes by the place of the input in autograd's graph behind a write: its
            gradient, or a result that is a view of it. Of a view torch makes that place anew.
    """

    input: int
    index: int
    writes: int
    has_grad: bool
    is_read: bool = True
    is_placed: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a run by eager has a tensor: an input, an output, or the tensor that an output is a view of."""

    input: int | None = None
    output: int = 0
    is_base: bool = False


@dataclass(frozen=True, slots=True)
class Convention:
    """How to call a functional graph in place of the captured one.

    Attributes:
        inputs: number of inputs of the captured graph; the functional graph has the same ones first.
        constants: tensors and generators to pass after them.
        outputs: one for each output of the captured graph.
        mutations: writes to inputs, done before outputs are made, in this order. They hold only for inputs
        that share memory with no other input: `is_atomic` tells.
        views: what outputs are made of, in this order.
        sizes: which outputs of the functional graph are the symbolic numbers of views.
        sources: what the tangents belong to, in their order.
        in_inference: whether results are tensors of inference mode; the graph does not enter it.
        unread: how many outputs of the functional graph, the last of forward, are only there to be computed.
        asked: places of the inputs that only have to be asked where they are in autograd's graph. Eager asks
            that of each operand, and refuses some views; a result that nobody reads is not computed here.
        older: how many of the views, the first, eager made before the last write to what they show. Torch
            looks at such a view again once its base gets gradients, and tells by the count of writes.
    """

    inputs: int
    constants: tuple[object, ...]
    outputs: tuple[Output, ...]
    mutations: tuple[Mutation, ...] = ()
    views: tuple[ViewCall, ...] = ()
    sizes: Mapping[Number, int] = field(default_factory=dict[Number, int])
    sources: tuple[Origin, ...] = ()
    in_inference: bool = False
    unread: int = 0
    asked: tuple[int, ...] = ()
    older: int = 0

    @property
    def is_plain(self) -> bool:
        """Whether the functional graph can be called as it is: its outputs are the captured graph's."""
        results = tuple(Result(index) for index in range(len(self.outputs)))
        has_more = self.constants or self.mutations or self.unread or self.asked
        return not has_more and self.outputs == results


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
    """How gradients flow: the parts of the joint graph and what goes between them.

    `reached` tells for each gradient of each flow which of its tangents flow into it, `read` the places of
    the inputs and constants on whose values gradients depend.
    """

    parts: Parts
    flows: Gradients
    reached: tuple[tuple[frozenset[int], ...], ...]
    read: frozenset[int]


Runner = Callable[..., Sequence[object]]
#: (inputs and constants, results of the functional graph, views made so far) -> a tensor or value.
Maker = Callable[[Sequence[object], Sequence[object], Sequence[object]], object]


def bind(
    convention: Convention,
    run: Runner,
    settle: Callable[[Sequence[object], Sequence[object]], None] | None = None,
) -> Runner:
    """Return a function with the captured graph's inputs and outputs that calls `run`, the functional graph.

    It does what the captured graph does for inputs of which `is_atomic` is true.

    Args:
        run: (*inputs, *constants) -> outputs of the functional graph.
        settle: (inputs and constants, results of `run`) is called when all inputs are written.
    """
    if convention.is_plain:
        return run
    views = [(call, _viewer(call, convention.sizes)) for call in convention.views]
    outputs, older = convention.outputs, convention.older
    makers = [_maker(cast("Made", outputs[one.index]) if isinstance(one, SameAs) else one) for one in outputs]
    cloned = [mutation.input for mutation in convention.mutations if mutation.is_read]

    def call(*inputs: object) -> Sequence[object]:
        for place in convention.asked:
            _ = cast("torch.Tensor", inputs[place]).grad_fn
        inputs = (*inputs, *convention.constants)
        taken = list(inputs)
        for place in cloned:
            taken[place] = _differentiable_copy(cast("torch.Tensor", inputs[place]))
        results = run(*taken)
        written: list[torch.Tensor] = []
        for mutation in convention.mutations:
            target, new = cast("torch.Tensor", inputs[mutation.input]), results[mutation.index]
            if new is target:
                written += (target,) * mutation.writes
            else:
                _write(mutation, target, cast("torch.Tensor", new))
        increment_version(written)
        if settle is not None:
            settle(inputs, results)
        made: list[object] = []
        for count, (view, viewed) in enumerate(views, 1):
            with _modes_of(view):
                made.append(viewed(inputs, results, made))
            if count == older:
                _age(made)
        return tuple([maker(inputs, results, made) for maker in makers])

    return call


def _age(views: Sequence[Any]) -> None:
    """Count a write to what views show."""
    increment_version([one if isinstance(one, torch.Tensor) else one[0] for one in views])


def _modes_of(view: ViewCall) -> AbstractContextManager[object]:
    """Return a context in which a view is made."""
    if torch.is_inference_mode_enabled() is view.is_inference:
        is_same = torch.is_grad_enabled() is view.has_grad
        return nullcontext() if is_same else torch.set_grad_enabled(view.has_grad)
    stack = ExitStack()
    stack.enter_context(torch.inference_mode(view.is_inference))
    stack.enter_context(torch.set_grad_enabled(view.has_grad))
    return stack


def _differentiable_copy(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy through which gradients reach the tensor, whatever grad mode the call began in."""
    if not tensor.requires_grad or torch.is_grad_enabled():
        return _copy(tensor)
    with torch.enable_grad():
        return _copy(tensor)


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy in the same layout, gaps in memory included, which `clone` closes."""
    made = tensor.clone()
    if made.stride() == tensor.stride():
        return made
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device).copy_(
        tensor
    )


def _write(mutation: Mutation, target: torch.Tensor, new: torch.Tensor) -> None:
    """Copy a result into an input, which then counts as many writes as eager does."""
    writes = mutation.writes
    if mutation.has_grad or writes == 1 or target.is_inference():
        if torch.is_grad_enabled() is mutation.has_grad:
            target.copy_(new)
        else:
            with torch.set_grad_enabled(mutation.has_grad):
                target.copy_(new)
        writes = 0 if target.is_inference() else writes - 1
    else:
        target.data.copy_(new)
    for _ in range(writes):
        increment_version(target)


def rerun(convention: Convention, eager: Runner) -> Callable[[Sequence[object]], list[torch.Tensor]]:
    """Return a function (inputs) -> what the tangents belong to, by eager; the inputs stay as they are."""

    def again(inputs: Sequence[object]) -> list[torch.Tensor]:
        given = list(inputs[: convention.inputs])
        for mutation in convention.mutations:
            given[mutation.input] = _copy(cast("torch.Tensor", given[mutation.input]))
        outputs = eager(*given)
        found: list[torch.Tensor] = []
        for origin in convention.sources:
            item = outputs[origin.output] if origin.input is None else given[origin.input]
            assert isinstance(item, torch.Tensor), origin
            item = item._base if origin.is_base else item
            assert item is not None, origin
            found.append(item)
        return found

    return again


def _maker(output: Made | Plain) -> Maker:
    """Return what makes an output of the captured graph in each call."""
    match output:
        case Result(index):
            return lambda _inputs, results, _made: results[index]
        case InputItself(index):
            return lambda inputs, _results, _made: inputs[index]
        case ViewItem(index, item):
            if item is None:
                return lambda _inputs, _results, made: made[index]
            return lambda _inputs, _results, made: cast("Sequence[object]", made[index])[item]
        case Plain(value):
            return lambda _inputs, _results, _made: value
        case _:
            assert_never(output)


def _no_value(var: Var) -> Arg:
    raise AssertionError(var)


def _viewer(call: ViewCall, places: Mapping[Number, int]) -> Maker:
    """Return what makes a view in each call."""
    base, function = _maker(call.base), cast("OpOverload", call.op.call)
    args, kwargs = call.args, dict(call.kwargs)
    if not any(isinstance(leaf, Expr | Real) for leaf in leaves((args, kwargs))):
        return lambda inputs, results, made: function(base(inputs, results, made), *args, **kwargs)

    def view(inputs: Sequence[object], results: Sequence[object], made: Sequence[object]) -> object:
        def number(e: Number) -> object:
            return results[places[e]]

        given, named = map_arg(_no_value, (args, kwargs), number)
        return function(base(inputs, results, made), *given, **named)

    return view


def is_atomic(convention: Convention, inputs: Sequence[object]) -> bool:
    """Tell whether what `bind` returns does what eager does, and writes after all that may raise.

    No written input shares memory, within itself too, and each can be written as it is: what eager says of a
    leaf, of a view, and of a tensor made in inference mode, eager must say.
    """
    if not convention.mutations:
        return True
    shared = _shared(inputs)
    for mutation in convention.mutations:
        target = cast("torch.Tensor", inputs[mutation.input])
        if shared and _home(target) in shared:
            return False
        if mutation.has_grad and (target._is_view() or (target.is_leaf and target.requires_grad)):
            return False
        if mutation.is_placed and target._is_view() and target.requires_grad:
            return False
        if target.is_inference() and not torch.is_inference_mode_enabled():
            return False
        if not target.is_contiguous() and _overlaps(target):
            return False
    return True


def _home(tensor: torch.Tensor) -> tuple[int, int]:
    """Return where a tensor's memory begins, and its bytes."""
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.nbytes()


def _shared(inputs: Sequence[object]) -> set[tuple[int, int]]:
    """Return the memory that inputs have in common; storages may overlap, such as those of NumPy's arrays."""
    storages = [item.untyped_storage() for item in inputs if isinstance(item, torch.Tensor)]
    homes = sorted([(storage.data_ptr(), storage.nbytes()) for storage in storages])
    shared: set[tuple[int, int]] = set()
    last, end = (0, 0), 0
    for home in homes:
        begin, size = home
        if begin < end:
            shared |= {last, home}
        if begin + size >= end:
            last, end = home, begin + size
    return shared


def _overlaps(tensor: torch.Tensor) -> bool:
    """Tell whether elements may share memory, so that the order counts in which they are written."""
    reach = 0
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1 and stride <= reach:
            return True
        reach += stride * (size - 1)
    return False
