"""Counts of what the compiler did in this process, by listening to its events."""

import threading
from collections.abc import Callable
from typing import Final, TypeVar, cast

from supple.base import events

E = TypeVar("E", bound=events.Event)
COUNTS: Final[dict[type[events.Event], Callable[["Counter", events.Event], object]]] = {}
"""What each event changes."""


class Counter:
    """What happened since it was made or reset."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Start again at zero."""
        self.graphs = 0
        self.ops = 0
        self.compilations = 0
        self.recompiles: list[str] = []
        self.reasons: list[str] = []
        self.fallbacks: list[str] = []
        self.refusals: list[str] = []
        self.specializations: list[str] = []
        self.kernels: dict[str, tuple[str, ...]] = {}
        self.externs = 0
        self.dropped = 0
        self.times: dict[str, float] = {}
        self.names: dict[str, str] = {}
        self.by_function: dict[str, dict[str, float]] = {}

    def __call__(self, event: events.Event) -> None:
        """Count an event."""
        rule = COUNTS.get(type(event))
        if rule is not None:
            with self._lock:
                rule(self, event)

    def report(self, entries: int) -> dict[str, object]:
        """Return the counts by name; times are in seconds, summed by stage.

        `fused` maps each kernel to the graph nodes that it computes; `refusals` say why captured graphs run
        operator by operator instead of compiled (an output needs gradients, say); `specializations` are
        conditions on sizes that were guarded, in the order in which they were asked, the first the cause of
        most.
        """
        with self._lock:
            return {
                "graphs": self.graphs,
                "ops": self.ops,
                "breaks": len(self.reasons),
                "reasons": list(self.reasons),
                "recompiles": len(self.recompiles),
                "recompile_reasons": list(self.recompiles),
                "fallbacks": len(self.fallbacks),
                "fallback_reasons": list(self.fallbacks),
                "refusals": list(self.refusals),
                "specializations": list(self.specializations),
                "compilations": self.compilations,
                "entries": entries,
                "dropped": self.dropped,
                "kernels": len(self.kernels),
                "externs": self.externs,
                "fused": {name: list(nodes) for name, nodes in self.kernels.items()},
                "times": dict(self.times),
            }

    def started(self, event: events.CompileStarted) -> None:
        """Count a compilation; after which another one existed, it is a recompilation."""
        self.compilations += 1
        self.names[event.compile_id] = event.function
        if event.failed_guards:
            self.recompiles.append(f"{event.function}: {event.failed_guards[0]}")

    def captured(self, event: events.GraphCaptured) -> None:
        """Count a graph and its operations."""
        self.graphs += 1
        self.ops += event.op_count

    def planned(self, event: events.KernelsPlanned) -> None:
        """Count the kernels of one graph; equal names in different graphs are told apart by a number."""
        self.externs += len(event.externs)
        for name, nodes in event.kernels:
            unique = name if name not in self.kernels else f"{name} ({len(self.kernels)})"
            self.kernels[unique] = nodes

    def timed(self, event: events.StageTimed) -> None:
        """Add up times by stage."""
        self.times[event.stage] = self.times.get(event.stage, 0.0) + event.seconds

    def finished(self, event: events.CompileFinished) -> None:
        """Add up times by function."""
        name = self.names.pop(event.compile_id, "")
        times = self.by_function.setdefault(name, {"compilations": 0.0})
        for stage, seconds in (("compilations", 1.0), *event.seconds):
            times[stage] = times.get(stage, 0.0) + seconds

    def compile_times(self) -> str:
        """Return times by function and by stage as a table."""
        with self._lock:
            lines = [
                "Compile times in seconds",
                f"{'function':32} compilations     total   capture    guards",
            ]
            for name, times in self.by_function.items():
                total, capture, guards = (times.get(stage, 0.0) for stage in ("total", "capture", "guards"))
                lines.append(
                    f"{name:32} {times['compilations']:12.0f}{total:10.4f}{capture:10.4f}{guards:10.4f}"
                )
            lines += [f"stage {stage:26} {'':12}{seconds:10.4f}" for stage, seconds in self.times.items()]
        return "\n".join(lines)

    def guarded(self, event: events.ShapeGuarded) -> None:
        """Keep a condition with the user's line."""
        where = "".join(
            f"  # {at.text}  ({at.filename}:{at.line} in {at.function})" for at in event.stack[-1:]
        )
        self.specializations.append(f"{event.condition}{where}")

    def lost(self, event: events.EntryDropped) -> None:
        """Count an entry that went."""
        self.dropped += 1


def _on(kind: type[E], count: Callable[[Counter, E], object]) -> None:
    COUNTS[kind] = cast("Callable[[Counter, events.Event], object]", count)


_on(events.CompileStarted, Counter.started)
_on(events.GraphCaptured, Counter.captured)
_on(events.KernelsPlanned, Counter.planned)
_on(events.StageTimed, Counter.timed)
_on(events.ShapeGuarded, Counter.guarded)
_on(events.EntryDropped, Counter.lost)
_on(events.CompileFinished, Counter.finished)
_on(events.GraphBroken, lambda counter, event: counter.reasons.append(event.text))
_on(events.FellBack, lambda counter, event: counter.fallbacks.append(event.text))
_on(events.GraphRefused, lambda counter, event: counter.refusals.append(event.why))

COUNTER: Final = Counter()
events.listen(COUNTER, reads_texts=False)
