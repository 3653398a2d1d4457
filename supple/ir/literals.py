"""Arguments of operators as Python text, and back: what the texts of graphs and of host programs share."""

import ast
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Final, cast

import torch

from supple.ir.arguments import slice_parts

#: Calls that stand for values without a literal of their own.
CALLS: Final = cast(
    "Mapping[str, Callable[..., object]]",
    {"float": float, "complex": complex, "slice": slice, "torch.device": torch.device},
)


def shown(arg: object, special: Callable[[object], str | None]) -> str:
    """Return an argument as Python text; `special` is asked first, for each part; None leaves it to us."""
    own = special(arg)
    if own is not None:
        return own
    match arg:
        case list():
            return f"[{_joined(cast('list[object]', arg), special)}]"
        case tuple():
            items = cast("tuple[object, ...]", arg)
            return f"({_joined(items, special)}{',' if len(items) == 1 else ''})"
        case dict():
            pairs = cast("dict[object, object]", arg).items()
            return (
                "{" + ", ".join(f"{shown(key, special)}: {shown(item, special)}" for key, item in pairs) + "}"
            )
        case slice():
            return f"slice({_joined(slice_parts(cast('object', arg)), special)})"
        case complex():
            return f"complex({_joined((arg.real, arg.imag), special)})"
        case float() if not math.isfinite(arg):
            return f"float('{arg}')"
        case torch.device():
            return f"torch.device('{arg}')"
        case _:
            return "..." if arg is Ellipsis else repr(arg)


def _joined(items: Iterable[object], special: Callable[[object], str | None]) -> str:
    return ", ".join(shown(item, special) for item in items)


def read(
    tree: ast.expr, special: Callable[[ast.expr], object], calls: Mapping[str, Callable[..., object]]
) -> object:
    """Return the argument that a syntax tree denotes: the inverse of `shown`.

    Args:
        special: is asked first, for each part; None leaves it to us.
        calls: functions by name, beside CALLS.

    Raises:
        ValueError: it denotes none.
    """
    own = special(tree)
    if own is not None:
        return own
    match tree:
        case ast.Constant(value=value):
            return value
        case ast.List(elts=items):
            return [read(item, special, calls) for item in items]
        case ast.Tuple(elts=items):
            return tuple(read(item, special, calls) for item in items)
        case ast.Dict(keys=keys, values=values):
            pairs = zip((key for key in keys if key is not None), values, strict=True)
            return {read(key, special, calls): read(item, special, calls) for key, item in pairs}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -cast("float", read(operand, special, calls))
        case ast.Attribute(value=ast.Name(id="torch"), attr=name):
            return cast("object", getattr(torch, name))
        case ast.Call(func=function, args=args) if make := calls.get(
            name := ast.unparse(function), CALLS.get(name)
        ):
            return make(*(read(arg, special, calls) for arg in args))
        case _:
            raise ValueError(f"{ast.unparse(tree)!r} is not an argument")
