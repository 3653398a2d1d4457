"""The program's objects change between calls, or under a call: eager is the oracle each time."""

import dataclasses
import functools
import types
from collections.abc import Callable
from typing import ClassVar

import pytest
import torch

import supple
from tests.guards.change import settled

X = torch.arange(4.0)


class Box:
    def __init__(self, **fields: object) -> None:
        self.__dict__.update(fields)


def compiled(function):
    return supple.compile(function, backend="eager", fullgraph=True)


def test_a_mapping_proxy_shows_changes_of_its_dict() -> None:
    table = {"a": 1}
    proxy = types.MappingProxyType(table)
    pair = settled(lambda x, p: (x * p["a"], len(p), list(p)), X, proxy)
    table["a"] = 2
    pair.agree_anew(X, proxy)
    table["b"] = 1
    pair.agree_anew(X, proxy)


def test_contents_of_class_attributes_are_noticed() -> None:
    class Model:
        data: ClassVar = {"a": 1}
        items: ClassVar = [1]
        pair = (1, 2)

    pair = settled(lambda x: x * Model.data["a"] + Model.items[0] + Model.pair[1], X)
    Model.data["a"] = 3
    pair.agree_anew(X)
    Model.items[0] = 5
    pair.agree_anew(X)
    Model.pair = (1, 9)
    pair.agree_anew(X)


def test_an_attribute_that_hides_one_of_the_base_is_noticed() -> None:
    class Base:
        scale = 1

    class Child(Base):
        pass

    pair = settled(lambda x, b: x * b.scale, X, Child())
    Child.scale = 7
    pair.agree_anew(X, Child())


def test_other_base_classes_are_noticed() -> None:
    class First:
        scale = 1

    class Second:
        scale = 2

    class Child(First):
        pass

    pair = settled(lambda x, b: x * b.scale, X, Child())
    Child.__bases__ = (Second,)
    pair.agree_anew(X, Child())


def test_attributes_of_a_metaclass_are_noticed() -> None:
    class Meta(type):
        label = 1

        @property
        def size(cls) -> int:
            return 3

    class Model(metaclass=Meta):
        pass

    pair = settled(lambda x: x * Model.label + Model.size, X)
    Meta.size = property(lambda cls: 5)
    pair.agree_anew(X)
    Model.label = 9
    pair.agree_anew(X)


def test_attributes_of_functions_are_noticed() -> None:
    def helper(x):
        return x

    helper.scale = 2
    pair = settled(lambda x: x * helper.scale, X)
    helper.scale = 3
    pair.agree_anew(X)


def test_one_more_default_is_noticed() -> None:
    def helper(x, a=1):
        return x * a

    pair = settled(lambda x: helper(x), X)
    helper.__defaults__ = (1, 1)
    pair.agree_anew(X)
    helper.__defaults__ = (X, 5)
    pair.agree_anew(X)


def test_a_default_list_keeps_what_calls_add() -> None:
    def helper(x, seen=[]):  # noqa: B006
        seen.append(1)
        return x * len(seen)

    f = compiled(lambda x: helper(x))
    assert [f(X).tolist() for _ in range(3)] == [(X * n).tolist() for n in (1, 2, 3)]


def counter() -> tuple[Callable[[], None], Callable[[], int]]:
    count = 1

    def increase() -> None:
        nonlocal count
        count += 1

    return increase, lambda: count


def test_functions_with_one_cell_see_each_other() -> None:
    def step(x, increase, read):
        increase()
        return x * read()

    increase, read = counter()
    other = counter()[1]
    f = compiled(step)
    for pair in ((increase, read), (increase, other)) * 2:
        found = f(X, *pair)
        assert torch.equal(found, X * pair[1]()), pair


def test_a_gradient_is_read_and_noticed() -> None:
    def f(x, y):
        return x if y.grad is None else x * y.grad

    y = torch.ones(4, requires_grad=True)
    y.sum().backward()
    pair = settled(f, X, y)
    y.grad = torch.full((4,), 5.0)
    pair.agree_again(X, y)
    y.grad = None
    pair.agree_anew(X, y)


def test_a_slot_that_is_filled_is_noticed() -> None:
    class Slotted:
        __slots__ = ("a", "b")

    thing = Slotted()
    thing.a = 1
    pair = settled(lambda x, s: x * getattr(s, "b", 7) + s.a, X, thing)
    thing.b = 3
    pair.agree_anew(X, thing)
    del thing.b
    pair.agree_again(X, thing)
    thing.a = 5
    pair.agree_anew(X, thing)


def test_a_descriptor_that_becomes_a_data_descriptor_is_noticed() -> None:
    class Three:
        def __get__(self, owner, kind):
            return 3

    class Model:
        size = Three()

    thing = Model()
    thing.__dict__["size"] = 9
    pair = settled(lambda x, o: x * o.size, X, thing)
    Three.__set__ = lambda self, owner, value: None
    pair.agree_anew(X, thing)
    Three.__get__ = lambda self, owner, kind: 4
    pair.agree_anew(X, thing)


def test_parts_of_a_partial_are_noticed() -> None:
    pair = settled(lambda x, f: f(x), X, functools.partial(torch.mul, other=2))
    pair.agree_anew(X, functools.partial(torch.mul, other=3))
    pair.agree_anew(X, functools.partial(torch.add, other=3))


