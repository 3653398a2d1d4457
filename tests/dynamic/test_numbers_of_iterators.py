"""Numbers given to iterators: which are refused, and which of several arguments is refused first."""

import collections
import itertools
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import supple

ARGUMENTS: dict[str, object] = {
    "a list": [1, 2, 3],
    "-1": -1,
    "-2": -2,
    "nothing": None,
    "3": 3,
    "0": 0,
    "1.5": 1.5,
    "a function": len,
    "True": True,
}
FUNCTIONS = {
    "islice": ("", "stop=2"),
    "tee": ("", "n=2"),
    "permutations": ("", "r=1", "iterable=a0"),
    "combinations": ("", "r=-1"),
    "combinations_with_replacement": ("", "r=1"),
    "product": ("", "repeat=2", "repeat=-1"),
    "repeat": ("", "times=2"),
    "deque": ("", "maxlen=2", "maxlen=-1", "iterable=a0"),
    "enumerate": ("", "start=-2", "iterable=a0"),
    "accumulate": ("", "initial=3"),
    "max": ("", "default=3"),
    "min": ("", "default=3"),
}


def program_of(name: str, counts: range) -> str:
    """Return a program that calls a function with each choice of its arguments."""
    given = [f"a{place}" for place in range(len(ARGUMENTS))]
    calls = [
        f"{name}({', '.join(filter(None, (*choice, named)))})"
        for named in FUNCTIONS[name]
        for count in counts
        for choice in itertools.product(given, repeat=count)
    ]
    lines = "\n".join(f"found.append(said(lambda: {call}))" for call in calls)
    parameters = ", ".join(given)
    head = f"def program(x, {parameters}):\n    y = x + 1\n    found = []\n"
    return f"{head}{textwrap.indent(lines, '    ')}\n    return found"


def listed(found: object) -> object:
    """Return the first items of an iterator, and what else it is."""
    if isinstance(found, tuple):
        return tuple(listed(one) for one in found)
    return (type(found).__name__, [*itertools.islice(found, 4)]) if isinstance(found, Iterator) else found


def said(function: Callable[[], object]) -> str:
    try:
        return repr(listed(function()))
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("counts", [range(2), range(2, 3)], ids=["none or one", "two"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_refused_is_refused_as_in_eager(name: str, counts: range, dynamic: bool | None) -> None:
    names: dict[str, object] = {"said": said, "deque": collections.deque, **vars(itertools)}
    exec(program_of(name, counts), names)
    program = names["program"]
    assert callable(program)
    want = program(torch.ones(1), *ARGUMENTS.values())
    compiled = supple.compile(program, backend="eager", dynamic=dynamic)
    assert compiled(torch.ones(1), *ARGUMENTS.values()) == want


class Place:
    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


OBJECTS: dict[str, Callable[[int], object]] = {
    "a place": Place,
    "of NumPy": np.int64,
    "a tensor": torch.tensor,
    "a number": int,
}


def islices(x: torch.Tensor, number: Any, n: int) -> tuple[torch.Tensor, list[str]]:
    items = [1, 2, 3]
    found = [
        said(lambda: itertools.islice(items, number)),
        said(lambda: itertools.islice(items, n, number)),
        said(lambda: itertools.islice(items, 0, number, n)),
        said(lambda: itertools.islice(items, 0, n, number)),
    ]
    return x + 1, found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("kind", OBJECTS)
def test_what_is_no_integer_is_asked_where_it_is_given(kind: str, dynamic: bool | None) -> None:
    """Asked later, by the first `next`, its errors would go past the program's `try`."""
    compiled = supple.compile(islices, backend="eager", dynamic=dynamic)
    for number in (2, -1, -4, 0, 1):
        for n in (2, -1, 0, -3):
            given = torch.ones(2), OBJECTS[kind](number), n
            assert compiled(*given)[1] == islices(*given)[1], (number, n)
