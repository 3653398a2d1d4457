"""What shares compiled code is told apart by all that is in reach of a compilation."""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from itertools import product
from typing import Any

import pytest
import torch

from supple.base.config import Settings
from supple.base.options import Options
from supple.capture.compilation import graph_key
from supple.expr import BoolExpr, Expr, less_equal
from supple.expr.real import Comparison, Real
from supple.ir.dtypes import DType
from supple.ir.graph.nodes import Graph, Input, Node, Var
from supple.ir.key import key_of
from supple.ir.meta import TensorMeta, contiguous
from supple.ir.ops import OpKind, op_named
from supple.ir.program import Target
from supple.native import stable_key
from supple.runtime.state import state_now
from supple.shapes.env import Assumptions, Deferred, Known, ShapeEnv, using

ENV = ShapeEnv()
SIZE = ENV.create("L['x'].size()[0]", 4)
OTHER = ENV.create("L['y'].size()[0]", 4)
META = contiguous((SIZE,), DType.F32)


def graph() -> Graph:
    node = Node("y", op_named("aten.sum.dim_IntList"), (Var("x"), [0], True), {"dtype": torch.float32}, META)
    return Graph((Input("x", META, "L['x']"),), (node,), (Var("y"), 1.5))


REACHED: dict[str, object] = {
    "graph": graph(),
    "number": Real("*", (Real("input", ("f0",)), 2.0)),
    "assumptions": Assumptions(
        (Known(SIZE, "L['x'].size()[0]", 4),),
        (less_equal(2, SIZE),),
        (Comparison("<", Real("input", ("f0",)), 1.0),),
        (("f0", 1.5),),
        (("uf0", "item"),),
        (Deferred(less_equal(2, OTHER), "message", ()),),
    ),
    "settings": Settings(),
    "options": Options(settings=Settings()),
    "target": Target(32),
    "state": state_now(),
    "homes": {0: 1, 1: 2},
    "containers": ([1, 2.0], (None, True), {"a": 1}, slice(1, None, 2), frozenset((1, 2))),
}


def others(value: Any) -> Iterator[object]:
    """Yield values that differ from `value` in one thing, of the same kind where there is one."""
    if isinstance(value, Enum):
        yield next(one for one in type(value) if one is not value)
    elif isinstance(value, Expr):
        yield less_equal(7, OTHER) if isinstance(value, BoolExpr) else value + 1
    elif isinstance(value, Real):
        yield Real(f"{value.op}'", value.args)
        yield from (Real(value.op, args) for args in others_of_items(value.args))
    elif isinstance(value, list | tuple):
        yield from others_of_items(value)
    elif isinstance(value, dict):
        yield {**value, "new": 1}
        for name, item in value.items():
            yield from ({**value, name: other} for other in others(item))
    elif is_dataclass(value):
        for one in fields(value):
            if not one.metadata.get("unkeyed"):
                yield from changed(value, one.name)
    else:
        yield from ATOMS[type(value)](value)


ATOMS: dict[type, Callable[[Any], tuple[object, ...]]] = {
    bool: lambda value: (not value, int(value)),
    int: lambda value: (value + 1, float(value), str(value)),
    float: lambda value: (value + 1, -value, float("nan")),
    str: lambda value: (value + "'",),
    type(None): lambda value: (0,),
    torch.dtype: lambda value: (torch.float64, torch.int8),
    slice: lambda value: (slice(value.start, value.stop, 3), slice(0, value.stop, value.step)),
    frozenset: lambda value: (value | {"new"}, set(value)),
}


def others_of_items(value: Any) -> Iterator[object]:
    """Yield a sequence with one item more, and with each item changed."""
    kind = type(value)
    yield kind([*value, 0])
    for place, item in enumerate(value):
        for other in others(item):
            yield kind([*value[:place], other, *value[place + 1 :]])


