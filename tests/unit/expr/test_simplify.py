"""Each rule of the table on examples: the rule itself, the constructor that applies it, a proof by z3."""

from typing import Final

import pytest
import z3

from supple.expr import (
    Add,
    Eq,
    Expr,
    FloorDiv,
    Le,
    Lt,
    Max,
    Min,
    Mod,
    Mul,
    Ne,
    free_symbols,
    parse,
    simplify,
)
from supple.expr.nodes import construct
from supple.expr.simplify import simplifications
from tests.property.expr_z3 import MEANING, solver_of, term

# (kind, rule) -> (operands, result) of examples; `k` is always k[0:64], `h` is h[0:12], `d` is d[1:].
EXAMPLES: Final[dict[tuple[type[Expr], str], list[tuple[tuple[str, ...], str]]]] = {
    (FloorDiv, "constants"): [(("-7", "2"), "-4"), (("7", "-2"), "-4"), (("0", "5"), "0")],
    (Mod, "constants"): [(("-7", "2"), "1"), (("7", "-2"), "-1"), (("6", "3"), "0")],
    (FloorDiv, "one"): [(("x", "1"), "x")],
    (Mod, "one"): [(("x", "1"), "0")],
    (FloorDiv, "negative divisor"): [(("x", "-4"), "(-x) // 4"), (("x", "m[-5:0]"), "(-x) // (-m[-5:0])")],
    (Mod, "negative divisor"): [(("x", "-4"), "-((-x) % 4)"), (("x", "m[-5:0]"), "-((-x) % (-m[-5:0]))")],
    (FloorDiv, "range"): [
        (("k", "64"), "0"),
        (("k - 64", "64"), "-1"),
        (("64*h + k", "768"), "0"),
        (("h", "n[12:]"), "0"),
        (("d - 1", "d"), "0"),
        (("0", "d"), "0"),
        (("0", "m[-5:0]"), "0"),
    ],
    (Mod, "range"): [
        (("k", "64"), "k"),
        (("63 - k", "64"), "63 - k"),
        (("k - 64", "64"), "k"),
        (("h", "n[12:]"), "h"),
        (("d - 1", "d"), "d - 1"),
    ],
    (FloorDiv, "multiples"): [
        (("64*x + y", "64"), "x + y // 64"),
        (("5*x", "3"), "x + (2*x) // 3"),
        (("-5*x", "3"), "-x + (-2*x) // 3"),
        (("x - 1", "4"), "(x + 3) // 4 - 1"),
        (("d*x + y", "d"), "x + y // d"),
        (("x*d + x + y", "d + 1"), "x + y // (d + 1)"),
        (("2*d**2 + y", "d"), "2*d + y // d"),
        (("d", "d"), "1"),
    ],
    (Mod, "multiples"): [
        (("64*x + y", "64"), "y % 64"),
        (("5*x", "3"), "(2*x) % 3"),
        (("x - 1", "4"), "(x + 3) % 4"),
        (("d*x + y", "d"), "y % d"),
        (("x*d + x + y", "d + 1"), "y % (d + 1)"),
        (("d", "d"), "0"),
    ],
    (FloorDiv, "common factor"): [(("d*x", "d*y"), "x // y"), (("d**2*x", "d**3*x"), "x // (d*x)")],
    (Mod, "common factor"): [(("d*x", "d*y"), "d*(x % y)")],
    (FloorDiv, "low part"): [
        (("128*x + 64*y + k", "256"), "(2*x + y) // 4"),
        (("6*x + 3", "8"), "(3*x + 1) // 4"),
        (("64*x + k", "64*d"), "x // d"),
        (("4*x", "8*y"), "x // (2*y)"),
    ],
    (Mod, "low part"): [
        (("128*x + 64*y + k", "256"), "64*((2*x + y) % 4) + k"),
        (("6*x + 3", "8"), "2*((3*x + 1) % 4) + 1"),
        (("64*x + k", "64*d"), "64*(x % d) + k"),
        (("4*x", "8*y"), "4*(x % (2*y))"),
    ],
    (FloorDiv, "quotient of a quotient"): [
        (("x // 4", "3"), "x // 12"),
        (("x // 4 + 1", "2"), "(x + 4) // 8"),
        (("x // -4", "3"), "(-x) // 12"),
        (("x // y", "d"), "x // (y*d)"),
    ],
    (FloorDiv, "quotient of a remainder"): [
        (("x % 12", "4"), "(x // 4) % 3"),
        (("x % (y*d)", "y"), "(x // y) % d"),
    ],
    (Mod, "remainder of a remainder"): [
        (("x % 12", "4"), "x % 4"),
        (("x % 12 + y", "4"), "(x + y) % 4"),
        (("3*(x % 12) + y", "9"), "(3*x + y) % 9"),
        (("x % (5*d) + y", "d"), "(x + y) % d"),
    ],
    (Add, "quotient and remainder"): [
        (("7*(x // 7) + x % 7",), "x"),
        (("35*(x // 7) + 5*(x % 7) + y",), "5*x + y"),
        (("y*d*(x // d) + y*(x % d) - 1",), "x*y - 1"),
        (("12*(x // 12) + 4*((x // 4) % 3)",), "4*(x // 4)"),
    ],
    (Add, "whole and quotient"): [
        (("x - 64*(x // 64)",), "x % 64"),
        (("3*y*x - 3*d*y*(x // d)",), "3*y*(x % d)"),
        (("x + y - 4*((x + y) // 4) + z",), "(x + y) % 4 + z"),
    ],
    (Add, "two remainders"): [
        (("4*((x // 4) % 3) + x % 4",), "x % 12"),
        (("8*((x // 4) % 3) + 2*(x % 4) + y",), "2*(x % 12) + y"),
        (("d*((x // d) % 3) + x % d",), "x % (3*d)"),
    ],
    (Min, "interval"): [(("k", "64", "x"), "min(k, x)"), (("h", "n[12:]"), "h")],
    (Max, "interval"): [(("k", "0", "x"), "max(k, x)"), (("h", "n[12:]"), "n[12:]")],
    (Min, "difference"): [(("x + 1", "x"), "x"), (("x + d", "x", "y"), "min(x, y)")],
    (Max, "difference"): [(("x + 1", "x"), "x + 1"), (("x + d", "x", "y"), "max(x + d, y)")],
    (Min, "absorption"): [(("x", "max(x, y)"), "x"), (("x", "z", "max(x, y)"), "min(x, z)")],
    (Max, "absorption"): [(("x", "min(x, y)"), "x")],
    (Eq, "difference"): [
        (("x", "x"), "True"),
        (("k", "64"), "False"),
        (("2*x", "7"), "False"),
        (("6*x", "4*y"), "3*x == 2*y"),
        (("5", "x"), "x == 5"),
        (("-x", "y"), "x + y == 0"),
        (("d*x", "d*y"), "x == y"),
        (("(s[0:] + 1) // 2", "0"), "s[0:] == 0"),
        (("64*(s[0:] // 2)", "0"), "s[0:] <= 1"),
        (("min(s[0:], 1)", "1"), "1 <= s[0:]"),
        (("d*g[2:]", "d"), "False"),
    ],
    (Ne, "difference"): [
        (("x", "x"), "False"),
        (("2*x", "7"), "True"),
        (("2*x + 2", "4"), "x != 1"),
        (("k", "63"), "k <= 62"),
        (("d", "1"), "2 <= d"),
    ],
    (Lt, "difference"): [
        (("k", "64"), "True"),
        (("64", "k"), "False"),
        (("2*x", "5"), "x <= 2"),
        (("2*x", "2*y"), "x < y"),
        (("x", "y + 1"), "x <= y"),
        (("0", "x"), "1 <= x"),
        (("d*x", "d*y"), "x < y"),
        (("s[0:]", "1"), "s[0:] == 0"),
        (("g[2:]*d", "4*g[2:]*d"), "True"),
    ],
    (Le, "difference"): [
        (("k", "63"), "True"),
        (("64", "k"), "False"),
        (("2*x", "5"), "x <= 2"),
        (("2*x + 1", "2*y"), "x < y"),
        (("5", "3*x"), "2 <= x"),
        (("y", "x // 3"), "3*y <= x"),
        (("(x + 1) // 2", "y"), "x <= 2*y"),
        (("x // d", "y"), "x < d*y + d"),
        (("z", "min(x, y)"), "z <= x and z <= y"),
        (("min(x, y)", "z"), "x <= z or y <= z"),
        (("max(x, y)", "z"), "x <= z and y <= z"),
    ],
}
RANGES: Final = {"k": "k[0:64]", "h": "h[0:12]", "d": "d[1:]"}
CASES: Final = [(*key, args, result) for key, examples in EXAMPLES.items() for args, result in examples]
CASE_NAMES: Final = [f"{kind.__name__}, {name}: {', '.join(args)}" for kind, name, args, _ in CASES]
every_case: Final = pytest.mark.parametrize(("kind", "name", "args", "result"), CASES, ids=CASE_NAMES)


