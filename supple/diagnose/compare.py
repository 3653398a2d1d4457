"""Comparison: a compiled graph and eager run on copies of the same inputs; what both leave is compared.

`outcome` says what is compared, `Judge` how far two numbers may be apart: rounding in a graph is measured by
running it in float64, once as it is and, where that does not explain a difference, once with random rounding.
"""

import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Final

import torch

from supple.base.errors import SuppleError
from supple.diagnose.precision import Double, NotCompared, copied
from supple.ir.arguments import leaves
from supple.ir.graph.interp import compile_python
from supple.ir.graph.nodes import Graph
from supple.ir.meta import TensorMeta
from supple.shapes.sources import program_name
from supple.torch_private import set_deterministic

Run = Callable[..., tuple[object, ...]]
Outcome = Mapping[str, object]

GRADIENT: Final = "the gradient of "
STEPS: Final = 4
"""How many steps of its type, at its largest number, a result may always be off."""
MULTIPLE: Final = 4
"""How much farther than eager, or random rounding, compiled code may be from float64."""

SAMPLES: Final = 4
"""How many runs with random rounding say how far it goes, where the first look finds a difference."""


class Raised(SuppleError):
    """A run raised an exception, which is the cause."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Something in which compiled code differs from eager: its name, and how it differs."""

    name: str
    text: str


def differences(graph: Graph, run: Run, inputs: Sequence[object]) -> tuple[tuple[Difference, ...], str]:
    """Return how a compiled graph differs from the captured one run by eager, and how much was compared.

    The differences are in the order of outputs, written inputs, gradients. Inputs stay as they are. Where
    eager raises an exception nothing is compared.

    Raises:
        NotCompared: an input cannot be copied, or compiled code draws random numbers of its own.
        Raised: the compiled graph raises an exception.
    """
    eager = compile_python(graph)
    held = [leaf for node in graph.nodes for leaf in leaves((node.args, dict(node.kwargs)))]
    generators = [torch.default_generator, *(leaf for leaf in held if isinstance(leaf, torch.Generator))]
    before = [one.get_state() for one in generators]

    coarsest = max(_floats(graph), key=lambda dtype: torch.finfo(dtype).eps, default=torch.float32)

    def left(run: Run, mode: Double | None = None) -> tuple[Outcome, list[torch.Tensor]]:
        try:
            found = outcome(graph, run, inputs, mode)
            for name in [name for name, item in found.items() if type(item) is float]:
                number = torch.tensor(found.pop(name), dtype=torch.float64 if mode else coarsest)
                found[f"the number {name}"] = number
            return found, [one.get_state() for one in generators]
        finally:
            for one, state in zip(generators, before, strict=True):
                one.set_state(state)

    try:
        wanted, after = left(eager)
    except Raised as error:
        return (), f"not compared: eager raises {error}"
    got, compiled_after = left(run)
    if not all(map(torch.equal, after, compiled_after)):
        raise NotCompared("compiled code draws other random numbers than eager")

    @cache
    def exact(noise: float, sample: int) -> Outcome:
        try:
            return left(eager, Double(coarsest, noise, sample))[0]
        except Raised:
            return {}

    judge = Judge(exact, torch.finfo(coarsest).eps)
    found = (judge.difference(name, wanted.get(name), got.get(name)) for name in {**wanted, **got})
    return tuple(one for one in found if one is not None), f"compared {len(wanted)} values"


def _floats(graph: Graph) -> set[torch.dtype]:
    """Return the types of the floats in a graph."""
    metas = leaves(list(graph.metas().values()))
    found = (meta.dtype.torch for meta in metas if isinstance(meta, TensorMeta))
    return {dtype for dtype in found if dtype.is_floating_point}


