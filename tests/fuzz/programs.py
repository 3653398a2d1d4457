"""Random programs as trees of templates, and their source text.

A tree is drawn first, without names: a variable is a number. Names are given when the text is made, from what
is known at each place, so that any part of a tree can be replaced or left out: Hypothesis shrinks well.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple, cast

from hypothesis import strategies as st

from tests.fuzz.grammar import Grammar
from tests.fuzz.groups import grammars
from tests.fuzz.templates import PLAIN

HOLE: Final = re.compile(r"\$([!.=~@]?)(body|loop|def|gen|top|[A-Z][a-z]*\d?)")
FUNCTIONS: Final = ("def", "gen", "top")
BLOCKS: Final = ("body", "loop", *FUNCTIONS)
ITERATORS: Final = "GVW"
"""Kinds that programs do not return: the rest of an iterator comes out of compiled code as a generator."""
DIGITS: Final = "0123456789"


@dataclass(frozen=True)
class Node:
    """A template and what stands in its holes: nodes, tuples of nodes (blocks), numbers (variables)."""

    template: str
    parts: tuple["Part", ...] = ()


Part = Node | int | tuple[Node, ...]


class Place(NamedTuple):
    """Where a statement stands: how deep statements may nest in it, and what is allowed there."""

    depth: int
    in_loop: bool = False
    in_generator: bool = False

    def inside(self, block: str) -> "Place":
        """Return the place of a block of a statement."""
        match block:
            case "body":
                return self._replace(depth=self.depth - 1)
            case "loop":
                return self._replace(depth=self.depth - 1, in_loop=True)
            case _:
                return Place(self.depth - 1, in_generator=block == "gen")


@cache
def holes(template: str) -> tuple[tuple[str, str], ...]:
    """Return (mark, name) of each part of a template's nodes; of variables the first mention only."""
    found: list[tuple[str, str]] = []
    for mark, name in HOLE.findall(template):
        if mark in ("", "!", "@") or (mark == "." and (mark, name) not in found):
            found.append((mark, name))
    return tuple(found)


@cache
def expressions(grammar: Grammar, kind: str, depth: int) -> st.SearchStrategy[Part]:
    """Return a strategy of expressions; a number is a variable or a literal."""
    leaves = st.integers(0, 11)
    templates = grammar.expressions.get(kind, ())
    if not depth or not templates:
        return leaves
    inner = nodes(grammar, templates, depth - 1, Place(0))
    if is_unnamed(grammar, kind):
        return inner
    return leaves | inner if grammar.name == PLAIN.name else leaves | inner | inner


@cache
def is_unnamed(grammar: Grammar, kind: str) -> bool:
    """Tell whether there are neither variables nor literals of a kind: templates only."""
    written = (*grammar.statements, *grammar.compound)
    has_variables = kind in grammar.parameters or any(f"$={kind} " in template for template in written)
    return kind not in grammar.leaves and not has_variables


@cache
def blocks(
    grammar: Grammar, place: Place, most: int = 3, least: int = 1
) -> st.SearchStrategy[tuple[Node, ...]]:
    """Return a strategy of statements in a row."""
    templates = (
        grammar.statements + grammar.loop * (4 * place.in_loop) + grammar.yields * (8 * place.in_generator)
    )
    one = nodes(grammar, templates, 2, place)
    if place.depth and grammar.compound:
        one = one | nodes(grammar, grammar.compound, 2, place)
    return st.lists(one, min_size=least, max_size=most).map(tuple)


@cache
def nodes(grammar: Grammar, templates: tuple[str, ...], depth: int, place: Place) -> st.SearchStrategy[Node]:
    """Return a strategy of nodes of one of these templates."""

    @st.composite
    def drawn(draw: st.DrawFn) -> Node:
        template = draw(st.sampled_from(templates))
        parts: list[Part] = []
        for mark, name in holes(template):
            if name in BLOCKS:
                parts.append(draw(blocks(grammar, place.inside(name))))
            elif mark in (".", "@"):
                parts.append(draw(st.integers(0, 5)))
            else:
                parts.append(draw(expressions(grammar, name.rstrip(DIGITS), depth)))
        return Node(template, tuple(parts))

    return drawn()


class Skipped(Exception):
    """A statement needs a variable that does not exist."""


