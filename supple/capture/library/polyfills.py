"""Builtins and pure standard-library functions as plain Python, inlined during capture like user code.

These run only on symbolic values, never as such. Plain loops and few calls keep the trace short.
"""

import collections
import functools
import operator
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any, Final, NoReturn, cast

from supple.capture.library.folding import format_fields, format_path

_MISSING: Final = object()


def sequence_eq(left: Sequence[object], right: Sequence[object]) -> bool:
    """`left == right` for lists or deques: of different lengths no items are asked."""
    if len(left) != len(right):
        return False
    index = 0
    while index < len(left):
        a, b = left[index], right[index]
        if a is not b and not a == b:  # == decides, as in CPython
            return False
        index += 1
    return True


def tuple_eq(left: Sequence[object], right: Sequence[object]) -> bool:
    """`left == right` for tuples: items are asked first, then lengths."""
    for a, b in zip(left, right, strict=False):
        if a is not b and not a == b:  # == decides, as in CPython
            return False
    return len(left) == len(right)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Sequence[Any], Sequence[Any]], bool]:
    """Return an order of lists or tuples: that of the first items that differ, else of the lengths."""

    def ordered(left: Sequence[Any], right: Sequence[Any]) -> bool:
        for a, b in zip(left, right, strict=False):
            if a is not b and not a == b:  # == decides, as in CPython
                return compare(a, b)
        return compare(len(left), len(right))

    return ordered


sequence_order: Final[dict[str, Callable[..., bool]]] = {
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
}


def dict_eq(left: Mapping[object, object], right: Mapping[object, object]) -> bool:
    """`left == right` for dicts."""
    if len(left) != len(right):
        return False
    for key in left:
        if key not in right:
            return False
        a, b = left[key], right[key]
        if a is not b and not a == b:  # == decides, as in CPython
            return False
    return True


def dict_or(left: Mapping[object, object], right: Mapping[object, object]) -> dict[object, object]:
    """`left | right` for dicts."""
    return {**left, **right}


def ordered_eq(left: Mapping[object, object], right: Mapping[object, object]) -> bool:
    """`left == right` for OrderedDicts: the order counts."""
    return list(left) == list(right) and dict_eq(left, right)


def any_(items: Iterable[object]) -> bool:
    """any(items)."""
    for item in items:  # inlined: a loop is the shortest trace
        if item:
            return True
    return False


def all_(items: Iterable[object]) -> bool:
    """all(items)."""
    for item in items:  # inlined: a loop is the shortest trace
        if not item:
            return False
    return True


def sum_(items: Iterable[Any], start: Any = 0) -> Any:
    """sum(items, start)."""
    iterator = iter(items)
    for kind, empty in (str, "''"), (bytes, "b''"), (bytearray, "b''"):
        if isinstance(start, kind):
            name = "strings" if kind is str else kind.__name__
            raise TypeError(f"sum() can't sum {name} [use {empty}.join(seq) instead]")
    total = start
    for item in iterator:
        total = total + item
    return total


def prod_(items: Iterable[Any], /, *, start: Any = 1) -> Any:
    """math.prod(items, start=1)."""
    total = start
    for item in items:
        total = total * item
    return total


def stepping(step: Callable[[], object], kind: type, *made_of: object) -> Iterator[Any]:
    """Return an iterator of a class written in C: `step` gives each item, or raises StopIteration.

    While capturing, a rule stands for this function.

    Args:
        made_of: the arguments of the class, unless those of the function that the program called are.
    """
    return stepped(step)


def stepped(step: Callable[[], object]) -> Iterator[object]:
    """Yield what a function gives until it raises StopIteration."""
    while True:
        try:
            item = step()
        except StopIteration:
            return
        yield item


def map_(function: Callable[..., object], *iterables: Iterator[object]) -> Iterator[object]:
    """map(function, *iterables)."""

    def step() -> object:
        items: list[object] = []
        for iterator in iterables:
            items.append(next(iterator))
        return function(*items)

    return stepping(step, map)


def filter_(function: Callable[[object], object] | None, items: Iterator[object]) -> Iterator[object]:
    """filter(function, items)."""

    def step() -> object:
        while True:
            item = next(items)
            if item if function is None else function(item):
                return item

    return stepping(step, filter)


def zip_(*iterables: Iterator[object], strict: bool = False) -> Iterator[tuple[object, ...]]:
    """zip(*iterables, strict=strict)."""

    def step() -> tuple[object, ...]:
        row: list[object] = []
        for iterator in iterables:
            item = next(iterator, _MISSING)
            if item is _MISSING:
                if strict:
                    refuse_longer(len(row))
                raise StopIteration
            row.append(item)
        if not row:
            raise StopIteration
        return tuple(row)

    def refuse_longer(position: int) -> None:
        if position > 0:
            raise ValueError(f"zip() argument {position + 1} is shorter than {_until(position)}")
        for later in range(1, len(iterables)):
            if next(iterables[later], _MISSING) is not _MISSING:
                raise ValueError(f"zip() argument {later + 1} is longer than {_until(later)}")

    return stepping(step, zip)


