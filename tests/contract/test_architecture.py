"""Rules of the architecture that no linter checks: read off the package's syntax trees."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from supple.torch_private import MISSING
from tests.contract.package import BANNED, PACKAGE, imported, mutable_globals, private, sources, torch_names

TORCH_PRIVATE = "torch_private.py"
BRIDGE = "interop/torch_bridge.py"
ASKS = {"_needed", "_optional", "_function", "_class"}


def private_torch_names(source: str) -> set[tuple[int, str]]:
    return {(line, name) for line, name in torch_names(ast.parse(source)) if private(name)}


def is_banned(name: str) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in BANNED)


def resolved(source: str) -> Iterator[tuple[int, str]]:
    """Yield (line, name) of what `torch_private` asks torch for by a text, `module:attributes`."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in ASKS:
                yield first.lineno, ast.unparse(first)


def listed() -> list[tuple[int, str]]:
    text = (PACKAGE / TORCH_PRIVATE).read_text(encoding="utf-8")
    return sorted({*private_torch_names(text), *resolved(text)})


def test_no_module_holds_a_mutable_object() -> None:
    found = [f"{s.name}:{line} {name}" for s in sources() for line, name in mutable_globals(s.tree)]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "seen = []",
        "seen: dict[str, int] = {}",
        "seen = set[int]()",
        "seen = collections.defaultdict(list)",
        "seen = [x for x in ()]",
        "state = threading.local()",
        "names = 'a b'.split()",
        "def f():\n    global seen\n    seen = 1",
    ],
)
def test_a_mutable_global_is_found(line: str) -> None:
    assert list(mutable_globals(ast.parse(line)))


@pytest.mark.parametrize(
    "line",
    [
        "TABLE: Final = {1: 2}",
        "rules: Rules[Emit] = Rules('x')",
        "__all__ = ['a']",
        "def f():\n    seen = []",
    ],
)
def test_tables_and_locals_are_no_mutable_globals(line: str) -> None:
    assert not list(mutable_globals(ast.parse(line)))


def test_private_names_of_torch_stand_in_one_file() -> None:
    found = [
        f"{s.name}:{line} {name}"
        for s in sources()
        if s.name not in {TORCH_PRIVATE, BRIDGE}
        for line, name in torch_names(s.tree)
        if private(name)
    ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "import torch._ops",
        "from torch._ops import OpOverload",
        "from torch import _C",
        "import torch\nx = torch._C._get_tracing_state",
        "import torch as t\nx = t.ops._private",
        "from torch import nn\nx = nn.Module._call_impl",
    ],
)
def test_a_private_name_of_torch_is_found(line: str) -> None:
    assert private_torch_names(line)


@pytest.mark.parametrize("line", ["import torch\nx = torch.Tensor.__call__", "from x import torch\ntorch._a"])
def test_public_names_of_torch_are_not_private(line: str) -> None:
    assert not private_torch_names(line)


def test_this_torch_has_every_private_name() -> None:
    assert len(listed()) > 70
    assert [str(one) for one in MISSING] == []


def reason(path: Path, line: int) -> str:
    """Return the comments and docstring of the top-level statement at a line, and of those right above."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    statement = next(s for s in ast.parse(text).body if s.lineno <= line <= (s.end_lineno or s.lineno))
    first = statement.lineno
    while first > 1 and lines[first - 2].strip():
        first -= 1
    comments = [part for part in lines[first - 1 : statement.end_lineno] if "#" in part]
    docstring = ast.get_docstring(statement) if isinstance(statement, ast.FunctionDef) else None
    return (docstring or "") + "".join(comments)


def test_each_listed_private_name_says_why() -> None:
    path = PACKAGE / TORCH_PRIVATE
    assert [f"{line}: {name}" for line, name in listed() if not reason(path, line)] == []


def test_banned_modules_are_imported_by_the_bridge_only() -> None:
    found = [
        f"{s.name}:{line} {name}"
        for s in sources()
        if s.name != BRIDGE
        for line, name in [*torch_names(s.tree), *((n, full) for n, _, full in imported(s.tree))]
        if is_banned(name)
    ]
    assert found == []


def test_files_that_are_no_modules_are_installed() -> None:
    root = PACKAGE
    settings = tomllib.loads((root.parent / "pyproject.toml").read_text())
    patterns = settings["tool"]["setuptools"]["package-data"]["supple"]
    files = {path for path in root.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    assert files == {path for pattern in patterns for path in root.glob(pattern)}
