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

    def nearest(self, value: float) -> float:
        """Return the float of this type that is nearest to a number."""
        return torch.tensor(float(value), dtype=self.torch).item()

    @property
    def torch(self) -> torch.dtype:
        """The corresponding `torch.dtype`."""
        return _TO_TORCH[self]


_NAMES: Final = (
    "float64 float32 bfloat16 float16 int64 int32 int16 int8 uint8 bool complex64 complex128".split()
)
_TO_TORCH: Final[dict[DType, torch.dtype]] = {
    ours: getattr(torch, name) for ours, name in zip(DType, _NAMES, strict=True)
}
_SIZES: Final = {ours: theirs.itemsize for ours, theirs in _TO_TORCH.items()}
_FLOATS: Final = (DType.F64, DType.F32, DType.BF16, DType.F16)
_INTEGERS: Final = (DType.I64, DType.I32, DType.I16, DType.I8, DType.U8)
_FROM_TORCH: Final = {theirs: ours for ours, theirs in _TO_TORCH.items()}


class Unrepresented(KeyError):
    """A dtype that the compiler does not represent (quantised, float8, ...)."""


def from_torch(dtype: torch.dtype) -> DType:
    """Return our name of a torch dtype.

    Raises:
        Unrepresented: it has none.
    """
    try:
        return _FROM_TORCH[dtype]
    except KeyError:
        raise Unrepresented(dtype) from None


def is_represented(dtype: torch.dtype) -> bool:
    """Tell whether `from_torch` knows the dtype."""
    return dtype in _FROM_TORCH


def narrowed(gradient: DType, operand: torch.dtype) -> DType:
    """Return the type of the gradient of a softmax's operand: that of the gradient of its result.

    A softmax that widens float16 to float32 on its way, as some devices do, is the exception.
    """
    is_widened = gradient is DType.F32 and operand is torch.float16
    return DType.F16 if is_widened else gradient
