"""Sets: construction, methods and operators; and the order in which members are given."""

# The methods of generic builtin classes, as keys of tables, have open element types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from supple.capture.library import polyfills
from supple.capture.library.table import NONE, Args, Call, Kwargs, call, effect, make, polyfill
from supple.capture.machine import Machine
from supple.capture.values.arrival import arriving
from supple.capture.values.base import Value
from supple.capture.values.constant import LITERALS, ConstantValue
from supple.capture.values.instance import container
from supple.capture.values.mapping import UNKNOWN, DictValue, DictView, SetValue
from supple.capture.values.sequence import new_list
from supple.runtime.sets import History

Members = dict[object, Value]


def as_set(value: Value) -> SetValue:
    """Return the set that a value is or carries."""
    found = container(value)
    assert isinstance(found, SetValue), value.describe()
    return found


def members(machine: Machine, value: Value) -> Members:
    """Return the members of any iterable by key, without asking for the order of a set's."""
    made: Members = {}
    for key, item in _keyed(machine, value):
        made.setdefault(key, item)
    return made


def _new_set(machine: Machine, kind: type, args: Args) -> Value:
    if kind is frozenset and args and args[0].python_type() is frozenset:
        return args[0]
    made = SetValue(kind)
    if args:
        made.items = members(machine, args[0])
        made.history = _called(kind, _told(args[0], made.items))
    return made


def _told(given: Value, keys: Iterable[object]) -> object:
    """Return what stands for an iterable in a history; `keys` are those of what it gave."""
    found = container(given)
    if isinstance(found, SetValue):
        return found.told() or UNKNOWN
    keys = given.mapping.items if isinstance(given, DictView) else keys
    keys = found.items if isinstance(found, DictValue) else keys
    if any(type(key) not in LITERALS for key in keys):
        return UNKNOWN
    if isinstance(given, DictView):
        return dict.fromkeys(keys).keys() if given.part == "keys" else UNKNOWN
    return dict.fromkeys(keys) if isinstance(found, DictValue) else list(keys)


def _called(function: Callable[..., object], *operands: object) -> History | None:
    """Return the history of a set that a call makes."""
    return None if UNKNOWN in operands else History(None, function, operands)


def add_members(machine: Machine, target: SetValue, given: Value) -> None:
    """Add what an iterable gives; what it gave before an error stays."""
    found, before = container(given), target.history
    if isinstance(found, SetValue):
        told = target.history if found is target else _told(given, ())
        target.rewrite(machine, {**target.items, **found.items, **target.items})
        target.note(machine, set.update, told)
        return
    for items in arriving(machine, given, into=target):
        added: Members = {}
        try:
            for item in items:
                added.setdefault(item.key(machine), item)
        finally:
            target.rewrite(machine, {**target.items, **added, **target.items})
            target.note(machine, set.update, _told(new_list([]), added))
    if isinstance(found, DictValue):  # which tells beforehand how many there are
        machine.heap.set_field(target, "history", before)
        target.note(machine, set.update, _told(given, found.items))


polyfill[set.remove] = polyfills.set_remove
make.on(set)(lambda machine, args, _: _new_set(machine, set, args))
make.on(frozenset)(lambda machine, args, _: _new_set(machine, frozenset, args))


#: Name of an operator -> the method of the same meaning.
COMBINE: Final = {"and": "intersection", "or": "union", "sub": "difference", "xor": "symmetric_difference"}


def combined(
    machine: Machine, name: str, left: Value, rights: Args, function: Callable[..., object] | None = None
) -> SetValue:
    """Return a new set, or a frozenset as the left one is, unless a dict's view does it.

    Args:
        function: what is called, if it is no method of a set.
    """
    found = container(left)
    is_frozen = isinstance(found, SetValue) and issubclass(found.kind, frozenset)
    made = SetValue(frozenset if is_frozen else set)
    made.items, told = _combination(machine, name, left, rights)
    made.history = _called(function or getattr(made.kind, COMBINE[name]), _told(left, ()), *told)
    return made


def _combination(machine: Machine, name: str, left: Value, rights: Args) -> tuple[Members, list[object]]:
    """Return the members of a combination, and what stands in a history for the sets on the right."""
    found, told = members(machine, left), list[object]()
    for place, right in enumerate(rights):
        if name == "and":
            found = _common(machine, _holding(found) if place else left, right)
            told.append(_told(right, found))
            continue
        others = members(machine, right)
        told.append(_told(right, others))
        if name == "xor":
            found = members(machine, left)  # what gives the others may have changed it
        kept = getattr(operator, f"__{name}__")(found.keys(), others.keys())
        both = {**found, **others, **found} if name == "or" else {**others, **found}
        found = {key: value for key, value in both.items() if key in kept}
    return found, told


def _holding(found: Members) -> SetValue:
    made = SetValue()
    made.items = found
    return made


