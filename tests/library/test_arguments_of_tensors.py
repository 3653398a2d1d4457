"""Methods of tensors that rules answer refuse the arguments that they refuse in eager."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple

METHODS = """
numpy tolist item __float__ __int__ __index__ __bool__ chunk tensor_split diff resolve_conj resolve_neg
new_tensor quantile nanquantile""".split()
GIVEN: dict[str, Callable[[torch.Tensor], Any]] = {
    "a number": lambda x: 1,
    "nought": lambda x: 0,
    "less": lambda x: -1,
    "truth": lambda x: True,
    "a float": lambda x: 2.5,
    "nothing": lambda x: None,
    "a text": lambda x: "sum",
    "a tuple": lambda x: (0,),
    "a tensor": lambda x: x,
    "a type": lambda x: torch.int64,
    "an object": lambda x: ...,
}


def said(error: Exception) -> tuple[str, str]:
    """Return what an error says; which class a method is of depends on how it is called."""
    return type(error).__name__, str(error).partition("\nException raised from")[0].replace(
        "TensorBase.", "Tensor."
    )


def told(found: object) -> object:
    """Return what can be compared."""
    return [type(each).__name__ for each in found] if isinstance(found, tuple | list) else repr(found)


def of_one(x: torch.Tensor, name: str, given: Any) -> object:
    try:
        return told(getattr(x, name)(given))
    except (TypeError, ValueError, RuntimeError, IndexError) as error:
        return said(error)


def of_two(x: torch.Tensor, name: str, given: Any) -> object:
    try:
        return told(getattr(x, name)(given, given))
    except (TypeError, ValueError, RuntimeError, IndexError) as error:
        return said(error)


@pytest.mark.filterwarnings("ignore:To copy construct")
@pytest.mark.parametrize("call", [of_one, of_two])
@pytest.mark.parametrize("name", METHODS)
def test_arguments_are_refused(name: str, call: Callable[..., object]) -> None:
    for make in (lambda: torch.arange(3.0), lambda: torch.tensor(1), lambda: torch.ones(1)):
        run = supple.compile(call)
        for what, given in GIVEN.items():
            x = make()
            assert run(x, name, given(x)) == call(x, name, given(x)), what


def test_a_method_of_a_tensor_refuses_what_is_none() -> None:
    def f(x: torch.Tensor, other: Any) -> tuple[torch.Tensor, str]:
        try:
            torch.Tensor.item(other)
        except TypeError as error:
            return x * 2, str(error)
        return x, ""

    assert supple.compile(f)(torch.ones(2), 3)[1] == f(torch.ones(2), 3)[1]


NAMED: list[Callable[[torch.Tensor], Any]] = [
    lambda x: x.diff(axis=0),
    lambda x: torch.diff(x=x, axis=1),
    lambda x: torch.diff(a=x),
    lambda x: torch.diff(x1=x, n=2),
    lambda x: x.chunk(2, axis=1),
    lambda x: torch.chunk(x=x, chunks=2),
    lambda x: x.tensor_split(2, axis=1),
    lambda x: x.tensor_split(indices=(1, 2)),
    lambda x: torch.diff(x, wrong=1),  # type: ignore[call-overload]
    lambda x: x.chunk(2, dims=1),  # type: ignore[call-arg]
    lambda x: x.diff(dim=0, axis=1),  # type: ignore[call-overload]
    lambda x: torch.diff(x, x=x),  # type: ignore[call-overload]
    lambda x: x.diff(1, 0, x, x),
    lambda x: x.chunk(),  # type: ignore[call-arg]
    lambda x: x.chunk(2, 0, axis=1),  # type: ignore[call-arg]
]


@pytest.mark.parametrize("place", range(len(NAMED)))
def test_arguments_have_the_names_of_numpy_too(place: int) -> None:
    run = supple.compile(NAMED[place], dynamic=True)
    x = torch.arange(12.0).view(4, 3)
    try:
        wanted = NAMED[place](x)
    except TypeError as error:
        with pytest.raises(TypeError, match=re.escape(str(error).replace("TensorBase.", "Tensor."))):
            run(x)
    else:
        torch.testing.assert_close(run(x), wanted)
