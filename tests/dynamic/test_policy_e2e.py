"""What becomes dynamic, seen from outside: how many graphs a program needs, and which errors it gets."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import supple
from supple.base import events
from supple.errors import ConstraintViolationError
from tests.dynamic.harness import compiled
from tests.dynamic.programs import floats


def scaled(x: Tensor) -> Tensor:
    return x * x.size()[0]


def special(x: Tensor) -> Tensor:
    return x * 10 if x.size()[0] == 10 else x * x.size()[0]


def graphs_of(function: Any, calls: list[tuple[Any, ...]], dynamic: bool | None = None) -> list[int]:
    """Return how many graphs there are after each call; the results must be eager's."""
    made = compiled(function, "native", dynamic)
    found: list[int] = []
    for arguments in calls:
        assert torch.equal(made.run(*arguments), function(*arguments))
        found.append(made.graphs)
    return found


def marked(mark: str, *sizes: int, dim: int = 0, **bounds: Any) -> Tensor:
    x = floats(*sizes)
    getattr(supple, mark)(x, dim, **bounds)
    return x


# ANN06, ANN11, the ladder: dynamic=False does not switch marks off
@pytest.mark.parametrize("mark", ["mark_dynamic", "maybe_mark_dynamic"])
@pytest.mark.parametrize("dynamic", [None, False])
def test_a_marked_size_is_one_graph(mark: str, dynamic: bool | None) -> None:
    calls = [(marked(mark, 10),), (floats(20),), (floats(1),), (floats(0),)]
    assert graphs_of(scaled, calls, dynamic) == [1, 1, 1, 1]


# X-ESC10
def test_a_size_marked_static_is_a_graph_for_each() -> None:
    calls = [(marked("mark_static", n),) for n in (10, 20, 30)]
    assert graphs_of(scaled, calls, True) == [1, 2, 3]
    assert graphs_of(scaled, calls) == [1, 2, 3]


# The ladder: maybe_mark_dynamic over mark_static, dynamic_sources over mark_static
def test_dynamic_wins_over_static_where_both_are_said() -> None:
    calls = [(marked("mark_static", n),) for n in (10, 20, 30)]
    with supple.config.patch(dynamic_sources="L['x']"):
        assert graphs_of(scaled, calls, False) == [1, 1, 1]
    for (x,) in calls:
        supple.maybe_mark_dynamic(x, 0)
    assert graphs_of(scaled, calls, False) == [1, 1, 1]


# ANN09, ANN11, X-SHP17
def test_all_violations_are_one_error() -> None:
    def both(x: Tensor, y: Tensor) -> Tensor:
        if x.size(0) == 10:
            x = x + 1
        if y.size(1) == 4:
            x = x + 2
        return x

    x, y = marked("mark_dynamic", 10), marked("mark_dynamic", 3, 4, dim=1)
    with pytest.raises(ConstraintViolationError) as caught:
        compiled(both, "native", None).run(x, y)
    text = str(caught.value)
    assert "L['x'].size()[0] must be 10" in text
    assert "L['y'].size()[1] must be 4" in text
    assert "if y.size(1) == 4" in text
    assert "supple.maybe_mark_dynamic(y, 1)" in text
    supple.reset()
    x, y = marked("maybe_mark_dynamic", 10), marked("maybe_mark_dynamic", 3, 4, dim=1)
    assert graphs_of(both, [(x, y), (floats(11), y), (floats(12), y)]) == [1, 2, 2]


# ANN07
def test_a_guard_within_the_bounds_of_a_mark_is_an_error() -> None:
    def narrow(x: Tensor) -> Tensor:
        return x * 2 if x.size(0) <= 30 else x

    with pytest.raises(ConstraintViolationError, match=r"L\['x'\]\.size\(\)\[0\] is not free"):
        compiled(narrow, "native", None).run(marked("mark_dynamic", 10, min=5, max=35))
    assert graphs_of(narrow, [(marked("mark_dynamic", 10, min=5, max=30),), (floats(6),), (floats(4),)]) == [
        1,
        1,
        2,
    ]
    with pytest.raises(ConstraintViolationError, match=r"is 10, and it is marked to be in \[11, oo\]"):
        compiled(scaled, "native", None).run(marked("mark_dynamic", 10, min=11))


# ANN13
def test_an_unbacked_size_is_one_graph_for_every_size() -> None:
    calls = [(marked("mark_unbacked", 10),), (floats(20),), (floats(1),), (floats(0),)]
    assert graphs_of(scaled, calls) == [1, 1, 1, 1]


