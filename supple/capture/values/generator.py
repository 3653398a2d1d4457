"""Generators: a suspended frame that gives values one at a time."""

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from supple.capture import breaks
from supple.capture.machine import Machine
from supple.capture.source import Source
from supple.capture.values.attributes import type_attr
from supple.capture.values.base import LazyValue, Raised, Value
from supple.capture.values.begun import SHARED, Made, begun
from supple.capture.values.constant import ConstantValue
from supple.capture.values.function import FunctionValue
from supple.capture.values.instance import InstanceValue
from supple.capture.values.sequence import contains


@dataclass(frozen=True, slots=True)
class Held:
    """What a suspended frame holds, and code that takes it: (over cells) (*values) -> a generator.

    One that had started is suspended there only after its first `next`.
    """

    code: types.CodeType
    global_names: dict[str, object]
    cells: tuple[Value, ...]
    values: tuple[Value, ...]
    is_started: bool


_NAMES: Final = ("__name__", "__qualname__")


class Suspended(Protocol):
    """A frame that can be resumed: `send` gives the next yielded value, or raises Raised(StopIteration)."""

    locals: dict[str, Value]
    """By name; an unbound local is absent."""
    is_started: bool
    """Whether anything was sent."""

    @property
    def name(self) -> str:
        """The name of the function's code."""
        ...

    @property
    def function(self) -> FunctionValue:
        """The function that was called."""
        ...

    def send(self, value: Value) -> Value:
        """Resume with the value of the `yield` expression."""
        ...

    def throw(self, error: Value) -> Value:
        """Resume by raising at the `yield`."""
        ...

    def delegate(self) -> Value | None:
        """Return what it gives the items of, where it is suspended in a `yield from`."""
        ...

    def held(self) -> Held | None:
        """Return what another generator needs to go on in its place; None when none can."""
        ...


def is_generator(value: Value) -> bool:
    """Tell whether a value is a generator, made during capture or before."""
    if isinstance(value, LazyValue):
        return type(value.obj) is types.GeneratorType
    is_one = isinstance(value, GeneratorValue | InstanceValue)
    return is_one and value.python_type() is types.GeneratorType


class GeneratorValue(Value):
    """A generator made during capture; one made at a graph break gets another state when it changes.

    Attributes:
        kind: the class of iterators for which it stands.
        over: of what an iterator of the class was made, None where that is not known.
        names: what the function was called, by attribute, when the program had renamed it by then.
        within: the frame that last asked for an item by `yield from`.
    """

    __slots__ = ("frame", "is_finished", "is_running", "kind", "names", "over", "within")

    def __init__(self, frame: Suspended, source: Source | None = None) -> None:
        super().__init__(source)
        self.frame = frame
        self.is_finished = self.is_running = False
        self.kind: type = types.GeneratorType
        self.over: Made | None = None
        self.names = {name: value for name, value in frame.function.attrs.items() if name in _NAMES}
        self.within: Suspended | None = None

    def again(self) -> Made | None:
        """Return of what the class makes an iterator that goes on as this one, or None."""
        return None if self.frame.is_started or self.is_finished else self.over

    def python_type(self) -> type:
        return self.kind

    def describe(self) -> str:
        return f"generator {self.frame.name}"

    def truth(self, machine: Machine) -> bool:
        return True

    def iterate(self, machine: Machine) -> Value:
        return self

    def contains(self, machine: Machine, item: Value) -> Value:
        return ConstantValue(machine.call_python(contains, self, item).truth(machine))

    def advance(self, machine: Machine) -> Value | None:
        try:
            return self.send(machine, ConstantValue(None))
        except Raised as raised:
            if raised.is_a(StopIteration):
                return None
            raise

    def send(self, machine: Machine, value: Value) -> Value:
        """Return what the generator yields next; StopIteration is raised in the program at its end."""
        if self.is_finished:
            machine.throw(StopIteration)
        if not self.frame.is_started and value.identity() is not None:
            machine.throw(TypeError, "can't send non-None value to a just-started generator")
        return self._resume(machine, self.frame.send, value)

    def throw(self, machine: Machine, error: Value) -> Value:
        """Raise `error` at the suspended yield; return what is yielded next."""
        if self.is_finished:
            raise Raised(error)
        return self._resume(machine, self.frame.throw, error)

    def _resume(self, machine: Machine, step: Callable[[Value], Value], value: Value) -> Value:
        if self.is_running:
            machine.throw(ValueError, "generator already executing")
        if self.within is not None and self.within.delegate() is self:
            # CPython closes this one together with the other, whose end is not followed.
            machine.unsupported(breaks.GENERATOR, name="generator that another one gives the items of")
        if self.source is not None and self.kind is types.GeneratorType:
            machine.heap.touch(self)
        self.is_running = True
        try:
            return step(value)
        except Raised:
            self.is_finished = True
            raise
        finally:
            self.is_running = False

    def close(self, machine: Machine) -> None:
        """Raise GeneratorExit at the suspended yield, as CPython does."""
        if self.is_finished:
            return
        error = machine.construct(GeneratorExit, None, [], {})
        try:
            self.throw(machine, error)
        except Raised as raised:
            if not raised.is_a(GeneratorExit | StopIteration):
                raise
            return
        machine.throw(RuntimeError, "generator ignored GeneratorExit")

    def get_attr(self, machine: Machine, name: str) -> Value:
        if name in _NAMES and self.kind is types.GeneratorType:
            return self.named(machine, name)
        return type_attr(machine, self, self.kind, name)

    def named(self, machine: Machine, name: str) -> Value:
        """Return `__name__` or `__qualname__`: the function's, which a guard holds where it is older."""
        function = self.frame.function
        if name in self.names or function.fn is not None:
            return self.names.get(name) or function.get_attr(machine, name)
        code = function.code
        return ConstantValue(code.co_name if name == "__name__" else code.co_qualname)


class StepsValue(GeneratorValue):
    """An iterator of a class written in C: a function gives each item, or raises StopIteration.

    What it raises ends nothing: asked again, it goes on with the state in its cells. A generator over the
    function, which has not started, stands for it where it leaves the call.
    """

    __slots__ = ("is_started", "steps")

    def __init__(self, frame: Suspended, steps: FunctionValue, kind: type) -> None:
        super().__init__(frame)
        self.steps = steps
        self.kind = kind
        self.is_started = False

    def again(self) -> Made | None:
        """Return of what the class makes an iterator that goes on as this one, or None."""
        if self.over is not None and not self.is_started and self.kind not in SHARED:
            return self.over
        cells = zip(self.steps.code.co_freevars, self.steps.closure, strict=True)
        return begun(self.kind, {name: cell.contents for name, cell in cells}, self.over)

    def send(self, machine: Machine, value: Value) -> Value:
        """Return the next item; what ends the iterator is raised in the program."""
        if value.identity() is not None:
            return self.get_attr(machine, "send")  # which raises: there is none
        self.is_started = True
        return machine.call(self.steps)
