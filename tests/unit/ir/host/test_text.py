"""Host programs print and parse back, and print as Python that runs."""

import pytest
import torch

from supple.codegen.host_python import host_source
from supple.expr import const, symbol
from supple.expr.real import Real
from supple.ir.dtypes import DType
from supple.ir.host.interp import run
from supple.ir.host.nodes import Alloc, Bind, Extern, Free, Host, Launch, Return, Step, Value, View, Writes
from supple.ir.host.text import parse, text
from supple.ir.meta import TensorMeta, contiguous

S0 = symbol("s0", minimum=2)
WINDOW = TensorMeta((S0, const(2)), (const(3), const(1)), DType.F32, "cpu", const(1))
SCALE = Real("*", (Real("input", ("f0",)), S0 + 1))
STEPS: tuple[Step, ...] = (
    Bind("s0", "x", 0),
    Bind("f0", "n"),
    Alloc("y", contiguous((S0, const(3)), DType.BF16)),
    Launch("kernel0_add", ("x", "y"), (S0, S0 * 2 + 1, SCALE)),
    View("w", "x", WINDOW),
    Extern(
        ("values", None),
        "aten.sort.default",
        (Value("w"), [1, -2.5, float("inf"), True, None, "none", (S0 * 2,), slice(0, S0, None)]),
        {"dtype": torch.float32, "device": torch.device("cpu"), "memory_format": torch.contiguous_format},
        is_tuple=True,
    ),
    Writes(),
    Free("w"),
    Free("y"),
    Return((Value("values"), 1, S0, ())),
)
PROGRAM = Host(("x", "n"), STEPS)


def test_text_reads_like_a_program() -> None:
    assert text(PROGRAM).splitlines()[:6] == [
        "host(x, n):",
        "  s0 = size 0 of x",
        "  f0 = number n",
        "  y = alloc bf16[s0[2:],3](3,1)",
        "  kernel0_add(x, y; s0[2:], 2*s0[2:] + 1, real('f0 * (s0[2:] + 1)'))",
        "  w = view x f32[s0[2:],2](3,1)+1",
    ]


def test_parse_is_the_inverse_of_text() -> None:
    assert parse(text(PROGRAM)) == PROGRAM


@pytest.mark.parametrize("line", ["y = nothing", "free a b", "return 3", "y = alloc f32", "f(g(1))!"])
def test_what_is_not_a_step_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"not a|no meaning|malformed"):
        parse(f"host(x):\n  {line}\n")


def small() -> Host:
    view = View("v", "x", TensorMeta((S0, const(2)), (const(3), const(1)), DType.F32, "cpu", const(1)))
    product = Extern(("m",), "aten.mm.default", (Value("v"), Value("w")))
    shaped = Extern(("r",), "aten.view.default", (Value("m"), [S0 * 2]))
    steps = (
        *(Bind("s0", "n"), Bind("f0", "scale"), view, product, Free("v"), shaped, Free("m")),
        Return((Value("r"), Value("x"), S0, SCALE)),
    )
    return Host(("n", "scale", "x", "w"), steps)


@pytest.mark.parametrize("rows", [2, 5])
def test_generated_python_does_what_the_interpreter_does(rows: int) -> None:
    whole = torch.randn(rows + 1, 3)
    x, w = whole[1:], torch.randn(2, 2)
    namespace: dict[str, object] = {}
    exec(host_source(small()), namespace)
    made = namespace["run"]
    assert callable(made)
    for results in (made([rows, 0.5, x, w]), run(small(), [rows, 0.5, x, w], lambda *_: None)):
        torch.testing.assert_close(results[0], (x[:, 1:] @ w).view(-1))
        assert results[1] is x
        assert results[2:] == (rows, 0.5 * (rows + 1))


def test_a_pointer_that_two_launches_need_is_asked_for_once() -> None:
    steps = (Launch("k", ("x",)), Launch("k", ("x",)), Return(()))
    assert host_source(Host(("x",), steps)).count("data_ptr") == 1


def test_a_number_that_several_steps_need_is_computed_once() -> None:
    steps = (
        Bind("s0", "s0"),
        Launch("k", ("x",), (S0 * 2,)),
        Launch("k", ("x",), (S0 * 2,)),
        Return((S0 + 1,)),
    )
    source = host_source(Host(("s0", "x"), steps))
    assert source.count("2*s0") == 1
    assert "return (s0 + 1,)" in source
