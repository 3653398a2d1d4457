"""The spec of host programs refuses what would read freed memory, leak, or use what is not there."""

import pytest

from supple.base.errors import SpecError
from supple.expr import const, symbol
from supple.ir.dtypes import DType
from supple.ir.host.nodes import Alloc, Bind, Extern, Free, Host, Launch, Return, Step, Value, View
from supple.ir.host.spec import check
from supple.ir.meta import contiguous

META = contiguous((2, 3), DType.F32)
S0 = symbol("s0", minimum=2)


def host(*steps: Step) -> Host:
    return Host(("x",), steps)


GOOD = (
    host(Return((Value("x"), 3, None))),
    host(Alloc("y", META), Launch("k", ("x", "y")), Return((Value("y"),))),
    host(Alloc("y", META), Free("y"), Alloc("y", META), Free("y"), Return(())),
    host(
        View("v", "x", META),
        Extern(("m", None), "aten.sort.default", (Value("v"),), is_tuple=True),
        Free("v"),
        Return(([Value("m")],)),
    ),
    host(Bind("s0", "x", 0), Launch("k", ("x",), (S0 * 2,)), Return(())),
)
BAD = {
    "before it is defined": host(Launch("k", ("y",)), Return(())),
    "after its Free": host(Alloc("y", META), Free("y"), Launch("k", ("y",)), Return(())),
    "live already": host(Alloc("x", META), Return(())),
    "never freed: y": host(Alloc("y", META), Return(())),
    "Return is the last step": host(Return(()), Alloc("y", META)),
    "without Return": host(),
    "not bound": host(Launch("k", ("x",), (S0,)), Return(())),
    "one result has one name": host(Extern(("a", "b"), "aten.sin.default", (Value("x"),)), Return(())),
    "two inputs have one name": Host(("x", "x"), (Return(()),)),
    "bound already": host(Bind("s0", "x", 0), Bind("s0", "x", 1), Return(())),
}


@pytest.mark.parametrize("program", GOOD)
def test_a_program_that_keeps_the_rules_passes(program: Host) -> None:
    check(program)


@pytest.mark.parametrize("problem", BAD)
def test_a_broken_program_is_refused_by_name(problem: str) -> None:
    with pytest.raises(SpecError, match=problem):
        check(BAD[problem])


def test_a_size_of_an_allocation_must_be_known() -> None:
    with pytest.raises(SpecError, match="not bound"):
        check(host(Alloc("y", contiguous((S0, const(2)), DType.F32)), Free("y"), Return(())))
