"""`autograd.Function`: what `forward` tells its context holds in backward of compiled code."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.autograd import Function

import supple


class Undefined(Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        ctx.set_materialize_grads(False)
        return x * 1, x * 2

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor | None) -> torch.Tensor:
        first, second = grads
        total = torch.ones(2)
        total = total + 100 if first is None else total
        return total + 1000 if second is None else total


class UndefinedBySetup(Function):
    @staticmethod
    def forward(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x * 1, x * 2

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.set_materialize_grads(False)

    backward = Undefined.backward


class Filled(Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        ctx.set_materialize_grads(True)
        return x * 1, x * 2

    @staticmethod
    def backward(ctx: Any, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        return first + 10 * second


class Saved(Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: float) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, None]:
        (x,) = ctx.saved_tensors
        return grad * x * ctx.factor if ctx.needs_input_grad[0] else None, None


class Marked(Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        places = x.argsort()
        ctx.mark_non_differentiable(places)
        return x * 2, places

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
        return grad * 3


FUNCTIONS = {
    "undefined": lambda x: Undefined.apply(x),
    "undefined by setup": lambda x: UndefinedBySetup.apply(x),
    "filled": lambda x: Filled.apply(x),
    "saved": lambda x: (Saved.apply(x, 2.0), x * 3),
    "marked": lambda x: Marked.apply(x),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("used", ["first", "second", "both"])
@pytest.mark.parametrize("is_inside", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_results_that_are_used(name: str, is_inside: bool, used: str, backend: str) -> None:
    function = FUNCTIONS[name]

    def loss(results: Any) -> torch.Tensor:
        first, second = results
        picked = {"first": [first], "second": [second], "both": [first, second]}[used]
        return torch.stack([one.float().sum() for one in picked]).sum()

    def program(x: torch.Tensor) -> Any:
        return loss(function(x)) if is_inside else function(x)

    grads = []
    for run in (program, supple.compile(program, backend=backend)):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        out = run(x)
        out = out if is_inside else loss(out)
        if out.requires_grad:
            out.backward()
        grads.append(x.grad)
    want, got = grads
    assert (got is None) == (want is None)
    assert want is None or torch.equal(got, want)


class _WithoutGradient(torch.autograd.Function):
    """Its result requires a gradient, of which nothing reaches the input that asks for one."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return grads[0] * 3, None


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
def test_a_result_whose_gradient_reaches_nothing_requires_one(backend: str) -> None:
    y = torch.ones(2, requires_grad=True)
    result = supple.compile(_WithoutGradient.apply, backend=backend)(torch.ones(2), y)
    assert result.requires_grad
    result.sum().backward()
    assert y.grad is None


class Same(torch.autograd.Function):
    """A view, which torch knows to be a Function's."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
        return grads[0]


def written_later(x: torch.Tensor) -> object:
    with torch.no_grad():
        y = Same.apply(x)
    return y.add_(2)


def read_later(x: torch.Tensor) -> object:
    with torch.no_grad():
        y = Same.apply(x)
    return y * 2


def written_without_gradients(x: torch.Tensor) -> object:
    with torch.no_grad():
        return Same.apply(x).add_(2)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("program", [written_later, read_later, written_without_gradients])
def test_a_view_that_a_function_returns_without_gradients(
    program: Callable[[torch.Tensor], object], backend: str
) -> None:
    compiled = supple.compile(program, backend=backend)
    for is_leaf in (True, False):
        seen = []
        for run in (program, compiled):
            leaf = torch.ones(3, requires_grad=True)
            x = leaf if is_leaf else leaf * 1
            try:
                found = str(run(x)).replace("_CompiledBackward", "MulBackward0")
            except RuntimeError as error:
                found = str(error)
            seen.append((found, x.tolist()))
        assert seen[0] == seen[1]


class Twice(Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
        return grads[0] * 2


class NoGradient(Function):
    """Nothing flows into the second argument, though it is one that autograd goes on to."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        return grads[0], None


class Asked(Function):
    """A backward that asks whether there is a gradient."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.set_materialize_grads(False)
        return x * 2

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor | None) -> torch.Tensor:
        return torch.full((2,), 7.0) if grads[0] is None else grads[0] * 2


class AskedForNothing(Asked):
    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor | None) -> torch.Tensor | None:
        return None if grads[0] is None else grads[0] * 2


REACHED: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "a function": lambda x, y: Twice.apply(x),
    "an operator": lambda x, y: x * 2,
    "a function after an operator": lambda x, y: Twice.apply(x * 3),
    "an operator after a function": lambda x, y: Twice.apply(x) * 3,
    "a function beside an operator": lambda x, y: Twice.apply(x) + y,
    "two functions": lambda x, y: Twice.apply(Twice.apply(x)) + Twice.apply(y),
    "a function and what it is made of": lambda x, y: Twice.apply(x) + x,
    "one that asks": lambda x, y: Asked.apply(x) * y,
    "one that asks and gives nothing": lambda x, y: AskedForNothing.apply(x) * Twice.apply(y),
    "one of what was drawn": lambda x, y: Asked.apply(x) * torch.rand(2),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("is_leaf", [True, False])
@pytest.mark.parametrize("name", REACHED)
def test_a_result_into_which_nothing_flows(name: str, is_leaf: bool, backend: str) -> None:
    found = []
    for run in (REACHED[name], supple.compile(REACHED[name], backend=backend)):
        x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        given = (x, y) if is_leaf else (x * 1, y * 1)
        NoGradient.apply(torch.ones(2, requires_grad=True), run(*given)).sum().backward()
        found.append((x.grad, y.grad))
    assert repr(found[1]) == repr(found[0])


@pytest.mark.parametrize("name", REACHED)
def test_a_result_into_which_nothing_flows_with_a_graph_of_its_gradients(name: str) -> None:
    found = []
    for run in (REACHED[name], supple.compile(REACHED[name])):
        x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        made = NoGradient.apply(torch.ones(2, requires_grad=True), run(x, y)).sum()
        found.append(torch.autograd.grad(made, (x, y), create_graph=True, allow_unused=True))
    assert repr(found[1]) == repr(found[0])


def test_what_was_written_since_cannot_be_asked_for_nothing() -> None:
    compiled = supple.compile(lambda x, y: Twice.apply(x) * x.exp())
    x = torch.ones(2, requires_grad=True)
    given = x * 1
    made = NoGradient.apply(torch.ones(2, requires_grad=True), compiled(given, x)).sum()
    with torch.no_grad():
        given.add_(1)
    with pytest.raises(RuntimeError, match=r"nothing flows needs the inputs .* Do: "):
        made.backward()
