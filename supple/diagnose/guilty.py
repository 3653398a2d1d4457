"""The smallest part of a graph that differs from eager, the stage that makes it so, a script that shows it.

graph:  a = x @ w; b = a.softmax(-1); c = b * b; d = c.sum()     d differs
part:   b = a.softmax(-1)                                        the first operator after which values differ
"""

import re
import tempfile
import types
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final

import torch

from supple.backends import NATIVE, OURS, Backend
from supple.base.errors import Reason, SuppleError, VerificationError, Where
from supple.base.interrupts import is_interrupt
from supple.base.options import Options
from supple.capture.frame import CompileGraph
from supple.diagnose.compare import Difference, Run, differences, modes_kept
from supple.diagnose.precision import copied
from supple.driver import Functional
from supple.interop.fx import to_fx
from supple.ir.graph.interp import run
from supple.ir.graph.nodes import Graph, Input, Meta, Node, Var, meta_of, uses_of, vars_of, with_mapped
from supple.ir.meta import TensorMeta
from supple.shapes.env import ShapeEnv, using

STAGES: Final = {
    "aot_eager": "when forward and backward are traced",
    "aot_eager_decomp": "in decompositions",
    NATIVE: "in code generation",
}
"""Where a fault is that a backend has and the one before it has not."""
FEW: Final = 20_000
"""How many elements the interpreter of loops is asked to compute."""

MISMATCH: Final = Reason(
    "V101",
    "Compiled code differs from eager in {name}.",
    "{difference} {cause} That is a bug of supple, or of the backend, and not of your program.",
    "Run {script}, which shows it alone, and report it with that file. backend={before!r} avoids it "
    'meanwhile, and options={{"verify_action": "log"}} goes on by eager.',
)


@dataclass(frozen=True, slots=True)
class Setting:
    """How graphs are compiled, and on which terms they are verified.

    Attributes:
        compile_graph: the backend, unverified.
        backend: its name, or what was given as backend.
        env: of the compilation; None where nothing is symbolic.
    """

    compile_graph: CompileGraph
    backend: str | Backend
    options: Options
    env: ShapeEnv | None = None

    def active(self) -> AbstractContextManager[object]:
        """Return a block in which sizes are known as they were in the compilation."""
        return nullcontext() if self.env is None else using(self.env)

    def compiled(self, graph: Graph, inputs: Sequence[object]) -> Run:
        """Return a graph compiled as in its compilation."""
        with self.active():
            return self.compile_graph(graph, inputs)


class Whole(SuppleError):
    """A graph cannot be cut at a place."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some nodes of a graph as a graph of their own, and values for its inputs."""

    graph: Graph
    inputs: Sequence[object]

    def difference(self, setting: Setting) -> Difference | None:
        """Return how the part differs from eager; None where it does not, or cannot be compared."""
        try:
            compiled = setting.compiled(self.graph, self.inputs)
            found, _ = differences(self.graph, compiled, self.inputs)
        except Exception as error:
            if is_interrupt(error):
                raise
            return None  # a part that does not compile by itself explains nothing
        return found[0] if found else None


def explained(
    graph: Graph, setting: Setting, inputs: Sequence[object], first: Difference
) -> VerificationError:
    """Return the error about a difference: the operator that causes it, the stage, a script that shows it."""
    facts: dict[str, object] = {"difference": first.text, "before": "eager", "script": "the program again"}
    stack: tuple[Where, ...] = ()
    try:
        facts["cause"], facts["before"], part, stack = _cause(graph, setting, inputs, first)
        facts["script"] = write_script(part, setting, f"{first.name}: {first.text}")
    except Exception as error:  # a difference is told, also where its cause is not found
        if is_interrupt(error):
            raise
        facts.setdefault("cause", f"Its cause was not found ({error!r}).")
    return VerificationError(MISMATCH, stack, name=first.name, **facts)


def _cause(
    graph: Graph, setting: Setting, inputs: Sequence[object], first: Difference
) -> tuple[str, str, Part, tuple[Where, ...]]:
    """Return the cause of a difference in words, the last backend that is right, the part, its lines."""
    part, node = smallest(graph, setting, inputs)
    shown = part.difference(setting)
    before, stage = stage_of(part, setting)
    causes = [f"It begins at `{node.name}` = {node.op.name}"] if node else []
    causes += [f"The fault is {stage}"] if stage else []
    causes += [f"Of that part alone {shown.name} is wrong: {shown.text}"] if shown and shown != first else []
    cause = " ".join(f"{one.rstrip('.')}." for one in causes)
    return cause, before, part, () if node is None else node.where


def stage_of(part: Part, setting: Setting) -> tuple[str, str]:
    """Return the last of our backends that is right, and where the next one goes wrong; empty if unknown."""

    def is_right(compile_graph: CompileGraph) -> bool:
        return part.difference(replace(setting, compile_graph=compile_graph)) is None

    names = list(OURS)
    known = (
        names.index(setting.backend) if isinstance(setting.backend, str) and setting.backend in OURS else 0
    )
    for right, name in pairwise(names[: known + 1]):
        if name != NATIVE and not is_right(OURS[name](setting.options)):
            return right, STAGES[name]
        if name == NATIVE:
            from supple.native import by_loops  # noqa: PLC0415  # lazy: its stages are for this backend only

            elements = sum(item.numel() for item in part.inputs if isinstance(item, torch.Tensor))
            if elements > FEW:
                return right, "in schedule or code generation"
            scheduled = Functional(setting.options, by_loops)
            return right, STAGES[name] if is_right(scheduled) else "in schedule"
    return names[max(known - 1, 0)], ""


