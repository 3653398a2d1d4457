"""Functions behind `functools.lru_cache` that change what the program reads: they do so when eager does."""

import functools
import types
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple
from supple.testing import assert_compiles


class World:
    """What the cached functions below change."""

    @classmethod
    def begin(cls) -> None:
        """Make all as it is before the first call; the caches are empty."""
        global TOTAL, NUMBERS
        LOG.clear()
        COUNTS.clear()
        COUNTS["n"] = 0
        STEPS.clear()
        TENSOR.zero_()
        NUMBERS = iter(range(100))
        TOTAL = Counter.made = COUNTER.count = MODULE.count = 0
        cls.forget()

    @staticmethod
    def forget() -> None:
        """Clear the caches."""
        for cached, _ in EFFECTS.values():
            if hasattr(cached, "cache_clear"):
                cached.cache_clear()


class Counter:
    """Counts in itself, and in its class."""

    made = 0

    def __init__(self, count: int = 0) -> None:
        self.count = count

    def increment(self) -> int:
        self.count += 1
        return self.count

    def __call__(self) -> int:
        return self.increment()

    @functools.lru_cache  # noqa: B019  # the test ends with it
    def kept(self, number: int) -> int:
        return self.increment() + number


LOG: list[int] = []
COUNTS: dict[str, int] = {"n": 0}
STEPS: deque[int] = deque()
NUMBERS = iter(range(100))
TOTAL = 0
COUNTER = Counter()
TABLE_OF_FUNCTIONS = {"increment": lambda: COUNTER.increment()}  # it is looked into
TENSOR = torch.zeros(1)
MODULE: Any = types.SimpleNamespace(count=0)


def append_to(numbers: list[int]) -> None:
    numbers.append(1)


@supple.disable
def append_unseen() -> None:
    LOG.append(1)


@functools.lru_cache
def by_append(number: int) -> int:
    LOG.append(number)
    return number


@functools.lru_cache
def by_a_helper(number: int) -> int:
    append_to(LOG)
    return number


@functools.lru_cache
def by_a_disabled_helper(number: int) -> int:
    append_unseen()
    return number


@functools.lru_cache
def by_another_cache(number: int) -> int:
    return by_append(number)


@functools.lru_cache
def by_an_item(number: int) -> int:
    COUNTS["n"] += 1
    return number


@functools.lru_cache
def by_an_update(number: int) -> int:
    COUNTS.update(n=COUNTS["n"] + number)
    return number


@functools.lru_cache
def by_a_deque(number: int) -> int:
    STEPS.appendleft(number)
    return number


@functools.lru_cache
def by_a_global(number: int) -> int:
    global TOTAL
    TOTAL += number
    return number


@functools.lru_cache
def by_a_class(number: int) -> int:
    Counter.made += number
    return number


@functools.lru_cache
def by_setattr(number: int) -> int:
    setattr(Counter, "made", Counter.made + number)  # noqa: B010  # the function is what is tested
    return number


@functools.lru_cache
def by_an_attribute(number: int) -> int:
    MODULE.count += number
    return number


@functools.lru_cache
def by_a_method(number: int) -> int:
    COUNTER.increment()
    return number


@functools.lru_cache
def by_a_call(number: int) -> int:
    COUNTER()
    return number


@functools.lru_cache
def by_a_name(number: int) -> int:
    getattr(COUNTER, "increment")()  # noqa: B009  # the function is what is tested
    return number


@functools.lru_cache
def by_a_table(number: int) -> int:
    TABLE_OF_FUNCTIONS["increment"]()
    return number


@functools.lru_cache
def by_an_iterator(number: int) -> int:
    return next(NUMBERS) * 0 + number


@functools.lru_cache
def by_a_loop(number: int) -> int:
    for _ in NUMBERS:
        break
    return number


@functools.lru_cache
def by_an_inner_function(number: int) -> int:
    return [LOG.append(number) for _ in range(2)].count(None)


