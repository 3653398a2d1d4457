"""Runs programs as if torch had not some of its private names: `python -m tests.contract.without_names 0 8`.

For each name of a part it prints a line of JSON: the name, whether everything ran eager, what `env` lists,
and what differs from eager or failed.
"""

import json
import os
import pkgutil
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import llvmlite.binding
import networkx
import numpy
import optree
import torch

LOADED = (llvmlite.binding, networkx, numpy, optree)
"""Loaded once for all the processes that begin here."""
RESOLVE = pkgutil.resolve_name


def names() -> list[str]:
    """Return what `torch_private` asks for, which it does when it is imported: in a process of its own."""
    reading, writing = os.pipe()
    if not os.fork():
        found: list[str] = []

        def noted(name: str) -> Any:
            found.append(name)
            return RESOLVE(name)

        pkgutil.resolve_name = noted
        import_module("supple.torch_private")

        os.write(writing, json.dumps(sorted(set(found))).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as said:
        return json.loads(said.read())


def train(through: Callable[[Any], Any]) -> list[Any]:
    """Return what a step of training, a function, an exception and a write to an argument give."""

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Dropout(0.5))
    x = torch.arange(8.0).reshape(2, 4)
    loss = through(lambda x: model(x).square().sum())(x)
    loss.backward()

    def writes(x: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        with torch.no_grad():
            return x[place] * 2

    found: list[Any] = [
        loss.detach(),
        *(p.grad for p in model.parameters()),
        through(writes)(x, torch.tensor([1])),
        x,
    ]
    try:
        through(writes)(x, torch.tensor([7]))
    except IndexError as error:
        found.append(str(error))
    return found


def without(name: str) -> dict[str, Any]:
    """Return what happens without a name."""

    def lacking(asked: str) -> Any:
        if asked == name:
            raise AttributeError(asked)
        return RESOLVE(asked)

    pkgutil.resolve_name = lacking
    supple = import_module("supple")
    torch_private = import_module("supple.torch_private")

    differs = [
        f"{want} and {got}"
        for want, got in zip(train(lambda function: function), train(supple.compile), strict=True)
        if not (torch.allclose(want, got) if isinstance(want, torch.Tensor) else want == got)
    ]
    is_eager = torch_private.unusable() is not None
    if is_eager == bool(supple.stats()["graphs"]):
        differs.append(f"{supple.stats()['graphs']} graphs")
    return {"missing": list(map(str, torch_private.MISSING)), "is_eager": is_eager, "differs": differs}


def main(part: int, parts: int) -> None:
    """Print a line for each name of a part."""
    for name in names()[part::parts]:
        sys.stdout.flush()
        child = os.fork()
        if not child:
            try:
                found = without(name)
            except BaseException as error:
                found = {"differs": [f"{type(error).__name__}: {error}"]}
            print(json.dumps({"name": name, **found}), flush=True)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if status:
            print(json.dumps({"name": name, "differs": [f"ended with {status}"]}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
