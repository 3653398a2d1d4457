"""What is known of a tensor before it exists: sizes, strides, dtype, device."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from supple.base.memo import memo
from supple.expr import Const, Expr, Symbol, as_expr, const, maximum, minimum, parse, product, substitute
from supple.ir.dtypes import DType
from supple.ir.forms import separated

_AT_START: Final = const(0)


@dataclass(frozen=True, slots=True)
class TensorMeta:
    """Metadata of one strided tensor.

    Attributes:
        sizes: one Expr per dimension, in elements.
        strides: one Expr per dimension, in elements.
        offset: elements from the start of the storage.
        dtype, device: `device` as torch prints it: "cpu", "cuda:0".
        requires_grad: as eager shows it at this point of the program.
    """

    sizes: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    dtype: DType
    device: str = "cpu"
    offset: Expr = _AT_START
    requires_grad: bool = False

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.sizes)

    @property
    def is_static(self) -> bool:
        """Whether sizes, strides and offset are numbers."""
        return type(self.offset) is Const and _are_numbers(self.sizes) and _are_numbers(self.strides)

    @property
    def numel(self) -> Expr:
        """Number of elements."""
        return product(self.sizes)

    @property
    def span(self) -> Expr:
        """Number of elements from the first to the last in memory; 0 of an empty tensor."""
        reach = self.reach
        if self.is_contiguous or reach is _AT_START:
            return reach
        pairs = zip(self.sizes, self.strides, strict=True)
        return reach * product(
            minimum(size, 1) for size, step in pairs if not _shows_nothing(reach, size, step)
        )

    @property
    def reach(self) -> Expr:
        """The span of a tensor with elements; of an empty one, at least its span."""
        if any(size is _AT_START for size in self.sizes):
            return _AT_START
        if self.is_contiguous:
            return self.numel
        steps = (step * (size - 1) for size, step in zip(self.sizes, self.strides, strict=True))
        return maximum(sum(steps, const(1)), 0)

    @property
    def is_contiguous(self) -> bool:
        """Whether the strides are those of a row-major tensor, dimensions of size 1 aside."""
        expected = contiguous_strides(self.sizes)
        return all(
            size is const(1) or mine is theirs
            for size, mine, theirs in zip(self.sizes, self.strides, expected, strict=True)
        )

    def __str__(self) -> str:
        return meta_text(self)


def _shows_nothing(reach: Expr, size: Expr, step: Expr) -> bool:
    """Tell whether the reach of a tensor is 0 where a size is; where elements overlap it is not."""
    if isinstance(size, Symbol):
        return substitute(reach, {size: 0}) is _AT_START
    return isinstance(size, Const) or maximum(reach - step * size, 0) is _AT_START


def meta_text(meta: TensorMeta, number: Callable[[Expr], str] = str) -> str:
    """Return metadata as text, `f32[2,s0](s0,1)+offset@device!`, without what is usual; see `parse_meta`."""
    sizes, strides = (",".join(map(number, numbers)) for numbers in (meta.sizes, meta.strides))
    start = "" if meta.offset is const(0) else f"+{number(meta.offset)}"
    place = "" if meta.device == "cpu" else f"@{meta.device}"
    return f"{meta.dtype.value}[{sizes}]({strides}){start}{place}{'!' if meta.requires_grad else ''}"


_TEXT: Final = re.compile(r"(\w+)\[(.*?)\]\((.*?)\)(?:\+(.+?))?(?:@([\w:]+))?(!?)")


def parse_meta(text: str, number: Callable[[str], Expr] = parse) -> TensorMeta:
    """Return the metadata that `meta_text` printed; `number` reads its sizes.

    Raises:
        ValueError: for any other text.
    """
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError(f"not a tensor's metadata: {text!r}")
    dtype, sizes, strides, offset, device, grad = found.groups()
    shape, steps = (tuple(map(number, separated(numbers))) for numbers in (sizes, strides))
    return TensorMeta(shape, steps, DType(dtype), device or "cpu", number(offset or "0"), bool(grad))


@memo(8192)
def _are_numbers(sizes: tuple[Expr, ...]) -> bool:
    return all(type(size) is Const for size in sizes)


def contiguous_strides(sizes: Sequence[Expr | int]) -> tuple[Expr, ...]:
    """Return row-major strides: the last dimension has 1, each other the product of the sizes after it.

    A size of 0 counts as 1, as in eager.
    """
    if all(type(size) is int or type(size) is Const for size in sizes):
        return _constant_strides(tuple(size if isinstance(size, int) else size.value for size in sizes))
    strides: list[Expr] = []
    running = const(1)
    for size in reversed(sizes):
        strides.append(running)
        size_expr = as_expr(size)
        running = running if size_expr is const(0) else running * size_expr
    return tuple(reversed(strides))


@memo(4096)
def _constant_strides(sizes: tuple[int, ...]) -> tuple[Expr, ...]:
    strides: list[Expr] = []
    running = 1
    for size in reversed(sizes):
        strides.append(const(running))
        running *= size or 1
    return tuple(reversed(strides))


def contiguous(sizes: Sequence[Expr | int], dtype: DType, device: str = "cpu") -> TensorMeta:
    """Return the metadata of a fresh row-major tensor."""
    return TensorMeta(tuple(as_expr(size) for size in sizes), contiguous_strides(sizes), dtype, device)
