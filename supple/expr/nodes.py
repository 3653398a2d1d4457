"""The nodes of integer expressions: immutable and interned, so structural equality is `is`.

Owns the kinds, the table that makes equal nodes one object, and the total order on them. It must not know how
a canonical form is found: the operators go through the table `construct`, which `build` fills. A node made
by calling its class is interned as given; only the constructors of `build` return canonical forms.

The numbers: every node but the booleans is a polynomial `constant + sum(coefficient * monomial)` over
atoms. An atom is a Symbol, FloorDiv, Mod, Min or Max; a monomial is an atom or a Mul with coefficient 1.

The table refers to nodes weakly: a node lives as long as somebody has it, and its operands live with it.
"""

import threading
import weakref
from collections.abc import Callable
from typing import Any, ClassVar, Final, NoReturn, Self, TypeAlias

from supple.base.rules import Rules

SortKey: TypeAlias = tuple[Any, ...]

_INTERNED: Final[weakref.WeakValueDictionary[tuple[object, ...], Any]] = weakref.WeakValueDictionary()
_LOCK: Final = threading.RLock()
_set: Final = object.__setattr__


class Expr:
    """An interned integer or boolean expression. `is` is equality, the hash is the identity's.

    Attributes:
        args: the operands as expressions; a Mul repeats an atom as often as its power.
        sort_key: nested tuple; orders all expressions the same way in every process.
        constant: the integer that is added (numbers only).
        terms: (monomial, coefficient) pairs in the order of the monomials, no 0 coefficients (numbers only).
        sign: of the operator in Python, for kinds with operands.
        is_const: whether this is a Const or a Truth.
    """

    __slots__ = ("__weakref__", "args", "constant", "sort_key", "terms")

    sign: ClassVar[str] = ""
    is_const: ClassVar[bool] = False
    args: "tuple[Expr, ...]"
    constant: int
    sort_key: SortKey
    terms: "tuple[tuple[Expr, int], ...]"

    @property
    def value(self) -> int:
        """The integer (or bool) of a constant.

        Raises:
            TypeError: the expression is not a constant.
        """
        raise TypeError(f"{self} is not a constant")

    def __add__(self, other: "Expr | int") -> "Expr":
        return construct[Add](self, other) if _is_operand(other) else NotImplemented

    def __radd__(self, other: int) -> "Expr":
        return construct[Add](other, self) if _is_operand(other) else NotImplemented

    def __sub__(self, other: "Expr | int") -> "Expr":
        return construct[Add](self, construct[Mul](-1, other)) if _is_operand(other) else NotImplemented

    def __rsub__(self, other: int) -> "Expr":
        return construct[Add](other, construct[Mul](-1, self)) if _is_operand(other) else NotImplemented

    def __mul__(self, other: "Expr | int") -> "Expr":
        return construct[Mul](self, other) if _is_operand(other) else NotImplemented

    def __rmul__(self, other: int) -> "Expr":
        return construct[Mul](other, self) if _is_operand(other) else NotImplemented

    def __floordiv__(self, other: "Expr | int") -> "Expr":
        return construct[FloorDiv](self, other) if _is_operand(other) else NotImplemented

    def __rfloordiv__(self, other: int) -> "Expr":
        return construct[FloorDiv](other, self) if _is_operand(other) else NotImplemented

    def __mod__(self, other: "Expr | int") -> "Expr":
        return construct[Mod](self, other) if _is_operand(other) else NotImplemented

    def __rmod__(self, other: int) -> "Expr":
        return construct[Mod](other, self) if _is_operand(other) else NotImplemented

    def __pow__(self, exponent: int) -> "Expr":
        return construct["power"](self, exponent) if _is_operand(exponent) else NotImplemented

    def __neg__(self) -> "Expr":
        return construct[Mul](-1, self)

    def __pos__(self) -> "Expr":
        return self

    def __bool__(self) -> NoReturn:
        raise TypeError(f"the truth of the expression {self} is not defined; test it with `is`")

    def __repr__(self) -> str:
        return presenters[Expr](self)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"an expression is immutable; cannot set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"an expression is immutable; cannot delete {name!r}")

    def __copy__(self) -> "Expr":
        return self

    def __deepcopy__(self, memo: object) -> "Expr":
        return self

    def __reduce__(self) -> "tuple[type[Expr], tuple[object, ...]]":
        return type(self), self.args


