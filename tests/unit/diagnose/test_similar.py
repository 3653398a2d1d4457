"""Groups of graphs that differ in sizes alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

import supple
from supple.__main__ import main
from supple.diagnose.similar import similar_graphs


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    yield
    supple.set_logs()


def log_of(capsys: pytest.CaptureFixture[str]) -> str:
    supple.set_logs(graph_code=True)
    f = supple.compile(lambda x, w: (x * x.size()[0]) @ w, backend="eager")
    other = supple.compile(lambda x, w: x + w, backend="eager")
    f(torch.ones(10, 3), torch.ones(3, 4))
    other(torch.ones(3), torch.ones(3))
    f(torch.ones(20, 3), torch.ones(3, 4))
    other(torch.ones(3, 3), torch.ones(3))
    return capsys.readouterr().err


def test_a_static_graph_is_similar_to_its_dynamic_form(capsys: pytest.CaptureFixture[str]) -> None:  # REC07
    [found] = similar_graphs(log_of(capsys))
    assert len(found.graphs) == 2
    assert found.sizes == {"L['x']": ("10,3", "s0,3")}
    assert str(found).endswith("\n  L['x']: [10,3] | [s0,3]")


def test_the_command_line_reads_a_log(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:  # REC07
    path = tmp_path / "log"
    path.write_text(log_of(capsys), encoding="utf-8")
    assert "L['x']: [10,3] | [s0,3]" in CliRunner().invoke(main, ["similar", str(path)]).output
