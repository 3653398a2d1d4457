"""Functions behind `functools.lru_cache`: what a cache gives is guarded, as it may be cleared."""

import functools
import gc
import logging
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple
from supple.testing import assert_compiles
from tests.semantics.harness import Comparison

SETTINGS: dict[str, Any] = {}


@functools.lru_cache
def setting(name: str) -> Any:
    return SETTINGS[name]


@functools.lru_cache
def checked(name: str) -> int:
    if SETTINGS[name] < 0:
        raise ValueError(name)
    return 1


@functools.lru_cache
def drawn(_number: int) -> torch.Tensor:
    raise ValueError(torch.rand(3))


class Model:
    scale = 2.0

    @functools.lru_cache(maxsize=8)  # noqa: B019  # the test ends with it
    def scaled(self, power: int = 1) -> float:
        return self.scale**power


VALUES: dict[str, tuple[Any, ...]] = {
    "numbers": (2, 3, 2.5),
    "texts": ("a", "b"),
    "truths": (True, False),
    "tensors": (torch.ones(2), torch.zeros(2), torch.ones(3)),
    "lists": ([1, 2], [3]),
    "functions": (torch.sin, torch.cos),
    "lambdas": (lambda x: x + 1, lambda x: x * 2),
    "classes": (int, float),
}
PROGRAMS: dict[str, Callable[[torch.Tensor], object]] = {
    "numbers": lambda x: x * setting("value"),
    "texts": lambda x: (x + 1, setting("value") + "!"),
    "truths": lambda x: x + 1 if setting("value") else x - 1,
    "tensors": lambda x: x.sum() + setting("value"),
    "lists": lambda x: x * len(setting("value")) + setting("value")[0],
    "functions": lambda x: setting("value")(x),
    "lambdas": lambda x: setting("value")(x),
    "classes": lambda x: (x + 1, setting("value") is int, setting(name="value")),
}


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("name", VALUES)
def test_a_cache_that_is_cleared_gives_what_it_gives_then(name: str, backend: str) -> None:
    # GRD01
    program = PROGRAMS[name]
    setting.cache_clear()
    compiled = supple.compile(program, backend=backend)
    x = torch.arange(2.0)
    for value in (*VALUES[name], *VALUES[name]):
        SETTINGS["value"] = value
        compiled(x)  # the cache answers
        setting.cache_clear()
        assert Comparison(is_rounded=True).difference(program(x), compiled(x), "result") is None


def test_what_a_cache_keeps_is_compiled_once() -> None:
    SETTINGS["value"] = 3
    setting.cache_clear()
    compiled = supple.compile(PROGRAMS["numbers"], fullgraph=True)
    with assert_compiles(1):
        for _ in range(3):
            compiled(torch.ones(2))
    assert setting.cache_info().misses == 1


def test_a_method_behind_a_cache_is_asked_of_its_object() -> None:
    model, other = Model(), Model()
    other.scale = 3.0
    compiled = supple.compile(lambda model, x: x * model.scaled(power=2), fullgraph=True)
    for one in (model, other, model):
        torch.testing.assert_close(compiled(one, torch.ones(2)), torch.ones(2) * one.scale**2)
    model.scale = 5.0
    assert compiled(model, torch.ones(1)).item() == 4.0
    Model.scaled.cache_clear()
    assert compiled(model, torch.ones(1)).item() == 25.0


def test_what_was_asked_for_ends_with_the_cache() -> None:
    # A17
    compiled = supple.compile(lambda model, x: x * model.scaled(3), fullgraph=True)
    model = Model()
    compiled(model, torch.ones(2))
    ended = weakref.ref(model)
    Model.scaled.cache_clear()
    del model
    gc.collect()
    assert ended() is None
    other = Model()
    other.scale = 3.0
    assert compiled(other, torch.ones(1)).item() == 27.0


