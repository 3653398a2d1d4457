"""Builtins and pure standard-library functions as plain Python, inlined during capture like user code.

These run only on symbolic values, never as such. Plain loops and few calls keep the trace short.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, Final

_MISSING: Final = object()


def sequence_eq(left: Sequence[object], right: Sequence[object]) -> bool:
    """`left == right` for lists or tuples."""
    if len(left) != len(right):
        return False
    index = 0
    while index < len(left):
        a, b = left[index], right[index]
        if a is not b and not a == b:  # noqa: SIM201  # == decides, as in CPython
            return False
        index += 1
    return True


def _sequence_lt(left: Sequence[Any], right: Sequence[Any]) -> bool:
    for a, b in zip(left, right, strict=False):
        if a is not b and not a == b:  # noqa: SIM201  # == decides, as in CPython
            return a < b
    return len(left) < len(right)


def _sequence_le(left: Sequence[Any], right: Sequence[Any]) -> bool:
    for a, b in zip(left, right, strict=False):
        if a is not b and not a == b:  # noqa: SIM201  # == decides, as in CPython
            return a <= b
    return len(left) <= len(right)


def _sequence_gt(left: Sequence[Any], right: Sequence[Any]) -> bool:
    return _sequence_lt(right, left)


def _sequence_ge(left: Sequence[Any], right: Sequence[Any]) -> bool:
    return _sequence_le(right, left)


sequence_order: Final[dict[str, Callable[..., bool]]] = {
    "<": _sequence_lt,
    "<=": _sequence_le,
    ">": _sequence_gt,
    ">=": _sequence_ge,
}


def dict_eq(left: Mapping[object, object], right: Mapping[object, object]) -> bool:
    """`left == right` for dicts."""
    if len(left) != len(right):
        return False
    for key in left:
        if key not in right:
            return False
        a, b = left[key], right[key]
        if a is not b and not a == b:  # noqa: SIM201  # == decides, as in CPython
            return False
    return True


def dict_or(left: Mapping[object, object], right: Mapping[object, object]) -> dict[object, object]:
    """`left | right` for dicts."""
    return {**left, **right}


def set_and(left: Iterable[object], right: Iterable[object]) -> set[object]:
    """`left & right`."""
    return {item for item in left if item in right}


def set_or(left: Iterable[object], right: Iterable[object]) -> set[object]:
    """`left | right`."""
    return {*left, *right}


def set_sub(left: Iterable[object], right: Iterable[object]) -> set[object]:
    """`left - right`."""
    return {item for item in left if item not in right}


def set_xor(left: Iterable[object], right: Iterable[object]) -> set[object]:
    """`left ^ right`."""
    return {*(item for item in left if item not in right), *(item for item in right if item not in left)}


def _set_le(left: Any, right: Any) -> bool:
    for item in left:  # noqa: SIM110  # inlined: a loop is the shortest trace
        if item not in right:
            return False
    return True


def _set_eq(left: Any, right: Any) -> bool:
    return len(left) == len(right) and _set_le(left, right)


def _set_lt(left: Any, right: Any) -> bool:
    return len(left) < len(right) and _set_le(left, right)


def _set_ge(left: Any, right: Any) -> bool:
    return _set_le(right, left)


def _set_gt(left: Any, right: Any) -> bool:
    return _set_lt(right, left)


set_compare: Final[dict[str, Callable[..., bool]]] = {
    "==": _set_eq,
    "<": _set_lt,
    "<=": _set_le,
    ">": _set_gt,
    ">=": _set_ge,
}


def any_(items: Iterable[object]) -> bool:
    """any(items)."""
    for item in items:  # noqa: SIM110  # inlined: a loop is the shortest trace
        if item:
            return True
    return False


def all_(items: Iterable[object]) -> bool:
    """all(items)."""
    for item in items:  # noqa: SIM110  # inlined: a loop is the shortest trace
        if not item:
            return False
    return True


def sum_(items: Iterable[Any], start: Any = 0) -> Any:
    """sum(items, start)."""
    total = start
    for item in items:
        total = total + item
    return total


def map_(function: Callable[..., object], *iterables: Iterable[object]) -> Iterator[object]:
    """map(function, *iterables)."""
    for items in zip(*iterables, strict=False):
        yield function(*items)


def filter_(function: Callable[[object], object] | None, items: Iterable[object]) -> Iterator[object]:
    """filter(function, items)."""
    for item in items:
        if item if function is None else function(item):
            yield item


def zip_(*iterables: Iterable[object], strict: bool = False) -> Iterator[tuple[object, ...]]:
    """zip(*iterables, strict=strict)."""
    iterators = [iter(iterable) for iterable in iterables]
    while iterators:
        row: list[object] = []
        for position, iterator in enumerate(iterators):
            item = next(iterator, _MISSING)
            if item is _MISSING:
                if strict and position > 0:
                    msg = f"zip() argument {position + 1} is shorter than argument {position}"
                    raise ValueError(msg)
                if strict:
                    for later, other in enumerate(iterators):
                        if later and next(other, _MISSING) is not _MISSING:
                            msg = f"zip() argument {later + 1} is longer than argument {later}"
                            raise ValueError(msg)
                return
            row.append(item)
        yield tuple(row)


def enumerate_(items: Iterable[object], start: int = 0) -> Iterator[tuple[int, object]]:
    """enumerate(items, start)."""
    index = start
    for item in items:
        yield index, item
        index += 1


def reversed_(items: Sequence[object]) -> Iterator[object]:
    """reversed(items) of a sequence."""
    index = len(items) - 1
    while index >= 0:
        yield items[index]
        index -= 1


def min_of(items: Iterable[Any], key: Callable[[Any], Any] | None = None, default: Any = _MISSING) -> Any:
    """min(items, key=key, default=default)."""
    best, best_key = _MISSING, None
    for item in items:
        rank = item if key is None else key(item)
        if best is _MISSING or rank < best_key:
            best, best_key = item, rank
    if best is _MISSING:
        if default is _MISSING:
            msg = "min() arg is an empty sequence"
            raise ValueError(msg)
        return default
    return best


def max_of(items: Iterable[Any], key: Callable[[Any], Any] | None = None, default: Any = _MISSING) -> Any:
    """max(items, key=key, default=default)."""
    best, best_key = _MISSING, None
    for item in items:
        rank = item if key is None else key(item)
        if best is _MISSING or rank > best_key:
            best, best_key = item, rank
    if best is _MISSING:
        if default is _MISSING:
            msg = "max() arg is an empty sequence"
            raise ValueError(msg)
        return default
    return best


def sorted_(
    items: Iterable[Any], *, key: Callable[[Any], Any] | None = None, reverse: bool = False
) -> list[Any]:
    """sorted(items, key=key, reverse=reverse), stable, by insertion."""
    ranked: list[Any] = []
    for item in items:
        rank = item if key is None else key(item)
        position = len(ranked)
        while position > 0:
            other = ranked[position - 1][0]
            if (other < rank) if reverse else (rank < other):
                position -= 1
            else:
                break
        ranked.insert(position, (rank, item))
    return [item for _, item in ranked]


def dict_setdefault(mapping: MutableMapping[object, object], key: object, default: object = None) -> object:
    """dict.setdefault."""
    if key in mapping:
        return mapping[key]
    mapping[key] = default
    return default


def dict_pop(mapping: MutableMapping[object, object], key: object, default: object = _MISSING) -> object:
    """dict.pop."""
    if key in mapping:
        found = mapping[key]
        del mapping[key]
        return found
    if default is _MISSING:
        raise KeyError(key)
    return default


def dict_popitem(mapping: MutableMapping[object, object]) -> tuple[object, object]:
    """dict.popitem."""
    keys = list(mapping)
    if not keys:
        msg = "popitem(): dictionary is empty"
        raise KeyError(msg)
    key = keys[-1]
    found = mapping[key]
    del mapping[key]
    return key, found


def dict_fromkeys(keys: Iterable[object], value: object = None) -> dict[object, object]:
    """dict.fromkeys."""
    made: dict[object, object] = {}
    for key in keys:
        made[key] = value
    return made


def list_pop(items: list[object], index: int = -1) -> object:
    """list.pop."""
    if not items:
        msg = "pop from empty list"
        raise IndexError(msg)
    found = items[index]
    del items[index]
    return found


def list_remove(items: list[object], wanted: object) -> None:
    """list.remove."""
    for index, item in enumerate(items):
        if item is wanted or item == wanted:
            del items[index]
            return
    msg = "list.remove(x): x not in list"
    raise ValueError(msg)


def sequence_index(items: Sequence[object], wanted: object, start: int = 0) -> int:
    """list.index."""
    for index, item in enumerate(items):
        if index >= start and (item is wanted or item == wanted):
            return index
    msg = f"{wanted!r} is not in list"
    raise ValueError(msg)


def sequence_count(items: Sequence[object], wanted: object) -> int:
    """list.count."""
    count = 0
    for item in items:
        if item is wanted or item == wanted:
            count += 1
    return count


def reduce_(function: Callable[[Any, Any], Any], items: Iterable[Any], initial: Any = _MISSING) -> Any:
    """functools.reduce."""
    total = initial
    for item in items:
        total = item if total is _MISSING else function(total, item)
    if total is _MISSING:
        msg = "reduce() of empty iterable with no initial value"
        raise TypeError(msg)
    return total


def chain_(*iterables: Iterable[object]) -> Iterator[object]:
    """itertools.chain."""
    for iterable in iterables:
        yield from iterable


def repeat_(item: object, times: int | None = None) -> Iterator[object]:
    """itertools.repeat."""
    if times is None:
        while True:
            yield item
    for _ in range(times):
        yield item


def islice_(items: Iterable[object], *bounds: int | None) -> Iterator[object]:
    """itertools.islice."""
    cut = slice(*bounds)
    start, stop, step = cut.start or 0, cut.stop, cut.step or 1
    index = 0
    iterator = iter(items)
    while stop is None or index < stop:
        item = next(iterator, _MISSING)
        if item is _MISSING:
            return
        if index >= start and (index - start) % step == 0:
            yield item
        index += 1


def accumulate_(items: Iterable[Any], function: Callable[[Any, Any], Any] | None = None) -> Iterator[Any]:
    """itertools.accumulate."""
    total = _MISSING
    for item in items:
        if total is _MISSING:
            total = item
        else:
            total = total + item if function is None else function(total, item)
        yield total


def product_(*iterables: Iterable[object]) -> list[tuple[object, ...]]:
    """itertools.product, as a list."""
    rows: list[tuple[object, ...]] = [()]
    for iterable in iterables:
        items = list(iterable)
        rows = [(*row, item) for row in rows for item in items]
    return rows
