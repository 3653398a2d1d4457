"""Counts of what the compiler did in this process, by listening to its events."""

import threading
from collections.abc import Callable
from typing import Final

from supple.base import events
from supple.base.rules import Rules

Count = Callable[["Counter", events.Event], None]
count_rules: Final[Rules[Count]] = Rules("stats")


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
        self.kernels: dict[str, tuple[str, ...]] = {}
        self.externs = 0
        self.dropped = 0
        self.times: dict[str, float] = {}

    def __call__(self, event: events.Event) -> None:
        """Count an event."""
        rule = count_rules.find(type(event))
        if rule is not None:
            with self._lock:
                rule(self, event)

    def report(self, entries: int) -> dict[str, object]:
        """Return the counts by name; times are in seconds, summed by stage.

        `fused` maps each kernel to the graph nodes that it computes; `refusals` say why captured graphs run
        operator by operator instead of compiled (an output needs gradients, say).
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
                "compilations": self.compilations,
                "entries": entries,
                "dropped": self.dropped,
                "kernels": len(self.kernels),
                "externs": self.externs,
                "fused": {name: list(nodes) for name, nodes in self.kernels.items()},
                "times": dict(self.times),
            }


@count_rules.on(events.CompileStarted)
def _(counter: Counter, event: events.Event) -> None:
    """A compilation after which another one existed is a recompilation."""
    assert isinstance(event, events.CompileStarted), event
    counter.compilations += 1
    if event.failed_guards:
        counter.recompiles.append(f"{event.function}: {event.failed_guards[0]}")


@count_rules.on(events.GraphCaptured)
def _(counter: Counter, event: events.Event) -> None:
    """A graph with so many operations."""
    assert isinstance(event, events.GraphCaptured), event
    counter.graphs += 1
    counter.ops += event.op_count


@count_rules.on(events.GraphBroken)
def _(counter: Counter, event: events.Event) -> None:
    """A break, with its whole text."""
    assert isinstance(event, events.GraphBroken), event
    counter.reasons.append(event.text)


@count_rules.on(events.FellBack)
def _(counter: Counter, event: events.Event) -> None:
    """A call that runs eager from now on."""
    assert isinstance(event, events.FellBack), event
    counter.fallbacks.append(event.text)


@count_rules.on(events.GraphRefused)
def _(counter: Counter, event: events.Event) -> None:
    """A graph that is captured, but not compiled."""
    assert isinstance(event, events.GraphRefused), event
    counter.refusals.append(event.why)


@count_rules.on(events.KernelsPlanned)
def _(counter: Counter, event: events.Event) -> None:
    """The kernels of one graph; equal names in different graphs are told apart by a number."""
    assert isinstance(event, events.KernelsPlanned), event
    counter.externs += len(event.externs)
    for name, nodes in event.kernels:
        unique = name if name not in counter.kernels else f"{name} ({len(counter.kernels)})"
        counter.kernels[unique] = nodes


@count_rules.on(events.StageTimed)
def _(counter: Counter, event: events.Event) -> None:
    """Times add up by stage."""
    assert isinstance(event, events.StageTimed), event
    counter.times[event.stage] = counter.times.get(event.stage, 0.0) + event.seconds


@count_rules.on(events.EntryDropped)
def _(counter: Counter, event: events.Event) -> None:
    """An entry went."""
    counter.dropped += 1


COUNTER: Final = Counter()
events.listen(COUNTER, reads_texts=False)
