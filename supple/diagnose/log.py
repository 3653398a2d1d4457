"""The human log: channels that print events through `logging`, to stderr."""

import logging
import os
import sys
from collections.abc import Callable, Mapping
from typing import Final

from supple.base import events
from supple.base.errors import OptionsError
from supple.base.rules import Rules

Render = Callable[[events.Event], str]
render: Final[Rules[Render]] = Rules("render")

#: Which event each channel prints.
CHANNELS: Final[Mapping[str, type[events.Event]]] = {
    "guards": events.GuardsInstalled,
    "graph": events.GraphCaptured,
    "recompiles": events.CompileStarted,
    "graph_breaks": events.GraphBroken,
    "fallbacks": events.FellBack,
    "refusals": events.GraphRefused,
    "fusion": events.KernelFused,
    "output_code": events.CodeEmitted,
    "times": events.StageTimed,
    "entries": events.EntryDropped,
    "compiles": events.CompileFinished,
    "kernels": events.KernelsPlanned,
}
ALIASES: Final[Mapping[str, str]] = {"graph_code": "graph"}
ENVIRONMENT: Final = "SUPPLE_LOGS"

_log: Final = logging.getLogger("supple.log")


class _Stderr(logging.Handler):
    """Writes to whatever stderr is at the time."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        sys.stderr.write(f"{self.format(record)}\n")


class _Printer:
    """Prints the events of the chosen channels."""

    def __init__(self) -> None:
        self._stop: Callable[[], None] | None = None
        self._handler: logging.Handler | None = None
        self._by_event: dict[type[events.Event], str] = {}

    def choose(self, channels: set[str]) -> None:
        """Print these channels from now on, and no others."""
        if self._stop is not None:
            self._stop()
            self._stop = None
        self._by_event = {CHANNELS[name]: name for name in channels}
        if not channels:
            return
        self._stop = events.listen(self)
        if self._handler is None:
            self._handler = _Stderr()
            self._handler.setFormatter(logging.Formatter("[supple %(channel)s] %(message)s"))
            _log.addHandler(self._handler)
            _log.setLevel(logging.INFO)
            _log.propagate = False

    def __call__(self, event: events.Event) -> None:
        channel = self._by_event.get(type(event))
        text = "" if channel is None else render[type(event)](event)
        if text:
            _log.info("%s", text, extra={"channel": channel})


_PRINTER: Final = _Printer()


def set_logs(**channels: bool) -> None:
    """Print the channels that are true, and only those, to stderr: `set_logs(guards=True)`.

    Raises:
        ValueError: for an unknown channel; lists the known ones.
    """
    known = {_channel(name): is_on for name, is_on in channels.items()}
    _PRINTER.choose({name for name, is_on in known.items() if is_on})


def set_logs_from_environment() -> None:
    """Print the channels that SUPPLE_LOGS names, separated by commas; `+` before a name is accepted.

    Raises:
        ValueError: for an unknown channel; lists the known ones.
    """
    names = [name.strip().lstrip("+") for name in os.environ.get(ENVIRONMENT, "").split(",")]
    chosen = {_channel(name) for name in names if name}
    if chosen:
        _PRINTER.choose(chosen)


class UnknownChannelError(OptionsError, ValueError):
    """The name of a log channel is not known."""


def _channel(name: str) -> str:
    known = ALIASES.get(name, name)
    if known not in CHANNELS:
        listed = ", ".join(sorted({*CHANNELS, *ALIASES}))
        msg = f"unknown log channel {name!r}; the channels are {listed}"
        raise UnknownChannelError(msg)
    return known


# render: Event class -> what a channel prints; an empty text prints nothing.


@render.on(events.GuardsInstalled)
def _(event: events.Event) -> str:
    """The guard tree."""
    assert isinstance(event, events.GuardsInstalled), event
    return f"{event.compile_id}\n{event.text}"


@render.on(events.GraphCaptured)
def _(event: events.Event) -> str:
    """The captured graph."""
    assert isinstance(event, events.GraphCaptured), event
    return f"{event.compile_id}, {event.op_count} operations\n{event.text}"


@render.on(events.CompileStarted)
def _(event: events.Event) -> str:
    """Why the entries so far do not serve; nothing for a first compilation."""
    assert isinstance(event, events.CompileStarted), event
    if not event.failed_guards:
        return ""
    where = f"{event.function} at {event.where.filename}:{event.where.line}"
    return "\n".join(
        (f"{event.compile_id} compiles {where} again", *(f"  - {x}" for x in event.failed_guards))
    )


@render.on(events.GraphBroken)
def _(event: events.Event) -> str:
    """What, where, why, do, with the user's stack."""
    assert isinstance(event, events.GraphBroken), event
    return f"{event.compile_id} {event.text}"


@render.on(events.FellBack)
def _(event: events.Event) -> str:
    """What runs eager, and why."""
    assert isinstance(event, events.FellBack), event
    return f"{event.compile_id} {event.text}"


@render.on(events.GraphRefused)
def _(event: events.Event) -> str:
    """A captured graph that eager torch runs, and why."""
    assert isinstance(event, events.GraphRefused), event
    return f"a captured graph runs operator by operator: {event.why}"


@render.on(events.KernelFused)
def _(event: events.Event) -> str:
    """A kernel and the graph nodes in it."""
    assert isinstance(event, events.KernelFused), event
    return f"{event.kernel} = {', '.join(event.nodes)}\n{event.text}"


@render.on(events.CodeEmitted)
def _(event: events.Event) -> str:
    """Generated code."""
    assert isinstance(event, events.CodeEmitted), event
    return f"{event.kind} {event.name}\n{event.text}"


@render.on(events.StageTimed)
def _(event: events.Event) -> str:
    """How long a stage took."""
    assert isinstance(event, events.StageTimed), event
    return f"{event.stage} {event.seconds * 1e3:.1f} ms"


@render.on(events.EntryDropped)
def _(event: events.Event) -> str:
    """Which function lost an entry, and why."""
    assert isinstance(event, events.EntryDropped), event
    return f"{event.function}: {event.why}"


@render.on(events.CompileFinished)
def _(event: events.Event) -> str:
    """How long it took in all, or what went wrong."""
    assert isinstance(event, events.CompileFinished), event
    times = ", ".join(f"{stage} {seconds * 1e3:.1f} ms" for stage, seconds in event.seconds)
    return f"{event.compile_id} {event.error or times}"


@render.on(events.KernelsPlanned)
def _(event: events.Event) -> str:
    """What was fused into each kernel, and what is left to libraries."""
    assert isinstance(event, events.KernelsPlanned), event
    lines = [f"{name} = {', '.join(nodes)}" for name, nodes in event.kernels]
    return "\n".join((f"{len(lines)} kernels, {len(event.externs)} library calls", *lines))
