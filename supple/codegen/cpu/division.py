"""Division, remainders and powers: where integers and floats differ, and where C and Python do."""

from typing import Final

from supple.codegen.cpu.code import Code
from supple.codegen.cpu.math import by_lane, call
from supple.codegen.cpu.registers import Reg, constant
from supple.codegen.cpu.scalars import Scalars, is_unsigned, scalars
from supple.ir.dtypes import DType

RECIPROCAL_RANGE: Final = {DType.F32: (-100, 100), DType.F64: (-900, 900)}
"""Powers of 2 between which the reciprocal of a divisor keeps all its bits."""


@scalars.on("div")
def _(s: Scalars, dtype: DType, args: tuple[Reg, ...]) -> Reg:
    """a / b of floats; integers round towards 0, and x / 0 is 0."""
    if not dtype.is_float:
        return _integer_division(s.code, "div", *args)
    divisor = s.code.source(args[1])
    if divisor is None or not s.features.cpu.has("fma"):
        return s.code.op("fdiv", *args)
    return _divided_by_one(s, args[0], args[1], divisor)


@scalars.on("floordiv")
def _(s: Scalars, dtype: DType, args: tuple[Reg, ...]) -> Reg:
    """a // b as in Python; for floats x // 0 is x / 0."""
    return _float_floordiv(s, *args) if dtype.is_float else _integer_floordiv(s.code, *args)[0]


@scalars.on("mod")
def _(s: Scalars, dtype: DType, args: tuple[Reg, ...]) -> Reg:
    """a % b with the sign of b, as in Python."""
    if not dtype.is_float:
        return _integer_floordiv(s.code, *args)[1]
    remainder = by_lane(s.code, "fmod", args)
    below = _has_other_sign(s, remainder, args[1])
    return s.code.select(below, s.code.op("fadd", remainder, args[1]), remainder)


@scalars.on("fmod")
def _(s: Scalars, dtype: DType, args: tuple[Reg, ...]) -> Reg:
    """The remainder with the sign of a, as in C."""
    return by_lane(s.code, "fmod", args) if dtype.is_float else _integer_division(s.code, "rem", *args)


@scalars.on("pow")
def _(s: Scalars, dtype: DType, args: tuple[Reg, ...]) -> Reg:
    """a ** b; for integers with wrapping, and 0 for negative powers but those of 1 and -1."""
    return call(s.code, s.features, "pow", args) if dtype.is_float else _integer_power(s.code, *args)


def _divided_by_one(s: Scalars, a: Reg, b: Reg, divisor: Reg) -> Reg:
    """Return a / b where all lanes of b are `divisor`, by its reciprocal y.

    With q = a*y, q + (a - q*b)*y is the quotient rounded once (Markstein) unless a is so small that a - q*b
    loses bits; then it is off by an ulp at most. A q of infinity or of 0, whose sign the sum would lose, is
    the quotient itself: those are the numbers that half of them equals. A divisor out of range takes the
    division instruction.
    """
    code = s.code
    reciprocal = code.splat(code.op("fdiv", constant(a.dtype, 1), divisor), a.lanes)
    near = code.op("fmul", a, reciprocal)
    rest = code.intrinsic("fma", code.op("fneg", near), b, a)
    exact = code.intrinsic("fma", rest, reciprocal, near)
    is_end = code.compare("fcmp oeq", near, code.op("fmul", near, s.number(0.5, a)))
    quotient = code.select(is_end, near, exact)
    size = code.intrinsic("fabs", divisor)
    low, high = (constant(a.dtype, 2.0**power) for power in RECIPROCAL_RANGE[a.dtype])
    is_near_1 = code.op("and", code.compare("fcmp ogt", size, low), code.compare("fcmp olt", size, high))
    is_extreme = code.op("xor", is_near_1, constant(DType.BOOL, 1))
    with code.guard(is_extreme, (quotient,), is_rare=True) as region:
        text = f"fdiv {a.type} {a.text}, {b.text}"
        region.next = (code.trapping(text, a.dtype, a.lanes, (a, b)),)
    return region.results[0]


