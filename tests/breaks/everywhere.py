"""Runs one function of the corpus with a graph break forced before one of its instructions."""

import importlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import supple
from supple.base import events
from supple.base.config import config
from tests.semantics import harness
from tests.semantics.harness import Case, Comparison

FORCED = "B131"
LAST = 2000
"""Loops of the corpus that take longer than this many instructions repeat themselves."""


def corpus() -> Iterator[tuple[str, Case]]:
    """Yield every function of the semantics corpus with its name."""
    for path in sorted(Path(harness.__file__).parent.glob("test_*.py")):
        module = importlib.import_module(f"tests.semantics.{path.stem}")
        for case in module.case.cases:
            yield f"{path.stem.removeprefix('test_')}.{case}", case


CASES = dict(corpus())


def difference(case: Case, position: int) -> tuple[bool, str | None]:
    """Return whether a break could be forced there, and where the call then differs from eager's."""
    forced: list[events.Event] = []

    def listener(event: events.Event) -> None:
        if isinstance(event, events.GraphBroken) and event.code == FORCED:
            forced.append(event)

    compiled: Any = supple.compile(case.function, backend="eager", options={"break_at": position})
    stop = events.listen(listener, reads_texts=False)
    with warnings.catch_warnings(), config.patch(suppress_errors=False):
        try:
            pairs = [
                (case.outcome(case.function, case.args), case.outcome(compiled, case.args)) for _ in range(2)
            ]
        finally:
            stop()
            supple.reset()
    differences = (Comparison(case.is_rounded).difference(want, got, "") for want, got in pairs)
    return bool(forced), next((one for one in differences if one is not None), None)
