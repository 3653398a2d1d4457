"""Containers, slices, formatted strings, unpacking."""

from itertools import islice
from typing import NoReturn, cast

from supple.capture import breaks
from supple.capture.bytecode import Instruction
from supple.capture.interp.frame import Frame, count_of, opcode
from supple.capture.library.sets import add_members
from supple.capture.values.arrival import take_counted
from supple.capture.values.attributes import MISSING, lookup
from supple.capture.values.base import Raised, Value, drain, name_in_c, take_all
from supple.capture.values.constant import ConstantValue
from supple.capture.values.instance import container, is_iterated_as_dict
from supple.capture.values.mapping import DictValue, SetValue
from supple.capture.values.sequence import SequenceValue, SliceValue, new_list, new_tuple


@opcode.on("BUILD_TUPLE")
def _(frame: Frame, instruction: Instruction) -> None:
    """(a, b, ...)."""
    frame.push(new_tuple(frame.pop_many(count_of(instruction))))


@opcode.on("BUILD_LIST")
def _(frame: Frame, instruction: Instruction) -> None:
    """[a, b, ...]."""
    frame.push(new_list(frame.pop_many(count_of(instruction))))


@opcode.on("BUILD_SET")
def _(frame: Frame, instruction: Instruction) -> None:
    """{a, b, ...}."""
    made, items = SetValue(), frame.pop_many(count_of(instruction))
    add_members(frame.engine, made, new_list(items))
    frame.push(made)


@opcode.on("BUILD_MAP")
def _(frame: Frame, instruction: Instruction) -> None:
    """{k: v, ...}."""
    flat = frame.pop_many(2 * count_of(instruction))
    made = DictValue()
    for key, value in zip(flat[::2], flat[1::2], strict=True):
        made.set_item(frame.engine, key, value)
    frame.push(made)


@opcode.on("BUILD_CONST_KEY_MAP")
def _(frame: Frame, instruction: Instruction) -> None:
    """{"a": x, ...} with the keys as one constant tuple on top."""
    keys = cast("tuple[object, ...]", frame.pop().as_python())
    made = DictValue()
    for key, value in zip(keys, frame.pop_many(count_of(instruction)), strict=True):
        made.set_item(frame.engine, ConstantValue(key), value)
    frame.push(made)


@opcode.on("BUILD_SLICE")
def _(frame: Frame, instruction: Instruction) -> None:
    """start:stop[:step]."""
    parts = frame.pop_many(count_of(instruction))
    if len(parts) == 2:
        parts.append(ConstantValue(None))
    frame.push(SliceValue((parts[0], parts[1], parts[2])))


@opcode.on("BUILD_STRING")
def _(frame: Frame, instruction: Instruction) -> None:
    """The parts of an f-string, joined."""
    parts = frame.pop_many(count_of(instruction))
    frame.push(ConstantValue("".join(str(part.as_python()) for part in parts)))


@opcode.on("FORMAT_VALUE")
def _(frame: Frame, instruction: Instruction) -> None:
    """One {value!conversion:spec} of an f-string."""
    conversion, has_spec = cast("tuple[int, bool]", instruction.arg)
    spec = frame.pop() if has_spec else ConstantValue("")
    frame.push(format_value(frame, frame.pop(), conversion, spec))


@opcode.on("CONVERT_VALUE")
def _(frame: Frame, instruction: Instruction) -> None:
    """`!s`, `!r` or `!a`."""
    frame.push(format_value(frame, frame.pop(), count_of(instruction), ConstantValue("")))


def format_value(frame: Frame, value: Value, conversion: int, spec: Value) -> Value:
    """Return `format(conversion(value), spec)`; conversion 1 is str, 2 repr, 3 ascii."""
    engine = frame.engine
    if conversion:
        value = engine.call(engine.builtin(("str", "repr", "ascii")[conversion - 1]), [value])
    return engine.call(engine.builtin("format"), [value, spec])


@opcode.on("LIST_APPEND")
def _(frame: Frame, instruction: Instruction) -> None:
    """Append to the list of a comprehension."""
    item = frame.pop()
    target = frame.stack[-count_of(instruction)]
    assert isinstance(target, SequenceValue), target.describe()
    target.extend(frame.engine, [item])


@opcode.on("SET_ADD")
def _(frame: Frame, instruction: Instruction) -> None:
    """Add to the set of a comprehension."""
    item = frame.pop()
    frame.engine.call(frame.stack[-count_of(instruction)].get_attr(frame.engine, "add"), [item])


@opcode.on("MAP_ADD")
def _(frame: Frame, instruction: Instruction) -> None:
    """Add to the dict of a comprehension."""
    key, value = frame.pop_many(2)
    frame.stack[-count_of(instruction)].set_item(frame.engine, key, value)


@opcode.on("LIST_EXTEND")
def _(frame: Frame, instruction: Instruction) -> None:
    """[*a, ...]."""
    given = frame.pop()
    _require_iterable(frame, given, "Value after * must be an iterable, not {}")
    items = take_counted(frame.engine, given)
    target = frame.stack[-count_of(instruction)]
    assert isinstance(target, SequenceValue), target.describe()
    target.extend(frame.engine, items)


