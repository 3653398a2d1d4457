"""Methods of list, tuple, dict, set, str and generators."""

# The methods of generic builtin classes, as keys of tables, have open element types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import collections
import types
from collections.abc import Mapping, Sequence

from supple.capture import breaks
from supple.capture.library import polyfills
from supple.capture.library.builtins import fill_dict
from supple.capture.library.table import call, make, polyfill
from supple.capture.machine import Machine
from supple.capture.values.attributes import MISSING, lookup, type_attr
from supple.capture.values.base import Value, take_all
from supple.capture.values.constant import ConstantValue
from supple.capture.values.function import BoundMethodValue
from supple.capture.values.generator import GeneratorValue
from supple.capture.values.instance import InstanceDict, InstanceValue, container
from supple.capture.values.klass import ClassValue
from supple.capture.values.mapping import DictValue, DictView, SetValue
from supple.capture.values.sequence import SequenceValue, new_list

Args = Sequence[Value]
Kwargs = Mapping[str, Value]
_NONE = ConstantValue(None)

polyfill.update(
    {
        dict.setdefault: polyfills.dict_setdefault,
        dict.pop: polyfills.dict_pop,
        collections.OrderedDict.pop: polyfills.dict_pop,
        collections.OrderedDict.setdefault: polyfills.dict_setdefault,
        dict.popitem: polyfills.dict_popitem,
        list.pop: polyfills.list_pop,
        list.remove: polyfills.list_remove,
        list.index: polyfills.sequence_index,
        tuple.index: polyfills.sequence_index,
        list.count: polyfills.sequence_count,
        tuple.count: polyfills.sequence_count,
    }
)


def _sequence(value: Value) -> SequenceValue:
    found = container(value)
    assert isinstance(found, SequenceValue), value.describe()
    return found


def _dict(machine: Machine, value: Value) -> DictValue:
    found = container(value)
    if isinstance(found, InstanceDict):
        return found.as_dict(machine)
    assert isinstance(found, DictValue), value.describe()
    return found


@call.on(list.append)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """list.append."""
    target = _sequence(args[0])
    target.rewrite(machine, [*target.items, args[1]])
    return _NONE


@call.on(list.extend)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """list.extend."""
    target = _sequence(args[0])
    target.rewrite(machine, [*target.items, *take_all(machine, args[1])])
    return _NONE


@call.on(list.insert)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """list.insert."""
    target = _sequence(args[0])
    items = list(target.items)
    index = args[1].as_python()
    assert isinstance(index, int), args[1].describe()
    items.insert(index, args[2])
    target.rewrite(machine, items)
    return _NONE


@call.on(list.clear)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """list.clear."""
    _sequence(args[0]).rewrite(machine, [])
    return _NONE


@call.on(list.reverse)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """list.reverse."""
    target = _sequence(args[0])
    target.rewrite(machine, target.items[::-1])
    return _NONE


@call.on(list.copy)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """list.copy."""
    return new_list(_sequence(args[0]).all(machine))


@call.on(list.sort)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """list.sort."""
    target = _sequence(args[0])
    result = machine.call(machine.wrap(polyfills.sorted_, None), [target], kwargs)
    target.rewrite(machine, _sequence(result).items)
    return _NONE


