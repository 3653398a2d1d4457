"""Sets from outside: read, iterated in their own order, combined, written; their members are guarded."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple
from tests.guards.change import Pair, same, settled

X = torch.ones(2)


class Plain:
    def __repr__(self) -> str:
        return "plain"


class Equal:
    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


class Named(set[Any]):
    """A set of another class, which says otherwise what it holds."""

    def __len__(self) -> int:
        return 100

    def __iter__(self) -> Any:
        yield from ()


A, B, C = Plain(), Plain(), Plain()
MIXED: tuple[Any, ...] = (A, 1, "a", (1, 2), None, X, Equal("e"), frozenset({A}), Plain)


def weighed(x: torch.Tensor, s: Any) -> torch.Tensor:
    for place, member in enumerate(s):
        x = x * (place + 2) + (member is A) * 1 + (member == 1) * 3 if member is not X else x + member
    return x


READS: dict[str, Callable[[Any], object]] = {
    "length": lambda s: X * len(s),
    "truth": lambda s: X + 1 if s else X - 1,
    "in": lambda s: X * (A in s) + (B in s) * 2 + (1 in s) * 4 + (Equal("e") in s) * 8,
    "in by equality": lambda s: X * ((1, 2) in s) + (frozenset({A}) in s) * 2,
    "iteration": lambda s: weighed(X, s),
    "list": lambda s: (X + 1, list(s)),
    "enumerate": lambda s: (X + 1, [(i, one) for i, one in enumerate(s)]),
    "copies": lambda s: (X + 1, len(s.copy()), A in set(s), A in frozenset(s)),
    "union": lambda s: X * len(s | {A, 5}),
    "intersection": lambda s: X * len(s & {A, 5, 1}),
    "difference": lambda s: X * len(s - {A, 5, 1}),
    "symmetric difference": lambda s: X * len(s ^ {A, 5, 1}),
    "methods": lambda s: X * len(s.union([A], [B])) * len(s.difference([1])),
    "comparisons": lambda s: (X + 1, s <= {A, 1}, s >= {A}, s == {A, 1}, s != {A}, s.isdisjoint([B])),
    "any": lambda s: X * any(one is A for one in s),
    "unpacked": lambda s: (X + 1, len([*s]), len({*s, A, B})),
    "sum": lambda s: X * sum(1 for one in s if one is not None),
}
SETS: dict[str, Callable[[], Any]] = {
    "objects": lambda: {A, B},
    "one": lambda: {A},
    "mixed": lambda: set(MIXED),
    "frozen": lambda: frozenset(MIXED),
    "frozen objects": lambda: frozenset({A, B, 3}),
    "constants": lambda: {1, "a", 2.5},
    "none": lambda: set[object](),
}


@pytest.mark.parametrize("of", SETS)
@pytest.mark.parametrize("name", READS)
def test_a_set_is_read_as_in_eager(name: str, of: str) -> None:
    members = SETS[of]()
    pair = settled(READS[name], members)
    for other in ("objects", "one", "constants"):
        pair.agree(SETS[other]())
    pair.agree(members)


def test_the_members_of_a_set_are_guarded() -> None:
    members = {A, 1}
    pair = settled(lambda s: X * len(s) + (A in s), members)
    members.add(B)
    pair.agree_anew(members)
    members.discard(A)
    pair.agree_anew(members)
    members.discard(B)
    pair.agree(members)
    members.add(A)
    pair.agree(members)


def test_the_identity_of_members_is_guarded() -> None:
    pair = settled(lambda s, a: X * (a in s), {A, B}, A)
    pair.agree({A, B}, C)
    pair.agree({A, C}, C)
    pair.agree({A, B}, A)
    pair.agree({C, B}, A)


def test_tensors_in_sets_are_inputs() -> None:
    parts = [X * number for number in range(3)]
    pair = settled(lambda s: sum(one * 2 for one in s), set(parts))
    pair.agree({torch.ones(2), torch.zeros(2), torch.full((2,), 3.0)})
    pair.agree({torch.ones(3)})
    pair.agree({torch.ones(2).double(), torch.ones(2)})
    settled(lambda s, x: x + 1 if x in s else x - 1, set(parts), parts[0]).agree(set(parts[1:]), parts[0])


class Module(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.names = {"a", "b"}
        self.owners = {A, B}
        self.seen: set[Any] = {A}

    def forward(self, x: torch.Tensor, owner: Plain) -> torch.Tensor:
        y = x + 1 if "a" in self.names else x
        y = y * 2 if owner in self.owners else y
        self.seen.add(owner)
        return y * len(self.seen)


def test_sets_in_attributes_are_read_and_written() -> None:
    mine, theirs = Module(), Module()
    compiled = supple.compile(mine, fullgraph=True)
    for owner in (A, B, C, A, B):
        assert same(compiled(X, owner), theirs(X, owner))
        assert mine.seen == theirs.seen
    mine.owners.clear()
    theirs.owners.clear()
    assert same(compiled(X, A), theirs(X, A))


SEEN: set[Any] = {A}


def noted(x: torch.Tensor, owner: object) -> torch.Tensor:
    SEEN.add(owner)
    return x * len(SEEN)


def test_sets_in_globals_are_written() -> None:
    SEEN.intersection_update({A})
    compiled = supple.compile(noted, fullgraph=True)
    assert [float(compiled(X, one)[0]) for one in (A, B, B, C)] == [1.0, 2.0, 2.0, 3.0]
    assert {A, B, C} == SEEN


def removed_while_iterated(s: set[Any]) -> object:
    try:
        for _ in s:
            s.discard(A)
    except RuntimeError as error:
        return str(error), X + 1
    return X


WRITES: dict[str, Callable[[Any], object]] = {
    "add": lambda s: (s.add(A), s.add("z"), X * len(s)),
    "discard": lambda s: (s.discard(A), X * len(s)),
    "remove": lambda s: (s.remove(1), X * len(s)),
    "remove what is not there": lambda s: (X + 1, s.remove(C)),
    "update": lambda s: (s.update([B, C], {1: 2}), X * len(s)),
    "difference_update": lambda s: (s.difference_update([A]), X * len(s)),
    "intersection_update": lambda s: (s.intersection_update([A, 1]), X * len(s)),
    "symmetric_difference_update": lambda s: (s.symmetric_difference_update([A, C]), X * len(s)),
    "clear": lambda s: (s.clear(), s.add(C), X * len(s)),
    "operators": lambda s: s.__ior__({C}) and s.__isub__({1}) and X * len(s),
    "iterated": removed_while_iterated,
    "added again": lambda s: (s.discard(1), s.add(1), X * len(s)),
}


MOVED = ("added again", "intersection_update")
"""Writes after which eager's set has members at other places than before."""


