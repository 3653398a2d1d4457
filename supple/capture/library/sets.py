"""Sets: construction, methods and operators; and the order in which members are given."""

# The methods of generic builtin classes, as keys of tables, have open element types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import operator
from collections.abc import Callable, Set
from typing import Final

from supple.capture.library import polyfills
from supple.capture.library.table import NONE, Args, Call, Kwargs, call, effect, make, polyfill
from supple.capture.machine import Machine
from supple.capture.values.base import Value, take_all
from supple.capture.values.constant import ConstantValue
from supple.capture.values.instance import container
from supple.capture.values.mapping import DictView, SetValue

Members = dict[object, Value]


def as_set(value: Value) -> SetValue:
    """Return the set that a value is or carries."""
    found = container(value)
    assert isinstance(found, SetValue), value.describe()
    return found


def members(machine: Machine, value: Value) -> Members:
    """Return the members of any iterable by key, without asking for the order of a set's."""
    found = container(value)
    if isinstance(found, SetValue):
        return dict(found.items)
    made: Members = {}
    for item in take_all(machine, value):
        made.setdefault(item.key(machine), item)
    return made


def _new_set(machine: Machine, kind: type, args: Args) -> Value:
    made = SetValue(kind)
    if args:
        found = container(args[0])
        made.items = members(machine, args[0])
        made.is_ordered = not isinstance(found, SetValue)
    return made


polyfill[set.remove] = polyfills.set_remove
make.on(set)(lambda machine, args, _: _new_set(machine, set, args))
make.on(frozenset)(lambda machine, args, _: _new_set(machine, frozenset, args))


#: Name of an operator -> the method of the same meaning.
COMBINE: Final = {"and": "intersection", "or": "union", "sub": "difference", "xor": "symmetric_difference"}


def combined(machine: Machine, name: str, left: Value, rights: Args) -> SetValue:
    """Return a new set or frozenset, as the left one is (a set for a dict's view)."""
    found = container(left)
    made = SetValue(frozenset if isinstance(found, SetValue) and issubclass(found.kind, frozenset) else set)
    made.items = members(machine, left)
    made.is_ordered = False
    for right in rights:
        others = members(machine, right)
        kept = getattr(operator, f"__{name}__")(made.items.keys(), others.keys())
        made.items = {key: value for key, value in {**others, **made.items}.items() if key in kept}
    return made


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
    if _name != "or":
        call.on(getattr(set, f"{_method}_update"))(_updating(_name))
call.on(set.copy, frozenset.copy)(_combining("or"))


@call.on(set.update)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """set.update: members of sequences are added in their order."""
    target = as_set(args[0])
    for group in args[1:]:
        target.rewrite(machine, {**target.items, **members(machine, group), **target.items})
        if isinstance(container(group), SetValue):
            machine.heap.set_field(target, "is_ordered", False)
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
    target, key = as_set(args[0]), args[1].key(machine)
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


def _comparing(function: Callable[..., object]) -> Call:
    return lambda machine, args, kwargs: ConstantValue(compare_sets(machine, function, args[0], args[1]))


call.on(set.issubset, frozenset.issubset)(_comparing(operator.le))
call.on(set.issuperset, frozenset.issuperset)(_comparing(operator.ge))
call.on(set.isdisjoint, frozenset.isdisjoint)(_comparing(Set.isdisjoint))


def is_set_like(value: Value) -> bool:
    """Tell whether a value is a set or a view of a dict's keys or items."""
    return isinstance(container(value), SetValue) or (isinstance(value, DictView) and value.part != "values")