def test_answers_for_several_objects_in_one_call() -> None:
    def program(x: torch.Tensor, one: Model, other: Model) -> torch.Tensor:
        return x * one.scaled() + other.scaled(2) * one.scaled(power=3) - other.scaled(power=1)

    one, other = Model(), Model()
    other.scale = 3.0
    compiled = supple.compile(program, fullgraph=True)
    for objects in ((one, other), (other, one), (one, one)):
        assert torch.equal(compiled(torch.ones(2), *objects), program(torch.ones(2), *objects))


def test_a_cache_keeps_no_errors() -> None:
    # RAI
    def program(x: torch.Tensor) -> object:
        try:
            return x * checked("sign")
        except ValueError as error:
            return str(error)

    compiled = supple.compile(program)
    for sign in (-1, 1, -1):
        SETTINGS["sign"] = sign
        checked.cache_clear()
        want = program(torch.ones(2))
        checked.cache_clear()
        assert Comparison(is_rounded=True).difference(want, compiled(torch.ones(2)), "result") is None


def test_what_an_error_of_a_cached_function_drew_is_drawn_once() -> None:
    def program(x: torch.Tensor) -> object:
        try:
            return x * drawn(1)
        except ValueError as error:
            return error.args[0]

    compiled = supple.compile(program)
    for _ in range(3):
        torch.manual_seed(0)
        want = program(torch.ones(2)), torch.rand(2)
        torch.manual_seed(0)
        torch.testing.assert_close((compiled(torch.ones(2)), torch.rand(2)), want)


class Knob:
    """Holds a number."""

    def __init__(self, eps: float) -> None:
        self.eps = eps


KNOB = Knob(0.125)
HOLDER = {"knob": KNOB}


def eps_of_the_knob() -> float:
    return HOLDER["knob"].eps


READERS: dict[str, Callable[..., float]] = {
    "a global": lambda: KNOB.eps,
    "an object in a global": lambda: HOLDER["knob"].eps,
    "a function that is called": lambda: eps_of_the_knob() + 0,
    "a function in it": lambda: (lambda: KNOB.eps)(),
    "an argument": lambda one=KNOB: one.eps,
}


@pytest.mark.parametrize("is_dynamic", [True, False])
@pytest.mark.parametrize("reader", READERS)
def test_a_cached_function_reads_what_a_later_call_writes(reader: str, is_dynamic: bool) -> None:
    cached = functools.lru_cache(READERS[reader])

    def program(knob: Knob, x: torch.Tensor) -> object:
        knob.eps += 0.5
        return x * cached()

    compiled = supple.compile(program, backend="eager", dynamic=is_dynamic)
    found = []
    for run in (program, compiled):
        KNOB.eps = 0.125
        cached.cache_clear()
        run(Knob(0.125), torch.ones(1))
        cached.cache_clear()
        KNOB.eps = 0.125
        found.append([run(KNOB, torch.ones(1)), KNOB.eps])
    assert found[0] == found[1]


@functools.lru_cache
def told_once(logger: logging.Logger, text: str) -> None:
    logger.debug(text)


def test_a_logger_is_told_once_after_a_write() -> None:
    def program(knob: Knob, x: torch.Tensor) -> torch.Tensor:
        knob.eps += 0.5
        told_once(LOGGER, "text")
        return x * knob.eps

    compiled = supple.compile(program, backend="eager", fullgraph=True)
    for _ in range(2):
        assert compiled(Knob(0.5), torch.ones(1)).item() == 1


LOGGER = logging.getLogger(__name__)
RATE = 2


def rate() -> float:
    return RATE


@functools.lru_cache
def twice_the_rate() -> float:
    return rate() * 2


def test_a_cached_function_calls_one_that_reads_a_written_variable() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        global RATE
        RATE += 1
        return x * twice_the_rate()

    compiled = supple.compile(program, backend="eager")
    for _ in range(3):
        twice_the_rate.cache_clear()
        x = compiled(torch.ones(1))
        assert x.item() == RATE * 2
