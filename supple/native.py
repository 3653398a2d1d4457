"""The native backend: a functional ATen graph is scheduled, compiled to machine code and loaded."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch

from supple import codegen
from supple.base import events
from supple.base.errors import SpecError
from supple.base.options import Options
from supple.driver import Functional, timed
from supple.expr import Expr, sort_key, substitute, symbol
from supple.expr.real import symbols_of
from supple.ir.graph import spec as graph_spec
from supple.ir.graph import text as graph_text
from supple.ir.graph.nodes import Graph, Var, map_arg, numbers_in, with_mapped
from supple.ir.graph.symbols import mapped
from supple.ir.host import interp as host_interp
from supple.ir.host import spec as host_spec
from supple.ir.host.nodes import Extern
from supple.ir.key import key_of
from supple.ir.loops import interp as nest_interp
from supple.ir.loops import spec as nest_spec
from supple.ir.loops import text as nest_text
from supple.ir.loops.nodes import Access
from supple.ir.program import Scheduled
from supple.runtime.load import Run, load
from supple.runtime.loaded import LOADED
from supple.runtime.state import flushes_denormals
from supple.schedule import schedule
from supple.shapes.env import Assumptions, active


def native(options: Options) -> Functional:
    """Return what compiles graphs to machine code."""
    return Functional(options, loaded)


def by_loops(graph: Graph, options: Options, homes: Mapping[int, int]) -> Run:
    """Return a functional graph scheduled, and run by interpreters: all of native but code generation."""
    scheduled = schedule(graph, codegen.host_target(), fusion=options.fusion, homes=homes)
    nests = {nest.name: nest for nest in scheduled.nests}

    def run_kernel(name: str, tensors: Sequence[torch.Tensor], numbers: Sequence[float]) -> None:
        nest = nests[name]
        buffers = [buffer.name for buffer in nest.buffers if buffer.access is not Access.SCRATCH]
        sizes = [size.name for size in nest.sizes]
        nest_interp.run(
            nest, dict(zip(buffers, tensors, strict=True)), dict(zip(sizes, numbers, strict=True))
        )

    return lambda inputs: host_interp.run(scheduled.host, list(inputs), run_kernel)


def loaded(graph: Graph, options: Options, homes: Mapping[int, int]) -> Run:
    """Return the machine code of a functional ATen graph, built now or before."""
    key = stable_key(graph, options, homes)
    found = None if key is None else LOADED.find(key)
    if found is None:
        env = active()
        before = 0 if env is None else env.version
        found = build(graph, options, homes)
        # Code that rests on guards made while it was built is for this compilation alone.
        if key is not None and (env is None or env.version == before):
            LOADED.keep(key, found)
    return found


def build(graph: Graph, options: Options, homes: Mapping[int, int]) -> Run:
    """Schedule, compile and load a functional ATen graph, of which results may replace inputs.

    Raises:
        SpecError: under the option `check`, when a stage made a program that breaks its language's rules.
    """
    target = codegen.host_target()
    check_graph(graph, options.spec_level)
    with timed("schedule"):
        scheduled = schedule(graph, target, fusion=options.fusion, homes=homes)
    check_scheduled(scheduled, options.spec_level)
    announce(scheduled)
    with timed("codegen"):
        guarded = described(graph, scheduled) if options.guards_memory else None
        artifact = codegen.emit(scheduled, target, guarded)
    with timed("load"):
        return load(artifact)


def described(graph: Graph, scheduled: Scheduled) -> Mapping[str, str]:
    """Return what people know each kernel by: its name, what it computes, and the user's line.

    The line is that of the last operator. Equal kernels are one, with the line of the first.
    """
    places = {node.name: node.where[-1] for node in graph.nodes if node.where}
    found: dict[str, str] = {}
    for nest in scheduled.nests:
        where = next((places[name] for name in reversed(nest.origin) if name in places), None)
        line = "" if where is None else f" at {where.filename}:{where.line} in {where.function}"
        found[nest.name] = f"{nest.name} ({', '.join(nest.origin)}){line}"
    return found


def check_graph(graph: Graph, level: int) -> None:
    """Check a decomposed graph: its spec from level 1 on, and from level 2 on that its text reads back."""
    if level >= 1:
        graph_spec.check_core(graph)
    if level >= 2:
        shown = graph_text.text(graph)
        if "opaque(" not in shown:
            _require_equal(graph_text.text(graph_text.parse(shown)), shown)


def check_scheduled(scheduled: Scheduled, level: int) -> None:
    """Check kernels and host program, as `check_graph` does."""
    if level >= 1:
        for nest in scheduled.nests:
            nest_spec.check(nest)
        host_spec.check(scheduled.host)
    if level >= 2:
        for nest in scheduled.nests:
            _require_equal(nest_text.parse(nest_text.text(nest)), nest)


def _require_equal(read: object, written: object) -> None:
    if read != written:
        raise SpecError(f"the text reads back as another program: {read} in place of {written}")


def stable_key(graph: Graph, options: Options, homes: Mapping[int, int]) -> str | None:
    """Return the key of what `build` compiles, the same in every process; None when a part has no form."""
    graph, facts = canonical(graph)
    host = codegen.host_target(), str(codegen.host_cpu())
    return key_of(graph, facts, options, homes, host, flushes_denormals())


def canonical(graph: Graph) -> tuple[Graph, tuple[object, ...]]:
    """Return a graph and what is known of symbols under names that equal graphs share.

    Values and symbols are numbered in the order in which they appear; where inputs come from is left out.
    """
    numbers = {name: f"v{place}" for place, name in enumerate(graph.metas())}

    def numbered(var: Var) -> Var:
        return Var(numbers[var.name], var.path)

    inputs = tuple(replace(item, name=numbers[item.name], source="") for item in graph.inputs)
    nodes = tuple(replace(with_mapped(node, numbered), name=numbers[node.name]) for node in graph.nodes)
    plain = Graph(inputs, nodes, map_arg(numbered, graph.outputs))
    env = active()
    known = Assumptions() if env is None else env.assumptions()
    facts = (*known.facts, *known.comparisons)
    found = (
        s
        for number in (*(n for meta in plain.metas().values() for n in numbers_in(meta)), *known.facts)
        for s in sorted(symbols_of(number), key=sort_key)
    )
    renamed = {
        s: symbol(f"n{place}", minimum=s.minimum, maximum=s.maximum)
        for place, s in enumerate(dict.fromkeys(found))
    }

    def rename(e: Expr) -> Expr:
        return substitute(e, renamed)

    said = tuple(rename(fact) if isinstance(fact, Expr) else fact for fact in facts)
    return mapped(plain, rename) if renamed else plain, (said, known.floats)


def announce(scheduled: Scheduled) -> None:
    """Tell listeners what was fused into which kernel, and what libraries do."""
    kernels = tuple((nest.name, nest.origin) for nest in scheduled.nests)
    externs = tuple(step.op for step in scheduled.host.steps if isinstance(step, Extern))
    events.emit(events.KernelsPlanned(kernels, externs))
