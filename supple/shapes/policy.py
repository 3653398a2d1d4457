"""Which sizes, strides and numbers of the caller are dynamic, and why: one ladder, first rung first."""

import math
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

import torch

from supple.base.config import Settings
from supple.base.errors import ConstraintViolationError, Reason
from supple.base.options import Options
from supple.shapes.marks import Kind, Mark, Marks, marks_of
from supple.shapes.profile import Seen, tensor_record
from supple.shapes.sources import is_listed


class Mode(Enum):
    """What the compiler makes of a size, stride or number of the caller."""

    STATIC = "static"
    DYNAMIC = "dynamic"
    UNBACKED = "unbacked"


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of one size, stride or number.

    Attributes:
        why: which rung of the ladder decided; of what is dynamic, for the log.
        is_strict: to specialise it is an error.
        minimum, maximum: of the symbol. Sizes start at 0, at 2 under `specialize_zero_one`.
        has_range: the user gave the bounds: a guard that excludes a part of them is an error too.
    """

    mode: Mode
    why: str = ""
    is_strict: bool = False
    minimum: int | None = None
    maximum: int | None = None
    has_range: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A size or a number, and what there is to decide by.

    Attributes:
        source: the tensor, or the number.
        dim: the dimension; None for a number.
        config: the settings.
        forced: the setting that keeps it static; empty for none.
        is_early: it is dynamic before it varied: `dynamic=True`.
        varied: why it is dynamic after it varied; empty where it did not, or where that does not count.
    """

    source: str
    value: float
    dim: int | None
    marks: Marks
    config: Settings
    forced: str
    is_early: bool
    varied: str

    def is_listed(self, listed: str) -> bool:
        """Tell whether a list of sources names it."""
        return bool(listed) and is_listed(listed, self.source, self.dim)


def _unbacked(asked: Asked) -> Decision | None:
    """`mark_unbacked`, or the list of unbacked sources."""
    mark = asked.marks.get(Kind.UNBACKED)
    if mark is not None:
        return _marked(Mode.UNBACKED, "mark_unbacked", mark)
    if type(asked.value) is int and asked.is_listed(asked.config.unbacked_sources):
        return Decision(Mode.UNBACKED, "unbacked_sources")
    return None


def _marked(mode: Mode, why: str, mark: Mark) -> Decision:
    has_range = (mark.minimum, mark.maximum) != (None, None)
    return Decision(mode, why, mark.is_strict, mark.minimum, mark.maximum, has_range)


def _listed(asked: Asked) -> Decision | None:
    """The allow list: sources, and values."""
    if asked.is_listed(asked.config.dynamic_sources):
        return Decision(Mode.DYNAMIC, "dynamic_sources")
    values = asked.config.dynamic_values
    if values and type(asked.value) is int and str(asked.value) in map(str.strip, values.split(",")):
        return None if asked.forced else Decision(Mode.DYNAMIC, "dynamic_values")
    return None


STATIC: Final = Decision(Mode.STATIC)


def _decided(asked: Asked) -> Decision:
    """Return what the first rung of the ladder says that answers; what none answers for is static."""
    listed, unbacked, marks = _listed(asked), _unbacked(asked), asked.marks
    if asked.forced and listed is None:
        # No mark gets past a setting that keeps it static, the allow list does.
        return Decision(Mode.STATIC, asked.forced)
    if unbacked is not None:
        return unbacked
    if Kind.DYNAMIC in marks:
        return _marked(Mode.DYNAMIC, "mark_dynamic", marks[Kind.DYNAMIC])
    if listed is not None:
        return listed
    if Kind.MAYBE in marks:
        return Decision(Mode.DYNAMIC, "maybe_mark_dynamic")
    if Kind.STATIC in marks:
        return Decision(Mode.STATIC, "mark_static")
    if asked.varied:
        return Decision(Mode.DYNAMIC, asked.varied)
    return Decision(Mode.DYNAMIC, "dynamic=True") if asked.is_early else STATIC


def tensor_plan(
    tensor: torch.Tensor,
    source: str,
    *,
    is_parameter: bool,
    is_module_property: bool,
    options: Options,
    seen: Seen | None,
) -> tuple[Decision, ...]:
    """Return what becomes of each size of a tensor, and note the tensor in `seen`.

    Raises:
        ConstraintViolationError: the present size is not what a mark allows.
    """
    config = options.config
    sizes = tuple(tensor.shape)
    forced = _forced_sizes(config, is_parameter, is_module_property, seen)
    marks = marks_of(tensor)
    varied: dict[int, str] = {}
    if seen is not None and _is_automatic(options):
        strides = tuple(tensor.stride())
        said = () if forced else tuple(dim for dim, mark in enumerate(marks) if Kind.DYNAMIC in mark)
        seen.note(source, tensor_record(sizes, strides, said), is_private=bool(forced))
        varied = seen.varied_dims(source, tensor_record(sizes, strides))
    is_early = _is_early(options)
    asked = (
        Asked(source, size, dim, marks[dim], config, forced, is_early, varied.get(dim, ""))
        for dim, size in enumerate(sizes)
    )
    return tuple(_bounded(_decided(one), one) for one in asked)


