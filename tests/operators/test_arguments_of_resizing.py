"""`interpolate` with arguments that eager refuses, at sizes that vary: the same error, or the same image."""

import itertools
from typing import Any

import pytest
import torch
from torch.nn import functional

import supple

SIZES: dict[str, Any] = {
    "none": None,
    "integer": 4,
    "list": [4, 5],
    "too many": [4, 5, 6],
    "truth": True,
    "zero": 0,
    "float": 4.0,
    "negative": -1,
}
FACTORS: dict[str, Any] = {
    "none": None,
    "float": 1.5,
    "integer": 2,
    "list": [1.5, 0.5],
    "too many": [1.5, 2.0, 2.0],
    "truth": True,
    "zero": 0.0,
    "tensor": torch.tensor(2.0),
    "text": "2",
}
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "corners": {"align_corners": True},
    "corners of 1": {"align_corners": 1},
    "bilinear": {"mode": "bilinear"},
    "bilinear with corners": {"mode": "bilinear", "align_corners": True},
    "bilinear of 0.5": {"mode": "bilinear", "align_corners": 0.5},
    "linear": {"mode": "linear"},
    "again": {"mode": "bicubic", "recompute_scale_factor": True},
    "area": {"mode": "area"},
    "area with corners": {"mode": "area", "align_corners": False},
    "smooth": {"mode": "bilinear", "antialias": True},
    "smooth area": {"mode": "area", "antialias": True},
    "unknown": {"mode": "cubic"},
    "unknown argument": {"more": None},
}


def outcome(function: Any, *args: Any) -> object:
    try:
        return function(*args)
    except Exception as error:  # whatever eager raises
        return type(error), str(error)


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.filterwarnings("ignore")
def test_arguments_are_refused_as_in_eager(option: str) -> None:
    # SYM15, X-SND01
    def program(x: torch.Tensor, size: Any, factor: Any) -> object:
        try:
            return functional.interpolate(x, size, factor, **OPTIONS[option])
        except (TypeError, ValueError, RuntimeError, NotImplementedError) as error:
            return type(error), str(error)

    for size, factor in itertools.product(SIZES, FACTORS):
        supple.reset()
        compiled = supple.compile(program, dynamic=True)
        for image in (torch.randn(2, 3, 5, 6), torch.randn(1, 3, 4, 7)):
            want = outcome(program, image, SIZES[size], FACTORS[factor])
            got = outcome(compiled, image, SIZES[size], FACTORS[factor])
            if isinstance(want, torch.Tensor):
                assert isinstance(got, torch.Tensor), (size, factor, got)
                torch.testing.assert_close(got, want)
            else:
                assert got == want, (size, factor)
