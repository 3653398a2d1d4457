"""Builtin functions and classes."""

import collections
import functools
import threading
import types
from collections.abc import Callable, Iterator
from typing import Final, cast

import torch
from torch.optim import Optimizer

from supple.capture import breaks
from supple.capture.guards.kinds import Identity, Kind
from supple.capture.library import polyfills
from supple.capture.library.numbers import GREATEST_IN_ORDER, LEAST_IN_ORDER, TO_FLOAT, TO_INT
from supple.capture.library.table import Args, Kwargs, call, effect, make, polyfill
from supple.capture.machine import Machine
from supple.capture.values.array import ArrayValue
from supple.capture.values.arrival import take_counted
from supple.capture.values.attributes import MISSING, lookup, special
from supple.capture.values.base import NotConstant, Raised, Value, drain, name_in_c, take_all
from supple.capture.values.begun import Made
from supple.capture.values.constant import ConstantValue, fold, fold_raw
from supple.capture.values.enums import EnumValue
from supple.capture.values.function import BoundMethodValue, FunctionValue, LeafValue
from supple.capture.values.generator import GeneratorValue, StepsValue
from supple.capture.values.hashing import as_hash
from supple.capture.values.instance import (
    InstanceDict,
    InstanceValue,
    checked,
    container,
    is_iterated_as_dict,
)
from supple.capture.values.klass import super_of
from supple.capture.values.mapping import Address, DictIterator, DictValue, DictView, SetValue
from supple.capture.values.sequence import SequenceIterator, SequenceValue, SliceValue, new_list, new_tuple
from supple.capture.values.symbolic import SymbolicValue, numeric
from supple.capture.values.tensor import TensorValue

polyfill.update(
    {map: polyfills.map_, filter: polyfills.filter_, zip: polyfills.zip_, enumerate: polyfills.enumerate_}
)


@call.on(polyfills.stepping)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """An iterator of a class written in C, whose items a function gives."""
    steps, kind = args[0], args[1].as_python()
    held = machine.call_python(polyfills.stepped, steps)
    assert isinstance(held, GeneratorValue), held.describe()
    assert isinstance(steps, FunctionValue), steps.describe()
    assert isinstance(kind, type), args[1].describe()
    found = StepsValue(held.frame, steps, kind)
    found.over = Made(args[2:]) if args[2:] else None
    return found


call.on(len)(lambda machine, args, _: args[0].length(machine))
call.on(callable)(lambda _m, args, _: ConstantValue(lookup(args[0].python_type(), "__call__") is not MISSING))
call.on(sum)(lambda machine, args, kwargs: machine.call_python(polyfills.sum_, *args, *kwargs.values()))
call.on(setattr)(
    effect(lambda machine, args, _: args[0].set_attr(machine, _attribute_name(machine, args[1]), args[2]))
)
call.on(delattr)(
    effect(lambda machine, args, _: args[0].delete_attr(machine, _attribute_name(machine, args[1])))
)
call.on(object.__init_subclass__)(effect(lambda machine, args, kwargs: None))
make.on(list)(lambda machine, args, _: new_list(take_counted(machine, args[0]) if args else []))
make.on(bool)(lambda machine, args, _: ConstantValue(args[0].truth(machine) if args else False))
make.on(int)(lambda machine, args, kwargs: _number(machine, int, args, kwargs))
make.on(float)(lambda machine, args, kwargs: _number(machine, float, args, kwargs))
make.on(types.MethodType)(lambda machine, args, _: BoundMethodValue(args[1], args[0]))


@make.on(tuple)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """tuple(items); a tuple is itself."""
    if args and args[0].python_type() is tuple:
        return args[0]
    return new_tuple(take_counted(machine, args[0]) if args else [])


def _attribute_name(machine: Machine, name: Value) -> str:
    """Return the name of an attribute; what is no text, Python itself refuses."""
    given = name.as_python()
    if not isinstance(given, str):
        try:
            getattr(None, cast("str", given))
        except TypeError as error:
            machine.throw(TypeError, str(error))
    return str(given)


