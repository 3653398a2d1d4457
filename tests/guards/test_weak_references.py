"""Weak references compare, hash and are found by what they refer to, which a compiled program guards."""

import weakref
from collections.abc import Callable

import pytest
import torch

import supple


class Equal:
    def __init__(self, n: int) -> None:
        self.n = n

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal) and self.n == other.n

    def __hash__(self) -> int:
        return hash(self.n)


class Plain:
    pass


Reference = weakref.ref[object]
OBJECTS = (Equal(1), Equal(1), Equal(2), Plain(), Plain())
A, B = Equal(1), Plain()
OF_A, OF_B = weakref.ref(A), weakref.ref(B)
TABLE = {OF_A: 1}
PROGRAMS: dict[str, Callable[[Reference], object]] = {
    "equal, by identity": lambda r: r == OF_B,
    "equal, by value": lambda r: r == OF_A,
    "not equal": lambda r: r != OF_A,
    "hash": lambda r: hash(r) == hash(OF_A),
    "member of a dict": lambda r: r in TABLE,
    "key": lambda r: {OF_A: 1}.get(r),
    "member of a list": lambda r: r in [OF_B, OF_A],
    "in a tuple": lambda r: (r, 1) == (OF_A, 1),
    "member of a set": lambda r: r in {OF_A},
    "identity": lambda r: r is OF_A,
    "text": lambda r: "dead" in repr(r),
    "count": lambda r: [OF_A, OF_B].count(r),
    "method": lambda r: r.__eq__(OF_A),
    "truth": bool,
    "order": lambda r: r < OF_A,  # type: ignore[operator]
    "called": lambda r: type(r()),
}


def outcome(program: Callable[[Reference], object], reference: Reference) -> object:
    try:
        return program(reference)
    except TypeError as error:
        return str(error)


@pytest.mark.parametrize("begin", range(3))
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_what_is_compiled_for_one_referent_serves_no_other(name: str, begin: int) -> None:
    program = PROGRAMS[name]
    compiled = supple.compile(lambda r: (torch.ones(1) + 1, program(r)), backend="eager")
    dying = Plain()
    references = [*map(weakref.ref, OBJECTS), OF_A, OF_B, weakref.ref(dying)]
    for reference in (*references[begin:], *references[:begin]):
        assert outcome(lambda r: compiled(r)[1], reference) == outcome(program, reference)
    del dying
    assert outcome(lambda r: compiled(r)[1], references[-1]) == outcome(program, references[-1])
