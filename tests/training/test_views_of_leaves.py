"""Views of what becomes a leaf with gradients after they were made.

torch says of them that they require gradients, and they get none before `requires_grad_` of their own.
"""

from collections.abc import Callable

import pytest
import torch

import supple

Program = Callable[[torch.Tensor], object]
USED: dict[str, Program] = {
    "switched on": lambda x: x.requires_grad_() * 2,
    "switched off": lambda x: x.requires_grad_(False) * 2,
    "off and on": lambda x: (x.requires_grad_(False), x.requires_grad_() * 2),
    "set": lambda x: (setattr(x, "requires_grad", True), x * 2),
    "set off": lambda x: (setattr(x, "requires_grad", False), x * 2),
    "asked": lambda x: (x.requires_grad, x.is_leaf, x.grad_fn, x * 2),
    "asked when off": lambda x: (x.requires_grad_(False).requires_grad, x * 2),
    "read": lambda x: x * 2,
    "viewed": lambda x: x.view(-1, 1).requires_grad_() * 2,
    "cloned": lambda x: x.clone().requires_grad_() * 2,
    "detached": lambda x: x.detach().requires_grad_() * 2,
    "retained": lambda x: (x.requires_grad_().retain_grad(), x * 2),
}
MADE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "a view": lambda base: base[:1],
    "a view of a view": lambda base: base[:2][:1],
    "the whole": lambda base: base[:],
    "detached": lambda base: base.detach()[:1],
    "a clone": lambda base: base[:1].clone(),
}


def seen(program: Program, made: str) -> list[object]:
    """Return what a call gives and leaves, gradients with it, of a view that is older than its leaf."""
    base = torch.ones(3)
    given = MADE[made](base)
    base.requires_grad_()
    found = program(given)
    results = [one for one in (found if isinstance(found, tuple) else (found,)) if one is not None]
    text = ""
    for one in results:
        if isinstance(one, torch.Tensor) and one.requires_grad:
            try:
                one.sum().backward(retain_graph=True)
            except RuntimeError as error:
                text = str(error)
    shown = [(one.tolist(), one.requires_grad) if isinstance(one, torch.Tensor) else one for one in results]
    return [shown, base.grad, given.grad, given.requires_grad, given.is_leaf, text]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("used", USED)
@pytest.mark.parametrize("made", MADE)
def test_a_view_gets_gradients_from_where_it_asks_for_them(made: str, used: str, backend: str) -> None:
    program = USED[used]
    assert str(seen(supple.compile(program, backend=backend), made)) == str(seen(program, made))


@pytest.mark.filterwarnings("ignore")
def test_leaves_and_views_of_leaves_are_told_apart() -> None:
    program = USED["switched on"]
    compiled = supple.compile(program, backend="native")
    for made in (*MADE, *MADE):
        assert str(seen(compiled, made)) == str(seen(program, made))


@pytest.mark.filterwarnings("ignore")
def test_the_leaf_may_be_made_in_the_program() -> None:
    def program(base: torch.Tensor, view: torch.Tensor) -> torch.Tensor:
        base.requires_grad_()
        supple.graph_break()
        return view.requires_grad_() * 2

    for run in (program, supple.compile(program, backend="native")):
        base = torch.ones(3)
        view = base[:1]
        run(base, view).sum().backward()
        assert base.grad is None
        assert torch.equal(view.grad, torch.tensor([2.0]))
