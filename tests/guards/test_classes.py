"""Facts about classes, builtins and modules are guarded: a call after a change gives the eager result."""

import abc
import builtins
import enum
import functools
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

import supple
from supple.runtime.classes import HAS_TAGS, MISSING, lookup

X = torch.ones(2)


@contextmanager
def changed(owner: Any, name: str, value: object) -> Iterator[None]:
    """Set an attribute of an object's own, and put back what was there."""
    own = vars(owner)
    before = own.get(name, MISSING)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if before is MISSING:
            delattr(owner, name)
        else:
            setattr(owner, name, before)


class First:
    pass


class Second:
    pass


class Derived(First):
    def asks(self) -> int:
        return super().answer() if hasattr(super(), "answer") else 1


class Registry(abc.ABC):  # noqa: B024
    pass


class Meta(type):
    pass


class Made(metaclass=Meta):
    """A class."""

    number = 1

    def __init__(self) -> None:
        self.value = 1

    @property
    def shown(self) -> int:
        return 1

    def method(self) -> int:
        return 1


class Sized:
    def __len__(self) -> int:
        return 0


class Member(enum.Enum):
    ONE = 1


def helper(a: int = 1, *, b: int = 1) -> int:
    return a + b


def other(a: int = 1, *, b: int = 1) -> int:
    return a * 10 + b


def imports(x: torch.Tensor) -> torch.Tensor:
    import a_module_of_the_test  # noqa: PLC0415

    return x * a_module_of_the_test.number


def letters(self: object) -> Iterator[str]:
    return iter("ab")


def seven(*_: object) -> int:
    return 7


def sevenfold(tensor: torch.Tensor, *_: object) -> torch.Tensor:
    return tensor * 7


derived, made, sized = Derived(), Made(), Sized()
has = hasattr
Change = tuple[Callable[[torch.Tensor], object], object, str, object]
CHANGES: dict[str, Change] = {
    "bases": (lambda x: x + isinstance(derived, First), Derived, "__bases__", (Second,)),
    "mro": (lambda x: x + len(Derived.__mro__), Derived, "__bases__", (type("Middle", (First,), {}),)),
    "issubclass": (lambda x: x + issubclass(Derived, First), Derived, "__bases__", (Second,)),
    "super": (lambda x: x + derived.asks(), First, "answer", lambda self: 6),
    "__bool__": (lambda x: x + 1 if sized else x, Sized, "__bool__", lambda self: True),
    "__len__": (lambda x: x + 1 if sized else x, Sized, "__len__", lambda self: 3),
    "callable": (lambda x: x + callable(made), Made, "__call__", lambda self: 1),
    "__name__": (lambda x: x + len(Made.__name__), Made, "__name__", "Longer"),
    "__qualname__": (lambda x: x + len(type(made).__qualname__), Made, "__qualname__", "Longer"),
    "__doc__": (lambda x: x + len(made.__doc__ or ""), Made, "__doc__", "Another text."),
    "__doc__ of a class": (lambda x: x + len(Made.__doc__ or ""), Made, "__doc__", "Another text."),
    "__module__": (lambda x: x + len(Made.__module__), Made, "__module__", "another"),
    "__call__ of a metaclass": (lambda x: x + Made().value, Meta, "__call__", lambda cls: Other()),
    "__init__": (lambda x: x + Made().value, Made, "__init__", lambda self: setattr(self, "value", 4)),
    "__new__": (lambda x: x + Made().value, Made, "__new__", lambda cls: Other()),
    "a method": (lambda x: x + made.method(), Made, "method", lambda self: 5),
    "a property": (lambda x: x + made.shown, Made, "shown", property(lambda self: 5)),
    "a property becomes a number": (lambda x: x + made.shown, Made, "shown", 5),
    "an attribute": (lambda x: x + Made.number, Made, "number", 5),
    "an attribute by an instance": (lambda x: x + made.number, Made, "number", 5),
    "__getattr__": (lambda x: x + getattr(made, "missing", 1), Made, "__getattr__", lambda self, name: 5),
    "__getattribute__": (lambda x: x + made.number, Made, "__getattribute__", lambda self, name: 5),
    "__eq__": (lambda x: x + (made == 3), Made, "__eq__", lambda self, other: True),
    "__ne__": (lambda x: x + (made != 3), Made, "__ne__", lambda self, other: False),
    "__hash__": (lambda x: x + len({made: 1, 7: 1}), Made, "__hash__", lambda self: 7),
    "__iter__": (lambda x: x + (len(list(made)) if has(made, "__iter__") else 0), Made, "__iter__", letters),
    "__contains__": (lambda x: x + (has(made, "__contains__") and 3 in made), Made, "__contains__", seven),
    "__getitem__": (lambda x: x + (made[0] if has(made, "__getitem__") else 0), Made, "__getitem__", seven),
    "__add__": (lambda x: x + (made + 1 if has(made, "__add__") else 0), Made, "__add__", seven),
    "__radd__": (lambda x: x + (1 + made if has(made, "__radd__") else 0), Made, "__radd__", seven),
    "__neg__": (lambda x: x + (-made if has(made, "__neg__") else 0), Made, "__neg__", seven),
    "__enter__": (lambda x: x + has(made, "__enter__"), Made, "__enter__", seven),
    "a method for tensors": (lambda x: x.mine() if has(x, "mine") else x, torch.Tensor, "mine", sevenfold),
    "a method of tensors": (lambda x: x.sin(), torch.Tensor, "sin", sevenfold),
    "an operator of tensors": (lambda x: x + 3, torch.Tensor, "__add__", sevenfold),
    "a comparison of tensors": (lambda x: (x < 3) * 1, torch.Tensor, "__lt__", sevenfold),
    "a sign of tensors": (lambda x: -x, torch.Tensor, "__neg__", sevenfold),
    "a builtin": (lambda x: x * sum([1, 2]), builtins, "sum", seven),
    "a builtin in a callee": (lambda x: x * counted(), builtins, "pow", seven),
    "a builtin is hidden": (lambda x: x * max(1, 2), sys.modules[__name__], "max", seven),
    "__defaults__": (lambda x: x * helper(), helper, "__defaults__", (4,)),
    "__kwdefaults__": (lambda x: x * helper(), helper, "__kwdefaults__", {"b": 4}),
    "__code__": (lambda x: x * helper(), helper, "__code__", other.__code__),
    "the value of a member": (lambda x: x * Member.ONE.value, Member.ONE, "_value_", 5),
    "a partial": (lambda x: x * bound(), sys.modules[__name__], "bound", functools.partial(other, 2)),
}  # fmt: skip
bound = functools.partial(helper, 2)


