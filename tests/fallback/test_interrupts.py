"""What the program's own signal handlers raise leaves a compiled call as it leaves a plain one."""

import functools
import signal
from collections.abc import Callable, Iterator

import pytest
import torch

import supple
from supple.base.interrupts import is_interrupt


class TimeLimit(Exception):
    pass


def give_up(*_: object) -> None:
    msg = "the time is over"
    raise TimeLimit(msg)


class Limit:
    def method(self, *_: object) -> None:
        give_up()

    def __call__(self, *_: object) -> None:
        give_up()


HANDLERS: dict[str, Callable[..., None]] = {
    "function": give_up,
    "method": Limit().method,
    "partial": functools.partial(give_up),
    "object": Limit(),
}


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    before = signal.getsignal(signal.SIGUSR1)
    yield
    signal.signal(signal.SIGUSR1, before)


STAGES = (
    "supple.capture.compilation.capture",
    "supple.capture.interp.frame.Frame.run",
    "supple.autograd.split.trace",
    "supple.schedule.schedule.fuse",
    "supple.codegen.backend.emit_nest",
    "supple.native.load",
)


@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("stage", STAGES)
def test_a_time_limit_ends_a_compilation(stage: str, handler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    signal.signal(signal.SIGUSR1, HANDLERS[handler])
    module, _, name = stage.rpartition(".")
    if module.endswith("Frame"):
        module, _, owner = module.rpartition(".")
        target = getattr(__import__(module, fromlist=["x"]), owner)
    else:
        target = __import__(module, fromlist=["x"])
    before = getattr(target, name)

    def interrupted(*args: object, **kwargs: object) -> object:
        signal.raise_signal(signal.SIGUSR1)
        return before(*args, **kwargs)

    compiled = supple.compile(lambda x: x.softmax(0) + 1)
    with monkeypatch.context() as patch:
        patch.setattr(target, name, interrupted)
        with pytest.raises(TimeLimit, match="the time is over"):
            compiled(torch.ones(4))
    torch.testing.assert_close(compiled(torch.ones(4)), torch.ones(4).softmax(0) + 1)
    assert supple.stats()["graphs"] == 1 + (stage in STAGES[2:])


def test_an_error_of_the_compiler_is_no_interrupt() -> None:
    signal.signal(signal.SIGUSR1, give_up)
    with pytest.raises(ValueError, match="no number") as error:
        int("no number")
    assert not is_interrupt(error.value)


def test_a_handler_that_is_called_by_the_program_is_one_of_its_functions() -> None:
    signal.signal(signal.SIGUSR1, give_up)
    with pytest.raises(TimeLimit):
        supple.compile(lambda x: (x + 1, give_up()))(torch.ones(2))