def smallest(graph: Graph, setting: Setting, inputs: Sequence[object]) -> tuple[Part, Node | None]:
    """Return the smallest part found that differs, and its last node; the whole graph where no part does."""
    count = len(graph.nodes)
    ends = range(min(count, 1), count)
    wrong = ends.start + bisect_left(ends, True, key=lambda end: _differs(graph, setting, inputs, 0, end))
    found = Part(graph, inputs) if wrong == count else cut(graph, inputs, 0, wrong)
    length = 1
    while length < wrong:
        if _differs(graph, setting, inputs, wrong - length, wrong):
            return cut(graph, inputs, wrong - length, wrong), graph.nodes[wrong - 1]
        length *= 2
    return found, graph.nodes[wrong - 1] if graph.nodes else None


def _differs(graph: Graph, setting: Setting, inputs: Sequence[object], begin: int, end: int) -> bool:
    try:
        return cut(graph, inputs, begin, end).difference(setting) is not None
    except Whole:
        return False


def cut(graph: Graph, inputs: Sequence[object], begin: int, end: int) -> Part:
    """Return nodes `begin` to `end` as a graph, which gives all tensors that are needed after it.

    Raises:
        Whole: it needs other things than tensors and numbers.
    """
    nodes, metas = graph.nodes[begin:end], graph.metas()
    own = {node.name for node in nodes}
    used = dict.fromkeys(var for node in nodes for var in uses_of(node) if var.name not in own)
    numbers = [Var(item.name) for item in graph.inputs if not isinstance(item.meta, TensorMeta)]
    given = [*numbers, *(var for var in used if Var(var.name) not in numbers)]
    with modes_kept():
        before = Graph(graph.inputs, graph.nodes[:begin], tuple(given))
        values = run(before, copied(inputs).items if begin else inputs)
    known = {item.name: item for item in graph.inputs}
    made: list[Input] = []
    for var, value in zip(given, values, strict=True):
        meta = meta_of(var, metas)
        if isinstance(meta, TensorMeta) and isinstance(value, torch.Tensor):
            meta = replace(meta, requires_grad=value.requires_grad)
        elif var.name not in known:
            raise Whole(f"{var} is {meta}")
        made.append(replace(known.get(var.name, Input("", meta, str(var))), name=_flat(var).name, meta=meta))

    def renamed(var: Var) -> Var:
        return _flat(var) if var in used else var

    kept = tuple(with_mapped(node, renamed) for node in nodes)
    later = {var.name for node in graph.nodes[end:] for var in uses_of(node)}
    later |= {var.name for var in vars_of(list(graph.outputs))} | {nodes[-1].name}
    outputs = [var for node in nodes if node.name in later for var in _tensors(Var(node.name), node.meta)]
    return Part(Graph(tuple(made), kept, tuple(outputs)), values)


def _flat(var: Var) -> Var:
    """Return the name under which an item of a value is an input."""
    return Var("_".join((var.name, *map(str, var.path))))


def _tensors(var: Var, meta: Meta) -> Iterator[Var]:
    """Yield the tensors in a value."""
    if isinstance(meta, TensorMeta):
        yield var
    for place, item in enumerate(meta if isinstance(meta, tuple) else ()):
        yield from _tensors(Var(var.name, (*var.path, place)), item)


def write_script(part: Part, setting: Setting, found: str) -> str:
    """Write a program that compiles the part and verifies it, and its inputs beside it; return its path."""
    with setting.active():
        printed = to_fx(part.graph).graph.python_code("self")
    code = printed.src.strip()
    used = {name: value for name, value in printed.globals.items() if re.search(rf"\b{name}\b", code)}
    names = [*map(_imported, used, used.values()), "import supple", "import torch"]
    backend = repr(setting.backend)
    if not isinstance(setting.backend, str):
        backend = "backend"
        names.append(_imported(backend, setting.backend))
    is_dynamic = any(not isinstance(item.meta, TensorMeta) for item in part.graph.inputs) or None
    lines = [
        f'"""{found}"""'.replace("\\", ""),
        "from pathlib import Path",
        *sorted(set(filter(None, names))),
        code,
        'inputs = torch.load(Path(__file__).with_suffix(".pt"), weights_only=False)',
        f'compiled = supple.compile(forward, backend={backend}, dynamic={is_dynamic}, verify="always")',
        "compiled(None, *inputs)",
    ]
    script = Path(tempfile.mkdtemp(prefix="supple-verify-")) / "supple-verify.py"
    script.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    torch.save(list(part.inputs), script.with_suffix(".pt"))
    return str(script)


def _imported(name: str, value: object) -> str:
    """Return a statement that gives an object its name in a script."""
    if isinstance(value, types.ModuleType):
        return f"import {value.__name__} as {name}" if name != value.__name__ else f"import {name}"
    if isinstance(value, float):
        return f'{name} = float("{value}")'
    if value is type(None):
        return ""
    home, called = getattr(value, "__module__", ""), getattr(value, "__qualname__", "")
    can_import = home and called.isidentifier()
    return f"from {home} import {called} as {name}" if can_import else f"# {name} is {value!r}"
