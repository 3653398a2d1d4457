"""Questions about metadata that reach the dispatcher: C++ code of torch that asks for plain numbers."""

from supple.ir.meta import TensorMeta
from supple.shapes import layout
from supple.shapes.decide import number
from supple.shapes.rules import aten, shape_rules


@shape_rules.on(*aten("size"))
def _(self: TensorMeta) -> list[int]:
    """Sizes as numbers: symbolic ones are specialised."""
    return [number(size) for size in self.sizes]


@shape_rules.on(*aten("stride"))
def _(self: TensorMeta) -> list[int]:
    """Strides as numbers: symbolic ones are specialised."""
    return [number(step) for step in self.strides]


@shape_rules.on(*aten("numel"))
def _(self: TensorMeta) -> int:
    """The number of elements: specialised."""
    return number(self.numel)


@shape_rules.on(*aten("storage_offset"))
def _(self: TensorMeta) -> int:
    """The offset: specialised."""
    return number(self.offset)


@shape_rules.on(*aten("is_contiguous"))
def _(self: TensorMeta) -> bool:
    """Row-major for general sizes."""
    return layout.is_contiguous(self.sizes, self.strides)
