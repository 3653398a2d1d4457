"""One operand of each of torch's samples has other sizes: what eager refuses, native code refuses, and reads
nothing beside the memory of an operand.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_leaves, tree_map

import supple
from tests.operators.test_samples import OPERATORS, samples, tensors

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.sweep]

Outcome = tuple[object, ...]
Arguments = tuple[tuple[Any, ...], dict[str, Any]]
LEFT_OUT = """
empty unsafe_ lu_unpack rand normal bernoulli multinomial dropout rrelu uniform cauchy exponential geometric
_lowrank resize native_batch_norm _batch_norm_with_update""".split()
"""Operators that draw, that show memory as it is, or that in eager write past operands of other sizes."""
NAMES = [name for name in OPERATORS if not any(part in name for part in LEFT_OUT)]


def others(tensor: object) -> Iterator[torch.Tensor]:
    """Yield tensors of other sizes."""
    if not isinstance(tensor, torch.Tensor) or tensor.layout is not torch.strided:
        return
    bare = tensor.detach()
    for dim, size in enumerate(bare.shape[:3]):
        for count in (1, size + 1):
            if size and count != size:
                yield bare.index_select(dim, torch.arange(count) % size)
    yield bare[None].clone()
    if bare.dim():
        yield bare.flatten(0, 1).clone() if bare.dim() > 1 else bare.sum()


def outcome(run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Outcome:
    try:
        found = run(*args, **kwargs)
    except Exception as error:  # whatever eager raises
        return type(error), str(error).partition("\nException raised from")[0]
    return tuple((leaf.shape, leaf.dtype) for leaf in tree_leaves(found) if isinstance(leaf, torch.Tensor))


def with_another(arguments: Arguments, which: int, other: torch.Tensor) -> Arguments:
    """Return copies of arguments, with another tensor in the place of one leaf."""
    place = iter(range(1000))

    def copied(leaf: Any) -> Any:
        leaf = other if next(place) == which else leaf
        return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf

    return tree_map(copied, arguments)


@pytest.mark.parametrize("name", NAMES)
def test_what_does_not_fit_is_refused(name: str) -> None:
    function = OPERATORS[name].op
    args, kwargs = max(samples(name, 6), key=lambda one: len(tensors(one)))
    for which, leaf in enumerate(tree_leaves((args, kwargs))):
        for other in others(leaf):
            supple.reset()
            compiled = supple.compile(lambda *a, **k: function(*a, **k), backend="native")
            mine, theirs = (
                outcome(run, *with_another((args, kwargs), which, other)) for run in (compiled, function)
            )
            assert mine == theirs, (leaf.shape, other.shape)
