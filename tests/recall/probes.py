"""Which mutants a program of the fuzzer could notice: those whose lines run while it is compiled or called.

A probe is a statement put before the lines that a mutant changes. A program that reaches none of them does
the same with the mutant as without it, so that it need not be run again. What runs once for a process, for
its cache or on import, belongs to no program: such mutants are in reach of each.
"""

import ast
import builtins
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from supple.capture.library.table import call, effect
from tests.recall.mutants import Edit, Mutant

MARK: Final = "__mark__"
"""The name, among the builtins, of what a probe calls."""
_CACHES: Final = frozenset(("cache", "lru_cache", "cached_property"))

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Marks:
    """What was reached since it was asked last."""

    def __init__(self) -> None:
        self.reached: set[str] = set()

    def install(self) -> None:
        """Let probes tell this object, those in code that capture interprets too."""
        setattr(builtins, MARK, self._mark)
        call.on(self._mark)(effect(lambda _machine, args, _kwargs: self._mark(str(args[0].as_python()))))

    def _mark(self, name: str) -> None:
        self.reached.add(name)

    def taken(self) -> list[str]:
        """Return what was reached since the last time."""
        found = sorted(self.reached)
        self.reached.clear()
        return found


def put(mutants: Iterable[Mutant], folder: Path) -> set[str]:
    """Put probes into the package of a folder; return the names of mutants that each program may notice."""
    by_file: dict[str, list[tuple[str, Edit]]] = {}
    for mutant in mutants:
        for edit in mutant.edits:
            by_file.setdefault(edit.file, []).append((mutant.name, edit))
    everywhere: set[str] = set()
    for file, edits in by_file.items():
        text = (folder / file).read_text()
        found, missed = probed(text, [(name, *lines_of(text, edit)) for name, edit in edits])
        (folder / file).write_text(found)
        everywhere |= missed
    return everywhere


def lines_of(text: str, edit: Edit) -> tuple[int, int]:
    """Return the first and the last line that an edit changes, of those that are not blank."""
    before = edit.before.strip("\n")
    start = text[: text.index(edit.before)].count("\n") + 1
    start += len(edit.before[: edit.before.index(before)].splitlines())
    return start, start + before.count("\n")


def probed(text: str, marks: Sequence[tuple[str, int, int]]) -> tuple[str, set[str]]:
    """Return a source with probes, and the names for which there is no place.

    Args:
        marks: names with the first and the last of their lines.
    """
    tree, missed = ast.parse(text), set[str]()
    places = [(name, list(_places(tree, first, last, is_inside=False))) for name, first, last in marks]
    for name, bodies in places:
        if not bodies:
            missed.add(name)
        for body, statement in bodies:
            probe = ast.parse(f"{MARK}({name!r})").body[0]
            body.insert(next(at for at, one in enumerate(body) if one is statement), probe)
    return ast.unparse(ast.fix_missing_locations(tree)), missed


def _places(
    node: ast.AST, first: int, last: int, *, is_inside: bool
) -> Iterator[tuple[list[ast.stmt], ast.stmt]]:
    """Yield the innermost statements of functions that have some of the lines, with what they stand in."""
    for body in _bodies(node):
        for statement in body:
            lines = (_begin(statement), statement.end_lineno or statement.lineno)
            if lines[1] < first or lines[0] > last:
                continue
            if isinstance(statement, Function) and any(map(_is_cache, statement.decorator_list)):
                continue
            is_function = isinstance(statement, Function)
            inner = list(_places(statement, first, last, is_inside=is_inside or is_function))
            if inner:
                yield from inner
            elif is_function and lines[0] <= last:
                yield statement.body, statement.body[0]
            elif is_inside:
                yield body, statement


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the lists of statements that stand in a statement, also those of its handlers and cases."""
    for name in ("body", "orelse", "finalbody"):
        found = getattr(node, name, None)
        if isinstance(found, list) and found:
            yield found
    for name in ("handlers", "cases"):
        for one in getattr(node, name, ()):
            yield one.body


def _begin(statement: ast.stmt) -> int:
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])


def _is_cache(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")) in _CACHES
