"""Several calls of one compiled function in a row, on the same objects, beside eager's; gradients included.

`check_compiled` goes through the whole of `supple.compile`, so that graph breaks, entries and guards take
part. What is compared: results, arguments, gradients, globals and closures, prints, the random state, modes.
"""

import contextlib
import copy
import io
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils.hooks import RemovableHandle

import supple
from supple.base.config import config
from supple.runtime.state import state_now
from tests.semantics.harness import FIRST_HANDLE, Case, Comparison

CALLS = 3


def seeded(make: Callable[[], Any]) -> Any:
    """Return what a function makes, with the same random numbers each time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return make()


def copied(obj: Any) -> Any:
    """Return a deep copy, of which further copies have the same attributes: the first may lose some."""
    return copy.deepcopy(obj)


def check_compiled(case: Case, backend: str) -> None:
    """Assert that the compiled function does what eager does in a session of calls."""
    compiled: Any = supple.compile(case.function, backend=backend)
    with config.patch(suppress_errors=False), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for args in (case.args, *case.changed):
                errors: list[str] = []
                want = session(case, case.function, args, [])
                got = session(case, compiled, args, errors)
                difference = Comparison(case.is_rounded or backend == "native").difference(want, got, "")
                assert difference is None, (
                    f"compiled and eager differ: {difference}; raised: {''.join(errors)}"
                )
        finally:
            supple.reset()


def session(case: Case, run: Callable[..., Any], args: tuple[Any, ...], errors: list[str]) -> tuple[Any, ...]:
    """Return all that some calls on the same arguments give and change."""
    given = copy.deepcopy((args, dict(case.kwargs)))
    text = io.StringIO()
    torch.manual_seed(0)
    RemovableHandle.next_id = FIRST_HANDLE
    results: list[Any] = []
    with case.restored(), contextlib.redirect_stdout(text):
        for _ in range(CALLS):
            results.append(outcome(run, given, errors))
        results.append(flowed(results[-1]))
        return results, given, case.kept_state(), text.getvalue(), torch.get_rng_state(), state_now().parts


def outcome(
    run: Callable[..., Any], given: tuple[tuple[Any, ...], dict[str, Any]], errors: list[str]
) -> tuple[Any, ...]:
    try:
        return "returned", run(*given[0], **given[1])
    except Exception as error:  # what the program raises is compared
        errors += traceback.format_exception(error)[-3:]
        return "raised", type(error)


def flowed(result: tuple[Any, ...]) -> object:
    """Let gradients flow from a result to what requires them; return what that raised."""
    leaves = [one for one in pytree.tree_leaves(result) if isinstance(one, torch.Tensor) and one.grad_fn]
    if not leaves:
        return None
    try:
        torch.autograd.backward(
            [(one.abs() if one.is_complex() else one).double().sin().sum() for one in leaves]
        )
    except RuntimeError as error:
        return type(error)
    return len(leaves)
