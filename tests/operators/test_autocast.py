"""Operators that autocast leaves, while it casts their parts: dtypes as in eager, in each mode."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final

import pytest
import torch
import torch.nn.functional as F

import supple

MODES: Final[dict[str, Callable[[], AbstractContextManager[object]]]] = {
    "grad": torch.enable_grad,
    "no grad": torch.no_grad,
    "inference": torch.inference_mode,
}
ENCODER: Final = torch.nn.TransformerEncoderLayer(4, 2, 4, batch_first=True).eval()
PROGRAMS: Final[dict[str, Callable[[torch.Tensor], torch.Tensor]]] = {
    "einsum": lambda x: torch.einsum("ij,jk->ik", x, x),
    "tensordot": lambda x: torch.tensordot(x, x, 1),
    "tensordot of all": lambda x: torch.tensordot(x, x, 2),
    "tensordot to one element": lambda x: torch.tensordot(x[:1], x[:, :1], 1),
    "tensordot of named dimensions": lambda x: torch.tensordot(x[:1], x[:1], ([-1, 0], [1, 0])),
    "tensordot of dimensions in a tensor": lambda x: torch.tensordot(x, x, torch.tensor([[0], [1]])),
    "inner": lambda x: torch.inner(x, x),
    "inner of rows": lambda x: torch.inner(x[0], x[1]),
    "inner to one element": lambda x: x[:1].inner(x[1:2]),
    "multi_dot": lambda x: torch.linalg.multi_dot([x, x, x]),
    "matrix_power": lambda x: torch.linalg.matrix_power(x, 3),
    "no matrix_power": lambda x: torch.linalg.matrix_power(x, 0),
    "pinv": lambda x: torch.linalg.pinv(x),
    "pinv of its own transpose": lambda x: torch.linalg.pinv(x + x.t(), hermitian=True),
    "pinverse": lambda x: torch.pinverse(x),
    "matrix_exp": lambda x: torch.linalg.matrix_exp(x),
    "bilinear": lambda x: F.bilinear(x, x, x[None].expand(2, 3, 3)),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "cosine_similarity": lambda x: F.cosine_similarity(x, x),
    "cdist": lambda x: torch.cdist(x, x),
    "linear": lambda x: F.linear(x, x),
    "kron": lambda x: torch.kron(x, x),
    "conv1d": lambda x: F.conv1d(x[None], x[:, :, None]),
    "cross_entropy": lambda x: F.cross_entropy(x, x),
    "encoder layer": lambda x: ENCODER(F.pad(x[None], (0, 1), value=0.5)),
    "trilinear": lambda x: torch._trilinear(x, x.expand(2, 3, 3), x, [1, 3], [0], [1, 2], [2, 3]),
    "gru": lambda x: torch.gru_cell(x, x, x.repeat(3, 1), x.repeat(3, 1)),
}
INPUT: Final = [[0.7, -0.3, 0.11], [0.4, 0.9, -0.21], [0.05, 0.6, 1.3]]


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_parts_are_cast_as_in_eager(name: str, mode: str, dynamic: bool | None) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu"):
            return PROGRAMS[name](x)

    x = torch.tensor(INPUT)
    with MODES[mode]():
        expected, found = program(x), supple.compile(program, dynamic=dynamic)(x)
    assert found.dtype is expected.dtype
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "dims", [0, 1, 2, ([0, 1], [1, 0]), ([-2], [1]), "inner"], ids=["0", "1", "2", "all", "named", "inner"]
)
def test_one_element_is_a_size_like_others_where_the_dtype_is_the_same(dims: Any, mode: str) -> None:
    """tensordot and inner do not cast where each operand has one element beside those contracted."""

    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu"):
            return torch.inner(x, y) if dims == "inner" else torch.tensordot(x, y, dims)

    compiled = supple.compile(program, dynamic=True)
    with MODES[mode]():
        for rows, columns in [(3, 3), (1, 3), (3, 1), (1, 1), (0, 3), (2, 2), (1, 2)]:
            x, y = torch.rand(rows, columns), torch.rand(columns, rows)
            if dims in (2, "inner"):
                y = torch.rand(rows, columns)
            expected, found = program(x, y), compiled(x, y)
            assert found.dtype is expected.dtype
            torch.testing.assert_close(found, expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "equation", ["ij,kj->ik", "ij,kj", "ij,kj->", "...j,kj->...k", "ij, kj -> ki", "lists"]
)
def test_one_summed_element_is_not_cast(equation: str, mode: str) -> None:
    """einsum multiplies element by element where a summed dimension has one, and matrices otherwise."""

    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu"):
            if equation == "lists":
                return torch.einsum(x, [0, 1], y, [2, 1], [0, 2])
            return torch.einsum(equation, x, y)

    compiled = supple.compile(program, dynamic=True)
    with MODES[mode]():
        for rows, columns, own in [
            (3, 3, 3),
            (2, 1, 1),
            (1, 2, 2),
            (2, 1, 3),
            (2, 3, 1),
            (0, 1, 1),
            (1, 1, 1),
        ]:
            x, y = torch.rand(rows, columns), torch.rand(4, own)
            expected, found = program(x, y), compiled(x, y)
            assert found.dtype is expected.dtype
            torch.testing.assert_close(found, expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("equation", ["ij,kj->ik", "ij,kj->", "ij,ij->i"])
def test_one_summed_truth_value_is_a_truth_value(equation: str) -> None:
    """einsum refuses more of them in eager: there are no products of matrices of truth values."""
    compiled = supple.compile(lambda x, y: torch.einsum(equation, x, y), dynamic=True)
    for rows, columns in [(2, 1), (2, 3), (1, 1), (2, 1)]:
        x, y = torch.ones(rows, columns, dtype=torch.bool), torch.ones(2, columns, dtype=torch.bool)
        try:
            expected = torch.einsum(equation, x, y)
        except RuntimeError as error:
            with pytest.raises(type(error)):
                compiled(x, y)
        else:
            found = compiled(x, y)
            assert found.dtype is expected.dtype
            assert torch.equal(found, expected)


@pytest.mark.parametrize("rate", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("mode", MODES)
def test_dropout_draws_as_in_eager(mode: str, rate: float) -> None:
    """Of everything, it draws nothing."""

    def program(x: torch.Tensor) -> torch.Tensor:
        return F.dropout(x, rate) + F.alpha_dropout(x, rate)

    x, states = torch.ones(4, 3), []
    for function in (program, supple.compile(program)):
        torch.manual_seed(7)
        with MODES[mode]():
            function(x)
        states.append(torch.get_rng_state())
    assert torch.equal(*states)


@pytest.mark.parametrize("form", [torch.matrix_exp, torch.linalg.matrix_exp, torch.Tensor.matrix_exp])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_what_a_kernel_joins_is_refused_for_halves(form: Any, dtype: torch.dtype) -> None:
    def program(x: torch.Tensor) -> torch.Tensor | str:
        try:
            return form(x)
        except RuntimeError as error:
            return str(error)

    x = torch.rand(3, 3).to(dtype)
    with torch.autocast("cpu"):
        expected, found = program(x), supple.compile(program)(x)
    assert isinstance(expected, str) == (dtype is torch.float16)
    assert found == expected if isinstance(expected, str) else torch.equal(found, expected)
