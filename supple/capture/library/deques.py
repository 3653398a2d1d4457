"""collections.deque, Counter's counting, and what OrderedDict has beyond dict."""

# The methods of generic builtin classes, as keys of tables, have open element types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import collections
from collections.abc import Mapping, Sequence
from typing import Final

from supple.capture.library import polyfills
from supple.capture.library.table import call, make, polyfill
from supple.capture.machine import Machine
from supple.capture.values.base import Value, take_all
from supple.capture.values.constant import ConstantValue
from supple.capture.values.instance import container
from supple.capture.values.mapping import DictValue
from supple.capture.values.sequence import SequenceValue

Args = Sequence[Value]
Kwargs = Mapping[str, Value]
_NONE: Final = ConstantValue(None)

polyfill.update(
    {
        collections._count_elements: polyfills.count_elements,  # pyright: ignore  # Counter's C helper
        collections.deque.index: polyfills.sequence_index,
        collections.deque.count: polyfills.sequence_count,
    }
)


def _deque(value: Value) -> SequenceValue:
    found = container(value)
    assert isinstance(found, SequenceValue), value.describe()
    return found


@make.on(collections.deque)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """deque(items, maxlen)."""
    made = SequenceValue(collections.deque, [])
    bound = args[1] if len(args) > 1 else kwargs.get("maxlen", _NONE)
    limit = bound.as_python()
    assert limit is None or isinstance(limit, int), limit
    made.maxlen = limit
    if args:
        _put(machine, made, take_all(machine, args[0]))
    return made


def _put(machine: Machine, target: SequenceValue, items: list[Value], *, is_left: bool = False) -> None:
    limit = target.maxlen
    if limit is not None and len(items) > limit:
        items = items[:limit] if is_left else items[len(items) - limit :]
    target.rewrite(machine, items)


@call.on(collections.deque.append)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """deque.append."""
    target = _deque(args[0])
    _put(machine, target, [*target.items, args[1]])
    return _NONE


@call.on(collections.deque.appendleft)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """deque.appendleft."""
    target = _deque(args[0])
    _put(machine, target, [args[1], *target.items], is_left=True)
    return _NONE


@call.on(collections.deque.extend, collections.deque.__iadd__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """deque.extend."""
    target = _deque(args[0])
    _put(machine, target, [*target.items, *take_all(machine, args[1])])
    return _NONE


@call.on(collections.deque.extendleft)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """deque.extendleft: the last item given comes first."""
    target = _deque(args[0])
    _put(machine, target, [*reversed(take_all(machine, args[1])), *target.items], is_left=True)
    return _NONE


@call.on(collections.deque.pop)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """deque.pop."""
    return _take(machine, _deque(args[0]), -1)


@call.on(collections.deque.popleft)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """deque.popleft."""
    return _take(machine, _deque(args[0]), 0)


def _take(machine: Machine, target: SequenceValue, index: int) -> Value:
    if not target.items:
        machine.throw(IndexError, "pop from an empty deque")
    found = target.at(machine, index)
    items = list(target.items)
    del items[index]
    target.rewrite(machine, items)
    return found


@call.on(collections.deque.clear)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """deque.clear."""
    _deque(args[0]).rewrite(machine, [])
    return _NONE


@call.on(collections.deque.rotate)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """deque.rotate."""
    target = _deque(args[0])
    steps = args[1].as_python() if len(args) > 1 else 1
    assert isinstance(steps, int), steps
    if target.items:
        cut = -steps % len(target.items)
        target.rewrite(machine, [*target.items[cut:], *target.items[:cut]])
    return _NONE


def _ordered(value: Value) -> DictValue:
    found = container(value)
    assert isinstance(found, DictValue), value.describe()
    return found


@call.on(collections.OrderedDict.move_to_end)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """OrderedDict.move_to_end(key, last=True)."""
    target = _ordered(args[0])
    target.complete(machine)
    last = args[2] if len(args) > 2 else kwargs.get("last", ConstantValue(True))
    key = args[1].key(machine)
    if key not in target.items:
        machine.throw(KeyError, args[1].as_python())
    rest = {one: pair for one, pair in target.items.items() if one != key}
    moved = {key: target.items[key]}
    target.rewrite(machine, {**rest, **moved} if last.truth(machine) else {**moved, **rest})
    return _NONE


@call.on(collections.OrderedDict.popitem)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """OrderedDict.popitem(last=True)."""
    last = args[1] if len(args) > 1 else kwargs.get("last", ConstantValue(True))
    return machine.call_python(polyfills.dict_popitem, args[0], last)
