"""The size budget: tokens of code in the package, lines of a file and of a function.

A token counts when it is neither a comment, a docstring nor layout: a docstring or one item a line costs
nothing, and packing gains nothing. Files are held to their raw length, functions to theirs from `def` to
the last line; the package is held to a mean density, in tokens per line of code.
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


# From 3.12 an f-string comes in parts, from 3.14 a t-string too. It counts as one token, as before.
STRING_STARTS = frozenset({"FSTRING_START", "TSTRING_START"})
STRING_ENDS = frozenset({"FSTRING_END", "TSTRING_END"})


@dataclass(frozen=True, slots=True)
class Budget:
    """Upper bounds: tokens of the package, its tokens per line, lines of a file and of a function."""

    tokens: int = 420_000
    file: int = 600
    long_file: int = 500
    function: int = 60
    density: float = 11.0


@dataclass(frozen=True, slots=True)
class Size:
    """Tokens of code, and the lines that hold at least one of them."""

    tokens: int
    lines: int

    def __add__(self, other: "Size") -> "Size":
        return Size(self.tokens + other.tokens, self.lines + other.lines)

    @property
    def density(self) -> float:
        """Tokens per line of code."""
        return self.tokens / max(self.lines, 1)


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


def size_of(source: str) -> Size:
    """Return the size of the code in `source`."""
    docstrings = docstring_lines(ast.parse(source))
    tokens = within = 0
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kind = tokenize.tok_name[token.type]
        within -= kind in STRING_ENDS
        if token.type not in LAYOUT_TOKENS and token.start[0] not in docstrings:
            tokens += not within and kind not in STRING_ENDS
            lines.update(range(token.start[0], token.end[0] + 1))
        within += kind in STRING_STARTS
    return Size(tokens, len(lines))


def long_functions(tree: ast.Module, limit: int) -> Iterator[tuple[str, int, int]]:
    """Yield (name, first line, length) of each function longer than `limit` lines, docstring included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > limit:
                yield node.name, node.lineno, length


def over_budget(folder: Path, budget: Budget) -> tuple[Size, list[str], list[str]]:
    """Return the size of the code below `folder`, what breaks a bound, and what comes near one."""
    total = Size(0, 0)
    problems: list[str] = []
    warnings: list[str] = []
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        total += size_of(source)
        raw = len(source.splitlines())
        if raw > budget.file:
            problems.append(f"{path}: {raw} lines, a file has at most {budget.file}")
        elif raw > budget.long_file:
            warnings.append(f"{path}: {raw} lines, split it before it has {budget.file}")
        for name, line, length in long_functions(ast.parse(source), budget.function):
            problems.append(f"{path}:{line}: {name} has {length} lines, a function at most {budget.function}")
    if total.tokens > budget.tokens:
        problems.append(f"{folder}: {total.tokens} tokens of code, the package has at most {budget.tokens}")
    if total.density > budget.density:
        msg = f"{folder}: {total.density:.2f} tokens a line, the package has at most {budget.density}"
        problems.append(msg)
    return total, problems, warnings


def per_package(folder: Path) -> list[tuple[str, int, Size]]:
    """Return (name, files, size) for each direct child of `folder`; its own files stand under "."."""
    sizes: dict[str, list[Size]] = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).parts
        name = parts[0] if len(parts) > 1 else "."
        sizes.setdefault(name, []).append(size_of(path.read_text(encoding="utf-8")))
    return [(name, len(files), sum(files, Size(0, 0))) for name, files in sizes.items()]


def main(arguments: list[str] | None = None) -> int:
    """Print the budget's state and return 1 when a bound is broken, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    budget = Budget()
    total, problems, warnings = over_budget(options.folder, budget)
    for name, files, size in per_package(options.folder):
        print(f"{name:<16}{files:>4} files {size.tokens:>8,} tokens {size.density:>6.1f} a line")
    for warning in warnings:
        print(f"warning: {warning}")
    for problem in problems:
        print(problem, file=sys.stderr)
    print(
        f"{total.tokens:,} of {budget.tokens:,} tokens in {options.folder}, "
        f"{total.density:.2f} a line, {len(problems)} over budget"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
