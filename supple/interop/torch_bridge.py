"""The backends that torch has registered ("inductor", "aot_eager", ...): the only file that loads torch's
compiler.

torch._dynamo is imported inside functions, when a backend is asked for by a name that is not ours.
"""

from collections.abc import Callable, Sequence
from typing import cast

import torch
import torch.fx

Backend = Callable[..., object]


def list_registered() -> list[str]:
    """Return the names of torch's registered backends, sorted."""
    from torch._dynamo.backends import registry  # noqa: PLC0415  # lazy: loads torch's compiler

    return sorted(cast("Callable[..., list[str]]", registry.list_backends)(exclude_tags=()))  # pyright: ignore[reportUnknownMemberType]  # untyped in torch


def lookup_backend(name: str) -> Backend | None:
    """Return the backend that torch has registered under a name, or None.

    The result takes a GraphModule of ours and real example inputs.
    """
    if name not in list_registered():
        return None
    from torch._dynamo.backends import registry  # noqa: PLC0415  # lazy: loads torch's compiler

    found = cast("Backend", registry.lookup_backend(name))

    def run(module: torch.fx.GraphModule, examples: Sequence[object]) -> object:
        return run_registered(found, module, examples)

    return run


def run_registered(backend: Backend, module: torch.fx.GraphModule, examples: Sequence[object]) -> object:
    """Return what one of torch's backends makes of a module.

    The backend sees what torch's own capture would show it: a tracing context with a fake mode, and fake
    tensors of that mode as the values of the placeholders.
    """
    from torch._guards import TracingContext, tracing  # noqa: PLC0415  # lazy: loads torch's compiler
    from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: PLC0415  # lazy: loads torch's compiler
    from torch.fx.experimental.symbolic_shapes import ShapeEnv  # noqa: PLC0415  # lazy: loads torch's compiler

    mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    fakes = [mode.from_tensor(x, static_shapes=True) if isinstance(x, torch.Tensor) else x for x in examples]
    for node in module.graph.nodes:
        node.meta.pop("val", None)
        node.meta.pop("example_value", None)
    placeholders = module.graph.find_nodes(op="placeholder")
    for node, fake in zip(placeholders, fakes, strict=True):
        node.meta["example_value"] = fake
    with tracing(TracingContext(mode)):
        return backend(module, fakes)
