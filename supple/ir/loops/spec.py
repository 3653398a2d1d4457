"""Well-formedness of nests that leave schedule: names, dtypes, indices, bounds, roles, reductions.

A name is visible from its definition to the end of its block, and is not defined again there. Every
location is written by one point of the parallel axes, as far as constant sizes let that be seen: an index
that misses a parallel axis of more than one iteration is refused. An access whose index has known bounds
must lie inside its buffer, unless it is masked.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from supple.base.errors import SpecError
from supple.base.rules import Rules
from supple.expr import Expr, free_symbols, interval
from supple.ir.dtypes import DType
from supple.ir.loops.nodes import (
    Access,
    Axis,
    Buffer,
    Compute,
    IndexValue,
    Load,
    Loop,
    Nest,
    Reduce,
    Role,
    Scalar,
    Statement,
    Store,
)
from supple.ir.loops.scalar_ops import SCALAR_OPS, Operands
from supple.ir.loops.types import number_dtype, operand_dtypes

COMPLEX: Final = (DType.C64, DType.C128)
INDEX_DTYPES: Final = (DType.I64, DType.I32)
MOVES_ANY_FLOAT: Final = (Operands.WHERE, Operands.CAST, Operands.COMPARE)


def check(nest: Nest) -> None:
    """Check a nest with linearised indices.

    Raises:
        SpecError: naming the nest, the statement and the rule that it breaks.
    """
    checker = Checker(nest, {buffer.name: buffer for buffer in nest.buffers})
    if len(checker.buffers) != len(nest.buffers):
        checker.fail(nest.buffers, "two buffers have one name")
    for buffer in nest.buffers:
        if buffer.dtype in COMPLEX:
            checker.fail(buffer, "complex elements have no scalar operators")
        checker.expression(buffer.size, buffer, {size.name: None for size in nest.sizes})
    names: dict[str, DType | None] = {size.name: None for size in nest.sizes}
    roles = [axis.role for axis in nest.axes]
    if (
        roles != sorted(roles, key=[Role.PARALLEL, Role.SERIAL, Role.VECTOR].index)
        or roles.count(Role.VECTOR) > 1
    ):
        checker.fail(nest.axes, "axes are PARALLEL, then SERIAL, then at most one VECTOR")
    checker.axes(nest.axes, names)
    checker.block(nest.body, names, is_vector=Role.VECTOR in roles)


Names = dict[str, DType | None]
"""What is visible: scalars with their dtype, axes and sizes with None."""


@dataclass(frozen=True, slots=True)
class Checker:
    """One check of a nest."""

    nest: Nest
    buffers: Mapping[str, Buffer]

    def fail(self, what: object, rule: str) -> None:
        """Raise SpecError about a part of the nest."""
        raise SpecError(f"nest {self.nest.name}: {what}: {rule}")

    def block(self, statements: Sequence[Statement], names: Names, *, is_vector: bool) -> None:
        """Check statements in order; `names` grows by what they define."""
        for statement in statements:
            checks[type(statement)](self, statement, names, is_vector)

    def define(self, name: str, dtype: DType | None, names: Names, where: object) -> None:
        """Make a name visible."""
        if name in names or not name.isidentifier():
            self.fail(where, f"{name} is visible already, or is no identifier")
        names[name] = dtype

    def axes(self, axes: Sequence[Axis], names: Names) -> None:
        """Check axes and make their symbols visible."""
        for axis in axes:
            self.expression(axis.extent, axis, names)
        for axis in axes:
            self.define(axis.symbol.name, None, names, axis)

    def expression(self, e: Expr, where: object, names: Names) -> None:
        """Check that an expression ranges over visible axes, sizes and integers."""
        for symbol in free_symbols(e):
            if symbol.name not in names:
                self.fail(where, f"{symbol.name} is not visible")
            dtype = names[symbol.name]
            if dtype is not None and not dtype.is_integer:
                self.fail(where, f"{symbol.name} is {dtype.value}, no integer")

    def scalar(self, name: Scalar, dtype: DType, where: object, names: Names) -> None:
        """Check that an operand is visible and has the dtype, or is a number that fits it."""
        if not isinstance(name, str):
            kind = number_dtype(name)
            if dtype.is_float or kind is dtype or (kind is DType.I64 and dtype.is_integer):
                return
            if dtype is DType.BOOL and name in (0, 1):
                return
            self.fail(where, f"the number {name!r} is no {dtype.value}")
        elif name not in names:
            self.fail(where, f"{name} is not visible")
        elif names[name] is not dtype:
            self.fail(where, f"{name} is not a {dtype.value}")

    def access(self, statement: Load | Store, names: Names) -> Buffer:
        """Check buffer, index and mask of an access."""
        buffer = self.buffers.get(statement.buffer)
        if buffer is None or len(statement.index) != 1:
            self.fail(statement, "an access names a buffer and has one index")
        assert buffer is not None, "fail raises"
        (index,) = statement.index
        self.expression(index, statement, names)
        if statement.mask is not None:
            self.scalar(statement.mask, DType.BOOL, statement, names)
        elif buffer.size.is_const:
            self._inside(index, buffer, statement)
        return buffer

    def _inside(self, index: Expr, buffer: Buffer, statement: Load | Store) -> None:
        """Check an index whose symbols all have ranges; an axis that never runs excuses everything."""
        if any(axis.extent.is_const and axis.extent.value <= 0 for axis in self.nest.axes):
            return
        reach = interval(index)
        if reach.lo is not None and reach.lo < 0 and _is_exact(index):
            self.fail(statement, f"the index reaches {reach.lo}")
        if reach.hi is not None and reach.hi >= buffer.size.value and _is_exact(index):
            self.fail(statement, f"the index reaches {reach.hi} of {buffer.size} elements")


def _is_exact(index: Expr) -> bool:
    """Tell whether the interval of an index is reached: each symbol occurs in one term, alone."""
    symbols = [symbol for mono, _ in index.terms for symbol in free_symbols(mono)]
    return len(symbols) == len(set(symbols)) and all(len(free_symbols(mono)) == 1 for mono, _ in index.terms)


Check = Callable[[Checker, Statement, Names, bool], None]
checks: Final[Rules[Check]] = Rules("loops spec")


@checks.on(Load)
def _(checker: Checker, statement: Statement, names: Names, is_vector: bool) -> None:
    """A load has its buffer's dtype and does not read what only is written."""
    assert isinstance(statement, Load)
    buffer = checker.access(statement, names)
    if buffer.dtype is not statement.dtype:
        checker.fail(statement, f"the buffer holds {buffer.dtype.value}")
    if statement.mask is not None:
        checker.scalar(statement.other, statement.dtype, statement, names)
    checker.define(statement.name, statement.dtype, names, statement)