def _integer_division(code: Code, name: str, a: Reg, b: Reg) -> Reg:
    """Return quotient ("div") or remainder ("rem") rounded towards 0; never traps.

    Where b is 0 the quotient is 0 and the remainder a. The quotient by -1 wraps.
    """
    zero, one = constant(a.dtype, 0, a.lanes), constant(a.dtype, 1, a.lanes)
    if is_unsigned(a.dtype):
        is_zero = code.compare("icmp eq", b, zero)
        divided = code.op(f"u{name}", a, code.select(is_zero, one, b))
        return code.select(is_zero, zero if name == "div" else a, divided)
    # b + 1 as an unsigned number is below 2 for -1 and 0 alone: both are divided by 1 instead.
    is_special = code.compare("icmp ult", code.op("add", b, one), constant(a.dtype, 2, a.lanes))
    divided = code.op(f"s{name}", a, code.select(is_special, one, b))
    if name == "div":
        return code.select(is_special, code.op("mul", a, b), divided)
    return code.select(code.compare("icmp eq", b, zero), a, divided)


def _integer_floordiv(code: Code, a: Reg, b: Reg) -> tuple[Reg, Reg]:
    """Return quotient rounded down and remainder with the sign of b."""
    quotient = _integer_division(code, "div", a, b)
    remainder = _integer_division(code, "rem", a, b)
    if is_unsigned(a.dtype):
        return quotient, remainder
    zero = constant(a.dtype, 0, a.lanes)
    differs = code.compare("icmp slt", code.op("xor", remainder, b), zero)
    below = code.op("and", differs, code.compare("icmp ne", remainder, zero))
    # A divisor of 0 has no remainder to correct.
    below = code.op("and", below, code.compare("icmp ne", b, zero))
    shifted = code.select(below, code.op("sub", quotient, constant(a.dtype, 1, a.lanes)), quotient)
    return shifted, code.select(below, code.op("add", remainder, b), remainder)


def _has_other_sign(s: Scalars, remainder: Reg, b: Reg) -> Reg:
    """Return where a remainder is not 0 and has another sign than b."""
    code = s.code
    zero = s.number(0, b)
    differs = code.op("xor", code.compare("fcmp olt", remainder, zero), code.compare("fcmp olt", b, zero))
    return code.op("and", differs, code.compare("fcmp une", remainder, zero))


def _float_floordiv(s: Scalars, a: Reg, b: Reg) -> Reg:
    """Return the whole number nearest to (a - a % b) / b, which is the exact quotient rounded down.

    A quotient of 0 keeps the sign of a / b.
    """
    code = s.code
    remainder = by_lane(code, "fmod", (a, b))
    exact = code.op("fdiv", code.op("fsub", a, remainder), b)
    below = _has_other_sign(s, remainder, b)
    exact = code.select(below, code.op("fsub", exact, s.number(1, a)), exact)
    whole = code.intrinsic("floor", exact)
    too_low = code.compare("fcmp ogt", code.op("fsub", exact, whole), s.number(0.5, a))
    whole = code.select(too_low, code.op("fadd", whole, s.number(1, a)), whole)
    ratio = code.op("fdiv", a, b)
    zero = s.number(0, a)
    signed_zero = code.intrinsic("copysign", zero, ratio)
    whole = code.select(code.compare("fcmp oeq", exact, zero), signed_zero, whole)
    return code.select(code.compare("fcmp oeq", b, zero), ratio, whole)


def _integer_power(code: Code, a: Reg, b: Reg) -> Reg:
    """Return a ** b by repeated squaring; the bits of b are used from the lowest on."""
    dtype, lanes = a.dtype, a.lanes
    zero, one = constant(dtype, 0, lanes), constant(dtype, 1, lanes)
    result, square, rest = one, a, b
    # Powers of 64 and more differ from those of the low bits only by wrapped factors, so all bits count.
    for _ in range(dtype.size * 8 - (0 if is_unsigned(dtype) else 1)):
        is_odd = code.compare("icmp ne", code.op("and", rest, one), zero)
        result = code.select(is_odd, code.op("mul", result, square), result)
        square = code.op("mul", square, square)
        rest = code.op("lshr", rest, one)
    if is_unsigned(dtype):
        return result
    minus = constant(dtype, -1, lanes)
    is_odd = code.compare("icmp ne", code.op("and", b, one), zero)
    of_minus = code.select(code.compare("icmp eq", a, minus), code.select(is_odd, minus, one), zero)
    negative = code.select(code.compare("icmp eq", a, one), one, of_minus)
    return code.select(code.compare("icmp slt", b, zero), negative, result)