def outcome(
    graph: Graph, run: Run, inputs: Sequence[object], mode: Double | None = None
) -> dict[str, object]:
    """Return what a run on copies leaves, by name: outputs, written inputs, who shares memory, gradients.

    What flows into the results is another number for each element.

    Raises:
        NotCompared: an input cannot be copied.
        Raised: the run raises an exception.
    """
    given = copied(inputs, is_wide=mode is not None)
    sources = [program_name(item.source) or item.name for item in graph.inputs]
    with modes_kept(), mode or nullcontext():
        try:
            results = run(*given.items)
        except Exception as error:  # of the program, or of what has no form in float64
            raise Raised(repr(error)) from error
        pairs = zip(graph.outputs, results, strict=False)
        found: dict[str, object] = {"the number of results": len(results)}
        found |= {f"output {place} (`{arg}`)": item for place, (arg, item) in enumerate(pairs)}
        if not all(node.op.is_pure for node in graph.nodes):
            found |= {f"{name} after the call": item for name, item in zip(sources, given.items, strict=True)}
        tensors = {id(item): item for item in found.values() if isinstance(item, torch.Tensor)}.values()
        flows = [item for item in tensors if _flows(item)]
        shared = [item for item in (*given.items, *results) if isinstance(item, torch.Tensor)]
        found["what shares memory"] = _sharing(shared)
        if flows and given.leaves:
            found |= _gradients(flows, {sources[place]: leaf for place, leaf in given.leaves.items()})
    return found


def _flows(item: torch.Tensor) -> bool:
    """Tell whether gradients flow into a tensor; one that was written against eager's rules raises."""
    try:
        return item.grad_fn is not None
    except RuntimeError:
        return False


def _gradients(flows: Sequence[torch.Tensor], leaves: Mapping[str, torch.Tensor]) -> dict[str, object]:
    tangents = list(map(_tangent, flows))
    try:
        grads = torch.autograd.grad(flows, list(leaves.values()), tangents, allow_unused=True)
    except RuntimeError as error:
        return {"the gradients": type(error)}
    return {f"{GRADIENT}{name}": grad for name, grad in zip(leaves, grads, strict=True)}


def _tangent(item: torch.Tensor) -> torch.Tensor:
    """Return what flows into a tensor: another number for each element."""
    numbers = torch.arange(item.numel(), dtype=torch.float64, device=item.device).cos()
    return numbers.view(item.size()).to(item.dtype)


