"""docs/errors: one page for each code of the catalogue, with what its example says, and a list of all.

`python -m tools.error_pages` rewrites them; a test compares them with what this would write.
"""

import contextlib
import io
import linecache
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import supple
from supple.base import events
from supple.base.errors import Explained
from supple.diagnose.pages import REASONS, example, page

FOLDER = Path(__file__).parents[1] / "docs" / "errors"
CHANGING = (
    (re.compile(r"\b\d+/(\d+): "), r"0/\1: "),  # the number of a function in this process
    (re.compile(r"\S+/supple-failure-\w+\.txt"), "supple-failure.txt"),
    (re.compile(r"\S+/supple-verify-\w+/supple-verify\.py"), "supple-verify.py"),
)
"""Parts of messages that differ from run to run."""


def run(program: str, names: dict[str, object], filename: str) -> list[str]:
    """Run a program and return what the compiler says: why graphs break, what runs eager, what it raises."""
    linecache.cache[filename] = (len(program), None, program.splitlines(keepends=True), filename)
    said: list[str] = []

    def listen(event: events.Event) -> None:
        if isinstance(event, events.GraphBroken | events.FellBack):
            said.append(event.text)

    inside = re.findall(r"^ +import (\w+)$", program, flags=re.MULTILINE)
    loaded = {name: sys.modules.pop(name) for name in inside if name in sys.modules}
    stop = events.listen(listen)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(compile(program, filename, "exec"), names)
    except Explained as error:
        said.append(str(error))
    finally:
        stop()
        supple.reset()
        sys.modules.update(loaded)
        del linecache.cache[filename]
    return said


def said_by_example(code: str) -> tuple[str, list[str]]:
    """Return the message that the example of a code gives, and all that the better program gives.

    Raises:
        ValueError: the example does not meet its reason.
    """
    program, better = example(code)
    names: dict[str, object] = {"__name__": "example"}
    said = run(program, names, "example.py")
    message = next((text for text in said if f" [{code}]\n" in text), None)
    if message is None:
        raise ValueError(f"the example of {code} says something else: {said}")
    for pattern, constant in CHANGING:
        message = pattern.sub(constant, message)
    return message, run(better, names, "instead.py")


def index() -> str:
    """Return the list of all codes."""
    rows = "".join(
        f"| [{code}]({code}.md) | {page(code).partition(': ')[2].splitlines()[0]} |\n" for code in REASONS
    )
    return (
        "# What the compiler says\n\n"
        "Each message has a code; here is a page for each, written by `make docs`. "
        "`python -m supple explain B104` prints one. How to find and remove graph breaks: "
        "[graph_breaks.md](../graph_breaks.md).\n\n"
        "B: a graph break. U: your program or call asks for something else. G: recompilations. "
        f"I: a failure of the compiler. V: what `verify` finds.\n\n| code | what |\n|---|---|\n{rows}"
    )


def files() -> Iterator[tuple[Path, str]]:
    """Yield each file with what belongs into it."""
    yield FOLDER / "README.md", index()
    for code in REASONS:
        yield FOLDER / f"{code}.md", page(code, said_by_example(code)[0])


def main() -> None:
    """Rewrite the pages, and remove those of codes that are gone."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    written = dict(files())
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")
    for path in FOLDER.glob("*.md"):
        if path not in written:
            path.unlink()


if __name__ == "__main__":
    main()
