"""A part of `make mutate` that fits into every test run, and that the generator finds what it is for."""

import signal
from collections import Counter
from collections.abc import Iterator

import pytest
import torch

from tests.mutation.mutations import MUTATORS
from tests.mutation.running import Finding, Session, findings, stop
from tests.mutation.worlds import Program, programs

pytestmark = pytest.mark.sweep

EVERY = 47
"""Of the pairs of everyday programs, one in so many is run here."""
PROGRAMS = list(programs(("everyday",)))


@pytest.fixture(autouse=True, scope="module")
def _one_thread_and_an_alarm() -> Iterator[None]:
    before, threads = signal.signal(signal.SIGVTALRM, stop), torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    signal.signal(signal.SIGVTALRM, before)
    torch.set_num_threads(threads)


def found_in(program: Program, every: int = 1, first: int = 0) -> tuple[list[Finding], Counter[str]]:
    session = Session(program)
    found = list(findings(session, session.mutations()[first::every], lambda: False))
    return found, session.counts


@pytest.mark.parametrize("number", range(len(PROGRAMS)), ids=[one.name for one in PROGRAMS])
def test_a_change_between_two_calls_is_noticed(number: int) -> None:
    found, _ = found_in(PROGRAMS[number], EVERY, number % EVERY)
    assert not found, "\n".join(map(str, found))


def test_each_mutator_finds_places() -> None:
    kinds: Counter[str] = Counter()
    for one in PROGRAMS[::4]:
        kinds.update(mutation.mutator for mutation in Session(one).mutations())
    assert kinds.keys() == MUTATORS.keys()


def test_mutations_come_in_a_fixed_order() -> None:
    orders = [list(map(str, Session(PROGRAMS[0]).mutations())) for _ in range(2)]
    assert orders[0] == orders[1]
