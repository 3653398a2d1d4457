"""How programs are drawn: each by itself, and those of a seed whatever code is under test.

Hypothesis makes most of its examples from the one before, by repeating parts of it: of four hundred programs
half are there twice, and nine of ten lines. That finds what depends on repetition, and little else. It also
draws the constants of the modules that are loaded, so that a seed meant other programs after each change.
"""

from typing import Final

from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider
from hypothesis.internal.constants_ast import Constants

INDEPENDENT: Final = "independent"
"""The `backend` of settings whose examples have nothing to do with each other."""


class Independent(HypothesisProvider):
    """Draws as Hypothesis does; as it is another provider, no example is made from an earlier one."""

    @property
    def _local_constants(self) -> Constants:
        return Constants()


AVAILABLE_PROVIDERS[INDEPENDENT] = f"{__name__}.{Independent.__name__}"
