"""The front door of this stage: a functional ATen graph -> kernels and a host program."""

from collections.abc import Mapping
from typing import Final

from supple.base import events
from supple.expr import Expr, Symbol, const
from supple.ir.graph.nodes import Graph
from supple.ir.host.nodes import Bind, Host, Launch
from supple.ir.loops.nodes import Access, Nest, Role
from supple.ir.loops.text import text as loops_text
from supple.ir.program import Scheduled, Target
from supple.schedule import create, gather, pointwise, reduce, views
from supple.schedule.build import Kernel, build
from supple.schedule.canonical import KernelNames
from supple.schedule.check import checked
from supple.schedule.epilogue import with_epilogues
from supple.schedule.exact import Computed, stands_for
from supple.schedule.fuse import fuse
from supple.schedule.host import Steps, identifiers
from supple.schedule.in_place import in_place, marked
from supple.schedule.lower import Lowered, lower
from supple.schedule.memory import defined, freed, renamed_step, shaped, taken_over
from supple.schedule.tile import tile

RULES = (create, gather, pointwise, reduce, views)
"""The modules that fill `lower.lowerings`."""


NO_HOMES: Final[Mapping[int, int]] = {}


def schedule(
    graph: Graph, target: Target, *, fusion: bool = True, homes: Mapping[int, int] = NO_HOMES
) -> Scheduled:
    """Return the kernels and the host program of a functional ATen graph.

    Without `fusion` each computed node is a kernel of its own (views and creation ops aside).

    Args:
        homes: which input a result replaces; a result that is written there at once is that input.
    """
    lowered = lower(with_epilogues(graph) if fusion else graph)
    fused = fuse(lowered, fusion=fusion)
    names = KernelNames()
    computed = dict(lowered.numbers)
    steps = Steps(lowered, computed)
    for unit in fused.units:
        if isinstance(unit, Kernel):
            if any(axis.extent is const(0) for axis in unit.axes):
                steps.allocate(sorted(unit.stored))
                continue
            nest = _nest(unit, lowered, fused.sources, target, computed)
            named = names.named(nest)
            if events.listening():
                events.emit(events.KernelFused(named.name, nest.origin, loops_text(named)))
            steps.launch(named, tuple(b.name for b in nest.buffers if b.access is not Access.SCRATCH))
        else:
            steps.call(lowered.calls[unit])
    steps.finish(lowered.outputs)
    nests = {nest.name: nest for nest in names.nests.values()}
    replaced = {index: graph.inputs[place].name for index, place in homes.items()}
    return Scheduled(tuple(nests.values()), _host(lowered, steps, nests, replaced))


def _nest(
    kernel: Kernel, lowered: Lowered, sources: frozenset[str], target: Target, computed: Computed
) -> Nest:
    """Return the nest of a kernel. Scratch holds one row, so there is none where vectors run across rows."""

    def name(number: Expr) -> Symbol:
        return stands_for(number, computed)

    built = build(kernel, lowered.definitions, lowered.metas, sources, target.scratch_bytes)
    nest = tile(built, lowered.metas, name)
    if not built.scratch or not nest.axes or nest.axes[-1].role is not Role.VECTOR:
        return nest
    return tile(build(kernel, lowered.definitions, lowered.metas, sources, 0), lowered.metas, name)


def _host(lowered: Lowered, steps: Steps, nests: Mapping[str, Nest], homes: Mapping[int, str]) -> Host:
    """Return the host program with dead memory used again and identifiers for names."""
    inputs = [item.name for item in lowered.inputs]
    placed = in_place(shaped(steps.steps), nests, lowered.metas, homes)
    ready = checked(freed(taken_over(placed)), lowered.inputs, lowered.metas)
    taken = {*steps.numbers, *(step.kernel for step in ready if isinstance(step, Launch))}
    ready = marked(ready, nests, frozenset(inputs))
    words = identifiers([*inputs, *(name for step in ready for name in defined(step))], taken)
    words.update(
        (step.value, step.value) for step in ready if isinstance(step, Bind) and step.number == step.value
    )
    return Host(tuple(words[name] for name in inputs), tuple(renamed_step(step, words) for step in ready))
