"""Capture one call, the stage's front door: a function and its arguments -> graph, guards, residual code."""

import inspect
import itertools
import types
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, cast

import torch

from supple.base import events
from supple.base.errors import Unsupported
from supple.base.options import Options
from supple.capture import breaks, effects, points, resume
from supple.capture.drive import HandOver, driven
from supple.capture.guards.explain import arguments
from supple.capture.guards.kinds import Guard, Kind
from supple.capture.guards.merge import merged
from supple.capture.guards.reads import reading
from supple.capture.held import counted_writes, has_effects, held_inputs, reaches_beyond
from supple.capture.interp import arithmetic, build, calls, excepts, jumps, names
from supple.capture.interp.engine import Engine, Stopped
from supple.capture.interp.frame import Frame
from supple.capture.rebuild import Builder, contents, rule_of
from supple.capture.residual import Const, Recovery, Writer, call_graph
from supple.capture.source import STATE, Source, local, own_names, pinned
from supple.capture.values.attributes import is_asked
from supple.capture.values.base import LazyValue, Raised, Value
from supple.capture.values.function import CellValue, FunctionValue, wrap_function
from supple.capture.values.instance import InstanceValue, has_dict
from supple.capture.values.mapping import DictValue
from supple.capture.values.sequence import SequenceValue
from supple.ir.graph.nodes import Graph, Input, hides_writes
from supple.ir.graph.numbers import has_denormals
from supple.ir.graph.symbols import numbers_of, simplified
from supple.runtime.modes import DEPTHS, HERE, Depth, deeper, depth, kept, nest
from supple.runtime.state import TRANSFORMS, Setting, State, mode_settings, state_now
from supple.runtime.undo import Counted, has_history, noting, version
from supple.shapes.checks import checked
from supple.shapes.env import using
from supple.shapes.errors import NoMeta, Undecided
from supple.shapes.fake import faking
from supple.shapes.profile import seen_for

OPCODE_RULES = (arithmetic, build, calls, excepts, jumps, names)
"""The modules that fill the opcode table."""
CONTENT_RULES = (effects,)
"""What fills the table of what objects hold."""

CompileGraph = Callable[[Graph, Sequence[object]], Callable[..., tuple[object, ...]]]


WHOLLY_EAGER: Final = (
    breaks.ESCAPED,
    breaks.SKIPPED,
    breaks.DEPTH,
    breaks.FRAMES,
    breaks.REFUSED_WRITE,
    breaks.SHOWN_OR_COPIED,
)
"""Reasons for which a call runs eager from its beginning; steps of a deep recursion would need more stack."""
ATTEMPTS: Final = 4
"""How many frames, from the innermost outwards, are tried to be left to Python at a break."""


@dataclass(frozen=True, slots=True)
class Captured:
    """What capture of one call gave.

    Attributes:
        guards: the conditions under which `run` (or the decision to run eager) holds.
        run: residual code, a function with the captured function's parameters; None when the call runs eager.
        reason: why it runs eager.
        graph: what was captured; None without tensor operations.
        broken: why `run` hands over to continuations.
        effects: what `run` changes of objects that existed before, in words; empty when nobody reads texts.
        symbols: what stands in the graph for each symbolic size and number, by its place; empty likewise.
    """

    guards: tuple[Guard, ...]
    run: Callable[..., object] | None
    reason: Unsupported | None
    graph: Graph | None
    broken: Unsupported | None = None
    effects: tuple[str, ...] = ()
    symbols: Mapping[str, str] = field(default_factory=dict[str, str])


