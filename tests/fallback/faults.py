"""Kernels made wrong on purpose, each run between guard pages by a process of its own; says how they end."""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import torch

import supple
from supple.codegen import backend
from supple.ir.loops.nodes import Load, Nest, Store

Damage = Callable[[Nest], Nest]


def add(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def fill(x: torch.Tensor) -> torch.Tensor:
    return torch.arange(x.shape[0])


def moved(kind: type, by: int) -> Damage:
    """Return what moves each load, or each store, by some elements."""

    def damage(nest: Nest) -> Nest:
        body = (
            replace(one, index=(one.index[0] + by,))
            if isinstance(one, Load | Store) and type(one) is kind
            else one
            for one in nest.body
        )
        return replace(nest, body=tuple(body))

    return damage


def longer(nest: Nest) -> Nest:
    """Return a nest that runs one element too far."""
    return replace(nest, axes=tuple(replace(axis, extent=axis.extent + 1) for axis in nest.axes))


CASES: Final[dict[str, tuple[Any, int, Damage]]] = {
    "sound": (add, 7, lambda nest: nest),
    "reads behind": (add, 7, moved(Load, 1)),
    "reads before": (add, 7, moved(Load, -1)),
    "writes behind": (add, 7, moved(Store, 1)),
    "writes before": (add, 1024, moved(Store, -1)),
    "writes into poison": (add, 7, moved(Store, -1)),
    "bound of a read": (add, 13, longer),
    "bound of a write": (fill, 13, longer),
    "in a thread": (add, 300_001, moved(Load, 1)),
    "far away": (add, 7, moved(Load, 1 << 40)),
}


def run(function: Any, length: int, damage: Damage) -> None:
    """Compile a function with damaged kernels and call it."""
    sound = backend.emit_nest
    backend.emit_nest = lambda nest, *rest: sound(damage(nest), *rest)
    supple.compile(function, fullgraph=True, options={"check": "memory"})(torch.ones(length))


def outcome(name: str) -> tuple[int, str]:
    """Return the status with which a process ends that runs a case, and what it wrote to stderr."""
    with tempfile.TemporaryFile() as log:
        child = os.fork()
        if not child:
            os.dup2(log.fileno(), 2)
            try:
                run(*CASES[name])
                os._exit(0)
            except supple.errors.MemoryFault as error:
                os.write(2, str(error).encode())
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        log.seek(0)
        return os.waitstatus_to_exitcode(status), log.read().decode()


if __name__ == "__main__":
    json.dump({name: outcome(name) for name in CASES}, sys.stdout)