class Other:
    value = 9


def counted() -> int:
    return pow(2, 3)


@pytest.fixture(params=["eager", "native"])
def backend(request: pytest.FixtureRequest) -> str:
    return request.param


@contextmanager
def changing(owner: Any, name: str, value: object) -> Iterator[None]:
    if name in vars(owner) or name not in ("__bases__", "__name__", "__qualname__", "__code__"):
        is_function = isinstance(owner, types.FunctionType)
        context = changed(owner, name, value) if not is_function else _assigned(owner, name, value)
    else:
        context = _assigned(owner, name, value)
    with context:
        yield


@contextmanager
def _assigned(owner: Any, name: str, value: object) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_seen_and_so_is_its_end(name: str, backend: str) -> None:
    program, owner, attribute, value = CHANGES[name]
    compiled = supple.compile(program, backend=backend)
    assert torch.equal(compiled(X), program(X))
    with changing(owner, attribute, value):
        want, got = program(X), compiled(X)
    assert torch.equal(got, want)
    assert torch.equal(compiled(X), program(X))


def test_a_class_that_is_registered_later_is_an_instance() -> None:
    class Late:
        pass

    late = Late()

    def program(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if isinstance(late, Registry) else x - 1

    compiled = supple.compile(program, backend="eager")
    assert torch.equal(compiled(X), program(X))
    Registry.register(Late)
    assert torch.equal(compiled(X), X + 1)


def test_another_module_under_the_name_is_imported() -> None:
    compiled = supple.compile(imports, backend="eager")
    try:
        for number in (1, 2, 1):
            module = types.ModuleType("a_module_of_the_test")
            module.number = number
            sys.modules["a_module_of_the_test"] = module
            assert torch.equal(compiled(X), X * number)
    finally:
        del sys.modules["a_module_of_the_test"]


def test_a_class_whose_other_attributes_change_keeps_its_entry() -> None:
    class Counting:
        calls = 0

        def method(self) -> int:
            return 2

    counting = Counting()
    compiled = supple.compile(lambda x: x * counting.method(), backend="eager")
    for number in range(12):
        Counting.calls = number
        compiled(X)
    assert supple.stats()["recompiles"] == 0


@pytest.mark.skipif(not HAS_TAGS, reason="this Python keeps no version tags where they are looked for")
def test_the_check_of_a_class_looks_names_up_only_after_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = supple.compile(lambda x: x * made.method(), backend="eager")
    compiled(X)
    asked: list[str] = []

    def spied(cls: type, name: str) -> object:
        asked.append(name)
        return lookup(cls, name)

    monkeypatch.setattr("supple.runtime.classes.lookup", spied)
    compiled(X)
    assert not asked
    with changed(Made, "unrelated", 1):
        compiled(X)
    assert asked
