"""Results that are parts of what the call made: where they lie in memory is as in eager."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import supple

PARTS: dict[str, Callable[[Tensor], Tensor]] = {
    "an element": lambda x: x[1],
    "rows": lambda x: x[1:],
    "the first row": lambda x: x[:1],
    "a column": lambda x: x[:, 1],
    "a chunk": lambda x: x.chunk(3)[2],
    "another shape": lambda x: x.view(-1)[2:],
    "turned": lambda x: x.t()[1],
}
MADE: dict[str, Callable[[Tensor], Tensor]] = {
    "a copy": lambda x: x.clone(),
    "a product": lambda x: x * 2,
    "a copy of a product": lambda x: (x * 2).clone(),
    "a matrix product": lambda x: x @ x.t(),
    "a copy of a view": lambda x: x[:, 1:].clone(),
    "what is joined": lambda x: torch.cat([x, x]),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_returned_begins_where_it_does_in_eager(made: str, part: str, backend: str) -> None:
    values = torch.randn(3, 4)

    def program(x: Tensor) -> Tensor:
        return PARTS[part](MADE[made](x))

    found, want = supple.compile(program, backend=backend)(values), program(values)
    torch.testing.assert_close(found, want)
    assert found.storage_offset() == want.storage_offset()
    assert found.untyped_storage().nbytes() == want.untyped_storage().nbytes()
    assert found.data_ptr() != values.data_ptr()
    assert not supple.stats()["fallback_reasons"]
