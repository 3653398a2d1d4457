"""The module that several files of the corpus call."""

import torch
from torch import nn

from tests.semantics.sessions import seeded


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)
        self.register_buffer("count", torch.zeros(()))
        self.calls = 0
        self.log = []

    def forward(self, x, scale=1.0):
        return self.second(torch.relu(self.first(x))) * scale


def net():
    return seeded(Net)