@dataclass
class Scope:
    """The names known at one place, by kind.

    Attributes:
        grammar: gives kinds their names and literals.
        readable: variables that have values.
        assignable: those that may be assigned here.
        used: how many names of each kind there are in the whole program.
    """

    grammar: Grammar
    readable: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    assignable: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    used: dict[str, int] = field(default_factory=dict[str, int])

    def inner(self, *, is_function: bool = False) -> "Scope":
        """Return the scope of a block, or of a function, where nothing can be assigned yet."""
        copied = {kind: list(names) for kind, names in self.assignable.items()}
        readable = {kind: list(names) for kind, names in self.readable.items()}
        return Scope(self.grammar, readable, {} if is_function else copied, self.used)

    def fresh(self, kind: str) -> str:
        """Return a new name."""
        self.used[kind] = self.used.get(kind, 0) + 1
        return f"{self.grammar.called(kind)}{self.used[kind]}"

    def add(self, kind: str, name: str, *, is_assignable: bool) -> None:
        """Make a name known."""
        self.readable.setdefault(kind, []).append(name)
        if is_assignable:
            self.assignable.setdefault(kind, []).append(name)


def expression(part: Part, kind: str, scope: Scope) -> str:
    """Return the text of an expression."""
    if isinstance(part, int):
        known = [*scope.readable.get(kind, ()), *scope.grammar.leaves.get(kind, ("None",))]
        return known[part % len(known)]
    assert isinstance(part, Node), part
    text = "\n".join(lines(part, scope.inner()))
    return f"({text})" if is_loose(part.template) else text


@cache
def is_loose(template: str) -> bool:
    """Tell whether an expression needs brackets before it can be a part of another."""
    depth = 0
    for sign in template:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == " " and not depth:
            return True
    return False


def block(nodes_: Sequence[Node], scope: Scope) -> list[str]:
    """Return the lines of a block; what it defines is known in it only."""
    return open_block(nodes_, scope.inner())


def open_block(nodes_: Sequence[Node], scope: Scope) -> list[str]:
    """Return the lines of a block that runs once and to its end; what it defines is known behind it."""
    return [line for node in nodes_ for line in statement(node, scope)] or ["pass"]


def statement(node: Node, scope: Scope) -> list[str]:
    """Return the lines of a statement, none when it needs a variable that does not exist."""
    try:
        return lines(node, scope)
    except Skipped:
        return []


def lines(node: Node, scope: Scope) -> list[str]:
    """Return the lines of a node; what it defines becomes known in the scope.

    Raises:
        Skipped: it assigns a variable of a kind of which there is none.
    """
    own: dict[tuple[str, str], str] = {}
    filled = list(zip(holes(node.template), node.parts, strict=True))
    for (mark, name), part in filled:
        if mark == ".":
            assert isinstance(part, int), part
            own[mark, name] = picked(scope, name.rstrip(DIGITS), part)
    local = scope.inner()
    for mark, name in HOLE.findall(node.template):
        if mark in ("=", "~") and (mark, name) not in own:
            own[mark, name] = fresh = scope.fresh(name.rstrip(DIGITS))
            if mark == "~":
                local.add(name.rstrip(DIGITS), fresh, is_assignable=False)
    texts = iter(texts_of(node, filled, own, scope, local))

    def text(found: re.Match[str]) -> str:
        mark, name = found.groups()
        return own.get((mark, name)) or next(texts)

    found: list[str] = []
    function, inside = 0, ""
    for line in node.template.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        found += textwrap.indent(HOLE.sub(text, line.lstrip()), indent).split("\n")
        if line.lstrip().startswith("def "):
            function, inside = len(found), indent + "    "
    if any(name in FUNCTIONS for _, name in holes(node.template)):
        found[function:function] = [inside + line for line in declared(scope.grammar, found)]
    for (mark, name), fresh in own.items():
        if mark == "=":
            scope.add(name.rstrip(DIGITS), fresh, is_assignable=True)
    return found


OF_MODES: Final = re.compile(r"with (?!.*(suppress|guarded|Exception|\$~))")
"""The block of such a statement runs once, and nothing that it raises goes unnoticed."""


