"""Functions of module math of sizes and floats that vary, and torch.tensor of lists that hold them."""

import math
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple
from tests.guards.change import Pair, same

SMOOTH = "sqrt sin cos exp expm1 log log2 log10 log1p tanh atan erf erfc floor ceil trunc fabs".split()
OTHERS = "tan asin acos cosh factorial isqrt gamma lgamma degrees radians isnan isinf isfinite frexp".split()
FLOATS = (0.25, 0.5, 0.75, 0.125)


def outcome(program: Callable[..., object], *args: object) -> object:
    try:
        return program(*args)
    except (ValueError, OverflowError, TypeError, ZeroDivisionError) as error:
        return type(error).__name__, str(error)


def agree(program: Callable[..., object], *values: Any, most: int | None = None) -> None:
    """Assert that a compiled program does what eager does for each value, with at most so many graphs."""
    compiled = supple.compile(program, backend="eager")
    for value in values:
        args = value if isinstance(value, tuple) else (value,)
        expected, found = outcome(program, *args), outcome(compiled, *args)
        assert same(found, expected), (value, found, expected)
    graphs, breaks = supple.stats()["graphs"], supple.stats()["breaks"]
    assert most is None or (isinstance(graphs, int) and graphs <= most and breaks == 0), (graphs, breaks)


def of_sizes(function: Callable[[int], Any]) -> Callable[[torch.Tensor], object]:
    return lambda x: (x * 2, function(x.shape[0]))


@pytest.mark.parametrize("name", SMOOTH)
def test_a_function_of_numbers_is_one_graph_for_all_of_them(name: str) -> None:
    function = getattr(math, name)
    agree(of_sizes(function), *(torch.ones(size, 2) for size in (3, 5, 8, 13)), most=2)
    supple.reset()
    if name not in ("floor", "ceil", "trunc"):
        agree(lambda x, s: x * function(s), *((torch.ones(2), s) for s in FLOATS), most=2)


@pytest.mark.parametrize("name", [*SMOOTH, *OTHERS])
def test_a_function_raises_outside_of_its_domain_as_in_eager(name: str) -> None:
    function = getattr(math, name)
    values = (*FLOATS, -0.5, 0.0, -0.0, -1.0, 800.0, -800.0, math.inf, -math.inf, math.nan, 0.3)
    agree(lambda x, s: (x + 1, function(s)), *((torch.ones(2), s) for s in values))


PAIRS: dict[str, Callable[[Any, Any], object]] = {
    "pow": math.pow,
    "log": math.log,
    "hypot": math.hypot,
    "fmod": math.fmod,
    "copysign": math.copysign,
    "isclose": math.isclose,
    "atan2": math.atan2,
}


@pytest.mark.parametrize("name", PAIRS)
def test_functions_of_two_numbers_are_those_of_eager(name: str) -> None:
    function = PAIRS[name]
    values = [
        (0.9, 1.0),
        (0.9, 2.0),
        (0.9, 3.0),
        (2.5, 3.0),
        (1.0, 1.0),
        (-2.0, 3.0),
        (-2.0, 0.5),
        (0.0, -1.0),
    ]
    agree(lambda x, a, b: (x * 2, function(a, b)), *((torch.ones(2), *pair) for pair in values))


def test_powers_of_a_decay_are_one_graph() -> None:
    agree(lambda x, n: x * math.pow(0.9, n), *((torch.ones(2), n) for n in (1.0, 2.0, 3.0, 4.0)), most=2)
    supple.reset()
    agree(lambda x, n: x * math.pow(0.9, n), *((torch.ones(2), n) for n in (1, 2, 3, 4)), most=4)


def test_products_of_sizes_are_one_graph() -> None:
    shapes = [torch.ones(size, size + 1) for size in (3, 5, 8, 13)]
    agree(lambda x: x.reshape(math.prod(x.shape)), *shapes, most=2)
    supple.reset()
    agree(lambda x: x * math.prod(x.shape, start=2), *shapes, most=2)
    supple.reset()
    agree(lambda x: math.prod([x, x + 1, 2.0], start=x), *shapes[:1], most=1)
    supple.reset()
    agree(lambda x: (x + 1, math.prod([]), math.prod((1.5, 2)), math.prod(iter([2**70, 3]))), *shapes[:1])


def test_strings_are_interned() -> None:
    text = "".join(["a", "bc"])
    Pair(lambda x: x + 1 if sys.intern(text) is sys.intern("abc") else x - 1).agree(torch.ones(2))


X = torch.arange(6.0).reshape(2, 3)
LISTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "tensor": lambda x: torch.tensor([x.sum()]),
    "tensors and numbers": lambda x: torch.tensor([[x.sum(), 1], [2, x[0, 0]]]),
    "integers": lambda x: torch.tensor([x.long().sum(), 1]),
    "integers and floats": lambda x: torch.tensor([x.long().sum(), 1.5]),
    "booleans": lambda x: torch.tensor([x.sum() > 3, True]),
    "booleans and integers": lambda x: torch.tensor([x.sum() > 3, 4]),
    "half": lambda x: torch.tensor([x.half().sum(), x.bfloat16().sum()]),
    "a dtype": lambda x: torch.tensor([x.sum(), 3], dtype=torch.float64),
    "a smaller dtype": lambda x: torch.tensor([x.sum() / 3, 3], dtype=torch.float16),
    "a dtype of integers": lambda x: torch.tensor([x.sum()], dtype=torch.int64),
    "complex": lambda x: torch.tensor([torch.complex(x.sum(), x.sum()), 3]),
    "as_tensor": lambda x: torch.as_tensor((x.sum(), x.max())),
    "new_tensor": lambda x: x.new_tensor([x.sum(), 2.0]),
    "new_tensor of another dtype": lambda x: x.double().new_tensor([x.sum(), 2.0]),
    "sizes": lambda x: torch.tensor([x.shape[0], x.shape[1] * 2]) + 1,
    "a tensor alone": lambda x: torch.as_tensor(x.sum()),
    "numbers of the run": lambda x: torch.tensor([x.long().sum().item(), 3]),
    "no gradient": lambda x: torch.tensor([(x * 2).sum()]) + x.sum(),
    "a leaf": lambda x: torch.tensor([x.detach().sum()], requires_grad=True) * 2,
    "of one element": lambda x: torch.tensor([x[0, :1], x[1, :1]]),
    "ragged": lambda x: torch.tensor([[x.sum()], [1, 2]]),
    "of several elements": lambda x: torch.tensor([x[0], x[1]]),
}


@pytest.mark.filterwarnings("ignore:Converting a tensor")
@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("name", LISTS)
def test_lists_of_tensors_and_numbers_become_tensors(name: str, backend: str) -> None:
    program = LISTS[name]
    compiled = supple.compile(program, backend=backend)
    for x in (X, X * 2.7, X.clone().requires_grad_()):
        assert same(outcome(compiled, x), outcome(program, x)), (outcome(compiled, x), outcome(program, x))


CAPTURED = [
    "tensor", "tensors and numbers", "integers", "integers and floats", "booleans", "a dtype", "as_tensor",
    "new_tensor", "sizes", "numbers of the run", "no gradient",
]  # fmt: skip


@pytest.mark.parametrize("name", CAPTURED)
def test_lists_of_tensors_and_numbers_are_captured(name: str) -> None:
    agree(LISTS[name], X, X * 2, most=1)
