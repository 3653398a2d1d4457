"""A part of what `make mutate` runs: each everyday program, with some changes chosen by a fixed seed."""

import random
from typing import Any

import pytest

from tests.mutation import everyday
from tests.mutation.running import Tally, tried

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("program", everyday.case.cases, ids=str)
def test_changes_of_the_environment_are_seen(program: Any) -> None:
    tally = Tally()
    tried(program, "native", tally, random.Random(0), 20)
    assert not tally.found, "\n".join(map(str, tally.found))
    assert tally.pairs
