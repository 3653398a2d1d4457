"""The generated check: a guard holds for the object it was made from and fails for others."""

import collections
import contextvars
import enum
import math
import types
from collections.abc import Callable

import pytest
import torch

from supple.base.errors import Where
from supple.capture.guards import emit, explain, hold, tree
from supple.capture.guards.kinds import Guard, Identity, Kind, TensorExpectation
from supple.capture.guards.writer import parameters
from supple.capture.source import (
    STATE,
    Source,
    attribute,
    cell,
    context_value,
    instance_attribute,
    item,
    key_at,
    local,
    pinned,
    size_at,
    stride_at,
    type_of,
    value_at,
)
from supple.runtime.state import State, state_now
from supple.torch_private import dispatch_keys

X, Y, Z = local("x"), local("y"), local("z")


def frame(x: object = None, y: object = None, z: object = None) -> None:
    """The captured function of these tests."""


def check(*guards: Guard) -> Callable[..., int | None]:
    return emit.checker(guards, frame).check


def tensor_guard(x: torch.Tensor, source: Source = X) -> Guard:
    expected = TensorExpectation(
        type(x), x.dtype, x.device, tuple(x.shape), tuple(x.stride()), x.requires_grad, dispatch_keys(x)
    )
    return Guard(source, Kind.TENSOR, expected)


def state_guard(state: State) -> Guard:
    return Guard(STATE, Kind.STATE, state)


class Thing:
    def __init__(self, **fields: object) -> None:
        self.__dict__.update(fields)


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def test_every_kind_is_checked_and_explained() -> None:
    assert emit.FAILS.keys() == set(Kind)
    assert {*explain.SENTENCES, *explain.explain_rules} == set(Kind)
    assert not explain.explain_rules.unclaimed(set(Kind) - set(explain.SENTENCES))


def f(x: int, /, y: int = 1, *rest: int, z: int = 2, **named: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (frame, "x, y, z"),
        (f, "x, /, y, *rest, z, **named"),
        (lambda *, k: k, "*, k"),
        (lambda a, /: a, "a, /"),
        (lambda *a, **k: (a, k), "*a, **k"),
    ],
)
def test_the_check_has_the_parameters_of_the_function(function: types.FunctionType, text: str) -> None:
    assert parameters(function.__code__) == text
    made = emit.checker((), function)
    assert made.check.__defaults__ == function.__defaults__
    assert made.check.__kwdefaults__ == function.__kwdefaults__


def test_arguments_that_do_not_fit_raise_type_error() -> None:
    with pytest.raises(TypeError, match="positional"):
        check()(1, 2, 3, 4)


def test_parameter_names_do_not_collide_with_the_check() -> None:
    namespace: dict[str, object] = {}
    exec("def odd(_k0, _v0, type, id): pass", namespace)
    guards = [
        Guard(local("_k0"), Kind.TYPE, int),
        Guard(local("type"), Kind.EQUALS, 3),
        Guard(local("_v0"), Kind.LENGTH, 0),
        Guard(instance_attribute(local("id"), "n"), Kind.EQUALS, 1),
    ]
    made = emit.checker(guards, namespace["odd"])  # type: ignore[arg-type]
    assert made.check(1, [], 3, Thing(n=1)) is None
    assert made.check(1, [], 3, Thing(n=2)) == 3


VALUES = [
    None, True, False, 0, 1, 2**70, 0.0, -0.0, 1.0, math.nan, math.inf, "", "a", b"a", (), (1,), (True,),
    (1.0,),
    (0.0,), (-0.0,), (math.nan,), 1j, complex(0, -0.0), slice(1, 2), slice(True, 2), frozenset({1}),
    frozenset({True}), range(3), Color.RED, Color.BLUE, torch.float32, torch.float64, torch.device("cpu"),
    torch.device("meta"), torch.Size((1,)), {1: 2}, {True: 2}, [1], [1.0],
]  # fmt: skip


def copy_of(value: object) -> object:
    """Return an equal object, another one where the type allows it."""
    if isinstance(value, float):
        return float.fromhex(value.hex()) if math.isfinite(value) else float(str(value))
    if isinstance(value, str | bytes):
        return value[:1] + value[1:]
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(copy_of(part) for part in value)
    return value


