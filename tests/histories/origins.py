"""Where the tensors of a call come from: what autograd and the allocator know of them before it.

An origin makes the arguments `x` and `y` of a call, and tells of all tensors that the call may change: the
arguments, what they were made of, what they are views of. Each has six elements of float32, but where it says
otherwise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class State:
    """The arguments of a call and everything that is looked at after it."""

    x: Tensor
    y: Tensor
    others: tuple[Tensor, ...] = ()

    @property
    def seen(self) -> dict[str, Tensor]:
        """All tensors by a name."""
        return {"x": self.x, "y": self.y} | {f"other {place}": one for place, one in enumerate(self.others)}


ORIGINS: Final[dict[str, Callable[[], State]]] = {}
"""All origins by their names."""


def origin(make: Callable[[], State]) -> Callable[[], State]:
    """Register what makes a state, by its name."""
    ORIGINS[make.__name__.replace("_", " ")] = make
    return make


def plain(count: int = 6, first: int = 1) -> Tensor:
    """Return a new tensor of floats."""
    return torch.arange(first, first + count, dtype=torch.float32) / 4


def leaf(count: int = 6, first: int = 1) -> Tensor:
    """Return a new tensor into which gradients flow."""
    return plain(count, first).requires_grad_()


class Unfelt(torch.autograd.Function):
    """A product through which nothing flows into the second factor."""

    @staticmethod
    def forward(ctx: Any, first: Tensor, second: Tensor) -> Tensor:
        """Return the product."""
        ctx.save_for_backward(second)
        return first * second

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Return the gradient of the first factor."""
        (second,) = ctx.saved_tensors
        return grads[0] * second, None


class Pair(torch.autograd.Function):
    """Two results, of which either may have no gradient."""

    @staticmethod
    def forward(ctx: Any, first: Tensor) -> tuple[Tensor, Tensor]:
        """Return two multiples."""
        ctx.set_materialize_grads(False)
        return first * 2, first * 3

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Return what flowed into the first result, None where nothing did."""
        return None if grads[0] is None else grads[0] * 2


@origin
def tensors() -> State:
    return State(plain(), plain(first=3))


@origin
def a_leaf_and_a_tensor() -> State:
    return State(leaf(), plain(first=3))


@origin
def a_tensor_and_a_leaf() -> State:
    return State(plain(), leaf(first=3))


@origin
def leaves() -> State:
    return State(leaf(), leaf(first=3))


@origin
def a_leaf_with_a_gradient() -> State:
    x = leaf()
    x.grad = torch.ones(6)
    return State(x, plain(first=3))


@origin
def a_parameter() -> State:
    return State(torch.nn.Parameter(plain()), torch.nn.Parameter(plain(first=3), requires_grad=False))


@origin
def results() -> State:
    first, second = leaf(), leaf(first=3)
    return State(first * 2, second.exp(), (first, second))


@origin
def a_result_that_keeps_its_gradient() -> State:
    first = leaf()
    x = first * 2
    x.retain_grad()
    return State(x, plain(first=3), (first,))


@origin
def results_of_a_function() -> State:
    first, second = leaf(), leaf(first=3)
    return State(Unfelt.apply(first, second), Unfelt.apply(second, first), (first, second))


@origin
def results_of_one_function() -> State:
    first = leaf()
    x, y = Pair.apply(first)
    return State(x, y, (first,))


@origin
def an_argument_twice() -> State:
    x = plain()
    return State(x, x)


@origin
def a_leaf_twice() -> State:
    x = leaf()
    return State(x, x)


@origin
def a_tensor_and_its_view() -> State:
    x = plain(12)
    return State(x[:6], x[3:9], (x,))


@origin
def a_base_and_its_view() -> State:
    x = plain()
    return State(x, x[:])


@origin
def a_view_and_its_base() -> State:
    y = plain()
    return State(y.view(2, 3).view(6), y)


@origin
def a_leaf_and_its_view() -> State:
    x = leaf()
    return State(x, x.view(6))


@origin
def views_of_a_result() -> State:
    first = leaf(12)
    x = first * 2
    return State(x[:6], x[6:], (first, x))


@origin
def a_view_older_than_its_leaf() -> State:
    x = plain(8)
    view = x[1:7]
    x.requires_grad_()
    return State(view, plain(first=3), (x,))


@origin
def a_leaf_and_an_older_view() -> State:
    x = plain()
    view = x[:]
    x.requires_grad_()
    return State(x, view)


@origin
def an_older_view_and_its_leaf() -> State:
    y = plain()
    view = y[:]
    y.requires_grad_()
    return State(view, y)


@origin
def an_older_view_of_a_result() -> State:
    x, first = plain(), leaf(first=3)
    view = x[:]
    x.mul_(first)
    assert not view.is_leaf  # who asks makes it so: eager lets nobody write to it before
    return State(view, x, (first,))


@origin
def a_leaf_and_what_it_is_detached_from() -> State:
    x = leaf()
    return State(x.detach(), x)


@origin
def a_result_and_its_data() -> State:
    first = leaf()
    x = first * 2
    return State(x, x.data, (first,))


@origin
def views_made_without_gradients() -> State:
    first = leaf()
    with torch.no_grad():
        x = first[:]
    return State(x, plain(first=3), (first,))


@origin
def pieces() -> State:
    x = plain(12)
    first, second = x.split(6)
    return State(first, second, (x,))


@origin
def pieces_of_a_result() -> State:
    first = leaf(12)
    x, y = (first * 2).unbind_copy() if first.dim() > 1 else (first * 2).chunk(2)
    return State(x, y, (first,))


@origin
def every_second_element() -> State:
    x, y = plain(12), plain(12, 3)
    return State(x[::2], y[1::2], (x, y))


@origin
def every_second_element_of_a_leaf() -> State:
    first = leaf(12)
    return State(first[::2], first[1::2], (first,))


@origin
def one_element_spread() -> State:
    x = torch.ones(1)
    return State(x.expand(6), plain(first=3), (x,))


@origin
def arrays() -> State:
    x = np.arange(6, dtype=np.float32)
    return State(torch.from_numpy(x), torch.from_numpy(x[:]))


@origin
def negative_views() -> State:
    x = torch.complex(plain(), plain(first=3))
    return State(x.conj().imag, x.real, (x,))


@origin
def inference_tensors() -> State:
    with torch.inference_mode():
        x = plain()
    return State(x, plain(first=3))


@origin
def integers() -> State:
    return State(torch.arange(6), torch.arange(6) + 1)


@origin
def nothing_in_them() -> State:
    first = leaf(0)
    return State(plain(0), first * 2, (first,))


@origin
def a_leaf_with_a_hook() -> State:
    x = leaf()
    x.register_hook(lambda grad: None if grad is None else grad * 2)
    return State(x, plain(first=3))
