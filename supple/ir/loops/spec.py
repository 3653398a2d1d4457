"""Well-formedness of nests that leave schedule: names, dtypes, indices, bounds, roles, reductions.

A name is visible from its definition to the end of its block, and is not defined again there. Every
location is written by one point of the parallel axes, as far as constant sizes let that be seen: an index
that misses a parallel axis of more than one iteration is refused. An access whose index has known bounds
must lie inside its buffer, unless it is masked.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NoReturn

from supple.base.errors import SpecError
from supple.base.rules import Rules
from supple.expr import Expr, Symbol, free_symbols, interval
from supple.ir.dtypes import DType
from supple.ir.loops import nodes
from supple.ir.loops.scalar_ops import SCALAR_OPS, Operands
from supple.ir.loops.types import number_dtype, operand_dtypes

COMPLEX: Final = (DType.C64, DType.C128)
INDEX_DTYPES: Final = (DType.I64, DType.I32)
MOVES_ANY_FLOAT: Final = (Operands.WHERE, Operands.CAST, Operands.COMPARE)


def check(nest: nodes.Nest) -> None:
    """Check a nest with linearised indices.

    Raises:
        SpecError: naming the nest, the statement and the rule that it breaks.
    """
    buffers = {buffer.name: buffer for buffer in nest.buffers}
    roles = [axis.role for axis in nest.axes]
    checker = Checker(nest, buffers, {size.name: None for size in nest.sizes}, nodes.Role.VECTOR in roles)
    checker.require(len(buffers) == len(nest.buffers), "two buffers have one name")
    for buffer in nest.buffers:
        checker.where = buffer
        checker.require(buffer.dtype not in COMPLEX, "complex elements have no scalar operators")
        checker.expression(buffer.size)
    checker.where = nest.axes
    is_sorted = roles == sorted(roles, key=[nodes.Role.PARALLEL, nodes.Role.SERIAL, nodes.Role.VECTOR].index)
    is_ordered = is_sorted and roles.count(nodes.Role.VECTOR) <= 1
    checker.require(is_ordered, "axes are PARALLEL, then SERIAL, then at most one VECTOR")
    checker.axes(nest.axes)
    checker.block(nest.body)


@dataclass(slots=True)
class Checker:
    """One check of a nest, inside of one block.

    Attributes:
        names: what is visible: scalars with their dtype, axes and sizes with None.
        is_vector: whether the block is in a vector axis.
        where: the part that is checked now.
    """

    nest: nodes.Nest
    buffers: Mapping[str, nodes.Buffer]
    names: dict[str, DType | None]
    is_vector: bool
    where: object = None

    def fail(self, rule: str) -> NoReturn:
        """Raise SpecError about the part of the nest that is checked."""
        raise SpecError(f"nest {self.nest.name}: {self.where}: {rule}")

    def require(self, holds: bool, rule: str) -> None:
        """Check that a rule holds."""
        if not holds:
            self.fail(rule)

    def block(self, statements: Sequence[nodes.Statement]) -> None:
        """Check statements in order; the names that they define become visible."""
        for self.where in statements:
            checks[type(self.where)](self, self.where)

    def define(self, name: str, dtype: DType | None) -> None:
        """Make a name visible."""
        is_new = name not in self.names and name.isidentifier()
        self.require(is_new, f"{name} is visible already, or is no identifier")
        self.names[name] = dtype

    def axes(self, axes: Sequence[nodes.Axis]) -> None:
        """Check axes and make their symbols visible."""
        for axis in axes:
            self.expression(axis.extent)
        for axis in axes:
            self.define(axis.symbol.name, None)

    def expression(self, e: Expr) -> None:
        """Check that an expression ranges over visible axes, sizes and integers."""
        for symbol in free_symbols(e):
            self.require(symbol.name in self.names, f"{symbol.name} is not visible")
            dtype = self.names[symbol.name]
            self.require(dtype is None or dtype.is_integer, f"{symbol.name} is {dtype}, no integer")

    def scalar(self, name: nodes.Scalar, dtype: DType) -> None:
        """Check that an operand is visible and has the dtype, or is a number that fits it."""
        if isinstance(name, str):
            self.require(name in self.names, f"{name} is not visible")
            self.require(self.names[name] is dtype, f"{name} is not a {dtype.value}")
            return
        kind = number_dtype(name)
        fits = dtype.is_float or kind is dtype or (kind is DType.I64 and dtype.is_integer)
        is_truth = dtype is DType.BOOL and name in (0, 1)
        self.require(fits or is_truth, f"the number {name!r} is no {dtype.value}")

    def access(self, statement: nodes.Load | nodes.Store) -> nodes.Buffer:
        """Check buffer, index and mask of an access."""
        buffer = self.buffers.get(statement.buffer)
        if buffer is None or len(statement.index) != 1:
            self.fail("an access names a buffer and has one index")
        (index,) = statement.index
        self.expression(index)
        if statement.mask is not None:
            self.scalar(statement.mask, DType.BOOL)
        elif buffer.size.is_const:
            self._inside(index, buffer)
        return buffer

    def _inside(self, index: Expr, buffer: nodes.Buffer) -> None:
        """Check an index whose symbols all have ranges; an axis that never runs excuses everything."""
        is_run = not any(axis.extent.is_const and axis.extent.value <= 0 for axis in self.nest.axes)
        reach = interval(index)
        if is_run and _is_exact(index, [axis.symbol for axis in self.nest.axes]):
            self.require(reach.lo is None or reach.lo >= 0, f"the index reaches {reach.lo}")
            is_below = reach.hi is None or reach.hi < buffer.size.value
            self.require(is_below, f"the index reaches {reach.hi} of {buffer.size} elements")


def _is_exact(index: Expr, axes: Sequence[Symbol]) -> bool:
    """Tell whether the interval of an index is reached: each symbol is an axis, in one term, alone.

    Of sizes, of numbers that a run reads, and of what is computed of them, the graph's guards and checks may
    know more.
    """
    terms = [(mono, free_symbols(mono)) for mono, _ in index.terms]
    symbols = [symbol for _, found in terms for symbol in found]
    is_apart = len(symbols) == len(set(symbols)) and all(len(found) == 1 for _, found in terms)
    return is_apart and {*axes}.issuperset(symbols)


def _is_at_most_one(extent: Expr) -> bool:
    """Tell whether an axis has no second point for any sizes, as that of `x[:1]` has none."""
    highest = interval(extent).hi
    return highest is not None and highest <= 1


#: Kind of statement -> (checker, statement) -> None.
checks: Final[Rules[Callable[..., None]]] = Rules("loops spec")


@checks.on(nodes.Load)
def _(checker: Checker, statement: nodes.Load) -> None:
    """A load has its buffer's dtype and does not read what only is written."""
    buffer = checker.access(statement)
    checker.require(buffer.dtype is statement.dtype, f"the buffer holds {buffer.dtype.value}")
    if statement.mask is not None:
        checker.scalar(statement.other, statement.dtype)
    checker.define(statement.name, statement.dtype)


