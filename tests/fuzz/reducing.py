"""Makes a failing program smaller while it fails in the same way."""

import ast
import copy
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from tests.fuzz import setting

BLOCKS: Final = ("body", "orelse", "finalbody", "handlers", "cases")
ITEMS: Final = ("elts", "args", "keywords", "values", "generators", "items", "ifs")


def reduced(source: str, fails: Callable[[str], bool], attempts: int = 3000) -> str:
    """Return a smaller program for which `fails` is still true; it is asked at most `attempts` times.

    After a success it goes on where it is: what could not be left out before is asked again in the next pass.
    """
    best, seen = ast.unparse(ast.parse(source)), set[str]()
    is_smaller = True
    while is_smaller:
        is_smaller, place, ways = False, 0, list(candidates(best))
        while place < len(ways):
            text = ways[place]()
            if text in seen or len(text) >= len(best):
                place += 1
                continue
            seen.add(text)
            attempts -= 1
            if attempts < 0:
                return best
            if fails(text):
                best, is_smaller, ways = text, True, list(candidates(text))
            else:
                place += 1
    return best


def candidates(source: str) -> Iterator[Callable[[], str]]:
    """Yield what makes programs with something left out, the largest parts first."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    for place, node in enumerate(nodes):
        for change in [*dropped_blocks(node), *hoisted(node)]:
            yield partial(changed, tree, place, change)
    yield from without_parameters(tree)
    for place, node in enumerate(nodes):
        for change in [*dropped_items(node), *replaced(node)]:
            yield partial(changed, tree, place, change)


Change = Callable[[Any], None]


def changed(tree: ast.Module, place: int, change: Change) -> str:
    """Return the text of a copy in which the node at a place of the walk is changed."""
    made = copy.deepcopy(tree)
    change(list(ast.walk(made))[place])
    if writes_shared(made):
        return ""
    try:
        text = ast.unparse(ast.fix_missing_locations(made))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "candidate", "exec")
    except (SyntaxError, ValueError, TypeError, AttributeError):
        return ""
    return text


def writes_shared(tree: ast.Module) -> bool:
    """Tell whether a program writes an attribute of what all programs share, as of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            root: ast.expr = node
            while isinstance(root, ast.Attribute | ast.Subscript):
                root = root.value
            if isinstance(root, ast.Name) and root.id in setting.__all__:
                return True
    return False


def dropped_blocks(node: ast.AST) -> Iterator[Change]:
    """Yield what leaves out statements, many first; an empty body passes."""
    for name in BLOCKS:
        block = getattr(node, name, None)
        size = len(block) if isinstance(block, list) else 0
        while size:
            for start in range(0, len(block or ()), size):
                yield lambda made, name=name, start=start, size=size: drop(made, name, start, size)
            size //= 2


def drop(node: Any, name: str, start: int, size: int) -> None:
    """Leave out some of the statements of a block."""
    del getattr(node, name)[start : start + size]
    if name == "body" and not node.body:
        node.body = [ast.Pass()]


def hoisted(node: ast.AST) -> Iterator[Change]:
    """Yield what puts the body of a compound statement in its place."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        for index, inner in enumerate(block if isinstance(block, list) else ()):
            if isinstance(inner, ast.FunctionDef | ast.ClassDef):
                continue
            for part in ("body", "orelse", "finalbody"):
                if isinstance(getattr(inner, part, None), list):
                    yield lambda made, at=(name, index, part): hoist(made, *at)


def hoist(node: Any, name: str, index: int, part: str) -> None:
    """Put one block of a statement in the statement's place."""
    block = getattr(node, name)
    block[index : index + 1] = getattr(block[index], part) or [ast.Pass()]


def without_parameters(tree: ast.Module) -> Iterator[Callable[[], str]]:
    """Yield what makes the program without one parameter of `program`."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    count = next((len(node.args.args) for node in functions if node.name == "program"), 0)
    for index in range(count):
        yield partial(without_parameter, tree, index)


def without_parameter(tree: ast.Module, index: int) -> str:
    """Return the program without a parameter of `program`, and without what calls give for it."""
    made = copy.deepcopy(tree)
    for node in made.body:
        match node:
            case ast.FunctionDef(name="program"):
                del node.args.args[index : index + 1]
            case ast.FunctionDef(body=[*_, ast.Return(value=ast.Tuple(elts=elts))]) if is_maker(node):
                del elts[index : index + 1]
            case _:
                pass
    return ast.unparse(made)


def is_maker(node: ast.FunctionDef) -> bool:
    """Tell whether a function makes the arguments of a call."""
    return node.name.startswith("arguments_")


def dropped_items(node: ast.AST) -> Iterator[Change]:
    """Yield what leaves out an argument, an item, a decorator."""
    for name in (*ITEMS, "decorator_list"):
        items = getattr(node, name, None)
        for index in range(len(items) if isinstance(items, list) else 0):
            yield lambda made, name=name, index=index: drop_item(made, name, index)


def drop_item(node: Any, name: str, index: int) -> None:
    """Leave out an item; of a dict its key too."""
    del getattr(node, name)[index]
    if isinstance(node, ast.Dict):
        del node.keys[index]


def replaced(node: ast.AST) -> Iterator[Change]:
    """Yield what puts an expression's part, or a constant, in the place of the expression."""
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.expr):
            for change in simpler(value):
                yield lambda made, name=name, change=change: setattr(made, name, change(getattr(made, name)))
        for index, item in enumerate(value if isinstance(value, list) else ()):
            if isinstance(item, ast.expr):
                for change in simpler(item):
                    yield lambda made, at=(name, index, change): put(made, *at)


def put(node: Any, name: str, index: int, change: Callable[[Any], Any]) -> None:
    """Change an item of a list of expressions."""
    items = getattr(node, name)
    items[index] = change(items[index])


def simpler(expression: ast.expr) -> Iterator[Callable[[Any], Any]]:
    """Yield what makes an expression one of its parts, or 0."""
    parts = [node for node in ast.walk(expression) if isinstance(node, ast.expr) and node is not expression]
    for index in range(len(parts)):
        yield lambda made, index=index: [
            node for node in ast.walk(made) if isinstance(node, ast.expr) and node is not made
        ][index]
    if not isinstance(expression, ast.Constant | ast.Name) and isinstance(
        getattr(expression, "ctx", ast.Load()), ast.Load
    ):
        yield lambda _: ast.Constant(0)
