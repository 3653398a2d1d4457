"""Groups of programs: each file is a small grammar around one class of mistakes; `GROUPS` has them all.

A new group is a file with one `Grammar` and its line in the table. It is drawn by itself around the few plain
templates of `core`, together with another group, and inside of the plain grammar.
"""

from functools import cache
from typing import Final

from tests.fuzz.grammar import REPEATED, Grammar, joined
from tests.fuzz.groups.classes import CLASSES
from tests.fuzz.groups.core import CORE, TALK
from tests.fuzz.groups.errors import ERRORS
from tests.fuzz.groups.finalisers import FINALISERS, WEAK
from tests.fuzz.groups.foreign import FOREIGN
from tests.fuzz.groups.functions import FUNCTIONS
from tests.fuzz.groups.gradients import GRADIENTS
from tests.fuzz.groups.identity import IDENTITY
from tests.fuzz.groups.integers import INTEGERS
from tests.fuzz.groups.iterators import ITERATORS
from tests.fuzz.groups.kinds import KINDS
from tests.fuzz.groups.layout import LAYOUT, VIEWS
from tests.fuzz.groups.modes import MODES
from tests.fuzz.groups.numbers import NUMBERS
from tests.fuzz.groups.operations import OPERATIONS
from tests.fuzz.groups.places import PLACES
from tests.fuzz.groups.results import RESULTS
from tests.fuzz.groups.special import SPECIAL
from tests.fuzz.groups.threads import THREADS
from tests.fuzz.templates import PLAIN

GROUPS: Final = (
    NUMBERS,
    FUNCTIONS,
    MODES,
    IDENTITY,
    ITERATORS,
    LAYOUT,
    VIEWS,
    PLACES,
    GRADIENTS,
    RESULTS,
    KINDS,
    *SPECIAL,
    INTEGERS,
    ERRORS,
    FOREIGN,
    THREADS,
    CLASSES,
    OPERATIONS,
    WEAK,
    FINALISERS,
)
ALONE: Final = frozenset(
    (THREADS.name, OPERATIONS.name, PLACES.name, RESULTS.name, *(one.name for one in SPECIAL))
)
"""Groups that have all they need, and are not mixed with others."""
CALM: Final = joined(CORE, TALK)


@cache
def grammars(names: tuple[str, ...] = (), *, known: bool = False) -> tuple[Grammar, ...]:
    """Return the grammars to draw from, each as often as it counts.

    Args:
        names: of the groups that are wanted, `plain` among them; all where there are none.
        known: whether groups whose programs are known to fail are among them.
    """
    plain = [PLAIN] * 4 if not names or PLAIN.name in names else []
    wanted = [one for one in GROUPS if not names or one.name in names]
    wanted = [one for one in wanted if known or not one.is_known]
    return tuple(plain) + tuple(one for group in wanted for one in mixtures(group, wanted))


def mixtures(group: Grammar, others: list[Grammar]) -> list[Grammar]:
    """Return the grammars of a group: around the core, with each of its neighbours, in the plain one."""
    if group.name in ALONE:
        return [group] * 3
    free = [one for one in others if one.name not in ALONE]
    around, place = joined(CALM, group, 2), free.index(group)
    partners = [one for one in (*free[place + 1 :], *free[:place])[:2] if one is not group]
    mixed = [joined(joined(CALM, one), group, 2) for one in partners]
    return [around, around, around, *mixed, joined(PLAIN, group, REPEATED)]
