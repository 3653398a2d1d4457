"""docs/training.md: its blocks run, in order, and print what the text after them shows."""

from pathlib import Path
from typing import Any

import supple
from tests.dynamic.test_guide import BLOCK, ran

GUIDE = Path(__file__).parents[2] / "docs" / "training.md"


def test_each_block_of_the_guide_prints_what_it_shows() -> None:
    names: dict[str, Any] = {}
    for number, (source, shown) in enumerate(BLOCK.findall(GUIDE.read_text(encoding="utf-8"))):
        assert ran(source, names, f"<block {number} of the guide>") == shown
    assert not supple.stats()["refusals"]