def capture(
    function: types.FunctionType,
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    compile_graph: CompileGraph,
    options: Options,
    continuations: resume.Continuations | None = None,
) -> Captured:
    """Interpret one call of `function` on symbolic values and compile what it does with tensors.

    Nothing of the program's state is changed: side effects are journalled and replayed by `run`. At what it
    leaves to Python, capture is run again up to that instruction; `run` then hands what the frames
    hold over to `continuations`. Without them, or when that cannot be handed over, the call runs eager.

    Raises:
        TypeError: when the arguments do not fit the function's parameters, as calling it would.
    """
    bound = arguments(function, args, kwargs)
    once = _Once(function, bound, state_now(), compile_graph, options, continuations)
    found, stops = once.run(None)
    if found.reason is None or found.reason.reason in WHOLLY_EAGER:
        return found
    if continuations is None or options.must_raise(found.reason):
        return found
    for stop in stops[:ATTEMPTS]:
        again, _ = once.run(stop)
        if again.reason is None:
            return replace(again, broken=found.reason)
    return found


@dataclass(frozen=True, slots=True)
class _Once:
    """What every attempt at one call has in common."""

    target: object
    bound: Mapping[str, object]
    state: State
    compile_graph: CompileGraph
    options: Options
    continuations: resume.Continuations | None

    @property
    def function(self) -> types.FunctionType:
        """The function that is captured."""
        return cast("types.FunctionType", self.target)

    def run(self, stop_at: int | None) -> tuple[Captured, tuple[int, ...]]:
        """Capture up to an instruction, or whole; also return where a break could be left to Python."""
        engine = Engine(self.options, self.function.__globals__, seen_for(self.function.__code__))
        engine.stop_at = stop_at
        frame = _root_frame(engine, self.function, self.bound)
        with using(engine.sizes.env), reading() as reads:
            with faking() as fakes, _Restored() as restored:
                plan = _refusal(self.function, self.state) or _interpreted(engine, frame)
                changes = restored.changes(engine.heap.devices)
            engine.guard(STATE, Kind.STATE, self.state)
            graph, run, reason = None, None, None
            if isinstance(plan, Unsupported):
                reason, plan.is_error = plan, engine.region
            else:
                with _Restored():  # the backend may give up in the middle of the graph
                    graph, run = _finish(engine, self, replace(plan, changes=changes), fakes.is_random)
        engine.sizes.finish()
        guards = merged(tuple(engine.guards.values()))
        guards = (*reads.guards(), *guards, *engine.sizes.guards(), *_aliasing(engine, graph))
        is_told = events.listening()
        changed = tuple(_effects(engine)) if run is not None and is_told else ()
        symbols = engine.sizes.shown() if is_told else {}
        engine.forget()
        if reason is not None and not self.options.config.verbose:
            reason.with_traceback(None).__context__ = None  # frames of capture hold the arguments of the call
        return Captured(guards, run, reason, graph, None, changed, symbols), engine.stops


def _interpreted(engine: Engine, frame: Frame) -> "_Plan | Unsupported":
    """Return what residual code must make, or why capture gave up."""
    try:
        try:
            result = frame.run().value
            is_generator = frame.code.flags & inspect.CO_GENERATOR
            return _plan(engine, SequenceValue(tuple, [result]) if is_generator else result)
        except Stopped as stopped:
            return _stopped(engine, stopped.frames)
    except Unsupported as error:
        return error
    except Undecided as error:
        facts = {"condition": error.condition, "origin": error.origin or "the contents of a tensor"}
        return Unsupported(breaks.DATA_SIZE, engine.user_stack(), **facts)
    except NoMeta as error:
        return Unsupported(breaks.OBJECT, engine.user_stack(), name="tensor", detail=str(error))
    except Raised as raised:
        kind = raised.value.python_type()
        return Unsupported(breaks.ESCAPED, engine.raised_at[id(raised.value)][1], name=kind.__name__)


