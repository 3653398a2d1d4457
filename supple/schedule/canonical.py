"""Canonical names inside a nest, so that equal kernels are equal data and are compiled once."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from supple.expr import Expr, Symbol, free_symbols, substitute, symbol
from supple.ir.key import key_of
from supple.ir.loops import nodes

NAME_WORDS = 4


@dataclass(slots=True)
class _Names:
    """New names by old ones."""

    buffers: dict[str, str]
    scalars: dict[str, str] = field(default_factory=dict[str, str])
    axes: dict[Symbol, Symbol] = field(default_factory=dict[Symbol, Symbol])
    index: dict[Symbol, Expr] = field(default_factory=dict[Symbol, Expr])

    def scalar(self, value: nodes.Scalar) -> nodes.Scalar:
        return self.scalars[value] if isinstance(value, str) else value

    def define(self, name: str) -> str:
        new = f"t{len(self.scalars)}"
        self.scalars[name] = new
        self.index[symbol(name)] = symbol(new)
        return new

    def expr(self, e: Expr) -> Expr:
        if free_symbols(e).isdisjoint(self.index):
            return e
        return substitute(e, self.index)

    def exprs(self, values: Sequence[Expr]) -> tuple[Expr, ...]:
        return tuple(self.expr(e) for e in values)

    def axis(self, axis: nodes.Axis, prefix: str, place: int) -> nodes.Axis:
        old = axis.symbol
        new = symbol(f"{prefix}{place}", minimum=old.minimum, maximum=old.maximum)
        self.index[old] = new
        return nodes.Axis(new, axis.extent, axis.role)


def canonical(nest: nodes.Nest) -> nodes.Nest:
    """Return the nest with name and origin empty and all names in it given in order: b0, r0, k0, t0, ..."""
    names = _Names({buffer.name: f"b{place}" for place, buffer in enumerate(nest.buffers)})
    axes = tuple(names.axis(axis, "r", place) for place, axis in enumerate(nest.axes))
    buffers = tuple(replace(buffer, name=names.buffers[buffer.name]) for buffer in nest.buffers)
    return nodes.Nest("", buffers, nest.sizes, axes, _renamed(nest.body, names))


def _renamed(body: Sequence[nodes.Statement], names: _Names) -> tuple[nodes.Statement, ...]:
    result: list[nodes.Statement] = []
    for s in body:
        match s:
            case nodes.Load():
                index, mask = names.exprs(s.index), None if s.mask is None else names.scalars[s.mask]
                new = nodes.Load(names.define(s.name), s.dtype, names.buffers[s.buffer], index, mask, s.other)
            case nodes.Compute():
                args = tuple(names.scalar(arg) for arg in s.args)
                new = nodes.Compute(names.define(s.name), s.dtype, s.op, args)
            case nodes.IndexValue():
                value = names.expr(s.value)
                new = nodes.IndexValue(names.define(s.name), s.dtype, value)
            case nodes.Store():
                mask = None if s.mask is None else names.scalars[s.mask]
                new = nodes.Store(names.buffers[s.buffer], names.exprs(s.index), names.scalar(s.value), mask)
            case nodes.Loop():
                new = _loop(s, names)
        result.append(new)
    return tuple(result)


def _loop(loop: nodes.Loop, names: _Names) -> nodes.Loop:
    axes = tuple(names.axis(axis, "k", place) for place, axis in enumerate(loop.axes))
    body = _renamed(loop.body, names)
    operands = [names.scalars[reduce.value] for reduce in loop.reduces]
    reduces = tuple(
        nodes.Reduce(names.define(reduce.name), reduce.dtype, reduce.op, operand)
        for reduce, operand in zip(loop.reduces, operands, strict=True)
    )
    return nodes.Loop(axes, body, reduces)


class KernelNames:
    """Gives equal nests one name."""

    def __init__(self) -> None:
        self.nests: dict[str, nodes.Nest] = {}

    def named(self, nest: nodes.Nest) -> nodes.Nest:
        """Return the nest under its name; an equal nest met before is returned itself."""
        bare = canonical(nest)
        key = key_of(bare)  # `==` takes 0.0 for -0.0
        assert key is not None, "a nest holds plain data"
        known = self.nests.get(key)
        if known is None:
            words = _words(nest.origin)
            known = replace(bare, name=f"kernel{len(self.nests)}_{words}", origin=nest.origin)
            self.nests[key] = known
        return known


def _words(origin: Sequence[str]) -> str:
    """Return what a kernel computes in a few words: its nodes without numbers, the last ones."""
    found = dict.fromkeys(re.sub(r"(_\d+)+$", "", name) for name in origin)
    kept = [re.sub(r"\W", "_", word).strip("_") for word in found]
    return "_".join(kept[-NAME_WORDS:])
