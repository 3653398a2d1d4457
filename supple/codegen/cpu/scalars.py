"""Scalar operators -> LLVM instructions: one rule for each name of SCALAR_OPS.

A rule gets operands with equal lanes, in the dtypes that the operator's `Operands` fixes; `dtype` is that of
the result. Results are those of eager PyTorch. Functions of analysis are in `math`, remainders and powers in
`division`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from supple.base.rules import Rules
from supple.codegen.cpu import convert
from supple.codegen.cpu.code import Code
from supple.codegen.cpu.reduce import larger, smaller
from supple.codegen.cpu.registers import Reg, constant
from supple.codegen.cpu.target import Features
from supple.ir.dtypes import DType

Emit = Callable[["Scalars", DType, tuple[Reg, ...]], Reg]
scalars: Final[Rules[Emit]] = Rules("LLVM scalar")


@dataclass(frozen=True, slots=True)
class Scalars:
    """What a rule may use: the function being written, and what the machine has."""

    code: Code
    features: Features

    def number(self, value: float, like: Reg) -> Reg:
        """Return a number in the dtype and lanes of `like`."""
        return constant(like.dtype, value, like.lanes)


def is_unsigned(dtype: DType) -> bool:
    """Tell whether the dtype compares and divides as unsigned."""
    return dtype in (DType.U8, DType.BOOL)


def _arithmetic(name: str, s: Scalars, dtype: DType, args: tuple[Reg, ...]) -> Reg:
    return s.code.op(("f" if dtype.is_float else "") + name, *args)


def _bits(name: str, s: Scalars, dtype: DType, args: tuple[Reg, ...]) -> Reg:
    return s.code.op(name, *args)


for _name in ("add", "sub", "mul"):
    scalars.on(_name)(partial(_arithmetic, _name))
for _name in ("and", "or", "xor"):
    scalars.on(_name)(partial(_bits, _name))


@scalars.on("neg")
def _(s: Scalars, dtype: DType, args: tuple[Reg, ...]) -> Reg:
    """-x; integers wrap."""
    (x,) = args
    return s.code.op("fneg", x) if dtype.is_float else s.code.op("sub", s.number(0, x), x)


@scalars.on("abs")
def _(s: Scalars, dtype: DType, args: tuple[Reg, ...]) -> Reg:
    """|x|; the most negative integer is its own absolute value."""
    (x,) = args
    if dtype.is_float:
        return s.code.intrinsic("fabs", x)
    return x if is_unsigned(dtype) else s.code.select(*_negative(s, x), x)


def _negative(s: Scalars, x: Reg) -> tuple[Reg, Reg]:
    """Return (x < 0, -x) of a signed integer."""
    zero = s.number(0, x)
    return s.code.compare("icmp slt", x, zero), s.code.op("sub", zero, x)


def _float_intrinsic(name: str, s: Scalars, dtype: DType, args: tuple[Reg, ...]) -> Reg:
    """Return a function of floats that leaves integers as they are."""
    return s.code.intrinsic(name, *args) if dtype.is_float else args[0]


scalars.on("round")(partial(_float_intrinsic, "roundeven"))
for _name in ("sqrt", "floor", "ceil", "trunc", "copysign", "fma"):
    scalars.on(_name)(partial(_float_intrinsic, _name))


@scalars.on("rsqrt")
def _(s: Scalars, dtype: DType, args: tuple[Reg, ...]) -> Reg:
    """1 / sqrt(x), both rounded, as in eager."""
    root = s.code.intrinsic("sqrt", args[0])
    return s.code.op("fdiv", s.number(1, root), root)


@scalars.on("sign")
def _(s: Scalars, dtype: DType, args: tuple[Reg, ...]) -> Reg:
    """1, 0 or -1 with the sign of x; 0 for NaN."""
    (x,) = args
    zero, one = s.number(0, x), s.number(1, x)
    positive = s.code.select(_ordered(s, "gt", x, zero), one, zero)
    return s.code.select(_ordered(s, "lt", x, zero), s.number(-1, x), positive)


def _ordered(s: Scalars, relation: str, a: Reg, b: Reg) -> Reg:
    """Return a comparison by the dtype's order; NaN is in no relation."""
    if a.dtype.is_float:
        return s.code.compare(f"fcmp o{relation}", a, b)
    if relation == "eq":
        return s.code.compare("icmp eq", a, b)
    return s.code.compare(f"icmp {'u' if is_unsigned(a.dtype) else 's'}{relation}", a, b)


