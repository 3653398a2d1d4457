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


COPIES: dict[str, Callable[[Tensor], Tensor]] = {
    "cloned": lambda x: x.clone(),
    "cloned twice": lambda x: x.clone().clone(),
    "converted": lambda x: x.to(x.dtype, copy=True),
    "copied to": lambda x: torch.empty_like(x).copy_(x),
    "cloned in rows": lambda x: x.clone(memory_format=torch.contiguous_format),
    "made contiguous": lambda x: x.contiguous(),
    "reshaped": lambda x: x.reshape(-1),
    "cloned, and seen in part": lambda x: x.clone()[..., :2],
    "seen in part, and cloned": lambda x: x[..., :2].clone(),
}
SOURCES: dict[str, Callable[[Tensor], Tensor]] = {
    "a copy": lambda x: x.clone(),
    "a product": lambda x: x * 2,
    "what is filled": lambda x: torch.zeros(3, 4),
    "a count": lambda x: torch.arange(12.0).view(3, 4),
    "what is sorted": lambda x: x.sort(1)[0],
    "the input": lambda x: x,
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_that_is_returned_has_memory_of_its_own(copy: str, source: str) -> None:
    values = torch.randn(3, 4)
    backend = "aot_eager" if len(copy + source) % 3 else "native"
    programs: list[Callable[[Tensor], Tensor]] = [
        lambda x, part=part: COPIES[copy](part(SOURCES[source](x))) for part in PARTS.values()
    ]
    for program in programs:
        found, want = supple.compile(program, backend=backend)(values), program(values)
        assert found.stride() == want.stride()
        assert found.storage_offset() == want.storage_offset()
        assert found.untyped_storage().nbytes() == want.untyped_storage().nbytes()
        assert want._is_view() or not found._is_view()
        is_input = found.untyped_storage().data_ptr() == values.untyped_storage().data_ptr()
        assert is_input == (want.untyped_storage().data_ptr() == values.untyped_storage().data_ptr())
        if not is_input:  # a view that was made without gradients would refuse it
            found[0] = torch.ones((), requires_grad=True)
            assert found.requires_grad
    assert not supple.stats()["fallback_reasons"]
