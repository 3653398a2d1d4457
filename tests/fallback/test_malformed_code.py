"""A code object that must not run is an internal error: the call runs eager, and says so."""

import dis
import importlib
import types
from typing import Any

import pytest
import torch

import supple
from supple.base import events
from supple.capture.bytecode.verify import MalformedCode


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * 2 + 1


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the assembler leave out the first value of each code object that returns."""
    encoding = importlib.import_module("supple.capture.bytecode.encode")
    original = encoding.assembled

    def damaged(*args: Any) -> types.CodeType:
        code = original(*args)
        changed = bytearray(code.co_code)
        loads = [one.offset for one in dis.get_instructions(code) if one.opname.startswith("LOAD_")]
        changed[loads[0]] = dis.opmap["NOP"]
        return code.replace(co_code=bytes(changed))

    monkeypatch.setattr(encoding, "assembled", damaged)


@pytest.mark.usefixtures("broken")
def test_the_call_runs_eager_and_says_so() -> None:
    seen: list[events.FellBack] = []
    stop = events.listen(lambda event: seen.append(event) if isinstance(event, events.FellBack) else None)
    try:
        x = torch.ones(3)
        compiled = supple.compile(scaled)
        assert torch.equal(compiled(x), scaled(x))
        assert torch.equal(compiled(x), scaled(x))
    finally:
        stop()
    assert [one.text.count("MalformedCode") > 0 for one in seen] == [True]


@pytest.mark.usefixtures("broken")
def test_who_wants_one_graph_gets_the_error() -> None:
    with pytest.raises(MalformedCode, match="scaled at"):
        supple.compile(scaled, fullgraph=True)(torch.ones(3))
