"""The shared run: probes are reached by the programs that run their lines, and one of them finds a mutant."""

import json
from pathlib import Path

import pytest

from tests.recall import probes
from tests.recall.mutants import ROOT, Mutant, mutants
from tests.recall.shared import meet, near

SOURCE = '''
from functools import cache

def plain(x):
    if x:
        return 1
    elif x is None:
        return 2
    return [
        3,
    ]

@cache
def once(x):
    return x

TABLE = {1: 2}

class Thing:
    def method(self):
        """Say."""
        try:
            return 1 // 0
        except ZeroDivisionError:
            return 4
'''


def line(text: str) -> int:
    return next(number for number, one in enumerate(SOURCE.splitlines(), 1) if text in one)


@pytest.mark.parametrize(
    ("text", "call", "is_reached"),
    [
        ("return 1\n", "plain(1)", True),
        ("return 2", "plain(1)", False),
        ("return 2", "plain(None)", True),
        ("3,", "plain(0)", True),
        ("3,", "plain(1)", False),
        ("return 4", "Thing().method()", True),
        ("return 4", "plain(1)", False),
        ("def method", "Thing().method()", True),
        ("def plain", "plain(1)", True),
    ],
)
def test_a_probe_tells_of_its_line(text: str, call: str, is_reached: bool) -> None:
    place = line(text.strip())
    found, missed = probes.probed(SOURCE, [("it", place, place)])
    assert not missed
    reached: set[str] = set()
    names: dict[str, object] = {probes.MARK: reached.add}
    exec(found, names)
    eval(call, names)
    assert bool(reached) is is_reached


@pytest.mark.parametrize("text", ["return x", "TABLE", "from functools"])
def test_what_runs_once_is_in_reach_of_all(text: str) -> None:
    place = line(text)
    found, missed = probes.probed(SOURCE, [("it", place, place)])
    assert missed == {"it"}
    assert probes.MARK not in found


def test_probes_fit_the_package(tmp_path: Path) -> None:
    for mutant in mutants():
        for edit in mutant.edits:
            (tmp_path / edit.file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / edit.file).write_text((ROOT / edit.file).read_text())
    everywhere = probes.put(mutants(), tmp_path)
    text = "".join(path.read_text() for path in tmp_path.rglob("*.py"))
    for mutant in mutants():
        assert (mutant.name in everywhere) or f"{probes.MARK}({mutant.name!r})" in text
    assert len(everywhere) < len(mutants()) / 10


MARKED = """
class Marked(torch.autograd.Function):
    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        return x
    def backward(ctx, g):
        return g, g

def program(x, w):
    return Marked.apply(x, w * 2)

def arguments_0():
    return torch.ones(3), torch.ones(3, requires_grad=True)
"""
OTHER = """
def program(x):
    return x + 1

def arguments_0():
    return (torch.ones(3),)
"""


def test_a_mutant_is_found_by_a_program_that_reaches_it() -> None:
    chosen = {one.name: one for one in mutants()}["marks-without-writes-are-lost"]
    assert isinstance(chosen, Mutant)
    how = ("native", 0, None)
    entries = [
        {"seconds": 1.0, "source": OTHER, "how": how, "reached": []},
        {"seconds": 2.0, "source": OTHER, "how": how, "reached": [chosen.name]},
        {"seconds": 3.0, "source": MARKED, "how": how, "reached": [chosen.name]},
    ]
    entries = [json.loads(json.dumps(one)) for one in entries]
    met = meet(chosen, entries, everywhere=False)
    assert (met.programs, met.seconds) == (2, 3.0), met
    assert "requires_grad" in met.text
    assert meet(chosen, entries[:2], everywhere=False).seconds is None


def test_a_mutant_is_looked_for_in_the_programs_that_run_its_lines() -> None:
    chosen = {one.name: one for one in mutants()}["empty-cells-unguarded"]
    rows = [
        {"program": "everyday.plain", "reached": []},
        {"program": "texts.of a cell", "reached": [chosen.name]},
    ]
    found = near(chosen, rows)
    assert found.focus["mutation"] == f"{chosen.focus['mutation']} --program 'texts.of a cell'"
    assert near(chosen, rows[:1]) is near(chosen, rows[1:]) is chosen
