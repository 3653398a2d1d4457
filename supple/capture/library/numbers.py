"""Functions of numbers that stay symbolic where a number depends on sizes, and the program's own checks."""

# Some functions of torch are untyped.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, cast

import torch

from supple.capture import breaks
from supple.capture.library import polyfills
from supple.capture.library.calls import folded, name_of
from supple.capture.library.table import Args, Kwargs, call, polyfill
from supple.capture.machine import Machine
from supple.capture.values.base import Value, take_all
from supple.capture.values.constant import fold
from supple.capture.values.sequence import SequenceValue
from supple.capture.values.symbolic import SymbolicValue, decided, is_finite_power, numeric
from supple.expr.real import OF_MATH
from supple.shapes import env
from supple.shapes.errors import Misfit
from supple.shapes.rules import broadcast
from supple.shapes.symnode import expr_of, node_of, symint
from supple.torch_private import sym_cos, sym_sin

Function = Callable[..., object]
TO_INT = cast("Function", torch.sym_int)
TO_FLOAT = cast("Function", torch.sym_float)
LEAST = cast("Function", torch.sym_min)
GREATEST = cast("Function", torch.sym_max)


def _in_order(function: Function) -> Function:
    """Return `function`, min or max of two, which gives the first of equal floats and a NaN that comes first.

    Torch asks the symbolic number, wherever it stands; so a plain one before it is made symbolic.
    """

    def extreme(first: object, second: object) -> object:
        if isinstance(first, float) and isinstance(second, torch.SymInt | torch.SymFloat):
            first = torch.SymFloat(node_of(second).wrap_float(first))
        return function(first, second)

    return extreme


LEAST_IN_ORDER, GREATEST_IN_ORDER = _in_order(LEAST), _in_order(GREATEST)


def _magnitude(number: object) -> Any:
    """Return the magnitude of a number as a float."""
    return abs(cast("Any", TO_FLOAT(number)))


def _is_nan(number: Any) -> object:
    return number != number


def _is_infinite(number: object) -> object:
    return _magnitude(number) == math.inf


def _is_finite(number: object) -> object:
    return _magnitude(number) < math.inf


#: Function of the program -> what it is on torch's symbolic numbers.
SYMBOLIC: Final[dict[Function, Function]] = {
    math.sqrt: torch.sym_sqrt,
    math.sin: sym_sin,
    math.cos: sym_cos,
    math.floor: math.floor,
    math.ceil: math.ceil,
    math.trunc: math.trunc,
    math.fabs: _magnitude,
    math.isnan: _is_nan,
    math.isinf: _is_infinite,
    math.isfinite: _is_finite,
    TO_INT: TO_INT,
    TO_FLOAT: TO_FLOAT,
    GREATEST: GREATEST_IN_ORDER,
    LEAST: LEAST_IN_ORDER,
    torch.sym_not: torch.sym_not,
    abs: abs,
}


def symbolic(machine: Machine, function: Function, args: Sequence[Value]) -> Value | None:
    """Return a function of numbers of which one is symbolic; None for other arguments."""
    if not any(isinstance(value, SymbolicValue) for value in args):
        return None
    numbers = [numeric(one) if function is torch.sym_not else decided(numeric(one)) for one in args]
    if None in numbers:
        return None
    if function in _DEFINED and isinstance(args[0], SymbolicValue) and _is_known(machine, args[0]):
        # Code that computes the number later, where it is needed, would raise there.
        numbers = numbers if _DEFINED[function](numbers[0]) else [args[0].as_python()]
    return fold(machine, function, *numbers)


#: Function on torch's symbolic numbers -> the condition under which it raises nothing.
_DEFINED: Final[dict[Function, Callable[[Any], bool]]] = {
    torch.sym_sqrt: lambda number: bool(number >= 0),
    sym_sin: lambda number: bool(_is_finite(number)),
    sym_cos: lambda number: bool(_is_finite(number)),
}


def _or_folded(
    function: Function, on_symbols: Function, machine: Machine, args: Args, kwargs: Kwargs
) -> Value:
    """Return a function of numbers of which one is symbolic; one of constants folded."""
    found = symbolic(machine, on_symbols, args) or folded(machine, function, args, kwargs)
    if found is None:
        machine.unsupported(breaks.CALL, name=name_of(function))
    return found


