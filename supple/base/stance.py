"""Stances: what a call of a compiled function may do besides running compiled code.

One holds for the process, or in a `with` block (or a decorated function) for the thread that is in it.
"""

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, ParamSpec, TypeVar

from supple.base.errors import OptionsError
from supple.base.marks import DISABLED

P = ParamSpec("P")
R = TypeVar("R")
Backend = str | Callable[..., object]

NAMES: Final = (
    "default force_eager eager_on_recompile fail_on_recompile eager_then_compile aot_eager_then_compile"
).split()


@dataclass(frozen=True, slots=True)
class Stance:
    """See `set_stance`."""

    name: str = "default"
    skip_guard_eval_unsafe: bool = False
    force_backend: Backend | None = None

    @property
    def compiles_later(self) -> bool:
        """Whether the first call only notes sizes."""
        return self.name.endswith("eager_then_compile")


DEFAULT: Final = Stance()


class _Block(threading.local):
    stance: Stance | None = None


class Stances:
    """The stance of the process, and those of threads that are in a block.

    Attributes:
        intervene: whether any stance but the default one is set; all that a hit reads.
    """

    __slots__ = ("_block", "_blocks", "_lock", "intervene", "of_process")

    def __init__(self) -> None:
        self.of_process = DEFAULT
        self.intervene = False
        self._block = _Block()
        self._blocks = 0
        self._lock = threading.Lock()

    def current(self) -> Stance:
        """Return the stance of this thread."""
        return self._block.stance or self.of_process

    def set(self, stance: Stance) -> Stance:
        """Change the stance of the process; return the one before."""
        with self._lock:
            before, self.of_process = self.of_process, stance
            self._update(0)
        return before

    def enter(self, stance: Stance | None, change: int) -> Stance | None:
        """Change the stance of this thread, in one block more or less; return the one before."""
        before, self._block.stance = self._block.stance, stance
        with self._lock:
            self._update(change)
        return before

    def _update(self, change: int) -> None:
        self._blocks += change
        self.intervene = self._blocks > 0 or self.of_process != DEFAULT


STANCES: Final = Stances()


class Setting:
    """A stance that was set: as a decorator or in a `with` statement it holds only there."""

    def __init__(self, stance: Stance) -> None:
        self._stance = stance
        self._before: Stance | None = STANCES.set(stance)
        self._outer: list[Stance | None] = []

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return a function that runs under the stance."""
        self._undo()
        return _under(self._stance, function)

    def __enter__(self) -> None:
        self._undo()
        self._outer.append(STANCES.enter(self._stance, 1))

    def __exit__(self, *_: object) -> None:
        STANCES.enter(self._outer.pop(), -1)

    def _undo(self) -> None:
        if self._before is not None:
            STANCES.set(self._before)
            self._before = None


def set_stance(
    stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Backend | None = None
) -> Setting:
    """Choose what compiled functions may do: for the process, as a decorator, or in a `with` block.

    Args:
        stance: "default" compiles what is new. "force_eager" runs everything eager. "eager_on_recompile" uses
            what is compiled, and runs everything else eager. "fail_on_recompile" raises `RecompileError`
            instead of compiling, the first time too. "eager_then_compile" runs the first call of each
            function eager and takes sizes in which the second one differs for dynamic;
            "aot_eager_then_compile" captures the first call, and runs its graph without generated code.
        skip_guard_eval_unsafe: check only guards in which a function's entries differ; wrong results when
            anything else changes.
        force_backend: compile with this backend instead, with the default stance only.

    Raises:
        OptionsError: (a RuntimeError) no stance has the name, or it excludes `force_backend`.
        UserError: in compiled code.
    """
    if stance not in NAMES:
        raise OptionsError(f"unknown stance {stance!r}; the stances are {', '.join(NAMES)}")
    if force_backend is not None and stance != "default":
        raise OptionsError(f"`force_backend` goes with the stance 'default', not with {stance!r}")
    return Setting(Stance(stance, skip_guard_eval_unsafe, force_backend))


def run(function: Callable[P, R]) -> Callable[P, R]:
    """Return a frozen form of a compiled function: what is compiled is used, all else runs eager."""
    return _under(Stance("eager_on_recompile"), function)


def _under(stance: Stance, function: Callable[P, R]) -> Callable[P, R]:
    def under(*args: P.args, **kwargs: P.kwargs) -> R:
        outer = STANCES.enter(stance, 1)
        try:
            return function(*args, **kwargs)
        finally:
            STANCES.enter(outer, -1)

    setattr(under, DISABLED, True)
    return functools.update_wrapper(under, function, updated=())
