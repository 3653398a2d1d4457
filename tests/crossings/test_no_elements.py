"""Every operator with tensors without elements along their first or their last dimension: as in eager."""

import pytest

from tests.crossings.cases import OTHERWISE, Crossing, operators
from tests.crossings.running import findings

PARTS = 40
NAMES = [name for name in operators() if name not in OTHERWISE]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(PARTS))
def test_operators_of_no_elements(part: int) -> None:
    calls = [
        Crossing(name, layout=layout, dynamic=dynamic, has_gradients=dynamic, backend="native")
        for name in NAMES[part::PARTS]
        for layout in ("no rows", "no columns")
        for dynamic in (False, True)
    ]
    assert not list(map(str, findings(calls)))
