"""`error_on_graph_break`: around calls of compiled functions, and in compiled code."""

import traceback
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import supple
from supple.base.config import REGION
from supple.errors import Unsupported

X = torch.ones(3)


def breaks(x: Tensor) -> Tensor:
    y = x * 2
    supple.graph_break()
    return y + 1


def strict_block(x: Tensor) -> Tensor:
    with supple.error_on_graph_break():
        return breaks(x)


@supple.error_on_graph_break()
def strict(x: Tensor) -> Tensor:
    return breaks(x)


@supple.error_on_graph_break(False)
def lenient(x: Tensor) -> Tensor:
    y = breaks(x)
    supple.graph_break()
    return y * 3


def calls_strict(x: Tensor) -> Tensor:
    return strict(x + 1)


def calls_lenient(x: Tensor) -> Tensor:
    return lenient(x + 1) - 1


def lenient_in_strict(x: Tensor) -> Tensor:
    with supple.error_on_graph_break():
        y = x + 1
        with supple.error_on_graph_break(False):
            y = breaks(y)
        return y * 2


def strict_behind_lenient(x: Tensor) -> Tensor:
    with supple.error_on_graph_break():
        y = lenient(x)
        supple.graph_break()
    return y


def breaks_behind_strict(x: Tensor) -> Tensor:
    with supple.error_on_graph_break():
        y = x * 2
    supple.graph_break()
    return y + 1


def compiled(function: Callable[[Tensor], Tensor], fullgraph: bool = False) -> Callable[[Tensor], Tensor]:
    return supple.compile(function, backend="eager", fullgraph=fullgraph)


@pytest.mark.parametrize("function", [strict_block, strict, calls_strict, strict_behind_lenient])
def test_a_break_in_a_strict_region_raises(function: Callable[[Tensor], Tensor]) -> None:  # X-CTL05
    made = compiled(function)
    for _ in range(2):
        with pytest.raises(Unsupported, match="B118"):
            made(X)
        assert REGION.get() is None


@pytest.mark.parametrize("function", [lenient, calls_lenient, lenient_in_strict, breaks_behind_strict])
def test_a_break_elsewhere_does_not_raise(function: Callable[[Tensor], Tensor]) -> None:  # X-CTL05
    made = compiled(function)
    for _ in range(2):
        assert torch.equal(made(X), function(X))
    assert supple.stats()["fallbacks"] == 0
    assert supple.stats()["breaks"]


def test_a_lenient_region_goes_before_the_configuration() -> None:  # X-CTL05
    with supple.config.patch(error_on_graph_break=True):
        assert torch.equal(compiled(calls_lenient)(X), calls_lenient(X))
        with pytest.raises(Unsupported, match="B118"):
            compiled(breaks)(X)


def test_a_region_around_the_call_counts_behind_breaks_too() -> None:  # X-CTL05
    def f(x: Tensor) -> Tensor:
        with supple.error_on_graph_break(False):
            y = breaks(x)
        return breaks(y)

    with supple.error_on_graph_break(), pytest.raises(Unsupported, match="B118"):
        compiled(f)(X)


def test_fullgraph_cannot_be_relaxed() -> None:  # X-CTL05
    for function in (lenient, calls_lenient):
        with pytest.raises(Unsupported, match="B118"):
            compiled(function, fullgraph=True)(X)


def test_a_strict_region_without_breaks_is_one_graph() -> None:
    def f(x: Tensor) -> Tensor:
        with supple.error_on_graph_break():
            return x * 2 + 1

    assert torch.equal(compiled(f, fullgraph=True)(X), X * 2 + 1)
    assert supple.stats()["graphs"] == 1


def test_regions_do_nothing_in_plain_calls() -> None:
    assert torch.equal(calls_strict(X), (X + 1) * 2 + 1)
    assert torch.equal(lenient_in_strict(X), ((X + 1) * 2 + 1) * 2)


@pytest.mark.parametrize("is_verbose", [True, False])
def test_an_error_shows_the_stack_of_the_compiler_where_asked(is_verbose: bool) -> None:  # LOG14, GB11
    with supple.config.patch(verbose=is_verbose), pytest.raises(Unsupported) as caught:
        compiled(breaks, fullgraph=True)(X)
    text = "".join(traceback.format_exception(caught.value))
    assert "test_error_regions.py" in str(caught.value)
    assert ("capture/interp/engine.py" in text) == is_verbose


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("stance", ["error_on_graph_break", "fail_on_recompile"])
def test_an_error_behind_a_break_is_raised_in_the_frame(depth: int, stance: str) -> None:
    seen: list[str] = []

    def deep(x: Tensor) -> Tensor:
        kept = [seen]
        try:
            supple.graph_break()
            if stance == "error_on_graph_break":
                with supple.error_on_graph_break():
                    supple.graph_break()
            return x + 1
        except (Unsupported, supple.errors.RecompileError):
            kept[0].append("handled")
            raise
        finally:
            seen.append("left")

    def f(x: Tensor) -> Tensor:
        try:
            return deep(x * 2) if depth else x
        finally:
            seen.append("done")

    made = compiled(f if depth else deep)
    if stance == "fail_on_recompile":
        assert torch.equal(made(X), X * 2 + 1 if depth else X + 1)
        seen.clear()
        with supple.set_stance("fail_on_recompile"), pytest.raises(supple.errors.RecompileError):
            made(torch.ones(4))
        assert seen in ([], ["handled", "left"] + ["done"] * depth)
        return
    with pytest.raises(Unsupported, match="B118") as caught:
        made(X)
    assert caught.value.__context__ is None
    assert seen == ["handled", "left"] + ["done"] * depth