def _stopped(engine: Engine, frames: Sequence[Frame]) -> "_Plan":
    """Return the plan that makes what the frames hold: of each its cells and its values."""
    stays = _staying(engine, frames)
    left: list[_Left] = []
    states: list[Value] = []
    for frame, called in itertools.zip_longest(frames, frames[1:]):
        code = frame.code_object
        if not points.can_take(code, frame.pc - 1, frame.slots()):
            engine.unsupported(breaks.REBUILD, name="handler")
        point = points.point_at(code, frame.pc - 1, frame.locals, frame.slots())
        left.append((point, frame.function.global_names, _runs(frame, called)))
        values = frame.state(point, stays)
        if called is not None and called.about is not None:
            values.append(called.about)
        cells = SequenceValue(tuple, _cells(engine, frame))
        states.append(SequenceValue(tuple, [cells, SequenceValue(tuple, values)]))
    return replace(_plan(engine, SequenceValue(tuple, states)), frames=tuple(left))


def _staying(engine: Engine, frames: Sequence[Frame]) -> Container[int]:
    """Return the ids of what residual code makes or loads at a break for who reads or holds it later."""
    builder = Builder(engine, Writer())
    for frame in frames:
        point = points.point_at(frame.code_object, frame.pc - 1, frame.locals, frame.slots())
        for value in (*_cells(engine, frame), *frame.state(point)):
            builder.need(value)
    _need_effects(engine, builder, tuple(engine.heap.dirty.values()))
    return builder.needed


def _cells(engine: Engine, frame: Frame) -> list[Value]:
    cells: list[Value] = []
    for name in points.cell_names(frame.code_object):
        cell = frame.cells.get(name)
        if cell is None:
            engine.unsupported(breaks.REBUILD, name="closure cell")
        cells.append(cell)
    return cells


def _runs(frame: Frame, called: Frame | None) -> resume.Runs:
    """Return what the step of a frame runs in place of its instruction."""
    if called is None:
        return resume.Runs.INSTRUCTION
    if called.about is None:
        return resume.Runs.CALLED
    is_getter = frame.code.instructions[frame.pc - 1].op == "LOAD_ATTR"
    return resume.Runs.GETTER if is_getter else resume.Runs.INIT


def _root_frame(engine: Engine, function: types.FunctionType, bound: Mapping[str, object]) -> Frame:
    """Return the frame of the captured function; of one that only enters another, the other's."""
    values: dict[str, Value] = {name: LazyValue(value, local(name)) for name, value in bound.items()}
    enters = function.__dict__.get(resume.ENTERS)
    if enters is None:
        root = wrap_function(engine, function, pinned("F", function))
        root.closure = [engine.shared_cell(cell) for cell in root.closure]
        return Frame(engine, root, values)
    code, names = enters
    held = engine.wrap(bound[resume.CELLS], local(resume.CELLS))
    del values[resume.CELLS]
    assert isinstance(held, SequenceValue), held.describe()
    cells = [cell for cell in held.all(engine) if isinstance(cell, CellValue)]
    return Frame(engine, FunctionValue(code, names, cells), values)


def _refusal(function: types.FunctionType, state: State) -> Unsupported | None:
    now = dict(state.parts)
    if now["function_modes"] != (now["default_device"] is not None) or any(now[name] for name in TRANSFORMS):
        detail = "a mode or transform of torch is active, which sees every call that is made"
        return Unsupported(breaks.OBJECT, (), name="torch mode", detail=detail)
    is_continuation = resume.CONTINUES in function.__dict__
    is_generator = function.__code__.co_flags & inspect.CO_GENERATOR and not is_continuation
    if is_generator or function.__code__.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return Unsupported(breaks.GENERATOR, (), name=f"generator or coroutine ({function.__qualname__})")
    return None


class _Restored:
    """Grad mode, inference mode and autocast as they were before, however capture changed them."""

    def __enter__(self) -> "_Restored":
        self._before = mode_settings()
        self._depth = depth()
        return self

    def changes(self, devices: Sequence[torch.device]) -> "_Changes":
        """Return what sets the modes of now, and enters devices as contexts."""
        now = zip(self._before, mode_settings(), strict=True)
        nesting = deeper(self._depth)
        calls = [new for old, new in now if new != old or nesting != HERE]
        calls += [(torch.device.__enter__, (device,)) for device in devices]
        return _Changes(tuple(calls), nesting)

    def __exit__(self, *_: object) -> None:
        nest(self._depth)
        for setter, args in self._before:
            setter(*args)


