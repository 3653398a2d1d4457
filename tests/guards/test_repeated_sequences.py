"""`a *= b` where `b` is a sequence and `a` no number: CPython asks how the class of `a` was made."""

import collections
import functools
import operator
import re
import types

import pytest
import torch

import supple

KINDS: dict[str, object] = {
    "partial": functools.partial(max),
    "itemgetter": operator.itemgetter(0),
    "methodcaller": operator.methodcaller("a"),
    "pattern": re.compile("a"),
    "proxy": types.MappingProxyType({}),
    "dict": {},
    "set": frozenset((1,)),
    "values": {}.values(),
    "range": range(2),
    "ordered": collections.OrderedDict(),
    "none": None,
    "float": 1.5,
    "function": len,
    "slice": slice(1),
    "class": int,
    "namespace": types.SimpleNamespace(),
    "dtype": torch.float32,
}


@pytest.mark.parametrize(
    "other", [[1], (1,), "a", b"a", collections.deque((1,))], ids=lambda one: type(one).__name__
)
@pytest.mark.parametrize("kind", KINDS)
def test_an_error_of_a_repetition_is_that_of_eager(kind: str, other: object) -> None:
    def program(x: torch.Tensor, a: object, b: object) -> list[object]:
        found: list[object] = [x.shape]
        try:
            a *= b  # type: ignore[operator]
        except TypeError as error:
            found.append(str(error))
        try:
            found.append(a * b)  # type: ignore[operator]
        except TypeError as error:
            found.append(str(error))
        return found

    compiled = supple.compile(program, backend="eager")
    assert compiled(torch.ones(1), KINDS[kind], other) == program(torch.ones(1), KINDS[kind], other)