def _until(position: int) -> str:
    return "argument 1" if position == 1 else f"arguments 1-{position}"


def enumerate_(iterable: Iterator[object], start: int = 0) -> Iterator[tuple[int, object]]:
    """enumerate(iterable, start)."""
    index = start if type(start) is int else int(start)

    def step() -> tuple[int, object]:
        nonlocal index
        item = next(iterable)
        index += 1
        return index - 1, item

    return stepping(step, enumerate)


def reversed_(items: Sequence[object], index: int, kind: type) -> Iterator[object]:
    """reversed(items) of a sequence whose last index this is; what an item raises ends it."""

    def step() -> object:
        nonlocal index
        place, index = index, -1
        item: object = _MISSING
        if place >= 0:
            try:
                item = items[place]
            except (IndexError, StopIteration):
                pass
        if item is _MISSING:
            raise StopIteration
        index = place - 1
        return item

    return stepping(step, kind)


def min_of(items: Iterable[Any], key: Callable[[Any], Any] | None = None, default: Any = _MISSING) -> Any:
    """min(items, key=key, default=default)."""
    return _extreme("min", items, key, default)


def max_of(items: Iterable[Any], key: Callable[[Any], Any] | None = None, default: Any = _MISSING) -> Any:
    """max(items, key=key, default=default)."""
    return _extreme("max", items, key, default)


def _said_of_nothing() -> str:
    """Return what this Python says of the least of no items, with a place for the function's name."""
    try:
        return str(min(()))
    except ValueError as error:
        return str(error).replace("min", "{}")


_OF_NOTHING: Final = _said_of_nothing()


def _extreme(name: str, items: Iterable[Any], key: Callable[[Any], Any] | None, default: Any) -> Any:
    best, best_key = _MISSING, None
    for item in items:
        rank = item if key is None else key(item)
        if best is _MISSING or (rank < best_key if name == "min" else rank > best_key):
            best, best_key = item, rank
    if best is not _MISSING:
        return best
    if default is _MISSING:
        raise ValueError(_OF_NOTHING.format(name))
    return default


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


_LACKED: Final = object()


def ordered_pop(mapping: MutableMapping[object, object], key: object, default: object = _MISSING) -> object:
    """OrderedDict.pop."""
    found = dict_pop(mapping, key, _LACKED if default is _MISSING else default)
    if found is _LACKED:
        refuse_ordered(key)
    return found


def refuse_ordered(key: object) -> NoReturn:
    """Raise what an OrderedDict does for a key that it lacks: C takes None and a tuple for all arguments."""
    if isinstance(key, KeyError):
        raise key
    if key is None:
        raise KeyError
    raise KeyError(*cast("tuple[object, ...]", key)) if isinstance(key, tuple) else KeyError(key)


def count_elements(counts: MutableMapping[object, Any], items: Iterable[object]) -> None:
    """What Counter.update does for an iterable."""
    for item in items:
        counts[item] = counts.get(item, 0) + 1


_OF_A_FUNCTION: Final = type(iter(int, 1))


def iterate_until(function: Callable[[], object], sentinel: object) -> Iterator[object]:
    """iter(function, sentinel)."""
    is_ended = False

    def step() -> object:
        nonlocal is_ended
        item: object = _MISSING
        if not is_ended:
            try:
                item = function()
            except StopIteration:
                pass
        if item is _MISSING or sentinel is item or sentinel == item:
            is_ended = True
            raise StopIteration
        return item

    return stepping(step, _OF_A_FUNCTION)


def dict_popitem(mapping: MutableMapping[object, object]) -> tuple[object, object]:
    """dict.popitem."""
    if not mapping:
        raise KeyError("popitem(): dictionary is empty")
    return ordered_popitem(mapping)


def ordered_popitem(mapping: MutableMapping[object, object], last: bool = True) -> tuple[object, object]:
    """OrderedDict.popitem."""
    for key in reversed(mapping) if last else mapping:
        found = mapping[key]
        del mapping[key]
        return key, found
    raise KeyError("dictionary is empty")


def dict_fromkeys(keys: Iterable[object], value: object = None) -> dict[object, object]:
    """dict.fromkeys."""
    made: dict[object, object] = {}
    for key in keys:
        made[key] = value
    return made


def _lacks() -> str:
    """Return what a deque says that has nothing to remove."""
    try:
        collections.deque[object]().remove("it")
    except ValueError as error:
        return str(error)
    return ""


_LACKS: Final = _lacks()
_NAMES_WHAT_IT_LACKS: Final = _LACKS.startswith("'it'")


def list_remove(items: MutableSequence[object], wanted: object) -> None:
    """list.remove, and deque.remove."""
    for index, item in enumerate(items):
        if item is wanted or item == wanted:
            del items[index]
            return
    said = f"{wanted!r} is not in deque" if _NAMES_WHAT_IT_LACKS else _LACKS
    raise ValueError("list.remove(x): x not in list" if isinstance(items, list) else said)


def set_remove(items: set[object], wanted: object) -> None:
    """set.remove."""
    if wanted not in items:
        raise KeyError(wanted)
    items.discard(wanted)


