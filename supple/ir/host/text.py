"""Print host programs and parse them back: `parse(text(host)) == host`. One step a line.

    host(n, x, w):
      s0 = number n
      s1 = size 0 of x
      y = alloc f32[s0, 768](768, 1)
      kernel0_add(x, w, y; s0)
      z = view y f32[768](1) at 768
      m = aten.mm.default(z, w)
      a, _ = aten.sort.default(m, dim=0)
      free y
      return (a, m)

Arguments are Python: Values are names, Exprs that are not constant are `size('s0*2')`, Reals are
`real('f0*2.0')`.
"""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from supple.base.rules import Rules
from supple.expr import Expr, as_expr
from supple.expr import parse as parse_expr
from supple.expr import text as expr_text
from supple.expr.real import Real, number_text, parse_number
from supple.ir.dtypes import DType
from supple.ir.host.nodes import Alloc, Bind, Extern, Free, Host, Launch, Return, Step, Value, View
from supple.ir.literals import read, shown
from supple.ir.meta import TensorMeta

printers: Final[Rules[Callable[[Step], str]]] = Rules("host text")
UNNAMED: Final = "_"


def text(host: Host) -> str:
    """Return a host program as text."""
    return (
        "\n".join((f"host({', '.join(host.inputs)}):", *(f"  {step_text(step)}" for step in host.steps)))
        + "\n"
    )


def step_text(step: Step) -> str:
    """Return one step as a line of text."""
    return printers[type(step)](step)


def _exprs(values: Sequence[Expr | Real]) -> str:
    return ", ".join(expr_text(e) if isinstance(e, Expr) else _quoted(e) for e in values)


def meta_text(meta: TensorMeta) -> str:
    """Return what a tensor is: dtype[sizes](strides), and device and offset where they are unusual."""
    device = "" if meta.device == "cpu" else f" on {meta.device}"
    offset = "" if meta.offset is as_expr(0) else f" at {expr_text(meta.offset)}"
    return f"{meta.dtype.value}[{_exprs(meta.sizes)}]({_exprs(meta.strides)}){device}{offset}"


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
    return f"{'size' if isinstance(number, Expr) else 'real'}({number_text(number)!r})"


@printers.on(Bind)
def _(step: Step) -> str:
    """number = size dim of value, or number = number value."""
    assert isinstance(step, Bind), f"{step}"
    return f"{step.number} = {'number' if step.dim is None else f'size {step.dim} of'} {step.value}"


@printers.on(Alloc)
def _(step: Step) -> str:
    """name = alloc meta."""
    assert isinstance(step, Alloc), f"{step}"
    return f"{step.name} = alloc {meta_text(step.meta)}"


@printers.on(Launch)
def _(step: Step) -> str:
    """kernel(buffers; sizes)."""
    assert isinstance(step, Launch), f"{step}"
    sizes = f"; {_exprs(step.sizes)}" if step.sizes else ""
    return f"{step.kernel}({', '.join(step.buffers)}{sizes})"


@printers.on(Extern)
def _(step: Step) -> str:
    """names = op(arguments); names end with a comma when the result is a tuple."""
    assert isinstance(step, Extern), f"{step}"
    names = ", ".join(name or UNNAMED for name in step.names)
    args = [argument_text(arg) for arg in step.args]
    args += [f"{key}={argument_text(arg)}" for key, arg in step.kwargs.items()]
    return f"{names}{',' if step.is_tuple else ''} = {step.op}({', '.join(args)})"


@printers.on(View)
def _(step: Step) -> str:
    """name = view base meta."""
    assert isinstance(step, View), f"{step}"
    return f"{step.name} = view {step.base} {meta_text(step.meta)}"


@printers.on(Free)
def _(step: Step) -> str:
    """free name."""
    assert isinstance(step, Free), f"{step}"
    return f"free {step.name}"


@printers.on(Return)
def _(step: Step) -> str:
    """return (values)."""
    assert isinstance(step, Return), f"{step}"
    return f"return {argument_text(step.values)}"


# Parsing.