@checks.on(Store)
def _(checker: Checker, statement: Statement, names: Names, is_vector: bool) -> None:
    """A store's value has the buffer's dtype, and its index tells apart the points of the parallel axes."""
    assert isinstance(statement, Store)
    buffer = checker.access(statement, names)
    if buffer.access is Access.READ:
        checker.fail(statement, "the buffer is read only")
    checker.scalar(statement.value, buffer.dtype, statement, names)
    used = {symbol.name for symbol in free_symbols(statement.index[0])}
    if buffer.access is Access.SCRATCH or any(names[name] is not None for name in used):
        return
    for axis in checker.nest.axes:
        many = not axis.extent.is_const or axis.extent.value > 1
        if axis.role is not Role.SERIAL and many and axis.symbol.name not in used:
            checker.fail(statement, f"all points of {axis.symbol.name} write one location")


@checks.on(IndexValue)
def _(checker: Checker, statement: Statement, names: Names, is_vector: bool) -> None:
    """An index value is an integer of 32 or 64 bits."""
    assert isinstance(statement, IndexValue)
    checker.expression(statement.value, statement, names)
    if statement.dtype not in INDEX_DTYPES:
        checker.fail(statement, "an index value is i64 or i32")
    checker.define(statement.name, statement.dtype, names, statement)


