"""Stances: what a call may do besides running compiled code; frozen functions."""

import threading
from collections.abc import Callable, Iterator

import pytest
import torch

import supple
from supple.errors import OptionsError, RecompileError, UserError
from supple.testing import assert_compiles


@pytest.fixture(autouse=True)
def default_stance() -> Iterator[None]:
    yield
    supple.set_stance("default")


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * x.size()[0]


def check(compiled: Callable[[torch.Tensor], torch.Tensor], size: int) -> None:
    x = torch.ones(size)
    assert torch.equal(compiled(x), x * size)


def graphs_for(compiled: Callable[[torch.Tensor], torch.Tensor], *sizes: int) -> list[int]:
    """Return how many graphs there are after each call."""
    counts: list[int] = []
    for size in sizes:
        check(compiled, size)
        counts.append(int(str(supple.stats()["graphs"])))
    return counts


def test_eager_then_compile_learns_from_the_first_call() -> None:  # ANN17, X-CTL01
    supple.set_stance("eager_then_compile")
    assert graphs_for(supple.compile(scaled, backend="eager"), 10, 20, 30) == [0, 1, 1]


def test_eager_then_compile_learns_numbers_and_containers() -> None:  # ANN17
    @supple.compile(backend="eager")
    def f(xs: dict[str, list[torch.Tensor]], n: int) -> torch.Tensor:
        return xs["a"][0] * n

    with supple.set_stance("eager_then_compile"), assert_compiles(1):
        for n in (3, 4, 5):
            assert torch.equal(f({"a": [torch.ones(n)]}, n), torch.ones(n) * n)


def test_the_first_call_may_run_its_graph() -> None:  # X-CTL01
    compiled = supple.compile(scaled, backend="native")
    with supple.set_stance("aot_eager_then_compile"):
        assert graphs_for(compiled, 10, 20, 30) == [1, 2, 2]


def test_force_eager_ignores_what_is_compiled() -> None:  # X-CTL01
    seen: list[bool] = []

    @supple.compile(backend="eager")
    def f(x: torch.Tensor) -> torch.Tensor:
        seen.append(supple.is_compiling())
        return x + 1

    f(torch.ones(2))
    with supple.set_stance("force_eager"), assert_compiles(0):
        f(torch.ones(2))
        f(torch.ones(3))
    assert seen == [True, False, False]


def test_eager_on_recompile_uses_what_is_there() -> None:  # X-CTL01
    compiled = supple.compile(scaled, backend="eager")
    check(compiled, 3)
    with supple.set_stance("eager_on_recompile"), assert_compiles(0):
        for size in (3, 4, 5):
            check(compiled, size)
        check(supple.compile(scaled), 3)


def test_fail_on_recompile_names_the_guard() -> None:  # X-CTL01
    compiled: Callable[..., torch.Tensor] = supple.compile(scaled, backend="eager")
    check(compiled, 3)
    with supple.set_stance("fail_on_recompile"):
        check(compiled, 3)
        with pytest.raises(RuntimeError, match=r"size mismatch at index 0\. expected 3, actual 4") as raised:
            compiled(torch.ones(4))
        with pytest.raises(TypeError):
            compiled()
    assert isinstance(raised.value, RecompileError)
    assert "supple.mark_dynamic(x, 0)" in str(raised.value)
    check(compiled, 4)


def test_fail_on_recompile_fails_on_the_first_call() -> None:  # X-CTL02
    with supple.set_stance("fail_on_recompile"), pytest.raises(RuntimeError, match="first compilation"):
        supple.compile(scaled)(torch.ones(3))


def test_a_stance_is_a_call_a_decorator_and_a_block() -> None:  # X-CTL01
    compiled = supple.compile(scaled, backend="eager")

    @supple.set_stance("force_eager")
    def eager(size: int) -> None:
        """Run eager."""
        check(compiled, size)

    assert eager.__doc__ == "Run eager."
    with assert_compiles(0):
        eager(3)
        with supple.set_stance("force_eager"):
            check(compiled, 3)
            with supple.set_stance("default"), assert_compiles(0):
                pass
    with assert_compiles(1):
        check(compiled, 3)
    supple.set_stance("force_eager")
    with assert_compiles(0):
        check(compiled, 4)
        with supple.set_stance("eager_on_recompile"):
            check(compiled, 5)
        check(compiled, 6)
    supple.set_stance("default")
    with assert_compiles(1):
        check(compiled, 7)


def test_the_inner_block_counts() -> None:  # X-CTL01
    compiled = supple.compile(scaled, backend="eager")
    with supple.set_stance("force_eager"):
        with supple.set_stance("default"), assert_compiles(1):
            check(compiled, 3)
        with assert_compiles(0):
            check(compiled, 4)


def test_a_block_ends_where_it_raises() -> None:
    with pytest.raises(ZeroDivisionError), supple.set_stance("force_eager"):
        raise ZeroDivisionError
    with assert_compiles(1):
        check(supple.compile(scaled, backend="eager"), 3)


def test_a_block_is_of_its_thread() -> None:
    compiled = supple.compile(scaled, backend="eager")
    with supple.set_stance("force_eager"), assert_compiles(1):
        thread = threading.Thread(target=check, args=(compiled, 3))
        thread.start()
        thread.join()


def test_an_unknown_stance_is_refused_at_once() -> None:  # X-CTL01
    with pytest.raises(OptionsError, match="unknown stance 'eagre'; the stances are default, force_eager"):
        supple.set_stance("eagre")
    with pytest.raises(OptionsError, match="`force_backend` goes with the stance 'default'"):
        supple.set_stance("force_eager", force_backend="eager")


