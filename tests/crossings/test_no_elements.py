"""Every operator with tensors without elements along their first or their last dimension: as in eager."""

import pytest

from tests.crossings.cases import Crossing, operators
from tests.crossings.running import findings

PARTS = 40
OTHERWISE = {
    "linalg.cond": "eager makes a tensor of zeros, which does not require gradients",
    "trapz": "eager makes a tensor of zeros, which does not require gradients",
    "trapezoid": "eager makes a tensor of zeros, which does not require gradients",
    "nn.functional.adaptive_avg_pool3d": "to one element it is a mean, which takes what the operator refuses",
    "nn.functional.multi_margin_loss": "eager gives what memory held",
    "nn.functional.multilabel_margin_loss": "eager gives what memory held",
    "svd": "the checks between stages do not see that a loop has no turns",
    "linalg.svd": "the checks between stages do not see that a loop has no turns",
}
"""Operators that are left out, and why."""
NAMES = [name for name in operators() if name not in OTHERWISE]


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
