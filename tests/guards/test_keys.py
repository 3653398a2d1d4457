"""Items of dicts under keys that are objects: the key is what it is, however it prints."""

import collections
from typing import Any

import torch

import supple


class Key:
    """Prints like every other."""

    def __repr__(self) -> str:
        return "key"


def test_items_under_keys_that_print_alike_are_told_apart() -> None:
    for first, second in (
        (torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(2))),
        (Key(), Key()),
    ):
        table = {first: torch.ones(2), second: torch.full((2,), 5.0)}

        def weighed(
            x: torch.Tensor,
            table: dict[object, torch.Tensor] = table,
            keys: tuple[object, ...] = (first, second),
        ) -> torch.Tensor:
            return x * table[keys[0]] + table[keys[1]]

        run = supple.compile(weighed, backend="eager")
        x = torch.randn(2)
        assert torch.equal(run(x), weighed(x))
        table[second] = torch.full((2,), 7.0)
        assert torch.equal(run(x), weighed(x))
        table[second] = torch.full((2,), 7, dtype=torch.float64)
        assert torch.equal(run(x), weighed(x))
        stats: Any = supple.stats()
        assert stats["graphs"] == 2
        supple.reset()


class Counts:
    def __init__(self) -> None:
        self.keys = [object()]
        self.table = collections.defaultdict(dict, {self.keys[0]: {"n": 1}})


def counted(counts: Counts, x: torch.Tensor) -> torch.Tensor:
    for key in counts.keys:
        counts.table[key]["n"] += 1
    return x + 1


def test_a_check_makes_no_items_of_a_defaultdict() -> None:
    compiled = supple.compile(counted, backend="eager")
    for _ in range(3):
        counts = Counts()
        compiled(counts, torch.ones(2))
        assert counts.table == {counts.keys[0]: {"n": 2}}
