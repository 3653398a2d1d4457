"""Random programs with size arithmetic: a graph that is used gives eager's result, a new one has a reason."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from hypothesis import given

from supple.base import events
from tests.dynamic.harness import compiled, difference
from tests.dynamic.programs import floats
from tests.dynamic.size_programs import SizeProgram, size_programs

LISTED: Final[dict[str, str]] = {
    r"# .*\.diff\(": "torch takes no more differences than there are elements",
    r"# .*\[(\w*:)?i\d": "a bound of a slice that is negative counts from the end",
    r"# .*(\(-1\)|flatten\(\)|return \[)": "what copies many elements is a view of one",
}
"""Guards that eager does not choose by, as patterns of the text of their failure, and why they are needed."""


@dataclass
class Run:
    """What the calls of a program showed.

    Attributes:
        chosen: what eager chose in each call that was compiled.
        unforced: guards that failed in the graph of a call for which eager chose the same.
    """

    calls: int = 0
    graphs: int = 0
    chosen: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    unforced: list[str] = field(default_factory=list[str])


def run(program: SizeProgram, backend: str) -> Run:
    """Call a program compiled with dynamic sizes, and eager; their outcomes must be the same each time.

    Raises:
        AssertionError: shows the source, the sizes and the difference.
    """
    found = Run()
    choices: list[Any] = []
    failed: list[events.FailedGuard] = []

    def choice(value: Any) -> Any:
        choices.append(value)
        return value

    def note(event: events.Event) -> None:
        if isinstance(event, events.CompileStarted):
            failed.extend(event.failed_guards)

    noted, made = program.function(choice), compiled(program.function(), backend, dynamic=True)
    stop = events.listen(note)
    try:
        for n, m in program.calls:
            choices.clear()
            failed.clear()
            want, got = result(noted, n, m), result(made.run, n, m)
            wrong = difference(want, got, 1e-4)
            assert not wrong, f"at {n}, {m}: {wrong}\n{program.source('')}"
            found.calls += 1
            if made.graphs > found.graphs:
                found.graphs = made.graphs
                chosen = tuple(map(int, choices))
                found.unforced += [guard.text for guard in failed if found.chosen[place(guard)] == chosen]
                found.chosen.append(chosen)
    finally:
        stop()
    return found


def place(guard: events.FailedGuard) -> int:
    """Return which of the program's compilations made the entry of a guard: "3/1" is the second one."""
    return int(guard.entry.rpartition("/")[2])


def result(function: Callable[..., Any], n: int, m: int) -> Any:
    """Return a call's result, or the name of the class of what it raised."""
    try:
        return function(floats(n), floats(m).cos())
    except Exception as error:  # what a program raises is compared
        return type(error).__name__


def listed(text: str) -> str:
    """Return why a guard is needed that eager does not choose by; empty when it is not."""
    return next((why for known, why in LISTED.items() if re.search(known, text)), "")


# SYM05, SYM06
@pytest.mark.parametrize("backend", ["eager", "native"])
@given(program=size_programs())
def test_a_program_that_computes_with_sizes_gives_eagers_result_at_every_size(
    program: SizeProgram, backend: str
) -> None:
    found = run(program, backend)
    needless = [text for text in found.unforced if not listed(text)]
    assert not needless, f"{needless} at {program.calls}\n{program.source('')}"
