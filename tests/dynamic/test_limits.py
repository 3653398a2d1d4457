"""How often a function is compiled: limits, what happens at them, and errors instead of compilations."""

import logging
from collections.abc import Callable

import pytest
import torch

import supple
from supple.errors import FailOnRecompileLimitHit, RecompileError
from supple.testing import assert_compiles

Compiled = Callable[..., torch.Tensor]


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * x.size()[0]


def static(limit: int | None = None, *, fullgraph: bool = False) -> Compiled:
    options = {} if limit is None else {"recompile_limit": limit}

    def f(x: torch.Tensor) -> torch.Tensor:
        return x * x.size()[0]

    return supple.compile(f, backend="eager", dynamic=False, fullgraph=fullgraph, options=options)


def check(compiled: Compiled, *sizes: int) -> None:
    for size in sizes:
        x = torch.ones(size)
        assert torch.equal(compiled(x), x * size)


@pytest.fixture
def warned(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.WARNING, logger="supple")
    return caplog


def test_at_the_limit_a_function_runs_eager_and_says_so(warned: pytest.LogCaptureFixture) -> None:  # REC04
    with assert_compiles(2):
        check(static(2), 2, 3, 4, 5, 6, 7)
    [message] = warned.messages
    assert "hit the recompile_limit (2)" in message
    assert "size mismatch at index 0. expected 3, actual 4" in message


def test_what_is_compiled_still_serves_at_the_limit() -> None:  # REC04
    compiled = static(2)
    check(compiled, 2, 3, 4)
    assert supple.stats()["entries"] == 2
    with supple.set_stance("fail_on_recompile"):
        check(compiled, 2, 3)


def test_the_limit_is_eight_by_default() -> None:  # REC04
    with assert_compiles(8):
        check(static(), *range(2, 14))


def test_the_configuration_has_the_limit_where_the_options_say_nothing() -> None:  # REC04
    with supple.config.patch(recompile_limit=3), assert_compiles(3 + 2):
        check(static(), *range(2, 10))
        check(static(2), *range(2, 10))


def test_each_compiled_object_has_its_own_entries_and_limit() -> None:  # X-API07
    with assert_compiles(4):
        for _ in range(2):
            check(
                supple.compile(scaled, backend="eager", dynamic=False, options={"recompile_limit": 2}),
                2,
                3,
                4,
            )


def test_the_limit_is_an_argument() -> None:  # X-API06, X-API07
    with assert_compiles(4):
        for _ in range(2):
            compiled = supple.compile(
                scaled, backend="eager", dynamic=False, recompile_limit=2, isolate_recompiles=True
            )
            check(compiled, 2, 3, 4)


def test_the_limit_of_one_code_object_counts_all_entries(warned: pytest.LogCaptureFixture) -> None:  # X-CTL08
    with supple.config.patch(accumulated_recompile_limit=3), assert_compiles(3):
        all_compiled = [supple.compile(scaled, backend="eager", dynamic=False) for _ in range(3)]
        for compiled in all_compiled:
            check(compiled, 2, 3)
    assert "hit the accumulated_recompile_limit (3)" in warned.messages[0]


class Scale(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight.sum()


def test_at_the_limit_what_varied_becomes_dynamic(warned: pytest.LogCaptureFixture) -> None:  # REC04
    module = Scale()
    compiled = supple.compile(module, backend="eager", options={"recompile_limit": 3})
    with assert_compiles(4):
        for size in range(2, 10):
            module.weight = torch.nn.Parameter(torch.ones(size))
            assert torch.equal(compiled(torch.ones(2)), torch.full((2,), float(size)))
    assert warned.messages == []


def test_what_no_size_explains_is_not_widened(warned: pytest.LogCaptureFixture) -> None:  # REC04
    compiled = supple.compile(lambda x, name: x + len(name), backend="eager", options={"recompile_limit": 2})
    with assert_compiles(2):
        for name in ("a", "bb", "ccc", "dddd"):
            assert torch.equal(compiled(torch.ones(2), name), torch.full((2,), 1.0 + len(name)))
    assert len(warned.messages) == 1


@pytest.mark.parametrize("how", ["fullgraph", "config"])
def test_the_limit_is_an_error_where_eager_is_not_allowed(how: str) -> None:  # X-API06, X-CTL07
    compiled = static(2, fullgraph=how == "fullgraph")
    with supple.config.patch(fail_on_recompile_limit_hit=how == "config"):
        check(compiled, 2, 3)
        for _ in range(2):
            with pytest.raises(FailOnRecompileLimitHit, match=r"recompile_limit \(2\)"):
                compiled(torch.ones(4))
        check(compiled, 2, 3)


def test_recompilations_may_be_errors() -> None:  # X-CTL07
    compiled = static()
    with supple.config.patch(error_on_recompile=True):
        check(compiled, 2, 2)
        with pytest.raises(RecompileError, match=r"`config.error_on_recompile` forbids it") as raised:
            compiled(torch.ones(3))
    assert "expected 2, actual 3" in str(raised.value)
    check(compiled, 3)


def test_reset_forgets_the_limit() -> None:
    compiled = static(1)
    check(compiled, 2, 3)
    supple.reset()
    with assert_compiles(1):
        check(compiled, 3)
