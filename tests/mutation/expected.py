"""Differences that stay: what captured code does otherwise than eager on purpose, with the reason of each."""

from typing import Final

EXPECTED: Final[dict[tuple[str, str], str]] = {
    ("everyday_training.adamw", "['betas']: [0] tensor"): (
        "the count of steps is a tensor of doubles: its power of a tensor is not rounded to single precision"
    ),
    ("everyday_training.adamw", "['betas']: [1] tensor"): "as above",
    ("everyday_training.adamw", "['betas']: [1] doubled"): (
        "a rate above 1, which the constructor refuses: the square root of a negative tensor is not complex"
    ),
    ("everyday_training.adamw", "['capturable']: flipped"): (
        "torch's optimizers check this where `torch.compiler.is_compiling()` is false only"
    ),
    (
        "torch_types.cond",
        "args[0]: Parameter",
    ): "eager compiles the branches by torch, which marks parameters",
    ("torch_types.while_loop", "args[0]: Parameter"): "as above",
}
"""By the name of a program and the end of a mutation's text: why captured code and eager differ."""


def reason(program: str, mutation: str) -> str | None:
    """Return why a program differs from eager after this mutation, None where it must not."""
    found = [why for (name, end), why in EXPECTED.items() if name == program and mutation.endswith(end)]
    return found[0] if found else None
