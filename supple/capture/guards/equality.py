"""Equality as guards mean it: same type and same value, NaN equal to itself, the zeros told apart."""

import math
from collections.abc import Callable, Mapping
from typing import Final, cast

from supple.base.rules import Rules

Same = Callable[[object, object], bool]
same_rules: Final[Rules[Same]] = Rules("same")


def has_slot(obj: object, name: str) -> bool:
    """Tell whether a slot of an object holds something."""
    try:
        object.__getattribute__(obj, name)
    except AttributeError:
        return False
    return True


def same(left: object, right: object) -> bool:
    """Tell whether two objects have one type and mean the same value."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    rule = same_rules.find(type(left))
    return rule(left, right) if rule else bool(left == right)


@same_rules.on(float)
def _(left: object, right: object) -> bool:
    """NaN equals NaN; -0.0 differs from 0.0."""
    a, b = cast("float", left), cast("float", right)
    if a != a:  # only NaN differs from itself
        return b != b
    return a == b and math.copysign(1.0, a) == math.copysign(1.0, b)


@same_rules.on(tuple, list)
def _(left: object, right: object) -> bool:
    """Item by item."""
    a, b = cast("list[object]", left), cast("list[object]", right)
    return len(a) == len(b) and all(map(same, a, b))


_PARTS: Final[Mapping[type, Callable[[object], object]]] = {
    complex: lambda value: (cast("complex", value).real, cast("complex", value).imag),
    dict: lambda value: list(cast("dict[object, object]", value).items()),
    slice: lambda value: (cast("slice", value).start, cast("slice", value).stop, cast("slice", value).step),
}
"""What has the same meaning where these parts have: a dict's keys count in their order."""
for _kind, _parts in _PARTS.items():
    same_rules.on(_kind)(lambda left, right, parts=_parts: same(parts(left), parts(right)))


@same_rules.on(set, frozenset)
def _(left: object, right: object) -> bool:
    """The same members; 1 and True are different members."""
    a, b = cast("set[object]", left), cast("set[object]", right)
    return a == b and {(type(x), x) for x in a} == {(type(x), x) for x in b}
