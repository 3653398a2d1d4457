"""How programs are drawn: each by itself.

Hypothesis makes most of its examples from the one before, by repeating parts of it: of four hundred programs
half are there twice, and nine of ten lines. That finds what depends on repetition, and little else.
"""

from typing import Final

from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider

INDEPENDENT: Final = "independent"
"""The `backend` of settings whose examples have nothing to do with each other."""


class Independent(HypothesisProvider):
    """Draws as Hypothesis does; as it is another provider, no example is made from an earlier one."""


AVAILABLE_PROVIDERS[INDEPENDENT] = f"{__name__}.{Independent.__name__}"
