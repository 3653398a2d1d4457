"""Value: the protocol of everything on the symbolic stack, with its defaults.

A default refuses: it raises the exception that Python raises for an unsupported operation, or gives up
capture where that cannot be known. Kinds override what they support.
"""

import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NoReturn, TypeVar

from supple.capture import breaks
from supple.capture.guards.kinds import Kind
from supple.capture.machine import Machine
from supple.capture.source import Source, attribute, class_source
from supple.runtime import classes
from supple.runtime.classes import lookup, may_change

V = TypeVar("V")


class NotConstant(Exception):  # control flow inside capture, never shown
    """The value has no Python object that is known now."""


class Raised(Exception):  # an exception of the captured program, as a value
    """An exception flies in the captured program."""

    def __init__(self, value: "Value") -> None:
        super().__init__(value)
        self.value = value

    def is_a(self, kind: type[BaseException] | types.UnionType) -> bool:
        """Tell whether `except kind` of the program handles it."""
        return issubclass(self.value.python_type(), kind)


def name_of(machine: Machine, cls: type) -> str:
    """Return the name of a class for a text, which holds while the class has that name."""
    if may_change(cls):
        machine.guard(attribute(class_source(cls), "__name__"), Kind.EQUALS, cls.__name__)
    return cls.__name__


def qualified_name_of(machine: Machine, cls: type) -> str:
    """Return the name of a class with that of what it is defined in, like `name_of`."""
    if may_change(cls):
        machine.guard(attribute(class_source(cls), "__qualname__"), Kind.EQUALS, cls.__qualname__)
    return cls.__qualname__


def module_of(machine: Machine, cls: type) -> str:
    """Return the name of the module that a class says it is of, like `name_of`."""
    if may_change(cls):
        machine.guard(attribute(class_source(cls), "__module__"), Kind.EQUALS, cls.__module__)
    return cls.__module__


def name_in_c(machine: Machine, cls: type) -> str:
    """Return the name of a class as CPython's own errors say it, like `name_of`."""
    name_of(machine, cls)
    return classes.name_in_c(cls)


def refuse_attribute(machine: Machine, cls: type, name: str) -> NoReturn:
    """Raise what CPython raises for an attribute that objects of a class do not have."""
    machine.throw(AttributeError, f"{name_in_c(machine, cls)!r} object has no attribute {name!r}")


def refuse_to_set(machine: Machine, cls: type, name: str, *, is_on_class: bool) -> NoReturn:
    """Raise what CPython raises where objects of a class, which have no dict, are given an attribute."""
    who = name_in_c(machine, cls)
    if is_on_class:
        machine.throw(AttributeError, f"{who!r} object attribute {name!r} is read-only")
    machine.throw(AttributeError, f"{who!r} object has no attribute {name!r}{_WITHOUT_DICT}")


def refuse_slot(machine: Machine, cls: type, name: str) -> NoReturn:
    """Raise what CPython raises for a slot of a class that has no value."""
    if not _SLOTS_SAY_MODULE:
        refuse_attribute(machine, cls, name)
    module, who = module_of(machine, cls), qualified_name_of(machine, cls)
    shown = who if module in ("builtins", "__main__") else f"{module}.{who}"
    machine.throw(AttributeError, f"'{shown}' object has no attribute {name!r}")


class _Slotted:
    __slots__ = ("empty",)


def _text_of_error(does: Callable[[], object]) -> str:
    try:
        does()
    except AttributeError as error:
        return str(error)
    raise AssertionError("there is no such attribute")


# What this version of Python says more of an attribute that is set than of one that is read, and whether it
# says the module of a class whose slot is empty.
_WITHOUT_DICT: Final = _text_of_error(lambda: object.__setattr__(object(), "x", None)).removeprefix(
    "'object' object has no attribute 'x'"
)
_SLOTS_SAY_MODULE: Final = __name__ in _text_of_error(lambda: _Slotted().empty)


