"""What metadata of symbolic sizes says is what a tensor of each size has."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from supple.expr import Expr, as_expr, evaluate, symbol
from supple.ir.dtypes import DType
from supple.ir.meta import TensorMeta

A, B = symbol("a", minimum=0), symbol("b", minimum=0)
LAYOUTS: dict[str, tuple[tuple[Expr | int, ...], tuple[Expr | int, ...]]] = {
    "rows": ((A, B), (B, 1)),
    "columns": ((A, B), (1, A)),
    "rows with room": ((A, B), (B + 1, 1)),
    "rows of 3 with room": ((A, 3), (6, 1)),
    "every second row": ((A, B), (B * 2, 1)),
    "expanded": ((A, B), (0, 1)),
    "expanded row of 3": ((A, 3), (0, 1)),
    "expanded column": ((A, B), (1, 0)),
    "one number": ((A, B), (0, 0)),
    "windows": ((A, 3), (1, 1)),
    "windows of any size": ((A, B), (1, 1)),
    "pairs": ((A + B, 2), (0, 1)),
    "three": ((A, B, 4), (B * 4, 4, 1)),
}


@pytest.mark.parametrize("name", LAYOUTS)
@given(st.integers(0, 4), st.integers(0, 4))
def test_span_is_what_lies_between_first_and_last(name: str, a: int, b: int) -> None:
    sizes, strides = (tuple(map(as_expr, numbers)) for numbers in LAYOUTS[name])
    meta = TensorMeta(sizes, strides, DType.F32)
    shape, steps = ([evaluate(one, {"a": a, "b": b}) for one in numbers] for numbers in (sizes, strides))
    indices = torch.ones(shape).nonzero().tolist()
    places = [sum(map(int.__mul__, index, steps)) for index in indices]
    expected = max(places) + 1 if places else 0
    assert evaluate(meta.span, {"a": a, "b": b}) == expected
    reach = evaluate(meta.reach, {"a": a, "b": b})
    assert reach == expected if places else reach >= 0
