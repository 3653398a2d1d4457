"""Comparisons by operand kinds: constants fold, tensors become nodes, structures compare item by item."""

# Some functions of the operator module are untyped.
# pyright: reportUnknownMemberType=false

import collections
import operator
import types
from collections.abc import Callable
from typing import Final, NoReturn, cast

from supple.capture import breaks
from supple.capture.guards.reads import note_bases
from supple.capture.library import polyfills, sets
from supple.capture.library.operators import base_of, is_python_method, plain_of, tensor_operator
from supple.capture.machine import Machine
from supple.capture.values.array import operate
from supple.capture.values.attributes import is_odd, lookup, special
from supple.capture.values.base import NotConstant, Value, name_in_c
from supple.capture.values.constant import ConstantValue, fold
from supple.capture.values.enums import EnumValue
from supple.capture.values.function import BoundMethodValue, WeakReferenceValue
from supple.capture.values.instance import InstanceDict, InstanceValue, container
from supple.capture.values.klass import ClassValue
from supple.capture.values.mapping import DictValue
from supple.capture.values.sequence import SequenceValue
from supple.capture.values.symbolic import applied
from supple.capture.values.tensor import TensorValue

COMPARISONS: Final[dict[str, tuple[Callable[..., object], str, str]]] = {
    "==": (operator.eq, "__eq__", "__eq__"),
    "!=": (operator.ne, "__ne__", "__ne__"),
    "<": (operator.lt, "__lt__", "__gt__"),
    "<=": (operator.le, "__le__", "__ge__"),
    ">": (operator.gt, "__gt__", "__lt__"),
    ">=": (operator.ge, "__ge__", "__le__"),
}

_SYMBOLS: Final = {method: symbol for symbol, (_, method, _) in COMPARISONS.items()}


def compare(machine: Machine, symbol: str, left: Value, right: Value) -> Value:
    """Return `left symbol right` for == != < <= > >=."""
    function, method, reflected = COMPARISONS[symbol]
    if all(isinstance(one, ConstantValue) and not _is_compared_by_class(one) for one in (left, right)):
        left, right = cast("ConstantValue", left), cast("ConstantValue", right)
        return fold(machine, function, left.value, right.value)
    of_arrays = operate(machine, symbol, left, right)
    if of_arrays is not None:
        return of_arrays
    if isinstance(left, TensorValue) or isinstance(right, TensorValue):
        other = right if isinstance(left, TensorValue) else left
        is_never_equal = isinstance(other, ConstantValue) and isinstance(other.value, str | None)
        if is_never_equal and symbol in ("==", "!="):
            return ConstantValue(symbol == "!=")
        return tensor_operator(machine, function, [left, right])
    symbolic = applied(machine, function, [left, right])
    if symbolic is not None:
        return symbolic
    if (
        isinstance(left, WeakReferenceValue)
        and isinstance(right, WeakReferenceValue)
        and symbol in ("==", "!=")
    ):
        return _compare_references(machine, symbol, left, right)
    attempts = [(left, method, right), (right, reflected, left)]
    for owner, name, other in attempts[:: -1 if _is_asked_first(right, left) else 1]:
        answer = _answer(machine, owner, name, other)
        if answer is None and not is_python_method(owner.python_type(), name):
            answer = _compare_contents(machine, name, owner, other)
        if answer is not None:
            return answer
    if symbol == "!=" and not (isinstance(left, ConstantValue) and isinstance(right, ConstantValue)):
        return ConstantValue(not _compare_structures(machine, "==", operator.eq, left, right).truth(machine))
    return _compare_structures(machine, symbol, function, left, right)


def _is_asked_first(right: Value, left: Value) -> bool:
    """Tell whether CPython asks the right operand first: one of a subclass, whatever methods that has."""
    mine, theirs = left.python_type(), right.python_type()
    note_bases(theirs)
    return mine in theirs.__mro__[1:]


def _compare_references(
    machine: Machine, symbol: str, left: WeakReferenceValue, right: WeakReferenceValue
) -> Value:
    """Compare what two weak references refer to; those of dead objects are equal to themselves only."""
    found = [one.call(machine, (), {}) for one in (left, right)]
    if any(one.identity() is None for one in found):
        return ConstantValue(machine.is_same(left, right) is (symbol == "=="))
    return compare(machine, symbol, *found)


def _is_compared_by_class(value: Value) -> bool:
    """Tell whether the class of a member of an enumeration has a method of its own for a comparison."""
    if not isinstance(value, EnumValue):
        return False
    methods = [lookup(value.python_type(), name) for _, name, _ in COMPARISONS.values()]
    return any(is_odd(one) or isinstance(one, types.FunctionType) for one in methods)


