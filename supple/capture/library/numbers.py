"""Functions of numbers that stay symbolic where a number depends on sizes, and the program's own checks."""

# Some functions of torch are untyped.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, cast

import torch

from supple.capture import breaks
from supple.capture.library.calls import folded, name_of
from supple.capture.library.table import NONE, Args, Kwargs, call
from supple.capture.machine import Machine
from supple.capture.values.base import NotConstant, Value, take_all
from supple.capture.values.constant import ConstantValue, fold
from supple.capture.values.sequence import SequenceValue
from supple.capture.values.symbolic import SymbolicValue, decided, numeric
from supple.expr import Expr, less_equal
from supple.shapes import env
from supple.shapes.errors import Misfit, Undecided
from supple.shapes.rules import broadcast
from supple.shapes.symnode import expr_of, symint
from supple.torch_private import CHECKS, check_is_size, sym_cos, sym_sin

Function = Callable[..., object]
TO_INT = cast("Function", torch.sym_int)
TO_FLOAT = cast("Function", torch.sym_float)
LEAST = cast("Function", torch.sym_min)
GREATEST = cast("Function", torch.sym_max)


#: Function of the program -> what it is on torch's symbolic numbers.
SYMBOLIC: Final[dict[Function, Function]] = {
    math.sqrt: torch.sym_sqrt,
    math.sin: sym_sin,
    math.cos: sym_cos,
    math.floor: math.floor,
    math.ceil: math.ceil,
    math.trunc: math.trunc,
    TO_INT: TO_INT,
    TO_FLOAT: TO_FLOAT,
    GREATEST: GREATEST,
    LEAST: LEAST,
    torch.sym_not: torch.sym_not,
    abs: abs,
}


def symbolic(machine: Machine, function: Function, args: Sequence[Value]) -> Value | None:
    """Return a function of numbers of which one is symbolic; None for other arguments."""
    if not any(isinstance(value, SymbolicValue) for value in args):
        return None
    numbers = [numeric(one) if function is torch.sym_not else decided(numeric(one)) for one in args]
    return None if None in numbers else fold(machine, function, *numbers)


def _or_folded(
    function: Function, on_symbols: Function, machine: Machine, args: Args, kwargs: Kwargs
) -> Value:
    """Return a function of numbers of which one is symbolic; one of constants folded."""
    found = symbolic(machine, on_symbols, args) or folded(machine, function, args, kwargs)
    if found is None:
        machine.unsupported(breaks.CALL, name=name_of(function))
    return found


for _function, _on_symbols in SYMBOLIC.items():
    if call.find(_function) is None:
        call.on(_function)(partial(_or_folded, _function, _on_symbols))


@call.on(torch.Size.numel)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """The product of the sizes."""
    return machine.call(machine.wrap(math.prod, None), args)


@call.on(torch.broadcast_shapes)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """The sizes to which shapes broadcast; a shape may be one number."""
    shapes = [take_all(machine, one) if hasattr(one.python_type(), "__iter__") else [one] for one in args]
    numbers = [[numeric(size) for size in shape] for shape in shapes]
    try:
        sizes = broadcast([[expr_of(number) for number in row] for row in numbers])
    except (Misfit, LookupError):
        machine.unsupported(breaks.CALL, name="torch.broadcast_shapes")
    active = env.active()
    assert active is not None, "capture has an environment"
    return SequenceValue(torch.Size, [machine.wrap(symint(size, active), None) for size in sizes])


def expected(machine: Machine, condition: Expr, message: str) -> None:
    """Take a condition on sizes for true, as `torch._check` does."""
    active = env.active()
    assert active is not None, "capture has an environment"
    try:
        active.expect(condition, message)
    except RuntimeError as error:
        machine.throw(RuntimeError, *error.args)


def _check(error: type[Exception], machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """torch._check(condition, message) and its like: the condition holds from now on."""
    condition = args[0]
    text = args[1] if len(args) > 1 else kwargs.get("message")
    if isinstance(condition, SymbolicValue) and isinstance(condition.expr, Expr):
        expected(machine, condition.expr, _message(machine, text))
    elif not condition.truth(machine):
        machine.throw(error, _message(machine, text) or "Expected cond to be True, but got False")
    return NONE


def _message(machine: Machine, text: Value | None) -> str:
    if text is None:
        return ""
    try:
        found = text.as_python()
    except NotConstant:
        try:
            found = machine.call(text).as_python()
        except Undecided:
            return ""  # It tells numbers that only the run gives.
    return str(found) if found is not None else ""


for _checker, _error in CHECKS.items():
    call.on(_checker)(partial(_check, _error))


@call.on(check_is_size)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """The number is a size: not negative, at most `max`."""
    number = args[0]
    highest = kwargs.get("max")
    if isinstance(number, SymbolicValue) and isinstance(number.expr, Expr):
        expected(machine, less_equal(0, number.expr), "")
        bound = highest.as_python() if highest is not None else None
        if isinstance(bound, int):
            expected(machine, less_equal(number.expr, bound), "")
    elif machine.compare("<", number, ConstantValue(0)).truth(machine):
        machine.throw(RuntimeError, "Expected cond to be True, but got False")
    return NONE
