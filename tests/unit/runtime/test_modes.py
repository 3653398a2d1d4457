"""Blocks of inference mode and autocast: what was entered can be left, repeated, and taken back."""

import pytest
import torch

from supple.runtime.modes import (
    InferenceMode,
    deeper,
    depth,
    enter_inference,
    kept,
    leave_inference,
    nest,
)


def modes() -> tuple[bool, bool, object]:
    """Return what torch says."""
    return torch.is_inference_mode_enabled(), torch.is_grad_enabled(), depth()


def test_blocks_nest_as_those_of_torch() -> None:
    before = modes()
    with InferenceMode(True):
        assert torch.ones(1).is_inference()
        with InferenceMode(False):
            assert not torch.ones(1).is_inference()
            assert torch.is_grad_enabled()
        assert torch.is_inference_mode_enabled()
        assert not torch.is_grad_enabled()
    assert modes() == before


def test_what_was_entered_is_entered_again_elsewhere() -> None:
    before, start = modes(), depth()
    with kept():
        enter_inference(True)
        torch.autocast_increment_nesting()
        change = deeper(start)
        inside = modes()
    assert (change[0], [mode for mode, _ in change[1]]) == (1, [True])
    assert modes() == before
    nest(start, change)
    assert modes() == inside
    nest(start, change)  # a graph had done so itself
    assert modes() == inside
    torch.autocast_decrement_nesting()
    leave_inference()
    assert modes() == before


def test_an_exception_leaves_what_a_function_entered() -> None:
    before = modes()

    @kept()
    def fails() -> None:
        enter_inference(True)
        raise KeyError(1)

    for _ in range(2):
        with pytest.raises(KeyError):
            fails()
        assert modes() == before