@make.on(type)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """type(x)."""
    if len(args) != 1:
        machine.unsupported(breaks.CALL, name="type() with three arguments")
    value = args[0]
    if isinstance(value, InstanceValue):
        return machine.wrap(value.cls, None)
    return machine.wrap(value.python_type(), None)


class AddressValue(Value):
    """`id(x)`: can be compared and be a dict key only, for the number differs from run to run."""

    __slots__ = ("of",)

    def __init__(self, of: Value) -> None:
        super().__init__()
        self.of = of

    def python_type(self) -> type:
        """Return int."""
        return int

    def identity(self) -> object:
        """Return what is equal for one object."""
        return Address(self.of.identity())

    def key(self, machine: Machine) -> object:
        """Return the identity."""
        return self.identity()


@call.on(id)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """id(x); of an optimizer, which lives long and by which scalers of gradients know it, the number."""
    value = args[0]
    if value.source is None or not isinstance(value, InstanceValue) or not issubclass(value.cls, Optimizer):
        machine.tell_apart(value)
        return AddressValue(value)
    machine.guard(value.source, Kind.ID, Identity(id(value.obj), value.cls.__name__))
    return ConstantValue(id(value.obj))


# One number for the whole call.
call.on(threading.get_ident)(lambda _m, _a, _: AddressValue(LeafValue(threading.get_ident)))


@call.on(getattr)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """getattr(x, name[, default])."""
    try:
        return args[0].get_attr(machine, _attribute_name(machine, args[1]))
    except Raised as raised:
        if len(args) == 2:
            raise
        if not raised.is_a(AttributeError):
            raise
        return args[2]


@call.on(hasattr)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """hasattr(x, name)."""
    try:
        args[0].get_attr(machine, _attribute_name(machine, args[1]))
    except Raised as raised:
        if not raised.is_a(AttributeError):
            raise
        return ConstantValue(False)
    return ConstantValue(True)


