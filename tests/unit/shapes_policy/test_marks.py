"""Marks on tensors, and the error for a program that does not keep to them."""

import copy
import io
import subprocess
import sys

import pytest
import torch

import supple
from supple.base.errors import Where
from supple.errors import ConstraintViolationError, UserError
from supple.shapes.marks import Kind, Mark, Violation, marks_of, violations


# ANN06, ANN07
def test_marks_of_dimensions() -> None:
    x = torch.zeros(2, 3, 4)
    supple.mark_dynamic(x, [0, -1], min=2, max=9)
    supple.maybe_mark_dynamic(x, 1)
    supple.mark_unbacked(x, 0, strict=True)
    assert marks_of(x) == (
        {Kind.DYNAMIC: Mark(2, 9, True), Kind.UNBACKED: Mark(None, None, True)},
        {Kind.MAYBE: Mark()},
        {Kind.DYNAMIC: Mark(2, 9, True)},
    )


# X-ESC10
def test_mark_static_without_dimensions_marks_all() -> None:
    x = torch.zeros(2, 3)
    supple.mark_static(x)
    assert [list(one) for one in marks_of(x)] == [[Kind.STATIC], [Kind.STATIC]]


def test_an_unmarked_tensor_has_no_marks() -> None:
    x = torch.zeros(2)
    x.note = "mine"  # pyright: ignore[reportAttributeAccessIssue]  # users do that
    assert marks_of(x) == ({},)


def test_marks_survive_copies_and_files() -> None:
    x = torch.zeros(2)
    supple.mark_dynamic(x, 0, max=7)
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    for one in (copy.deepcopy(x), torch.load(file, weights_only=True)):
        assert marks_of(one) == ({Kind.DYNAMIC: Mark(None, 7, True)},)


# ANN08
@pytest.mark.parametrize("mark", ["mark_dynamic", "maybe_mark_dynamic", "mark_static", "mark_unbacked"])
def test_only_tensors_are_marked(mark: str) -> None:
    with pytest.raises(TypeError, match=r"only dimensions of tensors are marked, not 5.*dynamic_sources"):
        getattr(supple, mark)(5, 0)


@pytest.mark.parametrize(
    ("dim", "bounds", "error", "text"),
    [
        (2, {}, IndexError, "2 dimensions has no dimension 2"),
        (-3, {}, IndexError, "no dimension -3"),
        ("0", {}, TypeError, "a dimension is an integer, not '0'"),
        (True, {}, TypeError, "not True"),
        ([0, 5], {}, IndexError, "no dimension 5"),
        (0, {"min": -1}, ValueError, "not -1"),
        (0, {"max": 2.0}, ValueError, "not 2.0"),
        (0, {"min": 5, "max": 4}, ValueError, "at least 5 and at most 4"),
    ],
)
def test_bad_marks_are_refused(
    dim: object, bounds: dict[str, object], error: type[Exception], text: str
) -> None:
    x = torch.zeros(2, 3)
    with pytest.raises(error, match=text):
        supple.mark_dynamic(x, dim, **bounds)  # pyright: ignore[reportArgumentType]  # the test
    assert marks_of(x) == ({}, {})


TORCH = """
import torch
from torch._dynamo.decorators import mark_dynamic, mark_static, mark_unbacked, maybe_mark_dynamic
x, y = torch.zeros(4, 5, 6), torch.zeros(4)
mark_dynamic(x, [0, -1], min=2, max=9)
maybe_mark_dynamic(x, 1)
mark_static(x, 1)
mark_unbacked(x, 0)
mark_unbacked(y, 0, strict=True)
from supple.shapes.marks import marks_of
print([{kind.value: (m.minimum, m.maximum, m.is_strict) for kind, m in one.items()} for one in marks_of(x)])
print([{kind.value: m.is_strict for kind, m in one.items()} for one in marks_of(y)])
"""


@pytest.mark.slow
def test_marks_of_torch_count() -> None:
    result = subprocess.run([sys.executable, "-c", TORCH], capture_output=True, text=True, check=True)
    x, y = map(eval, result.stdout.splitlines())
    dynamic, free = (2, 9, True), (None, None, False)
    assert x == [
        {"unbacked": free, "dynamic": dynamic},
        {"maybe": free, "static": free},
        {"dynamic": dynamic},
    ]
    assert y == [{"unbacked": True}]


# X-SHP17, ANN09
def test_one_error_for_all_violations() -> None:
    here = Where(__file__, 1, "forward")
    found = [
        Violation("L['x']", 0, "Eq(s0, 10)", 10, (here,)),
        Violation("L['self'].__dict__['y']", 1, "s1 >= 4", None, ()),
    ]
    error = violations(found)
    assert isinstance(error, ConstraintViolationError)
    assert isinstance(error, UserError)
    assert isinstance(error, RuntimeError)
    text = str(error)
    assert "Dimension 0 of L['x'], dimension 1 of L['self'].__dict__['y']: marked dynamic" in text
    assert "L['x'].size()[0] must be 10: Eq(s0, 10)" in text
    assert f"at {__file__}:1 in forward" in text
    assert '"""Marks on tensors' in text
    assert "L['self'].__dict__['y'].size()[1] is not free: s1 >= 4" in text
    assert "supple.maybe_mark_dynamic(x, 0) and supple.maybe_mark_dynamic(self.y, 1)" in text
