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


def written_through_the_base(x: torch.Tensor) -> torch.Tensor:
    x = x * 1
    with torch.no_grad():
        view = x.view(-1)
    x.add_(1)
    return view


def written_itself(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        view = x.view(-1)
        view.add_(1)
        return view


LOOKS: dict[str, Program] = {
    "is_leaf": lambda view: view.is_leaf,
    "grad_fn": lambda view: view.grad_fn,
    "requires_grad": lambda view: view.requires_grad,
    "set": lambda view: setattr(view, "requires_grad", True),
    "retained": lambda view: view.retain_grad(),
    "asked in no_grad": torch.no_grad()(lambda view: view.is_leaf),
}


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("has_grad", [True, False])
@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("made", [written_through_the_base, written_itself], ids=lambda one: one.__name__)
def test_views_of_which_torch_refuses_to_say_are_written_all_the_same(
    made: Callable[[torch.Tensor], torch.Tensor], look: str, has_grad: bool, backend: str
) -> None:
    def program(x: torch.Tensor) -> object:
        return LOOKS[look](made(x))

    def told(run: Program) -> tuple[str, int, list[float]]:
        x = torch.ones(2, requires_grad=has_grad)
        try:
            said = str(run(x))
        except RuntimeError as error:
            said = str(error)
        return said, x._version, x.tolist()

    with supple.config.patch(suppress_errors=False):
        assert told(supple.compile(program, backend=backend)) == told(program)