class Value:
    """What is known of one Python object.

    Attributes:
        source: where the object is found when the compiled code runs; None when capture made it.
    """

    __slots__ = ("source",)

    def __init__(self, source: Source | None = None) -> None:
        self.source = source

    def python_type(self) -> type:
        """Return what `type(x)` gives."""
        raise NotImplementedError(type(self).__name__)

    def has_own_in_c(self, name: str, found: object) -> bool:
        """Tell whether a special method in C is not that of the number or text that an instance holds."""
        return False

    def describe(self) -> str:
        """Return a short description for messages."""
        name = self.python_type().__name__
        return f"{name} {self.source.name}" if self.source else name

    def as_python(self) -> object:
        """Return the Python object that this is, when it is known and immutable.

        Raises:
            NotConstant: otherwise.
        """
        raise NotConstant

    def identity(self) -> object:
        """Return an object that is the same for two values exactly when Python's `is` holds."""
        return self

    def key(self, machine: Machine) -> object:
        """Return a hashable that is equal for equal dict keys; TypeError in the program if unhashable."""
        hasher = lookup(self.python_type(), "__hash__")
        if hasher is object.__hash__:
            return machine.tell_apart(self)
        if hasher is not None:
            machine.unsupported(breaks.OPERATOR, name="hash()", kinds=self.describe())
        machine.throw(TypeError, f"unhashable type: {name_in_c(machine, self.python_type())!r}")

    def truth(self, machine: Machine) -> bool:
        """Return `bool(x)`."""
        machine.unsupported(breaks.OPERATOR, name="bool()", kinds=self.describe())

    def length(self, machine: Machine) -> "Value":
        """Return `len(x)`."""
        machine.throw(TypeError, f"object of type {name_in_c(machine, self.python_type())!r} has no len()")

    def get_attr(self, machine: Machine, name: str) -> "Value":
        """Return `x.name`; raises AttributeError in the program when there is none."""
        machine.unsupported(breaks.ATTRIBUTE, name=name, owner=self.describe())

    def set_attr(self, machine: Machine, name: str, new: "Value") -> None:
        """`x.name = new`."""
        machine.unsupported(breaks.ATTRIBUTE, name=name, owner=self.describe())

    def delete_attr(self, machine: Machine, name: str) -> None:
        """`del x.name`."""
        machine.unsupported(breaks.ATTRIBUTE, name=name, owner=self.describe())

    def get_item(self, machine: Machine, key: "Value") -> "Value":
        """Return `x[key]`."""
        machine.unsupported(breaks.OPERATOR, name="[]", kinds=self.describe())

    def set_item(self, machine: Machine, key: "Value", new: "Value") -> None:
        """`x[key] = new`."""
        machine.unsupported(breaks.OPERATOR, name="[]=", kinds=self.describe())

    def delete_item(self, machine: Machine, key: "Value") -> None:
        """`del x[key]`."""
        machine.unsupported(breaks.OPERATOR, name="del []", kinds=self.describe())

    def contains(self, machine: Machine, item: "Value") -> "Value":
        """Return `item in x`."""
        machine.unsupported(breaks.OPERATOR, name="in", kinds=self.describe())

    def iterate(self, machine: Machine) -> "Value":
        """Return `iter(x)`."""
        machine.throw(TypeError, f"{name_in_c(machine, self.python_type())!r} object is not iterable")

    def advance(self, machine: Machine) -> "Value | None":
        """Return the next item of an iterator, None at its end."""
        machine.throw(TypeError, f"{name_in_c(machine, self.python_type())!r} object is not an iterator")

    def call(self, machine: Machine, args: Sequence["Value"], kwargs: Mapping[str, "Value"]) -> "Value":
        """Return `x(*args, **kwargs)`."""
        machine.unsupported(breaks.CALL, name=self.describe())


class Unique(Value):
    """An object known by identity, whose class gives it no other meaning: a class, a module, a function."""

    __slots__ = ()

    def identity(self) -> object:
        return self.as_python()

    def key(self, machine: Machine) -> object:
        return self.identity()

    def truth(self, machine: Machine) -> bool:
        return True


class LazyValue(Value):
    """An item of an existing container, not looked at yet."""

    __slots__ = ("obj",)

    def __init__(self, obj: object, source: Source | None) -> None:
        super().__init__(source)
        self.obj = obj

    def force(self, machine: Machine) -> Value:
        """Return the wrapped item; guards appear now."""
        return machine.wrap(self.obj, self.source)


class PassedValue(Value):
    """An existing object that a frame keeps behind a break and never reads: nothing of it is guarded."""

    __slots__ = ()


def take_all(machine: Machine, value: Value) -> list[Value]:
    """Return all items of an iterable, by its iterator."""
    return list(drain(machine, value.iterate(machine)))


def drain(machine: Machine, iterator: Value) -> Iterator[Value]:
    """Yield what an iterator gives until it ends."""
    while (item := iterator.advance(machine)) is not None:
        yield item