@pytest.mark.parametrize("index", range(len(VALUES)))
def test_equals_holds_for_the_same_value_of_the_same_type_only(index: int) -> None:
    made = check(Guard(X, Kind.EQUALS, VALUES[index]))
    assert made(copy_of(VALUES[index])) is None
    held = [other for other, value in enumerate(VALUES) if made(value) is None]
    assert held == [index]


def test_equals_asks_no_foreign_object() -> None:
    class Rude:
        def __eq__(self, other: object) -> bool:
            raise AssertionError

        __hash__ = None  # type: ignore[assignment]

    assert check(Guard(X, Kind.EQUALS, 3))(Rude()) == 0
    assert check(Guard(X, Kind.EQUALS, (3,)))(Rude()) == 0


def test_a_class_is_compared_exactly() -> None:
    made = check(Guard(X, Kind.TYPE, int))
    assert made(1) is None
    assert made(True) == 0


def test_is_compares_the_object() -> None:
    made = check(Guard(X, Kind.IS, None), Guard(type_of(Y), Kind.IS, list), Guard(Z, Kind.IS, torch.sin))
    assert made(None, [], torch.sin) is None
    assert made(0, [], torch.sin) == 0
    assert made(None, (), torch.sin) == 1
    assert made(None, [], torch.cos) == 2


def test_id_compares_the_object() -> None:
    thing = Thing()
    made = check(Guard(X, Kind.ID, Identity(id(thing), "thing")))
    assert made(thing) is None
    assert made(Thing()) == 0


def test_code_compares_the_code_of_a_function() -> None:
    def make(n: int) -> Callable[[], int]:
        return lambda: n

    made = check(Guard(X, Kind.CODE, make(1).__code__))
    assert made(make(2)) is None
    assert made(frame) == 0
    assert made(len) == 0


@pytest.mark.parametrize("length", [0, 2])
def test_length_is_compared(length: int) -> None:
    for guards in (
        [Guard(X, Kind.LENGTH, length)],
        [Guard(X, Kind.TYPE, list), Guard(X, Kind.LENGTH, length)],
    ):
        made = check(*guards)
        assert made([1] * length) is None
        assert made([1]) == len(guards) - 1
        assert made(1) is not None


def test_keys_are_compared_in_order() -> None:
    made = check(Guard(X, Kind.KEYS, ("a", "b")), Guard(Y, Kind.KEYS, (1, 2)))
    one_two = {1: 0, 2: 0}
    assert made({"a": 1, "b": 2}, one_two) is None
    assert made({"b": 1, "a": 2}, one_two) == 0
    assert made({"a": 1}, one_two) == 0
    assert made({"a": 1, "b": 2}, {True: 0, 2: 0}) == 1


def test_single_keys_are_compared() -> None:
    made = check(Guard(X, Kind.HAS_KEY, "a"), Guard(X, Kind.LACKS_KEY, ("b", 1)))
    assert made({"a": 1}) is None
    assert made({}) == 0
    assert made({"a": 1, ("b", 1): 2}) == 1
    assert made(None) == 0


def test_missing_attributes_are_compared() -> None:
    class Empty:
        pass

    made = check(
        Guard(X, Kind.LACKS_ATTRIBUTE, "n"), Guard(pinned("C", Empty), Kind.LACKS_CLASS_ATTRIBUTE, "n")
    )
    assert made(Empty()) is None
    thing = Empty()
    thing.n = 1  # type: ignore[attr-defined]
    assert made(thing) == 0
    Empty.n = 1  # type: ignore[attr-defined]
    assert made(Empty()) == 1


def test_a_class_attribute_that_comes_by_a_base_is_noticed() -> None:
    class Base:
        pass

    class Sub(Base):
        pass

    class Other:
        n = 1

    made = check(
        Guard(pinned("K", Sub), Kind.LACKS_CLASS_ATTRIBUTE, "n"),
        Guard(pinned("K", Sub), Kind.LACKS_CLASS_ATTRIBUTE, "m"),
        Guard(X, Kind.LACKS_CLASS_ATTRIBUTE, "n"),
    )
    assert made(Sub) is None
    assert made(Other) == 2
    Base.m = 1  # type: ignore[attr-defined]
    assert made(Sub) == 1
    Sub.__bases__ = (Other,)
    assert made(Sub) == 0


