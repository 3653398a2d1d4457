"""Random programs do the same compiled as eager: results, exceptions, prints, writes, aliases."""

import gc
import importlib.util
import re
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.fuzz import setting
from tests.fuzz.drawing import INDEPENDENT
from tests.fuzz.grammar import Grammar
from tests.fuzz.groups import GROUPS
from tests.fuzz.programs import programs
from tests.fuzz.reducing import reduced
from tests.fuzz.running import difference
from tests.fuzz.templates import PLAIN

SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)
ONE_BY_ONE = settings(backend=INDEPENDENT, suppress_health_check=SLOW, phases=[Phase.generate])
"""Not made smaller, which takes Hypothesis minutes: `reduced` is for that."""
SOURCE = """
def program(x, n):
    y = x + 1
    try:
        say(n)
        return [y * n, x]
    finally:
        x.add_(n)

def arguments_0():
    return (tensor(2), 3)
"""


@pytest.fixture(autouse=True, scope="module")
def _without_what_is_there() -> None:
    """Make the collector of cycles look at new objects only."""
    gc.collect()
    gc.freeze()


def check(source: str, backend: str, break_at: int, dynamic: bool | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = difference(source, backend, break_at=break_at, dynamic=dynamic)
    assert found is None, f"{backend}, break_at={break_at}, dynamic={dynamic}: {found}\n{source}"


@pytest.mark.sweep
@settings(ONE_BY_ONE)
@given(programs(), st.sampled_from([None, True]))
def test_programs_are_as_eager(source: str, dynamic: bool | None) -> None:
    check(source, "eager", 0, dynamic)


@pytest.mark.sweep
@settings(ONE_BY_ONE)
@given(programs(), st.integers(1, 200))
def test_programs_with_a_forced_break_are_as_eager(source: str, break_at: int) -> None:
    check(source, "eager", break_at, None)


@settings(ONE_BY_ONE, max_examples=max(settings().max_examples // 8, 10))
@given(programs())
def test_programs_in_native_code_are_as_eager(source: str) -> None:
    check(source, "native", 0, None)


def drawn(number: int) -> list[str]:
    """Return the programs of a seed, without their arguments."""
    found: list[str] = []

    @seed(number)
    @settings(ONE_BY_ONE, max_examples=50, database=None)
    @given(programs())
    def draw(source: str) -> None:
        found.append(source.partition("\ndef arguments")[0])

    draw()
    return found


def test_programs_are_drawn_each_by_itself() -> None:
    assert len(set(drawn(1))) > 45


def test_a_seed_means_the_same_programs_whatever_is_loaded(tmp_path: Path) -> None:
    before = drawn(2)
    path = tmp_path / "loaded_later.py"
    path.write_text(f"NUMBERS = {list(range(200))}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        assert drawn(2) == before
    finally:
        del sys.modules[path.stem]


def test_a_difference_is_found() -> None:
    broken = SOURCE.replace("y * n", "y * (n if supple.is_compiling() else -n)")
    assert difference(SOURCE) is None
    found = difference(broken)
    assert found is not None
    assert found.signature == "result[][]"


def test_a_program_that_asks_for_too_much_memory_is_not_compared() -> None:
    assert difference(SOURCE.replace("x + 1", "torch.arange(2**33) + x")) is None
    broken = SOURCE.replace("y * n", "y * (n if supple.is_compiling() else torch.arange(2**33))")
    assert difference(broken) is None


def test_a_failing_program_is_made_smaller() -> None:
    source = SOURCE.replace("say(n)", "z = [x, n]\n        opaque(n + len(z))")
    small = reduced(source, lambda text: "opaque(" in text)
    assert small.split("\n")[:2] == ["def program():", "    opaque()"]


@pytest.mark.parametrize("grammar", [PLAIN, *GROUPS], ids=lambda grammar: grammar.name)
def test_calls_use_what_programs_have(grammar: Grammar) -> None:
    """A name that is not there raises in eager and compiled code alike: such a program says nothing."""
    called = {name for text in grammar.calls for name in re.findall(r"return (\w+)\(", text)}
    assert called <= {"program", "sorted", *setting.__all__}
