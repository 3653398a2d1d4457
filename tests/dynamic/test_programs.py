"""Small programs with one dynamic dimension: eager's results at every size, and the fewest graphs."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from optree import tree_leaves
from torch import Tensor

from tests.dynamic.harness import BACKENDS, MODES, Program, check, compiled, difference, outcome
from tests.dynamic.programs import PROGRAMS

# Eager warns where a variance of nothing is asked for.
pytestmark = pytest.mark.filterwarnings("ignore:var:UserWarning")

#: Right at every size, but with more graphs than their conditions need.
SPECIALISED = {
    "text_of_a_size": "the text of a size is made during capture",
}
#: The same, where gradients flow.
SPECIALISED_WITH_GRADIENTS = {
    "write_to_a_slice": "a write to no rows shows nothing of the copy that autograd needs otherwise",
    "column_in_the_middle": "a write to one column asks whether autograd needs a copy",
}


def known(programs: list[Program], reasons: dict[str, str]) -> list[Any]:
    """Return programs, those with a reason marked as failing."""
    return [
        pytest.param(one, marks=pytest.mark.xfail(strict=True, reason=reasons[str(one)]), id=str(one))
        if str(one) in reasons
        else pytest.param(one, id=str(one))
        for one in programs
    ]


REFUSING = [program for program in PROGRAMS if program.accepted() != list(program.sizes)]
DIFFERENTIABLE = [program for program in PROGRAMS if program.inputs(4)[0].is_floating_point()]


def test_the_corpus_is_large_and_its_names_are_unique() -> None:
    assert len(PROGRAMS) >= 45
    assert len({str(program) for program in PROGRAMS}) == len(PROGRAMS)
    assert all(program.why for program in PROGRAMS if (program.graphs, program.default) != (1, 2))


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_eager_accepts_several_sizes(program: Program) -> None:
    assert len(program.accepted()) >= 4


# DYN02, DYN03, DYN06, DYN12, SYM05, SYM06
@pytest.mark.parametrize("dynamic", MODES, ids=["dynamic", "default"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", known(PROGRAMS, SPECIALISED))
def test_a_program_needs_no_more_graphs_than_its_conditions(
    program: Program, backend: str, dynamic: bool | None
) -> None:
    check(program, backend, dynamic)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", REFUSING, ids=str)
def test_a_size_that_eager_refuses_is_refused(program: Program, backend: str) -> None:
    made = compiled(program.function, backend, dynamic=True, fullgraph=False)
    for n in program.sizes:
        want = outcome(program.function, program.inputs(n))
        got = outcome(made.run, program.inputs(n))
        assert got.error is want.error, f"at size {n}"


def gradient(run: Callable[..., Any], program: Program, n: int) -> Tensor | None:
    """Return the gradient of a sum over all results and arguments, at a size, by the first argument."""
    x, *others = program.inputs(n)
    x.requires_grad_()
    given = (x * 1, *others)
    found: Any = (run(*given), given)
    made = [item for item in tree_leaves(found) if isinstance(item, Tensor) and item.requires_grad]
    torch.stack([item.cos().sum() for item in made]).sum().backward()
    return x.grad


# DYN12
@pytest.mark.parametrize("program", known(DIFFERENTIABLE, {**SPECIALISED, **SPECIALISED_WITH_GRADIENTS}))
def test_gradients_are_eagers_at_every_size(program: Program) -> None:
    made = compiled(program.function, "native", dynamic=True)
    for n in program.accepted():
        want, got = gradient(program.function, program, n), gradient(made.run, program, n)
        found = difference(want, got, program.tolerance)
        assert not found, f"at size {n}: {found}"
    assert made.graphs == program.graphs
