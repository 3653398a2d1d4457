"""torch's own samples of its operators in types that eager refuses: the trace refuses them with its error."""

from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_map

import supple
from supple.base.config import config
from tests.operators.test_samples import OPERATORS

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.sweep]
TYPES = (torch.complex64, torch.float16)
BACKWARD = {"torch.ops.aten._softmax_backward_data.default", "_softmax_backward_data"}
"""Operators that nobody but autograd calls: they are not asked, see `supple.shapes.refusal`."""


def in_type(tree: Any, dtype: torch.dtype) -> Any:
    """Return a copy of a sample with its floats in another type."""

    def converted(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        return leaf.detach().clone().to(dtype if leaf.dtype is torch.float32 else leaf.dtype)

    return tree_map(converted, tree)


@pytest.mark.parametrize("name", [name for name in OPERATORS if name not in BACKWARD])
def test_a_refusal_is_caught_also_behind_a_write(name: str) -> None:
    operator = OPERATORS[name]
    sample = next(iter(operator.sample_inputs("cpu", torch.float32)), None)
    if sample is None:
        pytest.skip("torch has no sample")

    def program(written: torch.Tensor, given: Any, args: Any, kwargs: Any) -> str | None:
        written.add_(1)
        try:
            operator.op(given, *args, **kwargs)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return None

    for dtype in TYPES:
        inputs = [in_type((sample.input, sample.args, sample.kwargs), dtype) for _ in range(2)]
        wanted = program(torch.zeros(1), *inputs[0])
        if wanted is not None:
            with config.patch(suppress_errors=False):
                assert supple.compile(program, backend="eager")(torch.zeros(1), *inputs[1]) == wanted
