"""A float that varies from call to call: each call gets the answer for its own number."""

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

import supple
from supple.base.config import config


def same(got: object, want: object) -> bool:
    """Tell whether two results are equal; numbers of tensors may differ by rounding, and NaN is NaN."""
    if isinstance(want, tuple):
        return isinstance(got, tuple) and all(map(same, got, want))
    if not isinstance(want, torch.Tensor):
        return got == want
    assert isinstance(got, torch.Tensor)
    is_like = (got.dtype, got.shape) == (want.dtype, want.shape)
    largest = (
        want.to(torch.promote_types(want.dtype, torch.float32)).abs().nan_to_num(posinf=1.0).max().item()
    )
    return is_like and torch.allclose(got, want, rtol=2e-5, atol=2e-6 * max(1.0, largest), equal_nan=True)


X = torch.linspace(-2.0, 3.0, 24).reshape(2, 3, 4)
IMAGE = torch.linspace(-1.0, 1.0, 2 * 3 * 4 * 4).reshape(2, 3, 4, 4)
FLOATS = (1.0, 1.5, 2.0, 2.5, 1.5)


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.eps = 1.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, (4,), eps=self.eps)


Program = Callable[[torch.Tensor, float], object]
PROGRAMS: dict[str, Program] = {
    "layer_norm eps": lambda x, s: F.layer_norm(x, (4,), eps=s),
    "rms_norm eps": lambda x, s: F.rms_norm(x, (4,), eps=s),
    "group_norm eps": lambda x, s: F.group_norm(x, 3, eps=s),
    "batch_norm eps": lambda x, s: F.batch_norm(x, torch.ones(3), torch.ones(3), eps=s),
    "instance_norm eps": lambda x, s: F.instance_norm(IMAGE + x.sum(), eps=s),
    "normalize eps": lambda x, s: F.normalize(x, eps=s),
    "cosine_similarity eps": lambda x, s: F.cosine_similarity(x, x + 1, eps=s),
    "norm p": lambda x, s: torch.norm(x, p=s),
    "vector_norm ord": lambda x, s: torch.linalg.vector_norm(x, s),
    "pdist p": lambda x, s: F.pdist(x.reshape(6, 4), p=s),
    "cdist p": lambda x, s: torch.cdist(x, x + 1, p=s),
    "renorm maxnorm": lambda x, s: torch.renorm(x, 2, 0, s),
    "huber delta": lambda x, s: F.huber_loss(x, x * 2, delta=s),
    "smooth_l1 beta": lambda x, s: F.smooth_l1_loss(x, x * 2, beta=s),
    "hinge margin": lambda x, s: F.hinge_embedding_loss(x, x.sign() + (x == 0), margin=s),
    "triplet margin": lambda x, s: F.triplet_margin_loss(x, x + 1, x - 1, margin=s),
    "elu alpha": lambda x, s: F.elu(x, alpha=s),
    "celu alpha": lambda x, s: F.celu(x, alpha=s),
    "leaky_relu slope": lambda x, s: F.leaky_relu(x, s),
    "softplus beta": lambda x, s: F.softplus(x, beta=s),
    "softplus threshold": lambda x, s: F.softplus(x, threshold=s),
    "hardtanh": lambda x, s: F.hardtanh(x, -s, s),
    "hardshrink": lambda x, s: F.hardshrink(x, s),
    "softshrink": lambda x, s: F.softshrink(x, s),
    "threshold": lambda x, s: F.threshold(x, s, s),
    "clamp": lambda x, s: x.clamp(-s, s),
    "full": lambda x, s: x + torch.full((4,), s),
    "full_like": lambda x, s: torch.full_like(x, s),
    "tensor": lambda x, s: x * torch.tensor(s),
    "tensor in a list": lambda x, s: x * torch.tensor([s, 1.0, s, 2.0]),
    "masked_fill": lambda x, s: x.masked_fill(x > 0, s),
    "fill_": lambda x, s: torch.empty_like(x).fill_(s),
    "pad value": lambda x, s: F.pad(x, (1, 1), value=s),
    "pow": lambda x, s: x.abs() ** s,
    "add alpha": lambda x, s: torch.add(x, x, alpha=s),
    "addmm alpha beta": lambda x, s: torch.addmm(x[0], x[0], x[0].T @ x[0], beta=s, alpha=s + 1),
    "lerp": lambda x, s: torch.lerp(x, x + 1, s),
    "nan_to_num": lambda x, s: torch.nan_to_num(x / 0, nan=s, posinf=s + 1),
    "logit eps": lambda x, s: torch.logit(x.sigmoid(), eps=s / 10),
    "isclose": lambda x, s: torch.isclose(x, x + 1, atol=s, rtol=0.0),
    "linspace": lambda x, s: torch.linspace(0, s, 4) + x,
    "arange": lambda x, s: x.sum() + torch.arange(0, s, 0.25),
    "histc": lambda x, s: torch.histc(x, 4, -s, s),
    "scaled attention": lambda x, s: F.scaled_dot_product_attention(x / 4, x / 4, x, scale=s),
    "interpolate": lambda x, s: F.interpolate(IMAGE + x.sum(), scale_factor=s),
    "dropout p": lambda x, s: F.dropout(x, p=s / 10, training=False),
    "bucketize": lambda x, s: torch.bucketize(x, torch.tensor([-s, 0.0, s])),
    "where": lambda x, s: torch.where(x > 0, s, x),
    "a branch": lambda x, s: x + 1 if s > 1.75 else x - 1,
    "a branch and the number": lambda x, s: x * s if s > 1.75 else x - s,
    "int": lambda x, s: x * int(s),
    "round": lambda x, s: x * round(s),
    "floor": lambda x, s: x * (s // 1),
    "str": lambda x, s: x * len(str(s)),
    "a key": lambda x, s: x * {1.0: 5, 1.5: 6}.get(s, 7),
    "is_integer": lambda x, s: x + 1 if s.is_integer() else x,
    "two of them": lambda x, s: F.layer_norm(x, (4,), eps=s) * F.elu(x, alpha=s + 1),
    "derived": lambda x, s: F.layer_norm(x, (4,), eps=s * 2 + 1),
    "returned too": lambda x, s: (F.layer_norm(x, (4,), eps=s), s, s * 2),
    "a flag": lambda x, s: F.max_pool1d(x, 2, return_indices=s - 1.5),
    "a flag of an operator": lambda x, s: x.sum(0, keepdim=bool(s - 1.5)),
    "a truth": lambda x, s: x + 1 if s - 1.5 else x,
    "no truth": lambda x, s: x + (not s - 1.5),
    "in a list": lambda x, s: F.layer_norm(x, (4,), eps=[s][0]),
}


@pytest.mark.parametrize("backend", ["aot_eager", "native"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_call_gets_the_answer_for_its_float(name: str, backend: str) -> None:
    program = PROGRAMS[name]
    compiled = supple.compile(program, backend=backend)
    for number in FLOATS:
        assert same(compiled(X, number), program(X, number)), number


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_for_the_float_of_the_call(name: str) -> None:
    program = PROGRAMS[name]
    compiled = supple.compile(program)
    for number in FLOATS:
        results = []
        for run in (program, compiled):
            x = X.clone().requires_grad_()
            out = run(x, number)
            first = out[0] if isinstance(out, tuple) else out
            assert isinstance(first, torch.Tensor)
            if first.requires_grad:
                first.pow(2).sum().backward()
            results.append(x.grad)
        want, got = results
        assert (got is None) == (want is None)
        assert want is None or same(got, want), number


OF_ONE_NAME: dict[str, tuple[Callable[[torch.Tensor], object], Callable[[float], float]]] = {
    **{
        name: (getattr(torch.Tensor, name), getattr(math, name))
        for name in "sqrt sin cos floor ceil trunc exp expm1 log log2 log10 log1p tanh atan erf erfc".split()
    },
    "abs": (torch.Tensor.abs, abs),
    "round": (torch.Tensor.round, round),
    "max": (torch.Tensor.max, lambda number: max(number, 1.75)),
    "min": (torch.Tensor.min, lambda number: min(number, 1.75)),
    "greatest": (torch.Tensor.amax, lambda number: max(number * 2, 3.5)),
    "float": (torch.Tensor.float, lambda number: float(number + 1)),
}


@pytest.mark.parametrize("name", OF_ONE_NAME)
def test_an_operator_and_a_function_of_numbers_have_one_name(name: str) -> None:
    of_tensors, of_numbers = OF_ONE_NAME[name]

    def program(x: torch.Tensor, s: float) -> object:
        return of_tensors(x), (x * of_numbers(s)).sum(0)

    compiled = supple.compile(program, backend="native", dynamic=True)
    for number in FLOATS:
        with config.patch(suppress_errors=False):
            assert same(compiled(X.abs(), number), program(X.abs(), number)), number


@pytest.mark.parametrize("name", ["max", "min"])
def test_an_operator_and_a_function_of_sizes_have_one_name(name: str) -> None:
    def program(x: torch.Tensor, n: int) -> object:
        limit = max(n, 2) if name == "max" else min(n, 3)
        return getattr(x, name)(), x.new_ones(limit) + 1

    compiled = supple.compile(program, backend="native", dynamic=True)
    for number in (3, 1, 5):
        with config.patch(suppress_errors=False):
            assert same(compiled(X, number), program(X, number)), number


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_a_float_of_a_module_may_vary(backend: str) -> None:
    module = Scaled()
    compiled = supple.compile(module, backend=backend)
    for module.eps in FLOATS:
        assert same(compiled(X), module(X)), module.eps


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("holder", [list, tuple, "dict"])
def test_a_float_in_a_container_may_vary(holder: object, backend: str) -> None:
    def program(x: torch.Tensor, held: dict[int, float]) -> torch.Tensor:
        return F.layer_norm(x, (4,), eps=held[0])

    compiled = supple.compile(program, backend=backend)
    for number in FLOATS:
        held = {0: number} if holder == "dict" else holder([number])  # type: ignore[operator]
        assert same(compiled(X, held), program(X, held)), number
