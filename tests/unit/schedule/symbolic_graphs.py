"""Graphs with symbolic sizes, and a check of every way of running their schedule at many sizes."""

from collections.abc import Callable, Sequence

import torch

from supple.expr import Expr, Symbol, as_expr, evaluate
from supple.expr.real import Real
from supple.ir.dtypes import DType
from supple.ir.graph.interp import run
from supple.ir.graph.nodes import Arg, Graph, Input, Meta, Node, Var, map_arg, meta_of
from supple.ir.host import spec as host_spec
from supple.ir.host import text as host_text
from supple.ir.loops import spec as loops_spec
from supple.ir.loops import text as loops_text
from supple.ir.meta import TensorMeta, contiguous
from supple.ir.ops import op_named
from supple.ir.program import Scheduled
from supple.schedule import schedule
from supple.shapes.env import ShapeEnv, using
from supple.shapes.infer import infer
from tests.unit.schedule.aten_graphs import TARGET, compiled, interpreted, launches, same

SIZES = (0, 1, 2, 3, 5, 8, 17, 64)


class Sketch:
    """A graph under construction whose sizes are symbols; metadata is what the shape rules say."""

    def __init__(self) -> None:
        self.env = ShapeEnv()
        self.numbers: list[Input] = []
        self.tensors: list[Input] = []
        self.nodes: list[Node] = []
        self.metas: dict[str, Meta] = {}

    def size(self, hint: int = 8, minimum: int = 0) -> Symbol:
        """A size that the caller passes."""
        made = self.env.create(f"L['n{len(self.numbers)}']", hint, minimum=minimum)
        self.numbers.append(Input(made.name, made))
        return made

    def float(self, hint: float = 0.5) -> Real:
        """A float that the caller passes."""
        made = self.env.create_float(f"L['f{len(self.numbers)}']", hint)
        self.numbers.append(Input(str(made), made))
        return made

    def input(self, *sizes: Expr | int, dtype: DType = DType.F32) -> Var:
        """A row-major tensor that the caller passes."""
        return self.input_of(contiguous(sizes, dtype))

    def input_of(self, meta: TensorMeta) -> Var:
        name = f"arg{len(self.tensors)}"
        self.tensors.append(Input(name, meta))
        self.metas[name] = meta
        return Var(name)

    def meta(self, var: Var) -> TensorMeta:
        found = meta_of(var, self.metas)
        assert isinstance(found, TensorMeta)
        return found

    def __call__(self, op: str, *args: Arg, **kwargs: Arg) -> Var:
        # The rule of amax guards that there is something; softmax of nothing has no such condition.
        found = op_named("aten.sum.dim_IntList" if op == "amax.default" else f"aten.{op}")
        with using(self.env):
            meta = infer(
                found, *(map_arg(lambda var: meta_of(var, self.metas), each) for each in (args, kwargs))
            )
        return self.node(op, args, kwargs, meta)

    def node(self, op: str, args: tuple[Arg, ...], kwargs: dict[str, Arg], meta: Meta) -> Var:
        """A node whose metadata is given."""
        name = f"{op.split('.')[0]}_{len(self.nodes)}"
        self.nodes.append(Node(name, op_named(f"aten.{op}"), args, kwargs, meta))
        self.metas[name] = meta
        return Var(name)

    def graph(self, *outputs: Arg) -> Graph:
        return Graph((*self.numbers, *self.tensors), tuple(self.nodes), outputs)

    def scheduled(self, *outputs: Arg, fusion: bool = True) -> Scheduled:
        """The schedule of the graph, checked by the specs and by reading its text back."""
        with using(self.env):
            made = schedule(self.graph(*outputs), TARGET, fusion=fusion)
        host_spec.check(made.host)
        for nest in made.nests:
            loops_spec.check(nest)
            assert loops_text.parse(loops_text.text(nest)) == nest
        assert host_text.parse(host_text.text(made.host)) == made.host
        return made

    def arguments(self, numbers: Sequence[float], make: Callable[..., torch.Tensor]) -> list[object]:
        """Inputs for the values of the numbers."""
        pairs = zip(self.numbers, numbers, strict=True)
        names = {item.name: value for item, value in pairs if isinstance(value, int)}
        return [*numbers, *(tensor_of(item.meta, names, make) for item in self.tensors)]


def tensor_of(meta: Meta, sizes: dict[str, int], make: Callable[..., torch.Tensor]) -> torch.Tensor:
    """A tensor of this metadata."""
    assert isinstance(meta, TensorMeta)
    shape, strides = ([evaluate(e, sizes) for e in exprs] for exprs in (meta.sizes, meta.strides))
    whole = torch.empty_strided(shape, strides, dtype=meta.dtype.torch)
    return whole.copy_(make(shape).to(meta.dtype.torch))


def numbers_of(shape: list[int]) -> torch.Tensor:
    """Different numbers between -2 and 2."""
    count = as_expr(1).value
    for size in shape:
        count *= size
    return (torch.sin(torch.arange(count, dtype=torch.float64) * 1.7 + 0.3) * 2).reshape(shape)


def checked(
    sketch: Sketch,
    *outputs: Arg,
    at: Sequence[Sequence[float]] | None = None,
    kernels: int | None = None,
    fusion: bool = True,
    interpret: bool = True,
    compile: bool = True,
    values_only: bool = False,
    rtol: float = 1e-5,
    make: Callable[..., torch.Tensor] = numbers_of,
) -> Scheduled:
    """Return the schedule after comparing it with eager at many sizes: `at` are values of the numbers.

    With `values_only` there may be guards: sizes that break one are left out. Strides are not compared then:
    at sizes of 0 and 1 those of eager depend on the order of its operands.
    """
    made = sketch.scheduled(*outputs, fusion=fusion)
    graph = sketch.graph(*outputs)
    assert values_only or not sketch.env.guards, sketch.env.guards
    if kernels is not None:
        assert launches(made) == kernels, host_text.text(made.host)
    runs = [compiled] * compile + [interpreted] * interpret
    names = [item.name for item in sketch.numbers]
    for numbers in at or [(n,) * len(sketch.numbers) for n in SIZES]:
        sizes = {name: n for name, n in zip(names, numbers, strict=True) if isinstance(n, int)}
        if not all(evaluate(guard.condition, sizes) for guard in sketch.env.guards):
            continue
        arguments = sketch.arguments(numbers, make)
        wanted = run(graph, arguments)
        for execute in runs:
            for result, expected in zip(execute(made, arguments), wanted, strict=True):
                if values_only:
                    torch.testing.assert_close(result, expected, rtol=rtol, atol=rtol, equal_nan=True)
                else:
                    same(result, expected, rtol)
    return made
