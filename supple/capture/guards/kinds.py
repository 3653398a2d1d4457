"""Guards as data: a source, a kind, what is expected, and the user's line that asked."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from supple.base.errors import Where
from supple.capture.source import Source
from supple.expr import And, Expr, Or, may_divide_by_zero
from supple.expr import text as expr_text
from supple.expr.real import Comparison


class Kind(Enum):
    """What is checked of the value at a source. The value names it in the printed tree."""

    TYPE = "TYPE"  # type(x) is expected
    EQUALS = "EQUALS"  # same type and value; NaN equals NaN
    IS = "IS"  # x is expected (the entry holds it: classes, modules, functions of torch, None)
    ID = "ID"  # id(x) == expected.key; the entry dies with the object
    CODE = "CODE"  # x.__code__ is expected
    EMPTY = "EMPTY"  # x is false: an empty container
    LENGTH = "LENGTH"  # len(x) == expected
    KEYS = "KEYS"  # list(x) == expected, keys of a dict in order
    HAS_KEY = "HAS_KEY"  # expected in x, for dicts and sets
    LACKS_KEY = "LACKS_KEY"  # expected not in x
    LACKS_ATTRIBUTE = "LACKS_ATTRIBUTE"  # expected not in x.__dict__
    LACKS_SLOT = "LACKS_SLOT"  # the slot `expected` of x is empty
    LACKS_CLASS_ATTRIBUTE = "LACKS_CLASS_ATTRIBUTE"  # not hasattr(x, expected), for classes
    TENSOR = "TENSOR"  # metadata of a tensor, a TensorExpectation
    CLASS = "CLASS"  # the bases of the class x, and what lies under names: ClassFacts
    BUILTINS = "BUILTINS"  # x[name] is what stood there, for pairs of both
    CONTEXT_UNSET = "CONTEXT_UNSET"  # x.get() raises LookupError, for context variables
    NO_GRADIENT = "NO_GRADIENT"  # x.grad is None
    SAME = "SAME"  # x is the value at the other source
    DISTINCT = "DISTINCT"  # the values at these sources are different objects (and no views of the first)
    ALL = "ALL"  # all guards in expected, which read the object at the source alone
    SHAPE = "SHAPE"  # a condition on sizes and numbers at the sources in others, a ShapeCondition
    STATE = "STATE"  # process and thread state, a StateExpectation


@dataclass(frozen=True, slots=True)
class TensorExpectation:
    """What a TENSOR guard compares.

    Attributes:
        kind: the exact Python type.
        sizes, strides: in elements; None where any will do.
        is_row_major: the strides are those of a row-major tensor of its sizes, whatever they are.
        dtype, device: torch's own objects.
        keys: the dispatch keys as a number: inference tensors, conjugate bits, functorch wrappers differ.
        bits: whether it is negated when it is read, of inference mode, conjugated when it is read.
    """

    kind: type
    dtype: object
    device: object
    sizes: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    requires_grad: bool
    keys: int
    is_row_major: bool = False
    bits: tuple[bool, bool, bool] = (False, False, False)

    @property
    def is_static(self) -> bool:
        """Whether all sizes and strides are numbers."""
        return None not in self.sizes and None not in self.strides


@dataclass(frozen=True, slots=True)
class ShapeCondition:
    """What a SHAPE guard checks; `names[i]` is the symbol for the number at `others[i]` of the guard."""

    condition: Expr | Comparison
    names: tuple[str, ...]

    def text(self, written: Callable[[str], str], kept: Callable[[str], str]) -> str:
        """Return the condition as Python text.

        Args:
            written: says what stands for each word in it.
            kept: says what stands for each operation in it, given its text.
        """

        def words(shown: str) -> str:
            return re.sub(r"\b[a-z]\w*\b", lambda found: written(found[0]), shown)

        condition = self.condition
        if isinstance(condition, Comparison):
            return words(condition.text(lambda _, shown: kept(words(shown))))
        may_stop_early = isinstance(condition, And | Or)

        def stands_for(operation: Expr, shown: str) -> str:
            """What Python may not come to is computed where it stands."""
            return shown if may_stop_early and may_divide_by_zero(operation) else kept(words(shown))

        return words(expr_text(condition, ranges=False, kept=stands_for))


@dataclass(frozen=True, slots=True)
class Identity:
    """An object known by its id alone; `label` describes it."""

    key: int
    label: str


@dataclass(frozen=True, slots=True)
class Guard:
    """One condition.

    Attributes:
        expected: depends on the kind, see `Kind`.
        where: the user's line that made capture look at the value.
        others: further sources, for SAME and DISTINCT.
        is_specialised: of a number that varied, whose value the user's line asks for all the same.
    """

    source: Source
    kind: Kind
    expected: object = None
    where: Where | None = None
    others: tuple[Source, ...] = ()
    is_specialised: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two guards the same condition."""
        return guard_key(self.source, self.kind, self.expected, self.others)


def guard_key(
    source: Source, kind: Kind, expected: object, others: tuple[Source, ...] = ()
) -> tuple[object, ...]:
    """Return what is equal for two guards that are the same condition."""
    marker = expected if isinstance(expected, str | int | bool | type | None) else id(expected)
    return (source.name, kind, type(expected), marker, others)
