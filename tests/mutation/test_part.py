"""A part of `make mutate` that fits into every test run, and that the generator finds what it is for."""

import signal
from collections import Counter
from collections.abc import Iterator

import pytest
import torch

from tests.mutation.mutations import MUTATORS
from tests.mutation.running import Finding, Session, findings, stop
from tests.mutation.worlds import Program, Side, programs

EVERY = 47
"""Of the pairs of everyday programs, one in so many is run here."""
PROGRAMS = list(programs(("everyday",)))
X = torch.ones(2)


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


def forgetful(x: torch.Tensor, n: float) -> torch.Tensor:
    """Return what depends on what no guard can see."""
    memory.setdefault("n", n)
    return x * memory["n"]


memory: dict[str, float] = {}


def test_what_a_call_remembers_is_found() -> None:
    def side() -> Side:
        kept: list[object] = []

        def program(x: torch.Tensor, names: list[object]) -> torch.Tensor:
            return x * len(names)

        def remembered(x: torch.Tensor, names: list[object]) -> torch.Tensor:
            kept.append(len(names)) if not kept else None
            return x * kept[0]

        sides.append(remembered if sides else program)
        return Side(sides[-1], lambda: ((X, [1, 2]), {}), globals())

    sides: list[object] = []
    found, counts = found_in(Program("remembered", side))
    assert counts["findings"] > 0
    assert any("args[1]" in str(one) and one.kind == "wrong answer" for one in found), found


def test_each_mutator_finds_places() -> None:
    chosen = next(one for one in PROGRAMS if "hierarchy" in one.name)
    kinds = Counter(one.mutator for one in Session(chosen).mutations())
    assert kinds.keys() == MUTATORS.keys()


def test_mutations_come_in_a_fixed_order() -> None:
    orders = [list(map(str, Session(PROGRAMS[0]).mutations())) for _ in range(2)]
    assert orders[0] == orders[1]
