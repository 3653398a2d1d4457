"""What a process loads: asked of fresh interpreters."""

import subprocess
import sys

import pytest

from tests.contract.package import BANNED


def loaded(program: str) -> set[str]:
    """Return the names of the modules that a fresh interpreter holds after `program`."""
    code = f"{program}\nimport sys\nprint('\\n' + ' '.join(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(result.stdout.splitlines()[-1].split())


def test_importing_supple_loads_no_torch() -> None:
    modules = loaded("import supple, supple.errors")
    assert modules & {"torch", "numpy", "llvmlite", "networkx", "rich", "jinja2"} == set()


MODEL = """
import torch, supple
from torch import nn
model = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8), nn.Softmax(-1))
model.eval()
with torch.no_grad():
    x = torch.ones(4, 8)
    y = supple.compile(model, fullgraph=True, backend={backend!r})(x)
    assert (y - model(x)).abs().max() < 1e-5
assert supple.stats()["graphs"] == 1, supple.stats()
"""


@pytest.mark.parametrize("backend", ["native", "eager", "aot_eager", "aot_eager_decomp"])
def test_compiling_a_model_loads_no_compiler_of_torch(backend: str) -> None:
    plain = loaded("import torch\ntorch.nn.Linear(8, 8)(torch.ones(4, 8))")
    modules = loaded("import sys\n" + MODEL.format(backend=backend)) - plain
    assert sorted(name for name in modules if name.startswith(BANNED)) == []
    native = {"llvmlite", "supple.native", "supple.schedule", "supple.codegen"}
    assert modules & native == (native if backend == "native" else set())


BLOCKS = """
import torch, supple
from torch import nn
import torch.nn.functional as F

class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(32, 16), nn.Embedding(8, 16)
        self.norm, self.mix, self.out = nn.LayerNorm(16), nn.Linear(16, 48), nn.Linear(16, 16)
        self.patch, self.scale = nn.Conv2d(3, 16, 4, 4), nn.Parameter(torch.ones(16))

    def rms(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale

    def attend(self, x, mask):
        parts = self.mix(self.norm(x)).split(16, -1)
        q, k, v = (part.unflatten(-1, (2, 8)).transpose(1, 2) for part in parts)
        angle = torch.arange(8.0)[:, None] * 0.1
        q = torch.cat([q[..., 4:] * angle.cos(), q[..., :4] * angle.sin()], -1)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out(mixed.transpose(1, 2).reshape(x.shape))

    def forward(self, ids, picture):
        mask = torch.ones(8, 8, dtype=torch.bool).tril()[None, None]
        patches = self.patch(picture).flatten(2).transpose(1, 2).mean(1, True)
        x = self.words(ids) + self.places(torch.arange(8)) + patches
        x = x + self.attend(x, mask)
        x = x + F.silu(self.out(self.rms(x))) * F.gelu(self.out(x), approximate="tanh")
        return F.log_softmax(x[:, -1], -1), x.max(-1).values.tanh()

model = Blocks().eval()
with torch.no_grad():
    inputs = torch.arange(16).view(2, 8), torch.randn(2, 3, 8, 8)
    got = supple.compile(model, fullgraph=True)(*inputs)
    assert all((a - b).abs().max() < 1e-5 for a, b in zip(got, model(*inputs)))
assert supple.stats()["graphs"] == 1, supple.stats()
"""


def test_compiling_transformer_blocks_loads_no_compiler_of_torch() -> None:
    plain = loaded("import torch\ntorch.nn.Linear(8, 8)(torch.ones(4, 8))")
    modules = loaded(BLOCKS) - plain
    assert sorted(name for name in modules if name.startswith(BANNED)) == []
