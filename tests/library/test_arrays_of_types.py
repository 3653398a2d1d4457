"""Arrays of NumPy of each type, also of those that torch has not or takes otherwise: what is made of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import supple
from supple.base.config import config

TYPES = (
    "float16", "float32", "float64", "complex64", "complex128", "bool", "int8", "uint8", "int16", "uint16",
    "int32", "uint32", "int64", "uint64", ">f4", ">i2", "U2", "object", "datetime64[s]",
)  # fmt: skip
USES: dict[str, Callable[[Any], object]] = {
    "it": lambda a: a,
    "its shape": lambda a: (a.shape, a.ndim, a.size, a.strides, a.dtype),
    "a slice": lambda a: a[1:],
    "an element": lambda a: (a[1], a[-1]),
    "steps": lambda a: (a[::2], a[...], a[None]),
    "a choice": lambda a: (a[[0, 2]], a[np.array([True, False, True, False])]),
    "its mean": lambda a: (a.mean(), a.max(axis=0)),
    "its sum": lambda a: a.sum(),
    "a sum": lambda a: a + a,
    "twice": lambda a: (a * 2.0, a[1:]),
    "a comparison": lambda a: (a == a, a[a == a]),
    "a function": lambda a: np.sqrt(a),
    "a tensor": lambda a: (torch.from_numpy(a), a[1:]),
    "a tensor of twice": lambda a: (torch.from_numpy(a * 2), a.shape),
    "a copy": lambda a: (torch.tensor(a), torch.as_tensor(a)[1:]),
    "another type": lambda a: a.astype(np.float32),
    "another shape": lambda a: (a.reshape(2, 2).T, a.reshape(-1, 2)[0]),
    "a list": lambda a: (a.tolist(), list(a), len(a)),
    "truth": lambda a: bool(a[0]),
    "joined": lambda a: np.concatenate([a, a[:1]]),
    "chosen": lambda a: np.where(a == a, a, a[0]),
}


def seen(run: Callable[[Any], object], dtype: str) -> str:
    array = np.arange(1, 5).astype(dtype)
    try:
        found = run(array)
    except Exception as error:  # whatever NumPy raises
        return type(error).__name__
    return f"{found!r} {array!r}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("use", USES)
def test_what_is_made_of_an_array(use: str, backend: str) -> None:
    # NPY
    compiled = supple.compile(USES[use], backend=backend, options={"recompile_limit": 1000})
    with config.patch(suppress_errors=False):
        for dtype in (*TYPES, *reversed(TYPES)):
            assert seen(compiled, dtype) == seen(USES[use], dtype), dtype
