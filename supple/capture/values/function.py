"""Python functions, existing or made during capture; cells; bound methods; callables without Python code."""

import types
from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from supple.capture import breaks
from supple.capture.guards.kinds import Kind
from supple.capture.machine import Machine
from supple.capture.source import (
    Pinned,
    Source,
    attribute,
    cell,
    instance_attribute,
    item,
    of_empty,
    referent,
    root_of,
)
from supple.capture.values.base import LazyValue, NotConstant, Unique, Value, refuse_attribute
from supple.capture.values.constant import LITERALS, ConstantValue
from supple.runtime.classes import MISSING, lookup

UNBOUND = object()


class CellValue(Value):
    """A closure cell. `contents` is None while it is empty; written by the heap alone.

    Attributes:
        obj: the existing cell, None when capture made it.
        is_as_found: capture has not written it.
    """

    __slots__ = ("contents", "is_as_found", "obj")

    def __init__(
        self, contents: Value | None, source: Source | None = None, obj: types.CellType | None = None
    ) -> None:
        super().__init__(source)
        self.contents = contents
        self.obj = obj
        self.is_as_found = obj is not None

    def python_type(self) -> type:
        return types.CellType

    def get(self, machine: Machine) -> Value | None:
        """Return the contents, None when the cell is empty."""
        found = self.contents
        if isinstance(found, LazyValue):
            found = found.force(machine)
            self.contents = found
        if found is None:
            self._guard_empty(machine)
        return found

    def put(self, machine: Machine, new: Value | None) -> None:
        """Write the cell."""
        if self.obj is not None:
            self._guard_empty(machine)
            machine.let_go(self.contents)
            machine.heap.touch(self)
            machine.heap.set_field(self, "is_as_found", False)
        machine.heap.set_field(self, "contents", new)

    def _guard_empty(self, machine: Machine) -> None:
        """Guard that an existing cell is empty, where it is and nothing has been written."""
        if self.contents is None and self.is_as_found and self.source is not None:
            machine.guard(of_empty(self.source), Kind.EQUALS, True)

    def get_attr(self, machine: Machine, name: str) -> Value:
        found = self.get(machine) if name == "cell_contents" else None
        if found is None:
            machine.throw(ValueError, "Cell is empty")
        return found


def wrap_cell(obj: types.CellType, source: Source | None) -> CellValue:
    """Return the value of an existing cell; its contents are read lazily. `source` names the contents."""
    try:
        contents = obj.cell_contents
    except ValueError:
        return CellValue(None, source, obj)
    return CellValue(LazyValue(contents, source), source, obj)


class LazyDefault(LazyValue):
    """A default of a function's parameter: which one it is depends on how many there are."""

    __slots__ = ("defaults",)

    def __init__(self, obj: object, source: Source | None, defaults: tuple[object, ...]) -> None:
        super().__init__(obj, source)
        self.defaults = defaults

    def force(self, machine: Machine) -> Value:
        base = self.source.base if self.source is not None else None
        if all(type(default) in LITERALS for default in self.defaults):
            machine.guard(base, Kind.EQUALS, self.defaults)
            return machine.wrap(self.obj, None)
        machine.guard(base, Kind.LENGTH, len(self.defaults))
        return super().force(machine)


