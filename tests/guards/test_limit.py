"""After the recompile limit: entries that no call fits rest, and serve again when calls fit them."""

import threading

import pytest
import torch
import torch.nn.functional as F

import supple
from supple.capture import dispatch
from supple.testing import CompileCounter

X = torch.linspace(-1.0, 1.0, 8).reshape(2, 4)


def program(x: torch.Tensor, eps: float) -> torch.Tensor:
    return F.layer_norm(x, (4,), eps=eps) * 2


class Counting:
    """A backend that counts how often its graphs run."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, gm: torch.fx.GraphModule, _: object) -> object:
        def run(*inputs: torch.Tensor) -> object:
            self.runs += 1
            return gm(*inputs)

        return run


def exhausted(backend: object) -> object:
    compiled = supple.compile(program, backend=backend, options={"recompile_limit": 2})
    for place in range(4):
        compiled(X, 0.5 + place)
    return compiled


def test_every_call_gets_its_own_answer() -> None:
    compiled = exhausted("native")
    for place in range(300):
        eps = (place % 7) / 4 + 0.125
        torch.testing.assert_close(compiled(X, eps), program(X, eps))


def test_entries_rest_and_serve_again() -> None:
    backend = Counting()
    compiled = exhausted(backend)
    before = backend.runs
    for _ in range(dispatch._MISSES_TO_REST + 1):
        compiled(X, 9.0)  # no entry fits: after some such calls none is asked
    compiled(X, 0.5)
    assert backend.runs == before
    for _ in range(dispatch._FIRST_REST):
        compiled(X, 0.5)
    assert backend.runs > before


def test_a_reset_ends_a_rest() -> None:
    counter = CompileCounter()
    compiled = exhausted(counter)
    for _ in range(20):
        compiled(X, 9.0)
    count = counter.frame_count
    supple.reset()
    compiled(X, 9.0)
    assert counter.frame_count == count + 1


def test_a_stance_is_asked_during_a_rest() -> None:
    compiled = exhausted("eager")
    for _ in range(20):
        compiled(X, 9.0)
    with supple.set_stance("fail_on_recompile"), pytest.raises(supple.errors.RecompileError):
        compiled(X, 9.0)


def test_threads_end_a_rest() -> None:
    compiled = exhausted("eager")
    threads = [threading.Thread(target=lambda: [compiled(X, 9.0) for _ in range(500)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    backend = Counting()
    assert dispatch.entry_count() >= 2
    assert torch.equal(compiled(X, 0.5), program(X, 0.5))
    assert backend.runs == 0
