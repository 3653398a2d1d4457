"""Process and thread state is guarded: a call under other state gives the eager result."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
import torch

import supple
from tests.guards.change import settled


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


@contextmanager
def default_device(device: str) -> Iterator[None]:
    torch.set_default_device(device)
    try:
        yield
    finally:
        torch.set_default_device(None)


STATES: dict[str, tuple[Callable[[], AbstractContextManager[object]], str]] = {
    "no_grad": (torch.no_grad, "grad mode was True, is False"),
    "inference_mode": (torch.inference_mode, "inference mode was False, is True"),
    "autocast": (lambda: torch.autocast("cpu", torch.bfloat16), "autocast"),
    "default_dtype": (
        lambda: default_dtype(torch.float64),
        "default dtype was torch.float32, is torch.float64",
    ),
    "deterministic": (deterministic, "deterministic"),
}


def program(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x @ w + torch.ones(2)


@pytest.mark.parametrize("name", sorted(STATES))
def test_other_state_is_noticed(name: str) -> None:
    state, reason = STATES[name]
    x, w = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)
    pair = settled(program, x, w)
    if name == "default_dtype":
        # Eager does not multiply by ones of another dtype; adding them is what changes.
        pair = settled(lambda x: x + torch.ones(2), x)
        with state():
            assert reason in pair.agree_anew(x)
        pair.agree_again(x)
        return
    with state():
        assert reason in pair.agree_anew(x, w)
        pair.agree_again(x, w)
    pair.agree_again(x, w)


def test_another_autocast_dtype_is_noticed() -> None:
    x, w = torch.ones(2, 2), torch.ones(2, 2)
    with torch.autocast("cpu", torch.bfloat16):
        pair = settled(program, x, w)
    with torch.autocast("cpu", torch.float16):
        pair.agree_anew(x, w)


def test_the_state_of_this_thread_counts() -> None:
    x, w = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)
    with torch.no_grad():
        pair = settled(program, x, w)
        assert not pair.compiled(x, w).requires_grad  # type: ignore[union-attr]
    assert pair.compiled(x, w).requires_grad  # type: ignore[union-attr]


def test_the_thread_count_is_noticed_where_the_program_asks() -> None:
    pair = settled(lambda x: x + torch.get_num_threads(), torch.ones(2))
    before = torch.get_num_threads()
    torch.set_num_threads(before + 1)
    try:
        pair.agree_anew(torch.ones(2))
    finally:
        torch.set_num_threads(before)
    pair.agree_again(torch.ones(2))


def unnamed_block(x: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu"):
        return x @ x


def entered_by_hand(x: torch.Tensor) -> torch.Tensor:
    torch.set_autocast_enabled("cpu", True)
    try:
        return x @ x
    finally:
        torch.set_autocast_enabled("cpu", False)


def behind_a_break_in_a_block(x: torch.Tensor) -> object:
    with torch.autocast("cuda", enabled=False):
        supple.graph_break()
        y = x @ x
    return y, torch.get_autocast_dtype("cpu")


def told(x: torch.Tensor) -> object:
    return x + 1, torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled()


def raised_in_a_graph(x: torch.Tensor) -> object:
    try:
        x[x.long() + 10] = 1
    except IndexError:
        pass
    return x + 1


def asks_anomaly(x: torch.Tensor) -> object:
    return x + torch.is_anomaly_enabled()


def asks_cudnn(x: torch.Tensor) -> object:
    return x + torch.backends.cudnn.enabled


@contextmanager
def autocast_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_autocast_dtype("cpu")
    torch.set_autocast_dtype("cpu", dtype)
    try:
        yield
        assert torch.get_autocast_dtype("cpu") is dtype
    finally:
        torch.set_autocast_dtype("cpu", before)


@contextmanager
def without_cache() -> Iterator[None]:
    torch.set_autocast_cache_enabled(False)
    try:
        yield
        assert not torch.is_autocast_cache_enabled()
    finally:
        torch.set_autocast_cache_enabled(True)


ON_REQUEST: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "autocast dtype": lambda: autocast_dtype(torch.float16),
    "autocast cache": without_cache,
    "anomaly": lambda: torch.autograd.set_detect_anomaly(True),
    "cudnn": lambda: torch.backends.cudnn.flags(enabled=False),
}
ASKS = (
    *(unnamed_block, entered_by_hand, behind_a_break_in_a_block, told, raised_in_a_graph, asks_anomaly),
    asks_cudnn,
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("name", ON_REQUEST)
@pytest.mark.parametrize("function", ASKS, ids=lambda one: one.__name__)
def test_state_that_matters_to_few_programs_is_noticed_by_those(
    function: Callable[[torch.Tensor], object], name: str, backend: str
) -> None:
    def result(run: Callable[[torch.Tensor], object]) -> object:
        found = run(torch.ones(2, 2))
        parts = found if isinstance(found, tuple) else (found,)
        return [(one.dtype, one.tolist()) if isinstance(one, torch.Tensor) else one for one in parts]

    compiled = supple.compile(function, backend=backend)
    for _ in range(2):
        assert result(compiled) == result(function)
        with ON_REQUEST[name]():
            assert result(compiled) == result(function)


def test_the_default_of_autocast_does_not_matter_to_others() -> None:
    compiled = supple.compile(lambda x: x + 1, backend="eager")
    compiled(torch.ones(2))
    before = supple.stats()["compilations"]
    with autocast_dtype(torch.float16):
        compiled(torch.ones(2))
    assert supple.stats()["compilations"] == before


@contextmanager
def flushed(is_flushed: bool) -> Iterator[None]:
    torch.set_flush_denormal(is_flushed)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


TINY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "factor": lambda x: x * 1e-40,
    "summand": lambda x: x + 1e-40,
    "branch": lambda x: torch.where(x > 1, x, 1e-40),
    "filled": lambda x: torch.full((3,), 1e-40),
    "filled in place": lambda x: x.clone().fill_(1e-40),
    "a tensor": lambda x: x + torch.tensor(1e-40),
    "a bound": lambda x: x.clamp(min=1e-41),
    "a threshold": lambda x: torch.nn.functional.threshold(x, 1.0, 1e-40),
    "compared": lambda x: x > 1e-40,
    "padding": lambda x: torch.nn.functional.pad(x, (1, 1), value=1e-40),
    "masked": lambda x: x.masked_fill(x > 1, 1e-40),
    "alpha": lambda x: torch.add(x, x, alpha=1e-40),
    "of bfloat16": lambda x: x.bfloat16() * 1e-40,
    "of float16": lambda x: x.half() * 1e-6,
    "of float64": lambda x: x.double() * 1e-310,
    "computed": lambda x: x.double() * (1e-300 * 1e-10),
    "divisor": lambda x: x / 1e39,
    "epsilon": lambda x: x / (x.abs() + 1e-40),
    "scattered": lambda x: x.scatter(0, torch.tensor([1]), 1e-40),
}
"""Programs with constants, or values on the way, that are denormal numbers."""


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("is_flushed", [True, False])
@pytest.mark.parametrize("name", TINY)
def test_constants_are_flushed_to_zero_as_the_caller_says(name: str, is_flushed: bool, backend: str) -> None:
    program, x = TINY[name], torch.arange(4.0)
    compiled = supple.compile(program, backend=backend)
    for mode in (is_flushed, not is_flushed, is_flushed):
        with flushed(mode):
            want, got = program(x), compiled(x)
        assert want.view(torch.uint8).tolist() == got.view(torch.uint8).tolist(), mode


@contextmanager
def digits(limit: int) -> Iterator[None]:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(limit)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)


LARGE, WRITTEN = 10**1000, "7" * 1000
TEXTS: dict[str, Callable[[torch.Tensor], object]] = {
    "str": lambda x: str(LARGE),
    "repr of a list": lambda x: repr([LARGE]),
    "repr of a dict": lambda x: repr({1: LARGE}),
    "format": lambda x: format(LARGE, ","),
    "an f-string": lambda x: f"{LARGE}",
    "%": lambda x: "%d" % LARGE,  # noqa: UP031
    "a sum": lambda x: str(LARGE + x.shape[0]),
    "read": lambda x: int(WRITTEN) % 7,
    "read from bytes": lambda x: int(WRITTEN.encode()) % 7,
    "read in base 10": lambda x: int(WRITTEN, 10) % 7,
    "read in base 16": lambda x: int(WRITTEN, 16) % 7,
    "hex": lambda x: hex(LARGE),
}


@pytest.mark.parametrize("text", TEXTS)
def test_the_limit_on_digits_counts(text: str) -> None:
    def program(x: torch.Tensor) -> tuple[torch.Tensor, object]:
        try:
            return x + 1, TEXTS[text](x)
        except ValueError as error:
            return x, str(error)

    compiled = supple.compile(program, backend="eager")
    for limit in (4300, 700, 0, 4300):
        with digits(limit):
            assert compiled(torch.ones(2))[1] == program(torch.ones(2))[1], limit
