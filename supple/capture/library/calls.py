"""How a call of something without Python code is decided: a rule, a polyfill, a fold, a graph node."""

# Classes and overloads are open types here.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false

import collections
import functools
import inspect
import itertools
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

import torch

from supple.capture import breaks
from supple.capture.guards.kinds import Kind
from supple.capture.library.arity import require_fit
from supple.capture.library.autocast import check_casts
from supple.capture.library.folding import is_foldable
from supple.capture.library.operations import is_factory, is_operation, op_for
from supple.capture.library.refusals import reason_for
from supple.capture.library.table import NONE, Args, Call, Kwargs, call, make, polyfill
from supple.capture.machine import Machine
from supple.capture.source import pinned
from supple.capture.values.attributes import IN_C, MISSING, guard_lookup, lookup
from supple.capture.values.base import LazyValue, NotConstant, Value, name_in_c, take_all
from supple.capture.values.begun import Made
from supple.capture.values.constant import LITERALS, ConstantValue, fold, fold_raw, wrap_folded
from supple.capture.values.function import BoundMethodValue
from supple.capture.values.generator import GeneratorValue
from supple.capture.values.instance import InstanceValue, container
from supple.capture.values.mapping import DictValue, SetValue
from supple.capture.values.sequence import SequenceValue, SliceValue, is_plain_record, new_tuple, stored
from supple.capture.values.tensor import TensorValue, emit
from supple.ir.ops import OpKind
from supple.runtime.classes import is_on_heap
from supple.runtime.sets import History
from supple.torch_private import ARE_OVERRIDDEN, disabled_by_torch, is_torch_function_enabled

PAYLOADS: Final = (dict, list, tuple, set, frozenset, str, int, float)
_MADE: Final = frozenset((object, property, *PAYLOADS))
"""Classes in C, besides exceptions, of which capture knows what their `__new__` makes."""


def call_rule(function: object) -> Call | None:
    """Return the rule or polyfill of a callable, None when it has neither."""
    try:
        found = call.find(function)
    except TypeError:
        return None
    if found is not None:
        return found
    if isinstance(function, typing.NewType):
        return lambda machine, args, kwargs: args[0]
    if isinstance(function, types.FunctionType) and function.__code__ is _DISPATCH:
        return lambda machine, args, kwargs: _dispatched(machine, function, args[0])
    replacement = polyfill.get(function)
    if replacement is None:
        return None
    return lambda machine, args, kwargs: _replaced(machine, function, replacement, args, kwargs)


#: Classes of iterators -> which of their arguments they ask for an iterator when they are made.
_ITERATED: Final[dict[object, slice]] = {
    map: slice(1, None),
    filter: slice(1, 2),
    zip: slice(None),
    enumerate: slice(1),
    itertools.accumulate: slice(1),
    itertools.takewhile: slice(1, 2),
    itertools.dropwhile: slice(1, 2),
    itertools.starmap: slice(1, 2),
    itertools.filterfalse: slice(1, 2),
    itertools.compress: slice(2),
    **dict.fromkeys((itertools.cycle, itertools.pairwise, itertools.groupby, itertools.islice), slice(1)),
    itertools.zip_longest: slice(None),
    itertools.chain.from_iterable: slice(1),
}
_ITERATED_NAMES: Final = ("iterable", "data", "selectors")
"""The same, by keyword."""


def _replaced(machine: Machine, function: object, polyfilled: object, args: Args, kwargs: Kwargs) -> Value:
    """Return what a polyfill gives; an iterator is of the class that it stands for."""
    given = list(args)
    for place in range(len(given))[_ITERATED.get(function, slice(0))]:
        given[place] = given[place].iterate(machine)
    if function in _ITERATED:
        kwargs = {n: one.iterate(machine) if n in _ITERATED_NAMES else one for n, one in kwargs.items()}
    found = machine.call(machine.wrap(polyfilled, None), given, kwargs)
    made: object = getattr(function, "__self__", function)  # the class of a class method
    if isinstance(found, GeneratorValue) and isinstance(made, type) and found.over is None:
        found.kind = made
        found.over = Made(given, kwargs, None if isinstance(function, type) else function)
    return found


