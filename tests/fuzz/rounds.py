"""What the fuzzer does with each program that it draws: how it is compiled, and its verdict."""

import gc
import logging
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn

import torch
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from supple.base.config import config
from tests.fuzz.drawing import INDEPENDENT
from tests.fuzz.programs import drawn
from tests.fuzz.running import Difference, Endless, Verdict, verdict

ROUND: Final = 100
"""Programs that are drawn at once."""
SECONDS: Final = 60.0
"""A program that takes longer is taken for endless."""
BACKENDS: Final = ("eager", "native")

Options = tuple[str, int, bool | None]
"""A backend, the instruction before which there is a break, and whether sizes are dynamic."""


def options(backends: tuple[str, ...]) -> st.SearchStrategy[Options]:
    """Return a strategy for how programs are compiled."""
    breaks = st.just(0) | st.integers(1, 200)
    return st.tuples(st.sampled_from(backends), breaks, st.sampled_from([None, True]))


def judged(source: str, chosen: Options) -> Verdict:
    """Return what comes of a program; one that cannot be run at all is a failure too."""
    backend, break_at, dynamic = chosen
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        return verdict(source, backend, break_at=break_at, dynamic=dynamic)
    except Exception as error:  # a program that cannot be run is a fault of the generator
        found = Difference(traceback.format_exc(), f"{type(error).__name__} outside of the program")
        return Verdict(found, 0, 0)
    except Endless:
        return Verdict(Difference(traceback.format_exc(), "endless"), 0, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _stop(*_: object) -> NoReturn:
    """Raise what no program catches."""
    raise Endless


@contextmanager
def quiet() -> Iterator[None]:
    """Run programs in the block: alone on a core, without words, and without what others were called with."""
    logging.disable(logging.CRITICAL)
    signal.signal(signal.SIGALRM, _stop)
    torch.set_num_threads(1)
    gc.collect()
    gc.freeze()
    with config.patch(profile="0"):
        yield


def one_round(
    number: int,
    groups: tuple[str, ...],
    backends: tuple[str, ...],
    act: Callable[[str, str, Options], None],
    *,
    known: bool = False,
) -> None:
    """Draw the programs of a round; `act` gets the group, the source and the options of each."""

    @seed(number)
    @settings(
        max_examples=ROUND,
        deadline=None,
        database=None,
        backend=INDEPENDENT,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(drawn(groups, known=known), options(backends))
    def run(program: Any, how: Options) -> None:
        act(*program, how)

    run()
    gc.freeze()
