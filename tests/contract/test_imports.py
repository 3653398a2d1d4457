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


@pytest.mark.parametrize("backend", ["native", "eager"])
def test_compiling_a_model_loads_no_compiler_of_torch(backend: str) -> None:
    plain = loaded("import torch\ntorch.nn.Linear(8, 8)(torch.ones(4, 8))")
    modules = loaded("import sys\n" + MODEL.format(backend=backend)) - plain
    assert sorted(name for name in modules if name.startswith(BANNED)) == []