def read(line: str) -> Expr:
    """Parse a line with the ranges of k, h and d put in."""
    return parse("".join(RANGES.get(part, part) for part in _words(line)))


def _words(line: str) -> list[str]:
    """Split a line so that names are words of their own."""
    words, name = [], ""
    for character in line:
        if character.isalpha():
            name += character
            continue
        words.extend((name, character))
        name = ""
    return [*words, name]


def test_every_rule_has_an_example() -> None:
    assert set(EXAMPLES) == set(simplifications)


@every_case
def test_rule_rewrites_its_example(kind: type[Expr], name: str, args: tuple[str, ...], result: str) -> None:
    found = simplifications[kind, name](*map(read, args))
    assert found is not None, f"{name} does not apply to {args}"
    assert simplify(found) is read(result)


@every_case
def test_constructor_applies_the_rule(
    kind: type[Expr], name: str, args: tuple[str, ...], result: str
) -> None:
    e = simplify(read(args[0])) if kind is Add else construct[kind](*map(read, args))
    assert e is read(result)


# Where a rule must stay away.


@pytest.mark.parametrize("kind", [FloorDiv, Mod])
@pytest.mark.parametrize(
    ("x", "d"),
    [
        ("x", "x"),
        ("0", "x"),
        ("x*y", "y"),
        ("x*y", "x*y + x"),
        ("k", "63"),
        ("h", "k"),
        ("x", "0"),
        ("64*x + k", "63*y"),
        ("x + 1", "y"),
    ],
)
def test_division_that_may_fail_or_is_not_decided_stays(kind: type[Expr], x: str, d: str) -> None:
    numerator, divisor = read(x), read(d)
    assert construct[kind](numerator, divisor) is kind(numerator, divisor)


