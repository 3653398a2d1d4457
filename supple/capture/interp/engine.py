"""The engine of one capture: it implements Machine, keeps the frames, the guards, the heap and the graph."""

import contextvars
import inspect
import sys
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NoReturn, cast

import torch
import torch.nn.modules.module

from supple import torch_private
from supple.base import events
from supple.base.config import REGION
from supple.base.errors import Reason, SuppleError, Unsupported, Where
from supple.base.journal import Journal
from supple.base.marks import ALONE
from supple.base.options import Options
from supple.capture import breaks
from supple.capture.guards import reads
from supple.capture.guards.kinds import Guard, Kind, guard_key
from supple.capture.heap import Heap
from supple.capture.interp.binding import bind
from supple.capture.interp.frame import Frame
from supple.capture.interp.globals import GlobalsValue
from supple.capture.library import calls, comparisons
from supple.capture.library.arity import require_fit
from supple.capture.library.table import transparent
from supple.capture.library.trusted import rule_of
from supple.capture.lifetimes import let_go
from supple.capture.machine import Machine
from supple.capture.points import can_continue, can_step
from supple.capture.recorder import Recorder
from supple.capture.sizes import Sizes
from supple.capture.source import STATE, Source, context_value, global_variable, pinned
from supple.capture.values.base import LazyValue, Raised, Value, name_in_c
from supple.capture.values.constant import ConstantValue
from supple.capture.values.function import CellValue, FunctionValue
from supple.capture.values.generator import GeneratorValue, is_generator
from supple.capture.values.instance import InstanceValue
from supple.capture.values.mapping import DictValue
from supple.capture.values.symbolic import SymbolicValue
from supple.capture.values.tensor import TensorValue
from supple.capture.wrapping import wrap
from supple.ir.graph.nodes import Arg, vars_of
from supple.ir.ops import Op
from supple.runtime.state import READERS, State
from supple.shapes.profile import Seen

_UNSET: Final = object()
_PLAIN: Final = (ConstantValue, SymbolicValue)
_COROUTINES: Final = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Stopped(BaseException):  # control flow inside capture, past every handler
    """Capture stops before an instruction; `frames` are as they are then, the outermost first."""

    def __init__(self, frames: tuple[Frame, ...]) -> None:
        super().__init__()
        self.frames = frames


class _Token(Value):
    """What `ContextVar.set` gives during capture; it means nothing outside."""

    __slots__ = ()

    def describe(self) -> str:
        return "token of a context variable"

    def truth(self, machine: Machine) -> bool:
        return True


