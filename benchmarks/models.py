"""Public models with random weights, 4 layers, hidden size 256, in eval mode."""

from typing import Any, Final

import torch
from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    ViTConfig,
    ViTModel,
    logging,
)

from benchmarks.functions import Case

VOCABULARY = 2000
TEXT: Final[dict[str, Any]] = {
    "vocab_size": VOCABULARY,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
SIZE: Final[dict[str, Any]] = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4}

logging.set_verbosity_error()


def tokens() -> tuple[torch.Tensor]:
    """Return two rows of 64 token numbers."""
    return (torch.randint(3, VOCABULARY, (2, 64)),)


def gpt2() -> Case:
    """GPT-2 with its language head."""
    config = GPT2Config(n_layer=4, n_embd=256, n_head=4, **TEXT)
    return GPT2LMHeadModel(config).eval(), tokens()


def llama() -> Case:
    """Llama with its language head and grouped keys."""
    config = LlamaConfig(**SIZE, **TEXT, intermediate_size=704, num_key_value_heads=2)
    return LlamaForCausalLM(config).eval(), tokens()


def bert() -> Case:
    """BERT without a head."""
    config = BertConfig(**SIZE, vocab_size=VOCABULARY, intermediate_size=1024)
    return BertModel(config).eval(), tokens()


def vit() -> Case:
    """A vision transformer without a head: two images of 64x64 in patches of 8x8."""
    config = ViTConfig(**SIZE, intermediate_size=1024, image_size=64, patch_size=8)
    return ViTModel(config).eval(), (torch.randn(2, 3, 64, 64),)
