"""The human log: channels that print events through `logging`, to stderr, each line with a prefix.

    I0228 12:04:24.190000 2990033 supple/shapes/env.py:299] [0/2] [__dynamic] eval Eq(s0, 33) [guard added]

The prefix: level and date, time, thread, the compiler's line that says so, the compilation, the channel.
"""

import logging
import os
import reprlib
import sys
import threading
import time
import traceback
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar, cast

from supple.base import events
from supple.base.config import config
from supple.base.errors import OptionsError, Where
from supple.capture.bytecode import decode
from supple.expr import And, Eq, Expr, Le, Ne, Or, parse
from supple.expr import text as expression

E = TypeVar("E", bound=events.Event)
Render = Callable[[events.Event], str]

ALIASES: Final[Mapping[str, str]] = {"graph": "graph_code"}
ENVIRONMENT: Final = "SUPPLE_LOGS"
EXTENDED: Final = "SUPPLE_EXTENDED_DEBUG_GUARD_ADDED"
BY_LEVEL: Final[Mapping[str, int]] = {
    "trace_bytecode": logging.DEBUG,
    **dict.fromkeys(("compiles", "bytecode", "graph_code"), logging.INFO),
}
"""Channels that `config.log_level` turns on, each with the level from which on."""
LEVELS: Final[Mapping[str, int]] = {"+": logging.DEBUG, "-": logging.ERROR}

#: For each channel the events that it prints, each with the level of the lines and what makes them.
CHANNELS: Final[dict[str, list[tuple[type[events.Event], int, Render]]]] = {}

_log: Final = logging.getLogger("supple.log")


def on(channel: str, kind: type[E], render: Callable[[E], str], level: int = logging.INFO) -> None:
    """Let a channel print an event; an empty text prints nothing."""
    CHANNELS.setdefault(channel, []).append((kind, level, cast("Render", render)))


class _Stderr(logging.Handler):
    """Writes to whatever stderr is at the time."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        sys.stderr.write(f"{self.format(record)}\n")


class _Thread(threading.local):
    compile_id: str = ""


class _Printer:
    """Prints the events of the chosen channels, and of those that `config.log_level` asks for."""

    def __init__(self) -> None:
        self._stop: Callable[[], object] = tuple
        self._chosen: Mapping[str, int] = {}
        self._level = logging.WARNING
        self._rules: dict[type[events.Event], list[tuple[str, int, Render]]] = {}
        self._thread = _Thread()

    def follow(self, event: events.Event) -> None:
        """Let the level that holds when a compilation begins add channels."""
        if not isinstance(event, events.CompileStarted) or config.now().log_level == self._level:
            return
        self._level = config.now().log_level
        self.choose(self._chosen)
        self._thread.compile_id = event.compile_id

    def choose(self, channels: Mapping[str, int]) -> None:
        """Print these channels from now on, lines of these levels and above, and no others."""
        self._stop()
        self._chosen = channels
        self._rules = {}
        added = {name: level for name, level in BY_LEVEL.items() if level >= self._level}
        for channel, least in {**added, **channels}.items():
            for kind, level, render in CHANNELS[channel]:
                if level >= least:
                    self._rules.setdefault(kind, []).append((channel, level, render))
        if not self._rules:
            return
        self._stop = events.listen(self, traces=events.InstructionTraced in self._rules)
        if not _log.handlers:
            _log.addHandler(_Stderr())
            _log.setLevel(logging.DEBUG)
            _log.propagate = False

    def __call__(self, event: events.Event) -> None:
        thread = self._thread
        if isinstance(event, events.CompileStarted):
            thread.compile_id = event.compile_id
        compile_id = event.compile_id if isinstance(event, events.OF_COMPILATION) else thread.compile_id
        for channel, level, render in self._rules.get(type(event), ()):
            text = render(event)
            if text:
                begin = f"{_prefix(level)} [{compile_id}] [__{channel}]"
                _log.log(level, "%s", "\n".join(f"{begin} {line}" for line in text.splitlines()))
        if isinstance(event, events.CompileFinished):
            thread.compile_id = ""


def _prefix(level: int) -> str:
    now = time.time()
    at = time.strftime("%m%d %H:%M:%S", time.localtime(now))
    letter = "V" if level == logging.DEBUG else logging.getLevelName(level)[0]
    frame = _emitter()
    file = "/".join(frame.f_code.co_filename.split("/")[-3:])
    return f"{letter}{at}.{int(now % 1 * 1e6):06d} {threading.get_native_id()} {file}:{frame.f_lineno}]"


def _emitter() -> types.FrameType:
    """Return the frame that emitted the event."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  # documented, and fast
    while frame.f_back is not None and frame.f_code.co_filename in (__file__, events.__file__):
        frame = frame.f_back
    return frame


