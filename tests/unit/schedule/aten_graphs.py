"""Build small ATen graphs by running them, and check every way of running a schedule against eager."""

from collections.abc import Sequence

import torch

from supple.codegen.backend import emit
from supple.expr import const
from supple.ir.dtypes import from_torch
from supple.ir.graph.nodes import Constant, Graph, Input, Meta, Node, Var, map_arg
from supple.ir.host import interp as host_interp
from supple.ir.host import spec as host_spec
from supple.ir.host import text as host_text
from supple.ir.host.nodes import Launch
from supple.ir.loops import interp as loops_interp
from supple.ir.loops import spec as loops_spec
from supple.ir.loops.nodes import Access
from supple.ir.meta import TensorMeta
from supple.ir.ops import Op, op_named
from supple.ir.program import Scheduled, Target
from supple.runtime.load import load
from supple.schedule import schedule

TARGET = Target(64)


def meta_of(value: object) -> Meta:
    """What is known of a value that exists."""
    if isinstance(value, (tuple, list)):
        return tuple(meta_of(item) for item in value)
    if not isinstance(value, torch.Tensor):
        return Constant(value)
    sizes, strides = tuple(map(const, value.shape)), tuple(map(const, value.stride()))
    offset = const(value.storage_offset())
    return TensorMeta(sizes, strides, from_torch(value.dtype), "cpu", offset)


def called(op: Op, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """The result of an operator; a number in the place of a tensor means the same as in `torch.<op>`."""
    tensors = [arg for arg in args if isinstance(arg, torch.Tensor)]
    numbers = [arg for arg in args if isinstance(arg, (int, float))]
    takes_tensors = op.name.split(".")[2] in ("Tensor", "Tensor_mode", "Tensor_Tensor", "self")
    if takes_tensors and tensors and numbers and op.name not in ("aten.where.self", "aten.slice.Tensor"):
        return getattr(torch, op.name.split(".")[1])(*args, **kwargs)
    return op.call(*args, **kwargs)


class Program:
    """A graph under construction; every node is run at once, so that eager's results are at hand."""

    def __init__(self) -> None:
        self.inputs: list[Input] = []
        self.nodes: list[Node] = []
        self.values: dict[str, object] = {}

    def input(self, value: torch.Tensor) -> Var:
        name = f"arg{len(self.inputs)}"
        self.inputs.append(Input(name, meta_of(value)))
        self.values[name] = value
        return Var(name)

    def value(self, var: Var) -> object:
        value = self.values[var.name]
        for index in var.path:
            assert isinstance(value, (tuple, list))
            value = value[index]
        return value

    def __call__(self, op: str, *args: object, **kwargs: object) -> Var:
        found = op_named(f"aten.{op}")
        result = called(found, map_arg(self.value, args), map_arg(self.value, kwargs))
        name = f"{op.split('.')[0]}_{len(self.nodes)}"
        self.nodes.append(Node(name, found, args, kwargs, meta_of(result)))
        self.values[name] = result
        return Var(name)

    def graph(self, *outputs: object) -> Graph:
        return Graph(tuple(self.inputs), tuple(self.nodes), outputs)

    def arguments(self) -> list[object]:
        return [self.values[item.name] for item in self.inputs]


def interpreted(scheduled: Scheduled, arguments: Sequence[object]) -> tuple[object, ...]:
    """Run a schedule with both interpreters."""
    nests = {nest.name: nest for nest in scheduled.nests}

    def run_kernel(name: str, tensors: Sequence[torch.Tensor], sizes: Sequence[float]) -> None:
        nest = nests[name]
        buffers = [buffer.name for buffer in nest.buffers if buffer.access is not Access.SCRATCH]
        loops_interp.run(
            nest,
            dict(zip(buffers, tensors, strict=True)),
            {symbol.name: size for symbol, size in zip(nest.sizes, sizes, strict=True)},
        )

    return host_interp.run(scheduled.host, arguments, run_kernel)


def compiled(scheduled: Scheduled, arguments: Sequence[object]) -> tuple[object, ...]:
    """Run a schedule as machine code, kernels between guard pages."""
    guarded = {nest.name: nest.name for nest in scheduled.nests}
    return load(emit(scheduled, TARGET, guarded))(arguments)


def checked(
    program: Program,
    *outputs: Var,
    fusion: bool = True,
    interpret: bool = True,
    compile: bool = True,
    rtol: float | None = None,
) -> Scheduled:
    """Return the schedule of a program after checking it: specs, text, both interpreters and machine code."""
    graph = program.graph(*outputs)
    scheduled = schedule(graph, TARGET, fusion=fusion)
    host_spec.check(scheduled.host)
    for nest in scheduled.nests:
        loops_spec.check(nest)
    assert host_text.parse(host_text.text(scheduled.host)) == scheduled.host
    expected = [program.value(output) for output in outputs]
    runs = [interpreted] * interpret + [compiled] * compile
    for run in runs:
        results = run(scheduled, program.arguments())
        for result, wanted in zip(results, expected, strict=True):
            same(result, wanted, rtol)
    return scheduled


def same(result: object, wanted: object, rtol: float | None = None) -> None:
    """Assert that a result is what eager gives, strides included."""
    if not isinstance(wanted, torch.Tensor):
        assert result == wanted
        return
    assert isinstance(result, torch.Tensor)
    assert result.stride() == wanted.stride()
    tolerance = {} if rtol is None else {"rtol": rtol, "atol": rtol}
    torch.testing.assert_close(result, wanted, equal_nan=True, **tolerance)


def launches(scheduled: Scheduled) -> int:
    """How many kernels are launched."""
    return sum(isinstance(step, Launch) for step in scheduled.host.steps)
