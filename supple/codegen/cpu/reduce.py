"""Reductions: the state of each kind, one step, and how lanes and partial states become one.

A state is a tuple of registers: one accumulator, and for argmin and argmax the position beside it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from supple.codegen.cpu.code import Code
from supple.codegen.cpu.registers import Reg, constant, mangled
from supple.ir.dtypes import DType
from supple.ir.loops.nodes import Reduce
from supple.ir.loops.numbers import greatest, least

State = tuple[Reg, ...]


def chosen(code: Code, condition: Reg, yes: State, no: State) -> State:
    """Return one of two states, lane by lane."""
    return tuple(code.select(condition, one, other) for one, other in zip(yes, no, strict=True))


Combine = Callable[[Code, Reg, Reg], Reg]

NO_POSITION: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Kind:
    """A reduction by an associative and commutative operation.

    Attributes:
        neutral: the number that a dtype's reduction starts with.
        combine: the operation on two accumulators.
        across: the intrinsic that reduces the lanes of a vector of the dtype, with its leading operands.
    """

    neutral: Callable[[DType], float]
    combine: Combine
    across: Callable[[Code, Reg], Reg]


def _extreme(which: str, code: Code, a: Reg, b: Reg) -> Reg:
    """Return the maximum or minimum; NaN where either is NaN."""
    if a.dtype.is_float:
        text = f"call nsz {a.type} @llvm.{which}imum.{mangled(a.dtype, a.lanes)}({a.typed}, {b.typed})"
        return code.pure(text, a.dtype, a.lanes, (a, b))
    return code.intrinsic(("u" if a.dtype in (DType.U8, DType.BOOL) else "s") + which, a, b)


larger, smaller = partial(_extreme, "max"), partial(_extreme, "min")


def _arithmetic(name: str, code: Code, a: Reg, b: Reg) -> Reg:
    return code.op(("f" if a.dtype.is_float else "") + name, a, b)


def _total(name: str, start: float, code: Code, vector: Reg) -> Reg:
    """Return the sum or product of all lanes."""
    if not vector.dtype.is_float:
        return code.across(vector, name)
    first, suffix = constant(vector.dtype, start), mangled(vector.dtype, vector.lanes)
    # Pairs of halves: shorter chains and smaller error than lane after lane.
    text = f"call reassoc {first.type} @llvm.vector.reduce.f{name}.{suffix}({first.typed}, {vector.typed})"
    return code.pure(text, vector.dtype, 1, (vector,))


def _most(which: str, code: Code, vector: Reg) -> Reg:
    """Return the extreme of all lanes."""
    if vector.dtype.is_float:
        return code.across(vector, f"f{which}imum")
    return code.across(vector, ("u" if vector.dtype in (DType.U8, DType.BOOL) else "s") + which)


KINDS: Final = {
    "sum": Kind(lambda dtype: 0, partial(_arithmetic, "add"), partial(_total, "add", 0.0)),
    "prod": Kind(lambda dtype: 1, partial(_arithmetic, "mul"), partial(_total, "mul", 1.0)),
    "max": Kind(least, larger, partial(_most, "max")),
    "min": Kind(greatest, smaller, partial(_most, "min")),
    "any": Kind(lambda dtype: 0, lambda code, a, b: code.op("or", a, b), partial(Code.across, name="or")),
    "all": Kind(lambda dtype: 1, lambda code, a, b: code.op("and", a, b), partial(Code.across, name="and")),
}


class Folding:
    """How accumulators of one Reduce are made, stepped and merged, by its kind."""

    __slots__ = ("dtype", "kind")
    size = 1
    needs_position = False

    def __init__(self, kind: Kind, dtype: DType) -> None:
        self.kind = kind
        self.dtype = dtype

    def initial(self, lanes: int) -> State:
        """Return the state before the first step."""
        return (constant(self.dtype, self.kind.neutral(self.dtype), lanes),)

    def step(self, code: Code, state: State, value: Reg, position: Reg) -> State:
        """Return the state after `value`."""
        return (self.kind.combine(code, state[0], value),)

    def merge(self, code: Code, first: State, second: State) -> State:
        """Return the state of two partial ones."""
        return (self.kind.combine(code, first[0], second[0]),)

    def across(self, code: Code, state: State) -> State:
        """Return the state of all lanes together."""
        return (self.kind.across(code, state[0]),)

    def result(self, code: Code, state: State) -> Reg:
        """Return what the reduction gives at the end."""
        return state[0]


class ExtremePosition:
    """argmin and argmax: the first position of the extreme value; a NaN is more extreme than any number."""

    __slots__ = ("dtype", "is_max")
    size = 2
    needs_position = True

    def __init__(self, dtype: DType, *, is_max: bool) -> None:
        self.dtype = dtype
        self.is_max = is_max

    def initial(self, lanes: int) -> State:
        """Return the state before the first step: the weakest value, at no position."""
        weakest = least(self.dtype) if self.is_max else greatest(self.dtype)
        return constant(self.dtype, weakest, lanes), constant(DType.I64, NO_POSITION, lanes)

    def step(self, code: Code, state: State, value: Reg, position: Reg) -> State:
        """Return the state after `value`, whose position is above those before it."""
        return self.merge(code, state, (value, code.splat(position, value.lanes)))

    def merge(self, code: Code, first: State, second: State) -> State:
        """Return the more extreme of two; of equals the one at the smaller position."""
        better = self._beats(code, second[0], first[0])
        is_earlier = code.compare("icmp slt", second[1], first[1])
        equal = code.op("and", self._equal(code, first[0], second[0]), is_earlier)
        return chosen(code, code.op("or", better, equal), second, first)

    def across(self, code: Code, state: State) -> State:
        """Return the state of all lanes together: halves are merged until one lane is left."""
        parts = [tuple(code.extract(reg, lane) for reg in state) for lane in range(state[0].lanes)]
        while len(parts) > 1:
            half = len(parts) // 2
            parts = [self.merge(code, parts[n], parts[n + half]) for n in range(half)]
        return parts[0]

    def result(self, code: Code, state: State) -> Reg:
        """Return the position; 0 where nothing was seen."""
        position = state[1]
        nothing = code.compare("icmp eq", position, constant(DType.I64, NO_POSITION, position.lanes))
        return code.select(nothing, constant(DType.I64, 0, position.lanes), position)

    def _beats(self, code: Code, challenger: Reg, holder: Reg) -> Reg:
        if not self.dtype.is_float:
            sign = "u" if self.dtype in (DType.U8, DType.BOOL) else "s"
            return code.compare(f"icmp {sign}{'gt' if self.is_max else 'lt'}", challenger, holder)
        stronger = code.compare("fcmp ogt" if self.is_max else "fcmp olt", challenger, holder)
        only_nan = code.op("and", _is_nan(code, challenger), code.compare("fcmp ord", holder, holder))
        return code.op("or", stronger, only_nan)

    def _equal(self, code: Code, a: Reg, b: Reg) -> Reg:
        if not self.dtype.is_float:
            return code.compare("icmp eq", a, b)
        both_nan = code.op("and", _is_nan(code, a), _is_nan(code, b))
        return code.op("or", code.compare("fcmp oeq", a, b), both_nan)


def _is_nan(code: Code, value: Reg) -> Reg:
    return code.compare("fcmp uno", value, value)


def folding(reduce: Reduce, value_dtype: DType) -> Folding | ExtremePosition:
    """Return how to carry out a Reduce over values of a dtype."""
    if reduce.op in ("argmax", "argmin"):
        return ExtremePosition(value_dtype, is_max=reduce.op == "argmax")
    return Folding(KINDS[reduce.op], reduce.dtype)
