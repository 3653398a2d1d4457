"""SymNode: what a `torch.SymInt`, `SymFloat` or `SymBool` holds, type-erased; torch calls it by these names.

A node knows its ShapeEnv. Questions that torch's C++ and Python code ask of sizes arrive here: those it marks
as the framework's own (`guard_or_false`, contiguity) never guard; conditions that it asks plainly are decided
by the hint, and guarded.
"""

import math
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final

import torch

from supple.expr import (
    BoolExpr,
    Expr,
    Lt,
    Ne,
    Operand,
    as_expr,
    both,
    either,
    equal,
    exact_quotient,
    free_symbols,
    interval,
    maximum,
    minimum,
    negate,
    not_equal,
)
from supple.expr.build import boolean
from supple.expr.python import PYTHON
from supple.expr.real import Real
from supple.expr.walk import undivided
from supple.shapes import layout
from supple.shapes.decide import generally, is_backed
from supple.shapes.env import COMPARE, ShapeEnv

Symbolic = torch.SymInt | torch.SymFloat | torch.SymBool


Binary = Callable[["SymNode", "SymNode"], "SymNode"]


def _is_of_program(condition: Expr) -> bool:
    """Tell whether a condition is of the program's integers, which may be negative: no case is general."""
    return is_backed(condition) and any(interval(s).lo is None for s in free_symbols(condition))


def _float(op: str) -> Callable[..., "SymNode"]:
    """Return the method that makes a float of its operands."""

    def method(self: "SymNode", *others: "SymNode") -> "SymNode":
        return SymNode(Real(op, (self.expr, *(other.expr for other in others))), self.env, float)

    return method


def _arithmetic(op: str, function: Callable[[Expr, Expr], Expr] | None = None) -> Binary:
    """Return the method of an operator: a float where one of the operands is, else `function` of them."""
    of_floats, of_integers = _float(op), function or PYTHON[op]

    def method(self: "SymNode", other: "SymNode") -> "SymNode":
        if op in ("//", "%"):
            other.require_divisor()
        if float in (self.pytype, other.pytype):
            return of_floats(self, other)
        return self.wrap_int(of_integers(self.integer(), other.integer()))

    return method


def _comparison(op: str) -> Binary:
    """Return the method of a comparison; one of floats is decided."""

    def method(self: "SymNode", other: "SymNode") -> "SymNode":
        if isinstance(self.expr, Expr) and isinstance(other.expr, Expr):
            made = self.wrap_bool(COMPARE[op](self.expr, other.expr))
            made.sides = self.expr, other.expr
            return made
        return self.wrap_bool(self.env.decide_real(op, self.expr, other.expr))

    return method


Layout = Callable[["SymNode", Sequence["SymNode"], Sequence["SymNode"]], "SymNode"]


def _layout(holds: Callable[[layout.Exprs, layout.Exprs], bool], rank: int | None = None) -> Layout:
    """Return the method that tells whether sizes and strides, of this rank, have a layout."""

    def method(self: "SymNode", sizes: Sequence["SymNode"], strides: Sequence["SymNode"]) -> "SymNode":
        return self.wrap_bool(rank in (None, len(sizes)) and holds(_exprs(sizes), _exprs(strides)))

    return method


_OF_VIEWS: Final = "TensorUtils.cpp"
"""Where torch's C++ code looks for the strides of a view."""


