"""A break before any instruction of any function of the corpus changes nothing that the program can see."""

import os
import zlib
from collections.abc import Iterator

import pytest

from tests.breaks.everywhere import CASES, LAST, difference

IS_NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"


def positions(name: str) -> Iterator[int]:
    """Yield the instructions before which to break: all, or some that differ from function to function."""
    if IS_NIGHTLY:
        yield from range(1, LAST)
        return
    first = 1 + zlib.crc32(name.encode()) % 25
    yield from (first, first + 41)


@pytest.mark.parametrize("name", CASES)
def test_a_break_is_not_noticed(name: str) -> None:
    for position in positions(name):
        was_forced, found = difference(CASES[name], position)
        if not was_forced:
            return
        assert found is None, f"break before instruction {position}: {found}"
