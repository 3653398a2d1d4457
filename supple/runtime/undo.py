"""What is undone of a graph that raises, so that its program can run once more, as plain Python."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import torch

from supple.base.marks import EXPECTED, WRITTEN
from supple.runtime.autograd_fn import draws
from supple.torch_private import set_versions

WAYS: Final = "__supple_ways__"
"""Attribute of what runs a graph: its `Ways`, None where it is atomic for all inputs."""
UNWRITTEN: Final = "__supple_unwritten__"
"""Attribute of an exception: the inputs of the graph that raised it hold what they did before."""
RAISES: Final = "an exception of the program, which only the run can know"
"""What the check of a branch that only raises says (`interp/refusal.py`); it stands before all writes."""
DRAWN: Final = "__supple_drawn__"
"""Attribute of an exception: generators that the graph may have drawn from, and their states before."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """An input as it was before the graph ran, and where the graph may reach beyond it, all of its memory."""

    tensor: torch.Tensor
    node: object
    values: torch.Tensor
    size: torch.Size
    stride: tuple[int, ...]
    offset: int | torch.SymInt
    requires_grad: bool
    version: int | None
    storage: torch.UntypedStorage
    memory: torch.UntypedStorage | None


@dataclass(frozen=True, slots=True)
class Ways:
    """The two ways to run a graph, of which each call's inputs choose one.

    Attributes:
        is_atomic: (inputs) -> whether the first way does what eager does.
        atomic: all that may raise comes before all writes.
        eager: operator by operator.
    """

    is_atomic: Callable[[Sequence[object]], bool]
    atomic: Callable[..., object]
    eager: Callable[..., object]

    def function(self, *, is_asked: bool) -> Callable[..., object]:
        """Return what runs the graph in the way that its inputs choose, and tells these ways (WAYS).

        Args:
            is_asked: whether any inputs choose the second.
        """

        def either(*inputs: object) -> object:
            return self.atomic(*inputs) if self.is_atomic(inputs) else self.eager(*inputs)

        run = either if is_asked else self.atomic
        vars(run)[WAYS] = self if is_asked else None
        return run


class Counted(Enum):
    """Which writes of a graph torch counts: those of operators that end well, or also parts of one."""

    NONE, WHOLE, ALL = range(3)


def noting(
    compiled: Callable[..., object],
    kept: Sequence[int] | None,
    *,
    writes: bool,
    counted: Counted,
    is_random: bool,
    is_beyond: bool,
) -> Callable[..., object]:
    """Return a graph that notes on what it raises whether its inputs are as before, and what it drew.

    Args:
        kept: the places of inputs that get back what they held, unless the graph is atomic for them; None
            where others may be written too.
        writes: whether the graph may write to its inputs.
        counted: which of the writes torch counts.
        is_beyond: whether the graph may write to what lies around an input in its memory.
    """
    is_counted = counted is Counted.ALL
    matters = writes and (kept is not None or not is_counted)
    ways: Ways | None = getattr(compiled, WAYS, Ways(_never, compiled, compiled))
    ways = ways or Ways(_always, compiled, compiled)

    def run(*inputs: object) -> object:
        is_atomic = ways.is_atomic(inputs)
        is_whole = matters and is_atomic
        before = _versions(inputs) if is_counted or matters else None
        drawn = draws(inputs) if is_random else []
        held = None if is_whole or kept is None else _held((inputs[place] for place in kept), is_beyond)
        try:
            return ways.atomic(*inputs) if is_atomic else ways.eager(*inputs)
        except Exception as error:
            is_between = counted is Counted.WHOLE and _EXPECTED.match(str(error)) is not None
            is_known = is_counted or is_whole or is_between
            is_same = is_known and before is not None and before == _versions(inputs)
            is_same = is_same and not getattr(error, WRITTEN, False)
            is_same = is_same and (_are_counted(before) or is_atomic)
            error.__dict__.update({UNWRITTEN: is_same or _restored(held), DRAWN: drawn})
            raise

    return run


_EXPECTED: Final = re.compile(EXPECTED.format(".+") + "(\n|$)")


def note_writes(error: BaseException) -> None:
    """Note on what a graph raises that it has begun to write to its inputs."""
    vars(error)[WRITTEN] = True


def is_unwritten(error: BaseException) -> bool:
    """Tell whether the inputs of the graph that raised an exception hold what they did before."""
    return getattr(error, UNWRITTEN, False) or str(error).startswith(RAISES)


def _always(_: Sequence[object]) -> bool:
    return True


def _never(_: Sequence[object]) -> bool:
    return False


def _versions(inputs: Sequence[object]) -> list[int | None]:
    """Return how often tensors were written; None where nobody counts that."""
    return [version(item) for item in inputs if isinstance(item, torch.Tensor)]


def _are_counted(counts: Sequence[int | None] | None) -> bool:
    return counts is not None and None not in counts


def version(tensor: torch.Tensor) -> int | None:
    """Return how often a tensor was written; None where torch does not count that, as in inference mode."""
    try:
        return tensor._version
    except RuntimeError:  # more tensors than those for which `is_inference` is true, such as one after `set_`
        return None


def _held(inputs: Iterable[object], is_beyond: bool) -> list[_Kept] | None:
    """Return what inputs hold; None where torch does not let one be read."""
    try:
        return [_kept(item, is_beyond) for item in inputs if isinstance(item, torch.Tensor)]
    except RuntimeError:  # a view that is out of date, of which eager says so where it is used
        return None


def _kept(tensor: torch.Tensor, is_beyond: bool) -> _Kept:
    return _Kept(
        tensor,
        tensor.grad_fn,
        tensor.detach().clone(),
        tensor.size(),
        tensor.stride(),
        tensor.storage_offset(),
        tensor.requires_grad,
        version(tensor),
        tensor.untyped_storage(),
        tensor.untyped_storage().clone() if is_beyond else None,
    )


def _restored(held: Sequence[_Kept] | None) -> bool:
    """Give tensors the layout, the values and the count of writes that they had; tell whether all have."""
    if held is None or not all(map(_has_old_history, held)):
        return False
    for one in held:
        tensor = one.tensor
        if tensor.grad_fn is not one.node:
            tensor.detach_()
        if tensor.is_leaf and tensor.requires_grad is not one.requires_grad:
            tensor.requires_grad_(one.requires_grad)
        is_moved = tensor.untyped_storage().data_ptr() != one.storage.data_ptr()
        if is_moved or _layout(tensor) != (one.size, one.stride, one.offset):
            with torch.no_grad():
                tensor.set_(one.storage, one.offset, one.size, one.stride)
        _once(tensor.data).copy_(_once(one.values, like=tensor))
        if one.memory is not None and one.memory.nbytes() == tensor.untyped_storage().nbytes():
            tensor.untyped_storage().copy_(one.memory)
        if one.version is not None:
            set_versions([tensor], [one.version])
    return True


def _layout(tensor: torch.Tensor) -> tuple[torch.Size, tuple[int, ...], int | torch.SymInt]:
    return tensor.size(), tensor.stride(), tensor.storage_offset()


def _once(tensor: torch.Tensor, like: torch.Tensor | None = None) -> torch.Tensor:
    """Return the part of a tensor that has each repeated element once; torch writes to nothing else.

    Args:
        like: the tensor whose elements are repeated, where it is not this one.
    """
    for dim, stride in enumerate((tensor if like is None else like).stride()):
        if stride == 0 and tensor.shape[dim] > 1:
            tensor = tensor.narrow(dim, 0, 1)
    return tensor


def _has_old_history(one: _Kept) -> bool:
    """Tell whether a tensor has the history that it had, or can be given back that it had none."""
    tensor = one.tensor
    return tensor.grad_fn is one.node or (one.node is None and not tensor._is_view())


def has_history(tensor: torch.Tensor) -> bool:
    """Tell whether autograd's history of a tensor cannot be put back where it is written to."""
    return tensor.grad_fn is not None or tensor._is_view()
