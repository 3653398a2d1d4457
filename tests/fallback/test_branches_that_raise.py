"""Checks of what tensors hold, `if bad.any(): raise ...`: captured whole, raising what eager raises."""

import types
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.distributions as D
from torch import nn

import supple
from tests.guards.change import same

X = torch.linspace(0.5, 2.0, 4)
Program = Callable[..., object]


def outcome(program: Program, *args: Any) -> tuple[object, ...]:
    """Return what a call gives or raises, and the random numbers after it."""
    torch.manual_seed(0)
    try:
        found = program(*args)
    except Exception as error:
        return type(error), str(error), torch.rand(2)
    return found, "", torch.rand(2)


def agree(
    program: Program, *arguments: tuple[Any, ...], backend: str = "eager", breaks: int | None = 0
) -> None:
    """Assert that a compiled program does what eager does, with so many breaks (None: some)."""
    compiled = supple.compile(program, backend=backend)
    for args in arguments:
        copies = [[one.clone() if isinstance(one, torch.Tensor) else one for one in args] for _ in range(2)]
        expected, found = outcome(program, *copies[0]), outcome(compiled, *copies[1])
        assert same(found, expected), (found, expected)
        assert same(copies[1], copies[0]), (copies[1], copies[0])
    found = supple.stats()["breaks"]
    assert found == breaks if breaks is not None else found, supple.stats()["reasons"]


def positive(x: torch.Tensor) -> torch.Tensor:
    if (x <= 0).any():
        raise ValueError(f"{x.shape} must be positive")
    return x.log() * 2


#: Not in the text of this file, whose assertions pytest rewrites.
ASSERTED = """
def asserted(x):
    assert not torch.isnan(x).any(), "not a number"
    return x + 1
"""
asserted = types.FunctionType(compile(ASSERTED, "<asserted>", "exec").co_consts[0], globals())


def unless_all(x: torch.Tensor) -> torch.Tensor:
    if x.min() > 0 and not (x > 100).all():
        return x * 2
    raise KeyError("x")


def first(x: torch.Tensor) -> torch.Tensor:
    if x[0] - 0.5:
        raise RuntimeError("the first is a half")
    return x.sqrt()


def nested(x: torch.Tensor) -> torch.Tensor:
    y = positive(x) + 1
    if not torch.isfinite(y).all():
        message = "too much"
        if x.shape[0] > 3:
            message += " of it"
        raise OverflowError(message)
    return positive(y) if x.shape[0] else y


def counted(x: torch.Tensor) -> torch.Tensor:
    count = int((x > 1).sum())
    if count > 3:
        raise ValueError("many")
    return x * 2


def drawn(x: torch.Tensor) -> torch.Tensor:
    y = torch.nn.functional.dropout(x, 0.5)
    if (x <= 0).any():
        raise ValueError("after numbers were drawn")
    return y


CHECKS: list[Program] = [positive, asserted, unless_all, first, nested, counted, drawn]
VALUES = ((X,), (-X,), (X * float("nan"),), (X * 1e30,), (X,))


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("program", CHECKS, ids=lambda one: one.__name__)
def test_a_check_is_captured_and_raises_what_eager_raises(program: Program, backend: str) -> None:
    agree(program, *VALUES, backend=backend)


def either(x: torch.Tensor) -> torch.Tensor:
    if (x > 0).all():
        if (x > 1).all():
            raise ValueError("all are great")
        return x * 2
    return x / 2


def test_a_branch_of_which_both_sides_may_go_on_is_a_break() -> None:
    agree(either, *VALUES, (X + 1,), breaks=None)


