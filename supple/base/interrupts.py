"""Exceptions that the program's own signal handlers raise: at any line, and as nobody's failure.

A time limit by `signal.setitimer` is one. Whoever catches all exceptions of the compiler lets these pass.
"""

import functools
import signal
import types
from collections.abc import Iterator
from typing import cast


def is_interrupt(error: BaseException) -> bool:
    """Tell whether a signal handler of the program, or what it called, raised an exception."""
    handlers = list(_codes_of_handlers())
    # Code objects are compared by identity: what they hold need not be hashable.
    return any(code is handler for code in _codes_of_traceback(error) for handler in handlers)


def _codes_of_traceback(error: BaseException) -> Iterator[types.CodeType]:
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame.f_code
        trace = trace.tb_next


def _codes_of_handlers() -> Iterator[types.CodeType]:
    """Yield the code of each handler that is installed and written in Python."""
    for number in signal.valid_signals():
        handler = _function_of(signal.getsignal(number))
        if isinstance(handler, types.FunctionType):
            yield handler.__code__


def _function_of(handler: object) -> object:
    """Return the function that a handler, be it a method, a partial or an object with `__call__`, runs."""
    while isinstance(handler, functools.partial):
        handler = cast("functools.partial[object]", handler).func
    if isinstance(handler, types.MethodType):
        return handler.__func__
    if callable(handler) and not isinstance(handler, types.FunctionType | types.BuiltinFunctionType):
        return vars(type(handler)).get("__call__")
    return handler
