"""A process that compiles, calls and forgets many functions, one at a time; prints what it has in the end.

Run as `python -m tests.fallback.growing WARM COUNT KIND ...`.
"""

import collections
import ctypes
import gc
import json
import logging
import sys
from collections.abc import Callable
from typing import Any

import torch

import supple

Function = Callable[..., Any]
PAGE_KB = 4
RESET_EVERY = 20
LIMIT = 2
"""How many entries a function may have."""


def called(f: Function) -> None:
    f(torch.randn(7, 5))


def trained(f: Function) -> None:
    f(torch.randn(7, 5, requires_grad=True)).backward()


def iterated(f: Function) -> None:
    collections.deque(f(torch.randn(7, 5)), maxlen=0)


def resized(f: Function) -> None:
    for rows in (3, 4, 5):
        f(torch.randn(rows, 5))


def past_the_limit(f: Function) -> None:
    for number in range(LIMIT + 2):
        f(torch.randn(7, 5), str(number))


def failing(f: Function) -> None:
    try:
        f(torch.randn(7, 5))
    except ValueError:
        pass


def broken_backend(graph: object, inputs: object) -> Function:
    raise ZeroDivisionError("this backend has a bug")


KINDS: dict[str, tuple[str, Callable[[Function], None], dict[str, Any]]] = {
    "plain": ("return (x * {n}.5).sin() + x.sum() * {n}", called, {}),
    "training": ("return ((x * {n}.5).sin() * x).sum()", trained, {}),
    "breaks": ("y = x * {n}.5; open('/dev/null').close(); return y.cos() + 1", called, {}),
    "generators": ("y = x * {n}.5; yield y; yield y.cos() + 1", iterated, {}),
    "sizes": ("return (x * {n}.5).sin() + x.size(0) * {n}", resized, {}),
    "limit": ("return (x * {n}.5).sin() + len(text) * {n} + float(text)", past_the_limit, {}),
    "raising": ("y = x * {n}.5; raise ValueError('no')", failing, {}),
    "failures": ("return (x * {n}.5).sin()", called, {"backend": broken_backend}),
}
"""For each kind: the body of its functions, what is done with each, options of `compile`."""


def made(body: str, number: int) -> Function:
    names: dict[str, Any] = {}
    exec(f"def f{number}(x, text=''):\n    {body.format(n=number)}\n", names)
    return names[f"f{number}"]


def resident_kb() -> int:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * PAGE_KB


def objects() -> "collections.Counter[str]":
    """Return how many objects of our classes and of LLVM's there are, and of all others."""
    gc.collect()
    gc.collect()  # what the first has freed may have held more
    kinds = (type(obj) for obj in gc.get_objects())
    own = ("supple", "llvmlite")
    return collections.Counter(
        f"{kind.__module__}.{kind.__qualname__}" if str(kind.__module__).startswith(own) else "other"
        for kind in kinds
    )


def run(kind: str, numbers: range) -> None:
    body, use, options = KINDS[kind]
    for number in numbers:
        use(supple.compile(made(body, number), **options))
        if number % RESET_EVERY == 0:
            supple.reset()
    supple.reset()


def growth(kind: str, warm: int, count: int) -> dict[str, Any]:
    """Return what there is more of after `count` functions of a kind than after `warm`: memory, objects."""
    run(kind, range(warm))
    before, before_kb = objects(), resident_kb()
    run(kind, range(warm, warm + count))
    more = objects()
    more.subtract(before)
    return {"kb": resident_kb() - before_kb, "more": {name: n for name, n in more.items() if n > 0}}


if __name__ == "__main__":
    logging.getLogger("supple").setLevel(logging.CRITICAL)
    supple.config.suppress_errors = True
    supple.config.recompile_limit = LIMIT
    warm, count, *kinds = sys.argv[1:]
    print(json.dumps({kind: growth(kind, int(warm), int(count)) for kind in kinds}))
