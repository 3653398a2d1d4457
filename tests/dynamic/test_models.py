"""Whole models over batches and lengths that vary: one graph with dynamic sizes, two by default."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple
from tests.dynamic.harness import MODES, compiled
from tests.models.transformers_zoo import MODELS, VOCABULARY, build, tensors_of

# No length is 1: transformers asks `q_length == 1` when it makes a mask, a condition of the program.
PAIRS = [
    (2, 16), (3, 24), (1, 16), (4, 9), (1, 2), (2, 33), (5, 7), (1, 40), (2, 2), (6, 16), (3, 3), (1, 64),
]  # fmt: skip
TOLERANCE = 1e-5


def text(batch: int, length: int) -> dict[str, torch.Tensor]:
    """Return tokens, the last row padded at its end."""
    tokens = torch.randint(3, VOCABULARY, (batch, length))
    mask = torch.ones(batch, length, dtype=torch.long)
    mask[-1, length - length // 4 :] = 0
    return {"input_ids": tokens, "attention_mask": mask}


def unpadded(batch: int, length: int) -> dict[str, torch.Tensor]:
    """Return tokens."""
    return {"input_ids": torch.randint(3, VOCABULARY, (batch, length))}


def pictures(batch: int, length: int) -> dict[str, torch.Tensor]:
    """Return as many pictures as the pair says tokens, at most 12; a picture has one size in this model."""
    return {"pixel_values": torch.randn(min(batch * length, 12), 3, 96, 96)}


BATCHES: dict[str, Callable[[int, int], dict[str, torch.Tensor]]] = {
    "gpt2": unpadded,
    "llama": text,
    "bert": text,
    "vit": pictures,
}


def largest_difference(want: Any, got: Any) -> float:
    """Return the largest difference between the tensors of two outputs, caches included."""
    pairs = list(zip(tensors_of(want), tensors_of(got), strict=True))
    assert pairs
    assert all(a.shape == b.shape and a.dtype is b.dtype for a, b in pairs)
    return max(float((a - b).abs().max()) for a, b in pairs)


# DYN13, DYN12
@pytest.mark.slow
@pytest.mark.parametrize("dynamic", MODES, ids=["dynamic", "default"])
@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_over_twelve_batches_and_lengths_needs_one_graph_or_two(
    name: str, backend: str, dynamic: bool | None
) -> None:
    model = build(name).model
    made = compiled(model, backend, dynamic)
    with torch.no_grad():
        for pair in PAIRS:
            batch = BATCHES[name](*pair)
            difference = largest_difference(model(**batch), made.run(**batch))
            assert difference <= TOLERANCE, pair
    assert made.graphs == (1 if dynamic else 2), supple.stats()["recompile_reasons"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_generation_with_a_growing_cache_needs_three_graphs(name: str) -> None:
    model: Any = build(name).model
    model.generation_config.eos_token_id, model.generation_config.pad_token_id = None, 0

    def generated(prompt: torch.Tensor) -> torch.Tensor:
        mask = torch.ones_like(prompt)
        with torch.no_grad():
            return model.generate(
                prompt, attention_mask=mask, max_new_tokens=64, min_new_tokens=64, do_sample=False
            )

    prompts = [torch.randint(3, VOCABULARY, (1, 9)), torch.randint(3, VOCABULARY, (1, 14))]
    want = [generated(prompt) for prompt in prompts]
    made = compiled(model.forward, "native", None, fullgraph=False)
    model.forward = made.run
    assert torch.equal(generated(prompts[0]), want[0])
    assert made.graphs <= 3, supple.stats()["recompile_reasons"]
    assert supple.stats()["breaks"] == 0
    # Another prompt makes the graph of the prompt dynamic, and no other.
    assert torch.equal(generated(prompts[1]), want[1])
    assert made.graphs <= 4, supple.stats()["recompile_reasons"]
