"""Copies that eager makes for some sizes and strides only: else it gives a view, or the operand itself.

`x.t().reshape(-1)` copies, but shows `x` itself where it has one row; `x[:, :n].contiguous()` is its operand
where that has n columns. A trace records the copy, which is right wherever nobody can tell the two apart.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch

from supple.autograd.errors import NotFunctional
from supple.autograd.storage import Storage
from supple.expr import Expr, equal
from supple.ir.meta import TensorMeta, contiguous_strides
from supple.shapes.decide import ONE, ZERO, decide
from supple.shapes.layout import channels_last_strides, is_dense, is_same, numel, view_strides_asked


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy that is in the layout which was asked for.

    Attributes:
        version: of the source, when it was copied.
        of: the sizes and strides of what was copied.
        layout: what was asked for.
        wanted: the sizes of the view that eager gives where it can; None where it gives the operand itself.
    """

    source: Storage
    version: int
    made: Storage
    of: TensorMeta
    layout: torch.memory_format
    wanted: tuple[Expr, ...] | None = None

    @property
    def is_written(self) -> bool:
        """Whether the copy or what it was made of was written since."""
        return self.source.version != self.version or bool(self.made.version)

    @property
    def has_gaps(self) -> bool:
        """Whether what was copied has strides of its own, which may be those of any layout.

        Others are products of its sizes, in another order: theirs are those asked for where a size is 1.
        """
        return ZERO not in self.of.strides and not is_dense(self.of.sizes, self.of.strides)

    def follows(self, other: "Copy") -> bool:
        """Tell whether this is made of what another is made of, or of what it made."""
        return self.source in (other.source, other.made)


def require_copies(copies: Sequence[Copy], shown: Iterable[Storage], *, goes_on: bool) -> None:
    """Guard that copies are such in eager too, where a write or two results show the difference.

    Args:
        shown: what the program holds after the call.
        goes_on: it may write to that.

    Raises:
        NotFunctional: in this call one is none.
        Undecided: that depends on numbers which are known at run time only.
    """
    seen = {id(one) for one in shown}
    for group in _related(copies):
        storages = {id(one) for copy in group for one in (copy.source, copy.made)}
        is_written = any(copy.is_written for copy in group)
        are_held = len(storages & seen) > 1
        is_told = is_written or (goes_on and are_held)
        for copy in group:
            is_asked = copy.has_gaps and (is_written or are_held)
            if (is_told and _has_size_1(copy)) or (is_asked and _is_view(copy)):
                raise NotFunctional("a view for these sizes, and a copy for others, is shown or written")


def _has_size_1(copy: Copy) -> bool:
    """Tell whether a dynamic size is 1; guarded."""
    return any(not size.is_const and decide(equal(size, ONE)) for size in copy.of.sizes)


def _related(copies: Sequence[Copy]) -> list[list[Copy]]:
    """Return copies in groups, of one tensor and of copies of it."""
    groups: list[list[Copy]] = []
    for copy in copies:  # in the order in which they were made
        own = next((group for group in groups if any(map(copy.follows, group))), None)
        if own is None:
            groups.append([copy])
        else:
            own.append(copy)
    return groups


def _is_view(copy: Copy) -> bool:
    """Tell whether eager makes no copy; guarded. What has no elements may be either."""
    sizes, strides = copy.of.sizes, copy.of.strides
    if decide(equal(numel(sizes), ZERO)):
        return False
    if copy.wanted is not None:
        return view_strides_asked(sizes, strides, copy.wanted) is not None
    is_last = copy.layout in (torch.channels_last, torch.channels_last_3d)
    asked = channels_last_strides(sizes) if is_last else contiguous_strides(sizes)
    parts = zip(sizes, strides, asked, strict=True)
    return all(is_same(step, wanted) or is_same(size, ONE) for size, step, wanted in parts)
