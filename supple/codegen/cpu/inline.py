"""exp, tanh, erf, sin and cos of float32 as a few instructions on vectors, to about 2 ulp.

The exponential family rests on x = n*ln2 + r with |r| <= ln2/2 and a polynomial in r, the others on x =
n*pi + r. The coefficients are minimax fits (iteratively reweighted least squares) of the relative error of
the result.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from math import pi
from typing import Final

from supple.codegen.cpu import x86
from supple.codegen.cpu.code import Code
from supple.codegen.cpu.registers import Reg, constant
from supple.codegen.cpu.target import Features
from supple.ir.dtypes import DType

LOG2_E: Final = 1.4426950408889634
LN2_HIGH: Final = 0.693147182464599609375
"""ln 2 rounded to float32; LN2_LOW is the rest."""
LN2_LOW: Final = -1.904654299957768e-09
MAGIC: Final = 12582912.0
"""1.5 * 2**23: added to a number it leaves the nearest integer in the low bits of the sum."""
MAGIC_BITS: Final = 0x4B400000

EXP: Final = (
    0.4999999344776754,
    0.1666652063151181,
    0.0416683880511259,
    0.008368716898074991,
    0.001381459836560351,
)
"""(exp(r) - 1 - r) / r**2, relative error of exp below 3.1e-9."""
EXPM1: Final = (
    0.49999998154040387,
    0.1666654362089367,
    0.041667199861959575,
    0.008366520588411648,
    0.0013882521309350434,
)
"""(exp(r) - 1 - r) / r**2, relative error of expm1 below 1.4e-8."""
ERF: Final = (
    1.128379171611646,
    0.6366193819582588,
    0.10277783056691074,
    -0.01915306409214722,
    -0.00016039575361634026,
    0.001667027178167159,
    -0.0006328367139230234,
    0.00011764123505418714,
    -9.256261434426342e-06,
)
"""-log(erfc(x)) / x for 0 < x < 3.95, relative error of erf below 4.1e-9."""

TANH_NEAR: Final = (
    -0.3333331755958243,
    0.13332586136137614,
    -0.05385230970502709,
    0.021071678325925308,
    -0.006274238612762832,
)
"""(tanh(x) / x - 1) / x**2 in x**2 for |x| < TANH_BORDER, relative error of tanh below 1.1e-9."""
ERF_NEAR: Final = (
    0.12837915379725764,
    -0.3761252327613691,
    0.11282140811448432,
    -0.02677890890510786,
    0.005011962808750905,
    -0.0006090359943722271,
)
"""erf(x) / x - 1 in x**2 for |x| < ERF_BORDER, relative error of erf below 1.2e-8."""

SIN: Final = (-0.166666595445139, 0.00833306608154296, -0.00019809590031065417, 2.605750562395046e-06)
"""(sin(r) / r - 1) / r**2 in r**2 for |r| <= pi/2, relative error of sin below 6.1e-9."""
PI_PARTS: Final = (3.1415927410125732, -8.742277657347586e-08, -3.4302490200117637e-15)
"""Numbers of float32 whose sum is pi to 72 bits."""
SIN_LIMIT: Final = 30000.0
"""Beyond this, products of n with the parts of pi lose bits."""

EXP_RANGE: Final = (-104.0, 89.0)
"""Beyond these, exp is 0 and infinity in float32."""
TANH_BORDER, ERF_BORDER = 0.55, 0.9
TANH_LIMIT, ERF_LIMIT = 9.1, 3.95
"""Beyond these, the functions are 1 in float32."""


def has_code(features: Features, dtype: DType) -> bool:
    """Tell whether the functions here serve the dtype: they need fused multiply-add."""
    return dtype is DType.F32 and features.cpu.has("fma")


def exp(code: Code, features: Features, x: Reg) -> Reg:
    """Return exp(x)."""
    low, high = (_like(x, bound) for bound in EXP_RANGE)
    x = code.select(code.compare("fcmp ogt", x, high), high, x)
    x = code.select(code.compare("fcmp olt", x, low), low, x)
    shifted, n, r = _reduced(code, x)
    p = code.intrinsic("fma", code.op("fmul", r, r), _polynomial(code, r, EXP), r)
    p = code.op("fadd", p, _like(r, 1.0))
    if features.cpu.has("avx512f") and x.lanes * 4 == 64 == features.vector_bytes:
        return _scaled_by_one_instruction(code, p, n)
    whole = code.op("sub", code.convert("bitcast", shifted, DType.I32), _bits(x, MAGIC_BITS))
    # 2**n may have no float32 of its own (n down to -150, up to 128); each half has.
    half = code.op("ashr", whole, _bits(x, 1))
    rest = code.op("sub", whole, half)
    return code.op("fmul", code.op("fmul", p, _power_of_2(code, half)), _power_of_2(code, rest))


def tanh(code: Code, features: Features, x: Reg) -> Reg:
    """Return tanh(x): a polynomial near 0, else m / (m + 2) with m = expm1(2*|x|), and the sign of x."""
    magnitude = _limited(code, x, TANH_LIMIT)
    m = _expm1(code, code.op("fadd", magnitude, magnitude))
    far = code.op("fdiv", m, code.op("fadd", m, _like(x, 2.0)))
    square = code.op("fmul", magnitude, magnitude)
    near = code.op("fmul", square, _polynomial(code, square, TANH_NEAR))
    near = code.intrinsic("fma", near, magnitude, magnitude)
    is_near = code.compare("fcmp olt", magnitude, _like(x, TANH_BORDER))
    return code.intrinsic("copysign", code.select(is_near, near, far), x)


def erf(code: Code, features: Features, x: Reg) -> Reg:
    """Return erf(x): a polynomial near 0, else -expm1(log(erfc(|x|))) with the sign of x."""
    magnitude = _limited(code, x, ERF_LIMIT)
    exponent = code.op("fmul", magnitude, _polynomial(code, magnitude, ERF))
    m = _expm1(code, code.op("fneg", exponent))
    square = code.op("fmul", magnitude, magnitude)
    near = code.intrinsic("fma", _polynomial(code, square, ERF_NEAR), magnitude, magnitude)
    is_near = code.compare("fcmp olt", magnitude, _like(x, ERF_BORDER))
    return code.intrinsic("copysign", code.select(is_near, near, m), x)


def sin(code: Code, x: Reg, library: Callable[[Reg], Reg]) -> Reg:
    """Return sin(x); `library` is called for a vector with an element beyond SIN_LIMIT."""
    shifted = code.intrinsic("fma", x, _like(x, 1 / pi), _like(x, MAGIC))
    n = code.op("fsub", shifted, _like(x, MAGIC))
    value = _alternating(code, x, n, shifted)
    # -0.0 stays what it is, though -0.0 - n*pi is 0.0.
    value = code.select(code.compare("fcmp oeq", x, _like(x, 0.0)), x, value)
    return _or_library(code, x, value, library)


def cos(code: Code, x: Reg, library: Callable[[Reg], Reg]) -> Reg:
    """Return cos(x) = sin(x + pi/2); `library` is called for a vector with an element beyond SIN_LIMIT."""
    turned = code.intrinsic("fma", x, _like(x, 1 / pi), _like(x, 0.5))
    shifted = code.op("fadd", turned, _like(x, MAGIC))
    n = code.op("fsub", code.op("fsub", shifted, _like(x, MAGIC)), _like(x, 0.5))
    return _or_library(code, x, _alternating(code, x, n, shifted), library)


def _alternating(code: Code, x: Reg, n: Reg, shifted: Reg) -> Reg:
    """Return sin(x - n*pi), negative where the integer in the low bits of `shifted` is odd."""
    r = x
    for part in PI_PARTS:
        r = code.intrinsic("fma", n, _like(x, -part), r)
    square = code.op("fmul", r, r)
    value = code.intrinsic("fma", code.op("fmul", square, _polynomial(code, square, SIN)), r, r)
    sign = code.op("shl", code.convert("bitcast", shifted, DType.I32), _bits(x, 31))
    return code.convert("bitcast", code.op("xor", code.convert("bitcast", value, DType.I32), sign), DType.F32)


def _or_library(code: Code, x: Reg, value: Reg, library: Callable[[Reg], Reg]) -> Reg:
    """Return `value`, or what the library gives where an element of x is too large (or NaN)."""
    is_far = code.compare("fcmp uge", code.intrinsic("fabs", x), _like(x, SIN_LIMIT))
    if is_far.lanes > 1:
        is_far = code.across(is_far, "or")
    with code.guard(is_far, (value,), is_rare=True) as region:
        region.next = (library(x),)
    return region.results[0]


def _like(x: Reg, value: float) -> Reg:
    return constant(x.dtype, value, x.lanes)


def _bits(x: Reg, value: int) -> Reg:
    return constant(DType.I32, value, x.lanes)


def _limited(code: Code, x: Reg, limit: float) -> Reg:
    """Return min(|x|, limit); NaN stays NaN."""
    magnitude, bound = code.intrinsic("fabs", x), _like(x, limit)
    return code.select(code.compare("fcmp ogt", magnitude, bound), bound, magnitude)


def _polynomial(code: Code, x: Reg, coefficients: Sequence[float]) -> Reg:
    """Return the polynomial with the coefficients from the constant on."""
    terms = [_like(x, value) for value in reversed(coefficients)]
    return reduce(lambda total, term: code.intrinsic("fma", total, x, term), terms)


def _reduced(code: Code, x: Reg) -> tuple[Reg, Reg, Reg]:
    """Return (n + MAGIC, n, r) with x = n*ln2 + r."""
    magic = _like(x, MAGIC)
    shifted = code.intrinsic("fma", x, _like(x, LOG2_E), magic)
    n = code.op("fsub", shifted, magic)
    r = code.intrinsic("fma", n, _like(x, -LN2_HIGH), x)
    return shifted, n, code.intrinsic("fma", n, _like(x, -LN2_LOW), r)


def _power_of_2(code: Code, n: Reg) -> Reg:
    """Return 2**n for integers of -126 to 127."""
    biased = code.op("add", n, _bits(n, 127))
    return code.convert("bitcast", code.op("shl", biased, _bits(n, 23)), DType.F32)


def _scaled_by_one_instruction(code: Code, p: Reg, n: Reg) -> Reg:
    """Return p * 2**n, rounded once."""
    arguments = f"{p.typed}, {n.typed}, {p.type} zeroinitializer, i16 -1, i32 4"
    text = f"call {p.type} @{x86.SCALE}({arguments})"
    return code.pure(text, p.dtype, p.lanes, (p, n))


def _expm1(code: Code, x: Reg) -> Reg:
    """Return exp(x) - 1 for -17 <= x <= 20: 2**n * (exp(r) - 1) + (2**n - 1)."""
    shifted, _, r = _reduced(code, x)
    q = code.intrinsic("fma", code.op("fmul", r, r), _polynomial(code, r, EXPM1), r)
    whole = code.op("sub", code.convert("bitcast", shifted, DType.I32), _bits(x, MAGIC_BITS))
    power = _power_of_2(code, whole)
    return code.intrinsic("fma", q, power, code.op("fsub", power, _like(x, 1.0)))
