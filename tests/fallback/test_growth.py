"""A process that compiles and forgets does not grow: what was compiled for a function goes with it."""

import gc
import json
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import pytest
import torch

import supple
from supple.base.memo import OBJECTS, memo, of_object
from supple.codegen import backend
from supple.runtime.link import OBJECTS_PER_ENGINE
from tests.fallback.growing import KINDS

COUNT = 40
OTHERS = 6
"""torch.fx leaves five objects for a graph that it was asked to show."""
EACH_KB = 40
"""The allocator keeps some at first; later it is less than 2 kB."""


def grown(warm: int, count: int, *kinds: str) -> dict[str, Any]:
    """Return, by kind, what a new process has more of after `count` functions than after `warm` of them."""
    command = [sys.executable, "-m", "tests.fallback.growing", str(warm), str(count), *kinds]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def forty() -> dict[str, Any]:
    return grown(10, COUNT, *KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_stays_of_what_was_compiled(kind: str, forty: dict[str, Any]) -> None:
    found = forty[kind]
    others = found["more"].pop("other", 0)
    assert found["more"] == {}
    assert others < COUNT * OTHERS
    assert found["kb"] < COUNT * EACH_KB


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_functions(kind: str) -> None:
    # The allocator and bounded tables reach their size in the first thousand.
    assert grown(1000, 1000, kind)[kind]["kb"] < 2048


def test_machine_code_goes_with_the_last_function_that_uses_it() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return (x * 1.375).sin() + 4.5

    first, second = supple.compile(program), supple.compile(lambda x: (x * 1.375).sin() + 4.5)
    x = torch.randn(5)
    wanted = program(x)
    torch.testing.assert_close(first(x), wanted)
    torch.testing.assert_close(second(x), wanted)
    del first
    gc.collect()
    torch.testing.assert_close(second(x), wanted)


def test_code_runs_in_a_finalizer_of_the_same_garbage() -> None:
    """The collector calls all finalizers before it frees anything, in no order that we could choose."""

    class Last:
        def __init__(self) -> None:
            self.itself = self
            self.compiled = supple.compile(lambda x: (x * 2.625).cos() + 1)
            self.compiled(torch.ones(3))

        def __del__(self) -> None:
            results.append(self.compiled(torch.ones(3)))

    results: list[torch.Tensor] = []
    for _ in range(5):
        Last()
    gc.collect()
    wanted = (torch.ones(3) * 2.625).cos() + 1
    assert len(results) == 5
    for result in results:
        torch.testing.assert_close(result, wanted)


def test_threads_call_functions_that_others_drop() -> None:
    shared: list[Callable[..., torch.Tensor]] = [supple.compile(lambda x: x * 2 + 1)]
    wrong: list[object] = []
    x = torch.randn(1000)
    is_over = threading.Event()

    def calls() -> None:
        while not is_over.is_set():
            result = shared[0](x)
            if not torch.equal(result, x * 2 + 1):
                wrong.append(result)

    threads = [threading.Thread(target=calls) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(2 * OBJECTS_PER_ENGINE):
        shared[0] = supple.compile(lambda x: x * 2 + 1)
        supple.reset()
        gc.collect(0)
    is_over.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_code_that_is_being_freed_is_not_given_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread may ask for the same code meanwhile: what frees it lets other threads run."""
    x = torch.ones(3)
    again: list[Callable[..., torch.Tensor]] = []

    def compiled() -> Callable[..., torch.Tensor]:
        found = supple.compile(lambda x: (x * 3.375).cos() + 7)
        found(x)
        return found

    def free_later(tracker: llvm.ResourceTracker) -> None:
        if not again:
            again.append(compiled())
        free(tracker)

    first = compiled()
    free = llvm.ResourceTracker.close
    monkeypatch.setattr(llvm.ResourceTracker, "close", free_later)
    del first
    supple.reset()
    gc.collect()
    assert again, "the code was not freed"
    torch.testing.assert_close(again[0](x), (x * 3.375).cos() + 7)


def test_code_runs_while_the_interpreter_ends() -> None:
    program = """
import atexit, sys, torch, supple
compiled = supple.compile(lambda x: (x * 2.625).cos() + 1)
x = torch.ones(3)
compiled(x)
atexit.register(lambda: print(tuple(compiled(x).shape)))
sys.compiled = compiled  # it outlives all modules
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "(3,)\n", "")


def test_a_compiler_remembers_so_many_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supple.codegen.cpu.jit.KERNELS", 3)
    supple.reset()
    for number in range(6):
        supple.compile(eval(f"lambda x: (x * {number}.5).sin()"))(torch.ones(3))
    assert len(vars(backend.host_compiler())["_known"]) == 3


class Thing:
    """Something that can be referred to weakly."""


def test_an_answer_about_an_object_goes_with_the_object() -> None:
    asked: list[Thing] = []

    @of_object
    def answer(thing: Thing) -> Thing:
        asked.append(thing)
        return Thing()

    thing = Thing()
    first = weakref.ref(answer(thing))
    assert answer(thing) is first()
    assert len(asked) == 1
    asked.clear()
    del thing
    assert first() is None


def test_answers_about_objects_are_bounded() -> None:
    @of_object
    def answer(thing: Thing) -> Thing:
        return Thing()

    things = [Thing() for _ in range(OBJECTS + 5)]
    first = weakref.ref(answer(things[0]))
    for thing in things:
        answer(thing)
    assert first() is None


def test_reset_empties_memo_tables() -> None:
    @memo(8)
    def answer(number: int) -> Thing:
        return Thing()

    first = weakref.ref(answer(1))
    assert first() is answer(1)
    supple.reset()
    assert first() is None
