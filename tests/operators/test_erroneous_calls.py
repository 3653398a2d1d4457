"""Calls that torch's own list of operators says are errors: they raise as in eager, read or not."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

import supple

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.sweep]

Call = Callable[[torch.Tensor], object]


def unread(call: Call, w: torch.Tensor) -> object:
    call(w)
    return 1


def read(call: Call, w: torch.Tensor) -> object:
    return call(w)


def behind_a_write(call: Call, w: torch.Tensor) -> object:
    w.add_(1)
    call(w)
    return 1


def handled(call: Call, w: torch.Tensor) -> object:
    w.add_(1)
    try:
        call(w)
    except Exception as error:
        w.mul_(5)
        return type(error)
    return 1


PROGRAMS: Final = (unread, read, behind_a_write, handled)


def outcome(program: Callable[[torch.Tensor], object]) -> object:
    """Return what a program gives or raises, and what it leaves in a tensor that it may write."""
    written = torch.ones(3)
    try:
        found: object = program(written)
    except Exception as error:
        found = type(error), str(error)
    return "returned" if isinstance(found, torch.Tensor) else found, written.tolist()


def erroneous(operator: Any) -> Iterator[tuple[str, Call]]:
    """Yield the calls of an operator that eager refuses, each with its arguments as text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = list(operator.error_inputs("cpu"))
    for sample in (error.sample_input for error in samples):
        args, kwargs = (sample.input, *sample.args), sample.kwargs

        def call(_: torch.Tensor, args: tuple[Any, ...] = args, kwargs: dict[str, Any] = kwargs) -> object:
            return operator.op(*args, **kwargs)

        is_refused = isinstance(outcome(lambda w: read(call, w))[0], tuple)  # type: ignore[index]
        if is_refused:
            yield f"{args}, {kwargs}", call


@pytest.mark.parametrize(
    "operator", [one for one in op_db if one.error_inputs_func], ids=lambda one: one.name
)
def test_errors_are_those_of_eager(operator: Any) -> None:
    differing: list[object] = []
    for arguments, call in erroneous(operator):
        for program in PROGRAMS:

            def run(w: torch.Tensor, program: Any = program, call: Call = call) -> object:
                return program(call, w)

            supple.reset()
            wanted, found = outcome(run), outcome(supple.compile(run, backend="native"))
            if found != wanted:
                differing.append((program.__name__, arguments, wanted, found))
    assert not differing
