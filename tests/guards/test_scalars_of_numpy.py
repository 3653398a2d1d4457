"""Numbers and texts of NumPy as arguments: some extend builtin classes, and do otherwise than those."""

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
import torch

import supple

EXPRESSIONS = (
    "v + 1", "1 + v", "v * 2", "v / 0", "v // 0", "v % 0", "v ** 0.5", "(-v) ** 0.5", "-v", "abs(v)",
    "round(v)", "round(v, 1)", "int(v)", "float(v)", "bool(v)", "str(v)", "repr(v)", "f'{v}'", "f'{v:.2f}'",
    "f'{v!r}'", "hash(v)", "v == 1", "v < 2", "v > v", "v != v", "v <= 1.5", "~(v == 1)", "v.real",
    "v.dtype", "v.item()", "type(v)", "isinstance(v, float)", "divmod(v, 2)", "[v]", "repr([v])",
    "str((v,))", "v and 1", "not v", "sum([v, v])", "max(v, 0)", "v.astype(int)", "v.mean()", "'%s' % v",
    "'%r' % v", "'{!r}'.format(v)", "x * v", "v * x", "x.add(v)", "x ** v", "torch.full((2,), v)",
    "torch.tensor(v)", "v is v", "{v: 1}", "v in (1, 2)", "math.sqrt(v)", "complex(v)", "v[0]", "len(v)",
    "list(v)", "v.missing", "v + 'a'", "v + 1j", "v @ v", "v.__repr__()", "v.__eq__(1.5)", "v.__class__",
)  # fmt: skip
NUMBERS = (
    np.float64(1.5),
    np.float64("nan"),
    np.str_("ab"),
    np.bytes_(b"ab"),
    np.float32(1.5),
    np.int64(3),
    np.bool_(True),
    np.complex128(1j),
)


def compiled_text(text: str) -> Callable[[torch.Tensor, object], object]:
    """Return the function of an expression: what it gives, or what it raises."""
    names: dict[str, Any] = {"torch": torch, "np": np, "math": math}
    caught = "except Exception as error: return x + 1, type(error), str(error)"
    exec(f"def f(x, v):\n    try: return x + 1, {text}\n    {caught}\n", names)
    return cast("Callable[[torch.Tensor, object], object]", names["f"])


def seen(found: object) -> object:
    assert isinstance(found, tuple)
    return [(type(one), repr(one)) for one in found]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_scalars_of_numpy_are_what_they_are(text: str) -> None:
    function = compiled_text(text)
    for number in NUMBERS:
        x = torch.ones(2)
        assert seen(supple.compile(function, backend="eager")(x, number)) == seen(function(x, number))


class Data(bytes):
    pass


class Word(str):
    pass


REFUSED: dict[str, Callable[[], object]] = {
    "joined": lambda: Data(b"a") + 1,  # type: ignore[operator]
    "a text joined": lambda: Word("a") + 1,  # type: ignore[operator]
    "formatted": lambda: f"{Word('a'):.2f}",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_the_class_that_extends_a_builtin(name: str) -> None:
    def program(x: torch.Tensor) -> object:
        try:
            return x + 1, REFUSED[name]()
        except (TypeError, ValueError) as error:
            return x + 1, str(error)

    assert repr(supple.compile(program, backend="eager")(torch.ones(1))) == repr(program(torch.ones(1)))