@checks.on(Compute)
def _(checker: Checker, statement: Statement, names: Names, is_vector: bool) -> None:
    """Operands are as many and of the dtypes that the operator takes."""
    assert isinstance(statement, Compute)
    op = SCALAR_OPS.get(statement.op)
    if op is None or len(statement.args) != op.arity:
        checker.fail(statement, f"{statement.op} is no operator of {len(statement.args)} operands")
    assert op is not None, "fail raises"
    for arg in statement.args:
        if isinstance(arg, str) and names.get(arg) is None:
            checker.fail(statement, f"{arg} is no visible scalar")
    known = {name: dtype for name, dtype in names.items() if dtype is not None}
    for arg, dtype in zip(statement.args, operand_dtypes(statement, known), strict=True):
        checker.scalar(arg, dtype, statement, names)
        if dtype.is_low_precision and op.operands not in MOVES_ANY_FLOAT:
            checker.fail(statement, f"there is no arithmetic in {dtype.value}")
    if op.operands is Operands.COMPARE and statement.dtype is not DType.BOOL:
        checker.fail(statement, "a comparison is a b1")
    if op.operands is Operands.FROM_BITS and statement.dtype is not DType.F64:
        checker.fail(statement, "bits of 64 are of an f64")
    if op.operands is Operands.BITS and statement.dtype.is_float:
        checker.fail(statement, "bits are of integers and b1")
    checker.define(statement.name, statement.dtype, names, statement)


@checks.on(Loop)
def _(checker: Checker, statement: Statement, names: Names, is_vector: bool) -> None:
    """Only the last axis may be VECTOR, and only where nothing around it is; reduces see the body's names."""
    assert isinstance(statement, Loop)
    roles = [axis.role for axis in statement.axes]
    has_vector = Role.VECTOR in roles
    if not roles or Role.PARALLEL in roles or Role.VECTOR in roles[:-1] or (has_vector and is_vector):
        checker.fail(statement.axes, "a loop has SERIAL axes, the last may be VECTOR unless one around it is")
    inside = dict(names)
    checker.axes(statement.axes, inside)
    checker.block(statement.body, inside, is_vector=is_vector or has_vector)
    for reduce in statement.reduces:
        value = inside.get(reduce.value)
        if value is None:
            checker.fail(reduce, f"{reduce.value} is no visible scalar")
        assert value is not None, "fail raises"
        rule = reductions.find(reduce.op)
        if rule is None or not rule(reduce, value):
            checker.fail(reduce, f"{reduce.op} of {value.value} does not give {reduce.dtype.value}")
        checker.define(reduce.name, reduce.dtype, names, reduce)


reductions: Final[Rules[Callable[[Reduce, DType], bool]]] = Rules("reduction dtypes")


@reductions.on("sum", "prod")
def _(reduce: Reduce, value: DType) -> bool:
    """A sum has the dtype of its terms, which is one for arithmetic."""
    return reduce.dtype is value and value is not DType.BOOL and not value.is_low_precision


@reductions.on("min", "max")
def _(reduce: Reduce, value: DType) -> bool:
    """An extreme is one of the values."""
    return reduce.dtype is value and not value.is_low_precision


@reductions.on("any", "all")
def _(reduce: Reduce, value: DType) -> bool:
    """Truth of truths."""
    return reduce.dtype is DType.BOOL and value is DType.BOOL


@reductions.on("argmin", "argmax")
def _(reduce: Reduce, value: DType) -> bool:
    """A position is an i64."""
    return reduce.dtype is DType.I64 and not value.is_low_precision
