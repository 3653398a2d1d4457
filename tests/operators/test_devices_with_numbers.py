"""Devices that are asked for by a number: there is one CPU, and tensors do not say which."""

import pytest
import torch
from torch import Tensor

import supple

EXPRESSIONS = (
    "torch.zeros(2, device=d)", "x.to(d)", "x.to(d, torch.float64)", "torch.tensor([1.0], device=d)",
    "torch.empty_like(x, device=d).zero_()", "torch.arange(3, device=d)", "torch.rand(2, device=d)",
    "x.new_zeros(2, device=d)", "x.new_tensor([1.0], device=d)", "torch.eye(2, device=d)",
    "torch.full((2,), 1.0, device=d)", "torch.linspace(0, 1, 3, device=d)", "torch.ones_like(x, device=d)",
    "torch.tril_indices(2, 2, device=d)", "torch.empty_strided((2,), (1,), device=d).zero_()",
    "torch.randint(2, (2,), device=d)", "torch.as_tensor([1.0], device=d)", "x.to(torch.zeros(1, device=d))",
    "torch.nn.Linear(2, 2, device=d).weight", "torch.hann_window(3, device=d)", "torch.randperm(3, device=d)",
)  # fmt: skip


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("device", ["cpu:0", "cpu:1", "cpu", "meta:0", torch.device("cpu", 0)])
def test_a_tensor_says_where_it_is_as_in_eager(device: object, backend: str) -> None:
    for expression in EXPRESSIONS:
        program = eval(f"lambda x, d: ({expression}).device", {"torch": torch})
        compared = eval(f"lambda x, d: (({expression}).device == x.device, x + 1)", {"torch": torch})

        def seen(run: object, x: Tensor) -> str:
            try:
                return repr(run(x, device))  # pyright: ignore[reportCallIssue]
            except (RuntimeError, NotImplementedError) as error:
                return type(error).__name__

        for function in (program, compared):
            compiled = supple.compile(function, backend=backend)
            assert seen(compiled, torch.ones(2)) == seen(function, torch.ones(2)), expression
