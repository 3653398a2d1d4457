"""Builtin functions and classes."""

import builtins
import contextlib
from collections.abc import Mapping, Sequence

import torch

from supple.capture import breaks
from supple.capture.library import operators, polyfills
from supple.capture.library.table import call, make, polyfill
from supple.capture.machine import Machine
from supple.capture.values.attributes import MISSING, lookup, type_attr
from supple.capture.values.base import NotConstant, Raised, Value, take_all
from supple.capture.values.constant import ConstantValue, fold
from supple.capture.values.function import CellValue, LeafValue
from supple.capture.values.generator import GeneratorValue
from supple.capture.values.instance import InstanceDict, InstanceValue, container
from supple.capture.values.klass import SuperValue
from supple.capture.values.mapping import DictValue, SetValue
from supple.capture.values.sequence import SequenceValue, SliceValue, new_list, new_tuple
from supple.capture.values.tensor import TensorValue, emit
from supple.ir.ops import method_op

Args = Sequence[Value]
Kwargs = Mapping[str, Value]

polyfill.update(
    {
        any: polyfills.any_,
        all: polyfills.all_,
        map: polyfills.map_,
        filter: polyfills.filter_,
        zip: polyfills.zip_,
        enumerate: polyfills.enumerate_,
        sorted: polyfills.sorted_,
    }
)


@call.on(len)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """len(x)."""
    return args[0].length(machine)


@call.on(isinstance)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """isinstance(x, classes): by the class, `__instancecheck__` written in Python inlined."""
    value, wanted = args
    return ConstantValue(any(_is_instance(machine, value, cls) for cls in _classes(machine, wanted)))


def _is_instance(machine: Machine, value: Value, cls: object) -> bool:
    kind = value.python_type()
    if not isinstance(cls, type):
        return bool(issubclass(kind, cls))  # pyright: ignore[reportArgumentType]  # a union
    if isinstance(value, TensorValue) and value.obj is None:
        return isinstance(torch.empty(0), cls) if _has_custom_check(cls) else issubclass(kind, cls)
    if isinstance(value, TensorValue):
        return isinstance(value.obj, cls)
    if isinstance(value, InstanceValue) and value.obj is not None and _has_custom_check(cls):
        return isinstance(value.obj, cls)
    return issubclass(kind, cls)


def _has_custom_check(cls: type) -> bool:
    return lookup(type(cls), "__instancecheck__") is not type.__dict__["__instancecheck__"]


def _classes(machine: Machine, wanted: Value) -> list[object]:
    if isinstance(wanted, SequenceValue):
        return [cls for item in wanted.all(machine) for cls in _classes(machine, item)]
    return [wanted.as_python()]


@call.on(issubclass)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """issubclass(cls, classes)."""
    kind = args[0].as_python()
    if not isinstance(kind, type):
        machine.throw(TypeError, "issubclass() arg 1 must be a class")
    wanted = tuple(_classes(machine, args[1]))
    return ConstantValue(any(issubclass(kind, cls) for cls in wanted))  # pyright: ignore[reportArgumentType]  # classes


@make.on(type)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """type(x)."""
    if len(args) != 1:
        machine.unsupported(breaks.CALL, name="type() with three arguments")
    value = args[0]
    if isinstance(value, InstanceValue):
        return machine.wrap(value.cls, None)
    return machine.wrap(value.python_type(), None)


@call.on(callable)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """callable(x)."""
    return ConstantValue(lookup(args[0].python_type(), "__call__") is not MISSING)


@call.on(id)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """id(x): a number that differs from run to run."""
    machine.unsupported(breaks.CALL, name="id()")


@call.on(getattr)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """getattr(x, name[, default])."""
    name = str(args[1].as_python())
    if len(args) == 2:
        return args[0].get_attr(machine, name)
    try:
        return args[0].get_attr(machine, name)
    except Raised as raised:
        operators.reraise_unless(raised, AttributeError)
        return args[2]


@call.on(hasattr)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """hasattr(x, name)."""
    try:
        args[0].get_attr(machine, str(args[1].as_python()))
    except Raised as raised:
        operators.reraise_unless(raised, AttributeError)
        return ConstantValue(False)
    return ConstantValue(True)


@call.on(setattr)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """setattr(x, name, value)."""
    args[0].set_attr(machine, str(args[1].as_python()), args[2])
    return ConstantValue(None)


@call.on(delattr)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """delattr(x, name)."""
    args[0].delete_attr(machine, str(args[1].as_python()))
    return ConstantValue(None)