@call.on(object.__getattribute__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """object.__getattribute__(x, name)."""
    owner = args[0]
    get = owner.generic_get if isinstance(owner, InstanceValue) else owner.get_attr
    return get(machine, _attribute_name(machine, args[1]))


@call.on(object.__setattr__)
@effect
def _(machine: Machine, args: Args, kwargs: Kwargs) -> None:
    """object.__setattr__(x, name, value)."""
    owner = args[0]
    put = owner.generic_set if isinstance(owner, InstanceValue) else owner.set_attr
    put(machine, _attribute_name(machine, args[1]), args[2])


@call.on(object.__delattr__)
@effect
def _(machine: Machine, args: Args, kwargs: Kwargs) -> None:
    """object.__delattr__(x, name)."""
    owner = args[0]
    delete = owner.generic_delete if isinstance(owner, InstanceValue) else owner.delete_attr
    delete(machine, _attribute_name(machine, args[1]))


@call.on(iter)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """iter(x)."""
    if len(args) == 2:
        if not machine.call(machine.wrap(callable, None), args[:1]).truth(machine):
            fold_raw(machine, iter, None, None)  # which says so in the words of this Python
        found = machine.call_python(polyfills.iterate_until, *args)
        assert isinstance(found, GeneratorValue), found.describe()
        found.over = Made(args, maker=iter)
        return found
    return args[0].iterate(machine)


@call.on(next)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """next(iterator[, default])."""
    iterator = args[0]
    if len(args) == 1 and isinstance(iterator, GeneratorValue):
        return iterator.send(machine, ConstantValue(None))
    item = iterator.advance(machine)
    if item is not None:
        return item
    if len(args) == 2:
        return args[1]
    machine.throw(StopIteration)


def without_order(machine: Machine, items: Value) -> Value:
    """Return a set's members as a list in any order; other iterables as they are."""
    if isinstance(items, InstanceValue) and special(machine, items, "__iter__") is not None:
        return items
    found = container(items)
    if isinstance(found, SetValue) and all(isinstance(one, ConstantValue) for one in found.items.values()):
        return new_list(list(found.items.values()))
    return items


def _order_free(function: Callable[..., object], machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """A polyfill for which the order of a set's members does not count."""
    items = args[0] if "key" in kwargs else without_order(machine, args[0])
    return machine.call(machine.wrap(function, None), [items, *args[1:]], kwargs)


call.on(any)(functools.partial(_order_free, polyfills.any_))
call.on(all)(functools.partial(_order_free, polyfills.all_))


def _extreme(polyfilled: Callable[..., object], machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """min(...) and max(...)."""
    found = None if kwargs else _symbolic_extreme(machine, polyfilled, args)
    if found is not None:
        return found
    items = args[0] if len(args) == 1 else new_tuple(args)
    items = items if "key" in kwargs else without_order(machine, items)
    return machine.call(machine.wrap(polyfilled, None), [items], kwargs)


def _symbolic_extreme(machine: Machine, polyfilled: object, args: Args) -> Value | None:
    """Return the least or greatest of numbers of one type of which one depends on sizes, None for others."""
    items = args
    if len(args) == 1:
        if not isinstance(args[0], SequenceValue):
            return None
        items = args[0].items
    numbers = [numeric(item) for item in items]
    is_symbolic = None not in numbers and any(isinstance(item, SymbolicValue) for item in items)
    if not is_symbolic or {item.python_type() for item in items} not in ({int}, {float}):
        return None
    extreme = LEAST_IN_ORDER if polyfilled is polyfills.min_of else GREATEST_IN_ORDER
    return fold(machine, functools.reduce, extreme, numbers)


call.on(min)(functools.partial(_extreme, polyfills.min_of))
call.on(max)(functools.partial(_extreme, polyfills.max_of))


_REVERSIBLE: Final = (("__reversed__",), ("__getitem__", "__len__"))
"""Which methods an object needs that can be iterated backwards."""
_OF_LISTS: Final[type] = type(reversed(list[object]()))


@make.on(reversed)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """reversed(x)."""
    value = args[0]
    if isinstance(value, InstanceValue):
        own = special(machine, value, "__reversed__")
        if own is not None:
            return machine.call(own)
    kind = value.python_type()
    if not any(all(lookup(kind, name) is not MISSING for name in names) for names in _REVERSIBLE):
        if lookup(kind, "__getitem__") is not MISSING and dict not in kind.__mro__:
            value.length(machine)  # raises what CPython says of the missing method
        machine.throw(TypeError, f"{name_in_c(machine, kind)!r} object is not reversible")
    if isinstance(value, InstanceValue) and (value.payload is None or _says_items(machine, value)):
        return _backwards(machine, value, reversed)
    found = container(value)
    if isinstance(found, SequenceValue):
        if found.is_deque:
            return SequenceIterator(found, is_reversed=True)
        return _backwards(machine, found, _OF_LISTS if found.is_mutable else reversed)
    if isinstance(found, DictValue):
        return DictIterator(found, found.keys(machine), is_reversed=True)
    if isinstance(value, DictView):
        return DictIterator(value.mapping, value.mapping.keys(machine), value.part, is_reversed=True)
    if isinstance(value, TensorValue):
        return machine.call_leaf(torch.Tensor.flip, [value, ConstantValue(0)], {})
    if isinstance(value, ConstantValue) and isinstance(value.value, range):
        return ConstantValue(value.value[::-1]).iterate(machine)
    kind = type(reversed(range(0))) if value.python_type() is range else reversed
    return _backwards(machine, new_tuple(take_all(machine, value)), kind)


def _says_items(machine: Machine, value: InstanceValue) -> bool:
    """Tell whether an object is asked for items one by one: its class has no `__reversed__`, in C either."""
    if lookup(value.cls, "__reversed__") is not MISSING:
        return False
    found = [special(machine, value, name) for name in _REVERSIBLE[1]]  # each of them is guarded
    return found != [None, None]


def _backwards(machine: Machine, items: Value, kind: type) -> Value:
    """Return an iterator from the last item that there is now."""
    last = items.length(machine).as_python()
    assert isinstance(last, int), items.describe()
    return machine.call_python(polyfills.reversed_, items, ConstantValue(last - 1), machine.wrap(kind, None))


@make.on(super)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """super() and super(cls, self)."""
    after, owner = (*args, ConstantValue(None))[:2] if args else machine.super_of_frame()
    if owner.identity() is None:
        machine.unsupported(breaks.CALL, name="super of a class alone")
    return super_of(machine, after, owner)


@make.on(dict)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """dict(mapping or pairs, **more)."""
    made = DictValue()
    fill_dict(machine, made, args, kwargs)
    return made


def fill_dict(machine: Machine, made: DictValue | InstanceDict, args: Args, kwargs: Kwargs) -> None:
    """What `dict.update` and `dict.__init__` do."""
    if args:
        is_ordered = isinstance(made, DictValue) and issubclass(made.kind, collections.OrderedDict)
        for key, value in _pairs(machine, args[0], is_ordered=is_ordered):
            made.set_item(machine, key, value)
    for name, value in kwargs.items():
        made.set_item(machine, ConstantValue(name), value)


def _pairs(machine: Machine, given: Value, *, is_ordered: bool) -> Iterator[tuple[Value, Value]]:
    """Yield what a dict is filled from; an OrderedDict stores each entry before it asks for the next key."""
    found = container(given)
    if isinstance(found, InstanceDict):
        found = found.as_dict(machine)
    if isinstance(found, DictValue) and is_iterated_as_dict(given):
        yield from list(zip(found.keys(machine), found.values(machine), strict=True))
        return
    try:
        method = given.get_attr(machine, "keys")
    except Raised as raised:
        if not raised.is_a(AttributeError):
            raise
    else:
        keys = drain(machine, machine.call(method).iterate(machine))
        for key in keys if is_ordered else list(keys):
            yield key, given.get_item(machine, key)
        return
    rows: list[object] = []
    for item in drain(machine, given.iterate(machine)):
        try:
            row = take_all(machine, item)
        except Raised as raised:
            if is_ordered or not raised.is_a(TypeError):
                raise
            row = item  # a dict says which one it is
        rows.append(row)
        if not isinstance(row, list) or len(row) != 2:
            fold_raw(machine, collections.OrderedDict if is_ordered else dict, rows)
        key, value = cast("list[Value]", row)
        yield key, value


@make.on(types.MappingProxyType)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """A view of a mapping, which shows what is written later."""
    machine.unsupported(breaks.CALL, name="types.MappingProxyType")


@make.on(slice)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """slice(stop) and slice(start, stop[, step])."""
    none = ConstantValue(None)
    parts = (none, args[0], none) if len(args) == 1 else (*args, none, none)[:3]
    return SliceValue((parts[0], parts[1], parts[2]))


def _number(machine: Machine, kind: type, args: Args, kwargs: Kwargs) -> Value:
    if len(args) > 1 or kwargs:
        return _number_in_a_base(machine, kind, args, kwargs)
    if args and isinstance(args[0], ArrayValue) and not args[0].rank:
        args = [args[0].tensor]
    if args and isinstance(args[0], TensorValue):
        return machine.call_leaf(getattr(torch.Tensor, f"__{kind.__name__}__"), args, {})
    if args and isinstance(args[0], InstanceValue):
        names = (f"__{kind.__name__}__", "__index__", "__trunc__")
        is_number = issubclass(args[0].cls, int | float)  # whose class in C has the first of them
        methods = [special(machine, args[0], name) for name in (names[:1] if is_number else names)]
        method = next((found for found in methods if found is not None), None)
        if method is not None:
            found = machine.call(method)
            if method is methods[0] and not issubclass(found.python_type(), kind):
                machine.unsupported(breaks.OPERATOR, name=names[0], kinds=args[0].describe())
            return fold(machine, kind, found.as_python())
        has_none = all(lookup(args[0].cls, name) is MISSING for name in names)
        if has_none and not isinstance(args[0].payload, ConstantValue):
            what = "a string, a bytes-like object" if kind is int else "a string"
            what += f" or a real number, not {name_in_c(machine, args[0].cls)!r}"
            machine.throw(TypeError, f"{kind.__name__}() argument must be {what}")
        args = [args[0].payload] if isinstance(args[0].payload, ConstantValue) else args
    if args and isinstance(args[0], SymbolicValue):
        return fold(machine, TO_INT if kind is int else TO_FLOAT, args[0].number)
    return fold(machine, kind, *(_plain(machine, value) for value in args))


def _number_in_a_base(machine: Machine, kind: type, args: Args, kwargs: Kwargs) -> Value:
    """int(text, base), and calls with too much: what they say depends on all of it, which so is known."""
    plain = [_plain(machine, value) for value in args]
    return fold(machine, kind, *plain, **{name: _plain(machine, value) for name, value in kwargs.items()})


def _plain(machine: Machine, value: Value) -> object:
    try:
        return value.as_python()
    except NotConstant:
        machine.unsupported(breaks.OPERATOR, name="a number from", kinds=value.describe())


@call.on(property.__init__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """The fields of a new instance of a subclass of property, which cannot leave the call."""
    made, given = args[0], [*args[1:], *[ConstantValue(None)] * 4]
    if not isinstance(made, InstanceValue) or made.obj is not None or kwargs or len(args) != 2:
        machine.unsupported(breaks.CALL, name="property.__init__")
    fields = dict(zip(("fget", "fset", "fdel", "__doc__"), given, strict=False))
    for name, value in {**fields, "__doc__": given[0].get_attr(machine, "__doc__")}.items():
        machine.heap.put(made.attrs, name, value)
    return ConstantValue(None)


@call.on(vars)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """vars(x)."""
    if not args:
        machine.unsupported(breaks.OUTSIDE, name="vars() of the frame")
    if isinstance(args[0], FunctionValue) and args[0].fn is None:
        made = DictValue(types.MappingProxyType)
        named = {name: value for name, value in args[0].attrs.items() if name not in vars(types.FunctionType)}
        made.items = {name: (ConstantValue(name), value) for name, value in named.items()}
        return made
    try:
        return args[0].get_attr(machine, "__dict__")
    except Raised as raised:
        if raised.is_a(AttributeError):
            machine.throw(TypeError, "vars() argument must have __dict__ attribute")
        raise


@call.on(globals, locals, eval, exec, compile, input, open, breakpoint, __import__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Builtins that need the real frame or the outside world."""
    machine.unsupported(breaks.OUTSIDE, name="a builtin that reads the frame, code or the outside world")


@call.on(hash)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """hash(x) of constants, and by the class's `__hash__`; that of others is an address."""
    value = args[0]
    if isinstance(value, EnumValue) or (isinstance(value, SequenceValue) and not value.is_mutable):
        return ConstantValue(hash(value.key(machine)))
    if isinstance(value, InstanceValue):
        found = special(machine, value, "__hash__")
        if found is not None:
            number = checked(machine, hash, "__hash__", machine.call(found))
            return ConstantValue(as_hash(cast("int", number.as_python())))
    try:
        plain = value.as_python()
    except NotConstant:
        machine.unsupported(breaks.CALL, name=f"hash() of {value.describe()}")
    if not isinstance(plain, int | float | str | bytes | tuple | None):
        machine.unsupported(breaks.CALL, name=f"hash() of {value.describe()}")
    return fold(machine, hash, plain)  # pyright: ignore[reportUnknownArgumentType]  # an open tuple
