"""One stream of typed events; whoever wants to know what the compiler does, listens here.

The compiler never formats log lines: it emits these records. `emit` costs one check when nobody listens.
"""

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from supple.base.errors import Where


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events."""


@dataclass(frozen=True, slots=True)
class FailedGuard:
    """Why an entry does not serve a call.

    Attributes:
        entry: the compile id of the entry.
        text: the guard, what it expected and what was found, and the user's line that made it.
        is_size: a size, stride or number: dynamic shapes may help.
        hint: what to write to avoid the recompilation.
    """

    entry: str
    text: str
    is_size: bool
    hint: str

    def __str__(self) -> str:
        return f"{self.entry}: {self.text}"


@dataclass(frozen=True, slots=True)
class CompileStarted(Event):
    """A call found no valid entry and is being captured.

    Attributes:
        where: the first line of the function, or the line on which it goes on after a graph break.
        all_failed: finds every guard that fails.
    """

    compile_id: str
    function: str
    where: Where
    failed_guards: tuple[FailedGuard, ...] = ()
    all_failed: Callable[[], tuple[FailedGuard, ...]] = tuple
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class GraphCaptured(Event):
    """Capture of one frame ended with a graph; `ops` are the names of its operations."""

    compile_id: str
    text: str
    op_count: int
    ops: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GuardTold:
    """A guard in words: the path to what is checked, what must hold of it, the user's line that asked."""

    source: str
    condition: str
    where: Where | None

    def __str__(self) -> str:
        return f"{self.source} {self.condition}"


@dataclass(frozen=True, slots=True)
class GuardsInstalled(Event):
    """An entry was installed; `text` is its guard tree, `code` its generated checker.

    Attributes:
        sizes: what each size and number of an argument is in the graph.
    """

    compile_id: str
    text: str
    code: str
    count: int
    guards: tuple[GuardTold, ...] = ()
    sizes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class InstructionTraced(Event):
    """Capture is about to interpret an instruction: where, which, and how many values are on the stack."""

    where: Where
    op: str
    arg: object
    depth: int


@dataclass(frozen=True, slots=True)
class BytecodeMade(Event):
    """The code that an entry runs in place of the function's own; it may replay `effects` on objects."""

    compile_id: str
    original: types.CodeType
    made: types.CodeType
    effects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GraphBroken(Event):
    """Capture met something that it leaves to Python; `text` has it all.

    Attributes:
        is_eager: the whole call runs eager, not this operation alone.
    """

    compile_id: str
    code: str
    text: str
    stack: tuple[Where, ...]
    what: str = ""
    why: str = ""
    do: str = ""
    is_eager: bool = False


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
class GraphRefused(Event):
    """The native stages do not take a captured graph: eager torch runs it, operator by operator."""

    why: str


@dataclass(frozen=True, slots=True)
class GraphsSplit(Event):
    """A captured graph became functional ATen graphs, as texts; `joint`, of which the two others are halves,
    and `backward` are empty where no gradient is needed.
    """

    joint: str
    forward: str
    backward: str


@dataclass(frozen=True, slots=True)
class GraphVerified(Event):
    """A compiled graph was run beside eager: what was compared, or why it was not."""

    text: str


@dataclass(frozen=True, slots=True)
class EntryDropped(Event):
    """A compiled entry was removed: an object it depended on died."""

    function: str
    why: str


@dataclass(frozen=True, slots=True)
class StageTimed(Event):
    """A stage of one compilation ended after this many seconds."""

    stage: str
    seconds: float


@dataclass(frozen=True, slots=True)
class KernelsPlanned(Event):
    """A graph became these kernels, each with the names of the graph nodes it computes, and library calls."""

    kernels: tuple[tuple[str, tuple[str, ...]], ...]
    externs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SymbolCreated(Event):
    """A size, stride, integer or float became a symbol; without a hint it is known only at run time."""

    name: str
    hint: float | None
    origin: str
    bounds: tuple[int | None, int | None]
    why: str
    stack: tuple[Where, ...]


@dataclass(frozen=True, slots=True)
class ShapeGuarded(Event):
    """A condition on symbols became a guard; `follows` is what is known since, `ours` the code that asked."""

    condition: str
    stack: tuple[Where, ...]
    ours: str
    follows: tuple[str, ...]
    hints: tuple[tuple[str, int | None], ...]


OF_COMPILATION: Final = (
    CompileStarted,
    GraphCaptured,
    GuardsInstalled,
    BytecodeMade,
    GraphBroken,
    FellBack,
    CompileFinished,
)
"""Events that know their compilation; its id is "number of the function/number of its compilation"."""

Listener = Callable[[Event], object]
_LISTENERS: Final[list[Listener]] = []
_READERS: Final[list[Listener]] = []
_TRACERS: Final[list[Listener]] = []


def listening() -> bool:
    """Tell whether anybody reads texts: those that are costly to make may be left empty when not."""
    return bool(_READERS)


def tracing() -> bool:
    """Tell whether anybody wants to know each instruction."""
    return bool(_TRACERS)


def emit(event: Event) -> None:
    """Hand the event to every listener."""
    for listener in tuple(_LISTENERS):
        listener(event)


def listen(listener: Listener, *, reads_texts: bool = True, traces: bool = False) -> Callable[[], None]:
    """Add a listener; the returned function removes it (once; a second call does nothing).

    One that does not read texts (it counts) leaves `listening` as it is. `traces`: it gets each instruction.
    """
    chosen = [_LISTENERS, *([_READERS] if reads_texts else []), *([_TRACERS] if traces else [])]
    for listeners in chosen:
        listeners.append(listener)

    def stop() -> None:
        for listeners in chosen:
            if listener in listeners:
                listeners.remove(listener)

    return stop
