"""What each scalar operator means, on Python numbers: the oracle of the interpreter.

A meaning takes the dtype of the result and the operands as exact values of their dtypes; the caller rounds
the result. Functions of analysis are torch's in float64.
"""

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Final

import torch

from supple.base.rules import Rules
from supple.ir.dtypes import DType
from supple.ir.loops.numbers import Number, float_of_bits

Meaning = Callable[..., Number]
meanings: Final[Rules[Meaning]] = Rules("scalar meaning")
"""Keyed by the operator's name; called as `meanings[op](dtype, *operands)`."""

_BEYOND_FLOAT64: Final = 1 << 1024
_ANALYSIS: Final = (
    "exp exp2 log log2 log10 log1p expm1 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf "
    "erfc lgamma sqrt rsqrt floor ceil round trunc reciprocal"
).split()


def _analysis(name: str, dtype: DType, *operands: float) -> Number:
    """Return torch's function of float64 numbers."""
    if not dtype.is_float:
        return operands[0]
    function = getattr(torch, name)
    return function(*(torch.tensor(float(x), dtype=torch.float64) for x in operands)).item()


for _name in [*_ANALYSIS, "atan2", "hypot", "copysign"]:
    meanings.on(_name)(partial(_analysis, _name))


def _plain(function: Callable[..., Number], dtype: DType, *operands: Number) -> Number:
    """Return Python's function of the operands."""
    return function(*operands)


for _name in "neg abs add sub mul eq ne lt le gt ge and_ or_ xor".split():
    meanings.on(_name.strip("_"))(partial(_plain, getattr(operator, _name)))


@meanings.on("sign")
def _(dtype: DType, x: Number) -> Number:
    """-1, 0 or 1; 0 for NaN."""
    return (x > 0) - (x < 0)


@meanings.on("isnan")
def _(dtype: DType, x: Number) -> Number:
    """Whether x is NaN."""
    return x != x


@meanings.on("isinf")
def _(dtype: DType, x: Number) -> Number:
    """Whether x is infinite."""
    return x in (math.inf, -math.inf)


@meanings.on("where")
def _(dtype: DType, condition: Number, yes: Number, no: Number) -> Number:
    """`yes` where the condition holds, else `no`."""
    return yes if condition else no


@meanings.on("float_of_bits")
def _(dtype: DType, bits: Number) -> Number:
    """The float64 of these bits."""
    return float_of_bits(int(bits))


@meanings.on("fma")
def _(dtype: DType, a: Number, b: Number, c: Number) -> Number:
    """a * b + c, rounded once."""
    if all(map(math.isfinite, (a, b, c))):
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        return float(exact) if abs(exact) < _BEYOND_FLOAT64 else math.copysign(math.inf, exact)
    return a * b + c


@meanings.on("div")
def _(dtype: DType, a: Number, b: Number) -> Number:
    """True division of floats; integers round towards 0, x / 0 is 0."""
    if dtype.is_float:
        return _quotient(float(a), float(b))
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _quotient(a: float, b: float) -> float:
    if b != 0:
        return a / b
    return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)


@meanings.on("fmod")
def _(dtype: DType, a: Number, b: Number) -> Number:
    """The remainder with the sign of a."""
    if dtype.is_float:
        return _fmod(float(a), float(b))
    return a if b == 0 else int(math.copysign(1, a)) * (abs(a) % abs(b))


def _fmod(a: float, b: float) -> float:
    return math.nan if b == 0 or math.isinf(a) else math.fmod(a, b)


@meanings.on("mod")
def _(dtype: DType, a: Number, b: Number) -> Number:
    """The remainder with the sign of b; of integers by 0, a."""
    if not dtype.is_float:
        return a if b == 0 else a % b
    remainder = _fmod(float(a), float(b))
    return remainder + b if remainder != 0 and (remainder < 0) != (b < 0) else remainder


@meanings.on("floordiv")
def _(dtype: DType, a: Number, b: Number) -> Number:
    """The quotient rounded down; of integers by 0, 0; of floats by 0, a / b."""
    if not dtype.is_float:
        return 0 if b == 0 else a // b
    a, b = float(a), float(b)
    remainder = _fmod(a, b)
    if b == 0 or remainder != remainder:
        return _quotient(a, b) if b == 0 else math.nan
    exact = (a - remainder) / b - (remainder != 0 and (remainder < 0) != (b < 0))
    return math.copysign(0.0, a / b) if exact == 0 else float(round(exact)) if math.isfinite(exact) else exact


@meanings.on("pow")
def _(dtype: DType, a: Number, b: Number) -> Number:
    """a ** b; of integers with negative powers only 1 and -1 differ from 0."""
    if dtype.is_float:
        return _analysis("pow", dtype, a, b)
    if b >= 0:
        return pow(int(a), int(b), 1 << 64)
    return {1: 1, -1: 1 if b % 2 == 0 else -1}.get(int(a), 0)


def _extreme(most: Callable[..., Number], dtype: DType, a: Number, b: Number) -> Number:
    """The larger or smaller; NaN where either is."""
    return a if a != a else b if b != b else most(a, b)


meanings.on("max")(partial(_extreme, max))
meanings.on("min")(partial(_extreme, min))


@meanings.on("cast")
def _(dtype: DType, x: Number) -> Number:
    """The value in another dtype; integers truncate, and what they cannot hold is their lowest number."""
    if dtype.is_float or dtype is DType.BOOL or not isinstance(x, float):
        return x
    limit = 1 << (63 if dtype is DType.I64 else 31)
    whole = math.trunc(x) if math.isfinite(x) else limit
    return whole if -limit <= whole < limit else -limit


@meanings.on("not")
def _(dtype: DType, x: int) -> Number:
    """All bits flipped."""
    return not x if dtype is DType.BOOL else ~x


@meanings.on("shl")
def _(dtype: DType, x: int, n: int) -> Number:
    """x << n; 0 where n is out of range."""
    return x << n if 0 <= n < dtype.size * 8 else 0


@meanings.on("shr")
def _(dtype: DType, x: int, n: int) -> Number:
    """x >> n; the sign everywhere where n is out of range."""
    return x >> (n if 0 <= n < dtype.size * 8 else dtype.size * 8)