def _answer(machine: Machine, owner: Value, name: str, other: Value) -> Value | None:
    """Return what a method in Python says to a comparison, None where there is none or it does not know."""
    if not isinstance(owner, InstanceValue | EnumValue | ClassValue):
        return None
    kind = owner.python_type()
    inverts = name == "__ne__" and lookup(kind, name) is object.__ne__  # which asks __eq__
    method = special(machine, owner, "__eq__" if inverts else name)
    if method is None:
        return None
    found = machine.call(method, [other])
    has_base = isinstance(owner, InstanceValue) and isinstance(owner.payload, ConstantValue)
    if found.identity() is NotImplemented and has_base:
        machine.unsupported(breaks.OPERATOR, name=name, kinds=owner.describe())  # its base is not asked then
    if found.identity() is NotImplemented:
        return None
    return ConstantValue(not found.truth(machine)) if inverts else found


def _compare_structures(
    machine: Machine, symbol: str, function: Callable[..., object], left: Value, right: Value
) -> Value:
    kinds = (left.python_type(), right.python_type())
    left, right = plain_of(left), plain_of(right)
    if isinstance(left, ConstantValue) and isinstance(right, ConstantValue):
        return _folded_comparison(machine, symbol, (left.value, right.value), kinds)
    if isinstance(left, BoundMethodValue) and isinstance(right, BoundMethodValue) and symbol == "==":
        return ConstantValue(left.key(machine) == right.key(machine))
    contents = _compare_contents(machine, COMPARISONS[symbol][1], left, right)
    if contents is not None:
        return contents
    if sets.is_set_like(left) and sets.is_set_like(right):
        return ConstantValue(sets.compare_sets(machine, function, left, right))
    try:
        return _folded_comparison(machine, symbol, (left.as_python(), right.as_python()), kinds)
    except NotConstant:
        pass
    # An address is known as that of an object only: which number it is, differs from run to run.
    are_numbers = left.python_type() is right.python_type() is int
    is_address = are_numbers and type(left) is not type(right)
    if symbol == "==" and not is_address and _compares_by_identity(left) and _compares_by_identity(right):
        return ConstantValue(machine.is_same(left, right))
    if symbol == "==":
        machine.unsupported(breaks.OPERATOR, name="==", kinds=f"{left.describe()} and {right.describe()}")
    if are_numbers or any(map(_compares_in_c, (left, right), COMPARISONS[symbol][1:])):
        machine.unsupported(breaks.OPERATOR, name=symbol, kinds=f"{left.describe()} and {right.describe()}")
    _refuse_comparison(machine, symbol, *kinds)


def _compare_contents(machine: Machine, method: str, left: Value, right: Value) -> Value | None:
    """Return what the method of a builtin container says of another of its kind; None for what is none."""
    a, b = (
        found.as_dict(machine) if isinstance(found, InstanceDict) else found
        for found in map(container, map(plain_of, (left, right)))
    )
    if isinstance(a, SequenceValue) and isinstance(b, SequenceValue) and base_of(a) is base_of(b):
        equal = polyfills.tuple_eq if base_of(a) is tuple else polyfills.sequence_eq
        found = machine.call_python(
            equal if method in _EQUAL else polyfills.sequence_order[_SYMBOLS[method]], a, b
        )
        return ConstantValue(not found.truth(machine)) if method == "__ne__" else found
    if isinstance(a, DictValue) and isinstance(b, DictValue) and method in _EQUAL:
        both_ordered = all(issubclass(one.kind, collections.OrderedDict) for one in (a, b))
        found = machine.call_python(polyfills.ordered_eq if both_ordered else polyfills.dict_eq, a, b)
        return ConstantValue(not found.truth(machine)) if method == "__ne__" else found
    return None


_EQUAL: Final = ("__eq__", "__ne__")


def _folded_comparison(
    machine: Machine, symbol: str, values: tuple[object, object], kinds: tuple[type, type]
) -> Value:
    """Return what constants compare to; a refusal names the classes that the operands have."""
    if tuple(map(type, values)) == kinds:
        return fold(machine, COMPARISONS[symbol][0], *values)
    try:
        return ConstantValue(COMPARISONS[symbol][0](*values))
    except TypeError:
        _refuse_comparison(machine, symbol, *kinds)


def _refuse_comparison(machine: Machine, symbol: str, left: type, right: type) -> NoReturn:
    kinds = f"{name_in_c(machine, left)!r} and {name_in_c(machine, right)!r}"
    machine.throw(TypeError, f"{symbol!r} not supported between instances of {kinds}")


def _compares_in_c(value: Value, method: str) -> bool:
    """Tell whether the class of an object that capture does not know has the method, written in C."""
    if not isinstance(value, InstanceValue) or value.payload is not None:
        return False
    return not is_python_method(value.cls, method) and lookup(value.cls, method) is not vars(object)[method]


def _compares_by_identity(value: Value) -> bool:
    """Tell whether nothing but identity decides `==` of a value with one of another kind."""
    if not isinstance(value, InstanceValue):
        return True
    found = lookup(value.cls, "__eq__")
    return found is object.__eq__ or hasattr(found, "__code__") or container(value) is not None
