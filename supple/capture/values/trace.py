"""Tracebacks: capture knows that there is one, and nothing of what it shows."""

import types

from supple.capture import breaks
from supple.capture.machine import Machine
from supple.capture.values.base import Value


class Trace(Value):
    """The traceback of the exception that is handled: who looks into it runs eager."""

    def python_type(self) -> type:
        """That of tracebacks."""
        return types.TracebackType

    def truth(self, machine: Machine) -> bool:
        """There is one."""
        return True

    def get_attr(self, machine: Machine, name: str) -> Value:
        """A frame, a line or what lies further in."""
        machine.unsupported(breaks.FRAMES, name="a traceback")
