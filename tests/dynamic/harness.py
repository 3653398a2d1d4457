"""One program at several sizes, compiled and eager: equal results, and no more graphs than it needs."""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from optree import tree_flatten

import supple
from supple.testing import CompileCounter

SIZES: Final = (6, 8, 1, 10, 4, 0)
MODES: Final = (True, None)
BACKENDS: Final = ("eager", "native")
TOLERANCE: Final = 1e-5


@dataclass(frozen=True)
class Program:
    """A function and its arguments for each size of one dimension.

    Attributes:
        inputs: returns the arguments for a size; the same ones each time.
        graphs: the fewest graphs that the program's own conditions allow when sizes are dynamic at once.
        default: the same when the first call is compiled for its sizes alone.
        why: the condition that asks for more than 1 and 2.
        tolerance: largest difference that is forgiven, for results of the order of 1.
    """

    function: Callable[..., Any]
    inputs: Callable[[int], tuple[Any, ...]]
    graphs: int = 1
    default: int = 2
    why: str = ""
    sizes: tuple[int, ...] = SIZES
    tolerance: float = TOLERANCE

    def __str__(self) -> str:
        return self.function.__name__

    def accepted(self) -> list[int]:
        """Return the sizes at which eager gives a result."""
        return [n for n in self.sizes if not outcome(self.function, self.inputs(n)).error]


@dataclass(frozen=True)
class Outcome:
    """What a call gave: its result and the arguments after it, or the class of what it raised."""

    result: Any = None
    arguments: Any = None
    error: type[Exception] | None = None


@dataclass
class Counted:
    """A compiled function, and how many graphs it needed so far."""

    run: Callable[..., Any]
    counter: CompileCounter | None

    @property
    def graphs(self) -> int:
        """Graphs since it was made."""
        if self.counter is not None:
            return self.counter.graphs
        stats: dict[str, Any] = supple.stats()
        assert stats["fallbacks"] == 0, stats["fallback_reasons"]
        return stats["graphs"]


def compiled(
    function: Callable[..., Any], backend: str, dynamic: bool | None, *, fullgraph: bool = True
) -> Counted:
    """Compile for the "native" backend, or for "eager" through a counter, with nothing compiled before."""
    supple.reset()
    counter = CompileCounter() if backend == "eager" else None
    run = supple.compile(function, backend=counter or backend, dynamic=dynamic, fullgraph=fullgraph)
    return Counted(run, counter)


def outcome(run: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
    """Call with copies of the arguments."""
    given = copy.deepcopy(arguments)
    torch.manual_seed(0)
    try:
        return Outcome(run(*given), given)
    except Exception as error:  # what a program raises is compared
        return Outcome(error=type(error))


def check(program: Program, backend: str, dynamic: bool | None) -> None:
    """Assert eager's results at all sizes that eager accepts, and the number of graphs.

    Raises:
        AssertionError: names the size and the first difference.
    """
    made = compiled(program.function, backend, dynamic)
    for n in program.accepted():
        given = copy.deepcopy(program.inputs(n))
        torch.manual_seed(0)
        got = Outcome(made.run(*given), given)
        assert_same(outcome(program.function, program.inputs(n)), got, program, n)
    allowed = program.graphs if dynamic else program.default
    assert made.graphs == allowed, f"{made.graphs} graphs, not {allowed}: {recompilations()}"


def recompilations() -> str:
    """Return why something was compiled again."""
    return "; ".join(map(str, supple.stats()["recompile_reasons"]))  # pyright: ignore[reportArgumentType]


def assert_same(want: Outcome, got: Outcome, program: Program, n: int) -> None:
    """Assert that two outcomes are alike in structure, types, values, shapes, strides and aliases."""
    for part in ("result", "arguments"):
        one, other = getattr(want, part), getattr(got, part)
        found = difference(one, other, program.tolerance) or aliases(one, want) != aliases(other, got)
        assert not found, f"{program} at size {n}, {part}: {found or 'aliases differ'}"


def difference(want: Any, got: Any, tolerance: float) -> str | None:
    """Return where two results first differ, None when they are alike."""
    mine, shape = tree_flatten(want)
    theirs, other = tree_flatten(got)
    if shape != other:
        return f"{other} and eager {shape}"
    for index, (one, two) in enumerate(zip(mine, theirs, strict=True)):
        if type(one) is not type(two):
            return f"leaf {index}: {two!r} and eager {one!r}"
        match one:
            case torch.Tensor():
                found = of_tensors(one, two, tolerance)
            case float():
                found = not (
                    math.isclose(one, two, rel_tol=tolerance, abs_tol=tolerance) or one != one != two
                )
            case torch.nn.Module():
                found = None
            case _:
                found = one != two
        if found:
            return f"leaf {index}: {found if isinstance(found, str) else f'{two!r} and eager {one!r}'}"
    return None


def of_tensors(want: torch.Tensor, got: torch.Tensor, tolerance: float) -> str | None:
    """Return how two tensors differ; the stride of a dimension with one element does not count."""
    for name in ("dtype", "shape", "requires_grad"):
        if getattr(want, name) != getattr(got, name):
            return f"{name} {getattr(got, name)} and eager {getattr(want, name)}"
    strides = list(zip(want.shape, want.stride(), got.stride(), strict=True))
    if want.numel() and any(a != b for size, a, b in strides if size > 1):
        return f"stride {got.stride()} and eager {want.stride()} of {tuple(want.shape)}"
    if want.is_floating_point() or want.is_complex():
        return None if close(want.detach(), got.detach(), tolerance) else f"{got} and eager {want}"
    return None if torch.equal(want, got) else f"{got} and eager {want}"


def close(want: torch.Tensor, got: torch.Tensor, tolerance: float) -> bool:
    """Tell whether two tensors differ by no more than the tolerance, absolute or relative."""
    bound = max(tolerance, 4 * torch.finfo(want.dtype).eps)
    return torch.allclose(want, got, rtol=bound, atol=bound, equal_nan=True)


def aliases(part: Any, of: Outcome) -> list[int]:
    """Return the place of the first tensor with the same storage, for each tensor of a part of an outcome."""
    both: Any = (of.arguments, of.result)
    leaves: Sequence[Any] = tree_flatten(both)[0]
    storages = [item.untyped_storage().data_ptr() for item in leaves if isinstance(item, torch.Tensor)]
    own = [item for item in tree_flatten(part)[0] if isinstance(item, torch.Tensor) and item.numel()]
    return [storages.index(item.untyped_storage().data_ptr()) for item in own]
