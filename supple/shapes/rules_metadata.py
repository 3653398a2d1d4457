"""Questions about metadata that reach the dispatcher: C++ code of torch that asks for plain numbers."""

from collections.abc import Callable
from typing import Final

from supple.ir.meta import TensorMeta
from supple.shapes import layout
from supple.shapes.decide import number
from supple.shapes.rules import aten, shape_rules

ANSWERS: Final[dict[str, Callable[[TensorMeta], object]]] = {
    "size": lambda meta: [number(size) for size in meta.sizes],
    "stride": lambda meta: [number(step) for step in meta.strides],
    "numel": lambda meta: number(meta.numel),
    "storage_offset": lambda meta: number(meta.offset),
    "is_contiguous": lambda meta: layout.is_contiguous(meta.sizes, meta.strides),
}
"""Symbolic numbers are specialised; a tensor is row-major if it is for general sizes."""

for _name, _answer in ANSWERS.items():
    shape_rules.on(*aten(_name))(_answer)
