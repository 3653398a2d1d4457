"""The backends between eager and native: functional graphs, run by eager torch."""

import copy

import pytest
import torch

import supple
from supple.backends import OURS
from tests.training.test_gradients import CASES, close, weighted

IN_VAIN = {("convolutions", "first.bias"), ("channels last", "first.bias")}
"""Biases that a norm takes away again: their gradients are 0, and what is computed is rounding alone."""


@pytest.mark.parametrize("backend", ["aot_eager", "aot_eager_decomp"])
@pytest.mark.parametrize("name", CASES)
def test_functional_graphs_run_by_eager_give_its_numbers(name: str, backend: str) -> None:  # DBG03, BAK03
    make, args = CASES[name]
    model = make()
    plain = copy.deepcopy(model)
    compiled = supple.compile(model, fullgraph=True, backend=backend)
    for step in range(2):
        results: list[torch.Tensor] = []
        for one in (plain, compiled):
            torch.manual_seed(step)
            results.append(one(*args))
            weighted(results[-1]).backward()
        close(*results)
        assert results[0].stride() == results[1].stride()
        node = results[1].grad_fn
        assert node is not None
        assert "Compiled" in node.name()
    for (named, left), right in zip(plain.named_parameters(), model.parameters(), strict=True):
        if (name, named) in IN_VAIN:
            assert max(float(one.grad.abs().max()) for one in (left, right) if one.grad is not None) < 1e-4
        else:
            close(left.grad, right.grad)
    assert supple.stats()["refusals"] == []
    assert supple.stats()["kernels"] == 0


@pytest.mark.parametrize("backend", OURS)
def test_each_backend_writes_to_inputs_and_returns_views(backend: str) -> None:  # DBG01
    def step(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x[1:].mul_(y[1:].exp())
        return x, x[0], y.view(2, 2), x.sum()

    left, right, y = torch.ones(4), torch.ones(4), torch.arange(4.0)
    compiled = supple.compile(step, fullgraph=True, backend=backend)
    for _ in range(2):
        got, wanted = compiled(left, y), step(right, y)
        torch.testing.assert_close(got, wanted)
        assert got[0] is left
        assert got[1].data_ptr() == left.data_ptr()
        assert got[2].data_ptr() == y.data_ptr()


@pytest.mark.parametrize("backend", OURS)
def test_each_backend_takes_sizes_that_vary(backend: str) -> None:  # DBG01
    w = torch.ones(4, requires_grad=True)
    compiled = supple.compile(
        lambda x, w: (x * w).softmax(0).sum() / x.shape[0], dynamic=True, backend=backend
    )
    for n in (3, 5, 1):
        compiled(torch.ones(n, 4), w).backward()
    assert supple.stats()["graphs"] == 1


def test_a_faulty_stage_is_met_from_its_backend_on(monkeypatch: pytest.MonkeyPatch) -> None:  # DBG01
    from supple.autograd import lowering  # noqa: PLC0415  # patched

    rules = lowering.decompositions
    right = rules["aten.silu.default"]
    monkeypatch.setitem(rules._rules, "aten.silu.default", lambda at, x: at.mul(right(at, x), 2.0))
    x = torch.ones(3)
    wrong = [
        backend
        for backend in OURS
        if not torch.equal(
            supple.compile(torch.nn.functional.silu, backend=backend)(x), torch.nn.functional.silu(x)
        )
    ]
    assert wrong == ["aot_eager_decomp", "native"]


def test_the_backends_are_listed() -> None:  # BAK03
    assert [name for name in supple.list_backends() if name in OURS] == sorted(OURS)
    assert list(OURS) == ["eager", "aot_eager", "aot_eager_decomp", "native"]
