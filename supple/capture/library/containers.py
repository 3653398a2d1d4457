"""Methods of list, tuple, dict, set, generators, and those that deque shares with list."""

# The methods of generic builtin classes, as keys of tables, have open element types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import collections
import types
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from supple.capture import breaks
from supple.capture.library import polyfills
from supple.capture.library.arity import require_callable
from supple.capture.library.builtins import fill_dict
from supple.capture.library.sets import add_members
from supple.capture.library.table import NONE, Args, Call, Kwargs, call, effect, make, polyfill
from supple.capture.machine import Machine
from supple.capture.values.arrival import arriving
from supple.capture.values.attributes import MISSING, lookup, type_attr
from supple.capture.values.base import Value
from supple.capture.values.function import BoundMethodValue
from supple.capture.values.generator import GeneratorValue
from supple.capture.values.instance import InstanceDict, InstanceValue, container
from supple.capture.values.klass import ClassValue
from supple.capture.values.mapping import DictValue, DictView, SetValue
from supple.capture.values.sequence import SequenceValue, index_of, new_list

# Written in C like dict's, but it calls a subclass's `__contains__`, `__getitem__` and `__setitem__`.
polyfill[collections.OrderedDict.setdefault] = polyfills.dict_setdefault


def _written_in_c(polyfills_of: Mapping[object, Callable[..., object]]) -> None:
    """Register what stands for methods that call no method of a subclass."""

    def rule_of(polyfilled: Callable[..., object]) -> Call:
        def rule(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
            return machine.call(machine.wrap(polyfilled, None), [contents(args[0]), *args[1:]], kwargs)

        return rule

    for method, polyfilled in polyfills_of.items():
        call.on(method)(rule_of(polyfilled))


def sequence(value: Value) -> SequenceValue:
    """Return the list, tuple or deque that a value is or carries."""
    found = container(value)
    assert isinstance(found, SequenceValue), value.describe()
    return found


def contents(value: Value) -> SequenceValue | DictValue | SetValue | InstanceDict:
    """Return the builtin container that a value is or carries."""
    found = container(value)
    assert found is not None, value.describe()
    return found


_written_in_c(
    {
        dict.setdefault: polyfills.dict_setdefault,
        dict.pop: polyfills.dict_pop,
        collections.OrderedDict.pop: polyfills.ordered_pop,
        dict.popitem: polyfills.dict_popitem,
        collections.OrderedDict.popitem: polyfills.ordered_popitem,
        list.remove: polyfills.list_remove,
        list.index: polyfills.sequence_index,
        tuple.index: polyfills.sequence_index,
        list.count: polyfills.sequence_count,
        tuple.count: polyfills.sequence_count,
    }
)


def _dict(machine: Machine, value: Value) -> DictValue:
    found = container(value)
    if isinstance(found, InstanceDict):
        return found.as_dict(machine)
    assert isinstance(found, DictValue), value.describe()
    return found


_READ: Final[Mapping[str, Callable[[Machine, Value], object]]] = {
    "index": index_of,
    "item": lambda machine, value: value,
}


def moving(kinds: str, *methods: Callable[..., object]) -> None:
    """Add the rules of methods that only move, add and drop items: they run on a real container of them.

    Args:
        kinds: what their arguments are: each "index" or "item".
    """
    for method in methods:
        call.on(method)(partial(_moving, method, kinds.split()))


def _moving(
    method: Callable[..., object], kinds: Sequence[str], machine: Machine, args: Args, kwargs: Kwargs
) -> Value:
    given = [_READ[kind](machine, value) for kind, value in zip(kinds, args[1:], strict=False)]
    found = sequence(args[0]).change(machine, method, *given, *args[1 + len(kinds) :])
    return found if isinstance(found, Value) else NONE


call.on(list.append)(effect(lambda machine, args, _: sequence(args[0]).extend(machine, [args[1]])))


@call.on(list.extend)
@effect
def _extend(machine: Machine, args: Args, kwargs: Kwargs) -> None:
    """list.extend."""
    target = sequence(args[0])
    for items in arriving(machine, args[1], into=target, is_counted=True):
        target.extend(machine, items)


moving("index item", list.insert)
moving("index", list.pop)
moving("", list.clear, list.reverse)


call.on(list.copy)(lambda machine, args, _: new_list(sequence(args[0]).all(machine)))


_Ordered = collections.OrderedDict
call.on(list.__getitem__, tuple.__getitem__)(
    lambda machine, args, _: contents(args[0]).get_item(machine, args[1])
)
call.on(list.__setitem__, dict.__setitem__, _Ordered.__setitem__)(
    effect(lambda machine, args, _: contents(args[0]).set_item(machine, args[1], args[2]))
)
call.on(list.__delitem__, dict.__delitem__, _Ordered.__delitem__)(
    effect(lambda machine, args, _: contents(args[0]).delete_item(machine, args[1]))
)
call.on(list.__len__, tuple.__len__, dict.__len__, set.__len__, frozenset.__len__)(
    lambda machine, args, _: contents(args[0]).length(machine)
)
call.on(list.__iter__, tuple.__iter__, dict.__iter__, set.__iter__, frozenset.__iter__, _Ordered.__iter__)(
    lambda machine, args, _: contents(args[0]).iterate(machine)
)
call.on(list.__contains__, tuple.__contains__, dict.__contains__, set.__contains__, frozenset.__contains__)(
    lambda machine, args, _: contents(args[0]).contains(machine, args[1])
)


@call.on(dict.__getitem__, _Ordered.__getitem__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """x[key]; a subclass may say by `__missing__` what a missing key gives."""
    found = container(args[0])
    assert isinstance(found, DictValue | InstanceDict), args[0].describe()
    owner = args[0]
    if isinstance(owner, InstanceValue) and lookup(owner.cls, "__missing__") is not MISSING:
        value = found.find(machine, args[1])
        return value or machine.call(type_attr(machine, owner, owner.cls, "__missing__"), [args[1]])
    return found.get_item(machine, args[1])


@call.on(list.__init__, dict.__init__, set.__init__, _Ordered.__init__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """The contents of a new container."""
    found = container(args[0])
    if isinstance(found, DictValue):
        fill_dict(machine, found, args[1:], kwargs)
    elif isinstance(found, SequenceValue):
        found.rewrite(machine, [])
        for items in arriving(machine, args[1], is_counted=True) if len(args) > 1 else ():
            found.extend(machine, items)
    elif isinstance(found, SetValue):
        found.rewrite(machine, {})
        found.note(machine, set.clear)
        for given in args[1:]:
            add_members(machine, found, given)
    return NONE


@call.on(dict.get, types.MappingProxyType.get)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """dict.get."""
    mapping = container(args[0])
    assert isinstance(mapping, DictValue | InstanceDict), args[0].describe()
    found = mapping.find(machine, args[1])
    if found is not None:
        return found
    return args[2] if len(args) > 2 else NONE


def _view(part: str) -> Call:
    return lambda machine, args, kwargs: DictView(_dict(machine, args[0]), part)


for _part in ("keys", "values", "items"):
    _kinds = (dict, _Ordered, types.MappingProxyType)
    call.on(*(getattr(kind, _part) for kind in _kinds))(_view(_part))


@call.on(dict.update, _Ordered.update)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """dict.update."""
    mapping = container(args[0])
    assert isinstance(mapping, DictValue | InstanceDict), args[0].describe()
    fill_dict(machine, mapping, args[1:], kwargs)
    return NONE


@call.on(dict.clear, _Ordered.clear)
@effect
def _(machine: Machine, args: Args, kwargs: Kwargs) -> None:
    """dict.clear."""
    found = container(args[0])
    if isinstance(found, InstanceDict):
        for name in found.instance.own_names(machine):
            found.delete_item(machine, machine.wrap(name, None))
    else:
        _dict(machine, args[0]).rewrite(machine, {})


call.on(dict.fromkeys)(lambda machine, args, _: machine.call_python(polyfills.dict_fromkeys, *args))


def _copied(machine: Machine, given: Value, kind: type) -> DictValue:
    """Return a dict of a class with the entries of another."""
    made = DictValue(kind)
    fill_dict(machine, made, [given], {})
    return made


call.on(dict.copy)(lambda machine, args, _: _copied(machine, args[0], dict))  # plain, whatever the class
call.on(_Ordered.copy)(lambda machine, args, _: _copied(machine, args[0], _dict(machine, args[0]).kind))


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
        require_callable(machine, args[0], "first argument must be callable or None")
        made.factory = args[0]
    fill_dict(machine, made, args[1:], kwargs)
    return made


def _generator(machine: Machine, args: Args) -> GeneratorValue:
    """Return a generator that was made in the call; others go on as Python."""
    if not isinstance(args[0], GeneratorValue):
        machine.unsupported(breaks.CALL, name=args[0].describe())
    return args[0]


_Generator = types.GeneratorType
call.on(_Generator.send)(lambda machine, args, _: _generator(machine, args).send(machine, args[1]))
call.on(_Generator.__next__)(lambda machine, args, _: _generator(machine, args).send(machine, NONE))
call.on(_Generator.close)(effect(lambda machine, args, _: _generator(machine, args).close(machine)))


@call.on(_Generator.throw)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """generator.throw(error) and its old form (type, value, traceback)."""
    generator = _generator(machine, args)
    error = args[2] if len(args) > 2 and args[2].identity() is not None else args[1]
    if isinstance(error, ClassValue):
        error = machine.call(error)
    return generator.throw(machine, error)


@call.on(types.FunctionType.__get__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """function.__get__(owner)."""
    return args[0] if args[1].identity() is None else BoundMethodValue(args[1], args[0])
