"""What a kernel writes past the last whole vector: the elements that are left, and nothing behind them.

The row behind is another thread's, which wrote it long before: it shows what was written too much.
"""

import pytest
import torch

import supple

LOW = (torch.bfloat16, torch.float16)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("dtype", [*LOW, torch.float32])
@pytest.mark.parametrize("kind", [*LOW, torch.uint8, torch.int16, torch.int32, torch.float32])
def test_rows_of_two_threads_do_not_touch(kind: torch.dtype, dtype: torch.dtype, dynamic: bool) -> None:
    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (-(x / y)).to(kind)

    compiled = supple.compile(program, backend="native", dynamic=dynamic)
    for count in (33, 97, 98, 99, 129):
        x = torch.linspace(-80, -1, count).to(dtype)
        y = torch.linspace(0.4, 3, 88).to(dtype)[:, None]
        assert torch.equal(compiled(x, y), program(x, y)), count