def _comparable(s: Scalars, args: tuple[Reg, ...]) -> list[Reg]:
    """Return operands in a form that LLVM compares: low-precision floats become f32."""
    return [convert.cast(s.code, s.features, x, x.dtype.compute) for x in args]


def _comparison(relation: str, s: Scalars, dtype: DType, args: tuple[Reg, ...]) -> Reg:
    return _ordered(s, relation, *_comparable(s, args))


for _name in ("eq", "lt", "le", "gt", "ge"):
    scalars.on(_name)(partial(_comparison, _name))


@scalars.on("ne")
def _(s: Scalars, dtype: DType, args: tuple[Reg, ...]) -> Reg:
    """a != b: true where either is NaN."""
    a, b = _comparable(s, args)
    return s.code.compare("fcmp une" if a.dtype.is_float else "icmp ne", a, b)


@scalars.on("isnan")
def _(s: Scalars, dtype: DType, args: tuple[Reg, ...]) -> Reg:
    """Integers are never NaN."""
    (x,) = _comparable(s, args)
    return s.code.compare("fcmp uno", x, x) if x.dtype.is_float else constant(DType.BOOL, 0, x.lanes)


@scalars.on("isinf")
def _(s: Scalars, dtype: DType, args: tuple[Reg, ...]) -> Reg:
    """Integers are never infinite."""
    (x,) = _comparable(s, args)
    if not x.dtype.is_float:
        return constant(DType.BOOL, 0, x.lanes)
    return s.code.compare("fcmp oeq", s.code.intrinsic("fabs", x), s.number(float("inf"), x))


DIRECT: Final[dict[str, Emit]] = {
    "max": lambda s, dtype, args: larger(s.code, *args),
    "min": lambda s, dtype, args: smaller(s.code, *args),
    "reciprocal": lambda s, dtype, args: s.code.op("fdiv", s.number(1, args[0]), args[0]),
    "where": lambda s, dtype, args: s.code.select(*args),
    "cast": lambda s, dtype, args: convert.cast(s.code, s.features, args[0], dtype),
    "float_of_bits": lambda s, dtype, args: s.code.convert("bitcast", args[0], DType.F64),
    "not": lambda s, dtype, args: s.code.op("xor", args[0], s.number(-1, args[0])),
}
"""Operators that are one instruction; `max` and `min` give NaN where either is, `not` flips all bits."""

for _name, _emit in DIRECT.items():
    scalars.on(_name)(_emit)


@scalars.on("shl")
def _(s: Scalars, dtype: DType, args: tuple[Reg, ...]) -> Reg:
    """x << n; 0 where n is negative or not below the width."""
    x, n = args
    in_range = s.code.compare("icmp ult", n, s.number(dtype.size * 8, n))
    shifted = s.code.op("shl", x, s.code.select(in_range, n, s.number(0, n)))
    return s.code.select(in_range, shifted, s.number(0, x))


@scalars.on("shr")
def _(s: Scalars, dtype: DType, args: tuple[Reg, ...]) -> Reg:
    """x >> n with the sign kept; all bits are the sign where n is negative or not below the width."""
    x, n = args
    width = dtype.size * 8
    in_range = s.code.compare("icmp ult", n, s.number(width, n))
    if is_unsigned(dtype):
        shifted = s.code.op("lshr", x, s.code.select(in_range, n, s.number(0, n)))
        return s.code.select(in_range, shifted, s.number(0, x))
    return s.code.op("ashr", x, s.code.select(in_range, n, s.number(width - 1, n)))
