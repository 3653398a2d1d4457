"""Functions in Python for which rules stand: arguments that do not fit are refused by the function itself."""

import inspect
import types

import pytest
import torch

import supple
from supple.capture.library.table import call


def of_python() -> list[types.FunctionType]:
    """Return the functions of others in Python that have rules and take certain arguments."""
    found = [function for function in call if isinstance(function, types.FunctionType)]
    return [
        one for one in found if one.__module__.split(".")[0] not in ("supple", "tests") and not takes_any(one)
    ]


def takes_any(function: types.FunctionType) -> bool:
    kinds = [one.kind for one in inspect.signature(function).parameters.values()]
    return inspect.Parameter.VAR_POSITIONAL in kinds or inspect.Parameter.VAR_KEYWORD in kinds


def test_there_are_such_functions() -> None:
    assert torch._check_is_size in of_python()
    assert len(of_python()) > 20


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", of_python(), ids=lambda one: f"{one.__module__}.{one.__qualname__}")
def test_a_function_refuses_wrong_arguments_itself(function: types.FunctionType) -> None:
    def program(x: torch.Tensor) -> object:
        try:
            function(*([x] * 30), wrong=1)
        except TypeError as error:
            return x + 1, type(error), str(error)
        return x + 2

    x = torch.ones(2)
    assert repr(supple.compile(program, backend="eager")(x)) == repr(program(x))
    assert "I001" not in str(supple.stats()["fallback_reasons"])


@pytest.mark.filterwarnings("ignore")
def test_a_truth_of_data_is_a_size() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        number = x.item()
        torch._check_is_size(number)  # type: ignore[arg-type]
        return x * 2

    for value in (torch.tensor(True), torch.tensor(1), torch.tensor(False)):
        assert torch.equal(supple.compile(program)(value), program(value))
    assert "I001" not in str(supple.stats()["fallback_reasons"])