@functools.lru_cache
def in_place(number: int) -> int:
    TENSOR.add_(number)
    return number


@functools.lru_cache
def drawing(number: int) -> float:
    return torch.rand(1).item() * number


@functools.lru_cache
def raising(number: int) -> int:
    LOG.append(number)
    raise ValueError(number)


@functools.lru_cache
def raising_unseen(number: int) -> int:
    append_unseen()
    raise KeyError(number)


@functools.lru_cache
def telling(number: int) -> int:
    print("the cached function")
    return number


@functools.lru_cache(maxsize=0)
def keeping_nothing(number: int) -> int:
    LOG.append(number)
    return number


@functools.lru_cache(maxsize=1)
def keeping_one(number: int) -> int:
    LOG.append(number)
    return number


EFFECTS: dict[str, tuple[Callable[..., Any], Callable[[], Any]]] = {
    "append": (by_append, lambda: len(LOG)),
    "a helper": (by_a_helper, lambda: len(LOG)),
    "a disabled helper": (by_a_disabled_helper, lambda: len(LOG)),
    "another cache": (by_another_cache, lambda: len(LOG)),
    "an item": (by_an_item, lambda: COUNTS["n"]),
    "an update": (by_an_update, lambda: COUNTS["n"]),
    "a deque": (by_a_deque, lambda: len(STEPS)),
    "a global": (by_a_global, lambda: TOTAL),
    "a class": (by_a_class, lambda: Counter.made),
    "setattr": (by_setattr, lambda: Counter.made),
    "an attribute": (by_an_attribute, lambda: MODULE.count),
    "a method": (by_a_method, lambda: COUNTER.count),
    "a call": (by_a_call, lambda: COUNTER.count),
    "a name": (by_a_name, lambda: COUNTER.count),
    "a table": (by_a_table, lambda: COUNTER.count),
    "an iterator": (by_an_iterator, lambda: next(NUMBERS)),
    "a loop": (by_a_loop, lambda: next(NUMBERS)),
    "an inner function": (by_an_inner_function, lambda: len(LOG)),
    "in place": (in_place, lambda: TENSOR.item()),
    "drawing": (drawing, lambda: torch.rand(1).item()),
    "raising": (raising, lambda: len(LOG)),
    "raising, unseen": (raising_unseen, lambda: len(LOG)),
    "telling": (telling, lambda: print("the program")),
    "keeping nothing": (keeping_nothing, lambda: len(LOG)),
    "keeping one": (keeping_one, lambda: len(LOG)),
    "of an object": (COUNTER.kept, lambda: COUNTER.count),
}


def ask(cached: Callable[[int], Any], number: int) -> Any:
    try:
        return cached(number)
    except (ValueError, KeyError) as error:
        return error.args[0]


def read_before_and_after(name: str, x: torch.Tensor) -> object:
    cached, read = EFFECTS[name]
    before = read()
    found = ask(cached, 1)
    return x + found, before, read(), x + (before or 0)


def asked_thrice(name: str, x: torch.Tensor) -> object:
    cached, read = EFFECTS[name]
    return x * (ask(cached, 2) + ask(cached, 1) + ask(cached, 2)), read()


def written_too(name: str, x: torch.Tensor) -> object:
    cached, read = EFFECTS[name]
    LOG.append(5)
    COUNTER.count += 1
    return x + ask(cached, 1), read()


@pytest.mark.parametrize(
    "program", [read_before_and_after, asked_thrice, written_too], ids=lambda p: p.__name__
)
@pytest.mark.parametrize("name", EFFECTS)
def test_effects_come_when_eager_has_them(
    name: str, program: Callable[..., object], capsys: pytest.CaptureFixture[str]
) -> None:
    # GRD01, C2: first with an empty cache, then with one that answers, then with one that was cleared
    told = []
    for run in (program, supple.compile(program, backend="eager")):
        World.begin()
        torch.manual_seed(0)
        for number in range(4):
            if number == 2:
                World.forget()
            print(run(name, torch.ones(2)), len(LOG), COUNTS, len(STEPS), TOTAL, Counter.made, COUNTER.count)
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]


