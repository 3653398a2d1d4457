"""Hugging Face models from configurations (4 layers, hidden size 256), random weights, a batch for each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import torch
import transformers

VOCABULARY: Final = 2000
_DECODER: Final = {
    "vocab_size": VOCABULARY,
    "hidden_size": 256,
    "intermediate_size": 704,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_ENCODER: Final = {
    "hidden_size": 256,
    "intermediate_size": 1024,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
}


@dataclass(frozen=True)
class Case:
    """A model in eval mode and the keyword arguments of one call."""

    model: torch.nn.Module
    batch: dict[str, torch.Tensor]


def _text(*, padded: bool) -> dict[str, torch.Tensor]:
    mask = torch.ones(2, 64, dtype=torch.long)
    if padded:
        mask[-1, 48:] = 0
    return {"input_ids": torch.randint(3, VOCABULARY, (2, 64)), "attention_mask": mask}


def _gpt2() -> Case:
    config = transformers.GPT2Config(vocab_size=VOCABULARY, n_positions=512, n_embd=256, n_layer=4, n_head=4)
    return Case(transformers.GPT2LMHeadModel(config), _text(padded=False))


def _llama() -> Case:
    config = transformers.LlamaConfig(**_DECODER)
    return Case(transformers.LlamaForCausalLM(config), _text(padded=False))


def _bert() -> Case:
    config = transformers.BertConfig(vocab_size=VOCABULARY, max_position_embeddings=512, **_ENCODER)
    return Case(transformers.BertForSequenceClassification(config), _text(padded=True))


def _vit() -> Case:
    config = transformers.ViTConfig(image_size=96, patch_size=16, num_labels=10, **_ENCODER)
    return Case(transformers.ViTForImageClassification(config), {"pixel_values": torch.randn(2, 3, 96, 96)})


MODELS: Final[dict[str, Callable[[], Case]]] = {"gpt2": _gpt2, "llama": _llama, "bert": _bert, "vit": _vit}


def build(name: str) -> Case:
    """Return the named model in eval mode with its batch; the same weights and numbers each time."""
    torch.manual_seed(0)
    made = MODELS[name]()
    made.model.eval()
    return made


def tensors_of(output: Any) -> list[torch.Tensor]:
    """Return all tensors in a model's output, caches included, in order."""
    if isinstance(output, torch.Tensor):
        return [output]
    if isinstance(output, dict):
        return [tensor for item in output.values() for tensor in tensors_of(item)]
    if isinstance(output, list | tuple):
        return [tensor for item in output for tensor in tensors_of(item)]
    if hasattr(output, "layers"):
        return [tensor for layer in output.layers for tensor in tensors_of(dict(sorted(vars(layer).items())))]
    return []
