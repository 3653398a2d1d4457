"""Differences that stay: what captured code does otherwise on purpose, and what eager leaves open."""

import re
from typing import Final

_NORMS: Final = r"operators\.(native_batch_norm|_native_batch_norm_legit|_batch_norm_with_update)\."
_OTHER_LENGTH: Final = r"size\(|data (double|shorter)|one dimension less"

EXPECTED: Final[dict[tuple[str, str], str]] = {
    (r"everyday_training\.adamw$", r"\['betas'\]: \[[01]\] tensor$"): (
        "the count of steps is a tensor of doubles: its power of a tensor is not rounded to single precision"
    ),
    (r"everyday_training\.adamw$", r"\['betas'\]: \[1\] doubled$"): (
        "a rate above 1, which the constructor refuses: the square root of a negative tensor is not complex"
    ),
    (r"everyday_training\.adamw$", r"\['capturable'\]: flipped$"): (
        "torch's optimizers check this where `torch.compiler.is_compiling()` is false only"
    ),
    (r"torch_autograd\.ada(m|mw)_step$", r"\['betas'\]: \[[01]\] (tensor|doubled)$"): (
        "as of everyday_training.adamw"
    ),
    (r"torch_autograd\.(adam|adamw|rmsprop)_step$", r"\['capturable'\]: flipped$"): (
        "torch's optimizers check this where `torch.compiler.is_compiling()` is false only"
    ),
    (r"torch_autograd\.(adam|adagrad)_step$", r"\['(lr|lr_decay|step)'\]: (None|-1|negated|unsqueezed)$"): (
        "torch's optimizers keep the count of steps as a tensor where `torch.compiler.is_compiling()`: "
        "no float is divided then, by None or by zero"
    ),
    (r"functions\.lru_cached_tensor_is_real$", r"default dtype$"): (
        "a cached function of a size is inlined, so that its cache is not asked: one graph serves all sizes"
    ),
    (r"torch_types\.(cond|while_loop)$", r"args\[0\]: Parameter$"): (
        "eager compiles the branches by torch, which marks parameters"
    ),
    (_NORMS, _OTHER_LENGTH): "eager reads and writes past the end of statistics that are too short",
    (r"sizes\.(causal_)?attention$", r"args\[[12]\].*size\(2\)"): (
        "eager reads past the end of values fewer than the keys, or of keys fewer than the values"
    ),
    (r"operators\._segment_reduce\.", _OTHER_LENGTH): "eager reads past the end of the data",
    (r"operators\.nn\.functional\.embedding_bag\.", r"\['offsets'\]: dtype torch.bool"): (
        "eager's gradient reads bytes as integers of eight bytes"
    ),
    (r"operators\.special\.\w+_polynomial_\w+\.", r"nan$"): (
        "eager leaves its loop at a NaN and returns what it has not computed yet"
    ),
    (r"operators\.nn\.functional\.ctc_loss\.", r"args\[1\]: (written|data of other numbers)"): (
        "eager reads past the end of the classes for labels that are none"
    ),
    (r"operators\.resize_\.", ""): "eager shows memory that nobody wrote",
    (r"records\.int_flags$", "del _value2member_map_$"): "the enumeration cannot make its own members then",
}
"""By regular expressions of a program's name and of a mutation: why captured code and eager differ."""


def reason(program: str, mutation: str) -> str | None:
    """Return why a program differs from eager after this mutation, None where it must not."""
    return next(
        (
            why
            for (name, text), why in EXPECTED.items()
            if re.search(name, program) and re.search(text, mutation)
        ),
        None,
    )
