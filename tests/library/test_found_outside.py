"""What programs from outside found; what is not right yet is expected to fail, strictly (`PENDING`).

Each case is a function of no arguments that gives what a program makes, compiled by what it gets.
"""

import builtins
import collections
import copy
import functools
import inspect
import math
import types
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

import supple
from supple.base.config import config

Compiler = Callable[..., Callable[..., Any]]
CASES: dict[str, Callable[[Compiler], object]] = {}


def outside(function: Callable[[Compiler], object]) -> Callable[[Compiler], object]:
    CASES[function.__name__] = function
    return function


def x() -> torch.Tensor:
    return torch.ones(2)


@outside
def a_pad_that_is_nothing(compiled: Compiler) -> object:
    def program(t, n):
        made = F.pad(t, (0, n))
        return made.stride(), made.as_strided((2,), (made.stride(0),)).tolist()

    run, given = compiled(program), torch.arange(12.0).view(6, 2).t()
    return [run(given, n) for n in (1, 2, 0)]


@outside
def a_piece_that_is_empty(compiled: Compiler) -> object:
    def program(t, n):
        made = torch.cat([t[:n], t])
        return made.stride(), made.is_contiguous()

    run = compiled(program)
    given = torch.arange(48.0).view(2, 2, 4, 3).contiguous(memory_format=torch.channels_last)
    return [run(given, n) for n in (1, 2, 0)]


@outside
def a_roll_by_nothing(compiled: Compiler) -> object:
    run = compiled(lambda t, n: t.roll(n, -1).stride())
    given = torch.arange(48.0).view(2, 2, 4, 3).contiguous(memory_format=torch.channels_last)
    return [run(given, n) for n in (1, 2, 0)]


@outside
def a_view_of_a_size_that_is_one(compiled: Compiler) -> object:
    """The result of flatten is taken for a copy, so that `contiguous` of it is taken to be itself."""

    def program(t):
        shown = t.flatten(-2)
        shown.contiguous().zero_()
        return shown.sum().item()

    run = compiled(program)
    return [run(torch.arange(12.0 * n).view(n, 3, 4).transpose(0, 2)) for n in (2, 3, 1)]


@outside
def unsafe_chunks(compiled: Compiler) -> object:
    given = torch.arange(12.0).view(3, 4)
    made = compiled(lambda t: t.unsafe_chunk(2, 1))(given)
    return [(one.stride(), one.data_ptr() - given.data_ptr()) for one in made]


@outside
def a_slice_beyond_64_bits(compiled: Compiler) -> object:
    run = compiled(lambda t, n: t[n : n + 2])
    return [run(torch.arange(3.0), n).tolist() for n in (1, 0, 2**63 - 1)]


@outside
def a_gradient_of_a_gradient_is_no_view(compiled: Compiler) -> object:
    def program(t):
        (slope,) = torch.autograd.grad(t.exp().sum(), t, create_graph=True)
        return torch.autograd.grad(slope.sum(), t, create_graph=True)[0]

    return compiled(program)(torch.zeros(2, requires_grad=True))._base is None


@outside
def a_copy_of_an_object_of_slots(compiled: Compiler) -> object:
    class Slotted:
        __slots__ = ("a",)

        def __init__(self):
            self.a = 1

    return compiled(lambda o, t: (copy.copy(o).a, t))(Slotted(), x())[0]


@outside
def a_deep_copy_of_a_bound_method(compiled: Compiler) -> object:
    class Steps:
        def __init__(self):
            self.n, self.step = 0, self.count

        def count(self):
            self.n += 1

    def program(o, t):
        twin = copy.deepcopy(o)
        twin.step()
        return twin.n, o.n, t

    return compiled(program)(Steps(), x())[:2]


BODIES: list[str] = []


@functools.lru_cache
def cached(items):
    BODIES.append("body")
    return len(items)


@outside
def a_cache_of_what_has_no_hash(compiled: Compiler) -> object:
    def program(items, t):
        try:
            return cached(items), t
        except TypeError as error:
            return str(error), t

    BODIES.clear()
    return compiled(program)([1], x())[0], list(BODIES)


@outside
def a_deque_that_says_what_it_holds(compiled: Compiler) -> object:
    class Tens(collections.deque):
        def __iter__(self):
            return iter([10 * one for one in super().__iter__()])

    return compiled(lambda o, t: (list(o), sum(o), t))(Tens([1, 2]), x())[:2]


