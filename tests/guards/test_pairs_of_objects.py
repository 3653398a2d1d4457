"""Objects that C makes, one after another of the same class: what holds of the first is not taken for all.

Each use runs on each object of a class after it was compiled for each other.
"""

import array
import collections
import datetime
import decimal
import fractions
import functools
import operator
import re
import types
import uuid
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
import torch

import supple

pytestmark = pytest.mark.sweep

OBJECTS: Final[dict[str, Callable[[], list[Any]]]] = {
    "itemgetter": lambda: [operator.itemgetter(0), operator.itemgetter(1), operator.itemgetter(0, 1)],
    "attrgetter": lambda: [operator.attrgetter("real"), operator.attrgetter("imag", "real")],
    "methodcaller": lambda: [operator.methodcaller("count", 1), operator.methodcaller("index", 2)],
    "partial": lambda: [functools.partial(len), functools.partial(list), functools.partial(max, default=3)],
    "pattern": lambda: [re.compile("a"), re.compile("1"), re.compile("1", re.ASCII)],
    "range": lambda: [range(3), range(1, 3), range(0, 4, 2), range(0)],
    "slice": lambda: [slice(1), slice(1, 2), slice(None, None, -1)],
    "decimal": lambda: [decimal.Decimal("1"), decimal.Decimal("1.0"), decimal.Decimal("nan")],
    "fraction": lambda: [fractions.Fraction(1, 2), fractions.Fraction(2, 3)],
    "date": lambda: [datetime.date(2020, 1, 1), datetime.date(2021, 2, 2)],
    "delta": lambda: [datetime.timedelta(1), datetime.timedelta(0, 1)],
    "uuid": lambda: [uuid.UUID(int=1), uuid.UUID(int=2)],
    "array": lambda: [array.array("d", [1.0]), array.array("d", [2.0, 1.0]), array.array("i", [1])],
    "bytearray": lambda: [bytearray(b"a"), bytearray(b"ab")],
    "memoryview": lambda: [memoryview(b"ab"), memoryview(b"ba")],
    "deque": lambda: [collections.deque([1, 2]), collections.deque([1, 2], 2), collections.deque()],
    "counter": lambda: [collections.Counter("ab"), collections.Counter("b")],
    "proxy": lambda: [types.MappingProxyType({"a": 1}), types.MappingProxyType({"b": 1})],
    "complex": lambda: [1 + 2j, 1 - 2j, complex(0.0, -0.0)],
    "numpy float": lambda: [np.float64(1.0), np.float64(2.5), np.float64("nan")],
    "numpy integer": lambda: [np.int64(1), np.int64(2)],
    "numpy array": lambda: [np.ones(2), np.arange(3.0)],
    "numpy dtype": lambda: [np.dtype("float64"), np.dtype("int32")],
    "size": lambda: [torch.Size((1, 2)), torch.Size((2, 1)), torch.Size(())],
    "dtype": lambda: [torch.float32, torch.int64],
    "device": lambda: [torch.device("cpu"), torch.device("cpu", 0), torch.device("meta")],
    "generator": lambda: [torch.Generator().manual_seed(1), torch.Generator().manual_seed(2)],
    "finfo": lambda: [torch.finfo(torch.float32), torch.finfo(torch.float64)],
    "memory format": lambda: [torch.contiguous_format, torch.channels_last],
}
USES: Final = (
    "o((1, 2))", "o(1 + 2j)", "o([1, 2, 2])", "repr(o)", "str(o)", "f'{o}'", "bool(o)", "len(o)", "list(o)",
    "o == 1", "~(o == 1)", "o != o", "o < 2", "o + 1", "1 + o", "o * 2", "-o", "abs(o)", "int(o)", "float(o)",
    "complex(o)", "o[0]", "o['a']", "o[-1:]", "(1, 2, 3)[o]", "hash(o) == hash(o)", "1 in o", "sorted(o)",
    "sum(o)", "max(o, default=7)", "dict(o)", "tuple(reversed(o))", "isinstance(o, float)", "type(o)",
    "o.real", "o.start", "o.stop", "o.search('a1')", "o.args", "o.func", "o.year", "o.days", "o.maxlen",
    "o.typecode", "o.dtype", "o.index", "o.eps", "o.itemsize", "o.initial_seed()", "x.sum() * o", "x + o",
    "x[o]", "x.to(o)", "x.reshape(o)", "torch.zeros(2, dtype=o)", "torch.zeros(2, device=o).device", "x == o",
    "x.clone(memory_format=o)", "torch.rand(1, generator=o).item()", "{**o}", "[*o]", "o is o", "o.__class__",
)  # fmt: skip


def seen(run: Callable[..., object], obj: object) -> object:
    """Return in words what a use gives, or with what it ends."""
    try:
        made, _ = run(obj, torch.arange(3.0))  # pyright: ignore[reportGeneralTypeIssues]
    except Exception as error:  # whatever eager raises
        return type(error), re.sub("0x[0-9a-f]+", "", str(error))
    return type(made), *(re.sub("0x[0-9a-f]+", "", repr(one)) for one in (made, obj))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", OBJECTS)
def test_a_use_of_one_object_after_another(kind: str) -> None:
    count, wrong = len(OBJECTS[kind]()), list[object]()
    for use in USES:
        program = eval(f"lambda o, x: ({use}, x + 1)", {"torch": torch})
        for first in range(count):
            compiled = supple.compile(program, backend="eager")
            order = (first, *range(count), first)
            for place in order:
                want, got = (seen(run, OBJECTS[kind]()[place]) for run in (program, compiled))
                if got != want:
                    wrong.append((use, first, place, got, want))
            supple.reset()
    assert not wrong
