"""Modes around breaks: those inside of a block, after it, and after an exception, are eager's."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple

BLOCKS: dict[str, Callable[[], Any]] = {
    "no_grad": torch.no_grad,
    "enable_grad": torch.enable_grad,
    "inference": torch.inference_mode,
    "no inference": lambda: torch.inference_mode(mode=False),
    "grad off": lambda: torch.set_grad_enabled(mode=False),
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
}


def told() -> tuple[bool, bool, bool]:
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu")


def one_after_the_other(
    first: Callable[[], Any], second: Callable[[], Any], ends: Callable[[], Any]
) -> object:
    with first():
        supple.graph_break()
    with second():
        inside = told()
        ends()
    return inside, told()


def nested(first: Callable[[], Any], second: Callable[[], Any], ends: Callable[[], Any]) -> object:
    with first():
        supple.graph_break()
        with second():
            inside = told()
            ends()
        between = told()
    return inside, between, told()


def caught(first: Callable[[], Any], second: Callable[[], Any], ends: Callable[[], Any]) -> object:
    seen = []
    with first():
        try:
            with second():
                supple.graph_break()
                seen.append(told())
                ends()
        except TypeError:
            seen.append(told())
    supple.graph_break()
    return seen, told()


def switched(first: Callable[[], Any], second: Callable[[], Any], ends: Callable[[], Any]) -> object:
    seen = []
    with first():
        with second():
            torch.set_grad_enabled(mode=False)
            supple.graph_break()
            seen.append(told())
            ends()
        seen.append(told())
    return seen, told()


ENDS: dict[str, Callable[[], Any]] = {
    "raises": lambda: len(3),  # type: ignore[arg-type]
    "breaks": supple.graph_break,
    "calls what is not callable": lambda: supple(),  # type: ignore[operator]
}


@pytest.mark.sweep
@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize(("first", "second"), [*itertools.product(BLOCKS, repeat=2)])
@pytest.mark.parametrize("program", [one_after_the_other, nested, caught, switched])
@pytest.mark.filterwarnings("ignore")
def test_modes_are_eagers(
    program: Callable[..., object], first: str, second: str, ends: str, outside: bool
) -> None:
    # X-PY06, X-GRD03
    given = BLOCKS[first], BLOCKS[second], ENDS[ends]

    def outcome(function: Callable[..., object]) -> object:
        with torch.set_grad_enabled(outside):
            try:
                found: object = function(*given)
            except TypeError as error:
                found = str(error)
            after = told()
        return found, after

    assert outcome(supple.compile(program)) == outcome(program)
