"""Iterators of itertools that had begun, made again: of the same class, over what is left.

Residual code calls these where one that a capture had begun leaves the call. They ask nobody for an item,
and call no function of the program.
"""

import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, cast

GROUPER: Final = type(next(itertools.groupby("a"))[1])
"""The class of the groups that `itertools.groupby` gives."""


def accumulated(
    total: object, items: Iterator[object], function: Callable[..., object] | None
) -> Iterator[object]:
    """Return an `accumulate` that has given a total."""
    made = itertools.accumulate(itertools.chain((total,), items), function)
    next(made)
    return made


def advanced(
    kind: Callable[..., Iterator[object]], taken: int, /, *args: Any, **kwargs: Any
) -> Iterator[object]:
    """Return an iterator over arrangements that has given so many of them."""
    made = kind(*args, **kwargs)
    for _ in range(taken):
        next(made, None)
    return made


def chained(active: Iterator[object], rest: Iterator[Iterable[object]]) -> Iterator[object]:
    """Return a `chain` that is inside of one of its parts."""
    return itertools.chain.from_iterable(itertools.chain((active,), rest))


def cycled(seen: Sequence[object], place: int, items: Iterator[object], is_first: bool) -> Iterator[object]:
    """Return a `cycle` that has given some items, for the first time or again.

    Args:
        place: of the item given last, where it was given again.
        items: those that it has not asked for yet.
    """
    made = itertools.cycle(itertools.chain(seen, items) if is_first else seen)
    for _ in range(len(seen) if is_first else place + 1):
        next(made)
    return made


def dropped(items: Iterator[object]) -> Iterator[object]:
    """Return a `dropwhile` that drops no more."""
    made = itertools.dropwhile(bool, itertools.chain((None,), items))
    next(made)
    return made


def grouped(
    wanted: object,
    waiting: Sequence[object],
    /,
    iterable: Iterator[object],
    key: Callable[[Any], object] | None = None,
) -> Iterator[object]:
    """Return a `groupby` that has given a group.

    Args:
        wanted: the key of that group.
        waiting: the item that was asked for and not given yet, and its key; nothing where there is none.
    """
    made: Any = itertools.groupby(iterable, key)
    item, mark = waiting or (None, wanted)
    with warnings.catch_warnings():  # CPython gives this method up in 3.14
        warnings.simplefilter("ignore", DeprecationWarning)
        made.__setstate__((mark, item, wanted))
    if not waiting:
        next(_group(made, wanted))
    return made


def _group(groups: Iterator[object], key: object) -> Iterator[object]:
    """Return the group that a `groupby` is in."""
    return cast("Callable[..., Iterator[object]]", GROUPER)(groups, key)


def ended_group() -> Iterator[object]:
    """Return a group that gives nothing more."""
    return _group(itertools.groupby(()), None)


def longest(running: Sequence[Iterator[object] | None], fill: object) -> Iterator[tuple[object, ...]]:
    """Return a `zip_longest` some of whose iterators have ended: they are None."""
    return itertools.zip_longest(*[() if one is None else one for one in running], fillvalue=fill)


def paired(before: object, items: Iterator[object]) -> Iterator[tuple[object, object]]:
    """Return a `pairwise` that has an item."""
    return itertools.pairwise(itertools.chain((before,), items))


def sliced(items: Iterator[object], index: int, start: int, stop: int | None, step: int) -> Iterator[object]:
    """Return an `islice` that has asked for so many items."""
    first = start + max(0, -(-(index - start) // step)) * step
    last = None if stop is None else stop - index
    first -= index
    return itertools.islice(items, first if last is None else min(first, last), last, step)
