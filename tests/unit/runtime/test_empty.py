"""Library calls on tensors without elements give what eager gives."""

import pytest
import torch
from torch.nn import functional as F

from supple.ir.ops import op_named
from supple.runtime.empty import SAFE, batch_norm, flash_attention
from supple.schedule.host import LAID_OUT


@pytest.mark.parametrize(("queries", "keys"), [(0, 0), (0, 3), (3, 0), (2, 5)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_attention_without_queries_or_keys(queries: int, keys: int, dtype: torch.dtype) -> None:
    q, k = (torch.randn(2, 3, length, 4).to(dtype) for length in (queries, keys))
    result, sums = flash_attention(q, k, k)
    wanted = F.scaled_dot_product_attention(q, k, k)
    torch.testing.assert_close(result, wanted)
    assert result.stride() == wanted.stride()
    assert sums.shape == (2, 3, queries)
    assert sums.dtype is torch.float32


@pytest.mark.parametrize("rows", [0, 5])
def test_batch_norm_of_nothing_keeps_the_statistics(rows: int) -> None:
    x = torch.randn(rows, 4, 2)
    mine, theirs = ((torch.zeros(4), torch.ones(4)) for _ in range(2))
    result, means, deviations = batch_norm(x, None, None, *mine, True, 0.1, 1e-5)
    torch.testing.assert_close(result, F.batch_norm(x, *theirs, training=True))
    torch.testing.assert_close(mine, theirs)
    assert means.shape == deviations.shape == (4,)


def test_every_name_is_of_an_operator() -> None:
    assert LAID_OUT.name in SAFE
    assert all(op_named(name).name == name for name in SAFE)
