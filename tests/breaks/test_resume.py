"""What is captured around a break, in frames, blocks and loops: as eager, with the graphs that it takes."""

# Exceptions are raised where they are handled: that is what is tested.
# ruff: noqa: TRY301

import contextlib
import functools
import gc
import io
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from typing import cast

import pytest
import torch

import supple
from supple.base import memo
from supple.base.config import config
from supple.capture import points, resume
from supple.capture.bytecode import decode

Function = Callable[[torch.Tensor], object]


def _say(*what: object) -> None:
    """Print this, and the exception that is being handled."""
    print(*what, sys.exc_info()[1])


say = cast("Callable[..., None]", supple.disable(_say))


def in_handlers(x: torch.Tensor) -> object:
    try:
        raise ValueError("a")
    except ValueError as error:
        y = x + 1
        say("in a handler", error)
        z = y * 2
        try:
            raise KeyError("b")
        except KeyError:
            say("nested")
            z = z + 1
            try:
                raise
            except KeyError as again:
                say("again", again)
                z = z * 3
        say("after the nested one")
    say("after all")
    return z


def in_a_loop_with_finally(x: torch.Tensor) -> object:
    for i in range(3):
        try:
            if i == 1:
                raise ValueError(i)
            say(i)
        except ValueError as error:
            say("handled", error)
            x = x * 2
            continue
        finally:
            say("finally", i)
            x = x + 1
    return x


class Manager:
    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> "Manager":
        say("enter", self.name)
        return self

    def __exit__(self, *error: object) -> bool:
        say("exit", self.name, error[0])
        return error[0] is ValueError


def in_with_blocks(x: torch.Tensor) -> object:
    y = x
    with Manager("outer") as manager:
        y = y + 1
        with Manager("inner"):
            say("body")
            y = y * 2
            raise ValueError
        say("suppressed")
    return y + len(manager.name)


def in_a_generator(x: torch.Tensor) -> object:
    def numbers(n: int) -> Iterator[torch.Tensor]:
        for i in range(n):
            say("yields", i)
            yield x + i

    for number in numbers(3):
        x = x + number
    return x


def and_finally_raises(x: torch.Tensor) -> object:
    try:
        say(x.shape)
        raise ValueError("for the caller")
    finally:
        say("finally")


def under_autocast(x: torch.Tensor) -> object:
    with torch.autocast("cpu", torch.bfloat16):
        y = x @ x
        say("inside")
        z = y @ x
    return y, z, x @ x


def add(a: torch.Tensor, b: torch.Tensor, c: int = 1) -> torch.Tensor:
    say("add")
    return a + b * c


class Scale:
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        say("call")
        return x * 2


def in_callables(x: torch.Tensor) -> object:
    partial = functools.partial(add, x, c=3)
    return partial(x) + Scale()(x) + [add(x * i, x) for i in (1, 2)][1]


class Base:
    def go(self, x: torch.Tensor) -> torch.Tensor:
        say("base")
        return x + 1