# X-SHP02
def test_an_unbacked_integer_is_one_graph_for_every_value() -> None:
    with supple.config.patch(unbacked_sources="L['n']"):
        assert graphs_of(lambda x, n: x.new_zeros(n), [(floats(2), n) for n in (3, 5, 1, 0)]) == [1, 1, 1, 1]


# ANN13: a condition on an unbacked size breaks the graph; it is no error
def test_a_condition_on_an_unbacked_size_runs_all_the_same() -> None:
    for n in (10, 11):
        x = marked("mark_unbacked", n)
        assert torch.equal(supple.compile(special)(x), special(x))


# ANN12, ANN15, DYN09
def test_specialize_zero_one_is_the_classic_rule() -> None:
    with supple.config.patch(backed_size_oblivious=False):
        assert graphs_of(scaled, [(floats(n),) for n in (5, 1, 0, 6)], True) == [1, 2, 3, 3]
        with pytest.raises(ConstraintViolationError, match="specialize_zero_one"):
            compiled(scaled, "native", None).run(marked("mark_dynamic", 1))
    assert graphs_of(scaled, [(marked("mark_dynamic", 1),), (floats(7),)]) == [1, 1]


TORCH_MARKS = """
import torch
from torch._dynamo.decorators import mark_dynamic
import supple
f = supple.compile(lambda x: x * x.size()[0])
x = torch.rand(10)
mark_dynamic(x, 0)
with supple.testing.assert_compiles(1):
    for one in (x, torch.rand(20), torch.rand(1)):
        assert torch.equal(f(one), one * one.size()[0])
"""


@pytest.mark.slow
def test_marks_of_torch_make_sizes_dynamic() -> None:
    subprocess.run([sys.executable, "-c", TORCH_MARKS], check=True)


class Biased(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.ones(size))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.bias * self.bias.size(0)


