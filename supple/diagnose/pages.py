"""The page of each reason: from the catalogue and, of each code, an example in examples/.

An example is a program that meets the reason; behind the line `# Instead:`, one that does not.
"""

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from supple.base.errors import Reason
from supple.capture.breaks import catalogue
from supple.diagnose.guilty import MISMATCH
from supple.shapes.marks import SPECIALIZED
from supple.shapes.policy import OUTSIDE

REASONS: Final[Mapping[str, Reason]] = dict(
    sorted((one.code, one) for one in (*catalogue(), SPECIALIZED, OUTSIDE, MISMATCH))
)
INSTEAD: Final = "\n# Instead:\n"
WHERE: Final[Mapping[str, str]] = {
    "B": "The message names the lines of your program, the innermost call first. What stands before the "
    "operation is compiled, the operation runs in Python, and compilation goes on after it. Where nothing "
    "can go on after it, the whole call runs eager; with `fullgraph=True` it raises.",
    "U": "The call of the compiled function raises it, or runs eager.",
    "G": "The call of the compiled function for which no compiled version serves.",
    "V": "A call of the compiled function that `verify` chose, before it changes anything. The lines are "
    "those of the operator with which the difference begins.",
    "I": "The call of the compiled function runs as plain Python; its result is right.",
}
"""What is to be said about the place, by the letter of the code."""


class _Names(dict[str, str]):
    """The facts of a message as a manual names them: {name} is NAME."""

    def __missing__(self, key: str) -> str:
        return key.upper()


def example(code: str) -> tuple[str, str]:
    """Return a program that meets a reason, and one that does the same without; empty where none does."""
    text = files("supple.diagnose").joinpath("examples", f"{code}.txt").read_text(encoding="utf-8")
    program, _, better = text.partition(INSTEAD)
    return program, better


def page(code: str, message: str = "") -> str:
    """Return the page of a code as Markdown; `message` is what its example says.

    Raises:
        KeyError: there is no such code.
    """
    reason = REASONS[code]
    program, better = example(code)
    what, why, do = (text.format_map(_Names()) for text in (reason.what, reason.why, reason.do))
    parts = [
        f"# {code}: {what}",
        f"**Where.** {WHERE[code[0]]}",
        f"**Why.** {why}",
        f"**Do.** {do}",
        f"## Example\n\n```python\n{program.rstrip()}\n```",
        *([f"```text\n{message}\n```"] if message else []),
        *([f"## Instead\n\n```python\n{better.rstrip()}\n```"] if better else []),
    ]
    return "\n\n".join(parts) + "\n"
