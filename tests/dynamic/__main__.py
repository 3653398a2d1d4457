"""Print how many graphs each program of the corpus needs: `python -m tests.dynamic [names] [--torch]`.

`--random N` runs N random programs with size arithmetic and counts calls, graphs and guards.
"""

import argparse
import re
from collections import Counter
from typing import Any

import torch
from hypothesis import HealthCheck, Phase, given, settings
from rich.console import Console
from rich.table import Table

from supple.testing import CompileCounter
from tests.dynamic.harness import BACKENDS, MODES, Program, check, compiled, outcome
from tests.dynamic.programs import PROGRAMS
from tests.dynamic.size_programs import SizeProgram, size_programs
from tests.dynamic.test_soundness import listed, run


def needed(program: Program, backend: str, dynamic: bool | None) -> str:
    """Return the number of graphs; with a mark where more than the fewest, or where results differ."""
    try:
        check(program, backend, dynamic)
    except Exception as error:  # the table shows what fails
        made = compiled(program.function, backend, dynamic)
        for n in program.accepted():
            outcome(made.run, program.inputs(n))
        wrong = "graphs, not" not in str(error)
        return f"[red]{count(made)} {type(error).__name__ if wrong else ''}[/]"
    return str(program.graphs if dynamic else program.default)


def count(made: Any) -> str:
    """Return the number of graphs, or that the native stages refused one."""
    try:
        return str(made.graphs)
    except AssertionError:
        return "refused"


def needed_by_torch(program: Program, dynamic: bool | None) -> str:
    """Return the number of graphs of torch.compile, with a mark where it failed."""
    torch.compiler.reset()
    counter = CompileCounter()
    run = torch.compile(program.function, backend=counter, dynamic=dynamic)
    found = [outcome(run, program.inputs(n)) for n in program.accepted()]
    return f"{counter.graphs}{' failed' if any(one.error for one in found) else ''}"


def first_number(cell: str) -> int:
    """Return the number of graphs that a cell shows; 0 when it shows none."""
    found = re.search(r"\d+", cell)
    return int(found[0]) if found else 0


def count_random(examples: int, backend: str) -> Table:
    """Run random programs; return how many calls, graphs and guards there were.

    Raises:
        AssertionError: a result was not eager's.
    """
    counts: Counter[str] = Counter()

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=(HealthCheck.too_slow,),
    )
    @given(size_programs())
    def once(program: SizeProgram) -> None:
        found = run(program, backend)
        counts.update({"programs": 1, "calls, each equal to eager": found.calls, "graphs": found.graphs})
        counts["graphs for another choice of eager"] += len(set(found.chosen))
        for text in found.unforced:
            counts[f"guard that eager does not choose by: {listed(text) or text}"] += 1

    once()
    table = Table("what", "how many", title=f"Random programs, dynamic=True, backend {backend}")
    for what, number in counts.items():
        table.add_row(what, str(number))
    return table


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.dynamic", description=__doc__)
    parser.add_argument("names", nargs="*", help="programs; all without")
    parser.add_argument("--torch", action="store_true", help="torch.compile beside it")
    parser.add_argument("--random", type=int, metavar="N", help="random programs instead")
    asked = parser.parse_args()
    console = Console(width=160)
    if asked.random:
        for backend in BACKENDS:
            console.print(count_random(asked.random, backend))
        return
    table = Table(title="Graphs over the sizes that eager accepts (red: not as declared)")
    modes = [f"dynamic={dynamic}" for dynamic in MODES]
    heads = [f"{mode}\n{name}" for mode in modes for name in (*BACKENDS, *["torch"] * asked.torch)]
    for head in ("program", "sizes", *heads, "condition"):
        table.add_column(head, no_wrap=head in ("program", "sizes"))
    rows: list[list[str]] = []
    for program in PROGRAMS:
        if not asked.names or str(program) in asked.names:
            cells: list[str] = []
            for dynamic in MODES:
                cells += [needed(program, backend, dynamic) for backend in BACKENDS]
                cells += [needed_by_torch(program, dynamic)] * asked.torch
            rows.append(cells)
            sizes = " ".join(map(str, program.accepted()))
            table.add_row(str(program), sizes, *cells, program.why)
    totals = [str(sum(map(first_number, column))) for column in zip(*rows, strict=True)]
    table.add_section()
    table.add_row(f"{len(rows)} programs", "", *totals)
    console.print(table)


if __name__ == "__main__":
    main()
