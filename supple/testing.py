"""For tests of programs that use supple: backends that count and profile, an assertion about compilations."""

import re
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final, cast

import torch

from supple.api import compile as compile_module
from supple.backends import BACKENDS, OURS, Backend
from supple.base import events
from supple.base.config import config
from supple.diagnose.explain import Break, breaks_of, counted
from supple.diagnose.record import Recorder

__all__ = ["CompileCounter", "CompileCounterWithBackend", "CompileProfiler", "assert_compiles"]

_NUMBER: Final = re.compile(r"\d+")
UNLIMITED: Final = 2**31
"""As many recompilations as a profiled program asks for."""


class CompileCounter:
    """A backend that runs graphs as captured and counts them.

    Attributes:
        graphs: how many graphs it was given (`frame_count` is another name for it).
        ops: calls in all of them (`op_count` is another name for it).
    """

    def __init__(self) -> None:
        self.graphs = 0
        self.ops = 0

    def __call__(self, gm: torch.fx.GraphModule, example_inputs: Sequence[object]) -> Callable[..., object]:
        """Count a graph and return it."""
        self.graphs += 1
        self.ops += sum("call" in node.op for node in gm.graph.nodes)
        return gm.forward

    @property
    def frame_count(self) -> int:
        """How many graphs it was given."""
        return self.graphs

    @property
    def op_count(self) -> int:
        """Calls in all graphs."""
        return self.ops

    def clear(self) -> None:
        """Start again at zero."""
        self.graphs = 0
        self.ops = 0


class CompileCounterWithBackend(CompileCounter):
    """A backend that counts graphs, keeps them in `seen`, and hands them on to another backend."""

    def __init__(self, backend: str | Backend) -> None:
        super().__init__()
        self.seen: list[torch.fx.GraphModule] = []
        self._backend = _of_graphs(backend) if isinstance(backend, str) else backend

    def __call__(self, gm: torch.fx.GraphModule, example_inputs: Sequence[object]) -> Callable[..., object]:
        """Count a graph, keep it and compile it."""
        self.seen.append(gm)
        super().__call__(gm, example_inputs)
        return cast("Callable[..., object]", self._backend(gm, example_inputs))


def _of_graphs(name: str) -> Backend:
    """Return the backend of a name, also a built-in one, as a function of torch.fx graphs."""
    if name not in OURS:
        return BACKENDS.named(name)

    def backend(gm: torch.fx.GraphModule, _: Sequence[object]) -> Callable[..., object]:
        return cast("Callable[..., object]", compile_module(gm, backend=name))

    return backend


class CompileProfiler(CompileCounter):
    """A backend that only observes: in its `with` block, causes of graph breaks and recompilations add up.

    Args:
        limit: how often a function is compiled before it runs eager; None is without end, so that every
            cause is seen.
    """

    def __init__(self, limit: int | None = None) -> None:
        super().__init__()
        self._recorder = Recorder()
        self._limit = UNLIMITED if limit is None else limit
        self._block = ExitStack()

    def __enter__(self) -> "CompileProfiler":
        limits = {"recompile_limit": self._limit, "accumulated_recompile_limit": UNLIMITED}
        self._block.enter_context(config.patch(limits))
        self._block.enter_context(self._recorder)
        return self

    def __exit__(self, *_: object) -> None:
        self._block.close()

    @property
    def breaks(self) -> tuple[Break, ...]:
        """The graph breaks, each once."""
        return breaks_of(self._recorder.compilations)

    @property
    def recompilations(self) -> dict[str, tuple[events.FailedGuard, ...]]:
        """Why each function, or part of one behind a graph break, was compiled again: one cause each time."""
        found: dict[str, tuple[events.FailedGuard, ...]] = {}
        for one in self._recorder.compilations:
            if one.recompiled:
                found[one.name] = (*found.get(one.name, ()), one.recompiled[0])
        return found

    def report(self) -> str:
        """Return graph breaks and recompilations so far; causes that differ in numbers count as one."""
        compilations = self._recorder.compilations
        lines = [
            "supple profiler report",
            f"{counted(self.graphs, 'graph')}, {counted(self.ops, 'operation')}, "
            f"{counted(len(compilations), 'compilation')}",
            "",
            "Graph breaks:" if self.breaks else "No graph breaks.",
            *map(str, self.breaks),
            "",
            "Recompilations:" if self.recompilations else "No recompilations.",
        ]
        for name, causes in self.recompilations.items():
            alike = Counter(_NUMBER.sub("0", one.text) for one in causes)
            first = {_NUMBER.sub("0", one.text): one for one in reversed(causes)}
            lines.append(f"{name}: {counted(len(causes), 'recompilation')}")
            for text, count in alike.most_common():
                lines += [f"  {count} x {first[text].text}", f"    do: {first[text].hint}"]
        lines += [f"Runs eager: {one.fallback}" for one in compilations if one.fallback]
        return "\n".join(lines)


@contextmanager
def assert_compiles(n: int) -> Generator[None]:
    """Assert that exactly `n` graphs are captured inside the `with` block.

    Raises:
        AssertionError: another number of graphs; names the functions and why they were compiled again.
    """
    seen: list[str] = []
    reasons: list[str] = []

    def count(event: events.Event) -> None:
        if isinstance(event, events.GraphCaptured):
            seen.append(event.compile_id)
        elif isinstance(event, events.CompileStarted):
            reasons.append(f"{event.compile_id} {event.function}: {event.failed_guards or 'first call'}")

    stop = events.listen(count, reads_texts=False)
    try:
        yield
    finally:
        stop()
    assert len(seen) == n, f"{len(seen)} graphs were captured, not {n}: {reasons}"