@dataclass(frozen=True, slots=True)
class _Changes:
    """Calls that set modes, each (function, arguments), after what was entered."""

    calls: "tuple[Setting, ...]" = ()
    nesting: Depth = HERE


@dataclass(frozen=True, slots=True)
class _Plan:
    """What residual code must make.

    Attributes:
        result: what the call returns, or what the frames hold.
        dirty: the values that side effects write.
        frames: where each frame goes on, its globals, and by what; empty when the call is whole.
        changes: of modes.
    """

    result: Value
    dirty: tuple[Value, ...]
    frames: "tuple[_Left, ...]" = ()
    changes: _Changes = _Changes()


_Left = tuple[points.Point, dict[str, object], resume.Runs]


def _plan(engine: Engine, result: Value) -> _Plan:
    dirty = tuple(engine.heap.dirty.values())
    for value in dirty:
        if rule_of(contents, value) is None:
            engine.unsupported(breaks.SIDE_EFFECT, name=value.describe())
    written = next((value for value in dirty if isinstance(value, DictValue)), None)
    if written is not None and engine.has_views_of_dicts():
        engine.unsupported(breaks.SIDE_EFFECT, name=f"{written.describe()}, which a mappingproxy may show,")
    # A first, discarded pass finds out what cannot be made outside of the graph, before anything is compiled.
    probe = Builder(engine, Writer())
    probe.results = "_"
    _need(engine, probe, result, dirty)
    engine.refuse_open_generators(probe.generators)
    _write(engine, probe, result, dirty)
    _refuse_lost_histories(engine, probe)
    return _Plan(result, dirty)


def _refuse_lost_histories(engine: Engine, probe: Builder) -> None:
    """Give up where a graph that may raise, which the program sees, writes gradients' history into a view.

    Autograd's history of a view, or one that is longer than before, cannot be undone.
    """
    lifted = engine.recorder.lifted
    has_new = any(item.has_changed for item in lifted)
    written = [item for item in lifted if version(item.fake)]
    if has_new:  # which its views have come to share
        recorded = written
    else:
        recorded = [item for item in written if item.fake.requires_grad]
    if not any(has_history(item.real) for item in recorded):
        return
    graph = engine.recorder.graph(tuple(engine.recorder.var_of(one.fake) for one in probe.tensors.values()))
    is_told = any(at.is_caught for node in graph.nodes for at in node.where) or any(_effects(engine))
    fakes = {item.name: item.fake for item in lifted}
    if is_told and held_inputs(graph, fakes, is_counted=False) is not None:
        engine.unsupported(breaks.SIDE_EFFECT, name="what autograd knows of a tensor")


def _effects(engine: Engine) -> Iterator[str]:
    """Yield what residual code changes, in words and in the order of the changes."""
    for value in engine.heap.dirty.values():
        named = f": {', '.join(map(str, value.written))}" if isinstance(value, InstanceValue) else ""
        yield f"changes {value.source} ({value.python_type().__name__}){named}"
    for scope in engine.written_globals():
        yield f"sets globals of {scope.names.get('__name__')}: {', '.join(scope.written)}"
    for effect in engine.heap.effects:
        yield f"calls {effect.callee.describe()} with {', '.join(arg.describe() for arg in effect.args)}"


def _need(engine: Engine, builder: Builder, result: Value, dirty: Sequence[Value]) -> None:
    builder.need(result)
    _need_effects(engine, builder, dirty)