class Engine:
    """One capture in progress.

    Attributes:
        guards: recorded so far, by what makes them equal, in order.
        frames: being interpreted, the innermost last.
        objects: the value of each existing object that was wrapped, by id; keeps the object alive meanwhile.
        namespaces: of each dict that was wrapped, or holds attributes of what was, the owner; by its id.
        tensors: the value of each fake tensor, by its id.
        told_apart: existing objects that are different ones by identity alone.
        sizes: what is symbolic, and the guards on it.
        region: after a break, whether the program says there that breaks are errors.
        stop_at: the number of the instruction before which to stop.
        stops: after a break, numbers of the instructions that could be left to Python, innermost frame first.
    """

    def __init__(self, options: Options, root_globals: dict[str, object], seen: Seen) -> None:
        self.options = options
        self.heap = Heap()
        self.recorder = Recorder()
        self.sizes = Sizes(options, seen, self.user_stack)
        self.guards: dict[tuple[object, ...], Guard] = {}
        self.frames: list[Frame] = []
        self.objects: dict[int, tuple[object, Value]] = {}
        self.namespaces: dict[int, tuple[object, object]] = {}
        self.tensors: dict[int, TensorValue] = {}
        self.told_apart: dict[int, Value] = {}
        self.context_variables: dict[int, tuple[contextvars.ContextVar[object], Value]] = {}
        self._tokens: dict[int, tuple[Value, tuple[contextvars.ContextVar[object], Value] | None]] = {}
        self.root_globals = root_globals
        self.raised_at: dict[int, tuple[Value, tuple[Where, ...]]] = {}
        self.generators: list[Frame] = []
        self.root_frame: Frame | None = None
        self._globals: dict[int, GlobalsValue] = {}
        self._cells: dict[int, CellValue] = {}
        self._asked: set[str] = set()
        self._steps = 0
        self._opaque = 0  # calls under way whose results are not those of the functions that they call
        self._made: Value | None = None
        self.region = REGION.get()
        self.checkpoint = 0
        self._traces = events.tracing()
        self.stop_at: int | None = None
        self.stops: tuple[int, ...] = ()
        self._shared: tuple[tuple[int, ...], tuple[Where, ...]] | None = None

    def step(self, frame: Frame) -> None:
        """Count an instruction of a frame.

        Raises:
            Stopped: this is where capture was told to stop.
        """
        self._steps += 1
        frame.began = self._steps
        if self._traces:
            one = frame.code.instructions[frame.pc - 1]
            events.emit(events.InstructionTraced(frame.where(), one.op, one.arg, len(frame.stack)))
        if self._steps == self.stop_at:
            raise Stopped(tuple(self.frames))
        if self._steps == self.options.break_at:
            self.unsupported(breaks.FORCED, number=self._steps)
        if self._steps > self.options.step_limit:
            self.unsupported(breaks.STEPS, limit=self._steps - 1)

    # What values and library ask for (Machine).

    def guard(self, source: Source | None, kind: Kind, expected: object = None) -> None:
        """Record a condition on the value at `source`."""
        if source is None:
            return
        self._record(source, kind, expected)

    def ask_state(self, part: str) -> None:
        """Guard a part of the process's state, as the call found it."""
        if not self.has_asked(part):
            self._asked.add(part)
            self.guard(STATE, Kind.STATE, State(((part, READERS[part]()),)))

    def has_asked(self, part: str) -> bool:
        """Tell whether a part of the process's state is guarded that need not be."""
        return part in self._asked

    def guard_same(self, source: Source, other: Source) -> None:
        """Record that two sources give one object."""
        self._record(source, Kind.SAME, None, (other,))

    def _record(self, source: Source, kind: Kind, expected: object, others: tuple[Source, ...] = ()) -> None:
        key = guard_key(source, kind, expected, others)
        if key not in self.guards:
            self.guards[key] = Guard(source, kind, expected, self._where(), others)

    def is_same(self, left: Value, right: Value) -> bool:
        """Return `left is right`; that two existing objects are different ones is guarded."""
        if left is right:
            return True
        is_symbolic = SymbolicValue in (type(left), type(right)) and not self.frames[-1].is_of_library
        if is_symbolic and left.python_type() is right.python_type():
            left, right = (ConstantValue(one.as_python()) for one in (left, right))
        if left.identity() == right.identity():
            if (
                isinstance(left, ConstantValue)
                and isinstance(right, ConstantValue)
                and left.value is not right.value
                and not self.frames[-1].is_of_library  # there, `==` follows
            ):
                kinds = f"{left.describe()} and {right.describe()}"
                self.unsupported(breaks.OPERATOR, name="is", kinds=kinds)
            return True
        constant = isinstance(left, _PLAIN) or isinstance(right, _PLAIN)
        if left.source is not None and right.source is not None and not constant:
            self._record(left.source, Kind.DISTINCT, None, (right.source,))
        return False

    def tell_apart(self, value: Value) -> object:
        """Return a value's identity; that it differs from others that were asked for theirs is guarded."""
        if value.source is not None:
            self.told_apart[id(value)] = value
        return value.identity()

    def known(self, obj: object) -> Value | None:
        """Return the value of an existing object that was wrapped already."""
        found = self.objects.get(id(obj))
        return found[1] if found is not None else None

    def wrap(self, obj: object, source: Source | None) -> Value:
        """Return the value of an existing object."""
        return wrap(self, obj, source)

    def builtin(self, name: str) -> Value:
        """Return a builtin by name."""
        return wrap(self, reads.builtin(name), None)

    def call(
        self, callee: Value, args: Sequence[Value] = (), kwargs: Mapping[str, Value] | None = None
    ) -> Value:
        """Return the result of a call."""
        return callee.call(self, args, kwargs or {})

    def call_leaf(self, function: object, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        """Return the result of a call of something without Python code."""
        self._opaque += 1
        try:
            rule = rule_of(function)
            if rule is None:
                return calls.call_leaf(self, function, args, kwargs)
            require_fit(self, function, args, kwargs)
            return rule(self, args, kwargs)
        finally:
            self._opaque -= 1

    def construct(
        self, kind: type, source: Source | None, args: Sequence[Value], kwargs: Mapping[str, Value]
    ) -> Value:
        """Return a new instance of a class."""
        self._opaque += 1
        try:
            return calls.construct(self, kind, args, kwargs)
        finally:
            self._opaque -= 1

    def initialize(
        self, made: Value, init: Value, args: Sequence[Value], kwargs: Mapping[str, Value]
    ) -> None:
        """Run the `__init__` of a new instance, which the call that is interpreted gives."""
        self._made = made
        self._opaque -= 1
        try:
            result = self.call(init, [made, *args], kwargs)
        finally:
            self._made = None
            self._opaque += 1
        if result.python_type() is not types.NoneType:
            kind = name_in_c(self, result.python_type())
            self.throw(TypeError, f"__init__() should return None, not {kind!r}")

    def note_break(self, error: SuppleError) -> None:
        """Remember, once, the instructions at which each frame could be left to Python: innermost first.

        A frame counts only if its result is what the instruction of its caller gives, up to the outermost.
        What a library does by itself, without calls of the program's code, is left whole; so is a function
        without tensors that works with NumPy.
        """
        if self.stops or self.frames[0] is not self.root_frame:
            return  # a generator that is closed after the call has no caller
        written = self.context_variables.get(id(REGION))
        if written is not None:
            self.region = cast("bool | None", written[1].as_python())
        is_numpy = isinstance(error, Unsupported) and "numpy" in error.what.lower()
        own = list(self.frames)
        while len(own) > 1 and (_is_library(own[-1]) or (is_numpy and _is_plain(own[-1]))):
            own.pop()
        self.stops = self._stops_now(own)

    def _stops_now(self, frames: Sequence[Frame]) -> tuple[int, ...]:
        found: list[int] = []
        for place, frame in enumerate(frames):
            if (place and not frame.is_direct) or not can_continue(frame.code_object):
                break
            if can_step(frame.code_object, frame.pc - 1):
                found.append(frame.began)
        return tuple(reversed(found))

    def variables(self) -> Iterator[Value | None]:
        """Yield what the variables of the captured function hold, arguments among them."""
        for frame in self.frames[:1]:
            yield from frame.locals.values()
            yield from (cell.contents for cell in frame.cells.values())

    def note_shared(self) -> None:
        """Remember where a second tensor of the same memory is made."""
        self._shared = self._shared or (self._stops_now(self.frames), self.user_stack())

    def heed_shared(self, op: Op, args: Arg) -> None:
        """Break there when an operation writes, and has another tensor."""
        if self._shared is not None and not op.is_pure and len({*vars_of(args)}) > 1:
            self.stops, where = self._shared
            raise Unsupported(breaks.SHARED, where)

    def inline(self, function: FunctionValue, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        """Return the result of interpreting a Python function, or of its rule."""
        if function.fn is not None:
            rule = rule_of(function.fn)
            if rule is not None and function.fn in transparent:
                return rule(self, args, kwargs)
            if rule is not None:
                self.heed_mark(function.fn.__qualname__)
                self.guard(function.source, Kind.IS, function.fn)
                return self.call_leaf(function.fn, args, kwargs)
            if calls.is_left_alone(function.fn):
                said = calls.why_left_alone(function.fn)
                self.unsupported(breaks.DISABLED, name=function.fn.__qualname__, message=said)
            if calls.is_leaf_function(function.fn) and calls.takes_tensors(args, kwargs):
                return calls.call_leaf(self, function.fn, args, kwargs)
            if (function.fn.__module__, function.fn.__qualname__) == torch_private.TAGS_MODULES:
                return ConstantValue(None)
            constant = calls.folded(self, function.fn, args, kwargs)
            if constant is not None:
                return constant
        return self._interpret(function, args, kwargs)

    def heed_mark(self, name: str) -> None:
        """Break before an operation of a function that is disabled, but not what it calls."""
        if self.frames and self.frames[-1].code.flags & ALONE:
            self.unsupported(breaks.DISABLED, name=f"{name} in {self.frames[-1].code.qualname}", message="")

    def inline_anyway(self, function: object, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        """Interpret a Python function of torch although it has a rule."""
        value = wrap(self, function, None)
        assert isinstance(value, FunctionValue), value.describe()
        return self._interpret(value, args, kwargs)

    def _interpret(
        self, function: FunctionValue, args: Sequence[Value], kwargs: Mapping[str, Value]
    ) -> Value:
        if len(self.frames) >= self.options.inline_depth:
            self.unsupported(breaks.DEPTH, limit=self.options.inline_depth)
        frame = Frame(self, function, bind(self, function, args, kwargs))
        if function.code.co_flags & inspect.CO_GENERATOR:
            self.generators.append(frame)
            return GeneratorValue(frame)
        if not self._opaque and self.frames and function.code in self.frames[-1].callees:
            frame.is_direct, frame.about, self._made = True, self._made or self.frames[-1].asked, None
            self.frames[-1].callees = ()
        if function.code.co_flags & _COROUTINES:
            self.unsupported(breaks.GENERATOR, name="coroutine")
        return frame.run().value

    def call_python(self, function: Callable[..., object], *args: Value) -> Value:
        """Inline a plain Python function of this package on values."""
        assert isinstance(function, types.FunctionType), function
        return self.call(wrap(self, function, None), args)

    def global_module_hooks(self) -> list[tuple[Mapping[object, object], Source]]:
        """Return the hooks that apply to all modules, each with its source."""
        names = vars(torch.nn.modules.module)
        base = pinned("G[torch.nn.modules.module]", names)
        return [(names[name], global_variable(base, name)) for name in torch_private.GLOBAL_MODULE_HOOKS]

    def has_views_of_dicts(self) -> bool:
        """Tell whether the program has a `types.MappingProxyType`, which may show any dict, but a class's."""
        values = [value for _, value in self.objects.values() if isinstance(value, DictValue)]
        views = [value for value in values if value.kind is types.MappingProxyType]
        return not all(value.source and value.source.name.endswith(".__dict__") for value in views)

    def compare(self, op: str, left: Value, right: Value) -> Value:
        """Return `left op right`."""
        return comparisons.compare(self, op, left, right)

    def unsupported(self, reason: Reason, **facts: object) -> NoReturn:
        """Give up this capture."""
        raise Unsupported(reason, self.user_stack(), **facts)

    def throw(self, kind: type[BaseException], *args: object) -> NoReturn:
        """Raise an exception inside the captured program."""
        self.throw_value(kind, [wrap(self, arg, None) for arg in args])

    def throw_value(self, kind: type[BaseException], args: Sequence[Value]) -> NoReturn:
        """Raise an exception with these values as its arguments."""
        error = calls.construct(self, kind, args, {})
        self.chain(error)
        raise Raised(error)

    def throw_from(self, error: BaseException, cause: Value) -> NoReturn:
        """Raise an exception inside the captured program with a cause."""
        made = calls.construct(self, type(error), [wrap(self, arg, None) for arg in error.args], {})
        self.chain(made, cause)
        if isinstance(made, InstanceValue):
            made.write(self, "__context__", cause)
        raise Raised(made)

    def chain(self, error: Value, cause: Value | None = None) -> None:
        """Note the exception being handled, and the cause, in an exception about to be raised."""
        if not isinstance(error, InstanceValue):
            return
        context = self.handling()
        if context is not None and context is not error:
            error.write(self, "__context__", context)
        if cause is not None:
            error.write(self, "__cause__", cause)
            error.write(self, "__suppress_context__", ConstantValue(True))

    def let_go(self, value: Value | None) -> None:
        """Break where an existing object loses a value, and the program would see that value's end."""
        let_go(self, value)

    def is_open(self, value: Value) -> bool:
        """Tell whether a value is a generator that may be in a block, which CPython leaves to close it."""
        if isinstance(value, LazyValue) and is_generator(value):
            value = value.force(self)
        if isinstance(value, InstanceValue) and is_generator(value):
            return True  # Python code has gone on with it
        suspended = value.frame if isinstance(value, GeneratorValue) else None
        return isinstance(suspended, Frame) and suspended.is_inside_a_block()

    def refuse_open_generators(self, kept: Collection[object]) -> None:
        """Give up when a generator left inside `try` or `with` would do something when CPython closes it.

        Args:
            kept: frames of those that the call hands on.
        """
        for frame in self.generators:
            inner = None if frame in kept else frame.delegate()
            if inner is not None and is_generator(inner) and _outlives(inner, kept):
                raise Unsupported(breaks.GENERATOR, (frame.where(),), name="generator left in a `yield from`")
            if frame in kept or not frame.is_inside_a_block():
                continue
            where = frame.where()
            before = (self.heap.mark(), len(self.recorder.nodes))
            try:
                frame.throw(calls.construct(self, GeneratorExit, [], {}))
            except Raised:
                pass
            if (self.heap.mark(), len(self.recorder.nodes)) != before:
                raise Unsupported(breaks.GENERATOR, (where,), name="generator left inside a block")

    def forget(self) -> None:
        """Let go of the program's objects; the garbage collector would find them late."""
        self.root_frame = self._made = None
        self.heap.journal = Journal()
        for held in (self.frames, self.generators, self.heap.effects, self.recorder.lifted):
            held.clear()
        for known in (self.objects, self.tensors, self.raised_at, self.heap.dirty, self.context_variables):
            known.clear()
        for known in (self._globals, self._cells, self._tokens, self.told_apart):
            known.clear()

    def note_raised(self, error: Value) -> None:
        """Remember where an exception was raised first."""
        self.raised_at.setdefault(id(error), (error, self.user_stack()))

    # What opcode rules ask for.

    def globals_of(self, function: FunctionValue) -> GlobalsValue:
        """Return the global variables that a function sees."""
        names = function.global_names
        found = self._globals.get(id(names))
        if found is None:
            found = GlobalsValue(names, is_root=names is self.root_globals)
            self._globals[id(names)] = found
        return found

    def written_globals(self) -> list[GlobalsValue]:
        """Return the modules whose globals were written."""
        return [names for names in self._globals.values() if names.written]

    def shared_cell(self, cell: CellValue) -> CellValue:
        """Return the one value of an existing cell, however it is reached."""
        if cell.obj is None:
            return cell
        known = self._cells.setdefault(id(cell.obj), cell)
        if cell.source is not None and known.source is not None and cell.source != known.source:
            here, there = cell.source.base, known.source.base
            assert here is not None, cell.source
            assert there is not None, known.source
            self.guard_same(here, there)
        return known

    def cells(self) -> list[CellValue]:
        """Return the existing cells that were met."""
        return list(self._cells.values())

    def handling(self) -> Value | None:
        """Return the exception that is being handled."""
        for frame in reversed(self.frames):
            if frame.exception is not None:
                return frame.exception
        return None

    def user_stack(self) -> tuple[Where, ...]:
        """Return the captured program's stack, innermost last; frames of this package left out."""
        frames = self.frames or ([self.root_frame] if self.root_frame is not None else [])
        stack = tuple(frame.where() for frame in frames if not frame.is_of_library)
        return (replace(stack[0], region=self.checkpoint), *stack[1:]) if self.checkpoint and stack else stack

    def super_of_frame(self) -> tuple[Value, Value]:
        """Return the class and the owner that `super()` without arguments means in the innermost frame."""
        frame = self.frames[-1]
        after = frame.cells["__class__"].get(self)
        if after is None:
            self.throw(RuntimeError, "super(): empty __class__ cell")
        first = frame.function.code.co_varnames[0]
        owner = frame.locals.get(first)
        if owner is None:
            owner = frame.cells[first].get(self)
        if owner is None:
            self.throw(RuntimeError, "super(): arg[0] deleted")
        return after, owner.force(self) if isinstance(owner, LazyValue) else owner

    # Context variables: what capture set, and what they were.

    def read_context_variable(self, variable: Value, default: Sequence[Value]) -> Value:
        """Return `variable.get(*default)`."""
        obj = _context_variable(variable)
        written = self.context_variables.get(id(obj))
        if written is not None:
            return written[1]
        source = pinned(f"ContextVar[{obj.name}@{id(obj):x}]", obj)
        found = obj.get(_UNSET)
        if found is _UNSET and _has_default(obj):
            if default:
                self.unsupported(breaks.CALL, name=f"get() of {obj.name} with a second default")
            return self.wrap(obj.get(), context_value(source))
        if found is _UNSET:
            self.guard(source, Kind.CONTEXT_UNSET)
            if not default:
                self.throw(LookupError, obj.name)
            return default[0]
        return self.wrap(found, context_value(source))

    def write_context_variable(self, variable: Value, new: Value) -> Value:
        """Note `variable.set(new)`; return a token that remembers what was noted before."""
        obj = _context_variable(variable)
        before = self.context_variables.get(id(obj))
        self.heap.put(self.context_variables, id(obj), (obj, new))
        token = _Token()
        self._tokens[id(token)] = (token, before)
        return token

    def reset_context_variable(self, variable: Value, token: Value) -> None:
        """Note `variable.reset(token)`."""
        obj = variable.as_python()
        if id(token) not in self._tokens:
            self.unsupported(breaks.CALL, name=f"reset() with {token.describe()}")
        _, before = self._tokens[id(token)]
        if before is None:
            self.heap.drop(self.context_variables, id(obj))
        else:
            self.heap.put(self.context_variables, id(obj), before)

    def context_changes(self) -> list[tuple[object, Value]]:
        """Return `set` of each variable that capture left changed, with its new value."""
        return [(obj.set, value) for obj, value in self.context_variables.values()]

    def _where(self) -> Where | None:
        for frame in reversed(self.frames):
            if not frame.is_of_library:
                return frame.where()
        return None


def _context_variable(variable: Value) -> contextvars.ContextVar[object]:
    obj = variable.as_python()
    assert isinstance(obj, contextvars.ContextVar), variable.describe()
    return cast("contextvars.ContextVar[object]", obj)


def _has_default(variable: contextvars.ContextVar[object]) -> bool:
    """Tell whether reading an unset context variable gives its own default."""
    try:
        variable.get()
    except LookupError:
        return False
    return True


_PROGRAMS: Final = ("torch.nn.", "torch.optim", "torch.amp", "torch.distributions")
"""Parts of torch that are written as users write programs; their constructors are not."""


def _outlives(generator: Value, kept: Collection[object]) -> bool:
    """Tell whether a generator is there after the call."""
    if not isinstance(generator, GeneratorValue) or generator.source is not None:
        return True
    return generator.frame in kept


def _is_library(frame: Frame) -> bool:
    """Tell whether a frame runs the standard library, torch, or this package."""
    name = str(frame.function.global_names.get("__name__", ""))
    if name.startswith(_PROGRAMS):
        return frame.name == "__init__" or name == "torch.nn.modules.module"
    return name.partition(".")[0] in _LIBRARIES


def _is_plain(frame: Frame) -> bool:
    """Tell whether a frame holds no tensors, and no objects that may."""
    held = [*frame.locals.values(), *(cell.contents for cell in frame.cells.values())]
    values = [value for value in held if value is not None]
    has_objects = any(isinstance(value, InstanceValue | LazyValue) for value in values)
    return not has_objects and not calls.takes_tensors(values, {})


_LIBRARIES: Final = frozenset({*sys.stdlib_module_names, "torch", "supple"}) - {"__main__"}
