"""A just-in-time compiler for PyTorch programs.

The public names load on first use, so that `import supple` alone imports neither torch nor the compiler.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from supple import errors, testing
    from supple.api import (
        allow_in_graph,
        assume_constant_result,
        compile_times,
        config,
        disable,
        error_on_graph_break,
        explain,
        graph_break,
        is_compiling,
        list_backends,
        mark_dynamic,
        mark_static,
        mark_unbacked,
        maybe_mark_dynamic,
        optimize,
        register_backend,
        reset,
        run,
        set_logs,
        set_stance,
        skip_frame,
        stats,
        step_unsupported,
        substitute_in_graph,
    )
    from supple.api import compile as compile

__version__: Final = "0.1.0"

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "compile_times",
    "config",
    "disable",
    "error_on_graph_break",
    "errors",
    "explain",
    "graph_break",
    "is_compiling",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_unbacked",
    "maybe_mark_dynamic",
    "optimize",
    "register_backend",
    "reset",
    "run",
    "set_logs",
    "set_stance",
    "skip_frame",
    "stats",
    "step_unsupported",
    "substitute_in_graph",
    "testing",
]

_MODULES: Final = ("errors", "testing")


def __getattr__(name: str) -> object:
    """Return the public name, importing its home on first use."""
    if name not in __all__:
        raise AttributeError(f"module 'supple' has no attribute {name!r}")
    value: object = import_module(f"supple.{name}") if name in _MODULES else getattr(_api(), name)
    globals()[name] = value
    return value


def _api() -> object:
    return import_module("supple.api")


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return sorted({*globals(), *__all__})