_DISPATCH: Final = functools.singledispatch(len).dispatch.__code__


def _dispatched(machine: Machine, dispatch: object, kind: Value) -> Value:
    """Return what `dispatch` of a function behind functools.singledispatch gives for a class."""
    assert isinstance(dispatch, types.FunctionType), dispatch
    registry = inspect.getclosurevars(dispatch).nonlocals["registry"]
    machine.guard(pinned(f"registry[{id(registry):x}]", registry), Kind.LENGTH, len(registry))
    return fold(machine, dispatch, kind.as_python())


LEFT_ALONE: Final = (
    "torch._functorch.",
    "torch.func.",
    "torch._higher_order_ops.",
    "torch.library.",
    "torch._library.",
    "torch.fx.",
)
"""Packages of torch that work on its own dispatcher: their calls are left to Python as a whole."""


def is_left_alone(function: types.FunctionType) -> bool:
    """Tell whether a function asks not to be compiled, or is one that capture must not follow."""
    marks = (getattr(function, mark, False) for mark in ("_torchdynamo_disable", "__supple_disabled__"))
    is_marked = any(marks) or function.__code__ is disabled_by_torch
    # The first writes attributes, and writes them back; the others call what is in a traced module.
    is_plain = function is torch.func.functional_call or function.__module__ == "torch.fx.graph_module"
    return is_marked or (not is_plain and f"{function.__module__}.".startswith(LEFT_ALONE))


def why_left_alone(function: types.FunctionType) -> str:
    """Return what a disabled function says about the reason."""
    said = (getattr(function, mark, None) for mark in ("_torchdynamo_disable_msg", "__supple_disabled__"))
    return "".join(f": {text}" for text in said if isinstance(text, str))


def is_leaf_function(function: types.FunctionType) -> bool:
    """Tell whether a Python function of torch becomes one graph node instead of being inlined."""
    return is_operation(function)


def takes_tensors(args: Args, kwargs: Kwargs) -> bool:
    """Tell whether an argument is or holds a tensor."""
    return any(has_tensor(value) for value in (*args, *kwargs.values()))


def call_leaf(machine: Machine, function: object, args: Args, kwargs: Kwargs) -> Value:
    """Return the result of calling something that is not interpreted."""
    rule = call_rule(function)
    if rule is not None:
        return rule(machine, args, kwargs)
    overridden = _by_torch_function(machine, function, args, kwargs)
    if overridden is not None:
        return overridden
    if takes_tensors(args, kwargs) or is_factory(function):
        op = op_for(function, args, kwargs)
        if op is not None and op.kind is OpKind.METHOD and not (args and isinstance(args[0], TensorValue)):
            machine.unsupported(breaks.CALL, name=f"{op.name}, of what is no tensor,")
        if op is not None:
            check_casts(machine, function, args, kwargs)
            return emit(machine, op, args, kwargs)
    else:
        result = folded(machine, function, args, kwargs)
        if result is not None:
            return result
    machine.unsupported(reason_for(function), name=name_of(function))


def _by_torch_function(machine: Machine, function: object, args: Args, kwargs: Kwargs) -> Value | None:
    """Return what `__torch_function__` of an argument's class gives, None when no argument has one."""
    owners = _overriding([*args, *kwargs.values()])
    if not owners or function not in torch.overrides.get_testing_overrides():
        return None
    machine.ask_state("torch_function")
    if not is_torch_function_enabled():
        return None
    if isinstance(function, types.FunctionType):  # it passes what it has no arguments for too
        machine.unsupported(breaks.CALL, name=f"{name_of(function)} with an object that overrides it")
    if any(issubclass(cls, int | float | complex | str) for cls in owners):
        machine.unsupported(breaks.CALL, name=f"{name_of(function)} with a number that overrides it")
    handler = next(iter(owners.values())).get_attr(machine, "__torch_function__")
    types_ = new_tuple([machine.wrap(cls, None) for cls in owners])
    passed = [machine.wrap(function, None), types_, new_tuple(args)]
    if kwargs:  # no empty dict is passed
        passed.append(machine.call(machine.wrap(dict, None), [], kwargs))
    found = machine.call(handler, passed)
    if len(owners) > 1 or found.identity() is NotImplemented:
        machine.unsupported(breaks.CALL, name=f"{name_of(function)} on several classes")
    return found


