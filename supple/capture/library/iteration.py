"""itertools as plain Python, inlined during capture: `starmap_` stands for `itertools.starmap`, and so on."""

import itertools
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from supple.capture.library.polyfills import stepping

_MISSING: Final = object()
_GROUPER: Final = type(next(itertools.groupby("a"))[1])
_TEE: Final = type(itertools.tee("")[0])


def starmap_(function: Callable[..., object], rows: Iterator[Iterable[Any]]) -> Iterator[object]:
    """itertools.starmap."""
    return stepping(lambda: function(*tuple(next(rows))), itertools.starmap)


def count_(start: Any = 0, step: Any = 1) -> Iterator[object]:
    """itertools.count; with what its arguments are now, another one goes on."""
    if type(start) is not int and isinstance(start, int) and isinstance(step, int) and step == 1:
        start = int(start)

    def count() -> object:
        nonlocal start
        item, start = start, start + step
        return item

    return stepping(count, itertools.count)


def cycle_(items: Iterator[object]) -> Iterator[object]:
    """itertools.cycle."""
    seen: list[object] = []
    place, is_first = -1, True

    def step() -> object:
        nonlocal place, is_first
        if is_first:
            item = next(items, _MISSING)
            if item is not _MISSING:
                seen.append(item)
                return item
            is_first = False
        if not seen:
            raise StopIteration
        place = (place + 1) % len(seen)
        return seen[place]

    return stepping(step, itertools.cycle)


def takewhile_(predicate: Callable[[object], object], items: Iterator[object]) -> Iterator[object]:
    """itertools.takewhile."""
    is_ended = False

    def step() -> object:
        nonlocal is_ended
        if not is_ended:
            item = next(items)
            if predicate(item):
                return item
            is_ended = True
        raise StopIteration

    return stepping(step, itertools.takewhile)


def dropwhile_(predicate: Callable[[object], object], items: Iterator[object]) -> Iterator[object]:
    """itertools.dropwhile."""
    has_begun = False

    def step() -> object:
        nonlocal has_begun
        while True:
            item = next(items)
            if has_begun:
                return item
            if not predicate(item):
                has_begun = True
                return item

    return stepping(step, itertools.dropwhile)


def filterfalse_(predicate: Callable[[object], object] | None, items: Iterator[object]) -> Iterator[object]:
    """itertools.filterfalse."""

    def step() -> object:
        while True:
            item = next(items)
            if not (item if predicate is None else predicate(item)):
                return item

    return stepping(step, itertools.filterfalse)


def zip_longest_(*iterables: Iterable[object], fillvalue: object = None) -> Iterator[tuple[object, ...]]:
    """itertools.zip_longest."""
    running = dict(enumerate([iter(iterable) for iterable in iterables]))
    while running:
        row: list[object] = [fillvalue] * len(iterables)
        for place, iterator in list(running.items()):
            item = next(iterator, _MISSING)
            if item is not _MISSING:
                row[place] = item
                continue
            del running[place]
            if not running:
                return
        yield tuple(row)


def pairwise_(items: Iterable[object]) -> Iterator[tuple[object, object]]:
    """itertools.pairwise."""
    before = _MISSING
    for item in items:
        if before is not _MISSING:
            yield before, item
        before = item


def groupby_(
    iterable: Iterator[Any], key: Callable[[Any], Any] | None = None
) -> Iterator[tuple[object, Iterator[object]]]:
    """itertools.groupby: a group ends when the next one is asked for."""
    item: Any = _MISSING
    mark: Any = _MISSING
    wanted: Any = _MISSING
    turn = 0

    def advance() -> None:
        nonlocal item, mark
        found = next(iterable)
        mark = found if key is None else key(found)
        item = found

    def next_group() -> tuple[object, Iterator[object]]:
        nonlocal turn, wanted
        turn += 1
        while mark is _MISSING or (wanted is not _MISSING and (wanted is mark or wanted == mark)):
            advance()
        wanted = mark
        return mark, group(turn, mark)

    def group(own: int, target: object) -> Iterator[object]:
        def step() -> object:
            nonlocal item, mark
            if turn == own:
                if item is _MISSING:
                    advance()
                if target is mark or target == mark:
                    found, item, mark = item, _MISSING, _MISSING
                    return found
            raise StopIteration

        return stepping(step, _GROUPER)

    return stepping(next_group, itertools.groupby)


def chain_(*iterables: Iterable[object]) -> Iterator[object]:
    """itertools.chain."""
    for iterable in iterables:
        yield from iterable


def chain_from(iterables: Iterable[Iterable[object]]) -> Iterator[object]:
    """itertools.chain.from_iterable."""
    for iterable in iterables:
        yield from iterable


def repeat_(item: object, times: int | None = None) -> Iterator[object]:
    """itertools.repeat."""
    left = times

    def step() -> object:
        nonlocal left
        if left is not None:
            if left <= 0:
                raise StopIteration
            left -= 1
        return item

    return stepping(step, itertools.repeat)


def islice_(items: Iterable[object], *bounds: Any) -> Iterator[object]:
    """itertools.islice: what its rule does not know to be integers is asked here, and told to it again."""
    if not all(one is None or isinstance(one, int) for one in bounds):
        return itertools.islice(items, *[None if one is None else operator.index(one) for one in bounds])
    cut = slice(*bounds)
    return _sliced(iter(items), cut.start or 0, cut.stop, cut.step or 1)


def _sliced(iterator: Iterator[object], start: int, stop: int | None, step: int) -> Iterator[object]:
    index = 0
    while stop is None or index < stop:
        item = next(iterator, _MISSING)
        if item is _MISSING:
            return
        if index >= start and (index - start) % step == 0:
            yield item
        index += 1


def accumulate_(
    iterable: Iterator[Any], func: Callable[[Any, Any], Any] | None = None, *, initial: Any = None
) -> Iterator[Any]:
    """itertools.accumulate."""
    total = _MISSING
    first = initial

    def step() -> Any:
        nonlocal total, first
        if first is not None:
            total, first = first, None
            return total
        item = next(iterable)
        if total is _MISSING:
            total = item
        else:
            total = total + item if func is None else func(total, item)
        return total

    return stepping(step, itertools.accumulate)


def tee_(items: Iterable[object], count: int = 2) -> tuple[Iterator[object], ...]:
    """itertools.tee."""
    if count == 0:
        return ()
    iterator = iter(items)
    waiting: list[list[object]] = [[] for _ in range(count)]

    def branch(own: list[object]) -> Iterator[object]:
        def step() -> object:
            if not own:
                item = next(iterator)
                for one in waiting:
                    one.append(item)
            return own.pop(0)

        return stepping(step, _TEE)

    return tuple([branch(own) for own in waiting])


def compress_(data: Iterator[object], selectors: Iterator[object]) -> Iterator[object]:
    """itertools.compress."""

    def step() -> object:
        while True:
            item = next(data)
            if next(selectors):
                return item

    return stepping(step, itertools.compress)