@checks.on(nodes.Store)
def _(checker: Checker, statement: nodes.Store) -> None:
    """A store's value has the buffer's dtype, and its index tells apart the points of the parallel axes.

    All points may write a number to one location, as into memory whose elements overlap.
    """
    buffer = checker.access(statement)
    checker.require(buffer.access is not nodes.Access.READ, "the buffer is read only")
    checker.scalar(statement.value, buffer.dtype)
    used = {symbol.name for symbol in free_symbols(statement.index[0])}
    is_number = not isinstance(statement.value, str)
    is_computed = any(checker.names[name] is not None for name in used)
    if buffer.access is nodes.Access.SCRATCH or is_number or is_computed:
        return
    for axis in checker.nest.axes:
        is_told = axis.role is nodes.Role.SERIAL or axis.symbol.name in used or _is_at_most_one(axis.extent)
        checker.require(is_told, f"all points of {axis.symbol.name} write one location")


@checks.on(nodes.IndexValue)
def _(checker: Checker, statement: nodes.IndexValue) -> None:
    """An index value is an integer of 32 or 64 bits."""
    checker.expression(statement.value)
    checker.require(statement.dtype in INDEX_DTYPES, "an index value is i64 or i32")
    checker.define(statement.name, statement.dtype)


@checks.on(nodes.Compute)
def _(checker: Checker, statement: nodes.Compute) -> None:
    """Operands are as many and of the dtypes that the operator takes."""
    op = SCALAR_OPS.get(statement.op)
    if op is None or len(statement.args) != op.arity:
        checker.fail(f"{statement.op} is no operator of {len(statement.args)} operands")
    known = {name: dtype for name, dtype in checker.names.items() if dtype is not None}
    for arg in statement.args:
        checker.require(not isinstance(arg, str) or arg in known, f"{arg} is no visible scalar")
    for arg, dtype in zip(statement.args, operand_dtypes(statement, known), strict=True):
        checker.scalar(arg, dtype)
        is_arithmetic = op.operands not in MOVES_ANY_FLOAT
        rule = f"there is no arithmetic in {dtype.value}"
        checker.require(not (dtype.is_low_precision and is_arithmetic), rule)
    is_right, rule = RESULTS.get(op.operands, (lambda dtype: True, ""))
    checker.require(is_right(statement.dtype), rule)
    checker.define(statement.name, statement.dtype)


