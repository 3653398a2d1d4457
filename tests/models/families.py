"""Small Hugging Face models of many families: random weights, no dropout, batches of several sizes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import torch
import transformers

VOCABULARY: Final = 100
_SIZE: Final = {
    "vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
_DROPS: Final = {
    "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "max_position_embeddings": 64,
}  # fmt: skip
_HEADS: Final = {"encoder_attention_heads": 4, "decoder_attention_heads": 4}
_STACKS: Final = {"encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0, "attention_dropout": 0.0}
TEXTS: Final = ((2, 12), (2, 9), (3, 12), (1, 7), (4, 16))
IMAGES: Final = ((2, 32), (4, 32), (3, 32), (1, 32))
SOUNDS: Final = ((2, 800), (2, 640), (3, 960), (1, 800))

Batch = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Family:
    """How to make one model, and what it is called with.

    Attributes:
        batch: the arguments of one call, for a shape, with or without labels.
        shapes: the first is the one for measurements without dynamic sizes.
    """

    make: Callable[[], Any]
    batch: Callable[[Sequence[int], bool], Batch]
    shapes: tuple[tuple[int, int], ...]


def _tokens(shape: Sequence[int]) -> torch.Tensor:
    return torch.randint(3, VOCABULARY, tuple(shape))


def _decoded(shape: Sequence[int], is_labelled: bool, *, has_mask: bool = True) -> Batch:
    batch = {"input_ids": _tokens(shape)}
    if has_mask:
        batch["attention_mask"] = torch.ones(tuple(shape), dtype=torch.long)
    return batch | ({"labels": batch["input_ids"]} if is_labelled else {})


def _classified(shape: Sequence[int], is_labelled: bool) -> Batch:
    batch = _decoded(shape, is_labelled=False)
    batch["attention_mask"][-1, shape[1] - shape[1] // 4 :] = 0
    return batch | ({"labels": torch.randint(0, 2, (shape[0],))} if is_labelled else {})


def _translated(shape: Sequence[int], is_labelled: bool) -> Batch:
    name = "labels" if is_labelled else "decoder_input_ids"
    return _decoded(shape, is_labelled=False) | {name: _tokens((shape[0], shape[1] // 2))}


def _heard(shape: Sequence[int], is_labelled: bool) -> Batch:
    name = "labels" if is_labelled else "decoder_input_ids"
    return {"input_features": torch.randn(shape[0], 16, 40), name: _tokens(shape)}


def _spelled(shape: Sequence[int], is_labelled: bool) -> Batch:
    batch = {"input_values": torch.randn(*shape)}
    return batch | ({"labels": torch.randint(1, 20, (shape[0], 4))} if is_labelled else {})


def _seen(shape: Sequence[int], is_labelled: bool) -> Batch:
    batch = {"pixel_values": torch.randn(shape[0], 3, shape[1], shape[1])}
    return batch | ({"labels": torch.randint(0, 2, (shape[0],))} if is_labelled else {})


def _found(shape: Sequence[int], is_labelled: bool) -> Batch:
    del is_labelled  # the loss of DETR needs scipy: loss_of takes another
    mask = torch.ones(shape[0], shape[1], shape[1], dtype=torch.long)
    mask[-1, :, shape[1] // 2 :] = 0
    return _seen(shape, is_labelled=False) | {"pixel_mask": mask}


def _model(kind: str, config: str, **settings: object) -> Callable[[], Any]:
    """Return what makes a model of a class from its configuration."""
    return lambda: getattr(transformers, kind)(getattr(transformers, config)(**settings))


def _decoder(name: str, **settings: object) -> Family:
    given = _SIZE | {"num_key_value_heads": 2, "max_position_embeddings": 64} | settings
    return Family(_model(f"{name}ForCausalLM", f"{name}Config", **given), _decoded, TEXTS)


def _encoder(name: str, **settings: object) -> Family:
    given = _SIZE | _DROPS | settings
    kind = _model(f"{name}ForSequenceClassification", f"{name}Config", **given)
    return Family(kind, _classified, TEXTS)


def _detr() -> Any:
    back = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", out_features=["stage2"]
    )
    config = transformers.DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=back,
        num_queries=5, num_labels=3, d_model=32, encoder_ffn_dim=64, decoder_ffn_dim=64, **_HEADS, **_STACKS,
    )  # fmt: skip
    return transformers.DetrForObjectDetection(config)


_FEED: Final = {"encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "d_model": 32, "vocab_size": VOCABULARY}
_ENDS: Final = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 3}

FAMILIES: Final[dict[str, Family]] = {
    "gpt2": Family(
        _model(
            "GPT2LMHeadModel", "GPT2Config", vocab_size=VOCABULARY, n_positions=64, n_embd=32, n_layer=2,
            n_head=4, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=1, eos_token_id=2,
        ),
        _decoded,
        TEXTS,
    ),
    "llama": _decoder("Llama"),
    "qwen2": _decoder("Qwen2"),
    "mistral": _decoder("Mistral", sliding_window=8),
    "gemma": _decoder("Gemma", head_dim=8),
    "phi": _decoder("Phi", resid_pdrop=0.0, embd_pdrop=0.0),
    "opt": Family(
        _model(
            "OPTForCausalLM", "OPTConfig", dropout=0.0, ffn_dim=64, word_embed_proj_dim=32,
            max_position_embeddings=64, **{k: v for k, v in _SIZE.items() if k != "intermediate_size"},
        ),
        _decoded,
        TEXTS,
    ),
    "mixtral": _decoder("Mixtral", num_local_experts=4, num_experts_per_tok=2),
    "bert": _encoder("Bert"),
    "roberta": _encoder("Roberta"),
    "albert": _encoder("Albert", embedding_size=16, classifier_dropout_prob=0.0),
    "deberta_v2": _encoder(
        "DebertaV2", relative_attention=True, position_buckets=8, pos_att_type=["p2c", "c2p"],
        pooler_dropout=0.0, norm_rel_ebd="layer_norm", share_att_key=True,
    ),
    "t5": Family(
        _model(
            "T5ForConditionalGeneration", "T5Config", vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=64,
            num_heads=4, num_layers=2, dropout_rate=0.0, decoder_start_token_id=0, pad_token_id=0,
            eos_token_id=1,
        ),
        _translated,
        TEXTS,
    ),
    "bart": Family(
        _model(
            "BartForConditionalGeneration", "BartConfig", max_position_embeddings=64, **_FEED, **_ENDS,
            **_HEADS, **_STACKS,
        ),
        _translated,
        TEXTS,
    ),
    "whisper": Family(
        _model(
            "WhisperForConditionalGeneration", "WhisperConfig", num_mel_bins=16, max_source_positions=20,
            max_target_positions=32, begin_suppress_tokens=None, **_FEED, **_ENDS, **_HEADS, **_STACKS,
        ),
        _heard,
        TEXTS,
    ),
    "vit": Family(
        _model(
            "ViTForImageClassification", "ViTConfig", image_size=32, patch_size=8, hidden_size=32,
            num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, hidden_dropout_prob=0.0,
        ),
        _seen,
        IMAGES,
    ),
    "convnext": Family(
        _model(
            "ConvNextForImageClassification", "ConvNextConfig", hidden_sizes=[8, 16, 32], depths=[1, 1, 1],
            num_stages=3,
        ),
        _seen,
        IMAGES,
    ),
    "swin": Family(
        _model(
            "SwinForImageClassification", "SwinConfig", image_size=32, patch_size=2, embed_dim=16,
            depths=[2, 2], num_heads=[2, 4], window_size=4, drop_path_rate=0.0, hidden_dropout_prob=0.0,
        ),
        _seen,
        IMAGES,
    ),
    "detr": Family(_detr, _found, ((2, 32), (3, 32), (2, 48), (1, 32))),
    "wav2vec2": Family(
        _model(
            "Wav2Vec2ForCTC", "Wav2Vec2Config", hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
            intermediate_size=64, vocab_size=20, conv_dim=(16,) * 3, conv_stride=(5, 2, 2),
            conv_kernel=(10, 3, 3), num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2,
            ctc_zero_infinity=True, hidden_dropout=0.0, attention_dropout=0.0, activation_dropout=0.0,
            feat_proj_dropout=0.0, final_dropout=0.0, mask_time_length=4,
        ),
        _spelled,
        SOUNDS,
    ),
    "mamba": Family(
        _model(
            "MambaForCausalLM", "MambaConfig", vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2,
            state_size=4, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        ),
        partial(_decoded, has_mask=False),
        TEXTS,
    ),
}  # fmt: skip


def loss_of(output: Any) -> torch.Tensor:
    """Return the loss that a model gave, or one of what it gave."""
    if getattr(output, "loss", None) is not None:
        return output.loss
    return output.logits.square().mean() + output.pred_boxes.square().mean()


def train_step(model: Any, optimizer: str) -> tuple[Callable[[Batch], torch.Tensor], Any]:
    """Return a step of training by an optimizer of this name, and the schedule of its learning rate."""
    updates = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.StepLR(updates, 2, 0.5)

    def step(given: Batch) -> torch.Tensor:
        updates.zero_grad()
        loss = model(**given).loss
        loss.backward()
        updates.step()
        schedule.step()
        return loss.detach()

    return step, schedule