_PRINTER: Final = _Printer()
events.listen(_PRINTER.follow, reads_texts=False)


def set_logs(**channels: bool | int | None) -> None:
    """Print these channels, and only these, to stderr: `set_logs(guards=True, dynamic=logging.DEBUG)`.

    Raises:
        OptionsError: (a ValueError) for an unknown channel; lists the known ones.
    """
    chosen: dict[str, int] = {}
    for name, value in channels.items():
        channel = _channel(name)
        if value is not None and value is not False:
            chosen[channel] = logging.INFO if value is True else value
    _PRINTER.choose(chosen)


def set_logs_from_environment() -> None:
    """Print the channels that SUPPLE_LOGS names, separated by commas; `+dynamic` prints its details too.

    A name that is no channel is warned of, and stops nothing.
    """
    chosen: dict[str, int] = {}
    for name in filter(None, (name.strip() for name in os.environ.get(ENVIRONMENT, "").split(","))):
        try:
            chosen[_channel(name.lstrip("+-"))] = LEVELS.get(name[0], logging.INFO)
        except UnknownChannelError as error:
            logging.getLogger("supple").warning("%s: %s", ENVIRONMENT, error)
    if chosen:
        _PRINTER.choose(chosen)


class UnknownChannelError(OptionsError, ValueError):
    """The name of a log channel is not known."""


def _channel(name: str) -> str:
    known = ALIASES.get(name, name)
    if known not in CHANNELS:
        listed = ", ".join(sorted({*CHANNELS, *ALIASES}))
        raise UnknownChannelError(f"unknown log channel {name!r}; the channels are {listed}")
    return known


def _recompiled(event: events.CompileStarted, failed: Sequence[events.FailedGuard]) -> str:
    """Return why the entries so far do not serve, and what to do; nothing for a first compilation."""
    if not event.failed_guards:
        return ""
    lines = [f"Recompiling function {event.function} in {event.where.filename}:{event.where.line}"]
    lines.append("    triggered by the following guard failure(s):")
    for one in failed:
        lines.append(f"    - {one}")
        lines.append(f"      {'' if one.is_size else 'not '}size-related. {one.hint}")
    return "\n".join(lines)


def _sizes(event: events.GuardsInstalled) -> str:
    """Return what each size is; the guard on a tensor checks those that are numbers, so no other does."""
    tracked = [f"track_symint {place} {value}" for place, value in event.sizes]
    skipped = [f"Skipping guard {place} == {value}" for place, value in event.sizes if value.isdigit()]
    return "\n".join((*tracked, *skipped))


def _bytecode(event: events.BytecodeMade) -> str:
    """Return the function's own instructions, then those of the code that runs in their place."""
    name = f"{event.original.co_qualname} in {event.original.co_filename}:{event.original.co_firstlineno}"
    own, made = map(_instructions, (event.original, event.made))
    return f"ORIGINAL BYTECODE {name}\n{own}\nMODIFIED BYTECODE {name}\n{made}"


def _instructions(code: types.CodeType) -> str:
    """Return the instructions of a code object: number, line, name, argument, where it jumps to."""
    lines: list[str] = []
    for number, one in enumerate(decode(code).instructions):
        line = "" if one.position is None else one.position.line
        arg = "" if one.arg is None and one.op != "LOAD_CONST" else reprlib.repr(one.arg)
        to = "" if one.target is None else f"to {one.target}"
        lines.append(f"{number:5} {line or '':>5}  {one.op:26} {arg}{to}".rstrip())
    return "\n".join(lines)


def _bounds(low: object, high: object) -> str:
    return f"[{'-int_oo' if low is None else low}, {'int_oo' if high is None else high}]"


def _kernels(event: events.KernelsPlanned) -> str:
    """Return how many kernels and library calls there are, and which nodes each kernel computes."""
    lines = [f"{len(event.kernels)} kernels, {len(event.externs)} library calls"]
    return "\n".join(lines + [f"{name} = {', '.join(nodes)}" for name, nodes in event.kernels])


def _place(stack: Sequence[Where]) -> str:
    return "".join(f"{at.text}  # {at.filename}:{at.line} in {at.function}" for at in stack[-1:])


