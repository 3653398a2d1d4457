"""The order of a set depends on how it was made, in CPython; it is the same behind a break."""

import random
from collections.abc import Callable, Iterable

import pytest
import torch

import supple
from supple.base.config import config

GIVEN = frozenset((8, 0, 16, 24, 32, 40))
STATEMENTS = """
s = {0, 10, 5, 7}; s ^= {10, 20}
s = {0, 10, 5, 7}; s.symmetric_difference_update({10, 20})
s = {0, 10, 5, 7}; s.symmetric_difference_update([10, 20, 30, 40])
s = {0, 10, 5, 7}.symmetric_difference({10, 20})
s = {0, 10, 5, 7} ^ {10, 20}
s = {0, 8, 16}; s -= {0}; s.add(24)
s = {0, 8, 16}; s.difference_update([0]); s.add(24)
s = {0, 8, 16, 24, 32, 40}; s.difference_update([0, 8, 16], {24: 1}); s |= {0, 8, 64}
s = set(); s.add(8); s.add(0); s.add(16); s.remove(0); s.add(24)
s = set(); s.add(8); s.add(0); s.discard(8); s.add(16); s.add(8)
s = {0, 10, 5, 7}; s.discard(10); s.add(20); s.add(15); s = s.copy(); s.add(40)
s = {8, 0, 16, 24, 32}
s = {8, 0}
s = {5, 13, 21} | {29, 37}
s = {5, 13, 21}; s |= {29, 37}
s = {5, 13, 21}; s.update({29, 37})
s = {5, 13, 21}; s.update([29, 37])
s = {5, 13, 21}; s.update({29, 37}, [45, 53])
s = {5, 13, 21}; s.update({29: 1, 37: 1, 45: 1, 53: 1})
s = {5, 13, 21}; s.update(dict.fromkeys((29, 37, 45, 53)).keys())
s = {5, 13, 21}; s &= {13, 21, 5}
s = {5, 13, 21}; s.intersection_update([21, 13])
s = {5, 13, 21} & {13, 21, 5}
s = {8, 0, 16, 24, 32}; s.pop(); s.add(8)
s = {8, 0, 16, 24, 32}; s.pop(); s.add(0); s.add(s.pop() + 1)
s = {8, 0, 16, 24, 32}; a = s.pop(); s.add(a); s = [a, s.pop(), s.pop(), *s]
s = set([8, 0, 16, 24, 32])
s = set(range(0, 80, 8)); s.discard(8); s.add(8)
s = frozenset([8, 0, 16, 24, 32])
s = frozenset({8, 0, 16, 24, 32})
s = set({8, 0, 16, 24, 32})
s = set({8: 1, 0: 1, 16: 1, 24: 1, 32: 1})
s = {i for i in (8, 0, 16, 24, 32)}
s = set(i for i in (8, 0, 16, 24, 32))
s = {*(8, 0, 16, 24, 32)}
s = {*{8, 0, 16, 24, 32}}
s = {8, 0, 16}; s = {*s, 24, 32}
s = {8, 0, 16, 24, 32}.union({40})
s = {8, 0, 16, 24, 32}.union([40], {48, 56}, {64: 1})
s = set().union({8, 0, 16}, {24, 32})
s = {8, 0, 16, 24, 32}.difference({0})
s = {8, 0, 16, 24, 32}.difference([0, 16], {8})
s = {8, 0, 16, 24, 32} - {0}
s = {8, 0, 16, 24, 32}.intersection([32, 0, 8])
s = {8, 0, 16, 24, 32}.intersection(iter([32, 0, 8]))
s = {8, 0, 16, 24, 32}.intersection({32, 0, 8}, (8, 0))
s = {8, 0}; s.clear(); s.update((16, 0, 8))
s = set("abcdef") - set("ab")
s = dict.fromkeys((8, 0, 16)).keys() | {24}
s = {24} | dict.fromkeys((8, 0, 16)).keys()
s = dict.fromkeys((8, 0, 16, 24)).keys() & {0, 16, 24}
s = {0, 16, 24} & dict.fromkeys((8, 0, 16, 24)).keys()
s = dict.fromkeys((8, 0, 16)).keys() - {0}
s = {8, 0, 16, 24} - dict.fromkeys((8, 0)).keys()
s = {8, 0, 16, 24} ^ dict.fromkeys((8, 0, 32)).keys()
s = frozenset((8, 0, 16, 24)) - dict.fromkeys((8, 0)).keys()
s = {x * 8 for x in range(6) if x != 2}
s = set(); s |= frozenset((8, 0, 16, 24, 32))
s = {16}; s |= {8, 0, 24, 32}
s = {16}; a = s.copy(); s |= {8, 0}; a |= s; s = a | {24, 32}
s = [v for v in {8, 0, 16, 24, 32}]
s = sorted({8, 0, 16, 24, 32}, key=lambda v: 0)
s = repr({8, 0, 16, 24, 32} - {8})
s = GIVEN - {8}
s = GIVEN | {48, 56}
s = GIVEN & {0, 16, 8}
s = {0, 16, 8} & GIVEN
s = {*GIVEN, 48}; s.discard(8)
s = set(GIVEN); s.pop()
s = {None, 3, "a", 2.5, (1, 2)} - {3}
s = {8, 0, 16, 24, 32}; s.discard(0); s.update(s); s.add(0)
s = {8, 0, 16, 24, 32}; s -= s; s.add(40); s.add(0)
s = {8, 0, 16, 24, 32}; s.difference_update(s, [1]); s.add(40); s.add(0)
s = {8, 0, 16, 24, 32}; s ^= s; s.add(40); s.add(0)
s = {8, 0, 16, 24, 32}; s &= s; s.add(40)
s = {8, 0, 16, 24, 32}; s.difference_update(iter((8, 16, 24)), (0, 1)); s.update((0, 40))
s = {8, 0, 16, 24, 32}; s.__init__((40, 8)); s.add(0)
s = {1, True, 1.0, 0, False}; s.discard(0); s.add(0.0)
""".strip().splitlines()


