"""For tests of programs that use supple: backends that count, and an assertion about compilations."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import cast

import torch

from supple.backends import BACKENDS, Backend
from supple.base import events

__all__ = ["CompileCounter", "CompileCounterWithBackend", "assert_compiles"]


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
        self._backend = BACKENDS.named(backend) if isinstance(backend, str) else backend

    def __call__(self, gm: torch.fx.GraphModule, example_inputs: Sequence[object]) -> Callable[..., object]:
        """Count a graph, keep it and compile it."""
        self.seen.append(gm)
        super().__call__(gm, example_inputs)
        return cast("Callable[..., object]", self._backend(gm, example_inputs))


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
