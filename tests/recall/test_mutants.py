"""The mutants are up to date, and some are bugs for sure; `python -m tests.recall --shows` asks all."""

import itertools
import shlex
from collections import Counter

import pytest

from tests.fuzz.groups import grammars
from tests.recall.generators import GENERATORS, order
from tests.recall.mutants import ROOT, Mutant, mutants
from tests.recall.running import clean, shows

MUTANTS = {one.name: one for one in mutants()}
SHOWN = ("specialised-floats", "tensors-not-told-apart", "key-of-signed-zero")


def test_mutants_have_names_of_their_own() -> None:
    assert not [name for name, count in Counter(one.name for one in mutants()).items() if count > 1]


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS.keys())
def test_a_mutant_applies_to_the_source(mutant: Mutant) -> None:
    for edit in mutant.edits:
        text = (ROOT / edit.file).read_text()
        compile(edit.changed(text), edit.file, "exec")


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS.keys())
def test_a_mutant_names_generators_of_the_table(mutant: Mutant) -> None:
    assert order(mutant)
    assert mutant.focus.keys() <= GENERATORS.keys()


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS.keys())
def test_a_mutant_names_groups_that_the_fuzzer_draws(mutant: Mutant) -> None:
    words = shlex.split(mutant.focus.get("fuzz", ""))
    for option, value in itertools.pairwise(words):
        assert option != "--group" or grammars((value,)), value


def test_programs_end_well_without_their_mutants() -> None:
    chosen = [MUTANTS[name] for name in SHOWN]
    assert {name: text for name, (passes, text) in clean(chosen).items() if not passes} == {}


@pytest.mark.parametrize("name", SHOWN)
def test_a_program_sees_its_mutant(name: str) -> None:
    passes, _ = shows(MUTANTS[name])
    assert not passes