@call.on(object.__getattribute__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """object.__getattribute__(x, name)."""
    name = str(args[1].as_python())
    return args[0].generic_get(machine, name) if isinstance(args[0], InstanceValue) else args[0].get_attr(machine, name)


@call.on(object.__setattr__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """object.__setattr__(x, name, value)."""
    name = str(args[1].as_python())
    if isinstance(args[0], InstanceValue):
        args[0].generic_set(machine, name, args[2])
    else:
        args[0].set_attr(machine, name, args[2])
    return ConstantValue(None)


@call.on(object.__delattr__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """object.__delattr__(x, name)."""
    owner = args[0]
    name = str(args[1].as_python())
    if isinstance(owner, InstanceValue):
        owner.generic_delete(machine, name)
    else:
        owner.delete_attr(machine, name)
    return ConstantValue(None)


@call.on(object.__init__, BaseException.__init__, Exception.__init__, object.__init_subclass__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """object.__init__(x), and of exceptions: new arguments."""
    if args and isinstance(args[0], InstanceValue) and issubclass(args[0].cls, BaseException):
        args[0].payload = new_tuple(args[1:])
    return ConstantValue(None)


@call.on(iter)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """iter(x)."""
    if len(args) == 2:
        machine.unsupported(breaks.CALL, name="iter() with a sentinel")
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


@call.on(sum)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """sum(items, start=0)."""
    start = args[1] if len(args) > 1 else kwargs.get("start", ConstantValue(0))
    return machine.call_python(polyfills.sum_, args[0], start)


def _extreme(polyfilled: object) -> object:
    def rule(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        items = args[0] if len(args) == 1 else new_tuple(args)
        return machine.call(machine.wrap(polyfilled, None), [items], kwargs)

    return rule


call.on(min)(_extreme(polyfills.min_of))  # pyright: ignore[reportArgumentType]  # a rule
call.on(max)(_extreme(polyfills.max_of))  # pyright: ignore[reportArgumentType]  # a rule


@make.on(reversed)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """reversed(x)."""
    value = args[0]
    found = container(value)
    if isinstance(found, SequenceValue):
        return machine.call_python(polyfills.reversed_, found)
    if isinstance(value, InstanceValue) and lookup(value.cls, "__reversed__") is not MISSING:
        return machine.call(type_attr(machine, value, value.cls, "__reversed__"))
    return machine.call_python(polyfills.reversed_, new_list(take_all(machine, value)))


@make.on(super)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """super() and super(cls, self)."""
    if args:
        cls, owner = args[0].as_python(), args[1]
    else:
        frame = machine.frames[-1]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]  # the engine has frames
        cell: CellValue = frame.cells["__class__"]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # see above
        found = cell.get(machine)
        assert found is not None, "the class exists when its method runs"
        cls = found.as_python()
        first: str = frame.function.code.co_varnames[0]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # see above
        owner = frame.locals.get(first) or frame.cells[first].get(machine)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # see above
    assert isinstance(cls, type), cls
    assert isinstance(owner, Value), owner
    return SuperValue(cls, owner)


@make.on(list)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """list(items)."""
    return new_list(take_all(machine, args[0]) if args else [])


@make.on(tuple)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """tuple(items)."""
    return new_tuple(take_all(machine, args[0]) if args else [])


@make.on(dict)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """dict(mapping or pairs, **more)."""
    made = DictValue()
    fill_dict(machine, made, args, kwargs)
    return made


def fill_dict(machine: Machine, made: DictValue | InstanceDict, args: Args, kwargs: Kwargs) -> None:
    """What `dict.update` and `dict.__init__` do."""
    if args:
        for key, value in _pairs(machine, args[0]):
            made.set_item(machine, key, value)
    for name, value in kwargs.items():
        made.set_item(machine, ConstantValue(name), value)


def _pairs(machine: Machine, given: Value) -> list[tuple[Value, Value]]:
    found = container(given)
    if isinstance(found, InstanceDict):
        found = found.as_dict(machine)
    if isinstance(found, DictValue):
        return list(zip(found.keys(machine), found.values(machine), strict=True))
    with contextlib.suppress(Raised):
        keys = take_all(machine, machine.call(given.get_attr(machine, "keys")))
        return [(key, given.get_item(machine, key)) for key in keys]
    pairs: list[tuple[Value, Value]] = []
    for pair in take_all(machine, given):
        key, value = take_all(machine, pair)
        pairs.append((key, value))
    return pairs


@make.on(set)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """set(items)."""
    return _new_set(machine, set, args)


@make.on(frozenset)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """frozenset(items)."""
    return _new_set(machine, frozenset, args)


def _new_set(machine: Machine, kind: type, args: Args) -> Value:
    made = SetValue(kind)
    for item in take_all(machine, args[0]) if args else []:
        made.items.setdefault(item.key(machine), item)
    return made


@make.on(slice)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """slice(stop) and slice(start, stop[, step])."""
    none = ConstantValue(None)
    parts = (none, args[0], none) if len(args) == 1 else (*args, none, none)[:3]
    return SliceValue((parts[0], parts[1], parts[2]))


@make.on(bool)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """bool(x)."""
    return ConstantValue(args[0].truth(machine) if args else False)


@make.on(int)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """int(x)."""
    return _number(machine, int, args, kwargs)


@make.on(float)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """float(x)."""
    return _number(machine, float, args, kwargs)


def _number(machine: Machine, kind: type, args: Args, kwargs: Kwargs) -> Value:
    if args and isinstance(args[0], TensorValue):
        return emit(machine, method_op(f"__{kind.__name__}__"), args, {})
    if args and isinstance(args[0], InstanceValue) and args[0].payload is None:
        return machine.call(type_attr(machine, args[0], args[0].cls, f"__{kind.__name__}__"))
    plain = [_plain(machine, value) for value in args]
    return fold(machine, kind, *plain, **{name: _plain(machine, value) for name, value in kwargs.items()})


def _plain(machine: Machine, value: Value) -> object:
    try:
        return value.as_python()
    except NotConstant:
        machine.unsupported(breaks.OPERATOR, name="a number from", kinds=value.describe())


@make.on(str)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """str(x)."""
    return text_of(machine, "__str__", args[0]) if args else ConstantValue("")


@call.on(repr)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """repr(x)."""
    return text_of(machine, "__repr__", args[0])


def text_of(machine: Machine, method: str, value: Value) -> Value:
    """Return str() or repr() of a value: constants fold, containers item by item, classes' methods inline."""
    if isinstance(value, TensorValue):
        machine.unsupported(breaks.PRINT_TENSOR, name="str() or repr()")
    if isinstance(value, InstanceValue) and value.payload is None:
        return machine.call(type_attr(machine, value, value.cls, method))
    found = container(value)
    if isinstance(found, SequenceValue | DictValue) and found.python_type() in (list, tuple, dict):
        return ConstantValue(_container_text(machine, found))
    try:
        plain = value.as_python()
    except NotConstant:
        machine.unsupported(breaks.OPERATOR, name=method, kinds=value.describe())
    return fold(machine, str if method == "__str__" else repr, plain)


def _container_text(machine: Machine, value: SequenceValue | DictValue) -> str:
    def one(item: Value) -> str:
        return str(text_of(machine, "__repr__", item).as_python())

    if isinstance(value, DictValue):
        pairs = zip(value.keys(machine), value.values(machine), strict=True)
        return "{" + ", ".join(f"{one(key)}: {one(item)}" for key, item in pairs) + "}"
    inside = ", ".join(one(item) for item in value.all(machine))
    if value.kind is list:
        return f"[{inside}]"
    return f"({inside},)" if len(value.items) == 1 else f"({inside})"


@call.on(print)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """print(...): of constants it is replayed after the graph; of a tensor it is left to Python."""
    for value in args:
        if isinstance(value, TensorValue):
            machine.unsupported(breaks.PRINT_TENSOR, name="print")
    texts = [text_of(machine, "__str__", value) for value in args]
    machine.heap.defer(CallEffect(LeafValue(builtins.print), tuple(texts), dict(kwargs)))
    return ConstantValue(None)


class CallEffect:
    """A call to be made after the graph."""

    def __init__(self, callee: Value, args: tuple[Value, ...], kwargs: dict[str, Value]) -> None:
        self.callee = callee
        self.args = args
        self.kwargs = kwargs


@call.on(globals, locals, vars, eval, exec, compile, input, open, breakpoint, __import__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Builtins that need the real frame or the outside world."""
    machine.unsupported(breaks.CALL, name="a builtin that reads the frame or the outside world")


@call.on(hash)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """hash(x) of a constant number; others differ from process to process."""
    value = args[0].as_python()
    if not isinstance(value, int | float | None):
        machine.unsupported(breaks.CALL, name="hash()")
    return ConstantValue(hash(value))
