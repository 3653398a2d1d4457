"""Keys whose `__hash__` and `__eq__` tell of each call: in dicts and sets that are given."""

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple
from supple.base.config import config

LOG: list[object] = []


class Key:
    def __init__(self, name):
        self.name = name

    def __hash__(self):
        LOG.append(("hash", self.name))
        return len(self.name)

    def __eq__(self, other):
        LOG.append(("eq", self.name))
        return isinstance(other, Key) and self.name == other.name


CONTAINERS: dict[str, Callable[[Key, Key], Any]] = {
    "dict": lambda a, b: {a: 1, b: 2},
    "ordered dict": lambda a, b: OrderedDict({a: 1, b: 2}),
    "default dict": lambda a, b: defaultdict(int, {a: 1, b: 2}),
    "key in a tuple": lambda a, b: {(a, 1): 1, (b, 2): 2},
    "set": lambda a, b: {a, b},
    "frozen set": lambda a, b: frozenset((a, b)),
}
USES: dict[str, Callable[[Any, Key], object]] = {
    "length": lambda held, key: len(held),
    "truth": lambda held, key: bool(held),
    "membership": lambda held, key: key in held,
    "a copy": lambda held, key: len(held.copy()),
    "its items": lambda held, key: len(list(held)),
    "nothing": lambda held, key: held is None,
    "a read": lambda held, key: held.get(key, 5) if isinstance(held, dict) else None,
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", CONTAINERS)
def test_keys_are_asked_as_often_as_in_eager(kind: str, use: str) -> None:
    apply = USES[use]

    def run(x: torch.Tensor, held: Any, key: Key) -> object:
        LOG.append("begin")
        found = apply(held, key)
        LOG.append("end")
        return x + 1, found

    def told(function: Callable[..., object]) -> list[object]:
        keys = Key("a"), Key("b"), Key("a"), Key("bb")
        held = CONTAINERS[kind](*keys[:2])
        LOG.clear()
        found = [function(torch.ones(1), held, key) for key in (*keys, *keys)]
        return [*found, *LOG]

    with config.patch(suppress_errors=False):
        assert told(supple.compile(run)) == told(run)
