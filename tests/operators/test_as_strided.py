"""`as_strided` and its kin read behind the end of a view, in its storage: of what was written too."""

from collections.abc import Callable
from typing import Final

import pytest
import torch

import supple

Program = Callable[[torch.Tensor], torch.Tensor]
OPERATORS: Final[dict[str, Program]] = {
    "view": lambda x: torch.as_strided(x, (2,), (1,)) * 1,
    "copy": lambda x: torch.as_strided_copy(x, (2,), (1,)),
    "scatter": lambda x: torch.as_strided_scatter(x, x.new_full((2,), 7), (2,), (1,)),
    "copy of an offset": lambda x: torch.as_strided_copy(x, (2,), (1,), 2),
}
#: Where the tensor comes from, made of one of 6 elements with room behind it.
PARTS: Final[dict[str, Program]] = {
    "the whole": lambda x: x,
    "an element": lambda x: x[1],
    "the end": lambda x: x[2:],
    "steps": lambda x: x[::2],
    "a result": lambda x: x * 2,
    "part of a result": lambda x: (x * 2)[1],
}
#: What the program does before.
WRITES: Final[dict[str, Callable[[torch.Tensor], object]]] = {
    "nothing": lambda x: None,
    "a write": lambda x: x.add_(1),
    "a write through a view": lambda x: x.view(-1)[:1].mul_(3),
    "a write through all that it shows": lambda x: x._base.add_(1) if x._base is not None else None,
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("is_inside", [False, True], ids=["part from outside", "part of the graph"])
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", OPERATORS)
def test_storage_is_read_as_in_eager(
    name: str, part: str, write: str, is_inside: bool, dynamic: bool | None
) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        if is_inside:
            x = PARTS[part](x)
        WRITES[write](x)
        return OPERATORS[name](x)

    found: list[object] = []
    for function in (program, supple.compile(program, dynamic=dynamic)):
        base = torch.arange(6.0)
        given = base if is_inside else PARTS[part](base)
        try:
            result: object = function(given).tolist()
        except RuntimeError as error:
            result = str(error)
        found.append((result, base.tolist(), given.tolist()))
    assert found[1] == found[0]
