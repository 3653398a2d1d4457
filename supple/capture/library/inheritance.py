"""isinstance and issubclass: by what an object is, and by what it says that it is."""

import abc
import types
from collections.abc import Iterator
from typing import Final, cast

from supple.capture import breaks
from supple.capture.guards.kinds import Kind
from supple.capture.guards.reads import note_bases
from supple.capture.library.table import Args, Kwargs, call
from supple.capture.machine import Machine
from supple.capture.source import Called, class_source
from supple.capture.values.attributes import is_asked, is_odd, lookup, says_class, special
from supple.capture.values.base import NotConstant, Raised, Value
from supple.capture.values.constant import ConstantValue, fold_raw
from supple.capture.values.instance import InstanceValue
from supple.capture.values.sequence import SequenceValue
from supple.capture.values.tensor import TensorValue


@call.on(isinstance)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """isinstance(x, classes): by the class, `__instancecheck__` written in Python inlined."""
    value, wanted = args
    refusal = "isinstance() arg 2 must be a type, a tuple of types, or a union"
    classes = _classes(machine, wanted, refusal)
    return ConstantValue(any(_is_instance(machine, value, cls) for cls in classes))


def _is_instance(machine: Machine, value: Value, cls: object) -> bool:
    kind = value.python_type()
    if isinstance(cls, types.UnionType):
        return any(_is_instance(machine, value, one) for one in cls.__args__)
    if not isinstance(cls, type):
        note_bases(kind)
        try:
            isinstance(None, cast("type", cls))
            return bool(issubclass(kind, cls))  # pyright: ignore[reportArgumentType]  # a union
        except TypeError as error:
            machine.throw(TypeError, str(error))
    if kind is cls:
        return True
    if isinstance(value, TensorValue) and _checks_tensors(cls):
        return isinstance(value.fake if value.obj is None else value.obj, cls)
    check = lookup(type(cls), "__instancecheck__")
    if is_odd(check):
        detail = "its __instancecheck__ is no function"
        machine.unsupported(breaks.OBJECT, name=type(cls).__name__, detail=detail)
    if check is abc.ABCMeta.__instancecheck__:
        return _is_abstractly(machine, value, cls)
    if isinstance(check, types.FunctionType) and not _checks_tensors(cls):
        checker = special(machine, machine.wrap(cls, None), "__instancecheck__")
        assert checker is not None, cls
        return machine.call(checker, [value]).truth(machine)
    return _is_subclass(machine, kind, cls) or _says_it_is(machine, value, cls)


def _is_abstractly(machine: Machine, value: Value, cls: type) -> bool:
    """Return what `ABCMeta.__instancecheck__` gives: for the class that an object says, then for its own."""
    kind = value.python_type()
    said = value.get_attr(machine, "__class__").as_python() if _may_say(kind) else kind
    if not isinstance(said, type):
        machine.throw(TypeError, "issubclass() arg 1 must be a class")
    return _is_subclass(machine, said, cls) or (said is not kind and _is_subclass(machine, kind, cls))


def _says_it_is(machine: Machine, value: Value, cls: type) -> bool:
    """Tell whether an object that is no instance of a class says that it is, by its `__class__`."""
    kind = value.python_type()
    if not _may_say(kind):
        return False
    try:
        said = value.get_attr(machine, "__class__").as_python()
    except Raised as raised:
        if raised.is_a(AttributeError):
            return False
        raise
    if not isinstance(said, type):
        return False
    note_bases(said)
    return cls in said.__mro__


def _may_say(kind: type) -> bool:
    """Tell whether objects of a class may say another class than theirs."""
    return says_class(kind) or is_asked(kind)


def _is_subclass(machine: Machine, kind: type, cls: type) -> bool:
    """Return `issubclass(kind, cls)`: by the bases, or as a metaclass says, which checks ask again."""
    note_bases(kind)
    is_derived = bool(fold_raw(machine, issubclass, kind, cls))
    if type(cls) is not type and kind is not cls:
        source = class_source(kind)
        shown = f"issubclass({source.name}, {cls.__module__}.{cls.__qualname__}@{id(cls):x})"
        machine.guard(Called(shown, source, issubclass, (cls,)), Kind.IS, is_derived)
    return is_derived


def _checks_tensors(cls: type) -> bool:
    """Tell whether a class's own isinstance check is torch's, and looks at tensors only."""
    return type(cls).__module__.split(".")[0] == "torch"


_DEEPEST: Final = 50
"""How many tuples lie in each other: each is guarded by its path, which is as long as it is deep."""


def _classes(machine: Machine, wanted: Value, refusal: str, depth: int = 0) -> Iterator[object]:
    """Yield the classes of a tuple, and of tuples in it, up to what is asked for."""
    if isinstance(wanted, SequenceValue) and not wanted.is_mutable:
        if depth > _DEEPEST:
            machine.unsupported(breaks.CALL, name="isinstance() with that many tuples in each other")
        for item in wanted.all(machine):
            yield from _classes(machine, item, refusal, depth + 1)
        return
    try:
        yield wanted.as_python()
    except NotConstant:
        if isinstance(wanted, InstanceValue):
            raise
        machine.throw(TypeError, refusal)


@call.on(issubclass)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """issubclass(cls, classes)."""
    kind = args[0].as_python()
    refusal = "issubclass() arg 1 must be a class"
    if isinstance(kind, type):
        refusal = "issubclass() arg 2 must be a class, a tuple of classes, or a union"
    for cls in _classes(machine, args[1], refusal):
        if isinstance(kind, type) and isinstance(cls, type):
            is_derived: object = _is_subclass(machine, kind, cls)
        else:
            is_derived = fold_raw(machine, issubclass, kind, cls)
        if is_derived:
            return ConstantValue(True)
    return ConstantValue(False)


@call.on(abc.ABCMeta.__instancecheck__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """ABCMeta.__instancecheck__(cls, x)."""
    cls = args[0].as_python()
    assert isinstance(cls, type), args[0].describe()
    return ConstantValue(_is_abstractly(machine, args[1], cls))
