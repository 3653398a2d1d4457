"""The text of nests: printed as documented, and refused where it is not in the language."""

import pytest

from supple.ir.loops.text import parse, text

LAYER_NORM = """\
nest norm(x: f32 in [128*s0], out: f32 out [128*s0], tmp: f32 scratch [64]; s0[1:]) from mean, sub:
  over r[0:128] < 128 parallel:
    for k[0:] < s0 vector reducing s: f32 = sum(t0), m: f32 = max(t0):
      i: i32 = index k - 1
      e: b1 = ge(i, 0)
      t0: f32 = load x[r*s0 + k] where e else -inf
    n: f32 = mul(s, 0.5)
    row: i64 = cast(n)
    for j[0:2] < 2, k[0:] < s0:
      t1: f32 = load x[row*s0 + k]
      b: b1 = and(e2, True)
      store out[r*s0 + k] = t1 where b
    store tmp[0] = 1
"""


def test_parse_inverts_text_and_text_inverts_parse() -> None:
    nest = parse(LAYER_NORM)
    assert text(nest) == LAYER_NORM.rstrip("\n")
    assert parse(text(nest)) == nest


def test_a_nest_without_axes_runs_once() -> None:
    source = "nest one(out: i64 out [1]):\n  once:\n    store out[0] = 7"
    assert text(parse(source)) == source


@pytest.mark.parametrize("number", ["1", "-2", "0.5", "1e-05", "inf", "-inf", "True", "False"])
def test_numbers_keep_value_and_type(number: str) -> None:
    source = f"nest one(out: f32 out [1]):\n  once:\n    t: f32 = neg({number})\n    store out[0] = {number}"
    assert text(parse(source)) == source


@pytest.mark.parametrize(
    "source",
    [
        "nest",
        "nest n(x: f32 in [1]):\n  sometimes:",
        "nest n(x: f99 in [1]):\n  once:",
        "nest n(x: f32 in [1]):\n  once:\n    t = load x[0]",
        "nest n(x: f32 in [1]):\n  once:\n    t: f32 = load x",
        "nest n(x: f32 in [1]):\n  once:\n    t: f32 = neg(1 2)",
        "nest n(x: f32 in [1]):\n  once:\n    t: f32 = neg(1)\n      u: f32 = neg(1)",
        "nest n(x: f32 in [1]):\n  over k + 1 < 2:",
    ],
)
def test_what_is_not_in_the_language_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(source)
