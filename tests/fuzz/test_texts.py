"""Texts of tensors are compared as their numbers are, and no looser."""

import pytest

from tests.fuzz.comparing import Twins


@pytest.mark.parametrize(
    ("want", "got", "is_alike"),
    [
        ("say tensor([-1.0000, -1.0000])", "say tensor([-1., -1.])", True),
        ("tensor([1.0001e+10])", "tensor([1.0000e+10])", True),
        ("tensor([1.5000, 2.0000])", "tensor([1.5100, 2.0000])", False),
        ("tensor([1.5000, 2.0000])", "tensor([1.5000])", False),
        ("tensor([1, 2])", "tensor([1, 3])", False),
        ("tensor([nan])", "tensor([1.])", False),
        ("say 1.0001", "say 1.0", False),
    ],
)
def test_a_text_is_alike_up_to_rounding(want: str, got: str, is_alike: bool) -> None:
    assert (Twins(is_rounded=True).difference(want, got, "prints") is None) is is_alike
    assert Twins().difference(want, got, "prints") is not None
