"""Dicts and sets whose keys say themselves what they are equal to, made before a break and read after it."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple


def closure(x: torch.Tensor, kind: Callable[..., Any]) -> object:
    class Key:
        def __hash__(self) -> int:
            return 5

        def __eq__(self, other: object) -> bool:
            return is_asked

    is_asked = False
    found = kind([(Key(), 1), (Key(), 2), (Key(), 3)])
    supple.graph_break()
    is_asked = True
    return len(found), x + len(found)


def written_global(x: torch.Tensor, kind: Callable[..., Any]) -> object:
    global ANSWER
    ANSWER = False
    found = kind([(Global(), 1), (Global(), 2), (Global(), 3)])
    supple.graph_break()
    ANSWER = True
    return len(found), x + len(found)


class Global:
    def __hash__(self) -> int:
        return 5

    def __eq__(self, other: object) -> bool:
        return ANSWER


ANSWER = True


def a_set(pairs: list[tuple[Any, int]]) -> set[Any]:
    return {key for key, _ in pairs}


@pytest.mark.parametrize("kind", [dict, a_set])
@pytest.mark.parametrize("program", [closure, written_global])
def test_keys_are_compared_when_names_have_their_values(
    program: Callable[..., Any], kind: Callable[..., Any]
) -> None:
    # X-SND01
    want = program(torch.ones(2), kind)
    assert str(supple.compile(program)(torch.ones(2), kind)) == str(want)
