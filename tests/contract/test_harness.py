"""The golden fixture compares, and rewrites only when asked to."""

import random
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def make_golden(golden: Any, tmp_path: Path) -> Any:
    """Return a function from `is_rewriting` to a golden file in a temporary folder."""
    return lambda is_rewriting: type(golden)(tmp_path / "below" / "text.txt", is_rewriting)


def test_a_missing_golden_file_fails(make_golden: Any) -> None:
    with pytest.raises(AssertionError, match="make golden"):
        make_golden(is_rewriting=False).check("text")


def test_a_rewritten_golden_file_is_compared_with(make_golden: Any) -> None:
    make_golden(is_rewriting=True).check("one\ntwo")
    make_golden(is_rewriting=False).check("one\ntwo\n")
    with pytest.raises(AssertionError, match="differs"):
        make_golden(is_rewriting=False).check("one\nthree")


@pytest.mark.parametrize("_turn", [1, 2])
def test_random_numbers_start_from_the_same_seed(seed: int, _turn: int) -> None:
    assert random.random() == random.Random(seed).random()