for _function, _on_symbols in SYMBOLIC.items():
    if _function is not abs:  # an operator, of which objects have their own
        call.on(_function)(partial(_or_folded, _function, _on_symbols))


#: Function of module math -> between which numbers, both excluded, it gives a float and raises nothing.
_DOMAINS: Final = {
    **dict.fromkeys(("log", "log2", "log10"), (0.0, math.inf)),
    "log1p": (-1.0, math.inf),
    **dict.fromkeys(("exp", "expm1"), (-700.0, 700.0)),
    **dict.fromkeys(("tanh", "atan", "erf", "erfc"), (-math.inf, math.inf)),
}


def _within(machine: Machine, name: str, value: Value) -> Value | None:
    """Return a function of module math of a symbolic number, which is decided to lie in the domain."""
    if not isinstance(value, SymbolicValue) or value.python_type() is bool or not _is_known(machine, value):
        return None
    least, most = _DOMAINS[name]
    number = cast("torch.SymFloat", TO_FLOAT(value.number))
    if not (number > least and number < most):
        return None
    return machine.wrap(torch.SymFloat(vars(number)["node"].of_math(name)), None)


def _is_known(machine: Machine, value: SymbolicValue) -> bool:
    """Tell whether a number follows from those of the call, so that a condition on it can be decided."""
    node = vars(value.number)["node"]
    return bool(node.has_hint())


def _of_math(name: str, machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """math.exp(x) and its like; math.log(x, base) is a quotient."""
    function = cast("Function", getattr(math, name))
    is_symbolic = any(isinstance(one, SymbolicValue) for one in args)
    found = [
        _within(machine, name, one) or folded(machine, function, [one], {}) for one in args if is_symbolic
    ]
    if not any(isinstance(one, SymbolicValue) for one in found) or None in found:
        whole = folded(machine, function, args, kwargs)
        if whole is None:
            machine.unsupported(breaks.CALL, name=name_of(function))
        return whole
    quotient = found[0]
    for one in found[1:]:
        quotient = machine.call(
            machine.wrap(operator.truediv, None), [cast("Value", quotient), cast("Value", one)]
        )
    return cast("Value", quotient)


for _name in OF_MATH:
    call.on(getattr(math, _name))(partial(_of_math, _name))


@call.on(math.pow)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """math.pow(x, y): what `**` gives for floats of which the first is positive, unless that is too large."""
    known = [one for one in args if isinstance(one, SymbolicValue) and _is_known(machine, one)]
    numbers: list[Any] = [decided(numeric(one)) for one in args]
    if known and None not in numbers and len(numbers) == 2 and bool(numbers[0] > 0):
        floats = [TO_FLOAT(number) for number in numbers]
        if is_finite_power(*floats):
            return machine.call(machine.wrap(operator.pow, None), [machine.wrap(one, None) for one in floats])
    found = folded(machine, math.pow, args, kwargs)
    if found is None:
        machine.unsupported(breaks.CALL, name="math.pow")
    return found


polyfill[math.prod] = polyfills.prod_


@call.on(torch.Size.numel)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """The product of the sizes."""
    return machine.call_python(polyfills.prod_, *args)


@call.on(torch.broadcast_shapes)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """The sizes to which shapes broadcast; a shape may be one number."""
    whole = None if kwargs else folded(machine, torch.broadcast_shapes, args, kwargs)
    if whole is not None:
        return whole
    shapes = [take_all(machine, one) if hasattr(one.python_type(), "__iter__") else [one] for one in args]
    numbers = [[numeric(size) for size in shape] for shape in shapes]
    if kwargs or any(size.python_type() is not int for shape in shapes for size in shape):
        machine.unsupported(breaks.CALL, name="torch.broadcast_shapes")
    sizes_given = cast("list[int | torch.SymInt]", [number for row in numbers for number in row])
    if any(bool(number < 0) for number in sizes_given):
        machine.unsupported(breaks.CALL, name="torch.broadcast_shapes of negative sizes")
    try:
        sizes = broadcast([[expr_of(number) for number in row] for row in numbers])
    except (Misfit, LookupError):
        machine.unsupported(breaks.CALL, name="torch.broadcast_shapes")
    active = env.active()
    assert active is not None, "capture has an environment"
    return SequenceValue(torch.Size, [machine.wrap(symint(size, active), None) for size in sizes])
