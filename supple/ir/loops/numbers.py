"""Python numbers as values of a dtype: rounding, wrapping, extremes."""

import struct
from typing import Final

from supple.ir.dtypes import DType

Number = int | float | bool

INFINITY: Final = float("inf")
_FIRST_INFINITE: Final = {DType.F32: 3.4028235677973366e38, DType.F16: 65520.0}
_FORMATS: Final = {DType.F32: "<f", DType.F16: "<e"}


def rounded(dtype: DType, value: Number) -> Number:
    """Return the value of the dtype that is nearest to `value`, ties to even; integers wrap; b1 is `!= 0`."""
    if dtype is DType.BOOL:
        return bool(value)
    if dtype is DType.F64:
        return float(value)
    if dtype is DType.BF16:
        return bfloat16(float(value))
    if dtype.is_float:
        return _through(dtype, float(value))
    bits = dtype.size * 8
    wrapped = int(value) & ((1 << bits) - 1)
    return wrapped - (1 << bits) if dtype is not DType.U8 and wrapped >> (bits - 1) else wrapped


def _through(dtype: DType, value: float) -> float:
    if abs(value) >= _FIRST_INFINITE[dtype]:
        return INFINITY if value > 0 else -INFINITY
    return struct.unpack(_FORMATS[dtype], struct.pack(_FORMATS[dtype], value))[0]


def bfloat16(value: float) -> float:
    """Return `value` rounded to float32 and then to bfloat16."""
    single = _through(DType.F32, value)
    if single != single:
        return single
    bits: int = struct.unpack("<I", struct.pack("<f", single))[0]
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def float_bits(value: float) -> int:
    """Return the bits of a float64 as a signed integer."""
    return struct.unpack("<q", struct.pack("<d", value))[0]


def float_of_bits(bits: int) -> float:
    """Return the float64 of these bits."""
    return struct.unpack("<d", struct.pack("<q", bits))[0]


def least(dtype: DType) -> Number:
    """Return the smallest value of a dtype."""
    if dtype.is_float:
        return -INFINITY
    return 0 if dtype in (DType.U8, DType.BOOL) else -(1 << (dtype.size * 8 - 1))


def greatest(dtype: DType) -> Number:
    """Return the largest value of a dtype."""
    if dtype.is_float:
        return INFINITY
    if dtype is DType.BOOL:
        return True
    return (1 << (dtype.size * 8 - (dtype is not DType.U8))) - 1