def _created(event: events.SymbolCreated) -> str:
    hint = "" if event.hint is None else f" = {event.hint}"
    bounds = _bounds(*event.bounds)
    return f"create_symbol {event.name}{hint} for {event.origin} {bounds} ({event.why}) {_place(event.stack)}"


def _guarded(event: events.ShapeGuarded) -> str:
    condition = shown(event.condition)
    line = f"eval {condition} [guard added] {_place(event.stack)} ({event.ours})"
    if os.environ.get(EXTENDED) not in (condition, event.condition):
        return f'{line}, for more info run with {EXTENDED}="{condition}"'
    return f"{line}\n{''.join(traceback.format_stack(_emitter()))}"


def _narrowed(event: events.ShapeGuarded) -> str:
    """Return what follows from a guard: narrower ranges, and symbols that are known now."""
    lines: list[str] = []
    for fact in event.follows:
        name, is_equal, value = fact.partition(" = ")
        if not is_equal:
            name, _, bounds = fact.partition(" in ")
            lines.append(f"_update_var_to_range {name} = VR{bounds.replace('oo', 'int_oo')} (update)")
            continue
        if value.lstrip("-").isdigit():
            lines.append(f"_update_var_to_range {name} = VR[{value}, {value}] (update)")
        lines.append(f"set_replacement {name} = {value}")
    return "\n".join(lines)


def shown(condition: str) -> str:
    """Return a condition in symbolic algebra: `Eq(s0, 33)`, `s0 > 30`; of floats as it is."""
    try:
        return _shown(parse(condition))
    except ValueError:  # which has no floats
        return condition


def _shown(e: Expr) -> str:
    match e:
        case Eq() | Ne():
            return f"{type(e).__name__}({', '.join(map(_shown, e.args))})"
        case And() | Or():
            return (" & " if isinstance(e, And) else " | ").join(f"({_shown(arg)})" for arg in e.args)
        case Le() if e.args[0].is_const:
            return f"{_shown(e.args[1])} > {e.args[0].value - 1}"
        case _:
            return expression(e, ranges=False)


on("graph_code", events.GraphCaptured, lambda e: f"TRACED GRAPH\n ===== {e.compile_id} =====\n{e.text}")
on("bytecode", events.BytecodeMade, _bytecode)
on("side_effects", events.BytecodeMade, lambda e: "\n".join(e.effects))
on("guards", events.GuardsInstalled, lambda e: e.text)
on("recompiles", events.CompileStarted, lambda e: _recompiled(e, e.failed_guards))
on("recompiles_verbose", events.CompileStarted, lambda e: _recompiled(e, e.all_failed()))
on("graph_breaks", events.GraphBroken, lambda e: e.text)
on("dynamic", events.CompileStarted, lambda _: "create_env")
on("dynamic", events.SymbolCreated, _created)
on("dynamic", events.ShapeGuarded, _guarded)
on("dynamic", events.ShapeGuarded, _narrowed, logging.DEBUG)
on("dynamic", events.GuardsInstalled, lambda _: "produce_guards")
on("dynamic", events.GuardsInstalled, _sizes, logging.DEBUG)
on(
    "trace_bytecode",
    events.InstructionTraced,
    lambda e: f"{e.where.line:5} {e.where.function}  {e.op} {'' if e.arg is None else reprlib.repr(e.arg)}",
)
on("fallbacks", events.FellBack, lambda e: e.text)
on("refusals", events.GraphRefused, lambda e: f"a captured graph runs operator by operator: {e.why}")
on("aot_joint_graph", events.GraphsSplit, lambda e: e.joint and f"JOINT GRAPH\n{e.joint}")
on("aot_graphs", events.GraphsSplit, lambda e: f"FORWARD GRAPH\n{e.forward}")
on("aot_graphs", events.GraphsSplit, lambda e: e.backward and f"BACKWARD GRAPH\n{e.backward}")
on("verify", events.GraphVerified, lambda e: e.text)
on("fusion", events.KernelFused, lambda e: f"{e.kernel} = {', '.join(e.nodes)}\n{e.text}")
on("output_code", events.CodeEmitted, lambda e: f"{e.kind} {e.name}\n{e.text}")
on("times", events.StageTimed, lambda e: f"{e.stage} {e.seconds * 1e3:.1f} ms")
on("entries", events.EntryDropped, lambda e: f"{e.function}: {e.why}")
on(
    "compiles",
    events.CompileFinished,
    lambda e: e.error or ", ".join(f"{stage} {seconds * 1e3:.1f} ms" for stage, seconds in e.seconds),
)
on("kernels", events.KernelsPlanned, _kernels)
