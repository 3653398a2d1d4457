"""Calls, functions made by `def` and `lambda`, imports, match statements."""

import importlib
import importlib.util
import sys
import types
from collections.abc import Sequence
from typing import Any, Final, cast

from supple.capture import breaks
from supple.capture.bytecode import Instruction
from supple.capture.interp.build import is_iterable, pairs_of
from supple.capture.interp.frame import NULL, Frame, opcode
from supple.capture.library.table import transparent
from supple.capture.source import global_variable, pinned
from supple.capture.values.arrival import take_counted
from supple.capture.values.attributes import MISSING, guard_lookup, lookup
from supple.capture.values.base import LazyValue, Raised, Value, name_in_c, take_all
from supple.capture.values.callables import PartialValue
from supple.capture.values.constant import ConstantValue
from supple.capture.values.function import BoundMethodValue, CellValue, FunctionValue
from supple.capture.values.instance import InstanceValue, container
from supple.capture.values.klass import ClassValue
from supple.capture.values.mapping import DictValue
from supple.capture.values.sequence import SequenceValue, new_tuple
from supple.torch_private import module_call


@opcode.on("CALL")
def _(frame: Frame, instruction: Instruction) -> None:
    """f(a, b, k=c)."""
    positional, names = cast("tuple[int, tuple[str, ...]]", instruction.arg)
    values = frame.pop_many(positional + len(names))
    first, second = frame.pop_many(2)
    kwargs = dict(zip(names, values[positional:], strict=True))
    _call(frame, first, second, values[:positional], kwargs)


def _call(frame: Frame, first: Value, second: Value, args: list[Value], kwargs: dict[str, Value]) -> None:
    callee = second if first is NULL else first
    if isinstance(callee, LazyValue):
        callee = callee.force(frame.engine)
    given = args if first is NULL else [second, *args]
    with frame.expecting(_codes(callee, given)):
        frame.push(frame.engine.call(callee, given, kwargs))


def _codes(callee: Value, args: Sequence[Value]) -> tuple[types.CodeType, ...]:
    """Return the code of the Python functions of which the first to run gives the result of a call."""
    if isinstance(callee, BoundMethodValue):
        return _codes(callee.function, [callee.owner, *args])
    if isinstance(callee, PartialValue):
        return _codes(callee.function, [*callee.args, *args])
    if isinstance(callee, InstanceValue):
        found = lookup(callee.cls, "__call__")
        return _codes_of(found, callee) if isinstance(found, types.FunctionType) else ()
    if isinstance(callee, ClassValue):
        found = lookup(callee.cls, "__init__")
        return (found.__code__,) if isinstance(found, types.FunctionType) else ()
    if not isinstance(callee, FunctionValue):
        return ()
    return (callee.code,) if callee.fn is None else _codes_of(callee.fn, *args[:1])


def _codes_of(function: types.FunctionType, *owner: Value) -> tuple[types.CodeType, ...]:
    if function in transparent and owner and isinstance(owner[0], InstanceValue):
        forward = lookup(owner[0].cls, "forward")
        codes = (forward.__code__,) if isinstance(forward, types.FunctionType) else ()
        return (*codes, module_call.__code__)
    return (function.__code__,)


@opcode.on("CALL_FUNCTION_EX")
def _(frame: Frame, instruction: Instruction) -> None:
    """f(*args, **kwargs)."""
    pairs = pairs_of(frame, frame.pop()) if instruction.arg else []
    given = frame.pop()
    if not is_iterable(given):
        frame.engine.unsupported(breaks.OPERATOR, name="*", kinds=given.describe())
    args = take_counted(frame.engine, given)
    first, second = frame.pop_many(2)
    if not all(issubclass(key.python_type(), str) for key, _ in pairs):
        callee = second if first is NULL else first
        if not _codes(callee, args):
            frame.engine.unsupported(breaks.CALL, name=f"{callee.describe()} with keywords that are no texts")
        frame.engine.throw(TypeError, "keywords must be strings")
    _call(frame, first, second, args, {str(key.as_python()): value for key, value in pairs})


@opcode.on("MAKE_FUNCTION")
def _(frame: Frame, instruction: Instruction) -> None:
    """`def` and `lambda`: below the code object lie closure, annotations, keyword defaults, defaults."""
    engine = frame.engine
    code = frame.pop().as_python()
    assert isinstance(code, types.CodeType), "MAKE_FUNCTION takes a code object"
    parts = cast("frozenset[str]", instruction.arg)
    order = ("closure", "annotations", "kwdefaults", "defaults")
    closure, annotations, kwdefaults, defaults = (frame.pop() if part in parts else None for part in order)
    cells: list[CellValue] = []
    if isinstance(closure, SequenceValue):
        cells = [cell for cell in closure.all(engine) if isinstance(cell, CellValue)]
    made = FunctionValue(code, frame.function.global_names, cells)
    if isinstance(defaults, SequenceValue):
        made.defaults = defaults.all(engine)
    if isinstance(kwdefaults, DictValue):
        made.kwdefaults = {str(key.as_python()): value for key, value in pairs_of(frame, kwdefaults)}
    if isinstance(annotations, SequenceValue):
        hints = made.attrs["__annotations__"] = DictValue()
        items = iter(annotations.all(engine))
        for name, hint in zip(items, items, strict=True):
            hints.set_item(engine, name, hint)
    frame.push(made)