def half(number: int) -> int:
    return number // 2


def half_noted(number: int) -> int:
    LOG.append(number)
    return number // 2


@functools.lru_cache
def by_half(number: int) -> int:
    return half(number)


def test_a_helper_that_comes_to_have_effects(monkeypatch: pytest.MonkeyPatch) -> None:
    # GRD01: what the walk over the code has seen is guarded, before the cache is asked
    def program(x: torch.Tensor) -> object:
        return x * by_half(6) + len(LOG), len(LOG)

    def told(run: Callable[[torch.Tensor], object]) -> list[str]:
        World.begin()
        found = []
        for helper in (half, half, half_noted, half_noted, half):
            by_half.cache_clear()
            monkeypatch.setitem(globals(), "half", helper)
            found.append(str(run(torch.ones(2))))
        monkeypatch.undo()
        return found

    assert told(supple.compile(program, backend="eager")) == told(program)


class Config:
    def __init__(self, scale: float) -> None:
        self.scale = scale


TABLE = {"scale": 2.0}


@functools.lru_cache
def of_a_table(name: str) -> float:
    found = [TABLE[name]]
    return found[0]


@functools.lru_cache
def of_its_own_list(number: int) -> int:
    made = [0] * number
    for one in range(number):
        made[one] = one
    made.append(1)
    return sum(made)


@functools.lru_cache
def of_a_new_object(scale: float) -> float:
    return Config(scale).scale


PURE: dict[str, Callable[[], float]] = {
    "a table that it reads": lambda: of_a_table("scale"),
    "a list that it makes": lambda: of_its_own_list(3),
    "an object that it makes": lambda: of_a_new_object(2.0),
}


@pytest.mark.parametrize("name", PURE)
def test_a_cached_function_without_effects_is_no_break(name: str) -> None:
    # a function may change what it makes itself
    compiled = supple.compile(lambda x: x * PURE[name](), backend="eager", fullgraph=True)
    with assert_compiles(1):
        for _ in range(2):
            assert torch.equal(compiled(torch.ones(2)), torch.ones(2) * PURE[name]())


@functools.lru_cache
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@functools.lru_cache
def ones_of(size: int) -> torch.Tensor:
    return torch.ones(size)


@functools.lru_cache
def half_of(size: int) -> int:
    return size // 2


def of_a_tensor(x: torch.Tensor) -> object:
    first = doubled(x)
    x.add_(1)
    return first, doubled(x) is first, doubled(x) + 1


def of_a_size(x: torch.Tensor) -> object:
    first = ones_of(x.shape[0])
    first.add_(1)
    return first + 0, ones_of(x.shape[0]) is first, half_of(x.shape[0])


@pytest.mark.parametrize("is_dynamic", [None, True, False])
@pytest.mark.parametrize("program", [of_a_tensor, of_a_size])
def test_what_a_cache_keeps_is_the_same_object(
    program: Callable[[torch.Tensor], object], is_dynamic: bool | None
) -> None:
    # A17, C2
    found = []
    for run in (program, supple.compile(program, backend="eager", dynamic=is_dynamic)):
        doubled.cache_clear()
        ones_of.cache_clear()
        inputs = [torch.ones(size) for size in (3, 4, 3)]
        found.append(str([run(x) for x in (*inputs, *inputs)]))
    assert found[0] == found[1]


def test_numbers_of_sizes_are_no_break() -> None:
    compiled = supple.compile(
        lambda x: x * half_of(x.shape[0]), backend="eager", dynamic=True, fullgraph=True
    )
    with assert_compiles(1):
        for size in (3, 4, 9):
            assert torch.equal(compiled(torch.ones(size)), torch.ones(size) * (size // 2))
