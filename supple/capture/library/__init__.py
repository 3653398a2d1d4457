"""What known callables do: rules by object, polyfills in plain Python, torch functions as graph nodes."""

from supple.capture.library import (
    arrays,
    autograd,
    builtins,
    checks,
    containers,
    contents,
    copying,
    deques,
    exceptions,
    higher_order,
    inheritance,
    inspecting,
    literals,
    numbers,
    optimizers,
    resizing,
    sets,
    sorting,
    stdlib,
    text,
    torch_state,
    traced_checks,
)

RULE_FILES = (
    *(arrays, autograd, builtins, checks, containers, contents, copying, deques, exceptions, higher_order),
    *(inheritance, inspecting, literals, numbers, optimizers, resizing, sets, sorting, stdlib, text),
    *(torch_state, traced_checks),
)
"""The modules that fill the tables."""
