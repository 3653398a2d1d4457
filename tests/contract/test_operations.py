"""A C function is a node of a graph only where the table of operations says so; any other breaks."""

import array
import ctypes
import functools
import operator
import queue
import types
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import supple
from supple.capture.library.factories import FACTORIES
from supple.capture.library.operations import EFFECTS, METHODS, OPERATIONS, is_operation, torch_op
from supple.torch_private import ATEN_NAMES
from tests.guards.change import same

X = torch.ones(2)


def name_of(function: object) -> str:
    return str(getattr(function, "__name__", function))


def test_each_operation_resolves() -> None:
    for function in OPERATIONS:
        op = torch_op(function)
        assert callable(function), function
        assert op is not None, name_of(function)


def test_each_operation_is_an_operator_or_is_listed() -> None:
    overridable = torch.overrides.get_testing_overrides()
    for function in OPERATIONS:
        name = name_of(function)
        is_listed = name in METHODS or function in FACTORIES or function in overridable
        is_deprecated = name.startswith("upsample") and function.__module__ == "torch.nn.functional"
        is_sparse = name in ("dsmm", "hsmm", "saddmm", "spmm", "_parse_to", "nested_tensor")
        assert name in ATEN_NAMES or is_listed or is_deprecated or is_sparse, name
        assert name not in EFFECTS, name


def test_each_listed_name_exists() -> None:
    assert all(hasattr(torch.Tensor, name) for name in METHODS)
    assert EFFECTS - ATEN_NAMES <= {"record_stream", "retain_grad"}
    assert len(METHODS) == len({*METHODS})


def test_functions_of_torch_in_c_are_no_operations_by_where_they_stand() -> None:
    """What changes the process, the thread or what autograd knows is written in C beside the operators."""
    found = [
        name
        for name, one in vars(torch._C).items()
        if isinstance(one, types.BuiltinFunctionType) and is_operation(one) and name not in ATEN_NAMES
    ]
    assert not found, found


class Log:
    """What a callback of a C function writes."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def __call__(self, *numbers: float) -> float:
        self.seen.append(numbers[0])
        return numbers[0] + 1


def written(counter: Any) -> object:
    return vars(counter) if hasattr(counter, "__dict__") else counter


LIBC = ctypes.CDLL(None)
EFFECTFUL: dict[str, Callable[[torch.Tensor, Any], object]] = {
    "numpy's generators": lambda x, r: x * r.normal(1.5, 2.0),
    "numpy's older generators": lambda x, r: x * np.random.RandomState(3).rand(),
    "a method of an array": lambda x, r: (r.array.append(3), x * len(r.array))[1],
    "a queue": lambda x, r: (r.queue.put(3), x * r.queue.qsize())[1],
    "a partial of a C function": lambda x, r: x * functools.partial(zlib.crc32, b"abc")(),
    "a method caller": lambda x, r: operator.methodcaller("add_", 1)(x) * 2,
    "a method caller from outside": lambda x, r: r.caller(x) * 2,
    "a function of ctypes": lambda x, r: x * LIBC.abs(-3),
    "a checksum": lambda x, r: x * zlib.crc32(b"abc"),
    "apply_": lambda x, r: x.apply_(r.log) * 2,
    "map_": lambda x, r: x.map_(x + 1, r.log) * 2,
    "version counters": lambda x, r: (torch._C._autograd._unsafe_set_version_counter((x,), (7,)), x + 1)[1],
    "the conjugate bit": lambda x, r: (torch._C._set_conj(r.complex, True), x + r.complex.imag)[1],
    "shared memory": lambda x, r: x.share_memory_() * 2,
    "addresses": lambda x, r: x * (x.data_ptr() == x.view(2).data_ptr()),
    "a list of what is referred to": lambda x, r: x * len(torch._C._VariableFunctions.__class__.__mro__),
}


class Owned:
    """What the programs above write to."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(3)
        self.array = array.array("i", [1])
        self.queue: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.caller = operator.methodcaller("mul_", 3)
        self.log = Log()
        self.complex = torch.complex(torch.ones(2), torch.ones(2))

    def normal(self, mean: float, scale: float) -> float:
        return self.generator.normal(mean, scale)

    def state(self) -> object:
        queued = [self.queue.get() for _ in range(self.queue.qsize())]
        drawn = float(self.generator.random())
        return [list(self.array), queued, drawn, self.log.seen, self.complex.is_conj()]


@pytest.mark.parametrize("name", EFFECTFUL)
def test_a_c_function_that_is_no_operation_does_what_it_does_in_eager(name: str) -> None:
    program = EFFECTFUL[name]
    compiled = supple.compile(program, backend="eager")
    mine, theirs = Owned(), Owned()
    for _ in range(2):
        one, other = X.clone(), X.clone()
        assert same(compiled(one, mine), program(other, theirs))
        assert same(one, other)
        assert one._version == other._version
    assert mine.state() == theirs.state()


CAPTURED = ("a list of what is referred to", "a method caller", "a method caller from outside")
BREAKS = [name for name in EFFECTFUL if name not in CAPTURED]


@pytest.mark.parametrize("name", BREAKS)
def test_a_c_function_that_is_no_operation_breaks_the_graph(name: str) -> None:
    supple.compile(EFFECTFUL[name], backend="eager")(X.clone(), Owned())
    assert supple.stats()["breaks"], "captured"
    assert "I001" not in str(supple.stats()["fallback_reasons"])


def test_print_options_are_set() -> None:
    def program(x: torch.Tensor) -> str:
        torch.set_printoptions(precision=2)
        y = x / 3
        return str(y)

    try:
        assert supple.compile(program)(X) == program(X) == "tensor([0.33, 0.33])"
    finally:
        torch.set_printoptions(profile="default")


def test_what_replaces_an_operation_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "sin", torch.set_num_interop_threads)
    assert not is_operation(torch.sin)
    monkeypatch.setattr(torch, "sin", functools.partial(torch.cos))
    assert not is_operation(torch.sin)
    assert same(supple.compile(lambda x: torch.sin(x) + 1)(X), torch.cos(X) + 1)
