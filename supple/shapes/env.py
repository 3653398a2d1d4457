"""ShapeEnv: the symbols of one compilation, what is assumed about them, and who asked for it.

A question about sizes has one of three forms. `decide` is the program's own condition: what facts do not
decide is answered as it is for this call (the hint), and becomes a guard. `is_known` is a condition that
helps when it is true and costs nothing when it is not known. `oblivious` is a question of the framework
("is this size 1?"): unknown sizes are taken to be general ones, without a guard, so the code after it must be
right for every size.
"""

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from supple import expr
from supple.base import events
from supple.base.errors import Where
from supple.base.marks import EXPECTED
from supple.expr import Answer, Expr, Facts, Symbol, as_expr, brief, free_symbols, interval, negate, shortened
from supple.expr.python import PYTHON
from supple.expr.real import (
    EXACT,
    Comparison,
    Ratio,
    Real,
    evaluate_real,
    inputs_of,
    ratio,
    symbols_of,
)
from supple.ir.key import UNKEYED
from supple.shapes.errors import LateGuard, Undecided

Stack = tuple[Where, ...]

COMPARE: Final[dict[str, Callable[[Expr, Expr], Expr]]] = {
    "==": expr.equal,
    "!=": expr.not_equal,
    "<": expr.less,
    "<=": expr.less_equal,
    ">": lambda left, right: expr.less(right, left),
    ">=": lambda left, right: expr.less_equal(right, left),
}


def _is_plain(one: Ratio, other: Ratio) -> bool:
    """Tell whether a comparison is one of integers, or of a converted integer and a constant.

    Conversion rounds integers that are larger than the constant of any ratio.
    """
    if not (one.through or other.through):
        return True
    sized, constant = (one, other) if one.through else (other, one)
    return constant.numerator.is_const and sized.through == (sized.numerator,)


@dataclass(frozen=True, slots=True)
class Known:
    """A symbol of this compilation.

    Attributes:
        symbol: a size, stride or integer, with its bounds.
        origin: how the user's program names it: "L['x'].size()[0]"; or the call that made it, unbacked.
        hint: its value in the call that is compiled; None for an unbacked one.
        why: what made it dynamic.
        is_number: the caller passes it, as an integer: no tensor's memory limits it.
    """

    symbol: Symbol
    origin: str
    hint: int | None = field(metadata=UNKEYED)  # what depends on it is guarded, or an estimate of costs
    why: str = field(default="", metadata=UNKEYED)
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class ShapeGuard:
    """A condition on symbols that compiled code relies on.

    Attributes:
        condition: true for the call that is compiled; of floats, a Comparison.
        stack: the user's stack when it was asked, innermost last.
        ours: "file:line in function" of the code of the framework that asked.
        follows: what else is known since: "s0 = 33", "s0 in [3, oo]".
        is_value: the user's line asked for the number itself, and not how it compares.
    """

    condition: Expr | Comparison
    stack: Stack
    ours: str
    follows: tuple[str, ...] = ()
    is_value: bool = False