class SymNode:
    """A number or a condition that depends on sizes.

    Attributes:
        expr: an Expr (of integers, or a condition), or a Real.
        env: whose symbols it is made of.
        pytype: int, float or bool.
        sides: the integers that a condition compares, as they were asked for; None of other nodes.
    """

    __slots__ = ("env", "expr", "pytype", "sides")

    def __init__(self, expr: Expr | Real, env: ShapeEnv, pytype: type) -> None:
        self.expr = expr
        self.env = env
        self.pytype = pytype
        self.sides: tuple[Expr, Expr] | None = None

    # What it is.

    @property
    def hint(self) -> float | None:
        """The value in the call that is compiled; None for unbacked ones."""
        if not self.has_hint():
            return None
        return self.env.real_hint(self.expr) if isinstance(self.expr, Real) else self.env.hint(self.expr)

    def is_int(self) -> bool:
        """Whether it is an integer."""
        return self.pytype is int

    def is_float(self) -> bool:
        """Whether it is a float."""
        return self.pytype is float

    def is_bool(self) -> bool:
        """Whether it is a condition."""
        return self.pytype is bool

    def is_symbolic(self) -> bool:
        """Whether it may depend on symbols."""
        return True

    def is_constant(self) -> bool:
        """Whether it is one of torch's constant nodes, or the length of a jagged dimension: never."""
        return False

    is_nested_int = is_constant

    def constant_int(self) -> None:
        """Return the value of a constant node: none."""
        return None

    constant_bool = nested_int = maybe_as_float = maybe_as_bool = constant_int

    def has_hint(self) -> bool:
        """Whether the call that is compiled gives it a value."""
        return self.env.is_backed(self.expr)

    def maybe_as_int(self) -> int | None:
        """Return the number where the facts leave only one."""
        if not isinstance(self.expr, Expr) or self.pytype is not int:
            return None
        now = self.env.current(self.expr)
        return now.value if now.is_const else None

    def clone(self) -> "SymNode":
        """Return the node: it never changes."""
        return self

    def __str__(self) -> str:
        return str(self.expr)

    __repr__ = _graph_repr = __str__

    # New nodes.

    def wrap_int(self, number: Operand) -> "SymNode":
        """Return a node of an integer."""
        return SymNode(as_expr(number), self.env, int)

    def wrap_float(self, number: float) -> "SymNode":
        """Return a node of a float."""
        return SymNode(Real("float", (number,)), self.env, float)

    def wrap_bool(self, value: Expr | bool) -> "SymNode":
        """Return a node of a condition."""
        return SymNode(boolean(value), self.env, bool)

    def integer(self) -> Expr:
        """Return the expression of an int or bool node."""
        assert isinstance(self.expr, Expr), f"{self} is a float"
        return self.expr

    # Decisions.

    def guard_bool(self, file: str = "", line: int = 0) -> bool:
        """Decide a condition; one of sizes that torch's C++ code asks (it names its file) is general."""
        condition = self.env.current(self.integer())
        if file and not _is_of_program(condition) and (generally(condition) or generally(negate(condition))):
            return generally(condition)
        return self.env.decide(condition)

    def bool_(self) -> bool:
        """Decide a condition that a program asks; of a float, whether it is another number than 0."""
        if self.pytype is float:
            return self.ne(self.wrap_float(0.0)).bool_()
        return self.env.decide(self.integer())

    def guard_int(self, file: str = "", line: int = 0) -> int:
        """Specialise to the number of this call."""
        return self.env.specialize(self.integer())

    int_ = guard_int

    def guard_float(self, file: str = "", line: int = 0) -> float:
        """Specialise to the float of this call."""
        return self.env.specialize_real(self.expr)

    def statically_known_true(self, file: str = "", line: int = 0) -> bool:
        """Tell whether a condition is known to hold."""
        return self.env.is_known(self.integer())

    def guard_or_false(self, file: str = "", line: int = 0) -> bool:
        """Tell whether a condition holds for general sizes; where that is not known, no."""
        condition = self.env.current(self.integer())
        return self.env.oblivious(condition, otherwise=generally(condition))

    guard_size_oblivious = guard_or_false

    def guard_or_true(self, file: str = "", line: int = 0) -> bool:
        """Tell whether a condition holds for general sizes; where that is not known, yes.

        Whether two dimensions can be shown as one is decided: where sizes happen to be equal, `reshape` gives
        a view in place of a copy.
        """
        condition = self.env.current(self.integer())
        if file.endswith(_OF_VIEWS) and not self._differ(condition):
            return False
        return self.env.oblivious(condition, otherwise=not generally(negate(condition)))

    def _differ(self, condition: Expr) -> bool:
        """Decide whether two numbers differ of which a condition says that they do, or that one is smaller.

        Numbers of which one divides the other are equal where the rest of the sizes is 1; that, like other
        dimensions of size 1, makes no difference.
        """
        if not isinstance(condition, Ne | Lt) or not self.env.is_backed(condition):
            return True
        sides = condition.args if self.sides is None else map(self.env.current, self.sides)
        one, other = map(undivided, sides)  # of tensors without elements nothing is asked
        if one is other or {one, other} & {as_expr(0), as_expr(1)}:
            return True
        if self._divides(one, other) or self._divides(other, one):
            return True
        return self.env.decide(not_equal(one, other))

    def _divides(self, divisor: Expr, number: Expr) -> bool:
        return exact_quotient(number, divisor) is not None or self.env.is_known(equal(number % divisor, 0))

    def expect_true(self, file: str = "", line: int = 0) -> bool:
        """Take a condition for true."""
        self.env.expect(self.integer())
        return True

    def expect_size(self, file: str = "", line: int = 0) -> bool:
        """Take a number for a size, which is not negative."""
        self.env.expect(COMPARE[">="](self.integer(), as_expr(0)))
        return True

    # Arithmetic.

    add, sub, mul = _arithmetic("+"), _arithmetic("-"), _arithmetic("*")
    mod = _arithmetic("%")
    int_floordiv = floordiv = _arithmetic("//")

    def require_divisor(self) -> None:
        """Decide that a divisor is not 0.

        Raises:
            ZeroDivisionError: it is.
        """
        if self.pytype is int and self.env.decide(equal(self.integer(), 0)):
            raise ZeroDivisionError("integer division or modulo by zero")

    def truediv(self, other: "SymNode") -> "SymNode":
        """self / other; that an integer which the call gives is not 0 is decided, of others it is checked.

        Raises:
            ZeroDivisionError: it is.
        """
        divisor = other.expr
        if isinstance(divisor, Real) and divisor.op == "float":
            (divisor,) = divisor.args
        if isinstance(divisor, Expr) and not self.env.is_backed(divisor):
            self.env.expect(not_equal(divisor, 0))
        elif isinstance(divisor, Expr) and self.env.decide(equal(divisor, 0)):
            raise ZeroDivisionError("division by zero")
        return _float("/")(self, other)

    int_truediv = float_truediv = truediv
    float_pow = _float("**")

    def pow_by_natural(self, other: "SymNode") -> "SymNode":
        """self ** other for integers; the exponent is specialised."""
        return self.wrap_int(self.integer() ** self.env.specialize(other.integer()))

    def pow(self, other: "SymNode") -> "SymNode":
        """Return a power; torch's C++ code takes square roots with it."""
        is_float = self.pytype is float or other.pytype is float
        return self.float_pow(other) if is_float else self.pow_by_natural(other)

    def neg(self) -> "SymNode":
        """-self."""
        if self.pytype is float:
            return SymNode(Real("*", (self.expr, -1.0)), self.env, float)
        return self.wrap_int(-self.integer())

    def abs(self) -> "SymNode":
        """The magnitude."""
        if self.pytype is float:
            return SymNode(Real("abs", (self.expr,)), self.env, float)
        return self.wrap_int(maximum(self.integer(), -self.integer()))

    def pos(self) -> "SymNode":
        """+self."""
        return self

    def sym_float(self) -> "SymNode":
        """The number as a float."""
        return self if self.pytype is float else SymNode(Real("float", (self.expr,)), self.env, float)

    sym_sqrt = _sym_sqrt = _float("sqrt")
    sym_sin = _sym_sin = _float("sin")
    sym_cos = _sym_cos = _float("cos")

    def of_math(self, name: str) -> "SymNode":
        """Return what a function of module math gives (`OF_MATH`)."""
        return _float(name)(self)

    def floor(self) -> "SymNode":
        """The greatest integer that is not larger; exact quotients stay symbolic."""
        found = self.env.exact_ratio(self.expr)
        return self._whole("floor") if found is None else self.wrap_int(found.numerator // found.denominator)

    def ceil(self) -> "SymNode":
        """The least integer that is not smaller; exact quotients stay symbolic."""
        found = self.env.exact_ratio(self.expr)
        return (
            self._whole("ceil") if found is None else self.wrap_int(-(-found.numerator // found.denominator))
        )

    def trunc(self) -> "SymNode":
        """Towards zero; of an exact quotient the sign is decided."""
        found = self.env.exact_ratio(self.expr)
        if found is None:
            return self._whole("trunc")
        return self.floor() if self.env.decide(COMPARE[">="](found.numerator, as_expr(0))) else self.ceil()

    def _whole(self, op: "str") -> "SymNode":
        assert isinstance(self.expr, Real), f"{self} is whole"
        if not self.env.decide_real("<", Real("abs", (self.expr,)), math.inf):
            return self.wrap_int(int(self.guard_float()))
        return self.wrap_int(self.env.as_integer(op, self.expr))

    def round(self, ndigits: int | None = None) -> "SymNode":
        """The nearest number; the float is specialised."""
        value = round(self.guard_float(), ndigits)
        return self.wrap_int(value) if isinstance(value, int) else self.wrap_float(value)

    def is_integer(self) -> "SymNode":
        """Whether a float is whole; it is specialised."""
        return self.wrap_bool(self.guard_float().is_integer())

    # Comparisons and conditions.

    eq, ne = _comparison("=="), _comparison("!=")
    lt, le, gt, ge = map(_comparison, ("<", "<=", ">", ">="))

    def sym_and(self, other: "SymNode") -> "SymNode":
        """Both conditions."""
        return self.wrap_bool(both(self.integer(), other.integer()))

    def sym_or(self, other: "SymNode") -> "SymNode":
        """One of the conditions."""
        return self.wrap_bool(either(self.integer(), other.integer()))

    and_, or_ = sym_and, sym_or

    def sym_not(self) -> "SymNode":
        """The opposite."""
        return self.wrap_bool(negate(self.integer()))

    sym_min, sym_max = _arithmetic("min", minimum), _arithmetic("max", maximum)

    def sym_ite(self, yes: "SymNode", no: "SymNode") -> "SymNode":
        """One of two numbers, decided."""
        return yes if self.guard_bool() else no

    def sym_sum(self, parts: Sequence[object]) -> "SymNode":
        """The sum of all."""
        return self.wrap_int(sum((expr_of(part) for part in parts), as_expr(0)))

    # Layouts, asked by torch when it makes a tensor with symbolic sizes.

    is_contiguous = _layout(layout.is_contiguous)
    is_channels_last_contiguous_2d = _layout(layout.is_channels_last, 4)
    is_channels_last_contiguous_3d = _layout(layout.is_channels_last, 5)
    is_channels_last_strides_2d = _layout(layout.is_channels_last_like, 4)
    is_channels_last_strides_3d = _layout(layout.is_channels_last_like, 5)
    is_non_overlapping_and_dense = _layout(layout.is_dense)

    str = __str__


#: The node of a SymInt, SymFloat or SymBool; torch declares no type for it.
node_of: Final[Callable[[Symbolic], SymNode]] = attrgetter("node")


def _exprs(nodes: Sequence[SymNode]) -> tuple[Expr, ...]:
    return tuple(expr_of(node) for node in nodes)


def expr_of(number: object) -> Expr:
    """Return an int, SymInt or node of one as an expression."""
    if isinstance(number, torch.SymInt):
        number = node_of(number)
    if isinstance(number, SymNode):
        return number.integer()
    assert isinstance(number, int), number
    return as_expr(number)


def symint(e: Expr, env: ShapeEnv) -> int | torch.SymInt:
    """Return an integer as torch takes it: a plain one where it is known, else a SymInt."""
    return e.value if e.is_const else torch.SymInt(SymNode(e, env, int))


def sym(e: Expr | Real, env: ShapeEnv) -> int | Symbolic:
    """Return a number as torch takes it: a plain one where it is known, else a SymInt, SymBool, SymFloat."""
    if isinstance(e, Real):
        return torch.SymFloat(SymNode(e, env, float))
    if e.is_const:
        return e.value
    if isinstance(e, BoolExpr):
        return torch.SymBool(SymNode(e, env, bool))
    return symint(e, env)


def plain(number: object) -> object:
    """Return a SymInt or SymBool as an Expr, a SymFloat as a Real; other objects as they are."""
    if isinstance(number, torch.SymInt | torch.SymBool | torch.SymFloat):
        return node_of(number).expr
    return number
