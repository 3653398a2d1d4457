"""Sizes and other numbers of a captured graph while it is traced again: symbols in, symbols out."""

from collections.abc import Sequence
from typing import Final, cast

import torch

from supple.autograd.errors import NotFunctional
from supple.expr import Expr, Symbol, equal, substitute
from supple.expr.real import Real
from supple.ir.graph.nodes import Graph, Meta, Node
from supple.ir.graph.symbols import mapped, names_in, simplified
from supple.ir.meta import TensorMeta
from supple.shapes.checks import checked
from supple.shapes.env import ShapeEnv, active
from supple.shapes.fake import meta_of
from supple.shapes.symnode import plain, sym
from supple.torch_private import OpOverload, schema_of

#: Types of arguments that are as they are, the common ones.
_PLAIN: Final = frozenset((int, float, bool, str, type(None), torch.dtype, torch.device))
_LEAST: Final = torch.iinfo(torch.int64).min
_GREATEST: Final = torch.iinfo(torch.int64).max


class Numbers:
    """The symbols of one trace.

    Attributes:
        env: of the compilation; None while a graph without symbols is traced.
        known: names of symbols and float inputs that the inputs and the nodes so far define.
    """

    def __init__(self, graph: Graph) -> None:
        self.env: ShapeEnv | None = active()
        self.known: set[str] = {name for item in graph.inputs for name in names_in(item.meta)}
        self._renamed: dict[Symbol, Expr] = {}
        self._version = self.env.version if self.env is not None else 0
        assert self.env is not None or not self.known, f"{self.known} without an active ShapeEnv"

    @property
    def are_sizes(self) -> bool:
        """Whether all numbers that vary are sizes and strides of tensors."""
        if self.env is None:
            return True
        origins = [known.origin for known in self.env.symbols.values()]
        return not self.env.floats and all(")[" in origin[-8:] for origin in origins)

    def given(self, number: Expr | Real) -> object:
        """Return a number of the captured graph as torch takes it."""
        if isinstance(number, Expr):
            if number.is_const:
                return number.value
            assert self.env is not None, f"{number} without an active ShapeEnv"
            number = self.env.current(number)
        assert self.env is not None, f"{number} without an active ShapeEnv"
        return sym(number, self.env)

    def recorded(self, number: object) -> object:
        """Return a number that torch gave as the graph holds it."""
        if type(number) in _PLAIN:
            return number
        found = plain(number)
        if isinstance(found, Expr) and self.env is not None:
            found = self.env.current(found)
            return found.value if found.is_const else found
        return found

    def may_overflow(self, node: Node) -> bool:
        """Tell whether a number that an operator takes may not go into 64 bits: eager refuses it then."""
        function = node.op.call
        if self.env is None or not isinstance(function, OpOverload):
            return False
        for place, parameter in enumerate(schema_of(cast("OpOverload[..., object]", function)).arguments):
            number = node.args[place] if place < len(node.args) else node.kwargs.get(parameter.name)
            is_size = "int" in str(parameter.type).lower()
            if is_size or not isinstance(number, Expr):
                continue
            bounds = self.env.bounds(number)
            if bounds.lo is None or bounds.hi is None or bounds.lo < _LEAST or bounds.hi > _GREATEST:
                return True
        return False

    def defines(self, meta: Meta | None) -> bool:
        """Tell whether a result brings symbols that nothing before it has; they are known from now on."""
        if self.env is None or meta is None:
            return False
        fresh = names_in(meta) - self.known
        self.known |= fresh
        return bool(fresh)

    def match(self, meta: Meta, value: object) -> None:
        """Note which symbols of the captured graph stand for what the trace has just made again."""
        if isinstance(meta, tuple):
            for item, part in zip(meta, cast("Sequence[object]", value), strict=True):
                self.match(item, part)
        elif isinstance(meta, TensorMeta):
            if isinstance(value, torch.Tensor) and not meta.is_static:
                for old, new in zip(meta.sizes, meta_of(value).sizes, strict=True):
                    self._same(old, new)

    def _same(self, old: Expr, new: Expr) -> None:
        if not isinstance(old, Symbol) or old.name in self.known or old is new:
            return
        assert self.env is not None, f"{old} without an active ShapeEnv"
        if not isinstance(new, Symbol):
            raise NotFunctional(f"{old} is {new} when the graph is traced again")
        self.known.add(old.name)
        self._renamed[new] = old
        self.env.assume(equal(new, old))

    def settled(self, graph: Graph) -> Graph:
        """Return a graph of this trace under the names of the captured one, its sizes in their final form.

        The conditions that are left to the run are checked in it.
        """
        if self.env is None:
            return graph
        if self._renamed:
            graph = mapped(graph, lambda e: substitute(e, self._renamed))
        graph = checked(graph, self.env.deferred)
        if self.env.version == self._version:
            return graph
        self._version = self.env.version
        return simplified(graph, self.env.current, self.env.specialized)
