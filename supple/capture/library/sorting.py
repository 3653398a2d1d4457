"""list.sort and sorted: CPython's own sort, whose every comparison is the program's."""

# The methods of generic builtin classes, as keys of tables, have open element types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import operator
import sys
from collections.abc import Sequence
from typing import Final

from supple.capture.library.builtins import without_order
from supple.capture.library.containers import sequence
from supple.capture.library.table import NONE, Args, Kwargs, call, effect
from supple.capture.machine import Machine
from supple.capture.values.arrival import take_counted
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.sequence import new_list

_FLAG: Final = operator.index if sys.version_info < (3, 12) else bool
"""What CPython makes of `reverse`."""


class _Rank:
    """What an item is ordered by."""

    __slots__ = ("_machine", "_value")

    def __init__(self, machine: Machine, value: Value) -> None:
        self._machine = machine
        self._value = value

    def __lt__(self, other: "_Rank") -> bool:
        return self._machine.compare("<", self._value, other._value).truth(self._machine)


def _is_reversed(machine: Machine, kwargs: Kwargs) -> bool:
    given = kwargs.get("reverse", ConstantValue(False))
    return machine.call(machine.wrap(_FLAG, None), [given]).truth(machine)


def _ranks(machine: Machine, items: Sequence[Value], kwargs: Kwargs) -> list[_Rank]:
    key = kwargs.get("key", NONE)
    ranks = items if key.identity() is None else [machine.call(key, [item]) for item in items]
    return [_Rank(machine, rank) for rank in ranks]


@call.on(sorted)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """sorted(items, key=key, reverse=reverse): the order of the members of a set of constants is free."""
    items = args[0] if "key" in kwargs else without_order(machine, args[0])
    taken = take_counted(machine, items)
    is_reversed = _is_reversed(machine, kwargs)
    ranks = _ranks(machine, taken, kwargs)
    places = sorted(range(len(taken)), key=ranks.__getitem__, reverse=is_reversed)
    return new_list([taken[place] for place in places])


@call.on(list.sort)
@effect
def _sort(machine: Machine, args: Args, kwargs: Kwargs) -> None:
    """list.sort: the list is empty meanwhile; an error leaves it in the order that the sort has got to."""
    target, is_reversed = sequence(args[0]), _is_reversed(machine, kwargs)
    taken = target.all(machine)
    places = list(range(len(taken)))
    machine.heap.replace(target.items, [])
    try:
        ranks = _ranks(machine, taken, kwargs)
        places.sort(key=ranks.__getitem__, reverse=is_reversed)
    finally:
        is_modified = bool(target.items)
        target.rewrite(machine, [taken[place] for place in places])
    if is_modified:
        machine.throw(ValueError, "list modified during sort")