def _need_effects(engine: Engine, builder: Builder, dirty: Sequence[Value]) -> None:
    for value in dirty:
        builder.need(value)
    for names_ in engine.written_globals():
        for value in names_.written.values():
            builder.need(value)
    for effect in engine.heap.effects:
        for value in (effect.callee, *effect.args, *effect.kwargs.values()):
            builder.need(value)
    for _, value in engine.context_changes():
        builder.need(value)


def _finish(
    engine: Engine, once: _Once, plan: _Plan, is_random: bool
) -> tuple[Graph | None, Callable[..., object]]:
    function = once.function
    writer = Writer(function.__code__.co_firstlineno)
    builder = Builder(engine, writer)
    _need(engine, builder, plan.result, plan.dirty)
    graph = None
    outputs = (
        *(engine.recorder.var_of(tensor.fake) for tensor in builder.tensors.values()),
        *(number.expr for number in builder.numbers.values()),
    )
    is_nested = plan.changes.nesting != HERE
    if is_nested:
        writer.called(depth)
    before = writer.store() if is_nested else ""
    if engine.recorder.nodes or outputs:
        graph, inputs = _closed(engine, engine.recorder.graph(outputs, is_left=bool(plan.frames)))
        compiled = once.compile_graph(graph, [real for _, real in inputs])
        fakes = {item.name: item.fake for item in engine.recorder.lifted}
        is_seen = not any(map(hides_writes, graph.nodes))
        writes = has_effects(graph, list(fakes.values()) if is_seen else None)
        is_versioned = writes and is_seen
        is_caught = any(at.is_caught for node in graph.nodes for at in node.where)
        is_told = is_caught or any(_effects(engine))
        held = held_inputs(graph, fakes, is_counted=is_versioned) if is_told else None
        if writes or is_random or held is not None:
            compiled = noting(
                compiled,
                held,
                writes=writes,
                counted=counted_writes(graph) if is_versioned else Counted.NONE,
                is_random=is_random,
                is_beyond=reaches_beyond(graph),
            )
        compiled = kept()(compiled) if any(node.op.name in DEPTHS for node in graph.nodes) else compiled
        settings = mode_settings(defaults=engine.has_asked("autocast_defaults"))
        recover = Recovery(function, settings, writes, is_caught)
        builder.results = call_graph(writer, compiled, [source for source, _ in inputs], recover)
    if is_nested:
        writer.run(nest, before, Const(plan.changes.nesting))
    for setter, args in plan.changes.calls:
        writer.run(setter, *map(Const, args))
    final = _write(engine, builder, plan.result, plan.dirty)
    if plan.frames:
        writer.called(_hand_over(once, plan), final)
    else:
        writer.push(final)
    writer.op("RETURN_VALUE")
    code = writer.assemble(function.__code__)
    run = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__)
    run.__kwdefaults__ = function.__kwdefaults__
    goes_on = bool(plan.frames) and resume.CONTINUES not in function.__dict__
    return graph, driven(run) if goes_on else run


def _hand_over(once: _Once, plan: _Plan) -> HandOver:
    assert once.continuations is not None, "a stopped capture has continuations"
    steps = tuple(resume.step(point, names, once.continuations, runs) for point, names, runs in plan.frames)
    return HandOver(steps)


def _closed(engine: Engine, graph: Graph) -> tuple[Graph, list[tuple[Source, object]]]:
    """Return the graph with the inputs that it uses, symbols first; and of each its place and present value.

    Sizes are in the simplest form that the guards of the capture allow. Constants that are denormal numbers
    are rounded as the process does it, so that is guarded.
    """
    if has_denormals(graph):
        engine.ask_state("denormals")
    sizes = engine.sizes
    used = engine.recorder.used_names(graph.outputs)
    tensors = tuple(item for item in graph.inputs if item.name in used)
    graph = replace(graph, inputs=tensors)
    numbers: list[str] = []
    if sizes.env.symbols or sizes.env.floats:
        simple = simplified(graph, sizes.env.current, sizes.env.specialized)
        graph = checked(simple, sizes.env.deferred, is_eager=True)
        tensors = graph.inputs
        numbers = [name for name in numbers_of(graph) if name in sizes.sources]
    symbols = tuple(Input(name, sizes.meta(name), sizes.sources[name].name) for name in numbers)
    inputs: list[tuple[Source, object]] = [(sizes.sources[name], sizes.example(name)) for name in numbers]
    inputs += [(item.source, item.real) for item in engine.recorder.lifted if item.name in used]
    return replace(graph, inputs=(*symbols, *tensors)), inputs