def texts_of(
    node: Node,
    filled: Sequence[tuple[tuple[str, str], Part]],
    own: Mapping[tuple[str, str], str],
    scope: Scope,
    local: Scope,
) -> Iterator[str]:
    """Yield the texts of a node's holes, in order; blocks see the names that stand above them."""
    is_open = OF_MODES.match(node.template) is not None
    known, function = scope.inner(), scope.inner(is_function=True)
    parts = iter(part for (mark, _), part in filled if mark != ".")
    seen: set[tuple[str, str]] = set()
    for hole in HOLE.findall(node.template):
        mark, name = hole
        if is_open and name in BLOCKS:
            yield "\n".join(open_block(cast("tuple[Node, ...]", next(parts)), scope))
        elif mark not in (".", "=", "~"):
            around = function if name in FUNCTIONS else known if name in BLOCKS else local
            yield filling(next(parts), mark, name, scope if mark == "!" else around)
        elif mark != "=" and hole not in seen:
            seen.add(hole)
            function.add(name.rstrip(DIGITS), own[hole], is_assignable=True)
            if mark == "~":
                known.add(name.rstrip(DIGITS), own[hole], is_assignable=False)


def filling(part: Part, mark: str, name: str, scope: Scope) -> str:
    """Return the text of a hole: a block or an expression."""
    if mark == "@":
        assert isinstance(part, int), part
        kind = name.rstrip(DIGITS)
        known = scope.readable.get(kind) or scope.grammar.leaves[kind][:1]
        return known[part % len(known)]
    if not isinstance(part, tuple):
        return expression(part, name.rstrip(DIGITS), scope)
    return "\n".join(block(part, scope))


def picked(scope: Scope, kind: str, number: int) -> str:
    """Return an assignable variable.

    Raises:
        Skipped: there is none of this kind.
    """
    known = scope.assignable.get(kind)
    if not known:
        raise Skipped
    return known[number % len(known)]


def declared(grammar: Grammar, body: Sequence[str]) -> list[str]:
    """Return the statement that declares the globals that a function assigns."""
    found = [
        name
        for name in grammar.globals.values()
        if any(re.match(rf"\s*{name} [-+*]?= ", line) for line in body)
    ]
    return [f"global {', '.join(found)}"] if found else []


@dataclass(frozen=True)
class Call:
    """A call of a program before it has names.

    Attributes:
        before: statements that run before the arguments are made.
        changes: what differs from the first call: (number of the parameter, argument).
        way: how the call is made, if not plainly.
    """

    before: tuple[Node, ...] = ()
    changes: tuple[tuple[int, Node], ...] = ()
    way: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Tree:
    """A program before it has names.

    Attributes:
        definitions: at the top of the module.
        body: of the function `program`.
        arguments: of the first call, by parameter.
    """

    grammar: Grammar
    definitions: tuple[Node, ...]
    body: tuple[Node, ...]
    arguments: tuple[Node, ...]
    calls: tuple[Call, ...]

    def source(self) -> str:
        """Return the text of a module with `program` and, for each call, a function `arguments_N`.

        A function `call_N` says how a call is made, where it is not plain.
        """
        scope = Scope(self.grammar)
        for kind, name in self.grammar.globals.items():
            scope.add(kind, name, is_assignable=False)
        above = [line for node in self.definitions for line in [*statement(node, scope), ""]]
        inside = scope.inner(is_function=True)
        parameters = [(kind, inside.fresh(kind)) for kind in self.grammar.parameters]
        for kind, name in parameters:
            inside.add(kind, name, is_assignable=True)
        body = [line for node in self.body for line in statement(node, inside)]
        inner = textwrap.indent(
            "\n".join([*declared(self.grammar, body), *body, returned(inside, body)]), "    "
        )
        used = [name for _, name in parameters if re.search(rf"\b{name}\b", inner)]
        text = [self.grammar.preamble, *above, f"def program({', '.join(used)}):", inner, ""]
        for number, call in enumerate(self.calls):
            chosen = dict(enumerate(self.arguments)) | dict(call.changes)
            before = [line for node in call.before for line in statement(node, scope.inner())]
            nodes_ = [chosen[place] for place in range(len(parameters))]
            text += arguments(number, self.grammar, before, parameters, nodes_, used)
            text += [line for node in call.way for line in way(number, node, scope)]
        return "\n".join(text)


