"""Arguments of operators: leaves in lists, tuples, dicts and slices, in graphs and in host programs alike."""

from collections.abc import Callable, Sequence
from typing import cast

Arg = object
"""A leaf, or a list, tuple, dict (its values) or slice of Args."""


def slice_parts(item: object) -> tuple[Arg, Arg, Arg]:
    """Return start, stop and step of a slice."""
    found = cast("slice[object, object, object]", item)
    return found.start, found.stop, found.step


def map_leaves(function: Callable[[Arg], Arg], arg: Arg) -> Arg:
    """Return `arg` with every leaf replaced by `function(leaf)`, containers rebuilt."""
    if not isinstance(arg, (list, tuple, dict, slice)):
        return function(arg)
    if isinstance(arg, dict):
        pairs = cast("dict[object, Arg]", arg).items()
        return {key: map_leaves(function, item) for key, item in pairs}
    if isinstance(arg, slice):
        return slice(*[map_leaves(function, part) for part in slice_parts(cast("object", arg))])
    made = [map_leaves(function, item) for item in cast("Sequence[Arg]", arg)]
    return made if isinstance(arg, list) else tuple(made)


def leaves(arg: Arg) -> list[Arg]:
    """Return the leaves of an argument, left to right."""
    found: list[Arg] = []
    _collect(arg, found)
    return found


def _collect(arg: Arg, found: list[Arg]) -> None:
    if not isinstance(arg, (list, tuple, dict, slice)):
        found.append(arg)
        return
    if isinstance(arg, dict):
        items = cast("dict[object, Arg]", arg).values()
    else:
        items = slice_parts(cast("object", arg)) if isinstance(arg, slice) else cast("Sequence[Arg]", arg)
    for item in items:
        _collect(item, found)
