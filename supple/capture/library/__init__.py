"""What known callables do: rules by object, polyfills in plain Python, torch functions as graph nodes."""

from supple.capture.library import builtins, containers, stdlib, torch_state

__all__ = ["builtins", "containers", "stdlib", "torch_state"]
