"""A part of `make histories` that fits into every test run, and what the generator found before."""

import random
from collections import Counter
from collections.abc import Iterator
from itertools import islice

import pytest
import torch

from tests.histories.origins import ORIGINS
from tests.histories.programs import Program, programs
from tests.histories.running import FACTORS, Call, all_calls, differs_at_last, findings

PARTS = 24
"""How many tests there are."""
PROGRAMS = 4
"""How many programs each test runs, for tensors of all origins."""

Steps = tuple[tuple[str, ...], tuple[tuple[str, str], ...]]

FOUND: dict[str, Steps] = {
    "a mark without a write is counted": (
        ("made.append(Marked.apply(x, w))",),
        (("every second element", "a tensor"), ("tensors", "a tensor")),
    ),
    "a later write to an argument that has what eager keeps": (
        ("made.append(x.relu_())", "asked.append(y.grad)", "with torch.no_grad(): x[1:3].mul_(w[1:3])"),
        (("results", "a leaf"), ("results of one function", "a leaf")),
    ),
    "a setter that eager refuses": (
        ("x.mul_(w)", "x.requires_grad = True"),
        (("tensors", "a leaf"),),
    ),
    "is_leaf of what is detached in place": (
        ("y.detach_()", "asked.append(y.is_leaf)"),
        (("results", "a leaf"),),
    ),
    "what a leaf detached in place says to its view": (
        ("x.detach_()", "asked.append((y * 2).requires_grad)"),
        (("a leaf and an older view", "a leaf"),),
    ),
    "a view is no leaf once it is written": (
        ("with torch.no_grad(): x.add_(1)", "asked.append(x.is_leaf)"),
        (("a leaf and a tensor", "a tensor"), ("a view older than its leaf", "a tensor")),
    ),
    "a write without history to one of several views": (
        ("x.detach().mul_(2)", "made.append(x * 2)"),
        (("pieces of a result", "a leaf"),),
    ),
    "a write without history to a view made without gradients": (
        ("with torch.no_grad(): x.add_(1)", "y.detach().mul_(2)", "asked.append(x.grad_fn is None)"),
        (("a leaf with a hook", "a leaf"), ("views made without gradients", "a tensor")),
    ),
    "contiguous gives its operand": (
        ("made.append(x.contiguous())",),
        (("results", "a leaf"), ("every second element", "a leaf"), ("arrays", "a leaf")),
    ),
    "a written input with gaps, whose gradient is asked for": (
        ("x.data.add_(1)", "made.extend(torch.autograd.grad((x * w).sum(), x))"),
        (("every second element of a leaf", "a tensor"),),
    ),
    "backward of one result after another's": (
        ("made.append(x.clone())", "(x * w).sum().backward()"),
        (("results of one function", "a leaf"),),
    ),
    "a dead product of a view that eager refuses": (
        ("with torch.no_grad(): x.copy_(w)", "asked.append((x * 2).requires_grad)"),
        (
            ("a view older than its leaf", "a tensor"),
            ("a result and its data", "a tensor"),
            ("views made without gradients", "a tensor"),
        ),
    ),
    "a dead product of one of several views that were written": (
        (
            "with torch.no_grad(): x.add_(1)",
            "asked.append((y * 2).requires_grad)",
            "with torch.no_grad(): made.append(x[1:4])",
        ),
        (
            ("an older view and its leaf", "a tensor"),
            ("a view older than its leaf", "a leaf"),
            ("pieces of a result", "a tensor"),
        ),
    ),
    "a view made without gradients of a view that eager refuses": (
        ("with torch.no_grad(): x.add_(1)", "with torch.no_grad(): made.append(x[1:4])"),
        (("a view older than its leaf", "a leaf"), ("views made without gradients", "a leaf")),
    ),
    "an inference tensor is detached in place": (
        ("x.detach_()", "asked.append(x.is_inference())"),
        (("inference tensors", "a tensor"),),
    ),
    "nothing flows into what was kept, which was written": (
        ("made.append(Unfelt.apply(w, x * y))", "y.detach().mul_(2)"),
        (("a leaf and a tensor", "a leaf"), ("results of one function", "a tensor")),
    ),
    "is_leaf of a view where it was asked of a leaf": (
        ("x.detach().mul_(2)", "y.grad = w.detach().clone()", "asked.append(y.is_leaf)"),
        (("leaves", "a tensor"), ("a leaf and an older view", "a tensor")),
    ),
    "is_leaf of a view after a write without gradients": (
        ("with torch.no_grad(): x.add_(1)", "asked.append(y.is_leaf)"),
        (("leaves", "a tensor"), ("a leaf and an older view", "a tensor")),
    ),
    "grad_fn of a view where it was asked of a leaf": (
        ("x.detach().mul_(2)", "asked.append(y.grad_fn is None)"),
        (("leaves", "a leaf"), ("a leaf and an older view", "a leaf")),
    ),
    "a write to `.data` that another graph has given": (
        (
            "made.append(x.data)",
            "asked.append(x.is_leaf)",
            "with torch.inference_mode(): [one.unsqueeze_(0) for one in made]",
        ),
        (("views made without gradients", "a leaf"), ("a leaf twice", "a tensor")),
    ),
    "a gradient that has one, and a later write": (
        ("made.extend(torch.autograd.grad((x * x).sum(), x, create_graph=True))", "x.add_(1)"),
        (("results of one function", "a leaf"),),
    ),
}
"""Programs, and the origins of their arguments, for which compiled code did something else than eager."""


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(PARTS))
def test_histories_are_as_in_eager(part: int) -> None:
    chosen = islice(programs(seed=1), part * PROGRAMS, (part + 1) * PROGRAMS)
    for number, program in enumerate(chosen):
        calls = all_calls(random.Random(f"{part} {number}"))
        backend = "native" if number % 2 else "eager"
        assert not list(findings(program, calls, backend, Counter()))


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_is_as_in_eager(name: str, backend: str) -> None:
    lines, calls = FOUND[name]
    assert differs_at_last(Program(lines), [Call(*call) for call in calls], backend) is None


@pytest.mark.parametrize("line", ["x.data", "x[:].data", "x.data[1:]", "x.detach()", "x[1:]"])
@pytest.mark.parametrize(
    "origin", ["tensors", "leaves", "results", "every second element", "a leaf and its view"]
)
def test_writes_to_results_after_the_call_are_counted_as_in_eager(origin: str, line: str) -> None:
    program = Program((f"made.append({line})",), later="made")
    assert differs_at_last(program, [Call(origin, "a leaf")], "native") is None


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("factor", FACTORS)
def test_a_program_that_does_nothing_is_as_in_eager(origin: str, factor: str) -> None:
    assert differs_at_last(Program(()), [Call(origin, factor)], "native") is None
