"""Strategies of expression trees whose meaning does not depend on the engine under test.

A tree is an int, a symbol's name, or a tuple (operator, operand, ...). `value` gives its meaning by plain
Python, `built` hands it to the engine.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from hypothesis import strategies as st

from supple.expr import (
    Expr,
    Symbol,
    as_expr,
    both,
    either,
    equal,
    less,
    less_equal,
    maximum,
    minimum,
    negate,
    not_equal,
    symbol,
)

Tree: TypeAlias = "int | str | tuple[object, ...]"

SYMBOLS: Final[Mapping[str, Symbol]] = {
    s.name: s
    for s in (
        symbol("k", minimum=0, maximum=63),
        symbol("h", minimum=0, maximum=11),
        symbol("n", minimum=2, maximum=9),
        symbol("d", minimum=1),
        symbol("s", minimum=0),
        symbol("m", minimum=-5, maximum=-1),
        symbol("z", minimum=-3, maximum=3),
        symbol("u"),
    )
}
FAR: Final = 200

ENGINE: Final[Mapping[str, Callable[..., object]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "neg": operator.neg,
    "min": minimum,
    "max": maximum,
    "==": equal,
    "!=": not_equal,
    "<": less,
    "<=": less_equal,
    "and": both,
    "or": either,
    "not": negate,
}
PYTHON: Final[Mapping[str, Callable[..., object]]] = {
    **ENGINE,
    "min": min,
    "max": max,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    "and": lambda *args: all(args),
    "or": lambda *args: any(args),
    "not": operator.not_,
}


def value(tree: Tree, env: Mapping[str, int]) -> int:
    """Return the meaning of a tree; ZeroDivisionError where a division by 0 occurs."""
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return env[tree]
    return PYTHON[tree[0]](*[value(part, env) for part in tree[1:]])


def built(tree: Tree) -> Expr:
    """Return the tree as an expression."""
    if isinstance(tree, int):
        return as_expr(tree)
    if isinstance(tree, str):
        return SYMBOLS[tree]
    return ENGINE[tree[0]](*map(built, tree[1:]))


def _tuples(*parts: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return st.tuples(*parts)


names = st.sampled_from(sorted(SYMBOLS))
numbers = st.sampled_from((-64, -12, -7, -3, -2, -1, 0, 1, 2, 3, 4, 6, 7, 8, 12, 16, 63, 64, 768))
leaves = names | numbers
divisors = st.sampled_from(
    (2, 3, 4, 12, 64, 768, -4, "n", "d", "m", ("*", "d", "n"), ("+", "d", 1), ("*", 64, "d"))
)


def _grown(trees: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    """Return one operator more, with a bias to shapes of index arithmetic."""
    return st.one_of(
        _tuples(st.sampled_from(("+", "-", "*")), trees, trees),
        _tuples(st.sampled_from(("//", "%")), trees, divisors),
        _tuples(st.sampled_from(("//", "%")), trees, trees),
        _tuples(st.just("+"), _tuples(st.just("*"), divisors, trees), trees),
        _tuples(st.sampled_from(("min", "max")), trees, trees),
        _tuples(st.just("neg"), trees),
        _split_and_joined(trees),
    )


@st.composite
def _split_and_joined(draw: st.DrawFn, trees: st.SearchStrategy[Tree]) -> Tree:
    """Return `m * (d * (x // d) + x % d)` with the inner sum in one of its longer forms."""
    x, d, b, m = draw(trees), draw(divisors), draw(divisors), draw(leaves)
    low = ("*", m, ("%", x, d))
    digit = ("*", ("*", m, d), ("%", ("//", x, d), b))
    high = ("*", ("*", m, ("*", d, b)), ("//", x, ("*", d, b)))
    whole = ("*", ("*", m, d), ("//", x, d))
    return draw(
        st.sampled_from(
            (("+", low, whole), ("+", digit, low), ("+", high, ("+", digit, low)), ("+", digit, high))
        )
    )


trees = st.recursive(leaves, _grown, max_leaves=10)
comparisons = _tuples(st.sampled_from(("==", "!=", "<", "<=")), trees, trees)
conditions = st.recursive(
    comparisons,
    lambda parts: _tuples(st.sampled_from(("and", "or")), parts, parts) | _tuples(st.just("not"), parts),
    max_leaves=4,
)


def _range(s: Symbol) -> st.SearchStrategy[int]:
    """Return the values of a symbol, small ones more often."""
    lo = -FAR if s.minimum is None else s.minimum
    hi = FAR if s.maximum is None else s.maximum
    return st.integers(lo, hi) | st.integers(lo, min(hi, lo + 3))


environments = st.fixed_dictionaries({name: _range(s) for name, s in SYMBOLS.items()})
