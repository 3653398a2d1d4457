"""Text of values: str, repr, format, f-strings, `%`, str.format, str.join, print."""

import builtins
import collections
import contextlib
import types
from collections.abc import Iterable
from typing import Final

from supple.capture import breaks
from supple.capture.library import polyfills
from supple.capture.library.calls import folded, plain_value
from supple.capture.library.table import NONE, Args, Kwargs, call, make
from supple.capture.machine import Machine
from supple.capture.values.attributes import lookup, special, type_attr
from supple.capture.values.base import NotConstant, Raised, Value, drain, name_in_c
from supple.capture.values.constant import ConstantValue, fold, guard_names, with_parts
from supple.capture.values.function import LeafValue
from supple.capture.values.instance import InstanceValue, checked, container
from supple.capture.values.klass import ClassValue
from supple.capture.values.mapping import DictValue, SetValue
from supple.capture.values.sequence import SequenceValue, new_tuple
from supple.capture.values.tensor import TensorValue


@make.on(str)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """str(x), and str(bytes, encoding)."""
    if len(args) + len(kwargs) > 1:
        plain = [value.as_python() for value in args]
        return fold(machine, str, *plain, **{name: value.as_python() for name, value in kwargs.items()})
    return text_of(machine, "__str__", args[0]) if args else ConstantValue("")


call.on(repr)(lambda machine, args, _: text_of(machine, "__repr__", args[0]))
call.on(object.__str__)(lambda machine, args, _: text_of(machine, "__repr__", args[0]))
call.on(format)(
    lambda machine, args, _: formatted(machine, args[0], args[1] if len(args) > 1 else ConstantValue(""))
)
call.on(object.__format__)(lambda machine, args, _: _unformatted(machine, args[0], args[1]))


def _unformatted(machine: Machine, value: Value, spec: Value) -> Value:
    """Return what `object.__format__` gives: str(x); a spec is an error."""
    if spec.as_python():
        name = name_in_c(machine, value.python_type())
        machine.throw(TypeError, f"unsupported format string passed to {name}.__format__")
    return text_of(machine, "__str__", value)


def formatted(machine: Machine, value: Value, spec: Value) -> Value:
    """Return format(value, spec)."""
    if isinstance(value, TensorValue):
        machine.unsupported(breaks.PRINT_TENSOR, name="format()")
    if isinstance(value, InstanceValue):
        own = special(machine, value, "__format__")
        if own is not None or not isinstance(value.payload, ConstantValue):
            found = machine.call(type_attr(machine, value, value.cls, "__format__"), [spec])
            if not issubclass(found.python_type(), str):
                kind = name_in_c(machine, found.python_type())
                machine.throw(TypeError, f"__format__ must return a str, not {kind}")
            return found
        if not spec.as_python():
            return text_of(machine, "__str__", value)
        try:
            return ConstantValue(format(value.payload.as_python(), str(spec.as_python())))
        except (TypeError, ValueError):  # which would name the class
            machine.unsupported(breaks.OPERATOR, name="format()", kinds=value.describe())
    if isinstance(value, ClassValue):
        own = special(machine, value, "__format__")
        return _unformatted(machine, value, spec) if own is None else machine.call(own, [spec])
    try:
        plain = value.as_python()
    except NotConstant:
        if lookup(value.python_type(), "__format__") is not object.__format__:
            machine.unsupported(breaks.OPERATOR, name="format()", kinds=value.describe())
        return _unformatted(machine, value, spec)
    if isinstance(value, SequenceValue) and not spec.as_python():
        return text_of(machine, "__str__", value)
    return fold(machine, format, plain, spec.as_python())


def text_of(machine: Machine, method: str, value: Value) -> Value:
    """Return str() or repr() of a value: constants fold, containers item by item, classes' methods inline."""
    if isinstance(value, TensorValue):
        machine.unsupported(breaks.PRINT_TENSOR, name="str() or repr()")
    own = _own_text(machine, method, value)
    if own is not None:
        return checked(machine, str if method == "__str__" else repr, method, own)
    if isinstance(value, InstanceValue):
        if method == "__str__" and lookup(value.cls, method) is object.__str__:
            return text_of(machine, "__repr__", value)
        assert value.payload is not None, value.describe()
        return text_of(machine, method, value.payload)
    found = container(value)
    if isinstance(found, SequenceValue | DictValue) and found.python_type() in _WRITTEN:
        return ConstantValue(repr(_of_texts(machine, found)))
    if isinstance(found, SetValue) and found.items:
        inside = ", ".join(written(machine, one) for one in found.ordered(machine))
        return ConstantValue(f"{{{inside}}}" if found.kind is set else f"{found.kind.__name__}({{{inside}}})")
    if isinstance(found, SequenceValue) and hasattr(found.kind, "_fields"):
        return machine.call(type_attr(machine, value, found.kind, "__repr__"))
    try:
        plain = value.as_python()
    except NotConstant:
        machine.unsupported(breaks.OPERATOR, name=method, kinds=value.describe())
    if callable(plain) and not isinstance(plain, type):
        machine.unsupported(breaks.OPERATOR, name=method, kinds=value.describe())
    return fold(machine, str if method == "__str__" else repr, plain)


