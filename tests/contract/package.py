"""The package's source files as syntax trees, and what their imports and globals say."""

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "supple"

BANNED = ("torch._dynamo", "torch._inductor", "torch._functorch", "torch.fx.experimental", "sympy")
MUTABLE_CALLS = frozenset(
    {
        "Counter",
        "OrderedDict",
        "WeakKeyDictionary",
        "WeakSet",
        "WeakValueDictionary",
        "bytearray",
        "defaultdict",
        "deque",
        "dict",
        "list",
        "local",
        "set",
        "split",
    }
)
MUTABLE_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


@dataclass(frozen=True, slots=True)
class Source:
    """One file of the package."""

    name: str
    tree: ast.Module

    @property
    def dotted(self) -> str:
        """The name that imports it."""
        return ".".join(["supple", *Path(self.name).with_suffix("").parts]).removesuffix(".__init__")


@functools.cache
def sources() -> tuple[Source, ...]:
    """Return every Python file of the package; the name is its path below the package."""
    return tuple(
        Source(path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted(PACKAGE.rglob("*.py"))
    )


def dotted(node: ast.AST) -> str | None:
    """Return `a.b.c` for a chain of attributes on a name, else None."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            head = dotted(value)
            return None if head is None else f"{head}.{attr}"
        case _:
            return None


def imported(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Yield (line, bound name, full dotted name) of each name that an import statement binds."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    head = alias.name.partition(".")[0]
                    yield node.lineno, alias.asname or head, alias.name if alias.asname else head
                    if not alias.asname and head != alias.name:
                        yield node.lineno, alias.name, alias.name
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for alias in names:
                    yield node.lineno, alias.asname or alias.name, f"{module}.{alias.name}"
            case _:
                pass


def torch_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield (line, full dotted name) of everything below `torch` that the file imports or reads."""
    bound = {name: full for _, name, full in imported(tree) if full.partition(".")[0] == "torch"}
    for line, _, full in imported(tree):
        if full.partition(".")[0] == "torch":
            yield line, full
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            chain = dotted(node)
            head, _, rest = (chain or "").partition(".")
            if head in bound:
                yield node.lineno, f"{bound[head]}.{rest}"


def private(full: str) -> bool:
    """Whether a dotted name has a part with a leading underscore that is not a dunder."""
    return any(part.startswith("_") and not part.endswith("__") for part in full.split("."))


def is_mutable(value: ast.expr) -> bool:
    """Whether an expression makes a list, dict, set or another object that is there to be changed."""
    if isinstance(value, MUTABLE_DISPLAYS):
        return True
    if not isinstance(value, ast.Call):
        return False
    function = value.func.value if isinstance(value.func, ast.Subscript) else value.func
    name = function.attr if isinstance(function, ast.Attribute) else dotted(function)
    return name in MUTABLE_CALLS


def mutable_globals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield (line, name) of each module-level binding of a mutable object that is not declared Final.

    A `global` statement counts too: it says that a function rebinds the module's names.
    """
    for node in tree.body:
        match node:
            case ast.Assign(targets=targets, value=value) if is_mutable(value):
                names = [name for target in targets if (name := dotted(target)) is not None]
                yield from ((node.lineno, name) for name in names if name != "__all__")
            case ast.AnnAssign(target=target, value=ast.expr() as value, annotation=annotation):
                if is_mutable(value) and "Final" not in ast.unparse(annotation):
                    yield node.lineno, dotted(target) or "?"
            case _:
                pass
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield from ((node.lineno, name) for name in node.names)
