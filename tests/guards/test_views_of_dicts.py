"""Read-only views of dicts show what is written to the dict later, wherever both come from."""

import types
from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple


def mapping_of_keys(x: torch.Tensor, table: dict[str, Any], shown: Any) -> object:
    made: dict[str, Any] = {}
    view, items = made.keys().mapping, made.items()
    made["a"] = x
    return len(view), view == made, type(view) is types.MappingProxyType, len(items.mapping)


def made_inside(x: torch.Tensor, table: dict[str, Any], shown: Any) -> object:
    view = types.MappingProxyType(table)
    table["b"] = 1
    return len(view), sorted(view), view["a"] * 2


def given(x: torch.Tensor, table: dict[str, Any], shown: Any) -> object:
    before = len(shown)
    table["b"] = x * 2
    return before, len(shown), sorted(shown), shown["b"] + 1


def behind_a_break(x: torch.Tensor, table: dict[str, Any], shown: Any) -> object:
    view = types.MappingProxyType(table)
    supple.graph_break()
    del table["a"]
    return len(view), "a" in shown, x * 2


def not_written(x: torch.Tensor, table: dict[str, Any], shown: Any) -> object:
    return len(shown), shown["a"] * x, table["a"]


@pytest.mark.parametrize("program", [mapping_of_keys, made_inside, given, behind_a_break, not_written])
def test_a_view_shows_what_is_written(program: Callable[..., object]) -> None:
    # X-SND01
    compiled = supple.compile(program)
    for _ in range(2):
        x = torch.ones(2)
        mine: dict[str, Any] = {"a": x}
        its: dict[str, Any] = {"a": x}
        want = program(x, mine, types.MappingProxyType(mine))
        assert str(compiled(x, its, types.MappingProxyType(its))) == str(want)
        assert mine.keys() == its.keys()


def test_a_view_of_another_dict_is_no_view_of_this_one_later() -> None:
    # X-SND01
    compiled = supple.compile(given)
    for is_shown in (False, True, False, True):
        x = torch.ones(2)
        mine: dict[str, Any] = {"a": x}
        its: dict[str, Any] = {"a": x}
        other = {"a": x, "b": x}
        want = given(x, mine, types.MappingProxyType(mine if is_shown else other))
        assert str(compiled(x, its, types.MappingProxyType(its if is_shown else other))) == str(want)
