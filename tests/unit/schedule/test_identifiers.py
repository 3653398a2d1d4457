"""Names of values in the text of a host program: identifiers of Python, each of one value."""

import ast
import math
from keyword import iskeyword
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import supple
from supple.base.config import config
from supple.codegen import backend
from supple.codegen.host_python import host_source
from supple.schedule.host import RESERVED, identifiers


def test_no_name_is_a_word_of_python() -> None:
    names = ["and", "or", "not", "and_", "is", "x.y", "x_y", "3"]
    found = identifiers(names, {"s0"})
    assert list(found) == names
    assert len({*found.values()}) == len(names)
    assert all(one.isidentifier() and not iskeyword(one) for one in found.values())


def test_numbers_keep_their_names() -> None:
    assert identifiers(["s0", "s1"], {"s0"}) == {"s0": "s0_", "s1": "s1"}


def test_no_value_has_the_name_of_what_the_text_calls() -> None:
    assert not RESERVED.intersection(identifiers(sorted(RESERVED), set()).values())


def test_no_value_has_the_name_of_what_the_text_makes() -> None:
    found = identifiers(["_n_0", "__p_x", "_", "kernel0_log"], {"kernel0_log"}).values()
    assert not [one for one in found if one.startswith("_")]
    assert "kernel0_log" not in found


def strangers(text: str) -> set[str]:
    """Return the names that a host program reads from outside its function and that a value might have."""
    run = next(one for one in ast.parse(text).body if isinstance(one, ast.FunctionDef))
    names = [one for one in ast.walk(run) if isinstance(one, ast.Name)]
    own = {one.id for one in names if isinstance(one.ctx, ast.Store)} | {one.arg for one in run.args.args}
    read = {one.id for one in names if isinstance(one.ctx, ast.Load)} - own
    return {one for one in read if not one.startswith(("_", "kernel"))}


@pytest.mark.parametrize("check", ["1", "memory"])
def test_all_that_the_text_calls_is_reserved(check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []

    def noted(*args: Any) -> str:
        texts.append(host_source(*args))
        return texts[-1]

    monkeypatch.setattr(backend, "host_source", noted)

    def program(x: torch.Tensor, s: float, n: int) -> object:
        y = x.sort(0)[0] * math.log(s) + abs(s - 3) + s / n
        return y, y[y > 0], x.new_ones(max(n, 2), min(n, 3)), F.scaled_dot_product_attention(x, x, x)

    compiled = supple.compile(program, backend="native", dynamic=True, options={"check": check})
    with config.patch(suppress_errors=False):
        compiled(torch.ones(2, 3, 4), 1.5, 5)
    assert texts
    called = set[str]().union(*map(strangers, texts))
    assert {"log", "max", "float_bits"} <= called <= RESERVED


@pytest.mark.parametrize(
    "name", ["log", "p_l_x", "n_0", "kernel0_add", "run", "inputs", "torch", "float_bits"]
)
def test_an_operator_of_the_program_may_have_any_name(name: str) -> None:
    library = torch.library.Library("supple_names", "DEF")
    library.define(f"{name}(Tensor x) -> Tensor")
    library.impl(name, lambda x: x.sin(), "CPU")
    library.impl(name, torch.empty_like, "Meta")
    operator = getattr(torch.ops.supple_names, name).default

    def program(x: torch.Tensor, s: float) -> object:
        y = operator(x)
        return y + 1, y, (x * math.log(s)).sum(0), x.new_ones(max(x.shape[0], 2)) + 1

    compiled = supple.compile(program, backend="native", dynamic=True)
    with config.patch(suppress_errors=False):
        for rows in (3, 0, 1):
            x = torch.ones(rows, 4)
            torch.testing.assert_close(compiled(x, 2.5), program(x, 2.5))
