"""The history of a set: calls that make another one with the same members in the same places of its table.

The order of a set is that of its table, which depends on how it was made: on its size, and on members that
went. So residual code makes the calls of the program again.
"""

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Given:
    """A set that was there before the call.

    Attributes:
        source: where residual code loads it.
    """

    source: Hashable


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """The last call that made or changed a set, and those before it.

    Attributes:
        before: the set that the call changes; None where it makes one.
        operands: histories stand for other sets; `before` for the set itself.
    """

    before: "History | Given | None"
    function: Callable[..., object]
    operands: tuple[object, ...] = ()


_NONE: Final[Mapping[Given, Collection[object]]] = {}


def givens(history: History | Given) -> list[Given]:
    """Return the sets from before the call that a history asks for, each once."""
    found: dict[Given, None] = {}
    seen: set[int] = set()
    pending: list[object] = [history]
    while pending:
        one = pending.pop()
        if isinstance(one, Given):
            found[one] = None
        elif isinstance(one, History) and id(one) not in seen:
            seen.add(id(one))
            pending += [one.before, *one.operands]
    return list(found)


def replay(history: History | Given, given: Mapping[Given, Collection[object]] = _NONE) -> Collection[object]:
    """Return a set made by the calls of a history; one that is given as it is."""
    return _Replay(given).made(history)


def replay_onto(
    target: set[object], history: History, given: Mapping[Given, Collection[object]] = _NONE
) -> None:
    """Make the calls of a history that changed a set, on a given one, or on a new one of a class."""
    _Replay(given).change(target, history)


class _Replay:
    """One replay; what is asked for twice, as an operand, is made once."""

    def __init__(self, given: Mapping[Given, Collection[object]]) -> None:
        self._given = given
        self._known: dict[int, object] = {}

    def made(self, history: History | Given) -> Collection[object]:
        steps = _steps(history)
        first = steps.pop()
        if isinstance(first, Given):
            assert not steps, "a set that is given is changed in its place"
            return self._given[first]
        made = first.function(*map(self._operand, first.operands))
        self._make(made, steps)
        return made  # pyright: ignore[reportReturnType]  # a function that makes a set

    def change(self, target: set[object], history: History) -> None:
        steps = _steps(history)
        first = steps.pop()
        if isinstance(first, History) and first.operands:
            set[object].update(target, self.made(first))
        self._make(target, steps)

    def _make(self, target: object, steps: "list[History | Given]") -> None:
        for step in reversed(steps):
            assert isinstance(step, History)
            before = step.before
            step.function(target, *(target if one is before else self._operand(one) for one in step.operands))

    def _operand(self, operand: object) -> object:
        if not isinstance(operand, History | Given):
            return operand
        if id(operand) not in self._known:
            self._known[id(operand)] = self.made(operand)
        return self._known[id(operand)]


def _steps(history: History | Given) -> "list[History | Given]":
    """Return a history from its last call to its first."""
    steps: list[History | Given] = [history]
    while isinstance(history, History) and history.before is not None:
        history = history.before
        steps.append(history)
    return steps
