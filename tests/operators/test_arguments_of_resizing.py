"""`interpolate` with arguments that eager refuses, at sizes that vary: the same error, or the same image."""

import itertools
import math
from functools import partial
from typing import Any, cast

import pytest
import torch
from torch.nn import functional

import supple
from supple.base.config import config

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
FACTORS_OF_NO_SIZE: dict[str, Any] = {
    "NaN": math.nan,
    "infinite": math.inf,
    "too large": 1e30,
    "too large an integer": 10**400,
    "negative": -1.5,
    "one that is no number": [1.5, math.nan],
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


def said(outcome: object) -> object:
    """Return an outcome without the addresses that some builds of torch add to their texts."""
    if not isinstance(outcome, tuple):
        return outcome
    kind, text = cast("tuple[object, str]", outcome)
    return kind, text.partition("\nException raised from")[0]


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.filterwarnings("ignore")
def test_arguments_are_refused_as_in_eager(option: str) -> None:
    # SYM15, X-SND01
    def program(x: torch.Tensor, size: Any, factor: Any) -> object:
        try:
            return functional.interpolate(x, size, factor, **OPTIONS[option])
        except (TypeError, ValueError, OverflowError, RuntimeError, NotImplementedError) as error:
            return type(error), str(error)

    pairs = [*itertools.product(SIZES, FACTORS), *(("none", factor) for factor in FACTORS_OF_NO_SIZE)]
    factors = FACTORS | FACTORS_OF_NO_SIZE
    for size, factor in pairs:
        supple.reset()
        compiled = supple.compile(program, dynamic=True)
        for image in (torch.randn(2, 3, 5, 6), torch.randn(1, 3, 4, 7)):
            want = outcome(program, image, SIZES[size], factors[factor])
            got = outcome(compiled, image, SIZES[size], factors[factor])
            if isinstance(want, torch.Tensor):
                assert isinstance(got, torch.Tensor), (size, factor, got)
                torch.testing.assert_close(got, want)
            else:
                assert said(got) == said(want), (size, factor)


def named(x: Any, **numbers: Any) -> torch.Tensor:
    """Take the numbers by name, from a list that is there before the call where it is one."""
    return functional.interpolate(x, **numbers)


RESIZING: dict[str, Any] = {
    "interpolate": named,
    "upsample": lambda x, **numbers: functional.upsample(x, **numbers),
    "upsample_bilinear": lambda x, **numbers: functional.upsample_bilinear(x, **numbers),
    "upsample_nearest": lambda x, **numbers: functional.upsample_nearest(x, **numbers),
}


@pytest.mark.parametrize("image", [None, 1, "text", [1.0]], ids=str)
@pytest.mark.parametrize("function", RESIZING)
@pytest.mark.filterwarnings("ignore")
def test_what_is_no_image_is_refused_as_in_eager(function: str, image: object) -> None:
    # SYM15, X-SND01
    with config.patch(suppress_errors=False):
        for numbers in ({"size": [4, 5]}, {"scale_factor": [1.5, 2.0]}, {"scale_factor": 2}):
            compiled = supple.compile(RESIZING[function])
            assert isinstance(compiled(torch.ones(1, 2, 3, 3), **numbers), torch.Tensor)
            want = outcome(lambda x, given=numbers: RESIZING[function](x, **given), image)
            assert outcome(lambda x, call=compiled, given=numbers: call(x, **given), image) == want


def test_the_function_of_torch_is_resized_whatever_has_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    # X-SND01
    def program(x: torch.Tensor) -> torch.Tensor:
        return functional.interpolate(x, scale_factor=2, mode="nearest", antialias=False)

    image = torch.randn(1, 2, 3, 3)
    compiled = supple.compile(program)
    want = compiled(image)
    monkeypatch.setattr(functional, "interpolate", partial(functional.interpolate))
    with config.patch(suppress_errors=False):
        torch.testing.assert_close(compiled(image), want)