@opcode.on("LOAD_BUILD_CLASS")
def _(frame: Frame, instruction: Instruction) -> None:
    """Class statements are left to Python."""
    frame.engine.unsupported(breaks.CLASS_STATEMENT)


@opcode.on("IMPORT_NAME")
def _(frame: Frame, instruction: Instruction) -> None:
    """`import a.b`, `from a import b`: modules that are loaded already, for whose import has no effect."""
    engine = frame.engine
    names, level = frame.pop().as_python(), frame.pop().as_python()
    package = frame.function.global_names.get("__package__") or ""
    name = str(instruction.arg)
    assert isinstance(level, int), "the import level is a number"
    try:
        full = importlib.util.resolve_name("." * level + name, str(package)) if level else name
    except ImportError:
        engine.unsupported(breaks.IMPORT, name=name)
    if full not in sys.modules:
        engine.unsupported(breaks.IMPORT, name=full)
    importlib.import_module(full)
    shown = full if names or level else full.partition(".")[0]
    frame.push(engine.wrap(sys.modules[shown], global_variable(pinned("sys.modules", sys.modules), shown)))


@opcode.on("IMPORT_FROM")
def _(frame: Frame, instruction: Instruction) -> None:
    """Push an attribute of the module on top."""
    frame.push(frame.stack[-1].get_attr(frame.engine, str(instruction.arg)))


@opcode.on("MATCH_MAPPING")
def _(frame: Frame, instruction: Instruction) -> None:
    """Push whether the top is a mapping."""
    frame.push(ConstantValue(isinstance(container(frame.stack[-1]), DictValue)))


@opcode.on("MATCH_SEQUENCE")
def _(frame: Frame, instruction: Instruction) -> None:
    """Push whether the top is a sequence."""
    found = container(frame.stack[-1])
    frame.push(ConstantValue(isinstance(found, SequenceValue) or frame.stack[-1].python_type() is range))


@opcode.on("MATCH_KEYS")
def _(frame: Frame, instruction: Instruction) -> None:
    """Push a tuple of the values at the keys on top, or None."""
    engine = frame.engine
    keys, subject = frame.stack[-1], container(frame.stack[-2])
    if isinstance(lookup(frame.stack[-2].python_type(), "get"), types.FunctionType):
        engine.unsupported(breaks.CALL, name="a pattern of keys, of a class of dicts with its own `get`,")
    assert isinstance(subject, DictValue), "MATCH_MAPPING has passed"
    found = [subject.find(engine, key) for key in take_all(engine, keys)]
    values = [value for value in found if value is not None]
    frame.push(new_tuple(values) if len(values) == len(found) else ConstantValue(None))


@opcode.on("MATCH_CLASS")
def _(frame: Frame, instruction: Instruction) -> None:
    """Push a tuple of the attributes that a class pattern names, or None."""
    engine = frame.engine
    subject, wanted, names = frame.pop_many(3)
    count, keywords = instruction.arg, names.as_python()
    assert isinstance(count, int), "the operand counts positional patterns"
    assert isinstance(keywords, tuple), names.describe()
    if not isinstance(wanted.as_python(), type):
        engine.throw(TypeError, _refusal(wanted.as_python()))
    if not engine.call(engine.wrap(isinstance, None), [subject, wanted]).truth(engine):
        frame.push(ConstantValue(None))
        return
    found: list[Value] = []
    positional = _match_args(frame, wanted, count) if count else ()
    if positional is None:
        found.append(subject)
    try:
        seen: set[str] = set()
        for name in cast("tuple[str, ...]", (*(positional or ()), *keywords)):
            if name in seen:
                owner = name_in_c(engine, cast("type", wanted.as_python()))
                engine.throw(TypeError, f"{owner}() got multiple sub-patterns for attribute {name!r}")
            seen.add(name)
            found.append(subject.get_attr(engine, name))
    except Raised as raised:
        if not raised.is_a(AttributeError):
            raise
        frame.push(ConstantValue(None))
        return
    frame.push(new_tuple(found))


def _refusal(wanted: Any) -> str:
    """Return what Python says of a class pattern that names no class."""
    try:
        match wanted:
            case wanted():
                pass
            case _:
                pass
    except TypeError as error:
        return str(error)
    raise AssertionError(f"{wanted!r} is a class")


MATCHES_ITSELF: Final = 1 << 22
"""The flag of int, str, list and their like, and of subclasses: one positional pattern is the object."""


def _match_args(frame: Frame, wanted: Value, count: int) -> tuple[str, ...] | None:
    """Return the attributes that positional patterns are about, None where one is about the object itself."""
    engine, cls = frame.engine, cast("type", wanted.as_python())
    found: object = ()
    if lookup(cls, "__match_args__") is not MISSING:
        found = wanted.get_attr(engine, "__match_args__").as_python()
    else:
        guard_lookup(engine, cls, "__match_args__", MISSING)
        if cls.__flags__ & MATCHES_ITSELF:
            if count == 1:
                return None
            found = ("",)
    names = cast("tuple[object, ...]", found) if isinstance(found, tuple) else (None,)
    if not all(isinstance(one, str) for one in names[:count]):
        engine.unsupported(breaks.OBJECT, name=cls.__name__, detail="its __match_args__ is no tuple of names")
    if count > len(names):
        plural = "" if len(names) == 1 else "s"
        accepted = f"accepts {len(names)} positional sub-pattern{plural}"
        engine.throw(TypeError, f"{name_in_c(engine, cls)}() {accepted} ({count} given)")
    return cast("tuple[str, ...]", names[:count])
