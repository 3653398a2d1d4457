"""The backends that torch has registered ("inductor", "aot_eager", ...): the only file that loads torch's
compiler.

torch._dynamo is imported inside functions, when a backend is asked for by a name that is not ours. A graph
with symbols is compiled in torch's own symbols, once for all sizes that torch's guards do not tell apart; the
guards choose the compilation at a call.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import torch
import torch.fx

from supple.base import events
from supple.base.interrupts import is_interrupt
from supple.expr import Expr, Symbol, evaluate
from supple.ir.meta import TensorMeta
from supple.shapes.fake import FakeTensor, meta_of
from supple.shapes.symnode import plain

Backend = Callable[..., object]
#: Compilations that one graph may have; further sizes run operator by operator.
LIMIT: Final = 16


def list_registered() -> list[str]:
    """Return the names of torch's registered backends, sorted."""
    from torch._dynamo.backends import registry  # noqa: PLC0415  # lazy: loads torch's compiler

    return sorted(cast("Callable[..., list[str]]", registry.list_backends)(exclude_tags=()))  # pyright: ignore[reportUnknownMemberType]  # untyped in torch


def lookup_backend(name: str) -> Backend | None:
    """Return the backend that torch has registered under a name, or None.

    The result takes a GraphModule of ours, and real example inputs: tensors and plain numbers.
    """
    if name not in list_registered():
        return None
    from torch._dynamo.backends import registry  # noqa: PLC0415  # lazy: loads torch's compiler

    found = cast("Backend", registry.lookup_backend(name))

    def run(module: torch.fx.GraphModule, examples: Sequence[object]) -> object:
        variants = Variants(found, module)
        only = variants.add(examples).run
        return variants if variants.numbers else only

    return run


@dataclass(frozen=True, slots=True)
class Variant:
    """One compilation.

    Attributes:
        fixed: the place among the inputs, and the value, of each number that is part of the code.
        holds: torch's guards on the other numbers among the inputs.
        run: what the backend returned.
    """

    fixed: Mapping[int, object]
    holds: Callable[[Sequence[object]], bool]
    run: Callable[..., object]

    def takes(self, inputs: Sequence[object]) -> bool:
        """Tell whether this code is right for the numbers among the inputs."""
        return all(inputs[place] == value for place, value in self.fixed.items()) and self.holds(inputs)


class Variants:
    """A module compiled by one of torch's backends, as often as its guards tell sizes apart.

    `numbers` are the places of the inputs that are not tensors.
    """

    def __init__(self, backend: Backend, module: torch.fx.GraphModule) -> None:
        self._backend = backend
        self._variants: list[Variant] = []
        self._metas = [_meta(node.meta.get("val")) for node in module.graph.find_nodes(op="placeholder")]
        self.numbers = [place for place, meta in enumerate(self._metas) if not isinstance(meta, TensorMeta)]
        for node in module.graph.nodes:
            node.meta.pop("val", None)
            node.meta.pop("example_value", None)
        self._module = module

    @property
    def count(self) -> int:
        """The number of compilations."""
        return len(self._variants)

    def __call__(self, *inputs: object) -> object:
        """Return the outputs; compile where no compilation so far holds for these sizes."""
        for variant in self._variants:
            if variant.takes(inputs):
                return variant.run(*inputs)
        if self.count >= LIMIT:
            return self._module(*inputs)
        try:
            return self.add(inputs).run(*inputs)
        except Exception as error:
            if is_interrupt(error):
                raise
            # The backend is not ours, and it did compile for other sizes.
            events.emit(events.GraphRefused(str(error)))
            fixed = {place: inputs[place] for place in self.numbers}
            self._variants.append(Variant(fixed, _always, self._module))
            return self._module(*inputs)

    def add(self, inputs: Sequence[object]) -> Variant:
        """Compile for these inputs, and for all whose numbers differ only where torch does not ask.

        The backend sees what torch's own capture would show it: a tracing context with a fake mode, and fake
        tensors and symbolic integers of that mode as the values of the placeholders.
        """
        from torch._guards import TracingContext, tracing  # noqa: PLC0415  # lazy: loads torch's compiler

        world = _World()
        fakes = world.inputs(self._metas, inputs)
        module = torch.fx.GraphModule(self._module, copy.deepcopy(self._module.graph))
        for node, fake in zip(module.graph.find_nodes(op="placeholder"), fakes, strict=True):
            node.meta["example_value"] = fake
        with tracing(TracingContext(world.mode)):
            run = self._backend(module, fakes)
        fixed = {place: inputs[place] for place in self.numbers if not isinstance(fakes[place], torch.SymInt)}
        variant = Variant(fixed, world.guards(fakes), cast("Callable[..., object]", run))
        self._variants.append(variant)
        return variant


