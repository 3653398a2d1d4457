"""The harness of the mutation matrix: a small program is called with arguments that share memory in other
ways from call to call, and compiled code must leave everything as eager does.

Compared after each call: results, arguments and what the program holds (values, layout, who shares whose
memory, who is a view of whom, versions, their place in autograd), what was raised, and then the gradients.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import torch

import supple

Program = Callable[..., Any]
Check = Callable[..., object]
MODES: Final = ("plain", "leaf", "inner", "second", "no_grad", "inference")
"""What requires gradients: nothing; both arguments, as leaves or not; the second; and with gradients off."""
SCENES: Final = ("separate", "same", "overlap", "base", "transposed", "arrays")
"""How the arguments share memory; parts of one array of NumPy do so in storages of their own."""


def arguments(scene: str, mode: str) -> tuple[torch.Tensor, torch.Tensor, list[torch.Tensor]]:
    """Return two tensors of 4 x 4, and the leaves behind them."""
    roots: list[torch.Tensor] = []

    def tensor(rows: int, *, requires_grad: bool = mode not in ("plain", "inference")) -> torch.Tensor:
        start = 1.5 + 4 * len(roots)
        leaf = torch.linspace(start, start + 2, 4 * rows).sin().view(rows, 4).clone()
        roots.append(leaf.requires_grad_(requires_grad))
        return leaf * 1 if mode == "inner" else leaf

    if scene == "separate":
        return tensor(4, requires_grad=False) if mode == "second" else tensor(4), tensor(4), roots
    if scene == "arrays":
        array = np.sin(np.linspace(1.5, 5.5, 24, dtype=np.float32)).reshape(6, 4)
        roots += (torch.from_numpy(array[:4]), torch.from_numpy(array[2:]))
        for root, is_first in zip(roots, (True, False), strict=True):
            root.requires_grad_(mode not in ("plain", "inference") and not (is_first and mode == "second"))
        first, second = [root * 1 if mode == "inner" else root for root in roots]
        return first, second, roots
    whole = tensor(6 if scene == "overlap" else 4)
    held = whole.detach() if mode == "second" else whole
    if scene == "overlap":
        return held[:4], whole[2:], roots
    if scene == "same":
        return held, whole, roots
    return held, whole.view(4, 4) if scene == "base" else whole.t(), roots


@dataclass(frozen=True)
class Case:
    """One program.

    Attributes:
        make: returns the program and the tensors that it holds, anew.
        after: (results, arguments, leaves) -> what to compare after the call; gradients unless given.
        modes, scenes: those it is called in.
    """

    name: str
    make: Callable[[], tuple[Program, Sequence[torch.Tensor]]]
    after: Check
    modes: tuple[str, ...] = MODES
    scenes: tuple[str, ...] = SCENES

    def check(self, backend: str, **options: Any) -> None:
        """Assert that each call of the compiled program leaves what eager leaves."""
        for mode in self.modes:
            (eager, mine), (program, theirs) = self.make(), self.make()
            compiled = supple.compile(program, backend=backend, **options)
            for scene in self.scenes:
                want = self.outcome(eager, mine, scene, mode)
                got = self.outcome(compiled, theirs, scene, mode)
                found = difference(want, got)
                assert found is None, f"{self.name}, {mode}, {scene}: {found}"

    def outcome(self, run: Program, held: Sequence[torch.Tensor], scene: str, mode: str) -> dict[str, Any]:
        """Return all that a call leaves."""
        torch.manual_seed(3)
        context = {"no_grad": torch.no_grad, "inference": torch.inference_mode}.get(
            mode, contextlib.nullcontext
        )
        with context():
            with torch.inference_mode() if mode == "inference" else torch.enable_grad():
                x, y, roots = arguments(scene, mode)
            before = [version(one) for one in (x, y, *held)]
            result = attempt(run, x, y)
            tensors = flat((result, x, y, held, roots))
            seen = attempt(lambda: [described(one, tensors) for one in tensors])
            found = {"result": shape_of(result), "tensors": seen}
            now = [version(one) for one in (x, y, *held)]
            found["versions"] = [new - old for new, old in zip(now, before, strict=True)]
        found["after"] = attempt(self.after, flat(result), (x, y), roots)
        found["held"] = attempt(lambda: [described(one, tensors) for one in (*held, *roots)])
        for one in held:
            if one.grad_fn is not None:
                one.detach_()
            one.grad = None
        return found


@dataclass
class Corpus:
    """The programs of one file."""

    cases: dict[str, Case] = field(default_factory=dict[str, Case])

    def __call__(self, **options: Any) -> Callable[[Program], Program]:
        """Return a decorator that adds a program (x, y) -> results."""

        def add(program: Program) -> Program:
            self.add(program.__name__, lambda: (program, ()), **options)
            return program

        return add

    def made(self, **options: Any) -> Callable[[Program], Program]:
        """Return a decorator that adds what a function makes: a program, and the tensors that it holds."""

        def add(make: Program) -> Program:
            self.add(make.__name__, make, **options)
            return make

        return add

    def add(self, name: str, make: Program, after: Check | None = None, **options: Any) -> None:
        """Add a program."""
        assert name not in self.cases, name
        self.cases[name] = Case(name, make, after or gradients, **options)


@dataclass(frozen=True)
class Failed:
    """What a call raised."""

    kind: type
    text: str


def attempt(run: Program, *args: Any) -> Any:
    """Return what a call gives, or what it raised: of a modified tensor, that it was."""
    try:
        return run(*args)
    except Exception as error:  # what the program raises is compared
        text = str(error)
        return Failed(type(error), text.split(":")[0] if "modified by an inplace" in text else text)


def flat(item: Any) -> list[torch.Tensor]:
    """Return the tensors in nested containers, in order."""
    if isinstance(item, torch.Tensor):
        return [item]
    if isinstance(item, Mapping):
        return flat(list(item.values()))
    return [one for part in item for one in flat(part)] if isinstance(item, list | tuple) else []


def shape_of(item: Any) -> Any:
    """Return nested containers without their tensors."""
    if isinstance(item, Mapping):
        return {key: shape_of(one) for key, one in item.items()}
    if isinstance(item, list | tuple):
        return [shape_of(one) for one in item]
    return "tensor" if isinstance(item, torch.Tensor) else item


def version(tensor: torch.Tensor) -> int:
    """Return how often a tensor was written; 0 of those that do not count."""
    return 0 if tensor.is_inference() else tensor._version


def described(tensor: torch.Tensor, among: Sequence[torch.Tensor]) -> dict[str, Any]:
    """Return all that eager shows of a tensor, others by their places.

    Whether it is a view of a tensor that nobody has does not count where no gradients flow.
    """
    memory = [one.untyped_storage().data_ptr() for one in among]
    base = tensor._base
    return {
        "itself": next((place for place, one in enumerate(among) if one is tensor), None),
        "memory": memory.index(tensor.untyped_storage().data_ptr()),
        "layout": (tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset()),
        "autograd": (tensor.requires_grad, tensor.is_leaf, attempt(lambda: tensor.grad_fn is None)),
        "class": (type(tensor), tensor.is_inference()),
        "is_view": tensor._is_view() and tensor.requires_grad,
        "base": next((place for place, one in enumerate(among) if one is base), None),
        "values": tensor.detach().clone(),
        "grad": tensor.grad if tensor.is_leaf else None,
    }


def weighted(tensor: torch.Tensor) -> torch.Tensor:
    """Return a sum to which every element contributes differently."""
    weights = torch.arange(tensor.numel(), dtype=torch.float32).view(tensor.shape).cos()
    return (tensor * weights).sum()


def loss_of(tensors: Sequence[torch.Tensor]) -> torch.Tensor | None:
    """Return a loss of all that requires gradients."""
    distinct = {id(one): one for one in tensors if one.requires_grad}
    return sum((weighted(one) for one in distinct.values()), torch.zeros(())) if distinct else None


def gradients(results: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], roots: object) -> object:
    """Run backward from the results and arguments; the harness looks at the leaves' gradients."""
    loss = loss_of([*results, *inputs])
    if loss is not None:
        loss.backward()
    return None


def difference(want: Any, got: Any, path: str = "") -> str | None:
    """Return where two outcomes first differ, None when they are alike."""
    if isinstance(want, torch.Tensor) and isinstance(got, torch.Tensor):
        is_same = want.dtype == got.dtype and want.shape == got.shape
        alike = is_same and torch.allclose(want, got, rtol=2e-5, atol=2e-6, equal_nan=True)
        return None if alike else f"{path}: {want} and {got}"
    if isinstance(want, dict) and isinstance(got, dict) and want.keys() == got.keys():
        return _first((want[key], got[key], f"{path}.{key}") for key in want)
    if isinstance(want, list | tuple) and isinstance(got, list | tuple) and len(want) == len(got):
        return _first((*pair, f"{path}[{place}]") for place, pair in enumerate(zip(want, got, strict=True)))
    same = type(want) is type(got) and not isinstance(want, torch.Tensor) and want == got
    return None if same else f"{path}: {want} and {got}"


def _first(parts: Any) -> str | None:
    return next((found for part in parts if (found := difference(*part)) is not None), None)
