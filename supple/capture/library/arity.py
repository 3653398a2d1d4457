"""Whether a function written in C takes so many arguments, and these names: the function itself is asked.

Rules read the arguments that they know. What C's own parser of arguments would refuse, it refuses here,
before a rule runs: it gets empty tuples, and says whether their number or their names are wrong. What makes
an iterator gets the constants of the call too, and says whether they are what it takes.
"""

# The methods of generic builtin classes have open element types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import collections
import inspect
import itertools
import re
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Final, cast

import torch

from supple.base.memo import memo
from supple.capture import breaks
from supple.capture.library.table import Args, Kwargs, call
from supple.capture.machine import Machine
from supple.capture.values.attributes import MISSING, lookup
from supple.capture.values.base import NotConstant, Value, name_in_c
from supple.capture.values.constant import ConstantValue
from supple.capture.values.instance import InstanceValue
from supple.capture.values.symbolic import SymbolicValue

_TENSOR: Final = torch.Tensor.__mro__[1]
"""The class in C, which has the methods of tensors."""
_RECEIVERS: Final[Mapping[type, Callable[[], object]]] = {
    **{kind: kind for kind in (list, dict, set, frozenset, tuple, str, bytes, int, float, complex, bool)},
    **{kind: kind for kind in (collections.deque, collections.OrderedDict, collections.defaultdict)},
    types.GeneratorType: lambda: (item for item in ()),
    types.MappingProxyType: lambda: types.MappingProxyType(dict[object, object]()),
    _TENSOR: lambda: torch.zeros(()),
}
"""Classes whose methods are asked, and what makes an object that they may do anything to."""

_MODULES: Final = frozenset(
    "builtins math _operator operator itertools functools _functools collections _collections".split()
)
_LOUD: Final = frozenset(
    "print input open exec eval compile breakpoint setattr delattr globals locals vars dir "
    "__import__ __build_class__".split()
)
"""Functions that do something, or say something of who calls them."""

_EXACT: Final[Mapping[object, int]] = {setattr: 3, delattr: 2}
"""Of some of them, the number of arguments with which alone they do it."""

_ABOUT_ARGUMENTS: Final = re.compile(
    r"takes (no|at|exactly|from|\d)|expected (at (least|most) )?\d+ argument|must have at least|"
    r"needs an argument|(invalid|unexpected) keyword argument|missing (\d+ )?required|positional argument|"
    r"Cannot specify a default|given by name"
)


def require_fit(machine: Machine, function: object, args: Args, kwargs: Kwargs) -> None:
    """Raise in the program what a function says of arguments that it does not take so many of, or by name."""
    if isinstance(function, _KINDS):
        receiver = args[0].python_type() if args else object
        if args:
            _require_receiver(machine, function, receiver)
        said = misfit(function, receiver, len(args), tuple(kwargs))
        if said is not None:
            machine.throw(TypeError, said)
        if _is_checking(function):
            require_taken(machine, function, args, kwargs)
    elif isinstance(function, types.FunctionType) and function in call:
        if not _binds(function, len(args), tuple(kwargs)):
            machine.unsupported(breaks.CALL, name=f"{function.__name__} with these arguments")


def _require_receiver(machine: Machine, function: object, receiver: type) -> None:
    """Raise in the program what a method of a builtin class says of an object of another class."""
    owner = _owner_of(function)
    if owner not in _RECEIVERS or issubclass(receiver, owner):
        return
    name = str(getattr(function, "__name__", ""))
    wanted, given = name_in_c(machine, owner), name_in_c(machine, receiver)
    if isinstance(function, types.WrapperDescriptorType):
        machine.throw(TypeError, f"descriptor {name!r} requires a {wanted!r} object but received a {given!r}")
    machine.throw(
        TypeError, f"descriptor {name!r} for {wanted!r} objects doesn't apply to a {given!r} object"
    )


_CHECKING: Final[frozenset[object]] = frozenset(
    (
        *(one for one in vars(itertools).values() if callable(one)),
        *(itertools.chain.from_iterable, enumerate, list.index, tuple.index, collections.deque.index),
    )
)
"""What looks at its numbers before it iterates or compares."""
_OF_NUMBERS: Final[frozenset[object]] = frozenset((itertools.count, int))
"""What of this takes a number first, where others take what they go over or give."""
_SIGNED: Final[frozenset[object]] = frozenset((itertools.islice, itertools.tee))
"""What of this refuses negative numbers, and may be given symbolic ones."""
_LATE: Final[Mapping[object, type]] = {
    itertools.combinations: ValueError,
    itertools.combinations_with_replacement: ValueError,
    itertools.permutations: Exception,
}
"""What some of them raise only when they have taken all items."""
_NUMBERS: Final = ("__index__", "__int__", "__float__", "__complex__")


def _is_checking(function: object) -> bool:
    try:
        return function in _CHECKING
    except TypeError:  # it has no hash
        return False


