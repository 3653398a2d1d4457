"""A fact that a trace reads has a guard: who reads an object, a class or the state of the process records it.

The test knows raw reads by their look: `value.obj`, `vars(x)`, `cls.__mro__`, `sys.modules`, or
`torch.is_grad_enabled()`. A function of capture that has one calls what records a fact, or `reads.txt` says
why it need not.
"""

import ast
import builtins
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.contract.package import PACKAGE

LISTED: Final = Path(__file__).with_name("reads.txt")

OF_OBJECTS: Final = frozenset(
    ("obj", "__dict__", "__mro__", "__bases__", "__closure__", "__globals__", "modules")
)
"""Attributes that are raw reads wherever they are loaded: of values of the program, of classes, of `sys`."""

OF_TENSORS: Final = frozenset(("storage_offset", "is_neg", "is_conj", "is_inference", "data_ptr", "_version"))
"""Methods and attributes of tensors that no metadata of a guard holds by themselves."""

ASKED_OF_CLASSES: Final = frozenset(
    f"__{name}__"
    for name in "new init del call eq ne hash bool len iter next contains getitem setattr getattr".split()
)
"""Special methods: which a class has, decides what its objects do."""

OF_C: Final = frozenset(("ndarray", "partial"))
"""Classes with small names that the code writes out."""

CALLS: Final = frozenset(("vars", "getattr_static"))
"""Functions whose call is a raw read."""

STATE: Final = ("is_", "are_", "get_")
"""How names of torch's functions begin that read the state of the process."""

RECORDERS: Final = frozenset(
    "guard guard_same _record tell_apart told_apart is_same note_lookup note_bases builtin lookup "
    "expectation note_whole state_now wrap".split()
)
"""Functions that record the fact that they hand out; `wrap` gives a value whose class records for itself."""


def raw_reads(function: ast.AST) -> Iterator[str]:
    """Yield the raw reads in the body of a function, as the test shows them."""
    for node in ast.walk(function):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Load()) if name in OF_OBJECTS | OF_TENSORS:
                yield f".{name}"
            case ast.Call(func=ast.Name(id=name)) if name in CALLS:
                yield f"{name}()"
            case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=name)) if name.startswith(
                STATE
            ):
                yield f"torch.{name}()"
            case _:
                pass


def raw_methods(tree: ast.AST) -> Iterator[str]:
    """Yield where a special method is read off a class in a variable, which `lookup` would record.

    Classes that are written in the code, such as `object`, are no facts; nor is `super()`.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=owner) | ast.Attribute(attr=owner), attr=name):
                is_written = hasattr(builtins, owner) or owner.strip("_")[0].isupper() or owner in OF_C
                if name in ASKED_OF_CLASSES and not is_written:
                    yield f"{owner}.{name}"
            case ast.Attribute(value=ast.Call(func=ast.Name(id="type")), attr=name):
                if name in ASKED_OF_CLASSES:
                    yield f"type().{name}"
            case _:
                pass


def records(function: ast.AST) -> bool:
    """Tell whether a function calls what records facts."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in RECORDERS:
                return True
    return False


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield the functions of a module by qualified name; nested ones belong to the outermost."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef):
                    yield f"{node.name}.{part.name}", part


def unrecorded() -> dict[str, str]:
    """Return the functions with raw reads that record nothing, and the reads."""
    found: dict[str, str] = {}
    for path in sorted((PACKAGE / "capture").rglob("*.py")):
        name = path.relative_to(PACKAGE / "capture").as_posix()
        if name.startswith(("guards/", "bytecode/")):
            continue
        for place, function in functions(ast.parse(path.read_text(encoding="utf-8"))):
            reads = sorted(set(raw_reads(function)))
            if reads and not records(function):
                key = f"{name}:{place}"
                found[key] = ", ".join(filter(None, (found.get(key), *reads)))
    return found


def test_who_reads_a_fact_records_it_or_says_why_not() -> None:
    lines = [line for line in LISTED.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    listed = {place.strip(): why.strip() for place, _, why in (line.partition("|") for line in lines)}
    found = unrecorded()
    assert {place: reads for place, reads in found.items() if place not in listed} == {}
    assert sorted(place for place in listed if place not in found) == [], "no raw read any more"
    assert all(listed.values())


def test_special_methods_of_classes_are_looked_up() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): reads
        for path in sorted((PACKAGE / "capture").rglob("*.py"))
        if (reads := list(raw_methods(ast.parse(path.read_text(encoding="utf-8")))))
    }
    allowed = {
        "capture/callables.py": ["type().__call__"],  # of the module, in each call
        "capture/library/exceptions.py": ["kind.__init__"],  # of the builtin ones
        "capture/library/sorting.py": ["ranks.__getitem__"] * 2,  # of a list
    }
    assert found == allowed
    raw = ast.parse("kind.__new__ is object.__new__ and type(value.obj).__hash__ and self.cls.__eq__")
    assert sorted(raw_methods(raw)) == ["cls.__eq__", "kind.__new__", "type().__hash__"]


def test_a_raw_read_beside_the_door_is_found() -> None:
    beside = ast.parse("def rule(machine, value):\n    return ConstantValue(value.obj.eps)")
    recorded = ast.parse(
        "def rule(machine, value):\n    machine.guard(value.source, Kind.EQUALS, value.obj.eps)"
    )
    assert list(raw_reads(beside)) == [".obj"]
    assert not records(beside)
    assert records(recorded)
