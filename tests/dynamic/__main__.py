"""Print how many graphs each program of the corpus needs: `python -m tests.dynamic [names] [--torch]`."""

import argparse
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from supple.testing import CompileCounter
from tests.dynamic.harness import BACKENDS, MODES, Program, check, compiled, outcome
from tests.dynamic.programs import PROGRAMS


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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.dynamic", description=__doc__)
    parser.add_argument("names", nargs="*", help="programs; all without")
    parser.add_argument("--torch", action="store_true", help="torch.compile beside it")
    given = parser.parse_args()
    table = Table(title="Graphs over the sizes that eager accepts (red: not as declared)")
    modes = [f"dynamic={dynamic}" for dynamic in MODES]
    heads = [f"{mode}\n{name}" for mode in modes for name in (*BACKENDS, *["torch"] * given.torch)]
    for head in ("program", "sizes", *heads, "condition"):
        table.add_column(head, no_wrap=head == "program")
    for program in PROGRAMS:
        if not given.names or str(program) in given.names:
            cells: list[str] = []
            for dynamic in MODES:
                cells += [needed(program, backend, dynamic) for backend in BACKENDS]
                cells += [needed_by_torch(program, dynamic)] * given.torch
            table.add_row(str(program), str(program.accepted()), *cells, program.why)
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