@pytest.mark.parametrize("of", ["objects", "one", "mixed", "constants"])
@pytest.mark.parametrize("name", WRITES)
def test_a_set_is_written_as_in_eager(name: str, of: str) -> None:
    program = WRITES[name]
    compiled = supple.compile(program, backend="eager")
    for _ in range(2):
        mine, theirs = SETS[of](), SETS[of]()
        outcomes: list[object] = []
        for function, members in ((program, theirs), (compiled, mine)):
            try:
                outcomes.append(function(members))
            except KeyError as error:
                outcomes.append(repr(error))
        if isinstance(outcomes[0], tuple):
            assert same(outcomes[1][-1], outcomes[0][-1])
        else:
            assert outcomes[0] is outcomes[1] or same(outcomes[1], outcomes[0])
        assert mine == theirs
        if name not in MOVED:
            assert list(map(repr, mine)) == list(map(repr, theirs))


def test_the_order_after_a_member_came_back_is_that_of_eager() -> None:
    def program(x: torch.Tensor, s: set[int]) -> object:
        s.discard(0)
        s.add(0)
        return x + 1, list(s)

    Pair(program, fullgraph=False).agree(X, {0, 8, 16})


def test_a_set_of_another_class_is_asked_by_its_methods() -> None:
    members = Named({A, B, 1})
    pair = Pair(lambda s: (X + 1, len(s), list(s), A in s, C in s), fullgraph=False)
    pair.agree(members)
    pair.agree(members)
    members.add(C)
    pair.agree(members)


def test_a_set_of_many_objects_is_left_to_python() -> None:
    many = {Plain() for _ in range(100)} | {A}
    Pair(lambda s: X * (A in s), fullgraph=False).agree(many)