def _write(engine: Engine, builder: Builder, result: Value, dirty: Sequence[Value]) -> str:
    """Emit prepare and effects, see the module residual; return the variable that holds the result."""
    writer = builder.writer
    final = builder.prepare(result)
    prepared, writer.code = writer.code, []
    for value in dirty:
        write = rule_of(contents, value)
        assert write is not None, value.describe()
        write(builder, value)
    for scope in engine.written_globals():
        for name, value in scope.written.items():
            writer.push(builder.prepare(value), Const(scope.names), Const(name))
            writer.op("STORE_SUBSCR")
    for variable, value in engine.context_changes():
        writer.run(variable, builder.prepare(value))
    builder.finish(late=True)
    for effect in engine.heap.effects:
        called = builder.all((effect.callee, *effect.args, *effect.kwargs.values()))
        writer.op("PUSH_NULL")
        writer.push(*called)
        writer.op("CALL", (len(called) - 1 - len(effect.kwargs), tuple(effect.kwargs)))
        writer.op("POP_TOP")
    builder.finish()
    writer.code = [*prepared, *writer.code]
    return final


def _aliasing(engine: Engine, graph: Graph | None) -> tuple[Guard, ...]:
    """Return guards that objects are different ones: where the call writes to one of them, or tells them
    apart by identity."""
    guards = [_different(engine, value) for value in engine.heap.dirty.values()]
    by_class: dict[type, list[Source]] = {}
    for value in engine.told_apart.values():
        assert value.source is not None, value.describe()
        by_class.setdefault(value.python_type(), []).append(value.source)
    guards += by_class.values()
    if graph is not None and not all(node.op.is_pure for node in graph.nodes):
        guards.append([item.source for item in engine.recorder.lifted])
    # That these objects differ from each other is said once, whichever of them are written.
    sets = {frozenset(source.name for source in sources): sources for sources in guards if len(sources) > 1}
    unlike = [Guard(first, Kind.DISTINCT, None, None, tuple(others)) for first, *others in sets.values()]
    return (*unlike, *_unrelated(engine))


def _unrelated(engine: Engine) -> Iterator[Guard]:
    """Yield guards that what gains a history is no view of what another input shows, nor that one of it."""
    lifted = engine.recorder.lifted
    for item in lifted:
        others = tuple(other.source for other in lifted if other is not item)
        if item.has_changed and others:
            yield Guard(item.source, Kind.DISTINCT, True, None, others)


def _different(engine: Engine, written: Value) -> list[Source]:
    """Return where a written object was found, then where the other objects of its class were.

    Of objects that have a dict of attributes it is where that is.
    """
    if written.source is None:
        return []
    if isinstance(written, CellValue):
        found = [written, *(cell for cell in engine.cells() if cell is not written)]
        return [
            cell.source.base for cell in found if cell.source is not None and cell.source.base is not None
        ]
    kind = written.python_type()
    existing = (
        value
        for obj, value in engine.objects.values()
        if type(obj) is kind and value.source != written.source
    )
    found = [written.source, *(value.source for value in existing if value.source is not None)]
    if not isinstance(written, InstanceValue) or not has_dict(kind):
        return found
    # Objects may share the dict of their attributes, and a dict can be its own: the dicts differ.
    dicts = [own_names(source, is_asked=is_asked(kind)) for source in found]
    return [*found, *dicts] if issubclass(kind, dict) else dicts