class FunctionValue(Unique):
    """A Python function.

    Attributes:
        code: its code object.
        global_names: the dict that its globals live in.
        defaults, kwdefaults: values (lazy for an existing function).
        closure: one CellValue per free variable, in the order of `co_freevars`.
        attrs: attributes set during capture.
        fn: the existing function, None when capture made it.
    """

    __slots__ = ("attrs", "closure", "code", "defaults", "fn", "global_names", "kwdefaults")

    def __init__(
        self,
        code: types.CodeType,
        global_names: dict[str, object],
        closure: Sequence[CellValue],
        source: Source | None = None,
        fn: types.FunctionType | None = None,
    ) -> None:
        super().__init__(source)
        self.code = code
        self.global_names = global_names
        self.closure = closure
        self.defaults: list[Value] = []
        self.kwdefaults: dict[str, Value] = {}
        self.attrs: dict[str, Value] = {}
        self.fn = fn

    def python_type(self) -> type:
        return types.FunctionType

    def describe(self) -> str:
        return f"function {self.code.co_qualname}"

    def identity(self) -> object:
        return ("function", id(self.fn)) if self.fn is not None else self

    def as_python(self) -> object:
        if self.fn is None or self.attrs:
            raise NotConstant
        return self.fn

    def call(self, machine: Machine, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        return machine.inline(self, args, kwargs)

    def get_attr(self, machine: Machine, name: str) -> Value:
        if name in self.attrs:
            return self.attrs[name]
        known: dict[str, object] = {
            "__name__": self.code.co_name,
            "__qualname__": self.code.co_qualname,
            "__code__": self.code,
            "__doc__": self.code.co_consts[0] if self.code.co_consts else None,
            "__module__": self.global_names.get("__name__"),
        }
        if self.fn is not None:
            return self._existing_attr(machine, self.fn, name)
        if name in known:
            return ConstantValue(known[name])
        if name == "__annotations__":
            return machine.call(machine.wrap(dict, None))
        if name == "__defaults__":
            values = [value.as_python() for value in self.defaults]
            return machine.wrap(tuple(values) if values else None, None)
        if name in ("__get__", "__dict__"):
            machine.unsupported(breaks.ATTRIBUTE, name=name, owner=self.describe())
        machine.throw(AttributeError, f"'function' object has no attribute {name!r}")

    def _existing_attr(self, machine: Machine, fn: types.FunctionType, name: str) -> Value:
        if name in fn.__dict__:
            found = fn.__dict__[name]
            return machine.wrap(found, instance_attribute(self.source, name) if self.source else None)
        if not hasattr(fn, name):
            machine.guard(self.source, Kind.LACKS_ATTRIBUTE, name)
            machine.throw(AttributeError, f"'function' object has no attribute {name!r}")
        return machine.wrap(getattr(fn, name), attribute(self.source, name) if self.source else None)

    def set_attr(self, machine: Machine, name: str, new: Value) -> None:
        if self.fn is not None or name in _WORKINGS:
            machine.unsupported(breaks.SIDE_EFFECT, name=self.describe())
        machine.heap.put(self.attrs, name, new)


_WORKINGS: Final = frozenset(("__dict__", "__code__", "__defaults__", "__kwdefaults__"))
"""Attributes that decide what a call of a function does, or which others it has."""


def wrap_function(machine: Machine, fn: types.FunctionType, source: Source | None) -> FunctionValue:
    """Return the value of an existing function; its code is guarded, the rest when it is read."""
    machine.guard(source, Kind.CODE, fn.__code__)
    if source is not None and not isinstance(root_of(source), Pinned):
        machine.guard(attribute(source, "__globals__"), Kind.IS, fn.__globals__)
    cells = [
        wrap_cell(one, cell(source, i) if source else None) for i, one in enumerate(fn.__closure__ or ())
    ]
    made = FunctionValue(fn.__code__, fn.__globals__, cells, source, fn)
    if fn.__defaults__:
        base = attribute(source, "__defaults__") if source else None
        made.defaults = [
            LazyDefault(default, item(base, i, tuple) if base else None, fn.__defaults__)
            for i, default in enumerate(fn.__defaults__)
        ]
    if fn.__kwdefaults__:
        base = attribute(source, "__kwdefaults__") if source else None
        made.kwdefaults = {
            name: LazyValue(default, item(base, name, dict) if base else None)
            for name, default in fn.__kwdefaults__.items()
        }
    return made


_OF_THE_FUNCTION: Final = ("__name__", "__doc__", "__text_signature__")
"""What a method says as its function does; under other names of its own it says something else."""


class BoundMethodValue(Value):
    """`owner.function`: calling it passes the owner first."""

    __slots__ = ("function", "owner")

    def __init__(self, owner: Value, function: Value, source: Source | None = None) -> None:
        super().__init__(source)
        self.owner = owner
        self.function = function

    def python_type(self) -> type:
        match self.function:
            case FunctionValue() | LeafValue(obj=types.FunctionType()):
                return types.MethodType
            case LeafValue(obj=types.WrapperDescriptorType()):
                return types.MethodWrapperType
            case _:
                return types.BuiltinMethodType

    def describe(self) -> str:
        return f"method {self.function.describe()} of {self.owner.describe()}"

    def as_python(self) -> object:
        owner = getattr(self.owner, "obj", None)
        function = self.function.as_python()
        if owner is None or not callable(function):
            raise NotConstant
        return types.MethodType(function, owner)

    def key(self, machine: Machine) -> object:
        return ("method", machine.tell_apart(self.owner), self.function.identity())

    def truth(self, machine: Machine) -> bool:
        return True

    def call(self, machine: Machine, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        return machine.call(self.function, [self.owner, *args], kwargs)

    def get_attr(self, machine: Machine, name: str) -> Value:
        kind = self.python_type()
        if name == "__self__":
            return self.owner
        if name == "__func__" and kind is types.MethodType:
            return self.function
        if name == "__call__":
            return BoundMethodValue(self, LeafValue(lookup(kind, "__call__")))
        if name == "__class__":
            return machine.wrap(kind, None)
        if name == "__module__" and kind is types.BuiltinMethodType:
            return ConstantValue(None)
        if name in _OF_THE_FUNCTION:
            return self.function.get_attr(machine, name)
        if lookup(kind, name) is not MISSING:
            machine.unsupported(breaks.ATTRIBUTE, name=name, owner=self.describe())
        if kind is types.MethodType:
            return self.function.get_attr(machine, name)
        refuse_attribute(machine, kind, name)


class LeafValue(Unique):
    """A callable without Python code: a builtin function, a method descriptor, a torch function."""

    __slots__ = ("obj",)

    def __init__(self, obj: object, source: Source | None = None) -> None:
        super().__init__(source)
        self.obj = obj

    def python_type(self) -> type:
        return type(self.obj)

    def describe(self) -> str:
        return str(getattr(self.obj, "__qualname__", None) or repr(self.obj))

    def identity(self) -> object:
        return ("object", id(self.obj))

    def as_python(self) -> object:
        return self.obj

    def call(self, machine: Machine, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        return machine.call_leaf(self.obj, args, kwargs)

    def get_attr(self, machine: Machine, name: str) -> Value:
        found = getattr(self.obj, name, UNBOUND)
        if found is UNBOUND:
            if hasattr(type(self.obj), "__getattr__"):  # whose error has a text of its own
                machine.unsupported(breaks.ATTRIBUTE, name=name, owner=self.describe())
            refuse_attribute(machine, type(self.obj), name)
        is_fixed = type(self.obj).__module__.split(".")[0] in ("builtins", "torch", "_contextvars")
        return machine.wrap(found, None if is_fixed or self.source is None else attribute(self.source, name))


class WeakReferenceValue(LeafValue):
    """A weak reference: what it refers to is read when it is called, compared or hashed."""

    __slots__ = ()

    def as_python(self) -> object:
        raise NotConstant  # a fact about it is one about an object that it does not hold

    def key(self, machine: Machine) -> object:
        found = self.call(machine, (), {})
        if found.identity() is None:  # the hash of a dead reference is the one that it had, or an error
            machine.unsupported(breaks.OPERATOR, name="hash()", kinds=self.describe())
        return ("weak reference", found.key(machine))

    def call(self, machine: Machine, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        refer = cast("Callable[[], object]", self.obj)
        return machine.wrap(refer(), referent(self.source) if self.source else None)