@call.on(list.__getitem__, tuple.__getitem__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """x[key]."""
    found = container(args[0])
    assert found is not None, args[0].describe()
    return found.get_item(machine, args[1])


@call.on(dict.__getitem__, collections.OrderedDict.__getitem__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """x[key]; a subclass may say by `__missing__` what a missing key gives."""
    found = container(args[0])
    assert isinstance(found, DictValue | InstanceDict), args[0].describe()
    owner = args[0]
    if isinstance(owner, InstanceValue) and lookup(owner.cls, "__missing__") is not MISSING:
        value = found.find(machine, args[1])
        return value or machine.call(type_attr(machine, owner, owner.cls, "__missing__"), [args[1]])
    return found.get_item(machine, args[1])


@call.on(list.__setitem__, dict.__setitem__, collections.OrderedDict.__setitem__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """x[key] = value."""
    found = container(args[0])
    assert found is not None, args[0].describe()
    found.set_item(machine, args[1], args[2])
    return _NONE


@call.on(list.__delitem__, dict.__delitem__, collections.OrderedDict.__delitem__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Del x[key]."""
    found = container(args[0])
    assert found is not None, args[0].describe()
    found.delete_item(machine, args[1])
    return _NONE


@call.on(
    list.__len__, tuple.__len__, dict.__len__, set.__len__, frozenset.__len__,
)  # fmt: skip
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """len(x)."""
    found = container(args[0])
    assert found is not None, args[0].describe()
    return found.length(machine)


@call.on(
    list.__iter__,
    tuple.__iter__,
    dict.__iter__,
    set.__iter__,
    frozenset.__iter__,
    collections.OrderedDict.__iter__,
)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """iter(x)."""
    found = container(args[0])
    assert found is not None, args[0].describe()
    return found.iterate(machine)


@call.on(list.__contains__, tuple.__contains__, dict.__contains__, set.__contains__, frozenset.__contains__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Item in x."""
    found = container(args[0])
    assert found is not None, args[0].describe()
    return found.contains(machine, args[1])


@call.on(list.__init__, dict.__init__, set.__init__, collections.OrderedDict.__init__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """The contents of a new container."""
    found = container(args[0])
    if isinstance(found, DictValue):
        fill_dict(machine, found, args[1:], kwargs)
    elif isinstance(found, SequenceValue):
        found.rewrite(machine, take_all(machine, args[1]) if len(args) > 1 else [])
    elif isinstance(found, SetValue):
        found.rewrite(machine, {item.key(machine): item for item in take_all(machine, args[1])})
    return _NONE


@call.on(dict.get)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """dict.get."""
    mapping = container(args[0])
    assert isinstance(mapping, DictValue | InstanceDict), args[0].describe()
    found = mapping.find(machine, args[1])
    if found is not None:
        return found
    return args[2] if len(args) > 2 else _NONE


@call.on(dict.keys, collections.OrderedDict.keys)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """dict.keys."""
    return DictView(_dict(machine, args[0]), "keys")


@call.on(dict.values, collections.OrderedDict.values)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """dict.values."""
    return DictView(_dict(machine, args[0]), "values")


@call.on(dict.items, collections.OrderedDict.items)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """dict.items."""
    return DictView(_dict(machine, args[0]), "items")


@call.on(dict.update, collections.OrderedDict.update)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """dict.update."""
    mapping = container(args[0])
    assert isinstance(mapping, DictValue | InstanceDict), args[0].describe()
    fill_dict(machine, mapping, args[1:], kwargs)
    return _NONE


@call.on(dict.clear, collections.OrderedDict.clear)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """dict.clear."""
    _dict(machine, args[0]).rewrite(machine, {})
    return _NONE


@call.on(dict.copy, collections.OrderedDict.copy)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """dict.copy."""
    old = _dict(machine, args[0])
    made = DictValue(old.kind)
    fill_dict(machine, made, [old], {})
    return made


@call.on(dict.fromkeys)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """dict.fromkeys."""
    return machine.call_python(polyfills.dict_fromkeys, *args)


@make.on(collections.OrderedDict)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """OrderedDict(...)."""
    made = DictValue(collections.OrderedDict)
    fill_dict(machine, made, args, kwargs)
    return made


@make.on(collections.defaultdict)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """defaultdict(factory, ...)."""
    made = DictValue(collections.defaultdict)
    if args and args[0].identity() is not None:
        made.factory = args[0]
    fill_dict(machine, made, args[1:], kwargs)
    return made


def _generator(machine: Machine, args: Args) -> GeneratorValue:
    """Return a generator that was made in the call; others go on as Python."""
    if not isinstance(args[0], GeneratorValue):
        machine.unsupported(breaks.CALL, name=args[0].describe())
    return args[0]


@call.on(types.GeneratorType.send)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """generator.send."""
    generator = _generator(machine, args)
    return generator.send(machine, args[1])


@call.on(types.GeneratorType.__next__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """next(generator)."""
    generator = _generator(machine, args)
    return generator.send(machine, _NONE)


@call.on(types.GeneratorType.throw)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """generator.throw(error) and its old form (type, value, traceback)."""
    generator = _generator(machine, args)
    error = args[2] if len(args) > 2 and args[2].identity() is not None else args[1]
    if isinstance(error, ClassValue):
        error = machine.call(error)
    return generator.throw(machine, error)


@call.on(types.GeneratorType.close)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """generator.close."""
    generator = _generator(machine, args)
    generator.close(machine)
    return _NONE


@call.on(types.FunctionType.__get__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """function.__get__(owner)."""
    return args[0] if args[1].identity() is None else BoundMethodValue(args[1], args[0])
