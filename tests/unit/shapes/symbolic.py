"""Programs run on tensors of symbolic sizes, and compared with eager at the sizes that their guards allow."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch

from supple.expr import Expr, Symbol, equal, evaluate
from supple.expr.real import Real, evaluate_real
from supple.ir.dtypes import DType, from_torch
from supple.ir.meta import TensorMeta, contiguous
from supple.shapes.decide import generally
from supple.shapes.env import ShapeEnv, using
from supple.shapes.fake import fake_from, faking, meta_of
from supple.shapes.symnode import plain

SIZES = (0, 1, 2, 3, 5, 6, 8, 10)
FEW_SIZES = (0, 1, 2, 5, 8)
#: Sizes in the call that is recorded, by the letter that names them.
HINTS = {"a": 6, "b": 8, "c": 5, "d": 8, "e": 6, "o": 1, "z": 0}
TYPES = {"i": torch.int64, "j": torch.int64, "p": torch.bool}

Shapes = Mapping[str, str]
Function = Callable[..., Any]


@dataclass(frozen=True)
class Recorded:
    """The results of a function as metadata over symbols.

    Attributes:
        symbols: by the letter of the size.
    """

    env: ShapeEnv
    symbols: dict[str, Symbol]
    results: tuple[object, ...]

    @property
    def guards(self) -> list[str]:
        return [str(guard.condition) for guard in self.env.guards]

    def holds(self, sizes: Mapping[str, int]) -> bool:
        conditions = [guard.condition for guard in self.env.guards]
        return all(isinstance(e, Expr) and evaluate(e, sizes) for e in conditions)


def flat(result: object) -> list[object]:
    if isinstance(result, list | tuple):
        return [leaf for item in result for leaf in flat(item)]
    return [result]


def letters(shapes: Shapes) -> list[str]:
    return list(dict.fromkeys(size for shape in shapes.values() for size in shape.split() if size in HINTS))


def dtype_of(name: str) -> torch.dtype:
    """Return the type of an argument, which the first letter of its name says."""
    return TYPES.get(name[0], torch.float32)


def record(function: Function, shapes: Shapes, hints: Mapping[str, int] = HINTS) -> Recorded:
    """Run a function on fakes of these shapes ("a 4 b"; "" is a number)."""
    env = ShapeEnv()
    symbols = {letter: env.create(letter, hints[letter]) for letter in letters(shapes)}
    with using(env), faking(), torch.no_grad():
        fakes: list[torch.Tensor] = []
        for name, shape in shapes.items():
            sizes = [symbols[size] if size in symbols else int(size) for size in shape.split()]
            fakes.append(fake_from(contiguous(sizes, from_torch(dtype_of(name)))))
        results = tuple(
            meta_of(leaf) if isinstance(leaf, torch.Tensor) else plain(leaf)
            for leaf in flat(function(*fakes))
        )
    return Recorded(env, symbols, results)


def is_general(recorded: Recorded, wanted: list[object]) -> bool:
    """Tell whether no symbolic size of the results is less than 2 in eager's."""
    pairs = zip(recorded.results, wanted, strict=True)
    return all(
        size.is_const or number > 1
        for got, real in pairs
        if isinstance(got, TensorMeta) and isinstance(real, torch.Tensor)
        for size, number in zip(got.sizes, real.shape, strict=True)
        if not generally(equal(size, 1))
    )


def at(meta: TensorMeta, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], dict[int, int], int, DType]:
    """Return what tells tensors apart: sizes, strides and offset where they matter, the type."""
    shape = tuple(evaluate(size, sizes) for size in meta.sizes)
    if 0 in shape:
        return shape, {}, 0, meta.dtype
    strides = {d: evaluate(stride, sizes) for d, stride in enumerate(meta.strides) if shape[d] > 1}
    return shape, strides, evaluate(meta.offset, sizes), meta.dtype


def eager(function: Function, shapes: Shapes, given: Mapping[str, int]) -> list[object]:
    inputs = [
        torch.zeros(
            [given[size] if size in given else int(size) for size in shape.split()], dtype=dtype_of(name)
        )
        for name, shape in shapes.items()
    ]
    with torch.no_grad():
        return flat(function(*inputs))


def assignments(recorded: Recorded) -> Iterator[tuple[dict[str, int], dict[str, int]]]:
    """Yield numbers for all sizes, by letter and by symbol."""
    sizes = SIZES if len(recorded.symbols) < 3 else FEW_SIZES
    for values in product(sizes, repeat=len(recorded.symbols)):
        given: dict[str, int] = dict(zip(recorded.symbols, values, strict=True))
        yield given, {recorded.symbols[letter].name: value for letter, value in given.items()}


def check(function: Function, shapes: Shapes, recorded: Recorded, *, only_general: bool = False) -> int:
    """Compare with eager at all sizes that the guards allow; return how many there are.

    With `only_general`, strides are compared for general sizes. (At size 1 eager may return a view where a
    graph for all sizes copies.)
    """
    count = 0
    for given, sizes in assignments(recorded):
        if not recorded.holds(sizes):
            continue
        count += 1
        wanted = eager(function, shapes, given)
        assert len(wanted) == len(recorded.results), f"{sizes}: {len(wanted)} results"
        told = slice(None) if not only_general or is_general(recorded, wanted) else slice(1)
        for got, real in zip(recorded.results, wanted, strict=True):
            if isinstance(real, torch.Tensor):
                assert isinstance(got, TensorMeta)
                expected = at(meta_of(real), {})
                assert at(got, sizes)[told] == expected[told], f"{sizes}: {got}, eager {expected}"
            else:
                value = evaluate_real(got, sizes, {}) if isinstance(got, Expr | Real) else got
                assert value == real, f"{sizes}: {got}, eager {real}"
    return count