Operand: TypeAlias = Expr | int


def _is_operand(value: object) -> bool:
    """Tell whether an operator takes `value`; other types get their chance with the reflected operator."""
    return isinstance(value, (Expr, int))


construct: Final[Rules[Callable[..., Expr]]] = Rules("construct expression")
presenters: Final[Rules[Callable[[Expr], str]]] = Rules("present expression")


def sort_key(e: Expr) -> SortKey:
    """Return the key of the total order; the same in every process, whatever was built before."""
    return e.sort_key


def _interned(key: tuple[object, ...], kind: type[Expr], *, is_atom: bool = False, **fields: object) -> Any:
    """Make a node and return the one that the table keeps; of several threads one wins.

    The polynomial of an atom is the atom itself.
    """
    node = object.__new__(kind)
    for name, value in fields.items():
        _set(node, name, value)
    if is_atom:
        _set(node, "constant", 0)
        _set(node, "terms", ((node, 1),))
    with _LOCK:
        return _INTERNED.setdefault(key, node)


class Const(Expr):
    """An integer."""

    __slots__ = ()
    is_const = True

    def __new__(cls, value: int) -> "Const":
        """Return the one node with these operands."""
        key = (cls, value)
        found = _INTERNED.get(key)
        if found is not None:
            return found
        return _interned(key, cls, args=(), constant=int(value), terms=(), sort_key=(0, 0, int(value)))

    @property
    def value(self) -> int:
        """The integer."""
        return self.constant

    def __reduce__(self) -> tuple[type[Expr], tuple[object, ...]]:
        return Const, (self.constant,)


class Symbol(Expr):
    """A named integer between `minimum` and `maximum` inclusive; None is unbounded."""

    __slots__ = ("maximum", "minimum", "name")

    name: str
    minimum: int | None
    maximum: int | None

    def __new__(cls, name: str, minimum: int | None, maximum: int | None) -> "Symbol":
        """Return the one node with these operands."""
        key = (cls, name, minimum, maximum)
        found = _INTERNED.get(key)
        if found is not None:
            return found
        return _interned(
            key,
            cls,
            is_atom=True,
            args=(),
            name=name,
            minimum=minimum,
            maximum=maximum,
            sort_key=(-1, 1, *_natural(name), minimum is None, minimum or 0, maximum is None, maximum or 0),
        )

    def __reduce__(self) -> tuple[type[Expr], tuple[object, ...]]:
        return Symbol, (self.name, self.minimum, self.maximum)


def _natural(name: str) -> tuple[str, int, str]:
    """Return a key that puts s2 before s10."""
    prefix = name.rstrip("0123456789")
    return prefix, int(name[len(prefix) :] or -1), name


class Mul(Expr):
    """`coefficient * atom ** power * ...`; not a lone atom, not a constant.

    Attributes:
        coefficient: not 0.
        factors: (atom, power) pairs in the order of the atoms, powers at least 1.
    """

    __slots__ = ("coefficient", "factors")
    sign = "*"

    coefficient: int
    factors: tuple[tuple[Expr, int], ...]

    def __new__(cls, coefficient: int, factors: tuple[tuple[Expr, int], ...]) -> "Mul":
        """Return the one node with these operands."""
        key = (cls, coefficient, factors)
        found: Mul | None = _INTERNED.get(key)
        if found is not None:
            return found
        atoms = tuple(atom for atom, power in factors for _ in range(power))
        keys = tuple((atom.sort_key, power) for atom, power in factors)
        known: dict[str, Any] = {"coefficient": coefficient, "factors": factors}
        order = (-len(atoms), 6, keys, coefficient)
        if coefficient == 1:
            return _interned(key, cls, is_atom=True, args=atoms, sort_key=order, **known)
        terms, args = ((monomial(factors), coefficient),), (Const(coefficient), *atoms)
        return _interned(key, cls, args=args, constant=0, terms=terms, sort_key=order, **known)

    def __reduce__(self) -> tuple[type[Expr], tuple[object, ...]]:
        return Mul, (self.coefficient, self.factors)


def monomial(factors: tuple[tuple[Expr, int], ...]) -> Expr:
    """Return the product of `factors` (sorted, not empty) with coefficient 1: the atom, or a Mul."""
    if len(factors) == 1 and factors[0][1] == 1:
        return factors[0][0]
    return Mul(1, factors)


