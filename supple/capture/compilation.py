"""One compilation: a call that found no entry -> capture, guards, a checked entry; with events and times."""

import gc
import inspect
import time
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import torch

from supple.base import events
from supple.base.collector import collecting
from supple.base.errors import InternalError, OptionsError, Unsupported, Where
from supple.base.options import Options
from supple.base.stance import Backend
from supple.capture.frame import Captured, CompileGraph, capture
from supple.capture.guards import tree
from supple.capture.guards.emit import Checker, checker
from supple.capture.guards.explain import why
from supple.capture.guards.hold import watched, weakened
from supple.capture.guards.kinds import Guard, Kind
from supple.capture.resume import CONTINUES, ENTERS, Continuations
from supple.capture.sizes import expectation
from supple.capture.source import local
from supple.ir.graph.nodes import Graph
from supple.ir.graph.numbers import has_denormals
from supple.ir.graph.text import text as graph_text
from supple.ir.key import key_of
from supple.runtime.entries import Entry
from supple.runtime.state import flushes_denormals, keeping_denormals, state_now
from supple.shapes.env import active
from supple.torch_private import without_saved_tensor_hooks


def _only(backend: Backend, options: Options) -> CompileGraph:
    raise OptionsError(f"no backends but the given one are known here, not {backend!r}")


