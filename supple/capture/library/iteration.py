"""itertools as plain Python, inlined during capture: `starmap_` stands for `itertools.starmap`, and so on."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

_MISSING: Final = object()


def starmap_(function: Callable[..., object], rows: Iterable[Iterable[Any]]) -> Iterator[object]:
    """itertools.starmap."""
    for row in rows:
        yield function(*row)


def count_(start: Any = 0, step: Any = 1) -> Iterator[object]:
    """itertools.count; what its arguments are at a `yield`, another one goes on with."""
    if type(start) is not int and isinstance(start, int) and isinstance(step, int) and step == 1:
        start = int(start)
    while True:
        item, start = start, start + step
        yield item


def cycle_(items: Iterable[object]) -> Iterator[object]:
    """itertools.cycle."""
    seen: list[object] = []
    for item in items:
        seen.append(item)
        yield item
    while seen:
        yield from seen


def takewhile_(predicate: Callable[[object], object], items: Iterable[object]) -> Iterator[object]:
    """itertools.takewhile."""
    for item in items:
        if not predicate(item):
            return
        yield item


def dropwhile_(predicate: Callable[[object], object], items: Iterable[object]) -> Iterator[object]:
    """itertools.dropwhile."""
    iterator = iter(items)
    for item in iterator:
        if not predicate(item):
            yield item
            break
    yield from iterator


def filterfalse_(predicate: Callable[[object], object] | None, items: Iterable[object]) -> Iterator[object]:
    """itertools.filterfalse."""
    for item in items:
        if not (item if predicate is None else predicate(item)):
            yield item


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
    items: Iterable[Any], key: Callable[[Any], Any] | None = None
) -> Iterator[tuple[object, Iterator[object]]]:
    """itertools.groupby: a group ends when the next one is asked for."""
    iterator = iter(items)
    item: Any = None
    mark: Any = None
    turn = 0

    def advance() -> None:
        nonlocal item, mark
        item = next(iterator, _MISSING)
        mark = item if item is _MISSING or key is None else key(item)

    def group(own: int, wanted: object) -> Iterator[object]:
        while turn == own and item is not _MISSING and mark == wanted:
            yield item
            if turn == own:
                advance()

    advance()
    while item is not _MISSING:
        before = mark
        turn += 1
        yield before, group(turn, before)
        while item is not _MISSING and mark == before:
            advance()


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
    if times is None:
        while True:
            yield item
    for _ in range(times):
        yield item


def islice_(items: Iterable[object], *bounds: int | None) -> Iterator[object]:
    """itertools.islice."""
    cut = slice(*bounds)
    if cut.step is not None and cut.step < 1:
        raise ValueError("Step for islice() must be a positive integer or None.")
    for bound in (cut.start, cut.stop):
        if bound is not None and bound < 0:
            what = "Stop argument" if len(bounds) == 1 else "Indices"
            raise ValueError(f"{what} for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
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
    items: Iterable[Any], function: Callable[[Any, Any], Any] | None = None, *, initial: Any = None
) -> Iterator[Any]:
    """itertools.accumulate."""
    total = _MISSING
    if initial is not None:
        total = initial
        yield total
    for item in items:
        if total is _MISSING:
            total = item
        else:
            total = total + item if function is None else function(total, item)
        yield total


def tee_(items: Iterable[object], count: int = 2) -> tuple[Iterator[object], ...]:
    """itertools.tee."""
    iterator = iter(items)
    waiting: list[list[object]] = [[] for _ in range(count)]

    def branch(own: list[object]) -> Iterator[object]:
        while True:
            if not own:
                item = next(iterator, _MISSING)
                if item is _MISSING:
                    return
                for one in waiting:
                    one.append(item)
            yield own.pop(0)

    return tuple([branch(own) for own in waiting])


def compress_(items: Iterable[object], selectors: Iterable[object]) -> Iterator[object]:
    """itertools.compress."""
    for item, is_selected in zip(items, selectors, strict=False):
        if is_selected:
            yield item
