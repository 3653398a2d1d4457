"""What is baked in of the program itself is guarded: globals, closures, defaults, classes, functions."""

import types
from collections.abc import Callable

import pytest
import torch

from tests.guards.change import settled

SCALE = 2
TABLE = {"shift": 1}
WEIGHT = torch.ones(3)


def helper(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def other_helper(x: torch.Tensor) -> torch.Tensor:
    return x - 1


def test_a_global_number_is_noticed(monkeypatch) -> None:
    pair = settled(lambda x: x * SCALE, torch.ones(3))
    monkeypatch.setitem(globals(), "SCALE", 3)
    assert "G['SCALE'] was 2, is 3" in pair.agree_anew(torch.ones(3))


def test_an_item_of_a_global_dict_is_noticed(monkeypatch) -> None:
    pair = settled(lambda x: x * TABLE["shift"], torch.ones(3))
    monkeypatch.setitem(TABLE, "shift", 5)
    pair.agree_anew(torch.ones(3))


def test_a_global_tensor_is_read_at_each_call(monkeypatch) -> None:
    pair = settled(lambda x: x * WEIGHT, torch.ones(3))
    monkeypatch.setitem(globals(), "WEIGHT", torch.full((3,), 7.0))
    pair.agree_again(torch.ones(3))
    monkeypatch.setitem(globals(), "WEIGHT", torch.full((1,), 7.0))
    pair.agree_anew(torch.ones(3))


def test_a_global_that_shadows_a_builtin_is_noticed(monkeypatch) -> None:
    pair = settled(lambda x: x + len([1, 2]), torch.ones(3))
    monkeypatch.setitem(globals(), "len", lambda _: 7)
    pair.agree_anew(torch.ones(3))


def test_a_replaced_helper_is_noticed(monkeypatch) -> None:
    pair = settled(lambda x: helper(x), torch.ones(3))
    monkeypatch.setitem(globals(), "helper", other_helper)
    assert "helper" in pair.agree_anew(torch.ones(3))


def test_a_helper_with_new_code_is_noticed() -> None:
    def mine(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    def new(x: torch.Tensor) -> torch.Tensor:
        return x * 10

    pair = settled(lambda x: mine(x), torch.ones(3))
    mine.__code__ = new.__code__
    pair.agree_anew(torch.ones(3))


def test_the_function_with_new_code_is_noticed() -> None:
    def mine(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    def new(x: torch.Tensor) -> torch.Tensor:
        return x * 10

    pair = settled(mine, torch.ones(3))
    mine.__code__ = new.__code__
    pair.agree_anew(torch.ones(3))


def test_a_closure_variable_is_noticed() -> None:
    scale = 2

    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * scale

    pair = settled(scaled, torch.ones(3))
    scale = 3
    assert "was 2, is 3" in pair.agree_anew(torch.ones(3))


def test_a_closure_variable_of_a_helper_is_noticed() -> None:
    scale = 2

    def mine(x: torch.Tensor) -> torch.Tensor:
        return x * scale

    pair = settled(lambda x: mine(x) + 1, torch.ones(3))
    scale = 3
    pair.agree_anew(torch.ones(3))


def test_changed_defaults_are_noticed() -> None:
    def scaled(x: torch.Tensor, n: int = 2) -> torch.Tensor:
        return x * n

    pair = settled(scaled, torch.ones(3))
    scaled.__defaults__ = (5,)
    pair.agree_anew(torch.ones(3))
    scaled.__defaults__ = (2,)
    pair.agree_again(torch.ones(3))


def test_changed_keyword_defaults_are_noticed() -> None:
    def scaled(x: torch.Tensor, *, n: int = 2) -> torch.Tensor:
        return x * n

    pair = settled(scaled, torch.ones(3))
    scaled.__kwdefaults__ = {"n": 5}
    pair.agree_anew(torch.ones(3))
    scaled.__kwdefaults__["n"] = 6
    pair.agree_again(torch.ones(3))


def test_changed_defaults_of_a_helper_are_noticed() -> None:
    def mine(x: torch.Tensor, n: int = 2, *, m: int = 3) -> torch.Tensor:
        return x * n + m

    pair = settled(lambda x: mine(x), torch.ones(3))
    mine.__defaults__ = (5,)
    pair.agree_anew(torch.ones(3))
    mine.__kwdefaults__ = {"m": 4}
    pair.agree_anew(torch.ones(3))


def make_class() -> type:
    class Thing:
        factor = 2

        def __init__(self) -> None:
            self.own = 1

        def apply(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.factor + self.own

        @property
        def size(self) -> int:
            return 3

    return Thing


def applied(thing: object, x: torch.Tensor) -> torch.Tensor:
    return thing.apply(x) + thing.size  # type: ignore[attr-defined]


def changed(change: Callable[[type, object], object]) -> None:
    kind = make_class()
    thing = kind()
    pair = settled(applied, thing, torch.ones(3))
    change(kind, thing)
    pair.agree_anew(thing, torch.ones(3))


def test_a_class_attribute_is_noticed() -> None:
    changed(lambda kind, _: setattr(kind, "factor", 9))


def test_a_replaced_method_is_noticed() -> None:
    changed(lambda kind, _: setattr(kind, "apply", lambda self, x: x - self.own))


def test_a_replaced_property_is_noticed() -> None:
    changed(lambda kind, _: setattr(kind, "size", property(lambda self: 8)))


def test_an_instance_attribute_is_noticed() -> None:
    changed(lambda _, thing: setattr(thing, "own", 4))


def test_an_instance_attribute_that_hides_the_class_is_noticed() -> None:
    changed(lambda _, thing: setattr(thing, "factor", 4))


def test_a_method_on_the_instance_is_noticed() -> None:
    changed(lambda _, thing: setattr(thing, "apply", types.MethodType(lambda self, x: x - self.own, thing)))


def test_a_property_that_hides_the_instance_is_noticed() -> None:
    changed(lambda kind, _: setattr(kind, "own", property(lambda self: 7)))


def test_a_class_attribute_that_becomes_a_property_and_hides_the_instance_is_noticed() -> None:
    def read(thing: object, x: torch.Tensor) -> torch.Tensor:
        return x * thing.factor  # type: ignore[attr-defined]

    kind = make_class()
    thing = kind()
    thing.factor = 5
    pair = settled(read, thing, torch.ones(3))
    kind.factor = property(lambda self: 7)  # type: ignore[attr-defined]
    pair.agree_anew(thing, torch.ones(3))


def test_a_property_that_hides_what_a_constructor_sets_is_noticed() -> None:
    kind = make_class()
    pair = settled(lambda x: kind().apply(x), torch.ones(3))
    written: list[object] = []
    kind.own = property(lambda self: 7, lambda self, new: written.append(new))  # type: ignore[attr-defined]
    pair.agree_anew(torch.ones(3))


@pytest.mark.parametrize("name", ["__getattr__", "__getattribute__"])
def test_a_new_way_to_read_attributes_is_noticed(name: str) -> None:
    class Thing:
        pass

    def read(thing: object, x: torch.Tensor) -> torch.Tensor:
        return x + getattr(thing, "n", 10)

    pair = settled(read, Thing(), torch.ones(3))
    setattr(Thing, name, lambda self, _: 3)
    pair.agree_anew(Thing(), torch.ones(3))


def test_another_class_of_the_same_object_is_noticed() -> None:
    def become(kind: type, thing: object) -> None:
        thing.__class__ = type("Other", (kind,), {"factor": 11})  # type: ignore[assignment]

    changed(become)


def test_a_deleted_attribute_is_noticed() -> None:
    class Thing:
        pass

    def read(thing: object, x: torch.Tensor) -> torch.Tensor:
        return x + getattr(thing, "n", 10)

    thing = Thing()
    thing.n = 1  # type: ignore[attr-defined]
    pair = settled(read, thing, torch.ones(3))
    del thing.n  # type: ignore[attr-defined]
    pair.agree_anew(thing, torch.ones(3))
    thing.n = 1  # type: ignore[attr-defined]
    pair.agree_again(thing, torch.ones(3))


def test_a_new_special_method_is_noticed() -> None:
    class Thing:
        pass

    def read(thing: object, x: torch.Tensor) -> torch.Tensor:
        return x + 1 if thing else x - 1

    pair = settled(read, Thing(), torch.ones(3))
    Thing.__bool__ = lambda self: False  # type: ignore[attr-defined]
    pair.agree_anew(Thing(), torch.ones(3))


def test_a_replaced_function_of_torch_is_noticed(monkeypatch) -> None:
    pair = settled(lambda x: torch.nn.functional.relu(x), -torch.ones(3))
    monkeypatch.setattr(torch.nn.functional, "relu", lambda x: x * 100)
    pair.agree_anew(-torch.ones(3))
