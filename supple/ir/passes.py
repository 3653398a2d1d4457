"""Pass and run_passes: apply in order, check the spec after each, tell listeners what changed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from supple.base import events

L = TypeVar("L")


@dataclass(frozen=True, slots=True)
class Pass(Generic[L]):
    """A named rewrite of one language into itself."""

    name: str
    run: Callable[[L], L]


@dataclass(frozen=True, slots=True)
class Language(Generic[L]):
    """What `run_passes` needs to know of a language: how to check and to print a program."""

    check: Callable[[L], None]
    text: Callable[[L], str]


def run_passes(passes: Sequence[Pass[L]], program: L, language: Language[L], *, check: bool) -> L:
    """Return the program after all passes; `check` runs the spec before the first and after each.

    Raises:
        SpecError: naming the rule that the program breaks, from `language.check`.
    """
    if check:
        language.check(program)
    for step in passes:
        after = step.run(program)
        if check:
            language.check(after)
        if events.listening():
            events.emit(events.PassRan(step.name, language.text(program), language.text(after)))
        program = after
    return program
