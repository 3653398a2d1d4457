"""Builds an ATen graph node by node, with fresh names and the metadata of each result."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cmp_to_key
from types import MappingProxyType
from typing import Final

import torch

from supple.base.errors import Where
from supple.ir.graph.nodes import Arg, Constant, Graph, Input, Meta, Node, Var, map_arg, meta_of
from supple.ir.meta import TensorMeta
from supple.ir.ops import Op, op_named
from supple.shapes.decide import ONE
from supple.shapes.infer import infer
from supple.shapes.layout import generally_equal, generally_less

_NO_KWARGS: Final[Mapping[str, Arg]] = MappingProxyType({})


class Builder:
    """A graph under construction.

    `stack` is given to each node made as its place. `metas` knows every value.
    """

    def __init__(self, inputs: Iterable[Input]) -> None:
        self.inputs: list[Input] = list(inputs)
        self.nodes: list[Node] = []
        self.stack: tuple[Where, ...] = ()
        self.metas: dict[str, Meta] = {item.name: item.meta for item in self.inputs}
        self._counts: dict[str, int] = {}

    def fresh_name(self, stem: str) -> str:
        """Return a name that no value has: the stem, or the stem with a number."""
        count = self._counts.get(stem, 0)
        name = f"{stem}_{count}" if count else stem
        while name in self.metas:
            count += 1
            name = f"{stem}_{count}"
        self._counts[stem] = count + 1
        return name

    def add_input(self, item: Input) -> Var:
        """Append an input; its name must be fresh."""
        self.inputs.append(item)
        self.metas[item.name] = item.meta
        return Var(item.name)

    def emit(
        self,
        op: Op | str,
        args: Sequence[Arg],
        kwargs: Mapping[str, Arg] = _NO_KWARGS,
        meta: Meta | None = None,
        name: str | None = None,
    ) -> Var:
        """Append a node and return its value; the metadata is inferred unless given.

        Raises:
            DataDependent, NoShapeRule, RuntimeError, ...: as `infer`.
        """
        made = op_named(op) if isinstance(op, str) else op
        found = self.inferred(made, args, kwargs) if meta is None else meta
        fresh = self.fresh_name(made.name.split(".")[1].strip("_") if name is None else name)
        self.nodes.append(Node(fresh, made, tuple(args), dict(kwargs), found, self.stack))
        self.metas[fresh] = found
        return Var(fresh)

    def drop_last(self) -> None:
        """Take back the node made last; nothing may use it."""
        del self.metas[self.nodes.pop().name]

    def inferred(self, op: Op, args: Sequence[Arg], kwargs: Mapping[str, Arg]) -> Meta:
        """Return the metadata of a call with Vars among its arguments."""
        described, named = map_arg(self.meta_arg, (tuple(args), dict(kwargs)))
        return infer(op, described, named)

    def meta_arg(self, var: Var) -> Meta | None:
        """Return the metadata of a Var; what is no tensor or number, as a generator, is None."""
        meta = meta_of(var, self.metas)
        return None if isinstance(meta, Constant) else meta

    def tensor_meta(self, var: Var) -> TensorMeta:
        """Return the metadata of a Var that is a tensor."""
        meta = meta_of(var, self.metas)
        assert isinstance(meta, TensorMeta), f"{var} is not a tensor but {meta}"
        return meta

    def restrided(self, var: Var, wanted: TensorMeta) -> Var:
        """Return a value equal to `var` with the strides of `wanted`, dimensions of size 1 aside.

        `wanted` is dense: its elements fill a block of memory in some order of dimensions.
        """
        mine = self.tensor_meta(var)
        if _same_layout(mine, wanted):
            return var
        order = list(range(wanted.rank)) if wanted.is_contiguous else outermost_first(wanted)
        turned = self.permuted(var, order)
        copied = self.emit("aten.clone.default", (turned,), {"memory_format": torch.contiguous_format})
        return self.permuted(copied, inverse(order))

    def permuted(self, var: Var, order: list[int]) -> Var:
        """Return a view with dimensions in another order, the value itself where the order is its own."""
        return var if order == sorted(order) else self.emit("aten.permute.default", (var, order))

    def graph(self, outputs: Sequence[Arg]) -> Graph:
        """Return the graph made so far."""
        return Graph(tuple(self.inputs), tuple(self.nodes), tuple(outputs))


def _same_layout(mine: TensorMeta, wanted: TensorMeta) -> bool:
    return mine.strides == wanted.strides or all(
        size is ONE or generally_equal(left, right)
        for size, left, right in zip(wanted.sizes, mine.strides, wanted.strides, strict=True)
    )


def inverse(order: list[int]) -> list[int]:
    """Return the order of dimensions that undoes another."""
    return [order.index(dim) for dim in range(len(order))]


def outermost_first(meta: TensorMeta) -> list[int]:
    """Return the dimensions of a dense layout from the one with the largest stride to that with the least."""

    def compare(left: int, right: int) -> int:
        for numbers in (meta.strides, meta.sizes):
            if not generally_equal(numbers[left], numbers[right]):
                return 1 if generally_less(numbers[left], numbers[right]) else -1
        return left - right

    return sorted(range(meta.rank), key=cmp_to_key(compare))
