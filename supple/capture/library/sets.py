"""Sets: construction, methods and operators; and the order in which members are given."""

# The methods of generic builtin classes, as keys of tables, have open element types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import operator
import sys
from collections.abc import Callable, Iterator
from typing import Final

from supple.capture.library import polyfills
from supple.capture.library.table import NONE, Args, Call, Kwargs, call, effect, make, polyfill
from supple.capture.machine import Machine
from supple.capture.values.arrival import arriving
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.instance import container
from supple.capture.values.mapping import DictView, SetValue
from supple.capture.values.sequence import new_list

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
        found = container(args[0])
        made.items = members(machine, args[0])
        made.is_ordered = not isinstance(found, SetValue)
    return made


def add_members(machine: Machine, target: SetValue, given: Value) -> None:
    """Add what an iterable gives; what it gave before an error stays."""
    found = container(given)
    if isinstance(found, SetValue):
        target.rewrite(machine, {**target.items, **found.items, **target.items})
        machine.heap.set_field(target, "is_ordered", False)
        return
    for items in arriving(machine, given, into=target):
        added: Members = {}
        try:
            for item in items:
                added.setdefault(item.key(machine), item)
        finally:
            target.rewrite(machine, {**target.items, **added, **target.items})


polyfill[set.remove] = polyfills.set_remove
make.on(set)(lambda machine, args, _: _new_set(machine, set, args))
make.on(frozenset)(lambda machine, args, _: _new_set(machine, frozenset, args))


#: Name of an operator -> the method of the same meaning.
COMBINE: Final = {"and": "intersection", "or": "union", "sub": "difference", "xor": "symmetric_difference"}


def combined(machine: Machine, name: str, left: Value, rights: Args) -> SetValue:
    """Return a new set, or a frozenset as the left one is, unless a dict's view does it."""
    found = container(left)
    is_frozen = isinstance(found, SetValue) and issubclass(found.kind, frozenset)
    made = SetValue(frozenset if is_frozen else set)
    made.items = members(machine, left)
    made.is_ordered = False
    for place, right in enumerate(rights):
        if name == "and":
            made.items = _common(machine, made if place else left, right)
            continue
        others = members(machine, right)
        if name == "xor":
            made.items = members(machine, left)  # what gives the others may have changed it
        kept = getattr(operator, f"__{name}__")(made.items.keys(), others.keys())
        both = {**made.items, **others, **made.items} if name == "or" else {**others, **made.items}
        made.items = {key: value for key, value in both.items() if key in kept}
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
    left.rewrite(machine, combined(machine, name, left, rights).items)
    machine.heap.set_field(left, "is_ordered", False)


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
        for items in arriving(machine, group, into=target):
            combine_in_place(machine, "sub", target, [new_list(items)])
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
    return NONE


@call.on(set.discard)
@effect
def _discard(machine: Machine, args: Args, kwargs: Kwargs) -> None:
    """set.discard."""
    target = as_set(args[0])
    key = target.key_of(machine, args[1])
    if key in target.items:
        target.rewrite(machine, {k: v for k, v in target.items.items() if k != key})
        machine.heap.set_field(target, "is_ordered", False)


@call.on(set.pop)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """set.pop: the first member in the set's own order."""
    target = as_set(args[0])
    if not target.items:
        machine.throw(KeyError, "pop from an empty set")
    first = target.ordered(machine)[0]
    _discard(machine, [target, first], {})
    return first


call.on(set.clear)(effect(lambda machine, args, _: as_set(args[0]).rewrite(machine, {})))


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