def test_a_gradient_is_noticed() -> None:
    x = torch.ones(2, requires_grad=True)
    made = check(Guard(X, Kind.NO_GRADIENT))
    assert made(x) is None
    x.sum().backward()
    assert made(x) == 0


def test_an_unset_context_variable_is_compared() -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable")
    unset = check(Guard(X, Kind.CONTEXT_UNSET))
    value = check(Guard(context_value(X), Kind.EQUALS, 3))
    assert (unset(variable), value(variable)) == (None, 0)
    token = variable.set(3)
    assert (unset(variable), value(variable)) == (0, None)
    assert "variable had no value, has 3" in explain.why(Guard(X, Kind.CONTEXT_UNSET), {"x": variable})
    variable.reset(token)


def test_same_compares_all_sources() -> None:
    made = check(Guard(X, Kind.SAME, None, None, (Y, Z)))
    one = Thing()
    assert made(one, one, one) is None
    assert made(one, one, Thing()) == 0


@pytest.mark.parametrize("count", [2, 3, 6])
def test_distinct_compares_all_pairs(count: int) -> None:
    places = [item(X, index, list) for index in range(count)]
    made = check(Guard(places[0], Kind.DISTINCT, None, None, tuple(places[1:])))
    things: list[object] = [Thing() for _ in range(count)]
    assert made(things) is None
    for left in range(count):
        for right in range(left):
            assert (
                made([things[right] if place == left else thing for place, thing in enumerate(things)]) == 0
            )


def test_distinct_memory_is_compared_by_bytes() -> None:
    made = check(Guard(X, Kind.DISTINCT, True, None, (Y,)))
    base = torch.ones(4)
    assert made(torch.ones(4), torch.ones(4)) is None
    assert made(base, base[1:]) == 0
    assert made(base, base) == 0
    assert made(torch.ones(2, device="meta"), torch.ones(2, device="meta")) is None
    assert made(torch.ones(0), torch.ones(0)) is None


BASE = torch.arange(24.0).reshape(4, 6)
OTHERS = {
    "dtype": BASE.double(),
    "size": torch.ones(4, 7),
    "dimensions": torch.ones(24),
    "stride": torch.ones(6, 4).t(),
    "requires_grad": BASE.clone().requires_grad_(),
    "device": BASE.to("meta"),
    "class": torch.nn.Parameter(BASE, requires_grad=False),
    "sparse": BASE.to_sparse(),
    "negative": torch.complex(BASE, BASE).conj().imag,
    "no tensor": 3,
}


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_a_tensor_of_other_metadata_is_noticed(name: str) -> None:
    made = check(tensor_guard(BASE))
    assert made(BASE.clone()) is None
    assert made(OTHERS[name]) == 0


def test_a_tensor_that_is_not_contiguous_is_compared_by_strides() -> None:
    made = check(tensor_guard(BASE.t()))
    assert made(torch.ones(4, 6).t()) is None
    assert made(torch.ones(6, 4)) == 0


def test_strides_of_size_one_are_compared() -> None:
    made = check(tensor_guard(torch.ones(1, 4)))
    assert made(torch.ones(1, 4)) is None
    assert made(torch.ones(1, 8).as_strided((1, 4), (8, 1))) == 0


def test_state_is_compared_part_by_part() -> None:
    made = check(state_guard(state_now()))
    assert made() is None
    with torch.no_grad():
        assert made() == 0
    with torch.autocast("cpu", torch.bfloat16):
        assert made() == 0
        inside = check(state_guard(state_now()))
        assert inside() is None
    assert inside() == 0
    with torch.device("meta"):
        assert made() == 0
        inside = check(state_guard(state_now()))
        assert inside() is None
    assert inside() == 0