def test_each_read_of_a_method_is_a_new_object() -> None:
    class Model:
        def scale(self) -> int:
            return 2

    settled(lambda x, m: (x * m.scale(), m.scale is m.scale, m.scale == m.scale), X, Model())


def test_methods_of_a_list_follow_the_list() -> None:
    items = [1, 2]
    pair = settled(lambda x, count: x * count(1), X, items.count)
    items.append(1)
    pair.agree_anew(X, items.count)
    pair.agree_anew(X, items.index)


def test_objects_as_keys_go_by_identity() -> None:
    key, other = Box(), Box()
    table = {key: 1}
    pair = settled(lambda x, d, k: x * d[k] if k in d else x, X, table, key)
    table[key] = 4
    pair.agree_anew(X, table, key)
    pair.agree_anew(X, {key: 2, other: 3}, key)
    pair.agree(X, table, other)


def test_missing_keys_of_a_dict_subclass() -> None:
    class Fives(dict):
        def __missing__(self, key):
            return 5

    pair = settled(lambda x, d: x * d["z"], X, Fives())
    pair.agree_anew(X, Fives(z=2))


def test_getattr_of_a_class_gives_way_to_an_attribute() -> None:
    class Five:
        def __getattr__(self, name):
            return 5

    thing = Five()
    pair = settled(lambda x, f: x * f.size, X, thing)
    thing.size = 2
    pair.agree_anew(X, thing)
    Five.__getattr__ = lambda self, name: 8
    pair.agree_anew(X, Five())


def test_items_and_attributes_of_a_list_subclass_are_noticed() -> None:
    class Items(list):
        pass

    items = Items([1, 2])
    items.scale = 2
    pair = settled(lambda x, i: x * i[0] + i.scale + len(i), X, items)
    items[0] = 4
    pair.agree_anew(X, items)
    items.scale = 4
    pair.agree_anew(X, items)
    items.append(3)
    pair.agree_anew(X, items)


def test_fields_of_a_dataclass() -> None:
    @dataclasses.dataclass
    class Sizes:
        a: int = 1
        b: int = 2

    def f(x, sizes):
        return x * sum(getattr(sizes, field.name) for field in dataclasses.fields(sizes))

    pair = settled(f, X, Sizes())
    pair.agree_anew(X, Sizes(3, 4))


def test_a_tied_weight_that_comes_apart_is_noticed() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = torch.nn.Linear(4, 4)
            self.b = torch.nn.Linear(4, 4)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(x))

    net = Net()
    f = compiled(net)
    assert torch.equal(f(X), net(X))
    net.b.weight = torch.nn.Parameter(torch.ones(4, 4))
    assert torch.equal(f(X), net(X))
    net.b = net.a
    assert torch.equal(f(X), net(X))


def test_returned_views_share_memory_with_the_argument() -> None:
    x = X.clone()
    whole, rest, same = compiled(lambda x: (x.view(2, 2), x[1:], x))(x)
    x.add_(1)
    assert torch.equal(whole.flatten(), x)
    assert torch.equal(rest, x[1:])
    assert same is x


def one_tensor() -> tuple[torch.Tensor, torch.Tensor]:
    x = X.clone()
    return x, x


def overlapping() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.arange(8.0)
    return x[:4], x[2:6]


def apart() -> tuple[torch.Tensor, torch.Tensor]:
    return X.clone(), X.clone()


@pytest.mark.parametrize(
    "order", [(apart, one_tensor, overlapping), (overlapping, apart), (one_tensor, apart)]
)
def test_writes_to_arguments_that_share_memory(order: tuple[Callable[[], object], ...]) -> None:
    def f(x, y):
        x.add_(1)
        return y * 2

    g = compiled(f)
    for make in order * 2:
        want, got = make(), make()
        assert torch.equal(f(*want), g(*got))
        assert torch.equal(want[1], got[1])


@pytest.mark.parametrize("make", [lambda: ({1}, {1}), lambda: (lambda s: (s, s))({1})])
def test_sets_that_are_one_object(make) -> None:
    def f(x, a, b):
        a.add(2)
        return x * len(b)

    g = compiled(f)
    for arguments in (({1}, {1}), make()):
        g(X, *arguments)
    want, got = make(), make()
    assert torch.equal(f(X, *want), g(X, *got))
    assert want == got


def test_a_cached_property_is_computed_once() -> None:
    class Model:
        calls = 0

        @functools.cached_property
        def size(self) -> int:
            self.calls += 1
            return self.calls

    def f(x, model):
        return x * model.size + model.size

    g = compiled(f)
    want, got = Model(), Model()
    for _ in range(2):
        assert torch.equal(f(X, want), g(X, got))
        assert want.__dict__ == got.__dict__


@pytest.mark.parametrize("name", ["requires_grad", "tag"])
def test_attributes_written_to_tensors_are_there_after(name: str) -> None:
    def f(x):
        setattr(x, name, True)
        return x * 2

    x = X.clone()
    assert torch.equal(supple.compile(f, backend="eager")(x), X * 2)
    assert getattr(x, name) is True
