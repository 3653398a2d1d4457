"""Merged guards hold exactly when the guards they were made of do."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supple.capture.guards import emit, explain, hold, tree
from supple.capture.guards.kinds import Guard, Kind
from supple.capture.guards.merge import merged
from supple.capture.source import Source, attribute, instance_attribute, local, pinned

X, Y, Z = local("x"), local("y"), local("z")
NAMES = ("a", "b", "c")


def frame(x: object = None, y: object = None, z: object = None) -> None:
    """The captured function of these tests."""


def holds(guards: tuple[Guard, ...], *args: object) -> bool:
    return emit.checker(guards, frame).check(*args) is None


class Thing:
    def __init__(self, **fields: object) -> None:
        self.__dict__.update(fields)


def lacks(name: str, source: Source = X) -> Guard:
    return Guard(source, Kind.LACKS_ATTRIBUTE, name)


def empty(name: str, source: Source = X) -> Guard:
    return Guard(instance_attribute(source, name), Kind.EMPTY)


things = st.builds(
    lambda fields: Thing(**fields),
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from(({}, {1: 2}, None))),
)
conditions = st.lists(
    st.one_of(st.builds(lacks, st.sampled_from(NAMES)), st.builds(empty, st.sampled_from(NAMES)))
)


@given(conditions, things)
def test_conditions_on_one_object_keep_their_meaning(guards: list[Guard], thing: Thing) -> None:
    assert holds(merged(guards), thing) == holds(tuple(guards), thing)


keys = st.sampled_from(("a", "b", 1, True))
dict_guards = st.lists(
    st.one_of(
        st.builds(lambda key: Guard(X, Kind.LACKS_KEY, key), keys),
        st.builds(lambda key: Guard(X, Kind.HAS_KEY, key), keys),
        st.builds(lambda found: Guard(X, Kind.KEYS, tuple(dict.fromkeys(found))), st.lists(keys)),
        st.builds(lambda length: Guard(X, Kind.LENGTH, length), st.integers(0, 3)),
    )
)


@given(dict_guards, st.dictionaries(keys, st.none()))
def test_conditions_on_keys_keep_their_meaning(guards: list[Guard], found: dict[object, None]) -> None:
    assert holds(merged(guards), found) == holds(tuple(guards), found)


@pytest.mark.parametrize("objects", [*itertools.product("pq", repeat=3)])
def test_paths_to_one_object_keep_their_meaning(objects: tuple[str, ...]) -> None:
    guards = (Guard(Y, Kind.SAME, None, None, (X,)), Guard(Z, Kind.SAME, None, None, (X,)))
    assert len(merged(guards)) == 1
    assert holds(merged(guards), *objects) == holds(guards, *objects)


def test_an_object_has_one_guard_for_what_it_lacks() -> None:
    guards = (lacks("a"), Guard(Y, Kind.EQUALS, 1), empty("b"), lacks("c"), lacks("a", Y))
    kinds = [(guard.source, guard.kind) for guard in merged(guards)]
    assert kinds == [(X, Kind.ALL), (Y, Kind.EQUALS), (Y, Kind.LACKS_ATTRIBUTE)]


def test_a_key_list_makes_single_keys_needless() -> None:
    guards = (Guard(X, Kind.LACKS_KEY, "j"), Guard(X, Kind.KEYS, ("k",)), Guard(X, Kind.LENGTH, 1))
    assert merged(guards) == (guards[1],)


def test_what_a_class_lacks_is_one_guard() -> None:
    base = type("Base", (), {})
    guards = tuple(Guard(pinned("C", base), Kind.LACKS_CLASS_ATTRIBUTE, name) for name in NAMES)
    (guard,) = merged(guards)
    assert holds((guard,))
    base.b = 1
    assert not holds((guard,))
    assert explain.why(guard, {}) == "C had no attribute 'b', has it now"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"a": 1, "b": {}}, "L['x'] had no attribute 'a', has it now"),
        ({"b": {1: 2}}, "L['x'].__dict__['b'] was empty, is {1: 2}"),
    ],
)
def test_the_condition_that_fails_is_named(fields: dict[str, object], reason: str) -> None:
    (guard,) = merged((lacks("a"), empty("b")))
    assert not holds((guard,), Thing(**fields))
    assert explain.why(guard, {"x": Thing(**fields)}) == reason


def test_the_tree_names_every_condition() -> None:
    (guard,) = merged((lacks("a"), empty("b")))
    assert tree.describe(guard) == "ALL LACKS_ATTRIBUTE 'a', EMPTY L['x'].__dict__['b']"


def test_merged_guards_hold_no_object() -> None:
    thing = Thing(own=Thing(b={}))
    source = attribute(pinned("T", thing), "own")
    guards = hold.weakened(merged((lacks("a", source), empty("b", source))))
    assert holds(guards)
    thing.own = Thing(b={1: 2})
    assert not holds(guards)
