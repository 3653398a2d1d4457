"""What the programs that show a mutant are written with: names of torch, and `check`.

`python -m tests.recall.showing '{"name": "program", ...}'` runs each in a process of its own, and
prints for each whether it ended well, and its text.
"""

import contextlib
import copy
import functools
import gc
import json
import math
import os
import signal
import sys
import tempfile
import traceback
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn, ones, tensor, zeros
from torch.nn import functional as F

import supple
from supple.base.config import config
from tests.semantics.harness import Comparison

__all__ = [
    "Any", "F", "Tensor", "check", "config", "contextlib", "copy", "functools", "gc", "math", "nn", "ones",
    "same", "supple", "tensor", "torch", "weakref", "zeros",
]  # fmt: skip

Calls = tuple[Any, ...]


def check(function: Any, *calls: Any, backend: str = "eager", **options: Any) -> None:
    """Call a function with each of the arguments, then compiled code for it; they must do the same.

    Args:
        calls: tuples of arguments, or functions that return one, in which something may be changed.
    """
    wanted = [_outcome(function, call) for call in calls]
    with config.patch(suppress_errors=False):
        compiled = supple.compile(function, backend=backend, **options)
        for place, (call, want) in enumerate(zip(calls, wanted, strict=True)):
            same(want, _outcome(compiled, call), f"call {place}")


def same(want: object, got: object, what: str = "") -> None:
    """Require that two values are alike, up to rounding."""
    found = Comparison(is_rounded=True).difference(want, got, what)
    assert found is None, found


def _outcome(function: Any, call: Callable[[], Calls] | Calls) -> object:
    """Return what a call gives or raises, and what it left in its arguments."""
    args = call() if callable(call) else copy.deepcopy(call)
    torch.manual_seed(0)
    try:
        return "returned", function(*args), args
    except Exception as error:
        return "raised", type(error), str(error), args


SECONDS = 120
"""A program that takes longer is ended."""


def run(source: str) -> tuple[bool, str]:
    """Run a program in a process of its own; return whether it ended well, and what it printed."""
    with tempfile.NamedTemporaryFile("w+", suffix=".txt") as text:
        if child := os.fork():
            status = os.waitpid(child, 0)[1]
            return status == 0, open(text.name).read()[-2000:]
        for number in (1, 2):
            os.dup2(text.fileno(), number)
        signal.alarm(SECONDS)
        try:
            exec(source, {"__name__": "program", **{name: globals()[name] for name in __all__}})
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        sys.stdout.flush()
        os._exit(0)


if __name__ == "__main__":
    print(json.dumps({name: run(source) for name, source in json.loads(sys.argv[1]).items()}))