def test_a_stance_in_compiled_code_is_an_error() -> None:  # X-CTL01
    @supple.compile
    def f(x: torch.Tensor) -> torch.Tensor:
        with supple.set_stance("force_eager"):
            return x + 1

    for _ in range(2):
        with pytest.raises(UserError, match=r"`supple\.set_stance` in compiled code") as raised:
            f(torch.ones(2))
        assert "test_stance.py" in str(raised.value)


def test_another_backend_has_its_own_entries() -> None:  # X-CTL01
    counter = supple.testing.CompileCounter()
    compiled = supple.compile(scaled, backend="eager", dynamic=False)
    check(compiled, 3)
    for _ in range(2):
        with supple.set_stance("default", force_backend=counter):
            check(compiled, 3)
    assert counter.graphs == 1
    with assert_compiles(0):
        check(compiled, 3)


def test_unsafe_checks_look_at_differences_alone() -> None:  # X-CTL03
    @supple.compile(backend="eager", dynamic=False)
    def f(x: torch.Tensor, name: str) -> torch.Tensor:
        return x + 1 if name == "plus" else x - 1

    x = torch.ones(3)
    f(x, "plus")
    with supple.set_stance(skip_guard_eval_unsafe=True), assert_compiles(0):
        assert torch.equal(f(x, "minus"), x + 1)
    f(x, "minus")
    with supple.set_stance(skip_guard_eval_unsafe=True), assert_compiles(0):
        assert torch.equal(f(torch.ones(4), "plus"), torch.full((4,), 2.0))
        assert torch.equal(f(torch.ones(4), "minus"), torch.zeros(4))


def test_a_frozen_function_makes_no_graphs() -> None:  # REC09, REC10
    compiled = supple.compile(scaled, backend="eager")
    frozen = supple.run(compiled)
    check(compiled, 10)
    with assert_compiles(0):
        for size in (10, 11, 12):
            check(frozen, size)
    check(compiled, 20)
    with assert_compiles(0):
        for size in range(100):
            check(frozen, size)


def test_a_frozen_module_makes_no_graphs() -> None:  # REC09
    net = torch.nn.Linear(3, 3)
    module = supple.compile(net, backend="eager")
    frozen = supple.run(module)
    x = torch.ones(2, 3)
    with assert_compiles(0):
        assert torch.equal(frozen(x), net(x))
    with assert_compiles(1):
        module(x)


def test_methods_and_modules_obey_too() -> None:  # X-CTL01
    module = supple.compile(torch.nn.Linear(3, 3), backend="eager")
    method = supple.compile(torch.nn.Linear(3, 3).forward, backend="eager")
    with supple.set_stance("force_eager"), assert_compiles(0):
        module(torch.ones(2, 3))
        method(torch.ones(2, 3))


def test_breaks_and_failures_may_be_errors() -> None:  # X-CTL05, X-CTL09
    def broken(gm: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., object]:
        raise ZeroDivisionError

    def breaks(x: torch.Tensor) -> torch.Tensor:
        supple.graph_break("it is asked to")
        return x + 1

    x = torch.ones(2)
    with supple.error_on_graph_break(), pytest.raises(supple.errors.Unsupported, match="B118"):
        supple.compile(breaks, backend="eager")(x)
    with pytest.raises(supple.errors.BackendCompilerFailed) as failed:
        supple.compile(scaled, backend=broken)(x)
    assert isinstance(failed.value.inner_exception, ZeroDivisionError)
    assert torch.equal(supple.compile(breaks, backend="eager")(x), x + 1)
    with supple.config.patch(suppress_errors=True):
        assert torch.equal(supple.compile(scaled, backend=broken)(x), scaled(x))


@pytest.mark.parametrize("is_verbose", [True, False])
def test_a_failure_is_told_with_both_stacks(
    is_verbose: bool, caplog: pytest.LogCaptureFixture
) -> None:  # LOG14
    def broken(gm: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., object]:
        raise ZeroDivisionError("of the backend")

    caplog.set_level("WARNING", logger="supple")
    with supple.config.patch(verbose=is_verbose, suppress_errors=True):
        supple.compile(scaled, backend=broken)(torch.ones(2))
    [message] = caplog.messages
    assert "in scaled" in message
    assert ("in broken" in message) == is_verbose
    assert ("\n" in message) == is_verbose


@pytest.mark.parametrize(("name", "graphs"), [("graph_break", 2), ("step_unsupported", 2), ("skip_frame", 0)])
def test_a_program_asks_for_breaks(name: str, graphs: int) -> None:  # X-CTL06
    ask = getattr(supple, name)

    @supple.compile(backend="eager")
    def f(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        ask("here")
        return y * 2

    with assert_compiles(graphs):
        for _ in range(2):
            assert torch.equal(f(torch.ones(2)), torch.full((2,), 4.0))
    assert "was called: here." in str(supple.stats()["reasons"])


def test_stances_hold_behind_a_break() -> None:  # X-CTL01, REC09
    @supple.compile(backend="eager")
    def f(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        supple.graph_break()
        return y * 2

    f(torch.ones(2))
    with supple.set_stance("fail_on_recompile"):
        f(torch.ones(2))
    f(torch.ones(3))
    with assert_compiles(0):
        for size in (2, 5, 7):
            assert torch.equal(supple.run(f)(torch.ones(size)), torch.full((size,), 4.0))