def _own_text(machine: Machine, method: str, value: Value) -> Value | None:
    """Return what code of the program gives for str() or repr() of an object or a class; None without any."""
    if isinstance(value, InstanceValue) and not isinstance(value.payload, ConstantValue):
        return machine.call(type_attr(machine, value, value.cls, method))
    if not isinstance(value, InstanceValue | ClassValue):
        return None
    own = special(machine, value, method)
    if own is None and method == "__str__" and isinstance(value, ClassValue):  # `object.__str__` asks for it
        own = special(machine, value, "__repr__")
    return None if own is None else machine.call(own)


def written(machine: Machine, value: Value, method: str = "__repr__") -> str:
    """Return repr(x), or another text of a value, as a Python string."""
    return str(text_of(machine, method, value).as_python())


_WRITTEN: Final = (list, tuple, dict, collections.deque, collections.OrderedDict)


def _of_texts(machine: Machine, value: SequenceValue | DictValue) -> object:
    """Return a real container of what stands for the items, so that Python writes the rest."""
    if isinstance(value, SequenceValue):
        return value.real([_Text(machine, item) for item in value.all(machine)])
    pairs = zip(value.keys(machine), value.values(machine), strict=True)
    return value.kind({_Text(machine, key): _Text(machine, item) for key, item in pairs})


@call.on(str.join)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """str.join."""
    try:
        items = args[1].iterate(machine)
    except Raised as raised:
        if raised.value.python_type() is TypeError:
            machine.throw(TypeError, "can only join an iterable")
        raise
    parts = new_tuple(list(drain(machine, items)))
    return fold(machine, str.join, args[0].as_python(), parts.as_python())


@call.on(str.format)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """str.format: of constants at once, else field by field."""
    found = None if _have_texts((*args, *kwargs.values())) else folded(machine, str.format, args, kwargs)
    return found or machine.call(machine.wrap(polyfills.str_format, None), args, kwargs)


def _have_texts(values: Iterable[Value]) -> bool:
    """Tell whether code of the program may make the text of a value, or of what is in it: of a class does."""
    try:
        parts = with_parts(*[plain_value(value) for value in values])
    except NotConstant:
        return False
    kinds = [type(one) for one in parts if isinstance(one, type)]
    return any(isinstance(lookup(kind, name), types.FunctionType) for kind in kinds for name in _TEXTS)


_TEXTS: Final = ("__str__", "__repr__", "__format__")


def percent(machine: Machine, template: str, given: Value) -> Value:
    """Return `template % given`; `%s` and `%r` of values that are no constants go by their text."""
    with contextlib.suppress(NotConstant):
        if not _have_texts([given]):
            return fold(machine, str.__mod__, template, given.as_python())
    found = container(given)
    if isinstance(found, DictValue):
        pairs = zip(found.keys(machine), found.values(machine), strict=True)
        return _formatted(machine, template, {key.as_python(): _part(machine, value) for key, value in pairs})
    values = given.all(machine) if isinstance(given, SequenceValue) and not given.is_mutable else [given]
    return _formatted(machine, template, tuple(_part(machine, value) for value in values))


def _formatted(machine: Machine, template: str, parts: object) -> Value:
    """Return `template % parts`; what asks for more than the text of an object is left to Python."""
    try:
        return ConstantValue(str.__mod__(template, parts))
    except (TypeError, ValueError, KeyError) as error:
        machine.unsupported(breaks.OPERATOR, name="%", kinds=f"{template!r} and these values: {error}")


def _part(machine: Machine, value: Value) -> object:
    try:
        found = value.as_python()
    except NotConstant:
        return _Text(machine, value)
    if _have_texts([value]):
        return _Text(machine, value)
    guard_names(machine, found)
    return found


class _Text:
    """Stands for a value in `%` formatting."""

    def __init__(self, machine: Machine, value: Value) -> None:
        self._machine = machine
        self._value = value

    def __str__(self) -> str:
        return written(self._machine, self._value, "__str__")

    def __repr__(self) -> str:
        return written(self._machine, self._value)


@call.on(print)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """print(...): of constants it is replayed after the graph; of a tensor it is left to Python."""
    for value in args:
        if isinstance(value, TensorValue):
            machine.unsupported(breaks.PRINT_TENSOR, name="print")
    texts = [text_of(machine, "__str__", value) for value in args]
    machine.heap.defer(CallEffect(LeafValue(builtins.print), tuple(texts), dict(kwargs)))
    return NONE


class CallEffect:
    """A call to be made after the graph."""

    def __init__(self, callee: Value, args: tuple[Value, ...], kwargs: dict[str, Value]) -> None:
        self.callee = callee
        self.args = args
        self.kwargs = kwargs
