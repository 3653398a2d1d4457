"""Backends by name: ours, those that users register, and those that torch knows."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from supple.base import events
from supple.base.errors import BackendCompilerFailed, InvalidBackendError, SuppleError
from supple.base.interrupts import is_interrupt
from supple.base.options import Options
from supple.capture.frame import CompileGraph
from supple.ir.graph.interp import compile_python
from supple.ir.graph.nodes import Graph

Backend = Callable[..., object]
"""(torch.fx.GraphModule, example inputs) -> a callable with the graph's inputs and outputs."""
Compiled = Callable[..., tuple[object, ...]]

NATIVE: Final = "native"


class Backends:
    """Backends by name: ours, those that users register, and those that torch knows."""

    def __init__(self) -> None:
        self._registered: dict[str, Backend] = {}

    def register(self, name: str, backend: Backend) -> None:
        """Give a backend a name; a later registration of the name replaces an earlier one.

        Raises:
            InvalidBackendError: the name is one of ours, or the backend is not callable.
        """
        if name in OURS:
            raise InvalidBackendError(f"the backend {name!r} is built in")
        if not callable(backend):
            msg = f"a backend is a callable (graph module, example inputs) -> callable, not {backend!r}"
            raise InvalidBackendError(msg)
        self._registered[name] = backend

    def names(self) -> list[str]:
        """Return the names of ours and of the registered ones, sorted."""
        return sorted((*OURS, *self._registered))

    def resolve(self, backend: str | Backend, options: Options) -> CompileGraph:
        """Return what compiles graphs for a backend given by name or as a callable.

        Raises:
            InvalidBackendError: no backend has the name; lists those that have one.
        """
        if not isinstance(backend, str):
            return foreign(backend)
        return OURS[backend](options) if backend in OURS else foreign(self.named(backend))

    def named(self, name: str) -> Backend:
        """Return the registered backend, of the user or of torch, with this name.

        Raises:
            InvalidBackendError: there is none.
        """
        return self._registered.get(name) or self._of_torch(name)

    def _of_torch(self, name: str) -> Backend:
        from supple.interop.torch_bridge import lookup_backend  # noqa: PLC0415  # lazy: torch's compiler loads

        found = lookup_backend(name)
        if found is None:
            msg = f"unknown backend {name!r}; known backends are {', '.join(self.names())} and those of torch"
            raise InvalidBackendError(msg)
        return found


BACKENDS: Final = Backends()


def native(options: Options) -> CompileGraph:
    """Return what compiles graphs to machine code."""
    from supple.native import native as made  # noqa: PLC0415  # lazy: its stages, and LLVM, are for this backend only

    return made(options)


def aot_eager(options: Options, *, decomposed: bool = False) -> CompileGraph:
    """Return what has eager torch run the functional forward and backward graphs, operator by operator."""
    from supple.driver import Functional, interpreted  # noqa: PLC0415  # lazy: so is what makes functional graphs

    return Functional(options, interpreted, decomposed=decomposed)


def eager(graph: Graph, examples: Sequence[object]) -> Compiled:
    """Return the captured graph run by eager torch, operator by operator."""
    return compile_python(graph)


def foreign(backend: Backend) -> CompileGraph:
    """Return what compiles graphs with a backend that takes torch.fx graphs."""
    from supple.interop.fx import compile_with  # noqa: PLC0415  # lazy: torch.fx is for foreign backends only

    def compile_graph(graph: Graph, examples: Sequence[object]) -> Compiled:
        start = time.perf_counter()
        try:
            compiled = compile_with(backend, graph, examples)
        except SuppleError:
            raise
        except Exception as error:
            if is_interrupt(error):
                raise
            name = getattr(backend, "__qualname__", type(backend).__qualname__)
            raise BackendCompilerFailed(name, error) from error
        events.emit(events.StageTimed("backend", time.perf_counter() - start))
        return compiled

    return compile_graph


OURS: Final[Mapping[str, Callable[[Options], CompileGraph]]] = {
    "eager": lambda _: eager,
    "aot_eager": aot_eager,
    "aot_eager_decomp": partial(aot_eager, decomposed=True),
    NATIVE: native,
}
"""The built-in backends, each with one stage more than the one before it."""