@dataclass(frozen=True, slots=True)
class Deferred:
    """A condition on unbacked symbols that is checked when the program runs."""

    condition: Expr
    message: str
    stack: Stack = field(metadata=UNKEYED)


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What is known of symbols at one moment, all of it: code that was compiled may rest on each part.

    Attributes:
        symbols: every one, in the order in which they were made.
        facts: that hold of them.
        comparisons: conditions on floats that are guarded.
        floats: the values of float inputs that are guarded, by name.
        unbacked_floats: where floats come from that tensors hold, by name.
        deferred: conditions that the graph checks when it runs.
    """

    symbols: tuple[Known, ...] = ()
    facts: tuple[Expr, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    floats: tuple[tuple[str, float], ...] = ()
    unbacked_floats: tuple[tuple[str, str], ...] = ()
    deferred: tuple[Deferred, ...] = ()


@dataclass(slots=True)
class ShapeEnv:
    """The state; one per compilation.

    Attributes:
        where: returns the user's stack now.
        symbols: by name.
        floats: values, in this call, of the float inputs.
        unbacked_floats: where the floats come from that tensors hold.
        specialized_floats: the float inputs whose value is guarded, with the user's stack that asked for it.
        guards: in the order in which they were asked; none follows from those before it.
        deferred: conditions for run time.
        is_installed: guards are in use; a new one comes too late.
        version: grows with each fact that is learnt, so with each guard of whatever kind.
        answers: what functions of sizes gave under the present facts.
    """

    where: Callable[[], Stack] = tuple
    symbols: dict[str, Known] = field(default_factory=dict[str, Known])
    floats: dict[str, float] = field(default_factory=dict[str, float])
    unbacked_floats: dict[str, str] = field(default_factory=dict[str, str])
    guards: list[ShapeGuard] = field(default_factory=list[ShapeGuard])
    deferred: list[Deferred] = field(default_factory=list[Deferred])
    facts: Facts = field(default_factory=Facts)
    is_installed: bool = False
    version: int = 0
    answers: dict[object, object] = field(default_factory=dict[object, object])
    specialized_floats: dict[str, Stack] = field(default_factory=dict[str, Stack])
    _hints: dict[str, int] = field(default_factory=dict[str, int])

    def create(
        self,
        origin: str,
        hint: int | None,
        *,
        minimum: int | None = 0,
        maximum: int | None = None,
        why: str = "",
        is_number: bool = False,
    ) -> Symbol:
        """Return a new symbol; without a hint it is unbacked (u0, u1, ...), else s0, s1, ..."""
        stem = "u" if hint is None else "s"
        number = sum(name[0] == stem for name in self.symbols)
        made = expr.symbol(f"{stem}{number}", minimum=minimum, maximum=maximum)
        assert isinstance(made, Symbol), f"{origin}: [{minimum}, {maximum}] is one number"
        self.symbols[made.name] = Known(made, origin, hint, why, is_number)
        if hint is not None:
            self._hints[made.name] = hint
        events.emit(events.SymbolCreated(made.name, hint, origin, (minimum, maximum), why, self.where()))
        return made

    def create_float(self, origin: str, hint: float | None, why: str = "") -> Real:
        """Return a float that the caller passes or, without a hint, that a tensor holds at run time."""
        name = f"f{len(self.floats)}" if hint is not None else f"uf{len(self.unbacked_floats)}"
        if hint is None:
            self.unbacked_floats[name] = origin
        else:
            self.floats[name] = hint
        events.emit(events.SymbolCreated(name, hint, origin, (None, None), why, self.where()))
        return Real("input", (name,))

    def is_backed(self, e: Expr | Real) -> bool:
        """Tell whether all symbols and floats have hints."""
        return all(s.name in self._hints for s in symbols_of(e)) and inputs_of(e) <= self.floats.keys()

    def hint(self, e: Expr) -> int:
        """Return the value in the call that is compiled.

        Raises:
            Undecided: a symbol is unbacked.
        """
        try:
            return expr.evaluate(e, self._hints)
        except KeyError:
            raise Undecided(e, self.where(), self.origin_of(e)) from None

    def real_hint(self, real: Real) -> float:
        """Return the value of a float in the call that is compiled."""
        if not self.is_backed(real):
            raise Undecided(real, self.where(), self.origin_of(real))
        return evaluate_real(real, self._hints, self.floats)

    def origin_of(self, e: Expr | Real) -> str:
        """Return where what has no hint in an expression comes from."""
        names = sorted({s.name for s in symbols_of(e)} - self._hints.keys())
        found = [f"{name} = {self.symbols[name].origin}" for name in names if name in self.symbols]
        floats = sorted(inputs_of(e) & self.unbacked_floats.keys())
        return ", ".join([*found, *(f"{name} = {self.unbacked_floats[name]}" for name in floats)])

    @property
    def specialized(self) -> dict[str, float]:
        """The values of the float inputs that are guarded, by name."""
        return {name: self.floats[name] for name in self.specialized_floats}

    def assumptions(self) -> Assumptions:
        """Return what is known now."""
        conditions = (guard.condition for guard in self.guards)
        return Assumptions(
            symbols=tuple(self.symbols.values()),
            facts=self.facts.assumed,
            comparisons=tuple(one for one in conditions if isinstance(one, Comparison)),
            floats=tuple(sorted(self.specialized.items())),
            unbacked_floats=tuple(self.unbacked_floats.items()),
            deferred=tuple(self.deferred),
        )

    def current(self, e: Expr) -> Expr:
        """Return what equals `e` under the facts, in the simplest form that was found."""
        return e if e.is_const else self.facts.known(e)

    def bounds(self, e: Expr) -> expr.Interval:
        """Return an interval that holds `e`."""
        return self.facts.bounds(e)

    def is_known(self, condition: Expr) -> bool:
        """Tell whether the facts show a condition to be true."""
        return condition is expr.TRUE or self.facts.prove(condition).answer is Answer.YES

    def oblivious(self, condition: Expr, otherwise: bool) -> bool:
        """Return what the facts say of a condition, `otherwise` where they say nothing. Never guards."""
        answer = self.facts.prove(condition).answer
        return otherwise if answer is Answer.UNKNOWN else answer is Answer.YES

    def decide(self, condition: Expr) -> bool:
        """Return whether a condition holds; one that the facts leave open is guarded as it is now.

        Raises:
            Undecided: it depends on an unbacked symbol.
            LateGuard: the guards are installed already.
        """
        answer = self.facts.prove(condition).answer
        if answer is not Answer.UNKNOWN:
            return answer is Answer.YES
        value = bool(self.hint(condition))
        self._guard(condition if value else negate(condition))
        return value

    def are_general(self) -> bool:
        """Tell whether all sizes that the call brings are at least 2, as rules take them to be; guarded."""
        backed = [known.symbol for known in self.symbols.values() if known.hint is not None]
        return all(self.decide(expr.less_equal(2, one)) for one in backed)

    def specialize(self, e: Expr) -> int:
        """Return the value of `e` in this call, guarded."""
        now = self.current(e)
        if now.is_const:
            return now.value
        value = self.hint(e)
        self._guard(expr.equal(now, value), is_value=True)
        return value

    def decide_real(self, op: str, left: object, right: object) -> bool:
        """Return `left op right` for numbers of which one is a Real; guarded.

        Where float arithmetic may round, the guard repeats it.
        """
        one, other = ratio(left), ratio(right)
        if one is not None and other is not None:
            crossed = one.numerator * other.denominator, other.numerator * one.denominator
            if _is_plain(one, other) or all(map(self.is_exact, (*crossed, *one.through, *other.through))):
                return self.decide(COMPARE[op](*crossed))
        value = PYTHON[op](self.number_hint(left), self.number_hint(right))
        self._guard_real(Comparison(op, left, right, value))
        return value

    def exact_ratio(self, number: object) -> Ratio | None:
        """Return the quotient of integers that a number is, None where its arithmetic rounds.

        That the integers are small enough for a float is decided, and guarded as it is for this call.
        """
        found = ratio(number)
        return found if found is not None and all(map(self.is_exact, found.through)) else None

    def is_exact(self, e: Expr) -> bool:
        """Decide that float arithmetic with an integer is exact; guarded. No, where that is not known yet."""
        ends = expr.less_equal(e, as_expr(EXACT)), expr.less_equal(as_expr(-EXACT), e)
        return all(map(self.decide if self.is_backed(e) else self.is_known, ends))

    def number_hint(self, number: object) -> float:
        """Return the value of a Real, Expr or plain number in the call that is compiled."""
        match number:
            case Real():
                return self.real_hint(number)
            case Expr():
                return self.hint(number)
            case _:
                assert isinstance(number, int | float), number
                return number

    def as_integer(self, op: str, real: Real) -> int:
        """Return floor, ceil, trunc or round of a float in this call; guarded, the float itself is not."""
        made = Real(op, (real,))
        value = int(self.real_hint(made))
        self._guard_real(Comparison("==", made, value))
        return value

    def _guard_real(self, condition: Comparison) -> None:
        if not condition.names or any(known.condition == condition for known in self.guards):
            return
        self._require_open(condition)
        self._learn()
        guard = ShapeGuard(condition, self.where(), framework_line())
        self.guards.append(guard)
        shown = condition.text(lambda _, operation: shortened(operation))
        events.emit(events.ShapeGuarded(shown, guard.stack, guard.ours, (), ()))

    def specialize_real(self, real: object) -> float:
        """Return the value of a Real in this call; all that it is made of is guarded."""
        if not isinstance(real, Real):
            return self.specialize(real) if isinstance(real, Expr) else real  # pyright: ignore[reportReturnType]
        value = self.real_hint(real)
        for s in sorted(symbols_of(real), key=lambda found: found.name):
            self.specialize(s)
        new = sorted(inputs_of(real) - self.specialized_floats.keys())
        if new:
            self._require_open(real)
            stack = self.where()
            self.specialized_floats |= dict.fromkeys(new, stack)
            self._learn()
            for name in new:
                shown = f"{name} == {self.floats[name]}"
                events.emit(events.ShapeGuarded(shown, stack, framework_line(), (), ()))
        return value

    def expect(self, condition: Expr, message: str = "") -> None:
        """Take a condition for true: guarded where it has hints, else checked when the program runs.

        Raises:
            RuntimeError: it is false, in this call or always.
        """
        answer = self.facts.prove(condition).answer
        if answer is Answer.YES:
            return
        if answer is Answer.NO or (self.is_backed(condition) and not self.hint(condition)):
            raise RuntimeError(message or EXPECTED.format(brief(condition)))
        if self.is_backed(condition):
            self._guard(condition)
            return
        self.deferred.append(Deferred(condition, message, self.where()))
        self.assume(condition)

    def _require_open(self, condition: Expr | Comparison | Real) -> None:
        if self.is_installed:
            raise LateGuard(condition)

    def _learn(self) -> None:
        """Note that a fact was added: answers that were given without it are asked anew."""
        self.version += 1
        self.answers.clear()

    def _guard(self, condition: Expr, *, is_value: bool = False) -> None:
        self._require_open(condition)
        before = {s: interval(self.current(s)) for s in free_symbols(condition)}
        self.assume(condition)
        follows: list[str] = []
        for s, old in before.items():
            now = self.current(s)
            if now is not s:
                follows.append(f"{s.name} = {brief(now)}")
            elif (new := self.bounds(s)) != old:
                ends = ("-oo" if new.lo is None else new.lo, "oo" if new.hi is None else new.hi)
                follows.append(f"{s.name} in [{ends[0]}, {ends[1]}]")
        guard = ShapeGuard(condition, self.where(), framework_line(), tuple(follows), is_value)
        self.guards.append(guard)
        hints = tuple((s.name, self._hints.get(s.name)) for s in before)
        shown = brief(condition)
        events.emit(events.ShapeGuarded(shown, guard.stack, guard.ours, guard.follows, hints))

    def assume(self, condition: Expr) -> None:
        """Take a condition for true that needs no check.

        Raises:
            RuntimeError: it is known to be false.
        """
        try:
            self.facts.assume(condition)
            self.facts.assume(_exact(condition))
        except expr.Contradiction:
            raise RuntimeError(f"Expected {brief(condition)}, which is never true") from None
        self._learn()


def _exact(condition: Expr) -> Expr:
    """Return that a division has no remainder, where that follows: that of `reshape` for the size -1.

    Torch's C++ code compares the elements before and behind, and copies where they seem to differ in number.
    """
    ahead = [condition]
    while ahead:
        part = ahead.pop()
        if isinstance(part, expr.Mod) and _implies(condition, part):
            number, divisor = part.args
            return expr.equal(number // divisor * divisor, number)
        ahead += part.args if isinstance(part, expr.BoolExpr) else ()
    return expr.TRUE


def _implies(condition: Expr, remainder: expr.Mod) -> bool:
    """Tell whether no remainder is left where a condition holds: what is divided may equal the divisor."""
    if isinstance(condition, expr.Or):
        return all(_implies(one, remainder) for one in condition.args)
    if isinstance(condition, expr.And):
        return any(_implies(one, remainder) for one in condition.args)
    sides = set(condition.args)
    return isinstance(condition, expr.Eq) and sides in ({remainder, expr.const(0)}, set(remainder.args))


def framework_line() -> str:
    """Return "file:line in function" of the code, outside of the symbolic machinery, that asked."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  # documented, and fast
    while frame is not None and frame.f_code.co_filename.endswith(_MACHINERY):
        frame = frame.f_back
    if frame is None:
        return ""
    code = frame.f_code
    return f"{'/'.join(code.co_filename.split('/')[-3:])}:{frame.f_lineno} in {code.co_name}"


_MACHINERY: Final = (
    "shapes/env.py",
    "shapes/symnode.py",
    "shapes/decide.py",
    "experimental/sym_node.py",
    "torch/__init__.py",
)


class _Active(threading.local):
    env: ShapeEnv | None = None


_ACTIVE: Final = _Active()


def active() -> ShapeEnv | None:
    """Return the environment of the compilation that runs on this thread."""
    return _ACTIVE.env


@contextmanager
def using(env: ShapeEnv) -> Generator[ShapeEnv]:
    """Make `env` the active one."""
    before, _ACTIVE.env = _ACTIVE.env, env
    try:
        yield env
    finally:
        _ACTIVE.env = before
