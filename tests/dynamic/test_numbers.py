"""Numbers that change on every call: arguments, attributes, closure variables, globals, items."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import supple
from tests.dynamic.harness import BACKENDS, MODES, Counted, compiled, difference
from tests.dynamic.programs import floats

INTEGERS = (5, 7, 2, 1, 0, 11, 3)
FLOATS = (0.5, 2.0, -1.25, 0.0, 1.0, 3.14159, 1e-3)


def assert_follows(
    made: Counted, function: Callable[..., Any], calls: list[tuple[Any, ...]], graphs: int
) -> None:
    """Assert eager's results for each call, and at most `graphs` graphs."""
    for args in calls:
        found = difference(function(*args), made.run(*args), 1e-5)
        assert not found, f"{args[1:]}: {found}"
    assert made.graphs <= graphs, supple.stats()["recompile_reasons"]


# Functions of a vector and a non-negative integer.
def arithmetic(x: Tensor, n: int) -> Any:
    return x * n + n // 2 - n % 3, n * n - 1, -n, abs(n - 4), divmod(n, 3), n << 1


def true_division(x: Tensor, n: int) -> Any:
    return x * (n / 4), n / 4, 2.5 * n, n**2


def as_a_size(x: Tensor, n: int) -> Any:
    return torch.zeros(n, 2) + 1, x.new_ones(n + 1), torch.arange(n)


def as_a_bound(x: Tensor, n: int) -> Any:
    return x[:n] * 2, x[n:], x[-n - 1 :].sum()


def as_an_index(x: Tensor, n: int) -> Any:
    return x[n], x[n] + x[-n - 1]


def as_a_shift(x: Tensor, n: int) -> Any:
    return x.roll(n), F.pad(x, (n, 1)), x.repeat(n + 1)


def as_a_fill_value(x: Tensor, n: int) -> Any:
    return torch.full((3,), n), x.masked_fill(x > 0, n), torch.full_like(x, n), x.clamp(max=n)


def as_an_exponent(x: Tensor, n: int) -> Any:
    return torch.arange(4) ** n, torch.arange(4) * n


def in_a_text(x: Tensor, n: int) -> Any:
    return x + n, f"step {n} of {n + 1}"


def in_containers(x: Tensor, n: int) -> Any:
    numbers = {"n": n, "both": [n, n + 1]}
    return x * numbers["both"][1], numbers, (n,)


def as_a_tensor(x: Tensor, n: int) -> Any:
    made = torch.tensor(n), torch.as_tensor(n), torch.tensor(n, dtype=torch.float32), x.new_tensor(n)
    return made, torch.tensor(data=n) + x, torch.tensor(n, dtype=torch.int64)


def as_the_size_of_an_image(x: Tensor, n: int) -> Any:
    image = x[:9].reshape(1, 1, 3, 3)
    small = F.interpolate(image, size=n + 1), F.interpolate(image, (n + 1, 4), mode="bilinear")
    return small, F.interpolate(image, size=[n + 1, 2], mode="nearest-exact")


def minimum_and_maximum(x: Tensor, n: int) -> Any:
    return x[: min(n, 4)], max(n, 3), min(n, x.shape[0])


INTEGER_FUNCTIONS = [
    arithmetic, true_division, as_a_size, as_a_bound, as_an_index, as_a_shift, as_a_fill_value,
    as_an_exponent, in_a_text, in_containers, as_a_tensor, as_the_size_of_an_image, minimum_and_maximum,
]  # fmt: skip


