"""Index expressions -> 64-bit integer registers, and what they do from one lane to the next.

A term is computed where its innermost symbol lives, and sums grow from the outside in, so that all that does
not depend on a loop is computed before it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

from supple.base.rules import Rules
from supple.codegen.cpu.code import Code
from supple.codegen.cpu.registers import Reg, constant
from supple.expr import Add, Const, Expr, FloorDiv, Max, Min, Mod, Mul, Symbol, free_symbols, interval
from supple.ir.dtypes import DType

Lookup = Callable[[str], Reg]


@dataclass(frozen=True, slots=True)
class Index:
    """Evaluates expressions: `lookup` gives the register (i64, any lanes) of a symbol's name.

    Attributes:
        known: what was evaluated: minima of sizes hold one another many times over.
    """

    code: Code
    lookup: Lookup
    known: dict[Expr, Reg] = field(default_factory=dict[Expr, Reg])

    def __call__(self, e: Expr) -> Reg:
        """Return the value of `e`: a scalar unless one of its symbols is a vector."""
        found = self.known.get(e)
        if found is None:
            found = self.known[e] = evaluators[type(e)](self, e)
        return found

    def together(self, *operands: Reg) -> list[Reg]:
        """Return the operands with the same number of lanes."""
        lanes = max(reg.lanes for reg in operands)
        return [self.code.splat(reg, lanes) for reg in operands]


#: Kind of expression -> (index, expression) -> its value.
evaluators: Final[Rules[Callable[..., Reg]]] = Rules("index value")


@evaluators.on(Const)
def _(index: Index, e: Expr) -> Reg:
    """A constant is an immediate."""
    return constant(DType.I64, e.value)


@evaluators.on(Symbol)
def _(index: Index, e: Symbol) -> Reg:
    """A symbol is what the program holds under its name."""
    return index.lookup(e.name)


@evaluators.on(Add, Mul)
def _(index: Index, e: Expr) -> Reg:
    """A polynomial is summed outermost terms first; the constant comes last, where addresses absorb it."""
    terms = [_term(index, mono, factor) for mono, factor in e.terms]
    terms.sort(key=lambda reg: (reg.lanes, reg.level))
    if e.constant:
        terms.append(constant(DType.I64, e.constant))
    return _folded(index, "add", terms)


def _term(index: Index, mono: Expr, factor: int) -> Reg:
    """Return `factor * mono`."""
    factors = [index(atom) for atom in (mono.args if isinstance(mono, Mul) else (mono,))]
    factors.sort(key=lambda reg: (reg.lanes, reg.level))
    if factor != 1:
        factors.insert(0, constant(DType.I64, factor))
    return _folded(index, "mul", factors)


def _folded(index: Index, name: str, operands: list[Reg]) -> Reg:
    """Return a sum or product, outermost operands first; what a loop does not change is one number in it.

    LLVM writes addresses in loops as polynomials of all that is computed before, in exponential time.
    `freeze` ends that: no pass looks through it.
    """
    found = operands[0]
    for one in operands[1:]:
        if found.level < one.level and found.lanes == 1 and found.number is None:
            found = index.code.op("freeze", found)
        found = index.code.op(name, *index.together(found, one))
    return found


@evaluators.on(Min, Max)
def _(index: Index, e: Expr) -> Reg:
    """Min and Max are signed intrinsics."""
    name = "smin" if isinstance(e, Min) else "smax"
    operands = index.together(*map(index, e.args))
    return reduce(lambda a, b: index.code.intrinsic(name, a, b), operands)


@evaluators.on(FloorDiv)
def _(index: Index, e: Expr) -> Reg:
    """Division rounds down; where nothing is negative the unsigned instruction does that."""
    return _divided(index, e)[0]


@evaluators.on(Mod)
def _(index: Index, e: Expr) -> Reg:
    """The remainder has the sign of the divisor."""
    return _divided(index, e)[1]


def _divided(index: Index, e: Expr) -> tuple[Reg, Reg]:
    """Return quotient and remainder of `e.args`, rounded down."""
    code = index.code
    least, low = interval(e.args[0]).lo, interval(e.args[1]).lo
    is_natural, is_safe = low is not None and low >= 0, e.args[1].is_const
    divisor = index(e.args[1])
    if is_natural and not is_safe:
        # Where a size is 0 nothing is read at the quotient; computing it must not trap.
        divisor, is_safe = code.intrinsic("smax", divisor, constant(DType.I64, 1, divisor.lanes)), True
    numerator, divisor = index.together(index(e.args[0]), divisor)
    if least is not None and least >= 0 and is_natural:
        most = interval(e).hi, interval(e.args[0]).hi, interval(e.args[1]).hi
        if numerator.lanes > 1 and all(bound is not None and bound < 2**32 for bound in most):
            small = [code.convert("trunc", reg, DType.I32) for reg in (numerator, divisor)]
            pair = _unsigned(code, small[0], small[1], is_safe=is_safe)
            return code.convert("zext", pair[0], DType.I64), code.convert("zext", pair[1], DType.I64)
        return _unsigned(code, numerator, divisor, is_safe=is_safe)
    quotient = _trapping(code, "sdiv", numerator, divisor, is_safe=is_safe)
    remainder = _trapping(code, "srem", numerator, divisor, is_safe=is_safe)
    zero = constant(DType.I64, 0, numerator.lanes)
    differ = code.compare("icmp slt", code.op("xor", remainder, divisor), zero)
    below = code.op("and", differ, code.compare("icmp ne", remainder, zero))
    shifted = code.op("add", quotient, code.convert("sext", below, DType.I64))
    return shifted, code.select(below, code.op("add", remainder, divisor), remainder)


def _unsigned(code: Code, numerator: Reg, divisor: Reg, *, is_safe: bool) -> tuple[Reg, Reg]:
    """Return quotient and remainder of numbers that are not negative."""
    quotient = _trapping(code, "udiv", numerator, divisor, is_safe=is_safe)
    return quotient, code.op("sub", numerator, code.op("mul", quotient, divisor))


def _trapping(code: Code, name: str, numerator: Reg, divisor: Reg, *, is_safe: bool) -> Reg:
    """Return a division that stays behind the condition it is under unless the divisor is a constant."""
    place = code.pure if is_safe else code.trapping
    text = f"{name} {numerator.type} {numerator.text}, {divisor.text}"
    return place(text, numerator.dtype, numerator.lanes, (numerator, divisor))


@dataclass(frozen=True, slots=True)
class Strides:
    """What an expression does from lane to lane of a vector axis whose lane 0 is a multiple of `lanes`.

    Attributes:
        axis: name of the vector axis.
        lanes: elements of a vector.
        varying: names of scalars that differ between lanes in no known way.
    """

    axis: str
    lanes: int
    varying: frozenset[str]

    def __call__(self, e: Expr) -> int | None:
        """Return how much `e` grows per lane (0: it is the same in all); None when that is not one number."""
        names = {symbol.name for symbol in free_symbols(e)}
        if names & self.varying:
            return None
        return 0 if self.axis not in names else stride_rules[type(e)](self, e)

    def is_aligned(self, e: Expr) -> bool:
        """Tell whether `e`, which grows by 1 per lane, is a multiple of `lanes` at lane 0."""
        others = [n for mono, n in e.terms if not (isinstance(mono, Symbol) and mono.name == self.axis)]
        return all(number % self.lanes == 0 for number in (e.constant, *others))


stride_rules: Final[Rules[Callable[[Strides, Expr], int | None]]] = Rules("stride over lanes")


@stride_rules.on(Symbol)
def _(strides: Strides, e: Expr) -> int | None:
    """The axis itself grows by 1."""
    return 1


@stride_rules.on(Add, Mul)
def _(strides: Strides, e: Expr) -> int | None:
    """A sum grows by the sum of its terms' growth; products of the axis with symbols are not known."""
    grown = 0
    for mono, factor in e.terms:
        growth = strides(mono) if not isinstance(mono, Mul) else _of_product(strides, mono)
        if growth is None:
            return None
        grown += factor * growth
    return grown


def _of_product(strides: Strides, mono: Expr) -> int | None:
    return 0 if all(strides(atom) == 0 for atom in mono.args) else None


@stride_rules.on(FloorDiv)
def _(strides: Strides, e: Expr) -> int | None:
    """(axis + aligned) // (k * lanes) is the same in all lanes."""
    return 0 if _stays_within(strides, e) else None


@stride_rules.on(Mod)
def _(strides: Strides, e: Expr) -> int | None:
    """(axis + aligned) % (k * lanes) grows like the axis: it does not wrap inside a vector."""
    return 1 if _stays_within(strides, e) else None


def _stays_within(strides: Strides, e: Expr) -> bool:
    numerator, divisor = e.args
    if not divisor.is_const or divisor.value % strides.lanes:
        return False
    return strides(numerator) == 1 and strides.is_aligned(numerator)


@stride_rules.on(Min, Max)
def _(strides: Strides, e: Expr) -> int | None:
    """An extreme of growing numbers has no one stride."""
    return None