@outside
def an_ordered_dict_that_sets_items(compiled: Compiler) -> object:
    class Doubled(collections.OrderedDict):
        def __setitem__(self, key, value):
            super().__setitem__(key, value * 2)

    return dict(compiled(lambda o, t: (o.copy(), t))(Doubled(a=1), x())[0])


@outside
def a_copy_of_a_list_that_appends(compiled: Compiler) -> object:
    class Doubled(list):
        def append(self, item):
            super().append(item * 2)

    return list(compiled(lambda o, t: (copy.copy(o), t))(Doubled([1, 2]), x())[0])


@outside
def a_copy_of_a_tuple_that_is_made_anew(compiled: Compiler) -> object:
    class Row(tuple):
        def __new__(cls, *items):
            return super().__new__(cls, items)

    return tuple(compiled(lambda o, t: (copy.copy(o), t))(Row(1, 2), x())[0])


@outside
def a_list_backwards_past_its_items(compiled: Compiler) -> object:
    class Negative(list):
        def __getitem__(self, index):
            return -super().__getitem__(index)

    return compiled(lambda o, t: (list(reversed(o)), t))(Negative([1, 2]), x())[0]


@outside
def a_set_that_says_what_it_holds(compiled: Compiler) -> object:
    class Nine(set):
        def __iter__(self):
            return iter([9])

    return compiled(lambda o, t: ({*o}, t))(Nine([1]), x())[0]


@outside
def a_mapping_that_is_matched_by_get(compiled: Compiler) -> object:
    class Got(dict):
        def get(self, key, default=None):
            return "got"

    def program(o, t):
        match o:
            case {"a": value}:
                return value, t

    return compiled(program)(Got(a=1), x())[0]


@outside
def a_property_of_ones_own(compiled: Compiler) -> object:
    class Tenfold(property):
        def __get__(self, instance, owner=None):
            return super().__get__(instance, owner) * 10

    class Holder:
        one = Tenfold(lambda self: 1)

    return compiled(lambda o, t: (o.one, t))(Holder(), x())[0]


@outside
def an_iterator_that_begins_again(compiled: Compiler) -> object:
    class Again:
        def __iter__(self):
            self.i = 0
            return self

        def __next__(self):
            self.i += 1
            if self.i > 2:
                raise StopIteration
            return self.i

    def program(o, t):
        a, *b = o
        return a, b, t

    return compiled(program)(Again(), x())[:2]


@outside
def a_number_that_multiplies_lists(compiled: Compiler) -> object:
    class Count(int):
        def __rmul__(self, other):
            return "rmul"

    return compiled(lambda o, t: (o * [0], t))(Count(2), x())[0]


