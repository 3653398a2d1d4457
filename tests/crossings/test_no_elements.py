"""Every operator with tensors that have no elements along their first or their last dimension: as in eager."""

import pytest

from tests.crossings.cases import Crossing, operators
from tests.crossings.running import findings

PARTS = 40
NAMES = operators()


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(PARTS))
def test_operators_of_no_elements(part: int) -> None:
    calls = [
        Crossing(name, sample, layout=layout, dynamic=dynamic, has_gradients=sample > 0, backend="native")
        for name in NAMES[part::PARTS]
        for layout in ("no rows", "no columns")
        for dynamic in (False, True)
        for sample in (0, 5)
    ]
    assert not list(map(str, findings(calls)))
