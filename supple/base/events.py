"""One stream of typed events; whoever wants to know what the compiler does, listens here.

The compiler never formats log lines: it emits these records. `emit` costs one check when nobody listens.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from supple.base.errors import Where


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events."""


@dataclass(frozen=True, slots=True)
class CompileStarted(Event):
    """A call found no valid entry and is being captured."""

    compile_id: str
    function: str
    where: Where
    failed_guards: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphCaptured(Event):
    """Capture of one frame ended with a graph."""

    compile_id: str
    text: str
    op_count: int


@dataclass(frozen=True, slots=True)
class GuardsInstalled(Event):
    """An entry was installed; `text` is its guard tree, `code` its generated checker."""

    compile_id: str
    text: str
    code: str
    count: int


@dataclass(frozen=True, slots=True)
class GraphBroken(Event):
    """Capture met something that it leaves to Python."""

    compile_id: str
    code: str
    text: str
    stack: tuple[Where, ...]


@dataclass(frozen=True, slots=True)
class PassRan(Event):
    """A pass over one of the three languages ended."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class KernelFused(Event):
    """A kernel was made from the named graph nodes."""

    kernel: str
    nodes: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class CodeEmitted(Event):
    """A backend printed code: LLVM IR, a host program."""

    kind: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class CompileFinished(Event):
    """A compilation ended; times in seconds by stage."""

    compile_id: str
    seconds: tuple[tuple[str, float], ...]
    error: str = ""


@dataclass(frozen=True, slots=True)
class FellBack(Event):
    """A frame runs eager from now on; `text` says what, where, why, do."""

    compile_id: str
    text: str


@dataclass(frozen=True, slots=True)
class EntryDropped(Event):
    """A compiled entry was removed: evicted, or an object it depended on died."""

    function: str
    why: str


Listener = Callable[[Event], object]
_LISTENERS: Final[list[Listener]] = []


def listening() -> bool:
    """Tell whether anybody listens: texts that are costly to make may be skipped when not."""
    return bool(_LISTENERS)


def emit(event: Event) -> None:
    """Hand the event to every listener."""
    for listener in tuple(_LISTENERS):
        listener(event)


def listen(listener: Listener) -> Callable[[], None]:
    """Add a listener; the returned function removes it (once; a second call does nothing)."""
    _LISTENERS.append(listener)

    def stop() -> None:
        if listener in _LISTENERS:
            _LISTENERS.remove(listener)

    return stop