@outside
def a_mode_of_the_program_sees_its_calls_alone(compiled: Compiler) -> object:
    seen: list[str] = []

    class Log(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.append(function.__name__)
            return function(*args, **(kwargs or {}))

    run = compiled(lambda t: t.sin())
    with Log():
        run(x())
    return seen


@outside
def a_tensor_class_sees_its_calls_alone(compiled: Compiler) -> object:
    seen: list[str] = []

    class Tag(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            seen.append(function.__name__)
            return super().__torch_function__(function, types, args, kwargs or {})

    run = compiled(lambda t: t + 1)
    run(x())
    run(x().as_subclass(Tag))
    return seen


@outside
def a_spread_of_large_numbers(compiled: Compiler) -> object:
    spread = compiled(lambda t: t.std())(torch.tensor([-0.0, 1e38, -1e38, 1e-40]))
    return math.isfinite(spread.item())


class Noticed:
    """A key that notes what is asked of it."""

    asked: list[str] = []  # noqa: RUF012  # one for all

    def __init__(self, number):
        self.number = number

    def __hash__(self):
        Noticed.asked.append("hash")
        return hash(self.number)

    def __eq__(self, other):
        Noticed.asked.append("eq")
        return self.number == other.number


BY_NOTICED: dict[Any, Any] = {Noticed(1): 1}
LOOKUPS: dict[str, Callable[[Any], object]] = {
    "item": lambda x: (x * BY_NOTICED[Noticed(1)], len(Noticed.asked)),
    "in": lambda x: (x, Noticed(1) in BY_NOTICED),
    "get": lambda x: (x, BY_NOTICED.get(Noticed(5))),
    "set": lambda x: (x, BY_NOTICED.__setitem__(Noticed(2), 2), BY_NOTICED.pop(Noticed(2))),
    "length": lambda x: (x, len(BY_NOTICED)),
    "values": lambda x: x * next(iter(BY_NOTICED.values())),
    "keys": lambda x: (x, [one.number for one in BY_NOTICED]),
    "a copy": lambda x: (x, dict(BY_NOTICED)[Noticed(1)]),
    "a set": lambda x: (x, len({Noticed(1), Noticed(1)})),
}


@outside
def keys_that_notice(compiled: Compiler) -> object:
    seen = []
    for lookup in LOOKUPS.values():
        run = compiled(lookup)
        for _ in range(2):
            Noticed.asked.clear()
            seen.append((str(run(x())), *Noticed.asked))
    return seen


@outside
def a_nan_that_is_another(compiled: Compiler) -> object:
    known = math.nan
    run = compiled(lambda t, v: (t, v is known, v in [known], (v,) == (known,), len({known, v}), v == v))
    return [run(x(), one)[1:] for one in (known, float("nan"), known, 1.0, float("nan"))]


@outside
def a_name_that_builtins_come_to_have(compiled: Compiler) -> object:
    def program(t):
        try:
            return t * NAMED_LATER  # it is not, at first
        except NameError:
            return t * 5

    run = compiled(program)
    found = [run(x()).tolist()]
    builtins.NAMED_LATER = 3
    try:
        return [*found, run(x()).tolist()]
    finally:
        del builtins.NAMED_LATER


QUOTIENTS: tuple[Callable[[Any, Any], object], ...] = (
    lambda t, i: t * (2 / int(i.argmax())),
    lambda t, i: t * (1.5 / i.argmax().item()),
    lambda t, i: t * (2 / float(i.argmax().item())),
    lambda t, i: (2 / int(i.argmax()), t)[1],
    lambda t, i: t if 2 / int(i.argmax()) > 1 else -t,
    lambda t, i: t.fill_(2 / int(i.argmax())),
    lambda t, i: t * (2 // int(i.argmax())) + 7 % int(i.argmax()),
)


@outside
def a_quotient_by_what_a_tensor_holds(compiled: Compiler) -> object:
    found = []
    for quotient in QUOTIENTS:
        run = compiled(quotient)
        for numbers in ([1, 2, 3], [1, 3, 3], [9, 2, 3], [0, 0, 0]):
            try:
                found.append(str(run(x(), torch.tensor(numbers))))
            except ZeroDivisionError as error:
                found.append(str(error))
    return found


@outside
def complex_numbers_beside_real_ones(compiled: Compiler) -> object:
    found = [compiled(lambda t: torch.complex(t, t) * (1 + 2j))(x())]
    found += [compiled(lambda t, n, c: torch.full((n,), c) * torch.complex(t[:n], t[:n]))(x(), 2, 1j)]
    found += compiled(lambda t, c: (t == 1j, t != c, t == c))(x(), 1j)
    return str(found)


@outside
def an_integer_that_does_not_fit_beside_a_tensor(compiled: Compiler) -> object:
    found = []
    for run in (compiled(lambda t, n: n // t), compiled(lambda t, n: n**t), compiled(lambda t, n: n % t)):
        for dtype, number in ((torch.int8, 3), (torch.int8, 300), (torch.uint8, 300), (torch.int16, 40000)):
            found.append(run(torch.tensor([2, 5], dtype=dtype), number).tolist())
    return found


def _rows(*sizes: int) -> torch.Tensor:
    return torch.zeros(sizes)


def _last(*sizes: int) -> torch.Tensor:
    return torch.zeros(sizes).to(memory_format=torch.channels_last, copy=True)


FORMATS: tuple[Callable[[Any], Any], ...] = (
    lambda t: t.contiguous(memory_format=torch.channels_last),
    lambda t: t.to(memory_format=torch.channels_last),
    lambda t: t.to(torch.float32, memory_format=torch.contiguous_format),
    lambda t: t.float(memory_format=torch.channels_last),
)


@outside
def a_format_of_a_size_that_is_one(compiled: Compiler) -> object:
    found = []
    for formatted in FORMATS:
        run = compiled(lambda t, formatted=formatted: (formatted(t).add_(1), formatted(t) is t)[1])
        for make, *sizes in (
            (_rows, 2, 3, 4, 5), (_last, 2, 3, 1, 1), (_rows, 2, 1, 4, 5), (_last, 2, 1, 4, 5),
            (_rows, 2, 1, 4, 5), (_last, 2, 3, 4, 5), (_rows, 2, 1, 1, 5), (_last, 1, 3, 4, 5),
        ):  # fmt: skip
            given = make(*sizes)
            found.append((run(given), given.sum().item()))
    return found


LIMIT = 2


@functools.lru_cache
def limited(size: int) -> int:
    return size * LIMIT


@outside
def a_cache_that_keeps_what_it_made_of_a_variable(compiled: Compiler) -> object:
    global LIMIT
    limited.cache_clear()
    run, found = compiled(lambda t: t * limited(t.shape[0])), []
    for limit, size in enumerate((3, 3, 3, 4, 4, 3), 2):
        LIMIT = limit
        found.append(run(torch.ones(size)).tolist())
    return found


SETS: tuple[Callable[[], Any], ...] = (
    lambda: {0, 10, 5, 7} ^ {10, 20},
    lambda: {8, 0, 16, 24, 32},
    lambda: {5, 13, 21} | {29, 37},
    lambda: {8, 0, 16, 24, 32} - {0},
    lambda: frozenset({8, 0, 16, 24, 32}),
    lambda: set({8: 1, 0: 1, 16: 1, 24: 1, 32: 1}),
)


@outside
def the_order_of_a_set_of_integers(compiled: Compiler) -> object:
    return [compiled(lambda t, made=made: (t + 1, list(made())))(x())[1] for made in SETS]


@outside
def views_of_a_mapping_proxy(compiled: Compiler) -> object:
    proxy = types.MappingProxyType({"a": 1})
    return str(compiled(lambda t: (t + 1, proxy.keys(), proxy.items(), proxy.values()))(x()))


@outside
def a_dropout_of_nothing(compiled: Compiler) -> object:
    run = compiled(lambda t: F.dropout(t, 0.5, training=True) is t)
    return [run(torch.ones(size)) for size in (3, 0, 0)]


@outside
def what_is_row_major_where_a_size_is_one(compiled: Compiler) -> object:
    run = compiled(lambda t: t.contiguous() is t)
    return [run(torch.ones(2, *sizes).transpose(1, 2)) for sizes in ((3, 4), (5, 6), (1, 4), (3, 1), (0, 3))]


@outside
def hooks_that_change_what_is_saved(compiled: Compiler) -> object:
    run = compiled(lambda t, w: (t @ w).relu() * 2)
    t, w = torch.ones(3, 3, requires_grad=True), torch.ones(3, 2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda one: one.clone() * 2, lambda one: one):
        made = run(t, w)
    made.sum().backward()
    return t.grad.tolist()


@outside
def a_generator_that_is_asked_for_its_state(compiled: Compiler) -> object:
    def given():
        yield from [1, 2]

    def program(t):
        made = given()
        next(made)
        inner = made.gi_yieldfrom is not None
        return t + 1, inner, list(made), made.gi_frame is None, inspect.getgeneratorstate(made)

    return compiled(program)(x())[1:]


@outside
def a_pattern_with_a_name_twice(compiled: Compiler) -> object:
    class Doubled:
        __match_args__ = ("b", "b")
        b = 1

    def program(t, one):
        match one:
            case Doubled(first, _):
                return t + first

    try:
        return compiled(program)(x(), Doubled()).tolist()
    except TypeError as error:
        return str(error)


@outside
def a_reshaped_tensor_that_is_written_behind_a_break(compiled: Compiler) -> object:
    def program(t):
        shown = t.flatten(-2)
        supple.graph_break()
        shown.zero_()

    run, found = compiled(program), []
    for size in (2, 3, 1):
        given = torch.arange(12.0 * size).view(size, 3, 4).transpose(0, 2)
        run(given)
        found.append(given.sum().item())
    return found


PENDING = frozenset(
    "a_nan_that_is_another "
    "a_dropout_of_nothing "
    "hooks_that_change_what_is_saved "
    "a_generator_that_is_asked_for_its_state "
    "a_pad_that_is_nothing a_slice_beyond_64_bits "
    "a_gradient_of_a_gradient_is_no_view "
    "an_ordered_dict_that_sets_items "
    "a_mode_of_the_program_sees_its_calls_alone a_tensor_class_sees_its_calls_alone "
    "a_spread_of_large_numbers".split()
)


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=[pytest.mark.xfail(strict=True)] if one in PENDING else []) for one in CASES],
)
def test_compiled_as_in_eager(name: str) -> None:
    def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
        return supple.compile(function, backend="native")

    with config.patch(suppress_errors=False):
        want = CASES[name](lambda function: function)
        assert CASES[name](compiled) == want