@pytest.mark.parametrize(
    ("kind", "x", "d"),
    [
        (FloorDiv, "x // 4", "y"),
        (FloorDiv, "x % 12", "5"),
        (Mod, "x % 12", "5"),
        (FloorDiv, "x % (y*z)", "y"),
        (FloorDiv, "3*x + k", "12"),
        (Mod, "3*x + k", "12"),
        (FloorDiv, "32*x + k", "64"),
        (Mod, "x % (4*y)", "4"),
        (FloorDiv, "64*x + k", "64*y"),
        (Mod, "64*x + k", "64*y"),
    ],
)
def test_nested_division_without_its_side_condition_keeps_both(kind: type[Expr], x: str, d: str) -> None:
    e = construct[kind](read(x), read(d))
    assert e is kind(read(x), read(d))


@pytest.mark.parametrize(("kind", "other"), [(Min, "w[62:101]"), (Max, "w[-50:2]"), (Min, "x"), (Max, "x")])
def test_operands_that_may_win_stay(kind: type[Expr], other: str) -> None:
    assert construct[kind](read("k"), read(other)).args == (read("k"), read(other))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x % d + d*(x // (2*d))", "x % d + d*(x // (2*d))"),
        ("8*(x // 7) + x % 7", "8*(x // 7) + x % 7"),
        ("4*((x // 5) % 3) + x % 4", "4*((x // 5) % 3) + x % 4"),
        ("y*(x // y) + x % y", "y*(x // y) + x % y"),
        ("8*((x // 4) % 3) + x % 4", "8*((x // 4) % 3) + x % 4"),
        ("d*((x // d) % y) + x % d", "d*((x // d) % y) + x % d"),
        ("x - y*(x // y)", "x - y*(x // y)"),
    ],
)
def test_sum_of_strangers_stays(line: str, expected: str) -> None:
    assert simplify(read(line)) is read(expected)


# A second opinion: z3 proves the examples for all integers where the divisors are constants.


def _is_linear(e: Expr) -> bool:
    """Tell whether `e` has no product of symbols, and no symbolic divisor."""
    if type(e) in (FloorDiv, Mod) and not e.args[1].is_const:
        return False
    if type(e) is Mul and sum(not arg.is_const for arg in e.args) > 1:
        return False
    return all(map(_is_linear, e.args))


def _linear_cases() -> list[object]:
    """Return the examples that z3 decides at once."""
    found = []
    for (kind, _, args, result), case in zip(CASES, CASE_NAMES, strict=True):
        operands = [read(arg) for arg in args]
        symbolic_divisor = kind in (FloorDiv, Mod) and not operands[1].is_const
        if not symbolic_divisor and all(map(_is_linear, (*operands, read(result)))):
            found.append(pytest.param(kind, operands, read(result), id=case))
    return found


@pytest.mark.parametrize(("kind", "operands", "result"), _linear_cases())
def test_z3_proves_the_example(kind: type[Expr], operands: list[Expr], result: Expr) -> None:
    solver = solver_of(frozenset().union(*map(free_symbols, operands)))
    before = term(operands[0]) if kind is Add else MEANING[kind](*map(term, operands))
    solver.add(before != term(result))
    assert solver.check() == z3.unsat
