"""What compiling one call of a function gives, to read and to compute with: graphs, breaks, guards, times."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

import torch

from supple.base.errors import Where
from supple.base.events import GuardTold
from supple.diagnose.record import Compilation, Recorder

Function = Callable[..., object]

SHOWN: Final = 20
"""How many guards, or operations of a graph, a report prints one by one."""


@dataclass(frozen=True, slots=True)
class Break:
    """Something that capture leaves to Python.

    Attributes:
        code: of the reason; `python -m supple explain CODE` prints its page.
        operation: what cannot be captured.
        why: why it cannot.
        fix: what to change in the program.
        stack: the user's, innermost last.
        count: how often it ended a compilation.
        is_eager: the whole call runs eager, not this operation alone.
    """

    code: str
    operation: str
    why: str
    fix: str
    stack: tuple[Where, ...]
    count: int = 1
    is_eager: bool = False

    @property
    def reason(self) -> str:
        """The operation, with the code."""
        return f"{self.operation} [{self.code}]"

    def __str__(self) -> str:
        scope = ["the whole call runs eager"] if self.is_eager else []
        scope += [f"ends {self.count} compilations"] if self.count > 1 else []
        lines = [" ".join((self.reason, *(f"({one})" for one in scope)))]
        for at in reversed(self.stack):
            lines.append(f"  at {at.filename}:{at.line} in {at.function}")
            lines += [f"    {at.text}"] if at.text else []
        return "\n".join((*lines, f"  why: {self.why}", f"  do:  {self.fix}"))


def breaks_of(compilations: Sequence[Compilation]) -> tuple[Break, ...]:
    """Return the breaks in which compilations ended, each once, in the order in which they came up."""
    found = [one.broken for one in compilations if one.broken is not None]
    counts = Counter((event.code, event.what, event.stack) for event in found)
    first = {(event.code, event.what, event.stack): event for event in reversed(found)}
    return tuple(
        Break(e.code, e.what, e.why, e.do, e.stack, counts[key], e.is_eager)
        for key, e in ((key, first[key]) for key in counts)
    )


@dataclass(frozen=True, slots=True)
class Explanation:
    """What one call of a function gave when everything in it was compiled anew; prints as a report.

    It unpacks to four values: the report, the guards, the graphs, the operations of each graph.

    Attributes:
        result: what the call returned.
        graphs: in the order in which they were made.
        compilations: each with its function, guards, break and times; those without tensor operations too.
    """

    result: object
    graphs: tuple[torch.fx.GraphModule, ...]
    compilations: tuple[Compilation, ...]

    @property
    def breaks(self) -> tuple[Break, ...]:
        """The graph breaks, each once."""
        return breaks_of(self.compilations)

    @property
    def guards(self) -> tuple[GuardTold, ...]:
        """The conditions under which what was compiled is used again, each once."""
        return tuple(dict.fromkeys(guard for one in self.compilations for guard in one.guards))

    @property
    def ops_per_graph(self) -> tuple[tuple[str, ...], ...]:
        """The names of the operations of each graph, in order."""
        return tuple(one.operations for one in self.compilations if one.operations)

    @property
    def op_count(self) -> int:
        """Operations in all graphs."""
        return sum(map(len, self.ops_per_graph))

    @property
    def compile_times(self) -> Mapping[str, float]:
        """Seconds by stage, over all compilations."""
        return summed(self.compilations)

    def __iter__(self) -> Iterator[object]:
        return iter((str(self), self.guards, self.graphs, self.ops_per_graph))

    def __str__(self) -> str:
        graphs = [one for one in self.compilations if one.operations]
        parts = [
            f"supple produced {counted(len(graphs), 'graph')}, with "
            f"{counted(len(self.breaks), 'graph break')} and {counted(self.op_count, 'operation')}.",
            _listed("Graphs", [f"{one.name}: {_named(one.operations)}" for one in graphs]),
            _listed("Break reasons", list(map(str, self.breaks))),
            _listed("Runs eager", [one.fallback for one in self.compilations if one.fallback]),
            _listed("Guards", _shortened(self.guards)),
            "Compile times: " + ", ".join(f"{name} {s:.4f} s" for name, s in self.compile_times.items()),
        ]
        codes = " ".join(dict.fromkeys(one.code for one in self.breaks))
        parts += [f"More about a reason: python -m supple explain {codes}"] if codes else []
        return "\n".join(part for part in parts if part)


def summed(compilations: Sequence[Compilation]) -> dict[str, float]:
    """Return seconds by stage."""
    times: Counter[str] = Counter()
    for one in compilations:
        times.update(cast("Mapping[str, int]", one.seconds))
    return dict(times)


def counted(count: int, what: str) -> str:
    """Return "1 graph", "2 graphs"."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def _named(operations: Sequence[str]) -> str:
    """Return the names of operations in order; of many, the most common first, with numbers."""
    if len(operations) <= SHOWN:
        return ", ".join(operations)
    common = ", ".join(f"{count} x {name}" for name, count in Counter(operations).most_common())
    return f"{counted(len(operations), 'operation')}: {common}"


def _shortened(guards: Sequence[GuardTold]) -> list[str]:
    more = [f"and {len(guards) - SHOWN} more, in `guards`"] if len(guards) > SHOWN else []
    return [*map(str, guards[:SHOWN]), *more]


def _listed(title: str, items: Sequence[str]) -> str:
    numbered = (f"{n}. {item}".replace("\n", "\n    ") for n, item in enumerate(items, 1))
    return "\n  ".join((f"{title}:", *numbered)) if items else ""


def explained(
    compile_with: Callable[[Function], Function], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> Explanation:
    """Return what one call gives; `compile_with` returns the function compiled with a backend."""
    graphs: list[torch.fx.GraphModule] = []

    def keep(gm: torch.fx.GraphModule, _: Sequence[object]) -> Function:
        graphs.append(gm)
        return gm.forward

    with Recorder(only_this_thread=True) as recorder:
        result = compile_with(keep)(*args, **kwargs)
    return Explanation(result, tuple(graphs), tuple(recorder.compilations))
