"""The program's own checks, `torch._check` and its like: conditions that hold from there on."""

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Final, NoReturn

from supple.capture import breaks
from supple.capture.library.table import NONE, Args, Kwargs, call
from supple.capture.machine import Machine
from supple.capture.values.base import NotConstant, Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.symbolic import SymbolicValue
from supple.expr import Expr
from supple.ir.graph.nodes import hides_writes, uses_of
from supple.runtime.undo import RAISES, version
from supple.shapes import env
from supple.shapes.errors import Undecided
from supple.torch_private import CHECKS, check_holds, check_is_size

Check = Callable[..., object]


def expected(machine: Machine, condition: Expr, message: str) -> None:
    """Take a condition on sizes for true: guard it, or check it when the program runs."""
    active = env.active()
    assert active is not None, "capture has an environment"
    try:
        active.expect(condition, message)
    except RuntimeError as error:
        machine.throw(RuntimeError, *error.args)


def can_run_again(machine: Machine) -> bool:
    """Tell whether the program raises what it says when its call runs again from its start.

    It does not where the program may catch the exception and go on, and where the graph has written to its
    inputs before.
    """
    nodes = machine.recorder.nodes
    writes = any(not node.op.is_pure and any(uses_of(node)) for node in nodes)
    fakes = [item.fake for item in machine.recorder.lifted if writes]
    is_written = any(version(fake) != 0 for fake in fakes) or (writes and any(map(hides_writes, nodes)))
    return not is_written and not _is_caught(machine)


def _is_caught(machine: Machine) -> bool:
    return any(where.is_caught for where in machine.user_stack())


def _check(check: Check, machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """torch._check(condition, message) and its like: the condition holds from now on."""
    condition, message = _given(args, kwargs, "cond")
    _require(machine, check, condition, message)
    return NONE


for _checker in CHECKS:
    call.on(_checker)(partial(_check, _checker))


@call.on(check_is_size)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """The number is a size: not negative, at most `max`."""
    number, message = _given(args, kwargs, "i")
    if number.python_type() is bool:
        number = machine.call(machine.wrap(int, None), [number])
    _require(machine, check_holds, machine.compare(">=", number, ConstantValue(0)), message)
    highest = kwargs.get("max")
    if highest is not None and highest.python_type() is not type(None):
        _require(machine, check_holds, machine.compare("<=", number, highest), message)
    return NONE


def _given(args: Args, kwargs: Kwargs, name: str) -> tuple[Value, Value]:
    """Return what is checked, the first argument or the one of this name, and the message."""
    positional = dict(zip((name, "message"), args, strict=False))
    given = {**positional, **kwargs}
    return given[name], given.get("message", NONE)


def _require(machine: Machine, check: Check, condition: Value, message: Value) -> None:
    """Go on where a condition holds; raise what `check` raises where it does not.

    What only the run decides is taken for true and checked by the graph, as for a branch that only raises.
    """
    if condition.python_type() is not bool:
        machine.unsupported(breaks.CALL, name=f"{check.__name__} of what is no truth")
    if _is_of_run(machine, condition) and _is_checked_by_graph(machine, check):
        assert isinstance(condition, SymbolicValue), condition.describe()
        assert isinstance(condition.expr, Expr), condition.expr
        expected(machine, condition.expr, RAISES if can_run_again(machine) else _text(machine, message))
    elif not condition.truth(machine):
        _fail(machine, check, message)


def _is_of_run(machine: Machine, condition: Value) -> bool:
    """Tell whether only the run decides whether a condition on numbers holds."""
    if not isinstance(condition, SymbolicValue) or not isinstance(condition.expr, Expr):
        return False
    return not machine.sizes.env.is_backed(condition.expr)


def _is_checked_by_graph(machine: Machine, check: Check) -> bool:
    """Tell whether the program sees what it would see in eager where a graph finds that a condition fails."""
    return can_run_again(machine) or (CHECKS[check] is RuntimeError and not _is_caught(machine))


def _text(machine: Machine, message: Value) -> str:
    """Return the message of a check that fails when the graph runs, as far as it can be told before."""
    if message is NONE:
        return ""
    with contextlib.suppress(NotConstant, Undecided):
        found = machine.call(message).as_python()
        return "" if found is None else str(found)
    return ""


_NO_FUNCTION: Final = "no function"


def _fail(machine: Machine, check: Check, message: Value) -> NoReturn:
    """Raise what a check raises whose condition does not hold."""
    if machine.call(machine.wrap(callable, None), [message]).truth(machine):
        text = machine.call(machine.wrap(str, None), [machine.call(message)])
        machine.throw_value(CHECKS[check], [text])
    try:
        check(False, None if message.python_type() is type(None) else _NO_FUNCTION)
    except (CHECKS[check], TypeError) as error:
        if error.args == (_NO_FUNCTION,):  # from torch 2.14 a message may be any object
            machine.throw_value(CHECKS[check], [machine.call(machine.wrap(str, None), [message])])
        machine.throw(type(error), *error.args)
    raise AssertionError(f"{check} takes what is false for true")