def _overriding(given: Sequence[Value]) -> dict[type, InstanceValue]:
    """Return the objects, and members of sequences, whose classes have a `__torch_function__`, by class."""
    found = list(given)
    for value in given:
        found += value.items if isinstance(value, SequenceValue) and value.appended is None else ()
    return {
        value.cls: value
        for value in found
        if isinstance(value, InstanceValue) and lookup(value.cls, "__torch_function__") is not MISSING
    }


@call.on(*ARE_OVERRIDDEN)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """No, or a break: the function hands over itself and all of its arguments."""
    if _overriding(args):
        machine.unsupported(breaks.CALL, name="what an object overrides")
    return ConstantValue(False)


def plain_value(value: Value) -> object:
    """Return the Python object of a value made of constants; lists, dicts and sets are copied.

    Raises:
        NotConstant: when a part is not known.
    """
    match value:
        case SequenceValue() if value.is_mutable:
            return value.real([plain_value(item) for item in value.items])
        case DictValue() if value.is_complete:
            pairs = {plain_value(key): plain_value(item) for key, item in value.items.values()}
            return collections.OrderedDict(pairs) if value.kind is collections.OrderedDict else pairs
        case SetValue():
            members = {plain_value(item) for item in value.items.values()}
            return frozenset(members) if issubclass(value.kind, frozenset) else members
        case LazyValue(obj=obj, source=None) if type(obj) in LITERALS:
            return obj
        case _:
            return value.as_python()


def has_tensor(value: Value) -> bool:
    """Tell whether a value is a tensor or a container with one in it; what is not read yet stays unread."""
    pending: list[object] = [value]
    seen: set[int] = set()
    while pending:
        one = pending.pop()
        if isinstance(one, TensorValue | torch.Tensor):
            return True
        if id(one) not in seen:
            seen.add(id(one))
            pending.extend(_parts(one))
    return False


def _parts(whole: object) -> Iterable[object]:
    """Return what lies in a container: values, or the objects of one that capture has not looked at."""
    match whole:
        case SequenceValue():
            return whole.items
        case DictValue():
            unread = () if whole.is_complete or whole.obj is None else (whole.obj,)
            return [*(item for _, item in whole.items.values()), *unread]
        case SliceValue():
            return whole.parts
        case InstanceValue():
            return () if whole.payload is None else (whole.payload,)
        case LazyValue():
            return (whole.obj,)
        case list() | tuple():
            return stored(whole)
        case dict():
            return dict[object, object].values(whole)
        case _:
            return ()


def name_of(function: object) -> str:
    """Return a readable name of a callable."""
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or repr(function)
    module = getattr(function, "__module__", None)
    return f"{module}.{name}" if module and module != "builtins" else str(name)


def construct(machine: Machine, kind: type, args: Args, kwargs: Kwargs) -> Value:
    """Return a new instance: by the class's rule, its metaclass, or `__new__` and `__init__`."""
    rule = make.find(kind) or call_rule(kind)
    require_fit(machine, kind, args, kwargs)
    if rule is not None:
        return rule(machine, args, kwargs)
    meta_call = lookup(type(kind), "__call__")
    if isinstance(meta_call, types.FunctionType):
        return _construct_by_metaclass(machine, kind, meta_call, args, kwargs)
    if isinstance(meta_call, type):
        return machine.construct(meta_call, None, args, kwargs)
    if not _is_python_class(kind):
        return call_leaf(machine, kind, args, kwargs)
    return _by_new_and_init(machine, kind, args, kwargs)


def _by_new_and_init(machine: Machine, kind: type, args: Args, kwargs: Kwargs) -> Value:
    made = _new(machine, kind, args, kwargs)
    init = lookup(kind, "__init__")
    if kind in made.python_type().__mro__:
        source = guard_lookup(machine, kind, "__init__", init)
        if isinstance(init, types.FunctionType):
            machine.initialize(made, machine.wrap(init, source), args, kwargs)
        elif not isinstance(init, IN_C):
            machine.unsupported(breaks.OBJECT, name=kind.__name__, detail="its __init__ is no function")
        elif issubclass(kind, BaseException) and kwargs:
            machine.unsupported(breaks.OBJECT, name=kind.__name__, detail="it takes arguments by name")
        elif init is not object.__init__ and not issubclass(kind, BaseException):
            machine.call_leaf(init, [made, *args], kwargs)
    return made


