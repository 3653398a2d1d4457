"""Conversions between dtypes: the values that C gives on this kind of machine, and eager PyTorch with it."""

from typing import Final

from supple.codegen.cpu.code import Code
from supple.codegen.cpu.registers import Reg, constant
from supple.codegen.cpu.target import Features
from supple.ir.dtypes import DType


def cast(code: Code, features: Features, x: Reg, dtype: DType) -> Reg:
    """Return `x` in another dtype.

    To b1: whether it is not 0. Float to integer truncates; integers wrap. To bf16 and f16: through f32, to
    nearest, ties to even.
    """
    if x.dtype is dtype:
        return x
    if x.dtype.is_low_precision:
        return cast(code, features, _widened(code, features, x), dtype)
    if dtype is DType.BOOL:
        differs = "fcmp une" if x.dtype.is_float else "icmp ne"
        return code.compare(differs, x, constant(x.dtype, 0, x.lanes))
    if dtype.is_low_precision:
        return _narrowed(code, features, cast(code, features, x, DType.F32), dtype)
    if x.dtype.is_float:
        return _from_float(code, x, dtype)
    return _from_integer(code, x, dtype)


def _from_float(code: Code, x: Reg, dtype: DType) -> Reg:
    """Return f32 or f64 as another float or as an integer; narrow integers are the low bits of a wide one."""
    if dtype.is_float:
        return code.convert("fpext" if dtype.size > x.dtype.size else "fptrunc", x, dtype)
    wide = DType.I64 if dtype is DType.I64 else DType.I32
    whole = code.convert("fptosi", x, wide)
    return whole if dtype is wide else code.convert("trunc", whole, dtype)


def _from_integer(code: Code, x: Reg, dtype: DType) -> Reg:
    """Return an integer or b1 as f32, f64 or another integer."""
    is_unsigned = x.dtype in (DType.U8, DType.BOOL)
    if dtype.is_float:
        return code.convert("uitofp" if is_unsigned else "sitofp", x, dtype)
    if x.dtype is not DType.BOOL and dtype.size == x.dtype.size:
        return Reg(x.text, dtype, x.lanes, x.level)
    if x.dtype is not DType.BOOL and dtype.size < x.dtype.size:
        return code.convert("trunc", x, dtype)
    return code.convert("zext" if is_unsigned else "sext", x, dtype)


def _widened(code: Code, features: Features, x: Reg) -> Reg:
    """Return bf16 or f16 as f32, exactly."""
    if x.dtype is DType.F16:
        return code.convert("fpext", x, DType.F32) if features.converts_halves else _from_half(code, x)
    bits = code.convert("zext", x, DType.I32)
    return code.convert("bitcast", code.op("shl", bits, constant(DType.I32, 16, x.lanes)), DType.F32)


def _narrowed(code: Code, features: Features, x: Reg, dtype: DType) -> Reg:
    """Return f32 as bf16 or f16, to nearest, ties to even."""
    if dtype is DType.F16:
        return code.convert("fptrunc", x, DType.F16) if features.converts_halves else _to_half(code, x)
    lanes = x.lanes
    bits = code.convert("bitcast", x, DType.I32)
    sixteen = constant(DType.I32, 16, lanes)
    odd = code.op("and", code.op("lshr", bits, sixteen), constant(DType.I32, 1, lanes))
    bias = code.op("add", odd, constant(DType.I32, 0x7FFF, lanes))
    rounded = code.op("lshr", code.op("add", bits, bias), sixteen)
    is_nan = code.compare("fcmp uno", x, x)
    bits = code.select(is_nan, constant(DType.I32, 0x7FC0, lanes), rounded)
    return code.convert("trunc", bits, DType.BF16)


# f16 by operations on bits: older distributions do not have `__extendhfsf2`, which LLVM would call.
# The exponents have 5 and 8 bits and a bias of 15 and 127, the significands 10 and 23 bits.
_BIAS: Final = 127 - 15 << 23
"""The difference of the biases, where f32 has its exponent."""
_HALF: Final = 0x3F000000
"""The bits of 0.5, whose last place is 2**-24: the smallest number of f16."""


def _from_half(code: Code, x: Reg) -> Reg:
    """Return f16 as f32: a number that is too small for the usual exponent is counted in its last places."""
    bits = code.convert("zext", code.convert("bitcast", x, DType.I16), DType.I32)

    def number(value: int) -> Reg:
        return constant(DType.I32, value, x.lanes)

    sign = code.op("shl", code.op("and", bits, number(0x8000)), number(16))
    magnitude = code.op("and", bits, number(0x7FFF))
    moved = code.op("add", code.op("shl", magnitude, number(13)), number(_BIAS))
    is_special = code.compare("icmp uge", magnitude, number(0x7C00))  # infinite, or NaN
    usual = code.select(is_special, code.op("add", moved, number(_BIAS)), moved)
    places = code.convert("bitcast", code.op("or", magnitude, number(_HALF)), DType.F32)
    small = code.convert("bitcast", code.op("fsub", places, constant(DType.F32, 0.5, x.lanes)), DType.I32)
    is_small = code.compare("icmp ult", magnitude, number(0x400))
    return code.convert("bitcast", code.op("or", code.select(is_small, small, usual), sign), DType.F32)


def _to_half(code: Code, x: Reg) -> Reg:
    """Return f32 as f16: the sum with 0.5 rounds a number that is too small for the usual exponent."""
    bits = code.convert("bitcast", x, DType.I32)

    def number(value: int) -> Reg:
        return constant(DType.I32, value, x.lanes)

    sign = code.op("and", code.op("lshr", bits, number(16)), number(0x8000))
    magnitude = code.op("and", bits, number(0x7FFFFFFF))
    odd = code.op("and", code.op("lshr", magnitude, number(13)), number(1))
    moved = code.op("add", code.op("add", magnitude, odd), number(0xFFF - _BIAS))
    usual = code.op("lshr", moved, number(13))
    places = code.op("fadd", code.convert("bitcast", magnitude, DType.F32), constant(DType.F32, 0.5, x.lanes))
    small = code.op("sub", code.convert("bitcast", places, DType.I32), number(_HALF))
    half = code.select(code.compare("icmp ult", magnitude, number(_BIAS + (1 << 23))), small, usual)
    half = code.select(code.compare("icmp uge", magnitude, number(0x477FF000)), number(0x7C00), half)  # 65520
    half = code.select(code.compare("icmp ugt", magnitude, number(0x7F800000)), number(0x7E00), half)  # NaN
    return code.convert("bitcast", code.convert("trunc", code.op("or", half, sign), DType.I16), DType.F16)
