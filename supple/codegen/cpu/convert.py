"""Conversions between dtypes: the values that C gives on this kind of machine, and eager PyTorch with it."""

from supple.codegen.cpu.code import Code
from supple.codegen.cpu.registers import Reg, constant
from supple.ir.dtypes import DType


def cast(code: Code, x: Reg, dtype: DType) -> Reg:
    """Return `x` in another dtype.

    To b1: whether it is not 0. Float to integer truncates; integers wrap. To bf16 and f16: through f32, to
    nearest, ties to even.
    """
    if x.dtype is dtype:
        return x
    if x.dtype.is_low_precision:
        return cast(code, _widened(code, x), dtype)
    if dtype is DType.BOOL:
        differs = "fcmp une" if x.dtype.is_float else "icmp ne"
        return code.compare(differs, x, constant(x.dtype, 0, x.lanes))
    if dtype.is_low_precision:
        return _narrowed(code, cast(code, x, DType.F32), dtype)
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


def _widened(code: Code, x: Reg) -> Reg:
    """Return bf16 or f16 as f32, exactly."""
    if x.dtype is DType.F16:
        return code.convert("fpext", x, DType.F32)
    bits = code.convert("zext", x, DType.I32)
    return code.convert("bitcast", code.op("shl", bits, constant(DType.I32, 16, x.lanes)), DType.F32)


def _narrowed(code: Code, x: Reg, dtype: DType) -> Reg:
    """Return f32 as bf16 or f16, to nearest, ties to even."""
    if dtype is DType.F16:
        return code.convert("fptrunc", x, DType.F16)
    lanes = x.lanes
    bits = code.convert("bitcast", x, DType.I32)
    sixteen = constant(DType.I32, 16, lanes)
    odd = code.op("and", code.op("lshr", bits, sixteen), constant(DType.I32, 1, lanes))
    bias = code.op("add", odd, constant(DType.I32, 0x7FFF, lanes))
    rounded = code.op("lshr", code.op("add", bits, bias), sixteen)
    is_nan = code.compare("fcmp uno", x, x)
    bits = code.select(is_nan, constant(DType.I32, 0x7FC0, lanes), rounded)
    return code.convert("trunc", bits, DType.BF16)