_HEAD: Final = re.compile(r"host\((?P<inputs>.*)\):")
_BIND: Final = re.compile(r"(?P<number>\w+) = (number|size (?P<dim>\d+) of) (?P<value>\w+)")
_META: Final = re.compile(
    r"(?P<dtype>\w+)\[(?P<sizes>.*?)\]\((?P<strides>.*?)\)( on (?P<device>\S+))?( at (?P<offset>.+))?"
)
_ALLOC: Final = re.compile(r"(?P<name>\w+) = alloc (?P<meta>.+)")
_VIEW: Final = re.compile(r"(?P<name>\w+) = view (?P<base>\w+) (?P<meta>.+)")
_FREE: Final = re.compile(r"free (?P<name>\w+)")
_RETURN: Final = re.compile(r"return (?P<values>.+)")
_EXTERN: Final = re.compile(r"(?P<names>[\w, ]+?)(?P<tuple>,?) = (?P<op>\w+\.[\w.]+)\((?P<args>.*)\)")
_LAUNCH: Final = re.compile(r"(?P<kernel>\w+)\((?P<buffers>[^;]*)(; (?P<sizes>.+))?\)")


def parse(source: str) -> Host:
    """Return the host program that `text` printed.

    Raises:
        ValueError: the text is not in the language.
    """
    head, *lines = source.strip().splitlines()
    found = _HEAD.fullmatch(head)
    if found is None:
        raise ValueError(f"not the head of a host program: {head!r}")
    return Host(tuple(_split(found["inputs"])), tuple(parse_step(line.strip()) for line in lines))


def _split(source: str) -> list[str]:
    """Return the parts between commas that are not inside parentheses or brackets."""
    parts: list[str] = []
    depth = start = 0
    for place, character in enumerate(source):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append(source[start:place].strip())
            start = place + 1
    last = source[start:].strip()
    return [*parts, last] if last else parts


def _parse_exprs(source: str) -> tuple[Expr, ...]:
    return tuple(parse_expr(part) for part in _split(source))


def parse_meta(source: str) -> TensorMeta:
    """Return the metadata that `meta_text` printed."""
    found = _META.fullmatch(source)
    if found is None:
        raise ValueError(f"not a tensor: {source!r}")
    return TensorMeta(
        _parse_exprs(found["sizes"]),
        _parse_exprs(found["strides"]),
        DType(found["dtype"]),
        found["device"] or "cpu",
        parse_expr(found["offset"] or "0"),
    )


StepParser = Callable[[Mapping[str, str]], Step]
_PARSERS: Final[tuple[tuple[re.Pattern[str], StepParser], ...]] = (
    (_BIND, lambda found: Bind(found["number"], found["value"], int(found["dim"]) if found["dim"] else None)),
    (_ALLOC, lambda found: Alloc(found["name"], parse_meta(found["meta"]))),
    (_VIEW, lambda found: View(found["name"], found["base"], parse_meta(found["meta"]))),
    (_FREE, lambda found: Free(found["name"])),
    (_RETURN, lambda found: Return(_parse_values(found["values"]))),
    (_EXTERN, lambda found: _parse_extern(found)),
    (_LAUNCH, lambda found: _parse_launch(found)),
)


def parse_step(line: str) -> Step:
    """Return the step that one line says."""
    for pattern, make in _PARSERS:
        found = pattern.fullmatch(line)
        if found is not None:
            return make({key: value or "" for key, value in found.groupdict().items()})
    raise ValueError(f"not a step: {line!r}")


def _parse_launch(found: Mapping[str, str]) -> Launch:
    sizes = (part if part.startswith("real(") else f"size({part!r})" for part in _split(found["sizes"]))
    numbers = tuple(_argument(ast.parse(part, mode="eval").body) for part in sizes)
    return Launch(found["kernel"], tuple(_split(found["buffers"])), cast("tuple[Expr | Real, ...]", numbers))


def _parse_extern(found: Mapping[str, str]) -> Extern:
    names = tuple(None if name == UNNAMED else name for name in _split(found["names"]))
    call = ast.parse(f"f({found['args']})", mode="eval").body
    assert isinstance(call, ast.Call), f"{found['args']} are no arguments"
    args = tuple(_argument(arg) for arg in call.args)
    kwargs = {str(keyword.arg): _argument(keyword.value) for keyword in call.keywords}
    return Extern(names, found["op"], args, kwargs, bool(found["tuple"]))


def _parse_values(source: str) -> tuple[object, ...]:
    values = _argument(ast.parse(source, mode="eval").body)
    if not isinstance(values, tuple):
        raise ValueError(f"not a tuple of results: {source!r}")  # noqa: TRY004
    return cast("tuple[object, ...]", values)


def _argument(tree: ast.expr) -> object:
    """Return the argument that a syntax tree denotes."""
    return read(
        tree,
        lambda part: Value(part.id) if isinstance(part, ast.Name) else None,
        {"size": parse_expr, "real": parse_number},
    )