def _is_python_class(kind: type) -> bool:
    """Tell whether capture knows how a class's objects are made: also some in C are on the heap."""
    if issubclass(kind, BaseException) or kind is object:
        return True
    new = lookup(kind, "__new__")
    is_of_c = isinstance(new, types.BuiltinFunctionType) and new.__self__ is kind
    return is_on_heap(kind) and not is_of_c


def _construct_by_metaclass(
    machine: Machine,
    kind: type,
    meta_call: types.FunctionType,
    args: Sequence[Value],
    kwargs: Mapping[str, Value],
) -> Value:
    try:
        plain = [plain_value(value) for value in args]
        if is_foldable(kind):
            return fold(machine, kind, *plain)
    except NotConstant:
        pass
    source = guard_lookup(machine, type(kind), "__call__", meta_call)
    return machine.call(machine.wrap(meta_call, source), [machine.wrap(kind, None), *args], kwargs)


def _new(machine: Machine, kind: type, args: Args, kwargs: Kwargs) -> Value:
    new = lookup(kind, "__new__")
    if new is functools.partial.__new__:
        made = machine.construct(functools.partial, None, args, kwargs)
        assert isinstance(made, InstanceValue), made.describe()
        made.cls = kind
        return made
    if isinstance(new, staticmethod | types.FunctionType):
        function: object = new.__func__ if isinstance(new, staticmethod) else new
        source = guard_lookup(machine, kind, "__new__", new)
        return machine.call(machine.wrap(function, source), [machine.wrap(kind, None), *args], kwargs)
    if not isinstance(new, types.BuiltinFunctionType):
        machine.unsupported(breaks.OBJECT, name=kind.__name__, detail="its __new__ is no function")
    owner = cast("type", new.__self__)
    if not issubclass(owner, BaseException) and owner not in _MADE:
        machine.unsupported(reason_for(kind), name=name_of(kind))
    return bare_instance(machine, kind, args)


def _refuse_abstract(machine: Machine, kind: type) -> None:
    """Raise eager's error for a class with abstract methods, which another may become later."""
    if lookup(kind, "__abstractmethods__") is not MISSING and inspect.isabstract(kind):
        name_in_c(machine, kind)  # which the text says
        fold_raw(machine, object.__new__, kind)


_READ: Final = (BaseExceptionGroup, UnicodeDecodeError, UnicodeEncodeError, UnicodeTranslateError)
"""Exceptions whose constructors look at their arguments."""


def bare_instance(machine: Machine, kind: type, args: Sequence[Value]) -> Value:
    """Return what the builtin `__new__` of a class's solid base makes."""
    _refuse_finalizer(machine, kind)
    _refuse_abstract(machine, kind)
    if is_plain_record(kind):
        return SequenceValue(kind, take_all(machine, args[0]))
    made = InstanceValue(kind)
    if issubclass(kind, _READ) or (issubclass(kind, OSError | SyntaxError) and len(args) > 1):
        machine.unsupported(breaks.OBJECT, name=kind.__name__, detail="it is made of its arguments")
    if issubclass(kind, BaseException):
        made.payload = new_tuple(args)
        return made
    base = next((base for base in PAYLOADS if issubclass(kind, base)), None)
    if base is None:
        if args and lookup(kind, "__init__") is object.__init__ and lookup(kind, "__new__") is object.__new__:
            machine.throw(TypeError, f"{name_in_c(machine, kind)}() takes no arguments")
        return made
    if base is dict:
        made.payload = DictValue(kind)
    elif base in (set, frozenset):
        contents = machine.call(machine.wrap(frozenset, None), args if base is frozenset else ())
        assert isinstance(contents, SetValue), contents.describe()
        contents.kind = kind
        if base is set:
            contents.history = History(None, set)
        made.payload = contents
    elif base is list:
        made.payload = SequenceValue(kind, [])
    elif base is tuple:
        source = machine.call(machine.wrap(list, None), args)
        found = container(source)
        assert isinstance(found, SequenceValue), source.describe()
        made.payload = SequenceValue(kind, list(found.items))
    else:
        made.payload = ConstantValue(base(*(plain_value(arg) for arg in args)))  # pyright: ignore[reportArgumentType, reportCallIssue]  # str, int, float
    return made


