"""collections.deque, Counter's counting, and what OrderedDict has beyond dict."""

# The methods of generic builtin classes, as keys of tables, have open element types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import collections
import copy
from collections.abc import Callable

from supple.capture.library import polyfills
from supple.capture.library.containers import contents, moving, sequence
from supple.capture.library.table import NONE, Args, Kwargs, call, effect, make, polyfill
from supple.capture.machine import Machine
from supple.capture.values.arrival import arriving
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue, fold_raw
from supple.capture.values.mapping import DictValue
from supple.capture.values.sequence import SequenceValue

_Deque = collections.deque
polyfill.update(
    {
        collections._count_elements: polyfills.count_elements,  # pyright: ignore  # Counter's C helper
        collections.deque.index: polyfills.sequence_index,
        collections.deque.count: polyfills.sequence_count,
        collections.deque.remove: polyfills.list_remove,
    }
)


@make.on(collections.deque)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """deque(items, maxlen)."""
    made = SequenceValue(collections.deque, [])
    items = args[0] if args else kwargs.get("iterable")
    bound = args[1] if len(args) > 1 else kwargs.get("maxlen", NONE)
    empty = fold_raw(machine, _Deque, (), bound.as_python())
    assert isinstance(empty, _Deque), empty
    made.maxlen = empty.maxlen
    if items is not None:
        _fill(machine, made, _Deque.extend, items)
    return made


def _fill(machine: Machine, target: SequenceValue, method: Callable[..., object], given: Value) -> None:
    for items in arriving(machine, given, into=target):
        target.change(machine, method, items)


call.on(_Deque.extend)(
    effect(lambda machine, args, _: _fill(machine, sequence(args[0]), _Deque.extend, args[1]))
)
call.on(_Deque.extendleft)(
    effect(lambda machine, args, _: _fill(machine, sequence(args[0]), _Deque.extendleft, args[1]))
)


@call.on(_Deque.__iadd__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """deque += items."""
    _fill(machine, sequence(args[0]), _Deque.extend, args[1])
    return args[0]


moving("", _Deque.pop, _Deque.popleft, _Deque.clear, _Deque.reverse)
moving("item", _Deque.append, _Deque.appendleft)
moving("index item", _Deque.insert)
moving("index", _Deque.rotate)
call.on(_Deque.copy, collections.defaultdict.copy)(
    lambda machine, args, _: machine.call(machine.wrap(copy.copy, None), args)
)


@call.on(collections.OrderedDict.move_to_end)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """OrderedDict.move_to_end(key, last=True)."""
    target = contents(args[0])
    assert isinstance(target, DictValue), args[0].describe()
    target.complete(machine)
    last = args[2] if len(args) > 2 else kwargs.get("last", ConstantValue(True))
    key = args[1].key(machine)
    if key not in target.items:
        machine.call_python(polyfills.refuse_ordered, args[1])
    moved = collections.OrderedDict(target.items)
    moved.move_to_end(key, last.truth(machine))
    target.rewrite(machine, dict(moved))
    return NONE
