"""Programs that several test files call."""

import torch
from torch import Tensor


def toy_example(a: Tensor, b: Tensor) -> Tensor:
    x = a / (torch.abs(a) + 1)
    print("woo")
    if b.sum() < 0:
        b = b * -1
    return x * b
