"""Small models of many families give eager's results with default settings, in as few graphs as can be."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import supple
from tests.models.families import FAMILIES, Family, loss_of, train_step
from tests.models.transformers_zoo import tensors_of

pytestmark = [pytest.mark.sweep, pytest.mark.filterwarnings("ignore::UserWarning:transformers.*")]
TOLERANCE = 1e-5
TRAINING = {"deberta_v2": (2, 1), "detr": (4, 2), "wav2vec2": (7, 9)}
"""Graphs and breaks of the models that branch on numbers, or draw with NumPy, when they train."""


def batches(family: Family, *, is_labelled: bool = False) -> list[dict[str, torch.Tensor]]:
    torch.manual_seed(1)
    return [family.batch(shape, is_labelled) for shape in family.shapes]


def built(name: str) -> Any:
    torch.manual_seed(0)
    return FAMILIES[name].make()


def seeded(function: Callable[[], Any]) -> Any:
    """Return a result drawn from generators of the same state each time."""
    torch.manual_seed(2)
    np.random.seed(2)
    random.seed(2)
    return function()


def largest_difference(want: Any, got: Any) -> float:
    pairs = list(zip(tensors_of(want), tensors_of(got), strict=True))
    assert pairs
    assert all(a.shape == b.shape and a.dtype is b.dtype for a, b in pairs)
    return max(float((a.double() - b.double()).abs().max()) for a, b in pairs)


def counted() -> tuple[int, int]:
    """Return graphs, and breaks with calls left to Python."""
    stats: Any = supple.stats()
    return stats["graphs"], stats["breaks"] + stats["fallbacks"]


@pytest.mark.parametrize("name", FAMILIES)
def test_inference_is_one_graph(name: str) -> None:
    model, batch = built(name).eval(), batches(FAMILIES[name])[0]
    with torch.no_grad():
        want = model(**batch)
        run = supple.compile(model, backend="eager")
        for _ in range(2):
            got = run(**batch)
            assert type(got) is type(want)
            assert largest_difference(want, got) <= TOLERANCE
    assert counted() == (1, 0)


@pytest.mark.parametrize("name", FAMILIES)
def test_training_gives_eagers_gradients(name: str) -> None:
    model, batch = built(name).train(), batches(FAMILIES[name], is_labelled=True)[0]

    def step(run: Callable[..., Any]) -> list[torch.Tensor]:
        model.zero_grad()
        loss = loss_of(run(**batch))
        loss.backward()
        return [loss.detach(), *(p.grad.clone() for p in model.parameters() if p.grad is not None)]

    want = seeded(lambda: step(model))
    run = supple.compile(model, backend="eager")
    for _ in range(2):
        assert largest_difference(want, seeded(lambda: step(run))) <= TOLERANCE
    graphs, breaks = counted()
    assert graphs <= TRAINING.get(name, (1, 0))[0]
    assert breaks <= TRAINING.get(name, (1, 0))[1]


@pytest.mark.parametrize("name", FAMILIES)
def test_several_shapes_need_at_most_three_graphs(name: str) -> None:
    model = built(name).eval()
    run = supple.compile(model, backend="eager")
    given = batches(FAMILIES[name])
    with torch.no_grad():
        for batch in (*given, *given):
            assert largest_difference(model(**batch), run(**batch)) <= TOLERANCE
    # Each length is unrolled: the program loops over it.
    graphs, breaks = counted()
    assert graphs <= (len({shape[1] for shape in FAMILIES[name].shapes}) + 1 if name == "mamba" else 3)
    assert breaks == 0


# FLOW: generate() calls the compiled forward, with a cache that grows.
@pytest.mark.parametrize("is_drawn", [False, True], ids=["greedy", "drawn"])
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_generation_writes_what_eager_writes(name: str, is_drawn: bool) -> None:
    model = built(name).eval()
    model.generation_config.eos_token_id, model.generation_config.pad_token_id = None, 0

    def texts() -> Iterator[torch.Tensor]:
        for batch in batches(FAMILIES[name])[:2]:
            yield seeded(
                lambda batch=batch: model.generate(
                    **batch, max_new_tokens=16, min_new_tokens=16, do_sample=is_drawn
                )
            )

    with torch.no_grad():
        want = list(texts())
        model.forward = supple.compile(model.forward, backend="eager")
        got = list(texts())
    assert all(torch.equal(a, b) for a, b in zip(want, got, strict=True))
    graphs, breaks = counted()
    assert graphs <= 4
    assert breaks == 0


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_a_train_step_changes_parameters_as_eager_does(name: str) -> None:
    def steps(compile_: Callable[..., Any]) -> list[torch.Tensor]:
        model, batch = built("llama").train(), batches(FAMILIES["llama"], is_labelled=True)[0]
        step, schedule = train_step(model, name)
        run = compile_(step)
        losses = [run(batch) for _ in range(5)]
        assert schedule.get_last_lr() == [1e-2 * 0.5**2]
        return [*losses, *(p.detach() for p in model.parameters())]

    want = steps(lambda step: step)
    got = steps(lambda step: supple.compile(step, backend="eager"))
    assert largest_difference(want, got) <= TOLERANCE
