"""Whatever goes wrong in the compiler, the user's program runs; its own exceptions are as in eager."""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import torch

import supple
from supple.capture.breaks import ESCAPED
from supple.capture.dispatch import must_raise
from supple.errors import BackendCompilerFailed, Unsupported


def failing(gm: torch.fx.GraphModule, inputs: Sequence[object]) -> Callable[..., object]:
    msg = "the backend is broken"
    raise LookupError(msg)


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@pytest.fixture
def suppressed() -> Iterator[None]:
    with supple.config.patch(suppress_errors=True):
        yield


@pytest.mark.usefixtures("suppressed")
def test_a_failure_of_the_compiler_leaves_the_result(caplog: pytest.LogCaptureFixture) -> None:
    compiled = supple.compile(doubled, backend=failing)
    with caplog.at_level(logging.WARNING, logger="supple"):
        for _ in range(3):
            assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 2.0))
    [message] = caplog.messages
    assert "LookupError: the backend is broken" in message
    assert supple.stats()["compilations"] == 1


@pytest.mark.usefixtures("suppressed")
def test_a_failure_leaves_a_note(caplog: pytest.LogCaptureFixture) -> None:
    compiled = supple.compile(doubled, backend=failing)
    with caplog.at_level(logging.WARNING, logger="supple"):
        compiled(torch.ones(3))
    found = re.search(r"with (\S+\.txt)\.", caplog.messages[0])
    assert found is not None
    path = Path(found.group(1))
    text = path.read_text(encoding="utf-8")
    path.unlink()
    assert "function: doubled" in text
    assert "argument x: Tensor (3,) torch.float32 cpu" in text
    assert "LookupError: the backend is broken" in text
    assert torch.__version__ in text


@pytest.mark.usefixtures("suppressed")
def test_after_a_failure_other_arguments_are_tried() -> None:
    compiled = supple.compile(doubled, backend=failing)
    compiled(torch.ones(3))
    compiled(torch.ones(4))
    assert supple.stats()["compilations"] == 2


def test_a_failure_is_raised_under_fullgraph() -> None:
    with pytest.raises(BackendCompilerFailed, match="the backend is broken"):
        supple.compile(doubled, backend=failing, fullgraph=True)(torch.ones(3))


@pytest.mark.parametrize("suppress", [None, False])
def test_an_error_of_the_users_backend_is_raised(suppress: bool | None) -> None:
    compiled = supple.compile(doubled, backend=failing)
    with supple.config.patch(suppress_errors=suppress), pytest.raises(BackendCompilerFailed) as error:
        compiled(torch.ones(3))
    assert isinstance(error.value.inner_exception, LookupError)
    assert error.value.__cause__ is error.value.inner_exception
    assert "`failing` raised LookupError" in str(error.value)


class OwnError(Exception):
    pass


@pytest.mark.parametrize("fullgraph", [False, True])
def test_an_exception_of_the_program_is_unchanged(fullgraph: bool) -> None:
    def raises(x: torch.Tensor) -> torch.Tensor:
        msg = "mine"
        raise OwnError(msg)

    compiled = supple.compile(raises, fullgraph=fullgraph)
    for _ in range(2):
        with pytest.raises(OwnError, match="mine"):
            compiled(torch.ones(3))


def test_an_exception_of_an_operator_is_eagers() -> None:
    def adds(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y

    compiled = supple.compile(adds)
    with pytest.raises(RuntimeError, match="must match the size"):
        compiled(torch.ones(3), torch.ones(4))


def test_arguments_that_do_not_fit_raise_what_the_function_raises() -> None:
    compiled = supple.compile(doubled)
    for _ in range(2):
        with pytest.raises(TypeError, match=r"doubled\(\) missing 1 required positional argument: 'x'"):
            compiled()
        compiled(torch.ones(3))
    assert supple.stats()["compilations"] == 1


def test_a_type_error_of_the_program_does_not_run_it_twice() -> None:
    calls: list[int] = []

    @supple.disable
    def count() -> None:
        calls.append(1)
        msg = "once"
        raise TypeError(msg)

    def counts(x: torch.Tensor) -> None:
        count()

    compiled = supple.compile(counts)
    for _ in range(2):
        with pytest.raises(TypeError, match="once"):
            compiled(torch.ones(3))
    assert len(calls) == 2


def test_a_function_that_changes_each_time_is_not_compiled_for_ever(caplog: pytest.LogCaptureFixture) -> None:
    def scaled(x: torch.Tensor, n: int) -> torch.Tensor:
        return x * n

    compiled = supple.compile(scaled, backend="eager", dynamic=False, options={"recompile_limit": 2})
    with caplog.at_level(logging.WARNING, logger="supple"):
        for n in range(30):
            assert torch.equal(compiled(torch.ones(2), n), torch.full((2,), float(n)))
    assert supple.stats()["compilations"] == 2
    assert supple.stats()["entries"] == 2
    [message] = caplog.messages
    assert "hit the recompile_limit (2)" in message
    assert "L['n'] was" in message


def test_too_many_compilations_raise_under_fullgraph() -> None:
    def scaled(x: torch.Tensor, n: int) -> torch.Tensor:
        return x * n

    options = {"recompile_limit": 2}
    compiled = supple.compile(scaled, backend="eager", fullgraph=True, dynamic=False, options=options)
    for n in range(2):
        compiled(torch.ones(2), n)
    for _ in range(2):
        with pytest.raises(supple.errors.FailOnRecompileLimitHit, match=r"hit the recompile_limit \(2\)"):
            compiled(torch.ones(2), 8)


def test_an_exception_that_only_capture_saw_is_an_error_under_fullgraph() -> None:
    reason = Unsupported(ESCAPED, name="ValueError")
    with pytest.raises(Unsupported):
        must_raise(lambda x: x, reason)(1)
    with pytest.raises(ZeroDivisionError):
        must_raise(lambda x: x / 0, reason)(1)


def test_a_long_compilation_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("supple.capture.notes.LONG", 0.0)

    def unrolled(x: torch.Tensor) -> torch.Tensor:
        for _ in range(20):
            x = x.sin()
        return x

    compiled = supple.compile(unrolled, backend="eager")
    compiled(torch.ones(2))
    compiled(torch.ones(2, 2))
    said = [record.getMessage() for record in caplog.records if "to compile" in record.getMessage()]
    assert len(said) == 1
    assert "unrolled took 0 seconds" in said[0]
    assert __file__ in said[0]
