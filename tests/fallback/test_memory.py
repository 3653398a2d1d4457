"""Compiled code reads no memory that it was not compiled for: eager answers, and a warning says so."""

import logging
from collections.abc import Callable

import pytest
import torch

import supple
from supple.runtime.autograd_fn import Pair
from supple.runtime.mismatch import MemoryMismatch


@pytest.fixture
def warned(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.WARNING, logger="supple")
    return caplog


@torch.library.custom_op("supple_tests::misdescribed", mutates_args=())
def misdescribed(x: torch.Tensor, kind: str) -> torch.Tensor:
    match kind:
        case "dtype":
            return x.double()
        case "strides":
            return x.T.contiguous().T
        case _:
            return x.clone()


@misdescribed.register_fake
def _(x: torch.Tensor, kind: str) -> torch.Tensor:
    return torch.empty_like(x)


@pytest.mark.parametrize("kind", ["dtype", "strides", "nothing"])
def test_a_library_result_of_another_kind_than_its_fake(kind: str, warned: pytest.LogCaptureFixture) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.supple_tests.misdescribed(x, kind).float() * 2 + 1

    x = torch.arange(6.0).reshape(2, 3)
    got = supple.compile(program)(x)
    torch.testing.assert_close(got, program(x))
    assert ("MemoryMismatch" in warned.text) is (kind == "dtype")


@pytest.mark.parametrize("kind", ["dtype", "sizes", "strides"])
def test_what_a_hook_makes_of_a_kept_tensor(kind: str, warned: pytest.LogCaptureFixture) -> None:
    def unpacked(tensor: torch.Tensor) -> torch.Tensor:
        match kind:
            case "dtype":
                return tensor.double()
            case "sizes":
                return tensor[:1].clone()
            case _:
                return tensor.T.contiguous().T

    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return ((x.sin() * y).exp() * x).sum()

    x = torch.linspace(0, 1, 12).reshape(3, 4).requires_grad_()
    y = torch.linspace(1, 2, 12).reshape(3, 4)
    (want,) = torch.autograd.grad(program(x, y), x)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpacked):
        out = supple.compile(program)(x, y)
    (got,) = torch.autograd.grad(out, x)
    torch.testing.assert_close(got, want)
    assert "A compiled backward ran as plain Python" in warned.text


def test_an_input_whose_storage_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = supple.compile(lambda x: x.exp().sum(), fullgraph=True)
    x = torch.ones(8)
    compiled(x)
    ran: list[BaseException] = []
    monkeypatch.setattr(
        "supple.capture.residual.Recovery.__call__", lambda self, error, *args: ran.append(error)
    )
    x.untyped_storage().resize_(16)
    compiled(x)
    [error] = ran
    assert isinstance(error, MemoryMismatch)
    assert "from element 0 of 16 bytes; kernels were made for f32[8](1)" in str(error)


def test_what_nobody_can_compute_again_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Pair, *_: object) -> None:
        msg = "kept_0 is another tensor"
        raise MemoryMismatch(msg)

    x = torch.ones(3, requires_grad=True)
    out = supple.compile(lambda x: x.exp().sum())(x)
    with torch.no_grad():
        x.add_(1)
    monkeypatch.setattr("supple.runtime.autograd_fn._laid_out", broken)
    with pytest.raises((MemoryMismatch, RuntimeError)):
        out.backward()


SHOWING_NOTHING: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "a product": lambda x: x * 0.5,
    "a sum": lambda x: x.sum(),
    "a write": lambda x: x.relu_(),
    "turned": lambda x: x.t() + 1,
    "a matrix product": lambda x: x @ torch.ones(3, 2),
    "joined": lambda x: torch.cat([x, x + 1]),
    "a part": lambda x: x[1:] + 1,
    "a softmax": lambda x: x.softmax(-1),
    "a column": lambda x: x.unsqueeze(0) * 2,
}


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("name", SHOWING_NOTHING)
def test_a_tensor_without_elements_may_begin_behind_its_memory(
    name: str, backend: str, warned: pytest.LogCaptureFixture
) -> None:
    program = SHOWING_NOTHING[name]
    late = torch.ones(3).as_strided((1, 3), (17, 1))[1:]
    for dynamic in (None, True):
        compiled = supple.compile(program, backend=backend, dynamic=dynamic)
        for make in (lambda: torch.ones(2, 3), lambda: torch.ones(4, 3)[1:], lambda: late):
            torch.testing.assert_close(compiled(make()), program(make()))
    assert "MemoryMismatch" not in warned.text