def program(text: str, *, has_break: bool) -> Callable[[torch.Tensor], tuple[torch.Tensor, list[object]]]:
    """Return a function that makes a set, and gives its members in their order."""
    lines = [*text.split("; "), *(["supple.graph_break()"] if has_break else []), "return x + 1, list(s)"]
    space: dict[str, object] = {"__name__": __name__, "supple": supple, "GIVEN": GIVEN}
    exec("def run(x):\n" + "\n".join(f"    {line}" for line in lines), space)
    return space["run"]  # pyright: ignore[reportReturnType]


def told(members: Iterable[object]) -> list[tuple[type, object]]:
    return [(type(member), member) for member in members]


@pytest.mark.parametrize("has_break", [False, True])
@pytest.mark.parametrize("text", STATEMENTS)
def test_a_new_set_has_the_order_of_eager(text: str, has_break: bool) -> None:
    run = program(text, has_break=has_break)
    want = run(torch.ones(1))[1]
    with config.patch(suppress_errors=False):
        assert told(supple.compile(run)(torch.ones(1))[1]) == told(want)


CHANGES: dict[str, Callable[[set[int], int, list[int]], object]] = {
    "add": lambda s, n, more: s.add(n),
    "discard": lambda s, n, more: s.discard(n),
    "pop": lambda s, n, more: s.pop() if s else None,
    "update by a list": lambda s, n, more: s.update(more),
    "update by a set": lambda s, n, more: s.update(set(more)),
    "update by a dict": lambda s, n, more: s.update(dict.fromkeys(more)),
    "difference": lambda s, n, more: s.difference_update(more),
    "intersection": lambda s, n, more: s.intersection_update([n, *more, *list(s)[::2]]),
    "symmetric difference": lambda s, n, more: s.symmetric_difference_update(more),
    "clear": lambda s, n, more: s.clear() if n % 3 == 0 else None,
}


@pytest.mark.parametrize("is_given", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_changes_of_a_set_leave_the_order_of_eager(seed: int, is_given: bool) -> None:
    draw = random.Random(seed)
    steps = [
        (
            draw.choice(list(CHANGES)),
            draw.randrange(0, 160, 8),
            draw.sample(range(0, 160, 4), draw.randrange(6)),
        )
        for _ in range(draw.randrange(4, 40))
    ]
    has_break = draw.random() < 0.5

    def run(x: torch.Tensor, s: set[int]) -> object:
        made = s if is_given else set(range(0, 40, 8))
        for place, (name, number, more) in enumerate(steps):
            CHANGES[name](made, number, more)
            if has_break and place == len(steps) // 2:
                supple.graph_break()
        return x + 1, made

    compiled = supple.compile(run)
    with config.patch(suppress_errors=False):
        for _ in range(2):
            wanted, found = set(range(0, 40, 8)), set(range(0, 40, 8))
            assert list(compiled(torch.ones(1), found)[1]) == list(run(torch.ones(1), wanted)[1])
            assert list(found) == list(wanted)


def test_what_was_popped_before_a_call_decides_what_is_popped_in_it() -> None:
    def run(x: torch.Tensor, s: set[int]) -> tuple[torch.Tensor, int]:
        return x + 1, s.pop()

    compiled = supple.compile(run)
    for function in (run, compiled):
        given = {0, 1, 2, 3, 4}
        given.pop()
        given.add(0)
        assert function(torch.ones(1), given)[1] == 1


def test_a_set_of_two_that_share_a_history() -> None:
    def run(x: torch.Tensor) -> tuple[torch.Tensor, list[list[int]]]:
        first = {8, 0, 16}
        for n in range(40):
            first = first | {n * 8} | first
        second = first - {0}
        first.add(1024)
        supple.graph_break()
        return x + 1, [list(first), list(second), list(first - second)]

    with config.patch(suppress_errors=False):
        assert supple.compile(run)(torch.ones(1))[1] == run(torch.ones(1))[1]
