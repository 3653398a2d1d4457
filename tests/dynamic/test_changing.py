"""Programs whose numbers or sizes change with each call: results as in eager, graphs at most torch's."""

from typing import Any

import pytest
import torch

import supple
from tests.dynamic.changing_programs import CALLS, PROGRAMS
from tests.dynamic.harness import difference


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_that_change_need_no_more_graphs_than_torch(name: str) -> None:
    program = PROGRAMS[name]
    supple.reset()
    session = program.make(lambda function: supple.compile(function, backend="eager"))
    plain = program.make(lambda function: function)
    for number in range(CALLS):
        found, wanted = (one.call(*one.arguments(number)) for one in (session, plain))
        assert difference((wanted, plain.state), (found, session.state), 1e-5) is None
    stats: dict[str, Any] = supple.stats()
    assert stats["graphs"] <= program.torch_graphs, stats["recompile_reasons"]


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_that_change_give_eager_s_results_in_native_code(name: str) -> None:
    session = PROGRAMS[name].make(supple.compile)
    plain = PROGRAMS[name].make(lambda function: function)
    for number in range(CALLS):
        found, wanted = (one.call(*one.arguments(number)) for one in (session, plain))
        same = difference(
            (wanted, [*map(torch.clone, plain.state)]), (found, [*map(torch.clone, session.state)]), 1e-4
        )
        assert same is None