def factors_of(mono: Expr) -> tuple[tuple[Expr, int], ...]:
    """Return the (atom, power) pairs of a monomial."""
    return mono.factors if type(mono) is Mul else ((mono, 1),)


def scaled(coefficient: int, mono: Expr) -> Expr:
    """Return `coefficient * mono` for a monomial; the coefficient is not 0."""
    return mono if coefficient == 1 else Mul(coefficient, factors_of(mono))


class Add(Expr):
    """`constant + sum(coefficient * monomial)`: two summands at least."""

    __slots__ = ()
    sign = "+"

    def __new__(cls, constant: int, terms: tuple[tuple[Expr, int], ...]) -> "Add":
        """Return the one node with these operands."""
        key = (cls, constant, terms)
        found: Add | None = _INTERNED.get(key)
        if found is not None:
            return found
        args = tuple([scaled(coefficient, mono) for mono, coefficient in terms])
        return _interned(
            key,
            cls,
            args=(*args, Const(constant)) if constant else args,
            constant=constant,
            terms=terms,
            sort_key=(1, 7, tuple([(mono.sort_key, coefficient) for mono, coefficient in terms]), constant),
        )

    def __reduce__(self) -> tuple[type[Expr], tuple[object, ...]]:
        return Add, (self.constant, self.terms)


class Operation(Expr):
    """Something of operands, in their order. `rank` orders the kinds; an atom is a number."""

    __slots__ = ()
    rank: ClassVar[int]
    is_atom: ClassVar[bool]

    def __new__(cls, *args: Expr) -> Self:
        """Return the one node with these operands."""
        key = (cls, args)
        found: Self | None = _INTERNED.get(key)
        if found is not None:
            return found
        order = (-1 if cls.is_atom else 2, cls.rank, len(args), tuple([arg.sort_key for arg in args]))
        return _interned(key, cls, is_atom=cls.is_atom, args=args, sort_key=order)


class Function(Operation):
    """An atom over operands."""

    __slots__ = ()
    is_atom = True


class FloorDiv(Function):
    """`args[0] // args[1]`, rounded down as in Python."""

    __slots__ = ()
    rank, sign = 2, "//"


class Mod(Function):
    """`args[0] % args[1]`, with the sign of the divisor as in Python."""

    __slots__ = ()
    rank, sign = 3, "%"


class Min(Function):
    """The least of its operands."""

    __slots__ = ()
    rank, sign = 4, "min"


class Max(Function):
    """The greatest of its operands."""

    __slots__ = ()
    rank, sign = 5, "max"


class BoolExpr(Operation):
    """An expression that is true or false; it has no place in arithmetic."""

    __slots__ = ()
    is_atom = False


class Truth(BoolExpr):
    """True or False."""

    __slots__ = ("truth",)
    is_const = True

    truth: bool

    def __new__(cls, value: bool) -> "Truth":
        """Return the one node with these operands."""
        key = (cls, value)
        found = _INTERNED.get(key)
        if found is not None:
            return found
        return _interned(key, cls, args=(), truth=bool(value), sort_key=(2, 8, int(value)))

    @property
    def value(self) -> bool:
        """The bool."""
        return self.truth

    def __reduce__(self) -> tuple[type[Expr], tuple[object, ...]]:
        return Truth, (self.truth,)


class Eq(BoolExpr):
    """`args[0] == args[1]`."""

    __slots__ = ()
    rank, sign = 9, "=="


class Ne(BoolExpr):
    """`args[0] != args[1]`."""

    __slots__ = ()
    rank, sign = 10, "!="


class Lt(BoolExpr):
    """`args[0] < args[1]`."""

    __slots__ = ()
    rank, sign = 11, "<"


class Le(BoolExpr):
    """`args[0] <= args[1]`."""

    __slots__ = ()
    rank, sign = 12, "<="


class And(BoolExpr):
    """All of its operands are true."""

    __slots__ = ()
    rank, sign = 13, "and"


class Or(BoolExpr):
    """One of its operands is true."""

    __slots__ = ()
    rank, sign = 14, "or"


TRUE: Final = Truth(True)
FALSE: Final = Truth(False)
KINDS: Final = {kind.sign: kind for kind in (Add, Mul, FloorDiv, Mod, Min, Max, Eq, Ne, Lt, Le, And, Or)}
"""The kinds with operands."""