class _World:
    """Torch's symbols and fake tensors for one compilation."""

    def __init__(self) -> None:
        from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: PLC0415  # lazy: loads torch's compiler
        from torch.fx.experimental.symbolic_shapes import ShapeEnv  # noqa: PLC0415  # lazy: loads torch's compiler

        self._shapes: Any = ShapeEnv(duck_shape=False)
        self.mode: Any = FakeTensorMode(shape_env=self._shapes, allow_non_fake_inputs=True)

    def inputs(self, metas: Sequence[object], inputs: Sequence[object]) -> list[object]:
        """Return the inputs as torch's fakes; all sizes are static where a dynamic tensor has an offset."""
        symbolic = [meta for meta in metas if isinstance(meta, TensorMeta) and not meta.is_static]
        is_dynamic = all(meta.offset.is_const and not meta.offset.value for meta in symbolic)
        values: dict[str, int] = {}
        made: list[object] = []
        for place, (meta, given) in enumerate(zip(metas, inputs, strict=True)):
            if isinstance(given, torch.Tensor):
                is_static = not is_dynamic or not isinstance(meta, TensorMeta) or meta.is_static
                static = self.mode.from_tensor(given, static_shapes=True) if is_static else None
                made.append(self._fake(cast("TensorMeta", meta), values, given) if static is None else static)
            elif isinstance(meta, Symbol) and is_dynamic:
                values[meta.name] = self._symbol(meta, place, cast("int", given))
                made.append(values[meta.name])
            else:
                made.append(given)
        return made

    def _symbol(self, symbol: Symbol, place: int, value: int) -> int:
        from torch._dynamo.source import LocalSource  # noqa: PLC0415  # lazy: loads torch's compiler
        from torch.fx.experimental.symbolic_shapes import DimDynamic  # noqa: PLC0415  # lazy: loads torch's compiler

        is_size = symbol.minimum is not None and symbol.minimum >= 0
        create = self._shapes.create_symbol if is_size else self._shapes.create_unspecified_symbol
        source = LocalSource(f"t{place}")
        made = create(value, source, DimDynamic.DYNAMIC)
        return self._shapes.create_symintnode(made, hint=value, source=source)

    def _fake(self, meta: TensorMeta, values: Mapping[str, int], given: torch.Tensor) -> object:
        sizes, strides = ([evaluate(e, values) for e in exprs] for exprs in (meta.sizes, meta.strides))
        with self.mode:
            fake = torch.empty_strided(sizes, strides, dtype=given.dtype, device=given.device)
        return fake.requires_grad_(given.requires_grad)

    def guards(self, fakes: Sequence[object]) -> Callable[[Sequence[object]], bool]:
        """Return what decides, for other inputs, whether torch's guards on its symbols hold."""
        places = [place for place, fake in enumerate(fakes) if isinstance(fake, torch.SymInt)]
        text: str | None = self._shapes.produce_guards_expression([fakes[place] for place in places])
        if text is None:
            return _always
        holds, code = self._shapes.evaluate_guards_expression, compile(text, "<guards>", "eval")

        def decide(inputs: Sequence[object]) -> bool:
            try:
                return holds(code, [inputs[place] for place in places])
            except ZeroDivisionError:
                return False

        return decide


def _always(inputs: Sequence[object]) -> bool:
    """Hold for all sizes."""
    return True


def _meta(value: object) -> object:
    """Return what is known of an input: the metadata of a tensor, or a number."""
    number = plain(value)
    if isinstance(number, FakeTensor):
        return meta_of(number)
    return number if isinstance(number, Expr) else None