@opcode.on("SET_UPDATE")
def _(frame: Frame, instruction: Instruction) -> None:
    """{*a, ...}; a set is asked for its members past the methods of its class."""
    given, target = frame.pop(), frame.stack[-count_of(instruction)]
    if isinstance(container(given), SetValue):
        frame.engine.call(target.get_attr(frame.engine, "update"), [given])
        return
    items = take_all(frame.engine, given)
    add = target.get_attr(frame.engine, "add")
    for item in items:
        frame.engine.call(add, [item])


@opcode.on("DICT_UPDATE", "DICT_MERGE")
def _(frame: Frame, instruction: Instruction) -> None:
    """{**a, ...}; as call arguments (DICT_MERGE) a repeated key is an error."""
    engine = frame.engine
    given = frame.pop()
    target = frame.stack[-count_of(instruction)]
    assert isinstance(target, DictValue), target.describe()
    try:
        pairs = pairs_of(frame, given)
    except Raised as raised:
        if not raised.is_a(AttributeError):
            raise
        if instruction.op == "DICT_MERGE":
            engine.unsupported(breaks.OPERATOR, name="**", kinds=given.describe())
        engine.throw(TypeError, f"{name_in_c(engine, given.python_type())!r} object is not a mapping")
    for key, value in pairs:
        if instruction.op == "DICT_MERGE" and target.find(engine, key) is not None:
            _refuse_keyword(frame, frame.stack[-count_of(instruction) - 2], key)
        target.set_item(engine, key, value)


def _refuse_keyword(frame: Frame, callee: Value, key: Value) -> NoReturn:
    """Raise in the program what CPython says of a keyword that a call has twice."""
    engine = frame.engine
    try:
        module, name = (callee.get_attr(engine, one).as_python() for one in ("__module__", "__qualname__"))
    except Raised:
        engine.unsupported(breaks.OPERATOR, name="**", kinds=callee.describe())
    shown = f"{name}()" if module in (None, "builtins") else f"{module}.{name}()"
    engine.throw(TypeError, f"{shown} got multiple values for keyword argument '{key.as_python()}'")


def pairs_of(frame: Frame, mapping: Value) -> list[tuple[Value, Value]]:
    """Return the items of a mapping: a dict's, or by `keys()` and `[]`."""
    engine = frame.engine
    found = container(mapping)
    if isinstance(found, DictValue) and is_iterated_as_dict(mapping):
        return list(zip(found.keys(engine), found.values(engine), strict=True))
    keys = take_all(engine, engine.call(mapping.get_attr(engine, "keys")))
    return [(key, mapping.get_item(engine, key)) for key in keys]


@opcode.on("LIST_TO_TUPLE")
def _(frame: Frame, instruction: Instruction) -> None:
    """tuple(list)."""
    frame.push(new_tuple(take_all(frame.engine, frame.pop())))


@opcode.on("UNPACK_SEQUENCE")
def _(frame: Frame, instruction: Instruction) -> None:
    """A, b = x."""
    wanted = count_of(instruction)
    given = frame.pop()
    _require_iterable(frame, given, "cannot unpack non-iterable {} object")
    items = list(islice(drain(frame.engine, given.iterate(frame.engine)), wanted + 1))
    if len(items) < wanted:
        frame.engine.throw(ValueError, f"not enough values to unpack (expected {wanted}, got {len(items)})")
    if len(items) > wanted:
        frame.engine.throw(ValueError, f"too many values to unpack (expected {wanted})")
    frame.stack.extend(reversed(items))


def is_iterable(value: Value) -> bool:
    """Tell whether a class has what iteration asks for, or whether its metaclass alone can tell."""
    kind = value.python_type()
    return type(kind) is not type or any(
        lookup(kind, name) is not MISSING for name in ("__iter__", "__getitem__")
    )


def _require_iterable(frame: Frame, value: Value, refusal: str) -> None:
    kind = value.python_type()
    if not is_iterable(value):
        frame.engine.throw(TypeError, refusal.format(name_in_c(frame.engine, kind)))


@opcode.on("UNPACK_EX")
def _(frame: Frame, instruction: Instruction) -> None:
    """A, *b, c = x."""
    before, after = cast("tuple[int, int]", instruction.arg)
    given = frame.pop()
    _require_iterable(frame, given, "cannot unpack non-iterable {} object")
    iterator = given.iterate(frame.engine)
    items = list(islice(drain(frame.engine, iterator), before))
    if len(items) == before:  # the rest is what a list of the iterator holds, which is asked for its own
        items += take_all(frame.engine, iterator)
    if len(items) < before + after:
        msg = f"not enough values to unpack (expected at least {before + after}, got {len(items)})"
        frame.engine.throw(ValueError, msg)
    middle = len(items) - after
    frame.stack.extend(reversed(items[middle:]))
    frame.push(new_list(items[before:middle]))
    frame.stack.extend(reversed(items[:before]))


@opcode.on("GET_LEN")
def _(frame: Frame, instruction: Instruction) -> None:
    """Push len(top), for match statements."""
    frame.push(frame.stack[-1].length(frame.engine))
