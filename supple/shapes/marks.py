"""Marks that the user puts on a tensor's dimensions, and the error when a program does not keep to them.

A mark is read when a call is compiled; a call that a compiled entry serves is not compiled. Marks are kept on
the tensor as plain data, so that a marked tensor can be copied and saved; those of torch's functions count.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple, cast

import torch

from supple.base.errors import ConstraintViolationError, Reason, Where
from supple.shapes.sources import plain
from supple.torch_private import MARK_ATTRIBUTES, MARK_RANGES

ATTRIBUTE: Final = "__supple_marks__"

Dims = int | list[int] | tuple[int, ...]


class Kind(Enum):
    """What a mark says of a dimension."""

    UNBACKED = "unbacked"
    DYNAMIC = "dynamic"
    MAYBE = "maybe"
    STATIC = "static"


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark of one dimension; `is_strict`: to specialise it is an error."""

    minimum: int | None = None
    maximum: int | None = None
    is_strict: bool = False


Marks = Mapping[Kind, Mark]


def mark_dynamic(tensor: torch.Tensor, dim: Dims, *, min: int | None = None, max: int | None = None) -> None:
    """Compile for every size of these dimensions, the first time already.

    A program that allows a single size, or, with bounds, not all sizes in them, raises
    `ConstraintViolationError` when it is compiled. Parameters and other tensors of modules are static all the
    same unless `supple.config` says otherwise.

    Args:
        tensor: an argument of a compiled function. Integers are marked by `config.dynamic_sources`.
        dim: a dimension, or several; negative ones count from the end.
        min, max: bounds of the size. They simplify the code; a size outside of them is compiled again.

    Raises:
        TypeError: not a tensor, or no integers.
        IndexError: there is no such dimension.
        ValueError: the bounds are no sizes, or exclude all.
    """
    _mark(tensor, dim, Kind.DYNAMIC, (min, max, True))


def maybe_mark_dynamic(tensor: torch.Tensor, dim: Dims) -> None:
    """Compile for every size of these dimensions where the program allows it, without an error where not.

    Raises:
        TypeError: not a tensor, or no integers.
        IndexError: there is no such dimension.
    """
    _mark(tensor, dim, Kind.MAYBE)


def mark_static(tensor: torch.Tensor, dim: Dims | None = None) -> None:
    """Compile for the sizes that these dimensions have, all dimensions when none is given.

    Raises:
        TypeError: not a tensor, or no integers.
        IndexError: there is no such dimension.
    """
    _mark(tensor, list(range(_tensor(tensor).ndim)) if dim is None else dim, Kind.STATIC)


def mark_unbacked(
    tensor: torch.Tensor, dim: Dims, *, strict: bool = False, min: int | None = None, max: int | None = None
) -> None:
    """Compile without looking at the sizes of these dimensions: a condition on them breaks the graph.

    Args:
        tensor: an argument of a compiled function.
        dim: a dimension, or several; negative ones count from the end.
        strict: a program that allows a single size raises `ConstraintViolationError`.
        min, max: bounds of the size.

    Raises:
        TypeError: not a tensor, or no integers.
        IndexError: there is no such dimension.
        ValueError: the bounds are no sizes, or exclude all.
    """
    _mark(tensor, dim, Kind.UNBACKED, (min, max, strict))


class Violation(NamedTuple):
    """A condition that a marked dimension does not allow.

    Attributes:
        source: the tensor.
        condition: what compiled code relies on.
        value: the only size that it allows; None where it allows others, but not all.
        stack: the user's stack when it was asked, innermost last.
    """

    source: str
    dim: int
    condition: str
    value: int | None
    stack: tuple[Where, ...]


SPECIALIZED: Final = Reason(
    "U101",
    "{names}: marked dynamic, but the program does not allow every size.",
    "`mark_dynamic` promises that one graph serves all sizes, and these conditions do not allow it:{found}",
    "Remove the conditions, or write {fixes}, which allows them.",
)


def violations(found: Sequence[Violation]) -> ConstraintViolationError:
    """Return one error for all conditions that marked dimensions do not allow."""
    names = ", ".join(dict.fromkeys(f"dimension {one.dim} of {one.source}" for one in found))
    fixes = (f"supple.maybe_mark_dynamic({plain(one.source).removeprefix('L.')}, {one.dim})" for one in found)
    return ConstraintViolationError(
        SPECIALIZED,
        names=f"{names[0].upper()}{names[1:]}",
        found="".join(map(_told, found)),
        fixes=" and ".join(dict.fromkeys(fixes)),
    )


def _told(one: Violation) -> str:
    must = "is not free" if one.value is None else f"must be {one.value}"
    lines = [f"\n    {one.source}.size()[{one.dim}] {must}: {one.condition}"]
    for where in reversed(one.stack):
        lines.append(f"\n      at {where.filename}:{where.line} in {where.function}")
        lines.append(f"\n        {where.text}" if where.text else "")
    return "".join(lines)


def _tensor(tensor: object) -> torch.Tensor:
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(
            f"only dimensions of tensors are marked, not {tensor!r}; an integer is made dynamic by its name: "
            "supple.config.patch(dynamic_sources=\"L['n']\")"
        )
    return tensor


def _mark(
    given: object, dim: Dims, kind: Kind, mark: tuple[int | None, int | None, bool] = (None, None, False)
) -> None:
    tensor = _tensor(given)
    low, high, _ = mark
    for bound in (low, high):
        if bound is not None and (type(bound) is not int or bound < 0):
            raise ValueError(f"a bound of a size is an integer that is not negative, not {bound!r}")
    if low is not None and high is not None and low > high:
        raise ValueError(f"no size is at least {low} and at most {high}")
    dims = [_checked(one, tensor) for one in (dim if isinstance(dim, list | tuple) else (dim,))]
    kinds = cast("dict[str, dict[int, object]]", vars(tensor).setdefault(ATTRIBUTE, {}))
    kinds.setdefault(kind.value, {}).update(dict.fromkeys(dims, mark))


def _checked(dim: object, tensor: torch.Tensor) -> int:
    if type(dim) is not int:
        raise TypeError(f"a dimension is an integer, not {dim!r}")
    if not -tensor.ndim <= dim < tensor.ndim:
        raise IndexError(f"a tensor of {tensor.ndim} dimensions has no dimension {dim}")
    return dim % tensor.ndim


def marks_of(tensor: torch.Tensor) -> tuple[Marks, ...]:
    """Return the marks of each dimension, torch's included; ours count where both say something."""
    found: tuple[dict[Kind, Mark], ...] = tuple({} for _ in tensor.shape)
    own = vars(tensor)
    if not own:
        return found
    ranges = {one.dim: one for one in own.get(MARK_RANGES, ())}
    for attribute, kind, is_strict in MARK_ATTRIBUTES:
        for dim in own.get(attribute, ()):
            limits = ranges.get(dim) if kind == "dynamic" else None
            low, high = (limits.min, limits.max) if limits else (None, None)
            if -tensor.ndim <= dim < tensor.ndim:
                found[dim][Kind(kind)] = Mark(low, high, is_strict)
    for name, dims in own.get(ATTRIBUTE, {}).items():
        for dim, mark in dims.items():
            found[dim][Kind(name)] = Mark(*mark)
    return found