def sequence_index(items: Sequence[object], wanted: object, start: int = 0, stop: int | None = None) -> int:
    """list.index, tuple.index and deque.index."""
    for index in range(*slice(start, stop).indices(len(items))):
        item = items[index]
        if item is wanted or item == wanted:
            return index
    name = "list" if isinstance(items, list) else "deque"
    is_tuple = isinstance(items, tuple)
    raise ValueError("tuple.index(x): x not in tuple" if is_tuple else f"{wanted!r} is not in {name}")


def sequence_count(items: Sequence[object], wanted: object) -> int:
    """list.count."""
    count = 0
    for item in items:
        if item is wanted or item == wanted:
            count += 1
    return count


def reduce_(function: Callable[[Any, Any], Any], items: Iterable[Any], initial: Any = _MISSING) -> Any:
    """functools.reduce."""
    try:
        iterator = iter(items)
    except TypeError:
        raise TypeError("reduce() arg 2 must support iteration") from None
    total = initial
    for item in iterator:
        total = item if total is _MISSING else function(total, item)
    if total is _MISSING:
        raise TypeError("reduce() of empty iterable with no initial value")
    return total


def cached_property_get(descriptor: Any, owner: Any, kind: object = None) -> object:
    """functools.cached_property.__get__, its lock left out."""
    if owner is None:
        return descriptor
    stored = owner.__dict__
    if descriptor.attrname in stored:
        return stored[descriptor.attrname]
    found = descriptor.func(owner)
    stored[descriptor.attrname] = found
    return found


class _Ranked:
    def __init__(self, compare: Callable[[Any, Any], Any], item: object) -> None:
        self.compare = compare
        self.item = item

    def __lt__(self, other: "_Ranked") -> bool:
        return self.compare(self.item, other.item) < 0

    def __gt__(self, other: "_Ranked") -> bool:
        return self.compare(self.item, other.item) > 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Ranked) and self.compare(self.item, other.item) == 0


def cmp_to_key_(compare: Callable[[Any, Any], Any]) -> Callable[[object], object]:
    """functools.cmp_to_key."""
    return lambda item: _Ranked(compare, item)


def nlargest_(count: int, items: Iterable[Any], key: Callable[[Any], Any] | None = None) -> list[Any]:
    """heapq.nlargest."""
    return sorted(items, key=key, reverse=True)[: max(count, 0)]


def nsmallest_(count: int, items: Iterable[Any], key: Callable[[Any], Any] | None = None) -> list[Any]:
    """heapq.nsmallest."""
    return sorted(items, key=key)[: max(count, 0)]


def add_note_(error: BaseException, note: Any) -> None:
    """BaseException.add_note."""
    if not isinstance(note, str):
        raise TypeError(f"note must be a str, not '{type(note).__name__}'")
    if not hasattr(error, "__notes__"):
        error.__notes__ = []
    error.__notes__.append(note)


def str_format(template: str, /, *args: Any, **kwargs: Any) -> str:
    """str.format."""
    return _filled(template, args, kwargs, [])


def _filled(template: str, args: Sequence[Any], kwargs: Mapping[str, Any], unnamed: list[str]) -> str:
    parts: list[str] = []
    for text, field, spec, conversion in format_fields(template):
        parts.append(text)
        if field is None:
            continue
        if not field or field[0] in ".[":
            unnamed.append(field)
            field = f"{len(unnamed) - 1}{field}"
        first, path = format_path(field)
        if isinstance(first, int) and first >= len(args):
            raise IndexError(f"Replacement index {first} out of range for positional args tuple")
        value = args[first] if isinstance(first, int) else kwargs[first]
        for is_attribute, key in path:
            value = getattr(value, key) if is_attribute else value[key]
        if conversion:
            value = str(value) if conversion == "s" else repr(value)
        if conversion == "a":
            value = value.encode("ascii", "backslashreplace").decode()
        parts.append(format(value, _filled(spec, args, kwargs, unnamed)))
    return "".join(parts)


def pattern_sub(pattern: Any, replacement: Any, text: str, count: int = 0) -> str:
    """re.Pattern.sub, where the replacement is a function."""
    parts: list[str] = []
    end = 0
    for match in pattern.finditer(text):
        if count and len(parts) == 2 * count:
            break
        parts += [text[end : match.start()], replacement(match)]
        end = match.end()
    return "".join([*parts, text[end:]])


def update_wrapper_(
    wrapper: Any,
    wrapped: Any,
    assigned: Iterable[str] = functools.WRAPPER_ASSIGNMENTS,
    updated: Iterable[str] = functools.WRAPPER_UPDATES,
) -> Any:
    """functools.update_wrapper."""
    for name in assigned:
        if hasattr(wrapped, name):
            setattr(wrapper, name, getattr(wrapped, name))
    for _ in updated:
        own = vars(wrapped) if isinstance(wrapped, types.FunctionType) else getattr(wrapped, "__dict__", {})
        for name, value in own.items():
            setattr(wrapper, name, value)
    wrapper.__wrapped__ = wrapped
    return wrapper
