"""The front door of the stage: a captured graph in, functional graphs and their convention out."""

from collections.abc import Sequence
from dataclasses import replace

from supple.autograd.convention import Backward, Convention, Result, Split
from supple.autograd.decompose import decompose, separated
from supple.autograd.errors import NotFunctional
from supple.autograd.joint import Gradients, reached
from supple.autograd.partition import partition
from supple.autograd.trace import Traced, trace
from supple.base import events
from supple.base.options import Options
from supple.expr import const, less_equal
from supple.ir.graph.nodes import Arg, Graph, Var, uses_of, vars_of
from supple.ir.graph.rewrite import without_dead
from supple.ir.graph.text import text
from supple.ir.meta import TensorMeta
from supple.shapes.decide import is_known
from supple.torch_private import default_device


def split(graph: Graph, options: Options, *, decomposed: bool = True) -> Split:
    """Return the functional form of a captured graph, of core operators or of those that eager calls.

    Raises:
        NeedsGrad: an output requires gradients; run the captured graph with eager torch.
        NotFunctional: a write has no pure form, or another default device than the CPU would get the
            memory that kernels write; run the captured graph with eager torch.
        Exception: whatever eager raises when it runs this graph.
    """
    device = default_device()
    if device is not None and device.type != "cpu":
        raise NotFunctional(f"the default device is {device}")
    traced = trace(graph)
    _require_distinct_elements(graph, traced.convention)
    _require_dense(traced.graph)
    # Eager lets the program write to these before backward; those of inference mode it lets nobody keep.
    # What training changes it changes after backward.
    free = [
        item.name
        for item in graph.inputs
        if item.is_inference or (item.name not in traced.read and not item.is_parameter)
    ]
    if not decomposed:
        joint = separated(without_dead(traced.graph), traced.graph)
    elif traced.gradients is None:
        joint = decompose(traced.graph)
    else:
        joint = decompose(traced.graph, free, traced.gradients.results)
    if traced.gradients is None:
        _tell(None, joint)
        mutations = tuple(replace(mutation, is_read=False) for mutation in traced.convention.mutations)
        return Split(graph, joint, None, replace(traced.convention, mutations=mutations))
    convention = _with_reads(traced.convention, joint, traced.gradients)
    reach = reached(traced.graph, traced.gradients)
    shown = _shown(traced, joint)
    budget = options.config.activation_memory_budget
    parts = partition(joint, traced.gradients, free, shown, budget=budget)
    _tell(joint, parts.forward, *(back.graph for back in parts.backs))
    backward = Backward(parts, traced.gradients, reach, _read_by_gradients(joint, traced.gradients))
    return Split(graph, parts.forward, backward, convention)


def _shown(traced: Traced, joint: Graph) -> list[Var]:
    """Return the results that the program gets, in tensors of their own or in inputs, and eager keeps."""
    calling = traced.convention
    made = (*calling.outputs, *(view.base for view in calling.views))
    places = [one.index for one in made if isinstance(one, Result)]
    places = dict.fromkeys((*places, *(one.index for one in calling.mutations)))
    pairs = [(traced.graph.outputs[place], joint.outputs[place]) for place in places]
    return [
        var for arg, var in pairs if isinstance(arg, Var) and isinstance(var, Var) and arg.name in traced.read
    ]


def _require_dense(graph: Graph) -> None:
    """Check that sparse tensors, as which gradients may come, are results only: metadata does not tell them.

    Raises:
        NotFunctional: an operator takes one.
    """
    sparse = {node.name for node in graph.nodes if ".sparse_" in node.op.name or "._sparse_" in node.op.name}
    if any(var.name in sparse for node in graph.nodes for var in uses_of(node)):
        raise NotFunctional("a gradient is sparse, and more is computed with it")


def _require_distinct_elements(graph: Graph, convention: Convention) -> None:
    """Check that every written input has its elements in places of their own; else eager raises at the write.

    Raises:
        NotFunctional: one is expanded.
    """
    for mutation in convention.mutations:
        meta = graph.inputs[mutation.input].meta
        assert isinstance(meta, TensorMeta), "what is written is a tensor"
        repeated = (
            step == const(0) and not is_known(less_equal(size, 1))
            for size, step in zip(meta.sizes, meta.strides, strict=True)
        )
        if any(repeated):
            raise NotFunctional("an expanded input is written")


def _with_reads(convention: Convention, joint: Graph, flows: Gradients) -> Convention:
    """Return the convention that knows which written inputs gradients depend on, as they were before."""
    wanted = [joint.outputs[place] for place in flows.differentiable] + list(joint.outputs[flows.results :])
    read = _read_for(joint, wanted)
    mutations = (
        replace(mutation, is_read=mutation.has_grad or joint.inputs[mutation.input].name in read)
        for mutation in convention.mutations
    )
    return replace(convention, mutations=tuple(mutations))


def _read_by_gradients(joint: Graph, flows: Gradients) -> frozenset[int]:
    """Return the places of the inputs and constants on whose values gradients depend, theirs too."""
    read = _read_for(joint, joint.outputs[flows.results :])
    return frozenset(place for place, item in enumerate(joint.inputs) if item.name in read)


def _read_for(joint: Graph, wanted: Sequence[Arg]) -> set[str]:
    """Return the names of the values that some results of a graph are computed of."""
    live = without_dead(Graph(joint.inputs, joint.nodes, tuple(wanted)))
    return {var.name for node in live.nodes for var in uses_of(node)} | {var.name for var in vars_of(wanted)}


def _tell(joint: Graph | None, forward: Graph, *backs: Graph) -> None:
    """Tell listeners the functional graphs as texts."""
    if events.listening():
        whole = "" if joint is None else text(joint)
        events.emit(events.GraphsSplit(whole, text(forward), "\n".join(map(text, backs))))