def changed(value: Any, name: str) -> Iterator[object]:
    """Yield a dataclass with another value in one field, past what its constructor would make of it."""
    for other in others(getattr(value, name)):
        made = replace(value)
        object.__setattr__(made, name, other)
        yield made


@pytest.mark.parametrize("name", REACHED)
def test_a_change_anywhere_is_another_key(name: str) -> None:
    value = REACHED[name]
    key = key_of(value)
    assert key is not None
    variants = list(others(value))
    assert len(variants) > 2
    assert key not in map(key_of, variants)


def test_fields_without_part_in_the_key_are_those_that_are_declared() -> None:
    kinds = (Graph, Node, Input, TensorMeta, Settings, Options, Target, Known, Deferred, Assumptions)
    op = type(op_named("aten.sin.default"))
    left_out = {
        f"{kind.__name__}.{one.name}"
        for kind in (*kinds, op)
        for one in fields(kind)
        if one.metadata.get("unkeyed")
    }
    assert left_out == {"Node.where", "Op.call", "Known.hint", "Known.why", "Deferred.stack"}


@pytest.mark.parametrize("value", [lambda: 0, object(), (1, object()), {"a": print}])
def test_what_has_no_form_has_no_key(value: object) -> None:
    assert key_of(value) is None


PAIRS = ((0.0, -0.0), (1, True), (1, 1.0), ("1", 1), ((1,), [1]), (b"", ""))


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_what_compares_equal_may_differ(left: object, right: object) -> None:
    assert key_of(left) != key_of(right)


def test_parts_do_not_run_into_each_other() -> None:
    texts = ("", "a", "\0", "a\0b", "str 'a'")
    pairs = list(product(texts, repeat=2))
    assert len({key_of(*pair) for pair in pairs}) == len(pairs)
    assert key_of((1, 2), 3) != key_of((1, 2, 3))


def facts_about_floats(env: ShapeEnv) -> None:
    env.specialize_real(Real("input", ("f0",)))


def test_a_specialised_float_is_told_apart() -> None:
    keys = set()
    for number in (1.5, 2.5):
        env = ShapeEnv()
        env.create_float("L['s']", number)
        facts_about_floats(env)
        with using(env):
            keys.add((graph_key(graph(), Options()), stable_key(graph(), Options(), {})))
    assert len(keys) == 2
    assert all(None not in pair for pair in keys)
    assert len({first for first, _ in keys}) == len({second for _, second in keys}) == 2


def test_the_side_of_a_branch_on_a_float_is_told_apart() -> None:
    keys = set()
    for number in (1.5, 2.5):
        env = ShapeEnv()
        env.create_float("L['s']", number)
        env.decide_real("<", Real("input", ("f0",)), 2.0)
        with using(env):
            keys.add((graph_key(graph(), Options()), stable_key(graph(), Options(), {})))
    assert len({first for first, _ in keys}) == len({second for _, second in keys}) == 2


@pytest.mark.parametrize("learn", ["specialize_real", "decide_real", "decide", "as_integer"])
def test_every_kind_of_guard_is_a_new_version(learn: str) -> None:
    env = ShapeEnv()
    env.create_float("L['s']", 1.5)
    real = Real("input", ("f0",))
    before = env.version
    match learn:
        case "specialize_real":
            env.specialize_real(real)
        case "decide_real":
            env.decide_real("<", Real("sqrt", (real,)), 2.0)
        case "as_integer":
            env.as_integer("floor", real)
        case _:
            env.decide(less_equal(3, env.create("L['n']", 4)))
    assert env.version > before


def test_a_graph_that_calls_the_programs_code_has_no_key() -> None:
    node = Node("y", op_named("Tensor.sin"), (Var("x"),), {}, META)
    assert graph_key(Graph(graph().inputs, (node,), ()), Options()) is not None
    custom = replace(node.op, name="my.module.f", kind=OpKind.FUNCTION)
    assert graph_key(Graph(graph().inputs, (replace(node, op=custom),), ()), Options()) is None