@contextmanager
def modes_kept() -> Generator[None]:
    """Put back what a part of a graph does to modes; meanwhile fresh memory holds NaN, and nothing warns."""
    is_on, dtype = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
    was_deterministic = torch.are_deterministic_algorithms_enabled()
    was_lenient = torch.is_deterministic_algorithms_warn_only_enabled()
    with (
        torch.set_grad_enabled(torch.is_grad_enabled()),
        torch.autocast("cpu", enabled=is_on, dtype=dtype),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        set_deterministic(True, warn_only=True)
        try:
            yield
        finally:
            set_deterministic(was_deterministic, warn_only=was_lenient)


def _sharing(tensors: Sequence[torch.Tensor]) -> tuple[tuple[object, ...], ...]:
    """Return for each tensor the first one with the same memory, and where in it the tensor begins."""
    homes = [item.untyped_storage().data_ptr() or -place for place, item in enumerate(tensors, 1)]
    return tuple(
        (homes.index(home), item.storage_offset()) for home, item in zip(homes, tensors, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Judge:
    """Says whether two values are the same.

    Attributes:
        exact: (noise, number of the sample) -> what the graph leaves in float64; empty when it cannot run so.
        noise: the rounding of the coarsest type in the graph.
    """

    exact: Callable[[float, int], Outcome]
    noise: float

    def difference(self, name: str, eager: object, compiled: object) -> Difference | None:
        """Return how a value differs from eager's, None where it does not."""
        if not isinstance(eager, torch.Tensor) or not isinstance(compiled, torch.Tensor):
            same = type(eager) is type(compiled) and (eager == compiled or eager != eager)  # NaN
            return None if same else Difference(name, f"It is {_said(compiled)}, by eager {_said(eager)}.")
        for what, of in LAYOUT.items():
            # The order in which gradients were added decides about their sum's layout.
            is_free = what == "layout" and name.startswith(GRADIENT)
            if of(eager) != of(compiled) and not is_free:
                return Difference(name, f"Its {what} is {of(compiled)}, by eager {of(eager)}.")
        has_numbers = eager.numel() and eager.device.type != "meta"
        text = self._numbers(name, eager.detach(), compiled.detach()) if has_numbers else ""
        return Difference(name, text) if text else None

    def _numbers(self, name: str, eager: torch.Tensor, compiled: torch.Tensor) -> str:
        if torch.equal(eager, compiled):
            return ""
        e, c = _doubles(eager), _doubles(compiled)
        is_exact = not (eager.dtype.is_floating_point or eager.dtype.is_complex)
        is_same = (e == c) | (e.isnan() & c.isnan())
        odd = eager != compiled if is_exact else ~is_same & ~(e.isfinite() & c.isfinite())
        exact = self._doubled(name, 0.0, e)
        if odd.any():
            # What rounding decides, and fresh memory, is the same in no two runs.
            other = self._doubled(name, self.noise, exact)
            odd &= ~((exact != other) if is_exact else (exact.isnan() != other.isnan()))
        if odd.any() or is_exact:
            return _told(e, c, odd) if odd.any() else ""
        step = torch.finfo(eager.dtype).eps
        scale = max(_largest(exact), self._largest_gradient() if name.startswith(GRADIENT) else 0.0)
        least = STEPS * (step * scale + torch.finfo(eager.dtype).tiny)
        by_eager, by_compiled = _largest(e - exact), _largest(c - exact)
        if by_compiled <= by_eager + least and by_eager <= step**0.5 * scale:
            return ""
        samples = (self._doubled(name, self.noise, exact, sample) for sample in range(SAMPLES))
        by_rounding = max(_largest(sample - exact) for sample in samples)
        allowed = MULTIPLE * max(by_eager, by_rounding) + least
        if by_eager > 64 * by_rounding + least:
            # In float64 the program computes something else: types are part of what it asks.
            exact, allowed = e, step**0.5 * _largest(e)
        far = ((c - exact).abs() > allowed) & e.isfinite() & c.isfinite()
        return f"{_told(e, c, far)} At most {allowed:.1g} is rounding." if far.any() else ""

    def _largest_gradient(self) -> float:
        """Return the largest number in gradients: where they cancel, its rounding is left."""
        found = (item for name, item in self.exact(0.0, 0).items() if name.startswith(GRADIENT))
        return max(
            (_largest(_doubles(item.detach())) for item in found if isinstance(item, torch.Tensor)), default=0
        )

    def _doubled(self, name: str, noise: float, default: torch.Tensor, sample: int = 0) -> torch.Tensor:
        """Return a value as a run in float64 gives it."""
        found = self.exact(noise, sample).get(name)
        is_alike = isinstance(found, torch.Tensor) and _doubles(found).size() == default.size()
        return _doubles(found.detach()) if isinstance(found, torch.Tensor) and is_alike else default


LAYOUT: Final[Mapping[str, Callable[[torch.Tensor], object]]] = {
    "requires_grad": lambda tensor: tensor.requires_grad,
    "type": lambda tensor: (tensor.dtype, tensor.device),
    "size": lambda tensor: tuple(tensor.size()),
    "layout": lambda tensor: [
        (dim, stride)
        for dim, (size, stride) in enumerate(zip(tensor.size(), tensor.stride(), strict=True))
        if size > 1 and tensor.numel()
    ],
}
"""What of a tensor must be eager's besides its numbers; strides of dimensions of size 1 need not."""


def _doubles(tensor: torch.Tensor) -> torch.Tensor:
    real = torch.view_as_real(tensor.resolve_conj()) if tensor.dtype.is_complex else tensor
    return real.to(torch.float64)


def _largest(tensor: torch.Tensor) -> float:
    finite = tensor[tensor.isfinite()]
    return finite.abs().max().item() if finite.numel() else 0.0


def _told(eager: torch.Tensor, compiled: torch.Tensor, wrong: torch.Tensor) -> str:
    """Return where values are wrong, and the worst of them."""
    apart = (compiled.to(torch.float64) - eager.to(torch.float64)).abs().nan_to_num(torch.inf, torch.inf)
    worst = int(apart.where(wrong, -1).argmax())
    place = tuple(int(index) for index in torch.unravel_index(torch.tensor(worst), eager.shape))
    values = f"is {compiled.flatten()[worst].item():.7g}, by eager {eager.flatten()[worst].item():.7g}"
    count = f"{int(wrong.sum())} of {eager.numel()} elements are wrong"
    return f"{count}; the worst, {place}, {values}, {apart.flatten()[worst].item():.2g} apart."


def _said(value: object) -> str:
    return f"a tensor of {tuple(value.size())}" if isinstance(value, torch.Tensor) else repr(value)
