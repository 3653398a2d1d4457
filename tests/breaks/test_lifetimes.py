"""Objects of the program live as long as in eager: nothing of the compiler holds them, also behind breaks."""

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import supple
from supple.base import events


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Box:
    count = 0
    scale = 2.0


def counted(x: torch.Tensor, box: Box, stops: int) -> torch.Tensor:
    box.count += 1
    for _ in range(stops):
        supple.graph_break()
    return x * box.scale


@pytest.mark.usefixtures("without_collector")
@pytest.mark.parametrize("stops", [0, 1, 3])
@pytest.mark.parametrize("dynamic", [None, True])
def test_arguments_are_free_after_the_call_that_compiles(stops: int, dynamic: bool | None) -> None:
    run = supple.compile(counted, backend="eager", dynamic=dynamic)
    for size in (3, 4, 3):
        x, box = torch.ones(size), Box()
        alive: list[Any] = [weakref.ref(x), weakref.ref(box)]
        run(x, box, stops)
        del x, box
        assert [one() for one in alive] == [None, None]


def refused(x: torch.Tensor, box: Box) -> float:
    supple.graph_break()
    return float(np.int64()) + box.scale


@pytest.mark.usefixtures("without_collector")
def test_arguments_are_free_when_a_break_came_of_an_error_of_capture() -> None:
    run = supple.compile(refused, backend="eager")
    x, box = torch.ones(3), Box()
    alive: list[Any] = [weakref.ref(x), weakref.ref(box)]
    run(x, box)
    del x, box
    assert [one() for one in alive] == [None, None]


def released(x: torch.Tensor, seen: list[Any]) -> torch.Tensor:
    y = x * 2
    seen.append(weakref.ref(y))
    z = y.sum()
    del y
    supple.graph_break()
    seen.append(seen[0]() is None)
    return z + 1


@pytest.mark.usefixtures("without_collector")
def test_what_was_made_before_a_break_is_free_behind_it() -> None:
    run = supple.compile(released, backend="eager")
    for _ in range(3):
        seen: list[Any] = []
        run(torch.ones(3), seen)
        assert seen[1:] == [True]


class Ending:
    """Computes when the collector finds it, by an operator and by compiled code."""

    def __init__(self, found: list[torch.Tensor]) -> None:
        self.found, self.own = found, self

    def __del__(self) -> None:
        self.found.append(torch.ones(3) + 1)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("soon", [100, 300, 1000, 3000])
def test_a_finalizer_that_runs_while_something_is_compiled_computes_numbers(
    backend: str, requires_grad: bool, soon: int
) -> None:
    found: list[torch.Tensor] = []

    def program(x: torch.Tensor) -> torch.Tensor:
        for _ in range(50):
            x = x.sin() * 2
        return x.sum()

    def listener(event: events.Event) -> None:
        if isinstance(event, events.GraphCaptured):
            gc.collect()
            Ending(found)
            gc.set_threshold(soon)

    before, stop = gc.get_threshold(), events.listen(listener)
    try:
        supple.compile(program, backend=backend)(torch.ones(4, 4, requires_grad=requires_grad))
    finally:
        stop()
        gc.set_threshold(*before)
    gc.collect()
    assert [(type(one), one.tolist()) for one in found] == [(torch.Tensor, [2, 2, 2])]
