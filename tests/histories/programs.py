"""The programs: two acts or three, one after the other, and what is asked after them."""

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

import torch
from torch import Tensor

from tests.histories.acts import ACTS, ASKS, PRELUDE
from tests.histories.origins import Pair, Unfelt

NAMES: Final = ("x", "y")


@dataclass(frozen=True)
class Program:
    """A function of `x`, `y` and `w`.

    Attributes:
        lines: its own lines; the results are in the list `made`, what was asked in `asked`.
        later: the argument that is written after the call, before backward; `made` for the results, empty
            for none.
    """

    lines: tuple[str, ...]
    later: str = ""

    @property
    def text(self) -> str:
        """The source of the function."""
        own = "".join(f"    {line}\n" for line in self.lines)
        later = f"# later: {self.later}.add_(1) in no_grad\n" if self.later else ""
        return f"{later}def f(x, y, w):\n    made, asked = [], []\n{own}    return made, asked\n"

    @property
    def swaps_memory(self) -> bool:
        """Whether it gives an argument other memory after it may have computed with it.

        Of some tensors eager's backward reads the new memory, compiled code's always the old one.
        """
        return any(".data = " in line for line in self.lines[1:])

    @property
    def ends_gradients(self) -> bool:
        """Whether nothing may flow through a Function of it to what was computed before.

        Eager's backward passes by a write to a part then, whatever is left of what was kept for that.
        """
        return any("Pair.apply" in line for line in self.lines)

    def function(self, *, looks: bool = False) -> Callable[..., Any]:
        """Return the function, with classes of its own.

        Args:
            looks: after each line autograd is asked for the places of the arguments, by which it brings what
                it knows of views up to date.
        """
        lines = tuple(one for line in self.lines for one in (line, LOOK))
        program = replace(self, lines=lines) if looks else self
        names: dict[str, Any] = {"torch": torch, "Unfelt": Unfelt, "Pair": Pair, "look": look}
        exec(compile(PRELUDE + program.text, "<program>", "exec"), names)
        return names["f"]


LOOK: Final = "look(x, y, w)"


def look(*tensors: Tensor) -> None:
    """Ask for the places of tensors in autograd's graph."""
    for one in tensors:
        with contextlib.suppress(RuntimeError):
            _ = one.is_leaf


def programs(seed: int) -> Iterator[Program]:
    """Yield all pairs of acts with some of the questions, in an order that the seed says.

    Behind each pair comes the same with a third act, which is drawn, before or behind it.
    """
    draw = random.Random(seed)
    pairs = list(product(ACTS, ACTS, NAMES))
    draw.shuffle(pairs)
    for first, second, name in pairs:
        acts = (first.format(t="x"), second.format(t=name))
        yield _with_questions(draw, acts)
        third = draw.choice(ACTS).format(t=draw.choice(NAMES))
        yield _with_questions(draw, draw.choice(((third, *acts), (*acts, third))))


def _with_questions(draw: random.Random, acts: Sequence[str]) -> Program:
    """Return a program of some acts, with a question behind some of them, and several behind the last."""
    lines: list[str] = []
    for place, act in enumerate(acts, 1):
        lines.append(act)
        is_last = place == len(acts)
        for _ in range(draw.choice((0, 1, 2, 3)) if is_last else draw.random() < 0.3):
            lines.append(f"asked.append({draw.choice(ASKS).format(t=draw.choice(NAMES))})")
    # A Function may keep what no gradient reads: compiled code does not tell that that was written.
    may_be_written = draw.random() < 0.4 and not any(".apply(" in line for line in lines)
    later = draw.choice((*NAMES, "w", "made")) if may_be_written else ""
    return Program(tuple(lines), later)
