"""Programs of which a part cannot be captured."""

import io
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

import supple


@dataclass(frozen=True)
class Program:
    """A function, and words that its first message must have: what happened, and the line where.

    Attributes:
        graphs: how many are compiled for an input and its negative.
        places: how many places there are of which a message tells.
    """

    run: Callable[[torch.Tensor], object]
    what: str
    line: str
    graphs: int = 1
    places: int = 1


def prints_a_tensor(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    print(y.sum())
    return y * 2


def branches_on_a_tensor(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        return x + 1
    return x - 1


def loops_while_a_tensor(x: torch.Tensor) -> torch.Tensor:
    while x.max() < 10:
        x = x * 2
    return x


def calls_a_c_extension(x: torch.Tensor) -> torch.Tensor:
    packed = zlib.compress(bytes(int(x.shape[0])))
    return x + len(packed)


def saves_a_tensor(x: torch.Tensor) -> torch.Tensor:
    y = x * 3
    torch.save(y, io.BytesIO())
    return y


def converts_to_a_list(x: torch.Tensor) -> object:
    y = x + 1
    return y.tolist()


def sorts_with_numpy(x: torch.Tensor) -> object:
    y = x + 1
    return float(np.sort(y.numpy()).sum())


def formats_a_tensor(x: torch.Tensor) -> object:
    y = x + 1
    return f"{y.sum():.2f}", y


def writes_json(x: torch.Tensor) -> object:
    text = json.dumps({"n": x.sum().item()})
    return text, x


@supple.disable
def left_alone(x: torch.Tensor) -> torch.Tensor:
    return x * 5


def calls_a_disabled_function(x: torch.Tensor) -> torch.Tensor:
    return left_alone(x) + 1


def asks_for_a_break(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    supple.graph_break()
    return y * 2


def yields(x: torch.Tensor) -> object:
    def numbers() -> object:
        yield x
        yield x + 1

    return list(numbers())[1] + (1 if bool(x.any()) else 0)


def breaks_in_a_function_that_it_calls(x: torch.Tensor) -> torch.Tensor:
    def inner(y: torch.Tensor) -> torch.Tensor:
        z = y * 2
        supple.graph_break()
        return z + 1

    return inner(x + 1) * inner(x + 2)


PROGRAMS = {
    program.run.__name__: program
    for program in (
        Program(prints_a_tensor, "tensor", "print(y.sum())", graphs=2),
        Program(branches_on_a_tensor, "branch on the value of a tensor", "if x.sum() > 0:", graphs=3),
        Program(loops_while_a_tensor, "branch on the value of a tensor", "while x.max() < 10:", graphs=2),
        Program(calls_a_c_extension, "zlib.compress", "zlib.compress("),
        Program(saves_a_tensor, "", "torch.save("),
        Program(converts_to_a_list, "tolist", "y.tolist()"),
        Program(sorts_with_numpy, "sort", "np.sort(y.numpy())", graphs=2),
        Program(formats_a_tensor, "tensor", "y.sum():.2f"),
        Program(writes_json, "Encoder", "c_make_encoder("),
        Program(calls_a_disabled_function, "disabled", "left_alone(x)"),
        Program(asks_for_a_break, "graph_break", "supple.graph_break()", graphs=2),
        Program(yields, "", "bool(x.any())", graphs=2),
        Program(breaks_in_a_function_that_it_calls, "graph_break", "supple.graph_break()", graphs=4),
    )
}
