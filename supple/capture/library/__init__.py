"""What known callables do: rules by object, polyfills in plain Python, torch functions as graph nodes."""

from supple.capture.library import (
    builtins,
    containers,
    contents,
    copying,
    deques,
    exceptions,
    numbers,
    resizing,
    sets,
    stdlib,
    text,
    torch_state,
)

__all__ = [
    "builtins",
    "containers",
    "contents",
    "copying",
    "deques",
    "exceptions",
    "numbers",
    "resizing",
    "sets",
    "stdlib",
    "text",
    "torch_state",
]
