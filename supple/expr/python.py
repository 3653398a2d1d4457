"""Python's operators by their signs: what they compute, and what syntax trees call them."""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

_SIGNS: Final = "+ - * / // % ** == != < <= > >= and or".split()
_FUNCTIONS: Final = "add sub mul truediv floordiv mod pow eq ne lt le gt ge and_ or_".split()
_TREES: Final = "Add Sub Mult Div FloorDiv Mod Pow Eq NotEq Lt LtE Gt GtE And Or".split()

PYTHON: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    **{sign: getattr(operator, name) for sign, name in zip(_SIGNS, _FUNCTIONS, strict=True)},
    "min": min,
    "max": max,
}
"""Of numbers, and `and` and `or` of truths."""

SIGNS: Final[Mapping[type[ast.AST], str]] = {
    getattr(ast, name): sign for sign, name in zip(_SIGNS, _TREES, strict=True)
}
