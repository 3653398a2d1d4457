"""Exception objects: construction and text, as the builtin exception classes define them."""

# The methods of generic builtin classes, as keys of tables, have open element types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import builtins
import traceback
from typing import Final

from supple.capture.library.table import NONE, Args, Kwargs, call
from supple.capture.library.text import text_of, written
from supple.capture.machine import Machine
from supple.capture.values.base import Value, name_in_c, name_of
from supple.capture.values.constant import ConstantValue
from supple.capture.values.instance import InstanceValue
from supple.capture.values.sequence import SequenceValue, new_tuple
from supple.capture.values.trace import Trace

_WITH_FIELDS: Final = (OSError, ImportError, SyntaxError, SystemExit, UnicodeError, BaseExceptionGroup)
PLAIN: Final = tuple(
    kind
    for kind in vars(builtins).values()
    if isinstance(kind, type) and issubclass(kind, BaseException) and not issubclass(kind, _WITH_FIELDS)
)
"""Exception classes whose objects hold their arguments and nothing else."""


@call.on(*dict.fromkeys(kind.__init__ for kind in PLAIN))
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """BaseException.__init__(error, *args): the new arguments."""
    if kwargs:
        machine.throw(TypeError, f"{name_in_c(machine, args[0].python_type())}() takes no keyword arguments")
    assert isinstance(args[0], InstanceValue), args[0].describe()
    args[0].write(machine, "args", new_tuple(args[1:]))
    return NONE


def _arguments(machine: Machine, error: Value) -> list[Value]:
    assert isinstance(error, InstanceValue), error.describe()
    assert isinstance(error.payload, SequenceValue), error.describe()
    return error.payload.all(machine)


@call.on(*dict.fromkeys(kind.__str__ for kind in PLAIN if kind is not KeyError))
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """str(error): of no argument empty, of one its text, of more the tuple."""
    given = _arguments(machine, args[0])
    if not given:
        return ConstantValue("")
    return text_of(machine, "__str__", given[0] if len(given) == 1 else new_tuple(given))


@call.on(KeyError.__str__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """str(key_error): of one argument its repr."""
    given = _arguments(machine, args[0])
    if len(given) == 1:
        return text_of(machine, "__repr__", given[0])
    return text_of(machine, "__str__", new_tuple(given)) if given else ConstantValue("")


@call.on(BaseException.__repr__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """repr(error): the class's name and the arguments."""
    given = _arguments(machine, args[0])
    inside = ", ".join(written(machine, one) for one in given)
    return ConstantValue(f"{name_of(machine, args[0].python_type())}({inside})")


# Capture keeps no tracebacks.
call.on(BaseException.with_traceback)(lambda _m, args, _: args[0])


@call.on(traceback.clear_frames)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Nothing to empty: captured frames hold nothing once they are left, and those that run are passed by."""
    is_of_graph = len(args) == 1 and isinstance(args[0], Trace) and not kwargs
    return NONE if is_of_graph else machine.inline_anyway(traceback.clear_frames, args, kwargs)
