"""Call rules of this package's own marks: what `is_compiling` and `graph_break` mean in captured code."""

from collections.abc import Mapping, Sequence

from supple.base import marks
from supple.capture import breaks
from supple.capture.library.table import call
from supple.capture.machine import Machine
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue


@call.on(marks.is_compiling)
def _(machine: Machine, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    """Captured code is being compiled."""
    return ConstantValue(True)


@call.on(marks.graph_break)
def _(machine: Machine, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    """The program asks for a break."""
    machine.unsupported(breaks.USER_BREAK)
