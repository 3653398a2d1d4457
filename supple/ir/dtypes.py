"""Element types, their sizes, and how they correspond to torch's."""

from enum import Enum
from typing import Final

import torch


class DType(Enum):
    """An element type. The value is its short name, as it prints in all three languages."""

    F64 = "f64"
    F32 = "f32"
    BF16 = "bf16"
    F16 = "f16"
    I64 = "i64"
    I32 = "i32"
    I16 = "i16"
    I8 = "i8"
    U8 = "u8"
    BOOL = "b1"
    C64 = "c64"
    C128 = "c128"

    @property
    def size(self) -> int:
        """Bytes of one element."""
        return _SIZES[self]

    @property
    def is_float(self) -> bool:
        """Whether it is a real floating-point type."""
        return self in _FLOATS

    @property
    def is_low_precision(self) -> bool:
        """Whether arithmetic is done in float32 and rounded: bfloat16 and float16."""
        return self in (DType.BF16, DType.F16)

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer type; bool is not."""
        return self in _INTEGERS

    @property
    def compute(self) -> "DType":
        """The type in which arithmetic on this type is done."""
        return DType.F32 if self.is_low_precision else self

    @property
    def torch(self) -> torch.dtype:
        """The corresponding `torch.dtype`."""
        return _TO_TORCH[self]


_SIZES: Final = {
    DType.F64: 8,
    DType.F32: 4,
    DType.BF16: 2,
    DType.F16: 2,
    DType.I64: 8,
    DType.I32: 4,
    DType.I16: 2,
    DType.I8: 1,
    DType.U8: 1,
    DType.BOOL: 1,
    DType.C64: 8,
    DType.C128: 16,
}
_FLOATS: Final = (DType.F64, DType.F32, DType.BF16, DType.F16)
_INTEGERS: Final = (DType.I64, DType.I32, DType.I16, DType.I8, DType.U8)
_TO_TORCH: Final = {
    DType.F64: torch.float64,
    DType.F32: torch.float32,
    DType.BF16: torch.bfloat16,
    DType.F16: torch.float16,
    DType.I64: torch.int64,
    DType.I32: torch.int32,
    DType.I16: torch.int16,
    DType.I8: torch.int8,
    DType.U8: torch.uint8,
    DType.BOOL: torch.bool,
    DType.C64: torch.complex64,
    DType.C128: torch.complex128,
}
_FROM_TORCH: Final = {theirs: ours for ours, theirs in _TO_TORCH.items()}


def from_torch(dtype: torch.dtype) -> DType:
    """Return our name of a torch dtype.

    Raises:
        KeyError: for a dtype that the compiler does not represent (quantised, float8, ...).
    """
    return _FROM_TORCH[dtype]


def is_represented(dtype: torch.dtype) -> bool:
    """Tell whether `from_torch` knows the dtype."""
    return dtype in _FROM_TORCH