def _refuse_finalizer(machine: Machine, kind: type) -> None:
    if lookup(kind, "__del__") is not MISSING:
        machine.unsupported(breaks.OBJECT, name=kind.__name__, detail="its class has a finalizer")


@call.on(type.__call__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """type.__call__(cls, ...): `__new__` and `__init__`, past the metaclass."""
    kind = args[0].as_python()
    assert isinstance(kind, type), args[0].describe()
    return _by_new_and_init(machine, kind, args[1:], kwargs)


@call.on(types.MethodType.__call__, types.BuiltinMethodType.__call__, types.MethodWrapperType.__call__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """`method.__call__`, of the method that is given first."""
    if not args or not isinstance(args[0], BoundMethodValue):
        machine.unsupported(breaks.CALL, name="method.__call__")
    return machine.call(args[0], args[1:], kwargs)


@call.on(object.__new__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """object.__new__(cls, ...): more arguments are for an `__init__` of a class without a `__new__`."""
    kind = args[0].as_python() if args else None
    if not isinstance(kind, type) or _builtin_new(kind) is not object.__new__:
        fold_raw(machine, object.__new__, *([] if kind is None else [kind]))  # which raises
    assert isinstance(kind, type), "else it raised"
    if (args[1:] or kwargs) and lookup(kind, "__new__") is not object.__new__:
        machine.throw(TypeError, "object.__new__() takes exactly one argument (the type to instantiate)")
    return bare_instance(machine, kind, args[1:] or [*kwargs.values()])


def _builtin_new(kind: type) -> object:
    """Return the `__new__` of the base that says how instances lie in memory."""
    found = (vars(base).get("__new__") for base in kind.__mro__)
    return next(new for new in found if isinstance(new, types.BuiltinFunctionType))


@call.on(object.__init__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """object.__init__(self, ...): more arguments are for a `__new__` of a class without an `__init__`."""
    if not args:
        fold_raw(machine, object.__init__)  # which raises
    kind = args[0].python_type()
    has_own = lookup(kind, "__init__") is not object.__init__
    if (args[1:] or kwargs) and (has_own or lookup(kind, "__new__") is object.__new__):
        owner = "object" if has_own else name_in_c(machine, kind)
        what = f"{owner}.__init__() takes exactly one argument (the instance to initialize)"
        machine.throw(TypeError, what)
    return NONE


@call.on(dict.__new__, list.__new__, tuple.__new__, set.__new__, BaseException.__new__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """cls.__new__(cls, ...) of a builtin base."""
    kind = args[0].as_python()
    assert isinstance(kind, type), args[0].describe()
    return bare_instance(machine, kind, args[1:])


def folded(machine: Machine, function: object, args: Args, kwargs: Kwargs) -> Value | None:
    """Return the folded result of a pure function on constants, None when an argument is not constant."""
    if not is_foldable(function):
        return None
    whole = args[0] if args else None
    if isinstance(whole, InstanceValue) and isinstance(whole.payload, ConstantValue):
        # What a builtin class does to itself, it does to a subclass.
        own = getattr(function, "__objclass__", None) is type(whole.payload.value)
        args = [whole.payload, *args[1:]] if own else args
    try:
        plain = [plain_value(value) for value in args]
        named = {name: plain_value(value) for name, value in kwargs.items()}
    except NotConstant:
        return None
    found = fold_raw(machine, function, *plain, **named)
    if whole is not None and found is plain[0] and any(function is one for one in _FILLING) and found:
        return whole
    return wrap_folded(machine, found)


_FILLING: Final = (str.format, str.format_map, str.__mod__)
"""What gives a text itself, be it of a subclass, where nothing is to be filled in."""
