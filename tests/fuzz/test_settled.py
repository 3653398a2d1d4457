"""What eager does not settle, or the documents leave open, is not compared; all else is."""

import pytest

from tests.fuzz import running
from tests.fuzz.running import Difference, is_settled

CONSTANT_ROW = """
state = torch.zeros(3)

def program(x):
    state.add_(x.sum())
    return F.linear(F.layer_norm(state, state.shape), torch.arange(9.0).reshape(3, 3))

def arguments_0():
    return (tensor(2).requires_grad_(),)

def call_0(program, *args):
    return watched(program, args)
"""
SET = """
class Thing:
    def __init__(self, number):
        self.number = number

def program(things):
    return [one.number for one in set(things)]

def arguments_0():
    return ([Thing(number) for number in range(20)],)
"""
PLAIN = """
weight = torch.arange(9.0).reshape(3, 3)

def program(x, things):
    return F.layer_norm(x @ weight, (3,)), [one.abs() for one in dict.fromkeys(things)], x.bfloat16().sum()

def arguments_0():
    return tensor(4), [tensor(2), tensor(3)]
"""
EDGE = """
def program(x):
    return torch.acosh(torch.rsqrt(x))

def arguments_0():
    return (extremes(torch.float16, 0),)
"""
NUMBERS = """
def program(x):
    return torch.acosh(x + 2)

def arguments_0():
    return (torch.ones(3),)
"""
SIGN = """
def program(x):
    return torch.copysign(x, torch.div(torch.zeros(3), 0.0))

def arguments_0():
    return (torch.ones(3),)
"""
VECTORS = """
def program(x):
    return torch.fmod(x, 0.5)

def arguments_0():
    return (torch.full((8,), torch.finfo(torch.float64).max, dtype=torch.float64),)
"""
FEW = """
def program(x):
    return torch.sinh(x)

def arguments_0():
    return (torch.full((5,), 710.0, dtype=torch.float64),)
"""
TEXT = """
def program(x):
    return len(str(torch.relu(x)))

def arguments_0():
    return (torch.ones(2, requires_grad=True),)
"""
OLD_VIEW = """
def program(t1, t2, t3):
    try:
        t1.mul_(t3[1])
        t2.add_(1)
    except RuntimeError:
        pass

def arguments_0():
    t1 = torch.ones(3)
    return (t1, t1[1], tensor(2).requires_grad_())
"""
ROWS = """
def program(rows):
    return torch.stack(rows)

def arguments_0():
    return (list(tensor(2).requires_grad_()),)

def call_0(program, *args):
    return separately(program, args)
"""


@pytest.mark.parametrize(
    ("source", "found", "expected"),
    [
        (CONSTANT_ROW, Difference("", "arguments[].grad/attributes[]", is_by_little=True), False),
        (CONSTANT_ROW, Difference("", "arguments[].grad/attributes[]"), True),
        (CONSTANT_ROW, Difference("", "result[][].dtype", is_by_little=True), True),
        (SET, Difference("", "result[][]"), False),
        (PLAIN, Difference("", "result[][]", is_by_little=True), True),
        (EDGE, Difference("", "result[]", is_at_edge=True), False),
        (EDGE, Difference("", "result[]"), True),
        (NUMBERS, Difference("", "result[]", is_at_edge=True), True),
        (SIGN, Difference("", "result[]", is_at_edge=True), False),
        (SIGN, Difference("", "result[]"), True),
        (VECTORS, Difference("", "result[]", is_at_edge=True), False),
        (FEW, Difference("", "result[]"), False),
        (TEXT, Difference("", "result[]"), False),
        (TEXT, Difference("", "prints"), True),
        (OLD_VIEW, Difference("", "arguments[]._version"), False),
        (OLD_VIEW, Difference("", "result[]"), True),
    ],
    ids=[
        *(
            "a sum of errors",
            "a large difference",
            "another kind",
            "an order of addresses",
            "another program",
        ),
        *("the end of a function", "another end of a function", "numbers far from the end"),
        *("the sign of a NaN", "no sign", "vectors", "fewer elements than a vector has"),
        *("the length of a text", "another difference of a text"),
        *("a view that nobody asked", "another difference of a view"),
    ],
)
def test_eager_settles_what_rounding_and_addresses_do_not_decide(
    source: str, found: Difference, expected: bool
) -> None:
    assert is_settled(source, "native", found) is expected


@pytest.mark.parametrize("source", [CONSTANT_ROW, SET, EDGE, SIGN, VECTORS, FEW, TEXT, OLD_VIEW])
@pytest.mark.parametrize("backend", ["eager", "native"])
def test_unsettled_programs_are_no_finds(source: str, backend: str) -> None:
    assert running.difference(source, backend) is None


def test_gradients_that_share_memory_are_no_finds() -> None:
    assert running.difference(ROWS, "native", dynamic=True) is None
