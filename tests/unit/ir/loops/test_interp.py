"""The interpreter against eager and against numbers worked out by hand."""

import math

import pytest
import torch

from supple.ir.dtypes import DType
from supple.ir.loops import interp
from supple.ir.loops.numbers import bfloat16, greatest, least, rounded
from supple.ir.loops.text import parse

SOFTMAX = parse("""
nest softmax(x: f32 in [12], out: f32 out [12]):
  over r[0:3] < 3 parallel:
    for k[0:4] < 4 vector reducing m: f32 = max(t):
      t: f32 = load x[4*r + k]
    for k[0:4] < 4 vector reducing s: f32 = sum(e):
      u: f32 = load x[4*r + k]
      d: f32 = sub(u, m)
      e: f32 = exp(d)
      store out[4*r + k] = e
    for k[0:4] < 4 vector:
      v: f32 = load out[4*r + k]
      q: f32 = div(v, s)
      store out[4*r + k] = q
""")


def test_softmax_is_eager() -> None:
    x, out = torch.randn(3, 4), torch.empty(3, 4)
    interp.run(SOFTMAX, {"x": x, "out": out}, {})
    torch.testing.assert_close(out, torch.softmax(x, 1))


def test_what_is_only_read_is_not_changed() -> None:
    x = torch.randn(3, 4)
    before = x.clone()
    interp.run(SOFTMAX, {"x": x, "out": torch.empty(3, 4)}, {})
    assert torch.equal(x, before)


def test_an_access_outside_the_buffer_is_an_error() -> None:
    nest = parse("nest n(out: f32 out [2]; s0):\n  once:\n    store out[s0] = 1")
    interp.run(nest, {"out": torch.empty(2)}, {"s0": 1})
    with pytest.raises(IndexError, match=r"out\[2\] of 2"):
        interp.run(nest, {"out": torch.empty(2)}, {"s0": 2})


def test_a_masked_access_touches_nothing() -> None:
    nest = parse("""
nest n(m: b1 in [1], x: f32 in [1], out: f32 out [1]):
  once:
    b: b1 = load m[0]
    t: f32 = load x[100] where b else 3.0
    store out[200] = t where b
    store out[0] = t
""")
    out = torch.zeros(1)
    interp.run(nest, {"m": torch.tensor([False]), "x": torch.zeros(1), "out": out}, {})
    assert out.item() == 3.0


FLOATS = [
    0.0,
    1.0,
    -1.5,
    1 / 3,
    65519.0,
    65520.0,
    3.4e38,
    3.5e38,
    1e-40,
    1e-46,
    6e-8,
    2.98e-8,
    math.inf,
    -math.inf,
]


@pytest.mark.parametrize("dtype", [DType.F32, DType.BF16, DType.F16, DType.F64])
@pytest.mark.parametrize("value", FLOATS)
def test_floats_are_rounded_as_torch_does(dtype: DType, value: float) -> None:
    single = torch.tensor(value, dtype=torch.float64).to(torch.float32)
    source = single if dtype is DType.BF16 else torch.tensor(value, dtype=torch.float64)
    expected = source.to(dtype.torch).item()
    assert rounded(dtype, value) == expected
    assert rounded(dtype, -value) == -expected


@pytest.mark.parametrize("dtype", [DType.I8, DType.U8, DType.I16, DType.I32, DType.I64])
def test_integers_wrap_and_reach_their_extremes(dtype: DType) -> None:
    info = torch.iinfo(dtype.torch)
    assert (least(dtype), greatest(dtype)) == (info.min, info.max)
    assert rounded(dtype, info.max + 1) == info.min
    assert rounded(dtype, info.min - 1) == info.max


def test_nan_stays_nan_in_every_float() -> None:
    assert all(math.isnan(rounded(dtype, math.nan)) for dtype in (DType.F32, DType.F16, DType.F64))
    assert math.isnan(bfloat16(math.nan))
