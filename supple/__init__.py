"""A just-in-time compiler for PyTorch programs.

The public names load on first use, so that `import supple` alone imports neither torch nor the compiler.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from supple import errors as errors
    from supple import testing as testing
    from supple.api import *  # noqa: F403  # the one list of public names is there

__version__: Final = "0.1.0"


def __getattr__(name: str) -> object:
    """Return the public name, or the module of this package, importing its home on first use."""
    if not name.startswith("_") and find_spec(f"supple.{name}") is not None:
        return import_module(f"supple.{name}")
    if name == "__all__":
        return _names()
    if name.startswith("_") or name not in _names():
        raise AttributeError(f"module 'supple' has no attribute {name!r}")
    return globals().setdefault(name, getattr(import_module("supple.api"), name))


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return sorted({*globals(), *_names()})


def _names() -> list[str]:
    return [*cast("list[str]", import_module("supple.api").__all__), "errors", "testing"]
