"""Call a compiled function, change one thing, call again: eager is the oracle each time."""

from collections.abc import Callable

import torch

import supple


def same(left: object, right: object) -> bool:
    """Whether two results are equal: type, dtype, device, sizes, values."""
    if isinstance(left, torch.Tensor):
        assert isinstance(right, torch.Tensor), (left, right)
        described = [(x.dtype, x.device, x.shape, x.requires_grad) for x in (left, right)]
        assert described[0] == described[1], described
        return left.is_meta or (
            torch.equal(left.isnan(), right.isnan()) and torch.allclose(left, right, equal_nan=True)
        )
    if isinstance(left, tuple | list):
        assert type(left) is type(right), (left, right)
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and (left == right or (left != left and right != right))


class Pair:
    """A function and its compiled form, called alike."""

    def __init__(self, function: Callable[..., object], *, fullgraph: bool = True) -> None:
        self.function = function
        self.compiled = supple.compile(function, backend="eager", fullgraph=fullgraph)

    def agree(self, *args: object, **kwargs: object) -> None:
        """Assert that both give the same for these arguments."""
        expected = self.function(*args, **kwargs)
        found = self.compiled(*args, **kwargs)
        assert same(found, expected), (found, expected)

    def agree_again(self, *args: object, **kwargs: object) -> None:
        """Assert that both give the same, without another compilation."""
        before = supple.stats()["compilations"]
        self.agree(*args, **kwargs)
        assert supple.stats()["compilations"] == before, supple.stats()["recompile_reasons"]

    def agree_anew(self, *args: object, **kwargs: object) -> str:
        """Assert that both give the same, after exactly one more compilation; return why that was needed."""
        before = supple.stats()["compilations"]
        self.agree(*args, **kwargs)
        assert supple.stats()["compilations"] == before + 1, "no compilation"
        reasons = supple.stats()["recompile_reasons"]
        assert isinstance(reasons, list)
        return str(reasons[-1]) if reasons else ""


def settled(function: Callable[..., object], *args: object, **kwargs: object) -> Pair:
    """Return a pair that has been called twice, the second time without compiling."""
    return settled_pair(Pair(function), *args, **kwargs)


def settled_pair(pair: Pair, *args: object, **kwargs: object) -> Pair:
    """Return the pair after two calls, the second without compiling."""
    pair.agree_anew(*args, **kwargs)
    pair.agree_again(*args, **kwargs)
    return pair
