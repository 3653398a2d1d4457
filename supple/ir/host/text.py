"""Print host programs and parse them back: `parse(text(host)) == host`. One step a line.

    host(n, x, w):
      s0 = number n
      s1 = size 0 of x
      check x f32[s0,768](768,1)
      y = alloc f32[s0,768](768,1)
      kernel0_add(x, w, y; s0)
      z = view y f32[768](1)+768
      m = aten.mm.default(z, w)
      a, _, = aten.sort.default(m, dim=0)
      free y
      return (a, m)

Arguments are Python: Values are names, Exprs that are not constant are `size('s0*2')`, Reals are
`real('f0*2.0')`.
"""

import ast
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, cast

from supple.expr import Expr
from supple.expr import parse as parse_expr
from supple.expr import text as expr_text
from supple.expr.real import Real, parse_number
from supple.ir.forms import WORD, Form, listed, optional, part, read_one
from supple.ir.host.nodes import (
    Alloc,
    Bind,
    Check,
    Compared,
    Extern,
    Free,
    Host,
    Launch,
    Return,
    Step,
    Value,
    View,
    Writes,
)
from supple.ir.literals import read, shown
from supple.ir.meta import meta_text, parse_meta

UNNAMED: Final = "_"


def text(host: Host) -> str:
    """Return a host program as text."""
    return "\n".join((_HEAD.show(host), *(f"  {FORMS[type(step)].show(step)}" for step in host.steps))) + "\n"


def parse(source: str) -> Host:
    """Return the host program that `text` printed.

    Raises:
        ValueError: the text is not in the language.
    """
    head, *lines = source.strip().splitlines()
    steps = (read_one(tuple(FORMS.values()), line.strip()) for line in lines)
    return Host(read_one((_HEAD,), head).inputs, tuple(steps))


def argument_text(arg: object, size: Callable[[Expr | Real], str] | None = None) -> str:
    """Return an argument as Python text; `size` prints numbers that are not constant."""

    def special(part: object) -> str | None:
        match part:
            case Value():
                return part.name
            case Expr() if part.is_const:
                return str(part.value)
            case Expr() | Real():
                return (size or _quoted)(part)
            case _:
                return None

    return shown(arg, special)


def _quoted(number: Expr | Real) -> str:
    return f"{'size' if isinstance(number, Expr) else 'real'}({expr_text(number)!r})"


def _argument(source: str) -> object:
    """Return the argument that a Python expression denotes."""
    return _read(ast.parse(source, mode="eval").body)


def _read(tree: ast.expr) -> object:
    calls = {"size": parse_expr, "real": parse_number}
    return read(tree, lambda part: Value(part.id) if isinstance(part, ast.Name) else None, calls)


def _call_text(call: tuple[tuple[object, ...], Mapping[str, object]]) -> str:
    args, kwargs = call
    return ", ".join(
        [*map(argument_text, args), *(f"{key}={argument_text(arg)}" for key, arg in kwargs.items())]
    )


def _parse_call(source: str) -> tuple[tuple[object, ...], dict[str, object]]:
    tree = ast.parse(f"f({source})", mode="eval").body
    assert isinstance(tree, ast.Call), f"{source} are no arguments"
    return tuple(map(_read, tree.args)), {str(item.arg): _read(item.value) for item in tree.keywords}


def _extern(*, names: tuple[str | None, ...], is_tuple: bool, op: str, call: tuple[Any, Any]) -> Extern:
    return Extern(names, op, *call, is_tuple)


def _parse_values(source: str) -> tuple[object, ...]:
    values = _argument(source)
    if not isinstance(values, tuple):
        raise ValueError(f"not a tuple of results: {source!r}")  # noqa: TRY004  # the text is wrong, not a type
    return cast("tuple[object, ...]", values)


_META: Final = part(".+", lambda meta: meta_text(meta, expr_text), parse_meta)
_DIM: Final = part(
    r"number|size \d+ of",
    lambda dim: "number" if dim is None else f"size {dim} of",
    lambda source: None if source == "number" else int(source.split()[1]),
)
_NAMES: Final = listed(
    part("", lambda name: name or UNNAMED, lambda name: None if name == UNNAMED else name), r"[\w, ]+?"
)
_COMPARED: Final = part(
    "(?:metadata of |memory of )?", lambda compared: cast("Compared", compared).value, Compared
)
_COMMA: Final = part(",?", lambda is_tuple: "," if is_tuple else "", bool)
_NUMBER: Final = part(
    "",
    lambda number: _quoted(number) if isinstance(number, Real) else expr_text(number),
    lambda source: _argument(source) if source.startswith("real(") else parse_expr(source),
)
_SIZES: Final = optional("; ", listed(_NUMBER, ".+"))
_OP: Final = part(r"\w+\.[\w.]+", str, str)
_CALL: Final = part(".*", _call_text, _parse_call)
_VALUES: Final = part(".+", argument_text, _parse_values)

_HEAD: Final = Form(partial(Host, steps=()), "host({inputs}):", inputs=listed(WORD))
FORMS: Final[Mapping[type[Step], Form[Any]]] = {
    Bind: Form(Bind, "{number} = {dim} {value}", dim=_DIM),
    Check: Form(Check, "check {compared}{name} {meta}", compared=_COMPARED, meta=_META),
    Alloc: Form(Alloc, "{name} = alloc {meta}", meta=_META),
    View: Form(View, "{name} = view {base} {meta}", meta=_META),
    Free: Form(Free, "free {name}"),
    Writes: Form(Writes, "writes"),
    Return: Form(Return, "return {values}", values=_VALUES),
    Extern: Form(
        _extern, "{names}{is_tuple} = {op}({call})", names=_NAMES, is_tuple=_COMMA, op=_OP, call=_CALL
    ),
    Launch: Form(Launch, "{kernel}({buffers}{sizes})", buffers=listed(WORD, r"[^;]*?"), sizes=_SIZES),
}