def written_before(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    if (x <= 0).any():
        raise ValueError("written")
    return x * 2


def written_after(x: torch.Tensor) -> torch.Tensor:
    if (x <= 0).any():
        raise ValueError("not written")
    x.add_(1)
    return x * 2


def norm_after(x: torch.Tensor, mean: torch.Tensor) -> torch.Tensor:
    if (x <= 0).any():
        raise ValueError("no norm")
    return torch.nn.functional.batch_norm(x[:, None], mean[:1], mean[1:2], training=True)


def all_written_after(x: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    if (x <= 0).any():
        raise ValueError("none written")
    torch._foreach_add_([x, other], 1)
    torch.mul(x, 2, out=other)
    return x * 2


def data_written_after(x: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    if (x <= 0).any():
        raise ValueError("no data")
    other.data.add_(x)
    x.data.mul_(2)
    return x + other


def data_written_before(x: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    x.data.add_(1)
    if (x <= 0).any():
        raise ValueError("data")
    return x + other


def given_data(x: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    if (x <= 0).any():
        raise ValueError("other data")
    other.data = x * 2
    return x + other


def caught(x: torch.Tensor) -> torch.Tensor:
    try:
        return positive(x)
    except ValueError:
        return x


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_a_check_between_writes_leaves_what_eager_leaves(backend: str) -> None:
    agree(written_after, *VALUES, backend=backend)
    supple.reset()
    agree(written_before, *VALUES, backend=backend, breaks=None)


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize(
    ("program", "breaks"),
    [
        (norm_after, 0),
        (all_written_after, 0),
        (data_written_after, 0),
        (data_written_before, None),
        (given_data, None),
    ],
)
def test_a_check_before_or_after_writes_of_any_kind(
    program: Program, breaks: int | None, backend: str
) -> None:
    agree(program, *((x, torch.ones(4)) for (x,) in VALUES), backend=backend, breaks=breaks)


def test_a_check_that_the_program_catches_is_a_break() -> None:
    compiled = supple.compile(caught)
    for (x,) in VALUES:
        assert same(compiled(x), caught(x))
    assert supple.stats()["breaks"]


def test_effects_before_a_check_are_those_of_eager() -> None:
    def program(x: torch.Tensor, seen: list[str]) -> torch.Tensor:
        seen.append("before")
        y = positive(x)
        seen.append("after")
        return y

    mine: list[str] = []
    theirs: list[str] = []
    compiled = supple.compile(program, fullgraph=True)
    for (x,) in VALUES[:2]:
        assert same(outcome(compiled, x, mine)[:2], outcome(program, x, theirs)[:2])
        assert mine == theirs


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_gradients_flow_past_a_check(backend: str) -> None:
    mine, theirs = (X.clone().requires_grad_() for _ in range(2))
    supple.compile(positive, backend=backend, fullgraph=True)(mine).sum().backward()
    positive(theirs).sum().backward()
    assert torch.allclose(mine.grad, theirs.grad)


def test_a_check_of_several_numbers_raises_as_in_eager() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        if x > 0:
            raise ValueError
        return x

    with pytest.raises(RuntimeError, match="ambiguous"):
        supple.compile(program)(X)


P = torch.linspace(-1.0, 1.0, 4)
DISTRIBUTIONS: dict[str, Program] = {
    "normal": lambda p, s: D.Normal(p, s).log_prob(p),
    "normal of numbers": lambda p, s: D.Normal(0.0, 1.0).log_prob(s),
    "normal, drawn": lambda p, s: D.Normal(p, s).rsample((2,)) + D.Normal(p, s).sample(),
    "normal without checks": lambda p, s: D.Normal(p, s, validate_args=False).log_prob(p),
    "categorical": lambda p, s: D.Categorical(logits=p).log_prob(s.long()),
    "categorical of probabilities": lambda p, s: D.Categorical(probs=s).entropy(),
    "bernoulli": lambda p, s: D.Bernoulli(probs=s / 4).log_prob((s > 1).float()),
    "bernoulli of logits": lambda p, s: D.Bernoulli(logits=p).sample(),
    "kl": lambda p, s: D.kl_divergence(D.Normal(p, s), D.Normal(p * 2, s + 1)),
    "beta": lambda p, s: D.Beta(s, s).log_prob(p.abs() * 0.5 + 0.1),
    "independent": lambda p, s: D.Independent(D.Normal(p, s), 1).log_prob(p),
    "transformed": lambda p, s: D.TransformedDistribution(D.Normal(p, s), D.TanhTransform()).rsample(),
    "uniform": lambda p, s: D.Uniform(p, p + s).log_prob(p + 0.1),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions_are_captured_with_their_checks(name: str) -> None:
    before = D.Distribution._validate_args
    D.Distribution.set_default_validate_args(True)
    try:
        agree(DISTRIBUTIONS[name], (P, X), (P, -X), (P * float("nan"), X), (P, X))
    finally:
        D.Distribution.set_default_validate_args(before)


CAUSAL = nn.Transformer.generate_square_subsequent_mask(5)
PAD = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
SEQUENCE = torch.linspace(-1.0, 1.0, 2 * 5 * 8).reshape(2, 5, 8).sin()


def attention() -> nn.MultiheadAttention:
    torch.manual_seed(0)
    return nn.MultiheadAttention(8, 2, batch_first=True)


def encoder() -> nn.TransformerEncoder:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


MASKED: dict[str, tuple[Callable[[], nn.Module], Program, int]] = {
    "attention": (attention, lambda m, x: m(x, x, x, attn_mask=CAUSAL)[0], 0),
    "attention with weights": (attention, lambda m, x: m(x, x, x, attn_mask=CAUSAL, need_weights=True), 0),
    "attention of padded rows": (attention, lambda m, x: m(x, x, x, key_padding_mask=PAD), 0),
    "attention of both": (
        attention,
        lambda m, x: m(x, x, x, key_padding_mask=PAD, attn_mask=CAUSAL < 0)[0],
        0,
    ),
    "encoder": (encoder, lambda m, x: m(x, mask=CAUSAL, is_causal=True), 0),
    "encoder of padded rows": (encoder, lambda m, x: m(x, src_key_padding_mask=PAD), 0),
    "encoder that looks at its mask": (encoder, lambda m, x: m(x, mask=CAUSAL), 1),
}


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("name", MASKED)
def test_layers_with_masks_are_captured(name: str, mode: str) -> None:
    make, program, breaks = MASKED[name]
    module = getattr(make(), mode)()
    compiled = supple.compile(program, backend="eager")
    for x in (SEQUENCE, SEQUENCE * 2):
        assert same(compiled(module, x), program(module, x))
    assert supple.stats()["breaks"] == breaks, supple.stats()["reasons"]


def caught_at_once(x: torch.Tensor) -> object:
    if (x <= 0).any():
        try:
            raise ValueError  # noqa: TRY301  # what is tested
        except ValueError:
            return x - 1
    return x + 1


def caught_as_another(x: torch.Tensor) -> object:
    if (x <= 0).any():
        try:
            raise ValueError("first")  # noqa: TRY301  # what is tested
        except ValueError as error:
            raise KeyError("second") from error
    return x + 1


@pytest.mark.parametrize("program", [caught_at_once, caught_as_another])
def test_a_branch_that_catches_what_it_raises_returns(program: Program) -> None:
    with supple.config.patch(suppress_errors=False):
        agree(program, (X,), (X - 2,), (X,), breaks=1 if program is caught_at_once else 0)
