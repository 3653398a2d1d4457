"""Classes that calls make: compiled code does not keep them, and sees when another comes or one changes."""

# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false

import abc
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

import supple


class Held:
    """What the classes refer to."""

    def __init__(self, value: float) -> None:
        self.value = value


def in_a_method(x: Tensor, held: Held) -> Tensor:
    class Local:
        def go(self, t: Tensor) -> Tensor:
            return t * held.value

    return Local().go(x)


def in_a_property(x: Tensor, held: Held) -> Tensor:
    class Local:
        def __init__(self) -> None:
            self.own = held

        @property
        def value(self) -> float:
            return held.value

        @classmethod
        def make(cls) -> Any:
            return cls()

    return x * Local.make().value


def in_a_key(x: Tensor, held: Held) -> Tensor:
    cache: weakref.WeakKeyDictionary[Held, Tensor] = weakref.WeakKeyDictionary()

    class Local:
        def __init__(self, value: float) -> None:
            self.value = value

        def put(self, t: Tensor) -> Tensor:
            cache[held] = t
            return t + self.value

    return Local(2.0).put(x * 2)


def in_a_base(x: Tensor, held: Held) -> Tensor:
    class Base:
        factor = held

    class Local(Base):
        pass

    return x * Local().factor.value


def in_an_error(x: Tensor, held: Held) -> Tensor:
    class LocalError(Exception):
        about = held

    try:
        {}[LocalError]
    except KeyError as error:
        return x + error.args[0].about.value
    return x


def in_a_module(x: Tensor, held: Held) -> Tensor:
    class Local(torch.nn.Module):
        def forward(self, t: Tensor) -> Tensor:
            return t * held.value

    return Local()(x)


def in_a_compiled_module(x: Tensor, held: Held) -> Tensor:
    class Local(torch.nn.Module):
        def forward(self, t: Tensor) -> Tensor:
            return t * held.value

    return supple.compile(Local())(x)


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    gc.collect()
    yield
    gc.collect()


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize(
    "function",
    [in_a_method, in_a_property, in_a_key, in_a_base, in_an_error, in_a_module, in_a_compiled_module],
    ids=lambda function: function.__name__,
)
def test_what_a_class_of_a_call_refers_to_ends(function: Callable[..., Tensor], backend: str) -> None:
    compiled = supple.compile(function, backend=backend)
    watches = []
    for value in (2.0, 3.0, 2.0):
        held = Held(value)
        watches.append(weakref.ref(held))
        torch.testing.assert_close(compiled(torch.ones(3), held), function(torch.ones(3), held))
        del held
    gc.collect()
    assert [watch() for watch in watches] == [None] * 3


def made(factor: float) -> Any:
    class Local:
        count = 0
        seen = 0

        def __init__(self) -> None:
            Local.count += 1

        def go(self, t: Tensor) -> Tensor:
            return t * factor

        @property
        def share(self) -> float:
            return factor / 4

    return Local


def called(x: Tensor, cls: Any) -> Tensor:
    one = cls()
    return one.go(x) + one.share


def test_another_class_of_the_same_text_is_another_class() -> None:
    compiled = supple.compile(called)
    for factor in (2.0, 3.0, 2.0):
        torch.testing.assert_close(compiled(torch.ones(2), made(factor)), torch.full((2,), factor * 1.25))
        gc.collect()


def test_a_counter_of_a_passing_class_compiles_nothing_again() -> None:
    cls = made(2.0)
    compiled = supple.compile(lambda x, one: one.go(x))
    one = cls()
    for count in range(4):
        cls.seen += 1
        compiled(torch.ones(2), one)
        assert supple.stats()["compilations"] == 1, count
    assert cls.seen == 4


CHANGES: dict[str, Callable[[Any], None]] = {
    "a method": lambda cls: setattr(cls, "go", lambda self, t: t - 7),
    "a property": lambda cls: setattr(cls, "share", property(lambda self: 11.0)),
    "a constant in its place": lambda cls: setattr(cls, "share", 5.0),
    "what makes objects": lambda cls: setattr(cls, "__init__", lambda self: setattr(self, "go", torch.neg)),
    "what looks attributes up": lambda cls: setattr(
        cls, "__getattribute__", lambda self, name: CONSTANT[name]
    ),
    "a base": lambda cls: setattr(cls, "__bases__", (Other,)),
    "None for a method": lambda cls: setattr(cls, "go", None),
    "no method": lambda cls: delattr(cls, "go"),
}
CONSTANT: dict[str, Any] = {"go": torch.exp, "share": 1.0, "more": float, "__class__": Held}


class Base:
    """What the class begins with."""

    def more(self) -> float:
        return 1.0


class Other(Base):
    """What it has then."""

    def more(self) -> float:
        return 100.0


@pytest.mark.parametrize("change", CHANGES)
def test_a_passing_class_that_changes_is_seen(change: str) -> None:
    def program(x: Tensor, cls: Any) -> Tensor:
        one = cls()
        try:
            return one.go(x) + one.share + getattr(one, "more", float)()
        except (AttributeError, TypeError):
            return x * 50

    compiled = supple.compile(program)
    found, wanted = [], []
    for run, results in ((program, wanted), (compiled, found)):

        class Local(Base):
            def go(self, t: Tensor) -> Tensor:
                return t * 2

            @property
            def share(self) -> float:
                return 0.5

        results.append(run(torch.ones(2), Local))
        results.append(run(torch.ones(2), Local))
        CHANGES[change](Local)
        results.append(run(torch.ones(2), Local))
    torch.testing.assert_close(found, wanted)
    assert not torch.equal(wanted[0], wanted[2])


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_a_class_that_a_name_alone_holds_lives_as_long_as_the_name(backend: str) -> None:
    def program(x: Tensor) -> list[object]:
        class Top:
            pass

        class Local(Top):
            """Nobody asks for it again; its base knows of it all the same."""

        class Abstract(metaclass=abc.ABCMeta):  # noqa: B024
            pass

        class Registered(Abstract):
            pass

        Registered.register(str)
        gc.collect()
        counts = [len(type.__subclasses__(one)) for one in (Top, Abstract)]
        return [x, counts, isinstance("", Abstract)]

    compiled = supple.compile(program, backend=backend)
    for _ in range(3):
        assert str(compiled(torch.ones(2))) == str(program(torch.ones(2)))