class Derived(Base):
    def go(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        say("derived")
        return super().go(y) * 2


def in_super(x: torch.Tensor) -> object:
    return Derived().go(x)


class Fields:
    def __init__(self, x: torch.Tensor) -> None:
        self.x = x

    @property
    def half(self) -> torch.Tensor:
        y = self.x / 2
        say("getter")
        if y[0, 0] > 100:
            raise AttributeError("half")
        return y + 1

    def __getitem__(self, key: int) -> torch.Tensor:
        y = self.x * key
        say("item")
        return y + 1

    def __neg__(self) -> torch.Tensor:
        y = self.x - 1
        say("operator")
        return -y


class Wholes(Fields):
    def __getattr__(self, name: str) -> str:
        return f"no {name}"


def in_getters(x: torch.Tensor) -> object:
    return x + Fields(x * 2).half * 2


def in_items(x: torch.Tensor) -> object:
    return x + Fields(x * 2)[3] * 2


def in_operators(x: torch.Tensor) -> object:
    return x + (-Fields(x * 2)) * 2


def in_getters_that_raise(x: torch.Tensor) -> object:
    try:
        return Fields(x + 300).half
    except AttributeError as error:
        # From 3.12 on, CPython notes the name and the object until it has specialised the attribute.
        noted = (error.name, type(error.obj).__name__) if sys.version_info < (3, 12) else ()
        return str(error), noted, x * 2


def in_getters_with_another_way(x: torch.Tensor) -> object:
    return x + Wholes(x * 2).half, Wholes(x + 300).half


def looks_at_itself(x: torch.Tensor) -> object:
    y = x + 1
    unread = 1
    say("before")
    return y, sorted(locals()), unread


PROGRAMS = {
    function.__name__: (function, graphs)
    for function, graphs in (
        (in_handlers, 4),
        (in_a_loop_with_finally, 3),
        (in_with_blocks, 3),
        (in_a_generator, 1),
        (and_finally_raises, 0),
        (under_autocast, 2),
        (in_callables, 6 if sys.version_info < (3, 12) else 5),  # whose comprehensions are no functions
        (in_super, 3),
        (in_getters, 3),
        (in_items, 3),
        (in_operators, 3),
        (in_getters_that_raise, 3),
        (in_getters_with_another_way, 2),
        (looks_at_itself, 0),
    )
}


def outcome(function: Function) -> tuple[object, str]:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        try:
            result: object = str(function(torch.ones(2, 2)))
        except ValueError as error:
            result = repr(error)
    return result, text.getvalue()


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_with_breaks_are_as_eager(name: str) -> None:
    function, graphs = PROGRAMS[name]
    compiled = supple.compile(function, backend="eager")
    with config.patch(suppress_errors=False):
        for _ in range(3):
            assert outcome(compiled) == outcome(function)
    assert supple.stats()["graphs"] == graphs


def test_a_loop_with_a_break_in_it_takes_few_graphs_and_no_stack() -> None:
    def loop(x: torch.Tensor) -> tuple[torch.Tensor, int]:
        n = 0
        while x.sum() < 4000:
            x = x + 1
            n += 1
        return x, n

    x, n = supple.compile(loop, backend="eager")(torch.zeros(2))
    assert (x.tolist(), n) == ([2000.0, 2000.0], 2000)
    found = supple.stats()["graphs"]
    assert isinstance(found, int)
    assert found <= 4


def test_recursion_through_breaks_ends_where_pythons_does() -> None:
    def down(x: torch.Tensor, n: int) -> torch.Tensor:
        supple.graph_break()
        return x if n == 0 else down(x + 1, n - 1) * 1

    compiled = supple.compile(down, backend="eager")
    assert compiled(torch.zeros(1), 20).item() == 20


def test_threads_share_continuations() -> None:
    def work(x: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            x = x * 2
            supple.graph_break()
        return x + 1

    compiled = supple.compile(work, backend="eager")
    results: dict[int, torch.Tensor] = {}

    def run(n: int) -> None:
        for _ in range(20):
            results[n] = compiled(torch.full((2,), float(n)))

    threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {n: x[0].item() for n, x in results.items()} == {n: 8.0 * n + 1 for n in range(4)}


def grows(x: torch.Tensor, k: float) -> torch.Tensor:
    y = x * k
    say("grows", k)
    return y + 1


class Layers(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(2, 2) for _ in range(12)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for number, layer in enumerate(self.layers):
            x = layer(x)
            say("layer", number)
        return x


LAYERS = Layers()


def over_layers(x: torch.Tensor) -> object:
    return LAYERS(x)


def over_dicts_and_pairs(x: torch.Tensor) -> object:
    scales = {"a": 2.0, "b": 3.0}
    seen = []
    for name, scale in scales.items():
        x = grows(x, scale)
        seen.append(name)
    for name in scales:
        x = grows(x, scales[name])
    for left, right in zip([1.5, 2.5], (2, 3), strict=True):
        x = grows(x, left * right)
    for y in map(lambda each: each + 1, [x, x]):
        say("mapped")
        x = x + y
    return x, seen


def in_comprehensions(x: torch.Tensor) -> object:
    return [grows(x, k) for k in (1.5, 2.5)], {k: grows(x, k) for k in (3.5, 4.5)}


def a_list_that_grows(x: torch.Tensor) -> object:
    items = [1]
    for item in items:
        x = grows(x, item)
        if len(items) < 4:
            items.append(item + 1)
    return x, items


def a_dict_that_changes(x: torch.Tensor) -> object:
    table = {"a": 1, "b": 2}
    for name in table:
        x = grows(x, table[name])
        table["c"] = 3
    return x


def an_iterator_with_two_names(x: torch.Tensor) -> object:
    numbers = iter([1, 2, 3, 4, 5])
    pairs = enumerate(numbers)
    for place, number in pairs:
        x = grows(x, number + place)
        x = x + next(numbers, 0)
    return x, list(numbers), list(pairs)


def over_reversed_sequences(x: torch.Tensor) -> object:
    for items in ((1, 2), [3, 4], "ab", range(2)):
        for one in reversed(items):  # type: ignore[call-overload]
            x = grows(x, 2)
            x = x + len(str(one))
    return x


def a_generator_that_waits(x: torch.Tensor) -> object:
    def steps() -> Generator[torch.Tensor, float | None, None]:
        try:
            for number in range(4):
                got = yield x + number
                if got:
                    yield x * got
        finally:
            say("closed")

    taken = steps()
    first = next(taken)
    say("now")
    second = taken.send(5)
    say("then")
    third = next(taken)
    taken.close()
    return first, second, third, list(taken)


LOOPS = {
    function.__name__: (function, graphs)
    for function, graphs in (
        (over_layers, 3),
        (over_dicts_and_pairs, 13),
        (in_comprehensions, 7),
        (a_list_that_grows, 5),
        (a_dict_that_changes, 2),
        (an_iterator_with_two_names, 5),
        (over_reversed_sequences, 9),
        (a_generator_that_waits, 3),
    )
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_with_breaks_are_as_eager(name: str) -> None:
    function, graphs = LOOPS[name]
    compiled = supple.compile(function, backend="eager")

    def both(run: Function) -> tuple[object, str]:
        try:
            return outcome(run)
        except RuntimeError as error:
            return repr(error), ""

    with config.patch(suppress_errors=False):
        for _ in range(3):
            assert both(compiled) == both(function)
    found = supple.stats()["graphs"]
    assert isinstance(found, int)
    assert found <= graphs


class Scaled:
    def __init__(self, x: torch.Tensor, factor: float) -> None:
        self.x = x * factor
        say("scaled", factor)
        self.factor = factor + 1


class Shifted(Scaled):
    def __init__(self, x: torch.Tensor) -> None:
        super().__init__(x + 1, 2.0)
        self.both = (self.x, self)


def in_constructors(x: torch.Tensor) -> object:
    made = Shifted(x + 3)
    return made.x * made.factor, made.both[1] is made


def test_a_break_in_a_constructor_is_left_alone_in_it() -> None:
    compiled = supple.compile(in_constructors, backend="eager")
    with config.patch(suppress_errors=False):
        assert outcome(compiled) == outcome(in_constructors)
    assert [supple.stats()[key] for key in ("graphs", "breaks")] == [2, 1]


def _inner(x: torch.Tensor) -> torch.Tensor:
    return x.sin() * 2


class Outer:
    def run(self, x: torch.Tensor, kept: list[bool]) -> torch.Tensor:
        kept.append(supple.is_compiling())
        for _ in range(2):
            x = _inner(x) + 1
        return x

    disabled = cast("Callable[..., torch.Tensor]", supple.disable(run, recursive=False))


def test_what_a_function_calls_that_is_not_disabled_recursively_is_captured() -> None:
    def program(x: torch.Tensor, kept: list[bool]) -> torch.Tensor:
        return Outer().disabled(x * 2, kept) * 2

    compiled = supple.compile(program, backend="eager")
    kept: list[bool] = []
    for _ in range(2):
        assert torch.equal(compiled(torch.ones(3), kept), program(torch.ones(3), []))
    assert kept == [False, False]
    explanation = supple.explain(program)(torch.ones(3), [])
    assert [len(ops) for ops in explanation.ops_per_graph] == [1, 2, 2, 1]
    assert {one.code for one in explanation.breaks} == {"B103"}


def test_a_continuation_made_again_knows_whose_part_it_is() -> None:
    """Two continuations of one point have equal code; what belongs to one does not end with the other."""

    def program(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        say("a break")
        return y * x

    code = program.__code__
    point = points.point_at(code, 4, ["x"], ())
    first = resume.continued(point)
    memo.forget()
    second = resume.continued(point)
    assert first is not second
    assert first == second
    del first
    gc.collect()
    names = second.co_varnames
    last = len(decode(second).instructions) - 1
    assert points.point_at(second, last, names, (points.Slot.OBJECT,)).code is code
