"""collections.deque, Counter's counting, and what OrderedDict has beyond dict."""

# The methods of generic builtin classes, as keys of tables, have open element types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import collections
import copy

from supple.capture.library import polyfills
from supple.capture.library.containers import changing, contents, inserted, put, sequence
from supple.capture.library.table import NONE, Args, Kwargs, call, make, polyfill
from supple.capture.machine import Machine
from supple.capture.values.base import Value, take_all
from supple.capture.values.constant import ConstantValue
from supple.capture.values.mapping import DictValue
from supple.capture.values.sequence import SequenceValue

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
    bound = args[1] if len(args) > 1 else kwargs.get("maxlen", NONE)
    limit = bound.as_python()
    assert limit is None or isinstance(limit, int), limit
    made.maxlen = limit
    if args:
        put(machine, made, take_all(machine, args[0]))
    return made


_Deque = collections.deque
call.on(_Deque.appendleft)(changing(lambda _m, items, args: [args[0], *items], is_left=True))
call.on(_Deque.reverse)(changing(lambda _m, items, _a: items[::-1]))
call.on(_Deque.copy, collections.defaultdict.copy)(
    lambda machine, args, _: machine.call(machine.wrap(copy.copy, None), args)
)
# The last item given comes first.
call.on(_Deque.extendleft)(
    changing(lambda machine, items, args: [*take_all(machine, args[0])[::-1], *items], is_left=True)
)
call.on(_Deque.pop)(lambda machine, args, _: _take(machine, sequence(args[0]), -1))
call.on(_Deque.popleft)(lambda machine, args, _: _take(machine, sequence(args[0]), 0))


def _take(machine: Machine, target: SequenceValue, index: int) -> Value:
    if not target.items:
        machine.throw(IndexError, "pop from an empty deque")
    found = target.at(machine, index)
    items = list(target.items)
    del items[index]
    target.rewrite(machine, items)
    return found


@call.on(_Deque.insert)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """deque.insert(index, item)."""
    target = sequence(args[0])
    if len(target.items) == target.maxlen:
        machine.throw(IndexError, "deque already at its maximum size")
    target.rewrite(machine, inserted(machine, list(target.items), args[1:]))
    return NONE


@call.on(_Deque.rotate)
@changing
def _(machine: Machine, items: list[Value], args: Args) -> list[Value]:
    """deque.rotate(steps=1)."""
    steps = args[0].as_python() if args else 1
    assert isinstance(steps, int), steps
    cut = -steps % max(len(items), 1)
    return [*items[cut:], *items[:cut]]


@call.on(collections.OrderedDict.move_to_end)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """OrderedDict.move_to_end(key, last=True)."""
    target = contents(args[0])
    assert isinstance(target, DictValue), args[0].describe()
    target.complete(machine)
    last = args[2] if len(args) > 2 else kwargs.get("last", ConstantValue(True))
    key = args[1].key(machine)
    if key not in target.items:
        machine.throw(KeyError, args[1].as_python())
    rest = {one: pair for one, pair in target.items.items() if one != key}
    moved = {key: target.items[key]}
    target.rewrite(machine, {**rest, **moved} if last.truth(machine) else {**moved, **rest})
    return NONE


@call.on(collections.OrderedDict.popitem)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """OrderedDict.popitem(last=True)."""
    last = args[1] if len(args) > 1 else kwargs.get("last", ConstantValue(True))
    return machine.call_python(polyfills.dict_popitem, args[0], last)
