"""What the spec refuses: one broken rule at a time, and that it names the rule."""

from collections.abc import Callable

import pytest
import torch

import supple
from supple.base.errors import SpecError
from supple.ir.loops.spec import check
from supple.ir.loops.text import parse

GOOD = """
nest norm(x: f32 in [24], ids: i64 in [3], out: f32 out [24], where: b1 in [8]):
  over r[0:3] < 3 parallel:
    i: i64 = load ids[r]
    for k[0:8] < 8 vector reducing s: f32 = sum(t), p: i64 = argmax(t):
      m: b1 = load where[k]
      t: f32 = load x[8*r + k] where m else 0
    h: f32 = mul(s, 0.5)
    for k[0:8] < 8 vector:
      u: f32 = load x[8*r + k]
      c: b1 = gt(u, h)
      v: f32 = where(c, u, h)
      store out[8*r + k] = v
"""


def test_a_good_nest_is_accepted() -> None:
    check(parse(GOOD))


BROKEN = [
    ("mul(s, 0.5)", "mul(nothing, 0.5)", "visible"),
    ("mul(s, 0.5)", "mul(t, 0.5)", "visible"),
    ("mul(s, 0.5)", "mul(p, 0.5)", "not a f32"),
    ("mul(s, 0.5)", "mul(s)", "operands"),
    ("mul(s, 0.5)", "frobnicate(s, 0.5)", "operator"),
    ("mul(s, 0.5)", "mul(s, r)", "scalar"),
    ("h: f32 = mul", "s: f32 = mul", "visible already"),
    ("h: f32 = mul", "h: bf16 = mul", "not a bf16"),
    ("i: i64 = load ids[r]", "i: i32 = load ids[r]", "holds i64"),
    ("i: i64 = load ids[r]", "i: i64 = load ids[r + 1]", "reaches 3"),
    ("i: i64 = load ids[r]", "i: i64 = load ids[r - 1]", "reaches -1"),
    ("i: i64 = load ids[r]", "i: i64 = load ids[q]", "q is not visible"),
    ("i: i64 = load ids[r]", "i: i64 = load nowhere[r]", "buffer"),
    ("load x[8*r + k]\n", "load x[8*r, k]\n", "one index"),
    ("load x[8*r + k]\n", "load x[8*h + k]\n", "no integer"),
    ("where m else 0", "where i else 0", "not a b1"),
    ("where m else 0", "where m else 0.5", None),
    ("sum(t)", "sum(m)", "does not give"),
    ("s: f32 = sum(t)", "s: f64 = sum(t)", "does not give"),
    ("p: i64 = argmax(t)", "p: i32 = argmax(t)", "does not give"),
    ("sum(t)", "product(t)", "does not give"),
    ("sum(t)", "sum(k)", "scalar"),
    ("c: b1 = gt", "c: f32 = gt", "comparison"),
    ("store out[8*r + k] = v", "store out[k] = v", "write one location"),
    ("store out[8*r + k] = v", "store out[k] = 2.0", None),
    ("store out[8*r + k] = v", "store x[8*r + k] = v", "read only"),
    ("store out[8*r + k] = v", "store out[8*r + k] = c", "not a f32"),
    ("store out[8*r + k] = v", "store out[8*r + k] = True", None),
    ("where: b1 in [8]", "x: b1 in [8]", "one name"),
    ("ids: i64 in", "ids: c64 in", "complex"),
    ("x: f32 in [24]", "x: f32 in [n]", "n is not visible"),
    ("k[0:8] < 8 vector reducing", "k[0:8] < 8 parallel reducing", "SERIAL"),
    ("k[0:8] < 8 vector reducing", "k[0:8] < 8 vector, j[0:2] < 2 reducing", "SERIAL"),
    ("r[0:3] < 3 parallel", "r[0:3] < 3 vector", "SERIAL"),
    ("r[0:3] < 3 parallel", "r[0:3] < 3, q < 2 parallel", "PARALLEL"),
    ("v: f32 = where(c, u, h)", "v: f32 = and(u, h)", "bits"),
    ("i: i64 = load ids[r]", "i: i16 = index r", "i64 or i32"),
]


@pytest.mark.parametrize(("part", "instead", "rule"), BROKEN)
def test_a_broken_rule_is_named(part: str, instead: str, rule: str | None) -> None:
    assert part in GOOD
    nest = parse(GOOD.replace(part, instead, 1))
    if rule is None:
        check(nest)
        return
    with pytest.raises(SpecError, match=rule) as caught:
        check(nest)
    assert str(caught.value).startswith("nest norm: ")


LOW = """
nest low(x: bf16 in [1], out: bf16 out [1]):
  once:
    t: bf16 = load x[0]
    u: f32 = cast(t)
    v: bf16 = cast(u)
    store out[0] = v
"""


def test_there_is_no_arithmetic_in_low_precision() -> None:
    check(parse(LOW))
    with pytest.raises(SpecError, match="arithmetic"):
        check(parse(LOW.replace("v: bf16 = cast(u)", "v: bf16 = neg(t)")))


ONE = """
nest one(x: f32 in [n], out: f32 out [n]; n[0:]):
  over r[0:] < min(n, 1) parallel, k[0:] < n parallel:
    t: f32 = load x[k]
    store out[k] = t
"""


def test_an_axis_of_at_most_one_point_tells_nothing_apart() -> None:
    check(parse(ONE))
    with pytest.raises(SpecError, match="write one location"):
        check(parse(ONE.replace("min(n, 1)", "min(n, 2)")))


@pytest.mark.parametrize(
    "text", ["t[n.item() % 9]", "t[n.item()]", "t[n.item() // 2:][0]", "t[1 - n.item() % 3]"]
)
def test_the_graph_may_know_more_of_a_number_than_its_range(text: str) -> None:
    """Code reads an element at a number that the graph has checked before."""
    program: Callable[..., torch.Tensor] = eval(f"lambda t, n: t * {text}")
    for dynamic in (False, True):
        compiled = supple.compile(program, dynamic=dynamic, options={"check": 2}, fullgraph=True)
        for place in (1, 2, 0, 10):
            t, n = torch.arange(3.0), torch.tensor(place)
            torch.testing.assert_close(*(outcome(run, t, n) for run in (compiled, program)))


def outcome(run: Callable[..., torch.Tensor], *args: torch.Tensor) -> torch.Tensor:
    """Return what a program gives, or 100 where it raises IndexError."""
    try:
        return run(*args)
    except IndexError:
        return torch.tensor(100.0)