# DYN05
@pytest.mark.parametrize("dynamic", MODES, ids=["dynamic", "default"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", INTEGER_FUNCTIONS)
def test_an_integer_argument_needs_two_graphs(
    function: Callable[..., Any], backend: str, dynamic: bool | None
) -> None:
    calls = [(floats(12), n) for n in INTEGERS]
    assert_follows(compiled(function, backend, dynamic), function, calls, 1 if dynamic else 2)


# Whether a bound of a slice counts from the end is a condition of its own.
@pytest.mark.parametrize(("function", "graphs"), [(arithmetic, 2), (true_division, 2), (as_a_bound, 3)])
def test_a_negative_integer_is_no_new_graph(function: Callable[..., Any], graphs: int) -> None:
    calls = [(floats(12), n) for n in (3, 5, -2, -7, 4)]
    assert_follows(compiled(function, "native", None), function, calls, graphs)


def test_conditions_on_an_integer_make_the_graphs() -> None:
    def function(x: Tensor, n: int) -> Any:
        if n > 4:
            return x * n
        return x - n if n else x / 2

    calls = [(floats(3), n) for n in (6, 9, 5, 3, 2, 0, 0, 100)]
    assert_follows(compiled(function, "eager", True), function, calls, 3)
    assert_follows(compiled(function, "eager", None), function, calls, 4)


def test_an_integer_compared_with_a_size_is_a_relation_not_a_value() -> None:
    def function(x: Tensor, n: int) -> Any:
        return x * 2 if n < x.shape[0] else x + n

    calls = [(floats(size), n) for size, n in ((5, 3), (9, 8), (2, 1), (100, 99), (4, 4), (3, 7))]
    assert_follows(compiled(function, "eager", True), function, calls, 2)


def test_a_loop_over_an_integer_is_a_graph_for_each_count() -> None:
    def function(x: Tensor, n: int) -> Any:
        for i in range(n):
            x = x * 2 + i
        return x + n

    calls = [(floats(3), n) for n in (2, 4, 3, 2, 4)]
    assert_follows(compiled(function, "native", None), function, calls, 3)


@pytest.mark.parametrize("kind", [bool, int, float])
def test_a_number_of_another_class_is_another_graph(kind: Callable[[Any], Any]) -> None:
    def function(x: Tensor, n: Any) -> Any:
        return x * n, type(n) is bool, n

    calls = [(floats(3), kind(n)) for n in (5, 3, 0, 1)] + [(floats(3), other) for other in (2, True, 0.5, 7)]
    made = compiled(function, "native", None)
    for args in calls:
        assert not difference(function(*args), made.run(*args), 1e-5), args


# Functions of a tensor and a float.
def scaled(x: Tensor, s: float) -> Any:
    return x * s + s, s - x, x / (s + 10)


def float_arithmetic(x: Tensor, s: float) -> Any:
    return x * (s * 2 + 1) ** 2, s / 3, -s, abs(s), s + x.shape[0], math.sqrt(abs(s))


def as_a_number_of_operators(x: Tensor, s: float) -> Any:
    y = x.float()
    return y.clamp(min=s), y.add(y, alpha=s), F.leaky_relu(y, s), torch.full((2,), s), y.masked_fill(y > 0, s)


def as_epsilon(x: Tensor, s: float) -> Any:
    return F.layer_norm(x.float(), (4,), eps=abs(s) + 1e-5), torch.where(x > 0, x, s)


def as_a_tensor_of_floats(x: Tensor, s: float) -> Any:
    made = torch.tensor(s), torch.as_tensor(s), torch.tensor(s, dtype=torch.float64), x.new_tensor(s)
    return made, torch.tensor(s, dtype=torch.bfloat16), torch.maximum(x.float(), torch.tensor(s))


FLOAT_FUNCTIONS = [scaled, float_arithmetic, as_a_number_of_operators, as_epsilon, as_a_tensor_of_floats]
DTYPES = [torch.float32, torch.int64, torch.bfloat16, torch.float64, torch.int8]


@pytest.mark.parametrize("dynamic", MODES, ids=["dynamic", "default"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", FLOAT_FUNCTIONS)
def test_a_float_argument_needs_two_graphs(
    function: Callable[..., Any], backend: str, dynamic: bool | None
) -> None:
    calls = [(floats(3, 4), s) for s in FLOATS]
    assert_follows(compiled(function, backend, dynamic), function, calls, 1 if dynamic else 2)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("function", [scaled, as_epsilon])
def test_a_float_scales_each_dtype_as_in_eager(function: Callable[..., Any], dtype: torch.dtype) -> None:
    calls = [((floats(3, 4) * 3).to(dtype), s) for s in FLOATS]
    assert_follows(compiled(function, "native", None), function, calls, 2)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_an_integer_scales_each_dtype_as_in_eager(dtype: torch.dtype) -> None:
    def function(x: Tensor, n: int) -> Any:
        return x * n + n, n - x, x / (n + 1), x // (n + 1)

    calls = [((floats(3, 4) * 3).to(dtype), n) for n in INTEGERS]
    assert_follows(compiled(function, "native", None), function, calls, 2)


@pytest.mark.parametrize("s", [math.inf, -math.inf, math.nan, -0.0, 1e300, 5e-324])
@pytest.mark.parametrize("backend", BACKENDS)
def test_special_floats_are_floats_like_others(backend: str, s: float) -> None:
    def function(x: Tensor, s: float) -> Any:
        return x * s, x + s, torch.full((2,), s, dtype=torch.float64)

    calls = [(floats(3, 4).double(), value) for value in (0.5, 1.5, s, 2.5, s)]
    assert_follows(compiled(function, backend, None), function, calls, 2)


def test_a_float_keeps_its_double_precision() -> None:
    def function(x: Tensor, s: float) -> Any:
        return x * s + 1 / 3, s * 3

    made = compiled(function, "native", None)
    for s in (0.1, 0.2, 1 / 3, 1e-17):
        x = floats(4).double()
        assert not difference(function(x, s), made.run(x, s), 1e-15)


def test_conditions_on_a_float_make_the_graphs() -> None:
    def function(x: Tensor, s: float) -> Any:
        return x * s if s > 0.5 else x - s

    calls = [(floats(3), s) for s in (0.6, 0.7, 0.9, 0.1, 0.3, 2.0)]
    assert_follows(compiled(function, "eager", True), function, calls, 2)
    assert_follows(compiled(function, "eager", None), function, calls, 3)


# Numbers that do not come as arguments.
class Scaled(torch.nn.Module):
    """Multiplies by two of its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 3
        self.scale = 0.5

    def forward(self, x: Tensor) -> Any:
        return x * self.steps + self.scale, x[: self.steps], self.steps + 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_attributes_of_a_module_that_change_need_two_graphs(backend: str) -> None:
    module = Scaled()
    made = compiled(module, backend, None)
    for steps, scale in zip(INTEGERS, FLOATS, strict=True):
        module.steps, module.scale = steps, scale
        x = floats(12)
        assert not difference(module(x), made.run(x), 1e-5)
    assert made.graphs <= 2


class Counting(torch.nn.Module):
    """Counts its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.rate = 1.0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.rate *= 0.5
        return x * self.rate + self.calls


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_module_that_counts_its_calls_needs_two_graphs(backend: str) -> None:
    plain, other = Counting(), Counting()
    made = compiled(other, backend, None)
    for call in range(1, 9):
        assert not difference(plain(floats(4)), made.run(floats(4)), 1e-5)
        assert (type(other.calls), other.calls) == (int, call)
        assert (type(other.rate), other.rate) == (float, plain.rate)
    assert made.graphs <= 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_closure_variable_that_changes_needs_two_graphs(backend: str) -> None:
    steps, scale = 0, 0.0

    def function(x: Tensor) -> Any:
        return x * steps + scale, steps * 2

    made = compiled(function, backend, None)
    for steps, scale in zip(INTEGERS, FLOATS, strict=True):  # noqa: B007  # the function reads them
        assert not difference(function(floats(4)), made.run(floats(4)), 1e-5)
    assert made.graphs <= 2


def test_a_closure_variable_that_the_function_counts_up_needs_two_graphs() -> None:
    count = 0

    def function(x: Tensor) -> Any:
        nonlocal count
        count += 1
        return x * count

    made = compiled(function, "native", None)
    for call in range(1, 7):
        assert torch.equal(made.run(torch.ones(3)), torch.full((3,), float(call)))
        assert count == call
    assert made.graphs <= 2


STEPS = 0
SETTINGS = {"scale": 0.0, "steps": [0]}


def reads_a_global(x: Tensor) -> Any:
    return x * STEPS + STEPS // 2, x[:STEPS]


def counts_a_global(x: Tensor) -> Any:
    global STEPS
    STEPS += 2
    return x + STEPS


def reads_items(x: Tensor) -> Any:
    return x * SETTINGS["scale"] + SETTINGS["steps"][0]


# X-SHP09
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_global_integer_that_changes_needs_two_graphs(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = compiled(reads_a_global, backend, None)
    for n in INTEGERS:
        monkeypatch.setitem(globals(), "STEPS", n)
        assert not difference(reads_a_global(floats(12)), made.run(floats(12)), 1e-5)
    assert made.graphs <= 2


def test_a_global_that_the_function_counts_up_needs_two_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "STEPS", 0)
    made = compiled(counts_a_global, "native", None)
    for call in range(1, 7):
        assert torch.equal(made.run(torch.zeros(2)), torch.full((2,), 2.0 * call))
        assert STEPS == 2 * call
    assert made.graphs <= 2


def test_items_of_a_global_dictionary_that_change_need_two_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    made = compiled(reads_items, "native", None)
    for n, s in zip(INTEGERS, FLOATS, strict=True):
        monkeypatch.setitem(SETTINGS, "scale", s)
        monkeypatch.setitem(SETTINGS, "steps", [n])
        assert not difference(reads_items(floats(4)), made.run(floats(4)), 1e-5)
    assert made.graphs <= 2


def as_dictionary(both: tuple[int, float]) -> dict[str, float]:
    return {"n": both[0], "s": both[1]}


@dataclass
class Settings:
    """Numbers in an object."""

    n: int
    s: float


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("wrap", [list, tuple, as_dictionary])
def test_numbers_in_a_container_that_change_need_two_graphs(wrap: Callable[..., Any], backend: str) -> None:
    def function(x: Tensor, given: Any) -> Any:
        n, s = given.values() if isinstance(given, dict) else given
        return x * n + s, n + 1

    calls = [(floats(4), wrap((n, s))) for n, s in zip(INTEGERS, FLOATS, strict=True)]
    assert_follows(compiled(function, backend, None), function, calls, 2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_numbers_in_an_object_that_change_need_two_graphs(backend: str) -> None:
    def function(x: Tensor, given: Settings) -> Any:
        return x * given.n + given.s, given.n - 1, given.s * 2

    calls = [(floats(4), Settings(n, s)) for n, s in zip(INTEGERS, FLOATS, strict=True)]
    assert_follows(compiled(function, backend, None), function, calls, 2)


def test_a_keyword_and_a_default_that_change_need_two_graphs() -> None:
    def function(x: Tensor, *, n: int = 2, s: float = 0.5) -> Any:
        return x * n + s

    made = compiled(function, "native", None)
    for n, s in zip(INTEGERS, FLOATS, strict=True):
        assert not difference(function(floats(4), n=n, s=s), made.run(floats(4), n=n, s=s), 1e-5)
    assert made.graphs <= 2


def test_only_the_number_that_changed_becomes_dynamic() -> None:
    def function(x: Tensor, n: int, m: int) -> Any:
        return x * n + m

    made = compiled(function, "eager", None)
    for n, m, graphs in ((3, 4, 1), (5, 4, 2), (7, 4, 2), (7, 5, 3), (8, 9, 3)):
        assert not difference(function(floats(4), n, m), made.run(floats(4), n, m), 1e-5)
        assert made.graphs == graphs


def test_gradients_flow_past_numbers_that_change() -> None:
    def function(x: Tensor, n: int, s: float) -> Tensor:
        return (x * n).sin() * s

    made = compiled(function, "native", None)
    for n, s in zip(INTEGERS, FLOATS, strict=True):
        found: list[Any] = []
        for run in (function, made.run):
            x = floats(4).requires_grad_()
            run(x, n, s).sum().backward()
            found.append(x.grad)
        assert not difference(found[0], found[1], 1e-5)
    assert made.graphs <= 2
