"""What happened, compilation by compilation: listens to events, for explanations, profiles and statistics."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar, cast

from supple.base import events
from supple.base.errors import Where

E = TypeVar("E", bound=events.Event)


@dataclass(frozen=True, slots=True)
class Compilation:
    """One compilation of a function, or of a part of it that begins after a graph break.

    Attributes:
        id: number of the function / number of its compilation.
        where: the function's first line, or the line on which it goes on after a graph break.
        goes_on: whether it begins after a graph break.
        recompiled: guards of earlier entries that failed; empty for a first compilation.
        operations: of its graph, by name, in order.
        graph: the graph as text.
        guards: the conditions under which the entry is used again.
        broken: the graph break at which it ends.
        fallback: why the function runs eager from now on; empty when it does not.
        seconds: by stage.
        error: what the compiler, or the program, raised.
    """

    id: str
    function: str
    where: Where
    goes_on: bool = False
    recompiled: tuple[events.FailedGuard, ...] = ()
    operations: tuple[str, ...] = ()
    graph: str = ""
    guards: tuple[events.GuardTold, ...] = ()
    broken: events.GraphBroken | None = None
    fallback: str = ""
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    error: str = ""

    @property
    def name(self) -> str:
        """The function; of a part behind a graph break also the line on which that goes on."""
        return f"{self.where.function} from line {self.where.line}" if self.goes_on else self.function


Update = Callable[[Compilation, events.Event], Compilation]
UPDATES: Final[dict[type[events.Event], Update]] = {}
"""What each event says about its compilation."""


def _on(kind: type[E], update: Callable[[Compilation, E], Compilation]) -> None:
    UPDATES[kind] = cast("Update", update)


_on(events.GraphCaptured, lambda one, e: replace(one, operations=e.ops, graph=e.text))
_on(events.GuardsInstalled, lambda one, e: replace(one, guards=e.guards))
_on(events.GraphBroken, lambda one, e: replace(one, broken=e))
_on(events.FellBack, lambda one, e: replace(one, fallback=e.text))
_on(events.CompileFinished, lambda one, e: replace(one, seconds=dict(e.seconds), error=e.error))


class Recorder:
    """Records compilations in a `with` block; what earlier blocks recorded stays.

    Attributes:
        compilations: in the order in which they began.
    """

    def __init__(self, *, only_this_thread: bool = False) -> None:
        self.compilations: list[Compilation] = []
        self._places: dict[str, int] = {}
        self._thread = threading.get_ident() if only_this_thread else None
        self._stop: Callable[[], None] | None = None

    def __enter__(self) -> "Recorder":
        self._stop = events.listen(self)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._stop is not None, "the block was entered"
        self._stop()

    def __call__(self, event: events.Event) -> None:
        """Note what an event says."""
        if self._thread not in (None, threading.get_ident()):
            return
        if isinstance(event, events.CompileStarted):
            self._places[_function(event.compile_id)] = len(self.compilations)
            self.compilations.append(
                Compilation(event.compile_id, event.function, event.where, event.goes_on, event.failed_guards)
            )
        update = UPDATES.get(type(event))
        if update is None or not isinstance(event, events.OF_COMPILATION):
            return
        place = self._places.get(_function(event.compile_id))
        if place is not None:
            self.compilations[place] = update(self.compilations[place], event)


def _function(compile_id: str) -> str:
    """Return the function's number: its latest compilation is what an event is about."""
    return compile_id.partition("/")[0]