@dataclass(frozen=True, slots=True)
class Compiler:
    """What compiles graphs, and how; `resolve` finds what compiles for another (backend, options)."""

    compile_graph: CompileGraph
    options: Options
    resolve: Callable[[Backend, Options], CompileGraph] = _only


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a Python function: its arguments as passed, and as its parameters are bound."""

    target: object
    args: tuple[object, ...]
    kwargs: Mapping[str, object]
    values: Mapping[str, object]

    @property
    def function(self) -> types.FunctionType:
        """The function."""
        return cast("types.FunctionType", self.target)

    @property
    def where(self) -> Where:
        """Where the function stands."""
        return place_of(self.function)


Built = tuple[str, Callable[..., tuple[object, ...]]]
"""The key of a graph, and the compiled graph."""


def graph_key(graph: Graph, options: Options) -> str | None:
    """Return the key of what a backend compiles: a graph, what is known of its sizes, options, state.

    None where the graph holds objects without a form, or calls what the program defines and may define anew.
    """
    if not all(node.op.is_own for node in graph.nodes):
        return None
    env = active()
    assumptions = None if env is None else env.assumptions()
    return key_of(graph, assumptions, options, state_now(), flushes_denormals())


@dataclass(frozen=True, slots=True)
class About:
    """What explains an entry: its guards, objects whose ids they name and that must not die, its number.

    Attributes:
        built: its graph.
    """

    guards: tuple[Guard, ...]
    kept: tuple[object, ...] = ()
    compile_id: str = ""
    built: Built | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """A new entry; it must go when one of the `watched` objects dies.

    Attributes:
        reason: why it runs eager.
        broken: why it hands over to continuations.
    """

    entry: Entry
    watched: tuple[object, ...]
    reason: Unsupported | None = None
    broken: Unsupported | None = None


def place_of(function: types.FunctionType) -> Where:
    """Return where a function is defined, or where one that is a continuation goes on."""
    code = function.__code__
    line = code.co_firstlineno
    if CONTINUES in function.__dict__:
        made, _ = function.__dict__.get(ENTERS, (code, None))
        lines = (number for _, _, number in made.co_lines())
        line = next((number for number in lines if number not in (None, line)), line)
    return Where(code.co_filename, line, code.co_qualname.partition(" from ")[0])


def compile_call(
    call: Call,
    compiler: Compiler,
    compile_id: str,
    continuations: Continuations,
    earlier: Sequence[Entry] = (),
) -> Made:
    """Capture a call and return its entry; where capture gives up, one that runs the function itself.

    A graph that one of the `earlier` entries has is not compiled again.

    Raises:
        InternalError: the guards do not hold for the very call that they were made from.
        Exception: whatever a bug in the compiler, or a backend, raises.
    """
    started = time.perf_counter()
    backend_seconds = [0.0]

    def compile_graph(graph: Graph, examples: Sequence[object]) -> Callable[..., tuple[object, ...]]:
        env = active()
        version = 0 if env is None else env.version
        key = graph_key(graph, options)
        run = next((done[1] for done in known if done[0] == key), None)
        if run is None:
            ops = tuple(node.op.name for node in graph.nodes)
            events.emit(events.GraphCaptured(compile_id, graph_text(graph, is_brief=True), len(ops), ops))
            begun = time.perf_counter()
            try:
                with collecting(was_collecting), keeping_denormals(unless=has_denormals(graph)):
                    run = compiler.compile_graph(graph, examples)
            finally:
                backend_seconds[0] += time.perf_counter() - begun
        if key is not None and (env is None or env.version == version):  # no guard was made meanwhile
            built.append((key, run))
        return run

    built: list[Built] = []
    abouts = (entry.about for entry in earlier)
    known = [one.built for one in abouts if isinstance(one, About) and one.built is not None]
    options = compiler.options.fixed()
    was_collecting = gc.isenabled()
    with collecting(False), without_saved_tensor_hooks():
        captured = capture(call.function, call.args, call.kwargs, compile_graph, options, continuations)
    captured_at = time.perf_counter()
    made = entry_of(call, captured, compile_id, built[-1] if built else None)
    ended = time.perf_counter()
    seconds = {"capture": captured_at - started - backend_seconds[0], "guards": ended - captured_at}
    for stage, value in seconds.items():
        events.emit(events.StageTimed(stage, value))
    events.emit(events.CompileFinished(compile_id, (("total", ended - started), *seconds.items())))
    return made


def entry_of(call: Call, captured: Captured, compile_id: str, built: Built | None) -> Made:
    """Return the entry of what was captured."""
    guards = weakened(sorted(captured.guards, key=lambda guard: guard.kind is not Kind.STATE))
    made = checked(call, guards)
    weak, kept = watched(guards, call.values)
    if events.listening():
        said = tuple(events.GuardTold(one.source.name, tree.describe(one), one.where) for one in guards)
        places = tuple(tree.sizes(guards, captured.symbols))
        text = tree.text(guards)
        events.emit(events.GuardsInstalled(compile_id, text, made.text, len(guards), said, places))
    broken = captured.reason or captured.broken
    if broken is not None:
        parts = (broken.what, broken.why, broken.do)
        code, is_eager = broken.reason.code, captured.run is None
        events.emit(
            events.GraphBroken(compile_id, code, str(broken), broken.stack, *parts, is_eager=is_eager)
        )
    run = captured.run or call.function
    if isinstance(residual := inspect.unwrap(run), types.FunctionType) and captured.run is not None:
        code = call.function.__code__
        events.emit(events.BytecodeMade(compile_id, code, residual.__code__, captured.effects))
    return Made(
        Entry(made.check, run, About(guards, kept, compile_id, built)), weak, captured.reason, captured.broken
    )


def checked(call: Call, guards: tuple[Guard, ...]) -> Checker:
    """Return the check of guards, which must hold for the call that they were made from."""
    made = checker(guards, call.function)
    failed: int | None = made.check(*call.args, **call.kwargs)
    if failed is not None:
        msg = f"a guard does not hold for the captured call itself: {why(guards[failed], call.values)}"
        raise InternalError(msg)
    return made


def argument_guards(call: Call) -> tuple[Guard, ...]:
    """Return guards on the arguments alone: their types and, of tensors, the metadata."""
    return tuple(_argument_guard(name, value) for name, value in call.values.items())


def _argument_guard(name: str, value: object) -> Guard:
    if type(value) not in (torch.Tensor, torch.nn.Parameter):
        return Guard(local(name), Kind.TYPE, type(value))
    assert isinstance(value, torch.Tensor), value
    if value.layout is not torch.strided:
        return Guard(local(name), Kind.TYPE, type(value))
    return Guard(local(name), Kind.TENSOR, expectation(value, tuple(value.shape), tuple(value.stride())))
