"""itertools as plain Python, inlined during capture: `starmap_` stands for `itertools.starmap`, and so on."""

import itertools
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from supple.capture.library.polyfills import stepping
from supple.runtime.iterators import GROUPER

_MISSING: Final = object()
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
    """itertools.zip_longest; what an iterator raises ends it."""
    running: list[Iterator[object] | None] = [iter(iterable) for iterable in iterables]
    left = len(running)
    is_ended = not running

    def step() -> tuple[object, ...]:
        nonlocal left, is_ended
        if is_ended:
            raise StopIteration
        is_ended = True
        row: list[object] = []
        for place, iterator in enumerate(running):
            item = _MISSING if iterator is None else next(iterator, _MISSING)
            if item is _MISSING and iterator is not None:
                running[place] = None
                left -= 1
                if left == 0:
                    raise StopIteration
            row.append(fillvalue if item is _MISSING else item)
        is_ended = False
        return tuple(row)

    return stepping(step, itertools.zip_longest)


def pairwise_(items: Iterator[object]) -> Iterator[tuple[object, object]]:
    """itertools.pairwise; what the iterator raises ends it."""
    before: object = _MISSING
    has_begun = is_ended = False

    def step() -> tuple[object, object]:
        nonlocal before, has_begun, is_ended
        if is_ended:
            raise StopIteration
        is_ended = True
        first = before if has_begun else next(items)
        has_begun = True
        before = next(items)
        is_ended = False
        return first, before

    return stepping(step, itertools.pairwise)


def groupby_(
    iterable: Iterator[Any], key: Callable[[Any], Any] | None = None
) -> Iterator[tuple[object, Iterator[object]]]:
    """itertools.groupby: a group ends when the next one is asked for."""
    waiting: tuple[Any, ...] = ()
    wanted: Any = None
    turn, has_begun = 0, False

    def advance() -> None:
        nonlocal waiting
        found = next(iterable)
        waiting = found, found if key is None else key(found)

    def next_group() -> tuple[object, Iterator[object]]:
        nonlocal turn, wanted, has_begun
        turn += 1
        while not waiting or (has_begun and (wanted is waiting[1] or wanted == waiting[1])):
            advance()
        wanted, has_begun = waiting[1], True
        return wanted, group(turn, wanted)

    def group(own: int, target: object) -> Iterator[object]:
        def step() -> object:
            nonlocal waiting
            if turn == own:
                if not waiting:
                    advance()
                if target is waiting[1] or target == waiting[1]:
                    found, waiting = waiting[0], ()
                    return found
            raise StopIteration

        return stepping(step, GROUPER, groups, target)

    groups = stepping(next_group, itertools.groupby)
    return groups


def chain_(*iterables: Iterable[object]) -> Iterator[object]:
    """itertools.chain."""
    return chain_from(iter(iterables))


def chain_from(iterables: Iterator[Iterable[object]]) -> Iterator[object]:
    """itertools.chain.from_iterable: what gives the parts ends it, what a part raises does not."""
    active: Any = None
    is_ended = False

    def step() -> object:
        nonlocal active, is_ended
        while not is_ended:
            if active is None:
                is_ended = True
                active = iter(next(iterables))
                is_ended = False
            item = next(active, _MISSING)
            if item is not _MISSING:
                return item
            active = None
        raise StopIteration

    return stepping(step, itertools.chain)


def arranged(rows: list[object], kind: type) -> Iterator[object]:
    """itertools.product and its like, which arrange all items before they give any."""
    taken = 0

    def step() -> object:
        nonlocal taken
        if taken == len(rows):
            raise StopIteration
        taken += 1
        return rows[taken - 1]

    return stepping(step, kind)


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
    index, is_ended = 0, False

    def take() -> object:
        nonlocal index, is_ended
        while not is_ended and (stop is None or index < stop):
            is_ended = True
            item = next(iterator)
            is_ended = False
            index += 1
            if index > start and (index - 1 - start) % step == 0:
                return item
        is_ended = True
        raise StopIteration

    return stepping(take, itertools.islice)


def accumulate_(
    iterable: Iterator[Any], func: Callable[[Any, Any], Any] | None = None, *, initial: Any = None
) -> Iterator[Any]:
    """itertools.accumulate."""
    total, is_first, is_waiting = initial, initial is None, initial is not None

    def step() -> Any:
        nonlocal total, is_first, is_waiting
        if is_waiting:
            is_waiting = False
            return total
        item = next(iterable)
        if is_first:
            total, is_first = item, False
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