def _forced_sizes(config: Settings, is_parameter: bool, is_module_property: bool, seen: Seen | None) -> str:
    if seen is not None and seen.is_widened:
        return ""
    if is_parameter and config.force_parameter_static_shapes:
        return "force_parameter_static_shapes"
    if is_module_property and not is_parameter and config.force_nn_module_property_static_shapes:
        return "force_nn_module_property_static_shapes"
    return ""


def _is_automatic(options: Options) -> bool:
    return options.config.automatic_dynamic_shapes and options.is_dynamic is not False


def _is_early(options: Options) -> bool:
    is_dynamic = options.is_dynamic
    return is_dynamic or (is_dynamic is None and not options.config.assume_static_by_default)


OUTSIDE: Final = Reason(
    "U102",
    "{source}.size()[{dim}] is {size}, and {limit}.",
    "The mark on dimension {dim} of {source} excludes the size that the tensor has.",
    "Give `mark_dynamic` bounds that hold for all calls, or use supple.maybe_mark_dynamic.",
)


def _bounded(decision: Decision, asked: Asked) -> Decision:
    """Return a decision on a size, with its bounds; the present size must be in them."""
    if decision.mode is Mode.STATIC:
        return decision
    is_classic = asked.config.specialize_zero_one and decision.mode is Mode.DYNAMIC
    if is_classic and asked.value < 2:
        if decision.is_strict:
            raise _outside(asked, "`specialize_zero_one` compiles sizes 0 and 1 for themselves")
        return Decision(Mode.STATIC, "specialize_zero_one")
    low, high = max(decision.minimum or 0, 2 if is_classic else 0), decision.maximum
    if asked.value < low or (high is not None and asked.value > high):
        raise _outside(asked, f"it is marked to be in [{low}, {'oo' if high is None else high}]")
    return Decision(Mode.STATIC, decision.why) if low == high else replace(decision, minimum=low)


def _outside(asked: Asked, limit: str) -> ConstraintViolationError:
    return ConstraintViolationError(
        OUTSIDE, source=asked.source, dim=asked.dim, size=asked.value, limit=limit
    )


def stride_plan(
    tensor: torch.Tensor, source: str, *, options: Options, seen: Seen | None
) -> tuple[Decision, ...]:
    """Return which strides are dynamic where they do not follow from sizes and inner strides.

    Those that varied and did not follow each time; under `dynamic=True`, those that do not follow now.
    """
    now = tensor_record(tuple(tensor.shape), tuple(tensor.stride()))
    reasons: dict[int, str] = {}
    if _is_early(options):
        reasons = {
            dim: "dynamic=True" for dim, step in enumerate(now.strides) if step > (1,) and not now.inner[dim]
        }
    if seen is not None and _is_automatic(options):
        reasons |= seen.varied_strides(source, now)
    return tuple(
        Decision(Mode.DYNAMIC, reasons[dim], minimum=0) if dim in reasons else STATIC
        for dim in range(tensor.ndim)
    )


RATE: Final = "a learning rate, which a schedule changes"


def number_plan(
    value: int | float, source: str, *, is_module_property: bool, options: Options, seen: Seen | None
) -> Decision:
    """Return what becomes of an int or a float, and note it in `seen`.

    A number of a module is dynamic after it varied only, a learning rate from the start.
    """
    config = options.config
    is_int = type(value) is int
    if not (-(2**63) <= value < 2**63 if is_int else math.isfinite(value)):
        return STATIC
    name = "specialize_int" if is_int else "specialize_float"
    forced = name if (config.specialize_int if is_int else config.specialize_float) else ""
    varied = ""
    if seen is not None and _is_automatic(options):
        seen.note_number(source, value, is_private=bool(forced))
        varied = seen.number_varied(source, value) or (RATE if source.endswith("['lr']") else "")
    is_early = _is_early(options) and (not is_module_property or config.allow_unspec_int_on_nn_module)
    return _decided(Asked(source, value, None, {}, config, forced, is_early, varied))
