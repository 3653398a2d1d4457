"""The line budget: code lines of the package, of each file and of each function.

A code line holds at least one token that is neither a comment, a docstring nor layout. Files are held to
their raw length, functions to theirs from `def` to the last line.
"""

import argparse
import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LAYOUT_TOKENS = frozenset(
    {
        tokenize.COMMENT,
        tokenize.DEDENT,
        tokenize.ENCODING,
        tokenize.ENDMARKER,
        tokenize.INDENT,
        tokenize.NEWLINE,
        tokenize.NL,
    }
)


@dataclass(frozen=True, slots=True)
class Budget:
    """Upper bounds, in lines."""

    package: int = 29_600
    file: int = 600
    function: int = 60


def docstring_lines(tree: ast.Module) -> set[int]:
    """Return the numbers of the lines that docstrings occupy."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            match first:
                case ast.Expr(value=ast.Constant(value=str())):
                    lines.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
                case _:
                    pass
    return lines


def code_lines(source: str) -> int:
    """Return how many lines of `source` are code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT_TOKENS:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstring_lines(ast.parse(source)))


def long_functions(tree: ast.Module, limit: int) -> Iterator[tuple[str, int, int]]:
    """Yield (name, first line, length) of each function longer than `limit` lines, docstring included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > limit:
                yield node.name, node.lineno, length


def over_budget(folder: Path, budget: Budget) -> tuple[int, list[str]]:
    """Return the code lines below `folder`, and one sentence for each bound that is broken."""
    total = 0
    problems: list[str] = []
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        total += code_lines(source)
        raw = len(source.splitlines())
        if raw > budget.file:
            problems.append(f"{path}: {raw} lines, a file has at most {budget.file}")
        for name, line, length in long_functions(ast.parse(source), budget.function):
            problems.append(f"{path}:{line}: {name} has {length} lines, a function at most {budget.function}")
    if total > budget.package:
        problems.append(f"{folder}: {total} code lines, the package has at most {budget.package}")
    return total, problems


def per_package(folder: Path) -> list[tuple[str, int, int]]:
    """Return (name, files, code lines) for each direct child of `folder`; its own files stand under "."."""
    counts: dict[str, list[int]] = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).parts
        name = parts[0] if len(parts) > 1 else "."
        counts.setdefault(name, []).append(code_lines(path.read_text(encoding="utf-8")))
    return [(name, len(lines), sum(lines)) for name, lines in counts.items()]


def main(arguments: list[str] | None = None) -> int:
    """Print the budget's state and return 1 when a bound is broken, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--list", action="store_true", help="also print the lines of each sub-package")
    options = parser.parse_args(arguments)
    budget = Budget()
    total, problems = over_budget(options.folder, budget)
    if options.list:
        for name, files, lines in per_package(options.folder):
            print(f"{name:<16}{files:>4} files {lines:>7,} code lines")
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{total:,} of {budget.package:,} code lines in {options.folder}, {len(problems)} over budget")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