def test_one_part_of_the_state_can_be_compared_alone() -> None:
    made = check(Guard(STATE, Kind.STATE, State((("threads", torch.get_num_threads()),))))
    assert made() is None
    assert check(Guard(STATE, Kind.STATE, State((("threads", 0),))))() == 0
    with torch.no_grad():
        assert made() is None


def test_a_transform_of_torch_func_is_noticed() -> None:
    made = check(state_guard(state_now()))
    seen: list[object] = []

    def body(x: torch.Tensor) -> torch.Tensor:
        seen.append(made())
        return x

    torch.func.vmap(body)(torch.ones(2))
    assert seen == [0]


def test_each_source_reads_its_value() -> None:
    n = 5

    def closure() -> int:
        return n

    deep = Thing(items=[1, {"a": (2, 3)}], n=4)
    inner = item(instance_attribute(X, "items"), 1, dict)
    guards = [
        Guard(attribute(X, "n"), Kind.EQUALS, 4),
        Guard(instance_attribute(X, "n"), Kind.EQUALS, 4),
        Guard(item(instance_attribute(X, "items"), 0, list), Kind.EQUALS, 1),
        Guard(item(item(item(instance_attribute(X, "items"), 1, list), "a", dict), 1, tuple), Kind.EQUALS, 3),
        Guard(key_at(item(instance_attribute(X, "items"), 1, list), 0), Kind.EQUALS, "a"),
        Guard(cell(Y, 0), Kind.EQUALS, 5),
        Guard(type_of(X), Kind.IS, Thing),
        Guard(pinned("P", 7), Kind.EQUALS, 7),
        Guard(size_at(Z, 1), Kind.EQUALS, 2),
        Guard(stride_at(Z, 0), Kind.EQUALS, 2),
    ]
    assert inner.name == "L['x'].__dict__['items'][1]"
    z = torch.ones(3, 2)
    assert check(*guards)(deep, closure, z) is None
    values = {"x": deep, "y": closure, "z": z}
    expected = [4, 4, 1, 3, "a", 5, Thing, 7, 2, 2]
    assert [value_at(guard.source, values) for guard in guards] == expected


def test_a_subclass_is_read_past_its_own_getitem() -> None:
    class Loud(dict[str, int]):
        def __getitem__(self, key: str) -> int:
            raise AssertionError

    made = check(Guard(item(X, "a", dict), Kind.EQUALS, 1))
    assert made(Loud(a=1)) is None
    assert made(Loud(a=2)) == 0
    assert made(collections.OrderedDict(a=1)) is None
    assert made([1]) == 0


@pytest.mark.parametrize(
    "value", [3, Thing(), Thing(a=None), Thing(a=Thing()), Thing(a=[]), Thing(a=[Thing(n=1)]), None]
)
def test_what_cannot_be_read_fails_with_the_guard_that_reads_it(value: object) -> None:
    path = attribute(item(instance_attribute(X, "a"), 0, list), "n")
    made = check(Guard(Y, Kind.EQUALS, 1), Guard(path, Kind.EQUALS, 2), Guard(Z, Kind.EQUALS, 1))
    assert made(value, 1, 1) == 1
    assert made(Thing(a=[Thing(n=2)]), 1, 1) is None
    assert made(Thing(a=[Thing(n=2)]), 1, 2) == 2


def test_a_source_is_read_once() -> None:
    class Counting:
        reads = 0

        @property
        def part(self) -> Thing:
            Counting.reads += 1
            return Thing(a=1, b=2)

    part = attribute(X, "part")
    made = check(
        Guard(instance_attribute(part, "a"), Kind.EQUALS, 1),
        Guard(instance_attribute(part, "b"), Kind.EQUALS, 2),
    )
    assert made(Counting()) is None
    assert Counting.reads == 1


def test_weakened_guards_hold_no_function_and_no_instance() -> None:
    thing = Thing(n=1)
    guards = (
        Guard(instance_attribute(pinned("P", thing), "n"), Kind.EQUALS, 1),
        Guard(X, Kind.IS, thing),
        Guard(Y, Kind.IS, frame),
        Guard(Z, Kind.IS, Thing),
    )
    weak = hold.weakened(guards)
    made = check(*weak)
    assert made(thing, frame, Thing) is None
    assert made(Thing(), frame, Thing) == 1
    assert hold.watched(weak, {"x": thing, "y": frame, "z": Thing}) == ((thing, frame), ())
    del thing, guards
    assert made(Thing(), frame, Thing) == 0