class Outer(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.inner = Biased(size)

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


def added(model: nn.Module, x: Tensor) -> Tensor:
    return model(x)


def model_graphs(function: Any = added) -> list[int]:
    with torch.no_grad():
        return graphs_of(function, [(Outer(n), floats(n)) for n in (8, 9, 10)])


# CFG01, ANN03, ANN16
def test_parameters_are_static_unless_they_are_named() -> None:
    assert model_graphs() == [1, 2, 3]
    with supple.config.patch(
        force_parameter_static_shapes=False, force_nn_module_property_static_shapes=False
    ):
        assert model_graphs() == [1, 2, 2]
    for name in ("L['model'].inner.bias", r".*\['bias'\]"):
        with supple.config.patch(dynamic_sources=f"{name},L['x']"):
            assert model_graphs() == [1, 1, 1]


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.step = 0
        self.rate = 0.5

    def forward(self, x: Tensor) -> Tensor:
        self.step += 1
        self.rate *= 0.5
        return x * self.step + self.rate


class Holding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Counting()

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


# CFG03, X-SHP09, acceptance: a number that changes at every call needs two graphs
@pytest.mark.parametrize("kind", [Counting, Holding])
def test_a_changing_number_of_a_module_needs_two_graphs(kind: type[nn.Module]) -> None:
    made, eager, x = compiled(kind(), "native", None), kind(), floats(4)
    for _ in range(6):
        assert torch.equal(made.run(x), eager(x))
    assert made.graphs == 2


# DYN05, X-SHP08
@pytest.mark.parametrize("numbers", [(5, 6, 7, 1, 0, -3), (0.5, 1.5, -2.5, 0.0)])
def test_a_changing_number_needs_two_graphs(numbers: tuple[float, ...]) -> None:
    found = graphs_of(lambda x, n: x * n + n, [(floats(4), n) for n in numbers])
    assert found[-1] == 2


# X-SHP11
def test_a_changing_stride_needs_two_graphs() -> None:
    calls = [(floats(4, n)[:, :5],) for n in (7, 9, 11, 6)]
    assert graphs_of(scaled, calls) == [1, 2, 2, 2]
    assert graphs_of(scaled, calls, True) == [1, 1, 1, 1]


# DYN18, DYN19
def test_settings_that_decide_for_functions_that_do_not_say() -> None:
    calls = [(floats(n),) for n in (10, 20, 30)]
    with supple.config.patch(automatic_dynamic_shapes=False):
        assert graphs_of(scaled, calls) == [1, 2, 3]
    with supple.config.patch(dynamic_shapes=True):
        assert graphs_of(scaled, calls) == [1, 1, 1]
    with supple.config.patch(dynamic_shapes=False):
        assert graphs_of(scaled, calls) == [1, 2, 3]
    with supple.config.patch(assume_static_by_default=False):
        assert graphs_of(scaled, calls) == [1, 1, 1]


# DYN16: the log says what made it dynamic
def test_the_log_says_why_a_size_is_dynamic() -> None:
    found: list[str] = []

    def note(event: events.Event) -> None:
        if isinstance(event, events.SymbolCreated):
            found.append(event.why)

    stop = events.listen(note, reads_texts=False)
    try:
        graphs_of(scaled, [(floats(10),), (floats(20),)])
        graphs_of(scaled, [(floats(10),)], True)
        graphs_of(scaled, [(marked("mark_dynamic", 10),)])
        with supple.config.patch(dynamic_sources="L['x']"):
            supple.reset()
            graphs_of(scaled, [(floats(10),)])
    finally:
        stop()
    assert found == ["automatic dynamic: 10, 20", "dynamic=True", "mark_dynamic", "dynamic_sources"]


PROGRAM = """
import sys, torch, supple
from supple.base import events

def func(x, m):
    return x * x.size()[0] + m

graphs = []
events.listen(lambda e: graphs.append(e) if isinstance(e, events.GraphCaptured) else None, reads_texts=False)
f = supple.compile(func)
for n in map(int, sys.argv[1:]):
    x = torch.rand(n)
    assert torch.equal(f(x, n), x * n + n)
print(len(graphs))
"""


def attempt(folder: Path, program: str, *sizes: int, profile: str = "") -> int:
    """Run a program in its own process; return how many graphs it made."""
    folder.mkdir(exist_ok=True)
    (folder / "r2.py").write_text(program)
    environment = {**os.environ, "SUPPLE_PROFILE": profile, "SUPPLE_CACHE_DIR": str(folder.parent / "cache")}
    command = [sys.executable, str(folder / "r2.py"), *map(str, sizes)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    told = [line for line in result.stderr.splitlines() if "has a graph break" not in line]
    assert not told, "\n".join(told)
    return int(result.stdout)


# PGO01, PGO02, PGO04, PGO07, PGO08, PGO09; the issue: 2 graphs, then 1, then 1 after two comment lines
@pytest.mark.slow
def test_what_varied_is_dynamic_in_the_next_process(tmp_path: Path) -> None:
    assert attempt(tmp_path / "a", PROGRAM, 10, 20, 30) == 2
    assert attempt(tmp_path / "a", PROGRAM, 10, 20, 30) == 1
    commented = "# one\n# two\n" + PROGRAM.replace("    return", "    # three\n    return")
    assert attempt(tmp_path / "a", commented, 40, 50) == 1
    assert attempt(tmp_path / "moved", PROGRAM, 40, 50) == 1
    assert attempt(tmp_path / "a", PROGRAM, 10, 20, 30, profile="0") == 2
    shown = subprocess.run(
        [sys.executable, "-m", "supple", "profile", str(tmp_path / "cache" / "profile.json")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert shown == [
        f"{tmp_path}/a/r2.py:5:func:",
        "L['m']: fully dynamic scalar or tensor",
        "L['x']: tensor size=[?] stride=[1]",
        "SUPPLE_DYNAMIC_SOURCES=\"L['m'],L['x']\"",
        "",
    ]


# PGO01: what follows a graph break has a record of its own
@pytest.mark.slow
def test_what_varied_after_a_graph_break_is_kept_too(tmp_path: Path) -> None:
    program = PROGRAM.replace("    return", "    x = x * 1\n    supple.graph_break()\n    return")
    assert attempt(tmp_path / "a", program, 10, 20, 30) == 4
    assert attempt(tmp_path / "a", "# one\n" + program, 40, 50) == 2


# PGO02
@pytest.mark.slow
def test_one_size_in_each_process_is_variation_too(tmp_path: Path) -> None:
    assert attempt(tmp_path / "a", PROGRAM, 10, 10) == 1
    assert attempt(tmp_path / "a", PROGRAM, 20, 30) == 1


# PGO03
@pytest.mark.slow
def test_a_profile_is_no_promise(tmp_path: Path) -> None:
    program = PROGRAM.replace("    return", "    if x.size(0) == 10 and m == 10:\n        m = 10\n    return")
    assert attempt(tmp_path / "a", program, 10, 20, 30) == 2
    assert attempt(tmp_path / "a", program, 10, 20, 30) == 2


@pytest.mark.slow
def test_a_corrupt_profile_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "profile.json").write_text("{")
    with pytest.raises(AssertionError, match=r"is not a profile that can be read"):
        attempt(tmp_path / "a", PROGRAM, 10, 20)
    assert (tmp_path / "cache" / "profile.json.corrupt").read_text() == "{"
    assert attempt(tmp_path / "a", PROGRAM, 10, 20) == 1