RESULTS: Final[Mapping[Operands, tuple[Callable[[DType], bool], str]]] = {
    Operands.COMPARE: (lambda dtype: dtype is DType.BOOL, "a comparison is a b1"),
    Operands.FROM_BITS: (lambda dtype: dtype is DType.F64, "bits of 64 are of an f64"),
    Operands.BITS: (lambda dtype: not dtype.is_float, "bits are of integers and b1"),
}
"""What holds of the results of some operators."""


@checks.on(nodes.Loop)
def _(checker: Checker, statement: nodes.Loop) -> None:
    """Only the last axis may be VECTOR, and only where nothing around it is; reduces see the body's names."""
    roles = [axis.role for axis in statement.axes]
    has_vector = nodes.Role.VECTOR in roles
    is_nested = has_vector and checker.is_vector
    is_wrong = is_nested or nodes.Role.PARALLEL in roles or nodes.Role.VECTOR in roles[:-1]
    rule = "a loop has SERIAL axes, the last may be VECTOR unless one around it is"
    checker.require(bool(roles) and not is_wrong, rule)
    inside = replace(checker, names=dict(checker.names), is_vector=checker.is_vector or has_vector)
    inside.axes(statement.axes)
    inside.block(statement.body)
    for reduce in statement.reduces:
        checker.where = reduce
        value = inside.names.get(reduce.value)
        if value is None:
            checker.fail(f"{reduce.value} is no visible scalar")
        rule = reductions.find(reduce.op)
        fits = rule is not None and rule(reduce, value)
        checker.require(fits, f"{reduce.op} of {value.value} does not give {reduce.dtype.value}")
        checker.define(reduce.name, reduce.dtype)


reductions: Final[Rules[Callable[[nodes.Reduce, DType], bool]]] = Rules("reduction dtypes")


@reductions.on("sum", "prod")
def _(reduce: nodes.Reduce, value: DType) -> bool:
    """A sum has the dtype of its terms, which is one for arithmetic."""
    return reduce.dtype is value and value is not DType.BOOL and not value.is_low_precision


@reductions.on("min", "max")
def _(reduce: nodes.Reduce, value: DType) -> bool:
    """An extreme is one of the values."""
    return reduce.dtype is value and not value.is_low_precision


@reductions.on("any", "all")
def _(reduce: nodes.Reduce, value: DType) -> bool:
    """Truth of truths."""
    return reduce.dtype is DType.BOOL and value is DType.BOOL


@reductions.on("argmin", "argmax")
def _(reduce: nodes.Reduce, value: DType) -> bool:
    """A position is an i64."""
    return reduce.dtype is DType.I64 and not value.is_low_precision
