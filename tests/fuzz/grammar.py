"""A grammar: templates of source text by kind of value, and how several grammars are one.

A letter, or a word that begins with a capital, is a kind of value. In a template these are parts of a node:

    $T     an expression of kind T
    $!T    an expression that does not see the template's own names
    $~I2   a digit tells several of one kind apart
    $@T    a variable, where there is one: what is written to
    $.T    a variable that exists and may be assigned
    $=T    a new variable, known after the statement
    $~T    a new variable, known inside the statement only, never assigned by others
    $body  statements, indented; `$loop` may break and continue, `$def` is the body of a function
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

Texts = tuple[str, ...]
Table = Mapping[str, Texts]

REPEATED: Final = 4
"""How often the templates of a group stand beside those of the plain grammar."""


def empty() -> Table:
    """Return a table without kinds."""
    return {}


@dataclass(frozen=True, eq=False)
class Grammar:
    """The templates of one group of programs.

    Attributes:
        kinds: what variables of each kind are called; a kind without a name is called `its` and its own.
        parameters: the kinds of a program's parameters.
        leaves: expressions that have no parts.
        arguments: what calls are given.
        aliases: arguments that share something with those before them.
        definitions: functions, classes and modules that a program finds in its globals.
        before: what may happen before a further call, in the globals of the program.
        calls: how a call is made: the body of a function of `program` and `args`.
        preamble: what stands at the top of each program.
        globals: by kind, a variable of the preamble.
        most_calls: how many further calls there may be.
        most_statements: of so many the body has at least half; 0 where the body is as long as others.
        is_known: its programs are known to fail.
    """

    name: str
    kinds: Mapping[str, str] = field(default_factory=dict[str, str])
    parameters: Texts = ()
    leaves: Table = field(default_factory=empty)
    expressions: Table = field(default_factory=empty)
    statements: Texts = ()
    compound: Texts = ()
    loop: Texts = ()
    yields: Texts = ()
    definitions: Texts = ()
    arguments: Table = field(default_factory=empty)
    aliases: Table = field(default_factory=empty)
    before: Texts = ()
    calls: Texts = ()
    preamble: str = ""
    globals: Mapping[str, str] = field(default_factory=dict[str, str])
    most_calls: int = 3
    most_statements: int = 0
    is_known: bool = False

    def called(self, kind: str) -> str:
        """Return how variables of a kind begin."""
        return self.kinds.get(kind, f"its_{kind.lower()}")


def joined(base: Grammar, added: Grammar, times: int = 1) -> Grammar:
    """Return the grammar of both; templates of the second count several times."""
    return Grammar(
        added.name,
        {**base.kinds, **added.kinds},
        (*base.parameters, *added.parameters),
        table(base.leaves, added.leaves, 1),
        table(base.expressions, added.expressions, times),
        base.statements + added.statements * times,
        base.compound + added.compound * times,
        base.loop + added.loop,
        base.yields + added.yields,
        base.definitions + added.definitions * times,
        table(base.arguments, added.arguments, 1),
        table(base.aliases, added.aliases, 1),
        base.before + added.before,
        base.calls + added.calls,
        base.preamble + added.preamble,
        {**base.globals, **added.globals},
        max(base.most_calls, added.most_calls),
        max(base.most_statements, added.most_statements),
        base.is_known or added.is_known,
    )


def table(base: Table, added: Table, times: int) -> Table:
    """Return two tables as one."""
    kinds = [*base, *(kind for kind in added if kind not in base)]
    return {kind: tuple(base.get(kind, ())) + tuple(added.get(kind, ())) * times for kind in kinds}