def _common(machine: Machine, left: Value, right: Value) -> Members:
    """Return what both have: of two equal members that of the smaller one, or what an iterator gives.

    An iterator is asked for no more members once all are found.
    """
    own = container(left)
    if isinstance(own, SetValue) and not isinstance(container(right), SetValue):
        found: Members = {}
        for key, item in _keyed(machine, right):
            if key in own.items:
                found.setdefault(key, item)
                if len(found) >= len(own.items):
                    break
        return found
    mine, others = members(machine, left), members(machine, right)
    other = container(right)
    is_frozen = isinstance(other, SetValue) and issubclass(other.kind, frozenset)
    if len(others) == len(mine):
        is_right = isinstance(own, SetValue) or is_frozen or isinstance(right, DictView)
    else:
        is_right = len(others) < len(mine) or (is_frozen and not isinstance(own, SetValue))
    first, second = (others, mine) if is_right else (mine, others)
    return {key: item for key, item in first.items() if key in second}


def _keyed(machine: Machine, given: Value) -> Iterator[tuple[object, Value]]:
    """Yield the items of an iterable with their keys, as they arrive; those of a set in no order."""
    found = container(given)
    if isinstance(found, SetValue):
        yield from list(found.items.items())
        return
    for items in arriving(machine, given):
        for item in items:
            yield item.key(machine), item


def combine_in_place(machine: Machine, name: str, left: SetValue, rights: Args) -> None:
    """Replace the members of a set by those of the combination."""
    found, told = _combination(machine, name, left, rights)
    told = [
        left.history if container(right) is left else one for right, one in zip(rights, told, strict=True)
    ]
    left.rewrite(machine, found)
    left.note(machine, getattr(set, "update" if name == "or" else f"{COMBINE[name]}_update"), *told)


def _combining(name: str) -> Call:
    return lambda machine, args, kwargs: combined(machine, name, args[0], args[1:])


def _updating(name: str) -> Call:
    return effect(lambda machine, args, _: combine_in_place(machine, name, as_set(args[0]), args[1:]))


for _name, _method in COMBINE.items():
    call.on(getattr(set, _method), getattr(frozenset, _method))(_combining(_name))
call.on(set.intersection_update)(_updating("and"))
call.on(set.symmetric_difference_update)(_updating("xor"))


@call.on(set.difference_update)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """set.difference_update: members go as the items arrive."""
    target = as_set(args[0])
    for group in args[1:]:
        if container(group) is target:
            _clear(machine, [target], {})
            continue
        for items in arriving(machine, group, into=target):
            for item in items:
                item.key(machine)  # a set is looked for by `discard` alone
                _discard(machine, [target, item], {})
        target.note(machine, set.difference_update, ())
    return NONE


@call.on(set.copy, frozenset.copy)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """The same members; a frozenset is its own copy."""
    return args[0] if args[0].python_type() is frozenset else combined(machine, "or", args[0], ())


@call.on(set.update)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """set.update: members of sequences are added in their order."""
    target = as_set(args[0])
    for group in args[1:]:
        add_members(machine, target, group)
    return NONE


@call.on(set.add)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """set.add."""
    target = as_set(args[0])
    key = args[1].key(machine)
    if key not in target.items:
        target.rewrite(machine, {**target.items, key: args[1]})
        target.note(machine, set.add, key if type(key) in LITERALS else UNKNOWN)
    return NONE


@call.on(set.discard)
@effect
def _discard(machine: Machine, args: Args, kwargs: Kwargs) -> None:
    """set.discard."""
    target = as_set(args[0])
    key = target.key_of(machine, args[1])
    if key in target.items:
        target.rewrite(machine, {k: v for k, v in target.items.items() if k != key})
        target.note(machine, set.discard, key if type(key) in LITERALS else UNKNOWN)


@call.on(set.pop)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """set.pop: the first member in the set's own order."""
    target = as_set(args[0])
    if not target.items:
        machine.throw(KeyError, "pop from an empty set")
    first, before = target.popped(machine), target.history
    _discard(machine, [target, first], {})
    machine.heap.set_field(target, "history", before)
    target.note(machine, set.pop)
    return first


@call.on(set.clear)
@effect
def _clear(machine: Machine, args: Args, kwargs: Kwargs) -> None:
    """set.clear."""
    target = as_set(args[0])
    target.rewrite(machine, {})
    target.note(machine, set.clear)


def compare_sets(machine: Machine, function: Callable[..., object], left: Value, right: Value) -> bool:
    """Return a comparison of sets and views of dicts; `function` is of `operator`."""
    return bool(function(members(machine, left).keys(), members(machine, right).keys()))


@call.on(set.issubset, frozenset.issubset)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """set.issubset: Python 3.12 asks for no more items once all members are found."""
    if sys.version_info < (3, 12):
        others = members(machine, args[1])
        return ConstantValue(members(machine, args[0]).keys() <= others.keys())
    return ConstantValue(len(_common(machine, args[0], args[1])) == len(as_set(args[0]).items))


def _until(*, is_member: bool) -> Call:
    """The rule of what asks for items until one is a member, or is none."""
    return lambda machine, args, kwargs: ConstantValue(
        not any((key in as_set(args[0]).items) is is_member for key, _ in _keyed(machine, args[1]))
    )


call.on(set.issuperset, frozenset.issuperset)(_until(is_member=False))
call.on(set.isdisjoint, frozenset.isdisjoint)(_until(is_member=True))


def is_set_like(value: Value) -> bool:
    """Tell whether a value is a set or a view of a dict's keys or items."""
    return isinstance(container(value), SetValue) or (isinstance(value, DictView) and value.part != "values")
