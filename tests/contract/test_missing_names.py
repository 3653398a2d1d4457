"""A private name that this version of torch has not costs its feature: no program does otherwise."""

import json
import subprocess
import sys

import pytest

PARTS = 8


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(PARTS))
def test_programs_run_without_a_private_name(part: int) -> None:
    run = [sys.executable, "-m", "tests.contract.without_names", str(part), str(PARTS)]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(found) > 5
    assert [one for one in found if one["differs"]] == []
    assert [one["name"] for one in found if len(one["missing"]) != 1] == []
