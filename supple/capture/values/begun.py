"""Iterators of classes written in C that had begun: what goes on in their place is made of what is left."""

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from supple.base.rules import Rules
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.sequence import SequenceValue, new_tuple
from supple.runtime import iterators


@dataclass(frozen=True, slots=True)
class Made:
    """What an iterator is made of: arguments, and those by keyword.

    Attributes:
        maker: the function that makes it; None where a call of the class does.
        place: where it stands then, None where that is the beginning.
    """

    args: Sequence[Value]
    kwargs: Mapping[str, Value] = field(default_factory=dict[str, Value])
    maker: object = None
    place: Value | None = None


class Cells:
    """The variables of the Python function that stands for an iterator's `__next__`, by name."""

    def __init__(self, values: Mapping[str, Value | None]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Value:
        found = self._values[name]
        assert found is not None, name
        return found

    def all(self, *names: str) -> list[Value]:
        """Return several of them."""
        return [self[name] for name in names]

    def listed(self, name: str) -> Value:
        """Return what a list holds, as a tuple: residual code has no list full before it needs one."""
        found = self[name]
        assert isinstance(found, SequenceValue), name
        return new_tuple(list(found.items))

    def is_true(self, name: str) -> bool:
        """Tell whether one is True; its truth is known."""
        found = self[name]
        return isinstance(found, ConstantValue) and bool(found.value)


GOING_ON: Final = (map, filter, zip, itertools.starmap, itertools.compress, itertools.filterfalse)
"""Classes of iterators whose state is that of the iterators which they are made of."""
SHARED: Final = frozenset({iterators.GROUPER})
"""Classes of iterators whose state others change: one that has not begun may be over."""
_ENDED: Final[Mapping[type, Made]] = {
    itertools.islice: Made([ConstantValue(()), ConstantValue(0)]),
    itertools.pairwise: Made([ConstantValue(())]),
    itertools.zip_longest: Made([]),
    itertools.chain: Made([]),
    itertools.takewhile: Made([ConstantValue(bool), ConstantValue(())]),
    type(iter(int, 1)): Made([ConstantValue(bool), ConstantValue(False)], maker=iter),
}
"""Class of iterators -> of what it makes one that has ended."""

_States = Callable[[Cells, Made | None], Made | None]
_states: Rules[_States] = Rules("what an iterator that has begun is made of")


def begun(kind: type, values: Mapping[str, Value | None], over: Made | None) -> Made | None:
    """Return of what a class makes an iterator that goes on as one that has begun; None where it makes none.

    Args:
        values: the variables of what stands for its `__next__`.
        over: of what the iterator was made.
    """
    cells = Cells(values)
    if kind in _ENDED and cells.is_true("is_ended"):
        return _ENDED[kind]
    rule = _states.find(kind)
    return None if rule is None else rule(cells, over)


@_states.on(*GOING_ON, itertools.takewhile, type(iter(int, 1)))
def _(cells: Cells, over: Made | None) -> Made | None:
    return over


@_states.on(reversed, type(reversed(list[object]())))
def _(cells: Cells, over: Made | None) -> Made | None:
    """It goes over a sequence; what stands for others asks objects of the program."""
    items, index = cells.all("items", "index")
    return Made([items], maker=reversed, place=index) if isinstance(items, SequenceValue) else None


@_states.on(itertools.count)
def _(cells: Cells, over: Made | None) -> Made:
    return Made(cells.all("start", "step"))


@_states.on(itertools.repeat)
def _(cells: Cells, over: Made | None) -> Made:
    item, left = cells.all("item", "left")
    return Made([item] if isinstance(left, ConstantValue) and left.value is None else [item, left])


@_states.on(itertools.accumulate)
def _(cells: Cells, over: Made | None) -> Made:
    if cells.is_true("is_first"):
        return Made(cells.all("iterable", "func"))
    return Made(cells.all("total", "iterable", "func"), maker=iterators.accumulated)


@_states.on(itertools.chain)
def _(cells: Cells, over: Made | None) -> Made:
    active = cells["active"]
    if isinstance(active, ConstantValue) and active.value is None:
        return Made([cells["iterables"]], maker=itertools.chain.from_iterable)
    return Made(cells.all("active", "iterables"), maker=iterators.chained)


@_states.on(itertools.cycle)
def _(cells: Cells, over: Made | None) -> Made:
    return Made([cells.listed("seen"), *cells.all("place", "items", "is_first")], maker=iterators.cycled)


@_states.on(itertools.dropwhile)
def _(cells: Cells, over: Made | None) -> Made | None:
    return Made([cells["items"]], maker=iterators.dropped) if cells.is_true("has_begun") else over


@_states.on(itertools.islice)
def _(cells: Cells, over: Made | None) -> Made:
    return Made(cells.all("iterator", "index", "start", "stop", "step"), maker=iterators.sliced)


@_states.on(itertools.pairwise)
def _(cells: Cells, over: Made | None) -> Made:
    return Made(cells.all("before", "items"), maker=iterators.paired)


@_states.on(itertools.zip_longest)
def _(cells: Cells, over: Made | None) -> Made:
    return Made([cells.listed("running"), cells["fillvalue"]], maker=iterators.longest)


@_states.on(itertools.groupby)
def _(cells: Cells, over: Made | None) -> Made | None:
    if over is None or not cells.is_true("has_begun"):
        return over
    return Made([*cells.all("wanted", "waiting"), *over.args], over.kwargs, maker=iterators.grouped)


@_states.on(iterators.GROUPER)
def _(cells: Cells, over: Made | None) -> Made | None:
    own, turn = cells.all("own", "turn")
    is_over = isinstance(own, ConstantValue) and isinstance(turn, ConstantValue) and own.value != turn.value
    return Made([], maker=iterators.ended_group) if is_over else over


def _arranged(kind: type, cells: Cells, over: Made | None) -> Made | None:
    if over is None:
        return None
    return Made([ConstantValue(kind), cells["taken"], *over.args], over.kwargs, maker=iterators.advanced)


for _kind in (
    *(itertools.product, itertools.combinations, itertools.permutations),
    itertools.combinations_with_replacement,
):
    _states.on(_kind)(functools.partial(_arranged, _kind))