def require_taken(machine: Machine, function: object, args: Args, kwargs: Kwargs) -> None:
    """Raise in the program what a function says of constants; empty iterators stand for what is none.

    An object that may be a number is not asked for it here. Of symbolic numbers the sign is, where it counts.
    """
    owner = getattr(function, "__objclass__", None)
    if function in _SIGNED:
        args = [*args[:1], *(_sign(machine, one) for one in args[1:])]
    try:
        plain = [
            _stand_in(machine, value, may_count=place > 0 or function in _OF_NUMBERS)
            for place, value in enumerate(args)
        ]
        named = {name: _stand_in(machine, value) for name, value in kwargs.items()}
    except NotConstant:
        return
    plain[:1] = plain[:1] if owner is None else [_RECEIVERS[owner]()]
    try:
        cast("Callable[..., object]", function)(*plain, **named)
    except Exception as error:  # whatever it says of these arguments
        is_late = _LATE.get(function) in type(error).__mro__
        if not is_late and (owner is None or type(error) is TypeError):
            machine.throw(type(error), *error.args)


def _sign(machine: Machine, value: Value) -> Value:
    """Return -2, -1, 0 or 1 in place of a symbolic integer, guarded; other values as they are.

    `islice` says of a -1 what it says of what is no number.
    """
    number = value.number if isinstance(value, SymbolicValue) else None
    if not isinstance(number, torch.SymInt):
        return value
    return ConstantValue(int(number > 0) - int(number < 0) - int(number < -1))


def _stand_in(machine: Machine, value: Value, *, may_count: bool = True) -> object:
    """Return a constant, or what stands for a number or for what can be iterated.

    Args:
        may_count: a number may stand at this place.

    Raises:
        NotConstant: of an object that may be a number, where one may stand.
    """
    if isinstance(value, ConstantValue) and not isinstance(value.value, range):
        return value.value
    kind = value.python_type()
    if isinstance(value, SymbolicValue):
        return kind(1)
    if isinstance(value, InstanceValue) and isinstance(value.payload, ConstantValue):
        return value.as_python()
    if may_count and any(lookup(kind, name) is not MISSING for name in _NUMBERS):
        raise NotConstant
    is_iterable = any(lookup(kind, name) is not MISSING for name in ("__iter__", "__getitem__"))
    return _nothing(name_in_c(machine, kind), is_iterable)()


@memo(256)
def _nothing(name: str, is_iterable: bool) -> type:
    """Return a class of this name whose objects are no numbers, and are empty where they can be iterated."""
    return type(name, (), {"__iter__": _no_items} if is_iterable else {})


def _no_items(owner: object) -> Iterator[object]:
    return iter(())


def require_callable(machine: Machine, value: Value, said: str) -> None:
    """Raise in the program, with this text, where a value is no callable."""
    if not machine.call(machine.wrap(callable, None), [value]).truth(machine):
        machine.throw(TypeError, said)


@memo(1024)
def _binds(function: types.FunctionType, count: int, names: tuple[str, ...]) -> bool:
    """Tell whether a function in Python, for which a rule stands, takes so many arguments and these names."""
    try:
        inspect.signature(function).bind(*([None] * count), **dict.fromkeys(names))
    except TypeError:
        return False
    return True


_KINDS: Final = (
    type,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
)


def _owner_of(function: object) -> type | None:
    """Return the class of which a function in C is a method."""
    return None if isinstance(function, type) else getattr(function, "__objclass__", None)


def misfit(function: Callable[..., object], receiver: type, count: int, names: tuple[str, ...]) -> str | None:
    """Return what a function says of so many arguments, and others by name; None if it takes them.

    Args:
        receiver: the class of the first argument, for what it says of a method names that class.
    """
    owner = _owner_of(function)
    if not _is_asked(function, count) if owner is None else owner not in _RECEIVERS:
        return None
    return _said(function, receiver if receiver in _RECEIVERS else owner, count, names)


@memo(1024)
def _said(
    function: Callable[..., object], receiver: type | None, count: int, names: tuple[str, ...]
) -> str | None:
    """Return what a function in C says of arguments that are nothing; of no class of the program.

    A method of tensors may take numbers one by one (`sum_to_size(2, 3)`): it is asked with those too.
    """
    kinds = ((), 1) if receiver is _TENSOR else ((),)
    answers = [_answer(function, receiver, [nothing] * count, names) for nothing in kinds]
    return answers[0] if all(answers) else None


def _answer(
    function: Callable[..., object], receiver: type | None, given: list[object], names: tuple[str, ...]
) -> str | None:
    if hasattr(function, "__objclass__") and receiver is not None:
        given[:1] = [_RECEIVERS[receiver]() for _ in given[:1]]
    try:
        function(*given, **dict.fromkeys(names))
    except Exception as error:  # most functions take no object that is nothing else
        said = str(error)
        return said if isinstance(error, TypeError) and _ABOUT_ARGUMENTS.search(said) else None
    return None


def _is_asked(function: Callable[..., object], count: int) -> bool:
    """Tell whether a function may be called to see what it says."""
    owner = None if isinstance(function, type) else getattr(function, "__self__", None)
    if isinstance(owner, type):
        return owner in _RECEIVERS
    if function in _EXACT:
        return count != _EXACT[function]
    is_exception = isinstance(function, type) and issubclass(function, BaseException)
    return function.__module__ in _MODULES and function.__name__ not in _LOUD and not is_exception
