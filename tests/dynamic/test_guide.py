"""docs/dynamic_shapes.md: its blocks run, in order, and print what the text after them shows."""

import contextlib
import doctest
import io
import linecache
import re
from pathlib import Path
from typing import Any

import supple

GUIDE = Path(__file__).parents[2] / "docs" / "dynamic_shapes.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def ran(source: str, names: dict[str, Any], place: str) -> str:
    """Run a block in the names of those before it; return what it prints."""
    linecache.cache[place] = (len(source), None, source.splitlines(keepends=True), place)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, place, "exec"), names)
    return printed.getvalue()


def test_each_block_of_the_guide_prints_what_it_shows() -> None:
    names: dict[str, Any] = {}
    blocks = BLOCK.findall(GUIDE.read_text(encoding="utf-8"))
    assert len(blocks) >= 8
    for number, (source, shown) in enumerate(blocks):
        printed = ran(source, names, f"<block {number} of the guide>")
        same = doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS)
        assert same, f"block {number} printed\n{printed}and not\n{shown}"


# ANN18
def test_the_guide_names_what_there_is() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    names = set(re.findall(r"supple\.([a-z_]+)\b", text))
    assert [name for name in sorted(names) if not hasattr(supple, name)] == []
    settings = {
        "force_parameter_static_shapes",
        "force_nn_module_property_static_shapes",
        "specialize_int",
        "specialize_float",
        "specialize_zero_one",
        "dynamic_sources",
        "recompile_limit",
    }
    assert all(hasattr(supple.config, name) and name in text for name in settings)
