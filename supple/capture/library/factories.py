"""Torch functions that make tensors from constants, and so become graph nodes without tensor arguments."""

from typing import Final

import torch

_NAMES: Final = (
    "arange zeros ones full empty empty_strided eye linspace logspace rand randn randint randperm tensor "
    "scalar_tensor "
    "tril_indices triu_indices normal hann_window hamming_window blackman_window bartlett_window "
    "kaiser_window "
    "as_tensor range complex polar asarray"
).split()

FACTORIES: Final[frozenset[object]] = frozenset(getattr(torch, name) for name in _NAMES)
