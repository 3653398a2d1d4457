"""The generators of this project: how each is run for a while, and how it says that it found something."""

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tests.recall.mutants import ROOT, Mutant

SEED: Final = 7
HISTORIES: Final = 1
"""All mutants meet the same random programs: those with which the package itself is green."""


@dataclass(frozen=True)
class Generator:
    """A program that looks for differences from eager.

    Attributes:
        path: where it stands; one that is not there is skipped.
        arguments: of Python, for a number of seconds.
        telling: a regular expression for a line that tells of a difference; so does the exit status.
        paths: of what it runs, where a mutant does not say with what it begins.
    """

    name: str
    path: str
    arguments: Callable[[float], Sequence[str]]
    telling: str | None = None
    paths: Sequence[str] = ()

    @property
    def exists(self) -> bool:
        """Whether it is part of this version of the project."""
        return (ROOT / self.path).exists()

    def command(self, seconds: float, focus: str = "") -> list[str]:
        """Return the command that runs it."""
        return [sys.executable, *self.arguments(seconds), *(shlex.split(focus) or self.paths)]


def _timed(module: str, *more: str) -> Callable[[float], Sequence[str]]:
    """Return the arguments of a module that is told for how long it runs."""
    return lambda seconds: ("-m", module, "--minutes", f"{seconds / 60:.2f}", *more)


def _whole(*arguments: str) -> Callable[[float], Sequence[str]]:
    """Return the arguments of what runs until it has tried everything."""
    return lambda _: arguments


_SWEEP: Final = "tests/operators/test_special_values.py"
_SAMPLES: Final = "tests/operators/test_samples.py"
_MISFITS: Final = "tests/operators/test_sizes_that_do_not_fit.py"
_ERRORS: Final = "tests/operators/test_erroneous_calls.py"
_GRIDS: Final = (
    "tests/operators/test_numbers_out_of_range.py",
    "tests/operators/test_numbers_of_low_precision.py",
    "tests/operators/test_factors.py",
    "tests/operators/test_mixed_types.py",
    "tests/operators/test_types_of_samples.py",
    "tests/operators/test_refused_types.py",
    "tests/operators/test_dropped_operands.py",
    "tests/operators/test_dead_operators.py",
    "tests/operators/test_outs.py",
    "tests/operators/test_tensors_of_one_value.py",
    "tests/operators/test_foreign_arguments.py",
    "tests/dynamic/test_pairs_of_layouts.py",
    "tests/dynamic/test_copies_that_are_views.py",
    "tests/dynamic/test_layouts_of_images.py",
    "tests/dynamic/test_operators_of_numbers.py",
    "tests/library/test_operands.py",
    "tests/library/test_counts_of_arguments.py",
    "tests/library/test_arguments_of_kinds.py",
    "tests/library/test_arguments_of_tensors.py",
    "tests/library/test_iterators_of_c.py",
    "tests/library/test_subclasses_of_containers.py",
    "tests/library/test_entry_points.py",
    "tests/library/test_arrays_of_types.py",
    "tests/library/test_order_of_sets.py",
    "tests/guards/test_scalars_of_numpy.py",
    "tests/guards/test_pairs_of_objects.py",
    "tests/guards/test_caches_with_effects.py",
    "tests/guards/test_attributes_of_methods.py",
    "tests/guards/test_special_methods.py",
    "tests/guards/test_filling.py",
    "tests/guards/test_changes_of_namespaces.py",
    "tests/guards/test_names_that_come_and_go.py",
    "tests/guards/test_keys_that_notice.py",
    "tests/breaks/test_modes_at_breaks.py",
    "tests/breaks/test_names_nobody_reads.py",
    "tests/fallback/test_writes_refused.py",
    "tests/fallback/test_graphs_that_raise.py",
)
"""Tests that cross a registry (of operators, functions, types, modes) with values or with ways to call."""

_PYTEST: Final = ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"--hypothesis-seed={SEED}")

GENERATORS: Final[dict[str, Generator]] = {
    one.name: one
    for one in (
        Generator("fuzz", "tests/fuzz", _timed("tests.fuzz", "--seed", str(SEED), "--first")),
        Generator("mutation", "tests/mutation", _timed("tests.mutation"), "={80}"),
        Generator(
            "histories",
            "tests/histories",
            _timed("tests.histories", "--seed", str(HISTORIES), "--first"),
            "={80}",
        ),
        Generator(
            "crossings",
            "tests/crossings",
            _timed("tests.crossings", "--seed", str(SEED), "--first"),
            "={80}",
        ),
        Generator("special", _SWEEP, _whole(*_PYTEST, _SWEEP)),
        Generator("breaks", "tests/breaks", _whole("-m", "tests.breaks"), "break before instruction"),
        Generator("samples", _SAMPLES, _whole(*_PYTEST, _SAMPLES)),
        Generator("misfits", _MISFITS, _whole(*_PYTEST, _MISFITS)),
        Generator("errors", _ERRORS, _whole(*_PYTEST, _ERRORS)),
        Generator("cpython", "tests/cpython", _whole(*_PYTEST, "tests/cpython")),
        Generator("properties", "tests/property", _whole(*_PYTEST), paths=("tests/property",)),
        Generator("grids", _GRIDS[0], _whole(*_PYTEST), paths=_GRIDS),
    )
}


def order(mutant: Mutant) -> list[Generator]:
    """Return the generators that there are, the likely ones first.

    Raises:
        KeyError: the mutant names one that is not in the table.
    """
    names = dict.fromkeys((*mutant.likely, *GENERATORS))
    return [found for name in names if (found := GENERATORS[name]).exists]