def way(number: int, node: Node, scope: Scope) -> list[str]:
    """Return the lines of a function that makes a call."""
    inner = scope.inner(is_function=True)
    return [f"def call_{number}(program, *args):", *("    " + line for line in lines(node, inner)), ""]


def returned(scope: Scope, body: Sequence[str]) -> str:
    """Return the statement that returns the variables that a body assigns."""
    names = [name for kind in scope.assignable if kind not in ITERATORS for name in scope.assignable[kind]]
    text = "\n".join(body)
    return f"return [{', '.join(name for name in names if re.search(rf'{name}( [-+*|]?=|,.* =| :=)', text))}]"


def arguments(
    number: int,
    grammar: Grammar,
    before: list[str],
    parameters: Sequence[tuple[str, str]],
    nodes_: Sequence[Node],
    used: list[str],
) -> list[str]:
    """Return the lines of a function that makes the arguments of a call."""
    scope = Scope(grammar)
    made: dict[str, str] = {}
    for (kind, name), node in zip(parameters, nodes_, strict=True):
        made[name] = "\n".join(lines(node, scope))
        scope.add(kind, name, is_assignable=False)
    needed = set(used)
    for _, name in reversed(parameters):
        if name in needed:
            needed |= {other for _, other in parameters if re.search(rf"\b{other}\b", made[name])}
    inner = [f"    {line}" for line in [*declared(grammar, before), *before]]
    inner += [f"    {name} = {made[name]}" for _, name in parameters if name in needed]
    result = "".join(f"{name}, " for name in used).rstrip()
    return [f"def arguments_{number}():", *inner, f"    return ({result})", ""]


def argument(grammar: Grammar, kind: str) -> st.SearchStrategy[Node]:
    """Return a strategy of arguments of a kind."""
    plain = nodes(grammar, grammar.arguments[kind], 0, Place(0))
    aliases = grammar.aliases.get(kind)
    return plain | nodes(grammar, aliases, 0, Place(0)) if aliases else plain


def changed_argument(grammar: Grammar, place: int) -> st.SearchStrategy[tuple[int, Node]]:
    """Return a strategy of other arguments for a parameter, with its number."""
    return st.tuples(st.just(place), argument(grammar, grammar.parameters[place]))


def some(
    grammar: Grammar, templates: tuple[str, ...], depth: int, most: int
) -> st.SearchStrategy[tuple[Node, ...]]:
    """Return a strategy of at most so many nodes; none where there are no templates."""
    if not templates:
        return st.just(())
    return st.lists(nodes(grammar, templates, depth, Place(2)), max_size=most).map(tuple)


@cache
def trees(grammar: Grammar) -> st.SearchStrategy[Tree]:
    """Return a strategy of programs; those of groups are small, as many calls are made of them."""
    least, most, depth = (1, 6, 3) if grammar.name == PLAIN.name else (2, 5, 2)
    if grammar.most_statements:
        least, most = grammar.most_statements // 2, grammar.most_statements
    places = st.sampled_from(range(len(grammar.parameters)))
    changes = st.lists(places.flatmap(lambda place: changed_argument(grammar, place)), max_size=4).map(tuple)
    ways = some(grammar, grammar.calls, 1, 1)
    further = st.lists(
        st.builds(Call, some(grammar, grammar.before, 1, 2), changes, ways),
        min_size=1,
        max_size=grammar.most_calls,
    )
    return st.builds(
        Tree,
        st.just(grammar),
        some(grammar, grammar.definitions, 2, 2),
        blocks(grammar, Place(depth), most, least),
        st.tuples(*(argument(grammar, kind) for kind in grammar.parameters)),
        st.tuples(st.builds(Call, way=ways), further).map(lambda both: (both[0], *both[1])),
    )


def drawn(names: tuple[str, ...] = (), *, known: bool = False) -> st.SearchStrategy[tuple[str, str]]:
    """Return a strategy of the name of a group and the text of one of its programs."""
    chosen = st.sampled_from(grammars(names, known=known))
    return chosen.flatmap(lambda one: trees(one).map(lambda tree: (one.name, tree.source())))


def programs() -> st.SearchStrategy[str]:
    """Return a strategy of the text of programs of all groups."""
    return drawn().map(lambda pair: pair[1])
