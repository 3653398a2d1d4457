"""Call rules of this package's own marks, and of process state that is guarded only where a program asks."""

from functools import partial

from supple.base import marks
from supple.base.errors import UserError
from supple.base.stance import set_stance
from supple.capture import breaks
from supple.capture.library.table import Args, Kwargs, call
from supple.capture.machine import Machine
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue
from supple.runtime.state import READERS


@call.on(marks.is_compiling)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Captured code is being compiled."""
    return ConstantValue(True)


@call.on(marks.graph_break)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """The program asks for a break."""
    machine.unsupported(breaks.USER_BREAK, message=_message(args, kwargs))


@call.on(marks.skip_frame)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """The program asks not to be captured."""
    machine.unsupported(breaks.SKIPPED, message=_message(args, kwargs))


def _message(args: Args, kwargs: Kwargs) -> str:
    """Return what the program says about the place: `graph_break(msg)`."""
    given = [*args, *kwargs.values()]
    return f": {given[0].as_python()}" if given else ""


@call.on(set_stance)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Compiled code is what a stance decides about."""
    raise UserError(breaks.STANCE, machine.user_stack())


def _asked(name: str, machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """A part of the state that is guarded where a program asks for it."""
    machine.ask_state(name)
    return machine.wrap(READERS[name](), None)


@call.on(READERS["dispatch_modes"])
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """How many modes see operators: none, or the call would not have been captured."""
    return ConstantValue(0)


call.on(READERS["threads"])(partial(_asked, "threads"))
call.on(READERS["matmul_precision"])(partial(_asked, "matmul_precision"))
