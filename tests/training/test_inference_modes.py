"""Inference mode of the caller, of a block in the function, and of the tensors: what is written and made."""

import itertools
from collections.abc import Callable

import pytest
import torch

import supple
from supple.base.config import config

Function = Callable[[torch.Tensor], list[torch.Tensor]]


def writes(x: torch.Tensor) -> list[torch.Tensor]:
    x.add_(x.sum())
    return [x]


def writes_a_view(x: torch.Tensor) -> list[torch.Tensor]:
    x[0].mul_(3)
    return [x, x * 2]


def makes(x: torch.Tensor) -> list[torch.Tensor]:
    y = x.sin() * 2
    return [y, y[0], x[1]]


def writes_what_it_makes(x: torch.Tensor) -> list[torch.Tensor]:
    y = x * 2
    y[0] = x[1]
    return [y.add_(1)]


def is_refused(x: torch.Tensor) -> list[torch.Tensor]:
    return [x.sum() @ x]


FUNCTIONS = (writes, writes_a_view, makes, writes_what_it_makes, is_refused)


def within(function: Function, inner: bool | None) -> Function:
    if inner is None:
        return function

    def run(x: torch.Tensor) -> list[torch.Tensor]:
        with torch.inference_mode(inner):
            return function(x)

    return run


def seen(run: Function, made: bool, outer: bool, requires_grad: bool) -> object:
    """Return what a call gives, twice: values, bits, versions and gradients' names, or the error."""
    with torch.inference_mode(made):
        x = torch.arange(4.0).reshape(2, 2).requires_grad_(requires_grad and not made)
        x = x * 1
    results: list[object] = []
    for _ in range(2):
        try:
            with torch.inference_mode(outer):
                found = [x, *run(x)]
        except RuntimeError as error:
            results.append(str(error))
            continue
        for one in found:
            version = None if one.is_inference() or one is not x else one._version
            results.append((one.tolist(), one.is_inference(), version, one.requires_grad, one._base is x))
    return results


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("inner", [None, False, True])
def test_a_tensor_is_of_the_mode_that_it_was_made_in(
    function: Function, inner: bool | None, backend: str
) -> None:
    for made, outer, requires_grad in itertools.product((False, True), repeat=3):
        supple.reset()
        with config.patch(suppress_errors=False):
            run = within(function, inner)
            compiled = supple.compile(run, backend=backend)
            wanted = seen(run, made, outer, requires_grad)
            assert seen(compiled, made, outer, requires_grad) == wanted, (made, outer, requires_grad)


def data_is_added_to(p):
    p.data.add_(1)
    return p * 2


def data_and_tensor_are_written(p):
    p.data.mul_(2)
    p.detach().add_(1)


def data_of_a_row_is_written(p):
    p.data[0] = 1


@pytest.mark.parametrize("context", [torch.enable_grad, torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("program", [data_is_added_to, data_and_tensor_are_written, data_of_a_row_is_written])
@pytest.mark.filterwarnings("ignore")
def test_writes_through_data_are_counted_as_in_eager(program, backend, context):
    def counted(run):
        p = torch.nn.Parameter(torch.ones(2, 2))
        with context():
            run(p)
        return p._version, p.tolist()

    assert counted(supple.compile(program, backend=backend)) == counted(program)


RESHAPED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "squeeze_": lambda y: y.squeeze_(),
    "unsqueeze_": lambda y: y.unsqueeze_(0),
    "t_": lambda y: y.t_(),
    "transpose_": lambda y: y.transpose_(0, 1),
    "as_strided_": lambda y: y.as_strided_((2,), (1,)),
    "detach_": lambda y: y.detach_(),
    "relu_": lambda y: y.relu_(),
}


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize(("made", "inner"), [(False, True), (True, False)])
@pytest.mark.parametrize("name", RESHAPED)
def test_what_is_reshaped_in_place_is_of_the_mode_it_was_made_in(
    name: str, made: bool, inner: bool, backend: str
) -> None:
    def program(x: torch.Tensor) -> object:
        with torch.inference_mode(made):
            y = x * 2
        try:
            with torch.inference_mode(inner):
                RESHAPED[name](y)
        except RuntimeError as error:
            return str(error)
        return y.is_inference(), y.shape, y.tolist()

    x = torch.ones(2, 2)
    assert supple.compile(program, backend=backend)(x) == program(x)


MODES = {
    "inference": torch.inference_mode,
    "no_grad": torch.no_grad,
    "normal": lambda: torch.inference_mode(False),
    "grad": torch.enable_grad,
}


def a_view(x: torch.Tensor, mode: str) -> list[torch.Tensor]:
    with MODES[mode]():
        return [x.t()]


def a_view_of_a_view(x: torch.Tensor, mode: str) -> list[torch.Tensor]:
    with MODES[mode]():
        first = x.t()
    return [first[0], first]


def views_in_it(x: torch.Tensor, mode: str) -> list[torch.Tensor]:
    with MODES[mode]():
        return [*x.t().split(2), x[1]]


def a_view_of_a_product(x: torch.Tensor, mode: str) -> list[torch.Tensor]:
    y = x * 2
    with MODES[mode]():
        return [y.t(), y]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", [a_view, a_view_of_a_view, views_in_it, a_view_of_a_product])
def test_errors_of_writes_say_in_which_mode_a_view_was_made(
    program: Callable[[torch.Tensor, str], list[torch.Tensor]], mode: str, backend: str
) -> None:
    compiled = supple.compile(program, backend=backend)
    for outer in MODES:
        found: list[list[object]] = []
        for run in (program, compiled):
            x = torch.ones(3, 3, requires_grad=True) * 1
            with MODES[outer]():
                made = run(x, mode)
            found.append([said_of_a_write(one) for one in made])
        assert found[1] == found[0], outer


def said_of_a_write(tensor: torch.Tensor) -> object:
    """Return what torch says of a write to a tensor, and what it is."""
    known = tensor.is_inference(), tensor.requires_grad
    try:
        tensor.mul_(2)
    except RuntimeError as error:
        return *known, str(error)
    return *known, tensor.grad_fn is None