WHERE = Where(__file__, 1, "frame")


@pytest.mark.parametrize(
    ("guard", "value", "text"),
    [
        (Guard(X, Kind.EQUALS, 3), 4, "L['x'] was 3, is 4 (int)"),
        (Guard(X, Kind.EQUALS, 1), True, "L['x'] was 1, is True (bool)"),
        (Guard(X, Kind.TYPE, list), (), "type(L['x']) was list, is tuple"),
        (Guard(X, Kind.LENGTH, 2), [1], "len(L['x']) was 2, is 1"),
        (Guard(X, Kind.HAS_KEY, "a"), {}, "L['x'] had 'a', has it no more"),
        (Guard(X, Kind.LACKS_KEY, "a"), {"a": 1}, "L['x'] had no 'a', has it now"),
        (Guard(X, Kind.KEYS, ("a",)), {"b": 1}, "the keys of L['x'] were ['a'], are ['b']"),
        (
            tensor_guard(torch.ones(3)),
            torch.ones(4),
            "tensor 'x' size mismatch at index 0. expected 3, actual 4",
        ),
        (tensor_guard(torch.ones(3)), torch.ones(3, 1), "tensor 'x' rank mismatch. expected 1, actual 2"),
        (tensor_guard(torch.ones(3)), 3, "L['x'] was a Tensor, is 3"),
        (Guard(X, Kind.CODE, frame.__code__), f, "the code of L['x'] was frame, is f"),
        (Guard(X, Kind.DISTINCT, None, None, (X,)), 1, "L['x'] and L['x'] were different objects, are one"),
        (
            Guard(instance_attribute(X, "n"), Kind.EQUALS, 3),
            Thing(),
            "L['x'].__dict__['n']: cannot be read any more (KeyError: 'n')",
        ),
    ],
)
def test_an_explanation_says_what_was_and_what_is(guard: Guard, value: object, text: str) -> None:
    assert explain.why(guard, {"x": value}) == text


def test_an_explanation_names_the_line_of_the_user() -> None:
    line = '"""The generated check: a guard holds for the object it was made from and fails for others."""'
    text = explain.why(Guard(X, Kind.EQUALS, 3, WHERE), {"x": 4})
    assert text == f"L['x'] was 3, is 4 (int)  # {line}  ({__file__}:1 in frame)"


def test_the_state_is_explained_by_its_parts() -> None:
    guard = state_guard(state_now())
    with torch.no_grad():
        assert explain.why(guard, {}) == "grad mode was True, is False"


def test_arguments_are_bound_with_defaults() -> None:
    assert explain.arguments(f, (1,), {"w": 5}) == {"x": 1, "y": 1, "rest": (), "z": 2, "named": {"w": 5}}  # type: ignore[arg-type]


def test_the_tree_groups_guards_by_path() -> None:
    weight = item(instance_attribute(X, "_parameters"), "weight", dict)
    guards = [
        Guard(type_of(X), Kind.IS, Thing),
        Guard(instance_attribute(X, "n"), Kind.EQUALS, 3),
        tensor_guard(torch.ones(2), weight),
        Guard(Y, Kind.LENGTH, 2),
        Guard(X, Kind.SAME, None, None, (Z,)),
    ]
    assert tree.text(guards) == "\n".join(
        (
            "GUARDS (5)",
            "+- L['x']",
            "| +- SAME L['z']",
            "| +- type(L['x'])",
            f"| | +- IS {__name__}.Thing",
            "| +- L['x'].__dict__['n']",
            "| | +- EQUALS 3",
            "| +- L['x'].__dict__['_parameters']['weight']",
            "| | +- TENSOR Tensor, torch.float32, device=cpu, requires_grad=False, size=[2], stride=[1]",
            "+- L['y']",
            "| +- LENGTH 2",
        )
    )
