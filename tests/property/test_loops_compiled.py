"""Random nests: compiled == interpreted, on one thread and two, for each width of vectors."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from supple.codegen.cpu.target import host_target
from supple.ir.loops.nodes import Nest
from supple.ir.loops.spec import check
from supple.ir.loops.text import parse, text
from supple.ir.program import Target
from tests.property.loop_nests import memory, nests, with_sizes
from tests.unit.codegen.cpu.kernels import run_compiled, run_interpreted

WIDTHS = [width for width in (64, 32, 16) if width <= host_target().vector_bytes]


def assert_compiled_is_interpreted(nest: Nest, seed: int, target: Target) -> None:
    check(nest)
    expected, got = memory(nest, seed), memory(nest, seed)
    run_interpreted(nest, expected, {})
    run_compiled(nest, got, {}, target)
    for name, tensor in expected.items():
        assert torch.equal(tensor, got[name]), f"{name}: {tensor} != {got[name]}\n{text(nest)}"


@given(nests(), st.integers(0, 9))
def test_compiled_is_interpreted(nest: Nest, seed: int) -> None:
    assert_compiled_is_interpreted(nest, seed, host_target())


@given(nests(), st.integers(0, 9))
def test_compiled_on_threads_is_interpreted(nest: Nest, seed: int) -> None:
    assert_compiled_is_interpreted(nest, seed, replace(host_target(), parallel_work=0))


@pytest.mark.parametrize("width", WIDTHS)
@given(nest=nests(), seed=st.integers(0, 9))
def test_compiled_for_a_width_is_interpreted(width: int, nest: Nest, seed: int) -> None:
    assert_compiled_is_interpreted(nest, seed, Target(vector_bytes=width))


@given(nests(), st.integers(0, 9))
def test_sizes_may_be_known_late(nest: Nest, seed: int) -> None:
    unknown, sizes = with_sizes(nest)
    check(unknown)
    expected, got = memory(nest, seed), memory(nest, seed)
    run_interpreted(nest, expected, {})
    run_compiled(unknown, got, sizes, replace(host_target(), parallel_work=100))
    for name, tensor in expected.items():
        assert torch.equal(tensor, got[name]), f"{name}: {tensor} != {got[name]}\n{text(unknown)}"


@given(nests())
def test_parse_inverts_text(nest: Nest) -> None:
    assert parse(text(nest)) == nest
    unknown, _ = with_sizes(nest)
    assert parse(text(unknown)) == unknown
