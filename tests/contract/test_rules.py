"""What each rule table must cover, and that every event is emitted.

A new table that has to be complete gets a row in COVERAGE; a key without a rule stands in its `holes`.
"""

import ast
import functools
import importlib
import pkgutil
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import get_args

import pytest

import supple
from supple.base.events import Event
from supple.base.rules import Rules
from supple.codegen.cpu import reduce
from supple.expr.nodes import KINDS, BoolExpr, Const, Expr, Symbol, Truth
from supple.expr.python import PYTHON
from supple.ir.host import text as host_text
from supple.ir.host.nodes import Step
from supple.ir.loops import spec
from supple.ir.loops import text as loops_text
from supple.ir.loops.nodes import Statement
from supple.ir.loops.scalar_ops import SCALAR_OPS, Operands
from tests.contract.package import sources


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which keys a table must have.

    Attributes:
        table: "module:name" of the table.
        keys: returns the keys that need a rule.
        holes: keys that are declared to have none.
    """

    table: str
    keys: Callable[[], Iterable[Hashable]]
    holes: frozenset[Hashable] = frozenset()


def leaves(root: type) -> set[type]:
    """Return the subclasses of a class that have no subclasses."""
    below = root.__subclasses__()
    return set().union(*(leaves(child) for child in below)) if below else {root}


def integer_expressions() -> set[type]:
    return leaves(Expr) - leaves(BoolExpr)


def loop_statements() -> tuple[type, ...]:
    return get_args(Statement)


def reductions() -> Iterable[Hashable]:
    return spec.reductions


COVERAGE = (
    Coverage("supple.expr.interval:transfer", integer_expressions),
    Coverage("supple.expr.text:printers", lambda: leaves(Expr)),
    Coverage("supple.ir.loops.meaning:meanings", lambda: SCALAR_OPS),
    Coverage("supple.ir.loops.types:operand_rules", lambda: Operands),
    Coverage("supple.ir.loops.interp:runners", loop_statements),
    Coverage("supple.ir.loops.spec:checks", loop_statements),
    Coverage("supple.codegen.cpu.scalars:scalars", lambda: SCALAR_OPS),
    Coverage("supple.codegen.cpu.statements:write_rules", loop_statements),
    Coverage("supple.codegen.cpu.index:evaluators", integer_expressions),
    Coverage("supple.codegen.cpu.index:stride_rules", lambda: integer_expressions() - {Const}),
    Coverage("supple.ir.loops.interp:reductions", reductions),
)


def tables() -> dict[str, Rules[Callable[..., object]]]:
    """Return every rule table of the package by "module:name", with all rules registered."""
    for module in pkgutil.walk_packages(supple.__path__, "supple."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return {
        f"{source.dotted}:{name}": value
        for source in sources()
        if not source.dotted.endswith("__main__")
        for name, value in vars(importlib.import_module(source.dotted)).items()
        if isinstance(value, Rules)
    }


def test_no_table_is_empty() -> None:
    assert [name for name, table in tables().items() if not len(table)] == []


def test_tables_have_names_of_their_own() -> None:
    names = [table.name for table in {id(table): table for table in tables().values()}.values()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("coverage", COVERAGE, ids=lambda coverage: coverage.table)
def test_a_table_covers_its_keys(coverage: Coverage) -> None:
    assert tables()[coverage.table].unclaimed(coverage.keys()) == coverage.holes


def test_every_statement_step_and_operator_has_its_form() -> None:
    assert set(loop_statements()) == loops_text.FORMS.keys()
    assert set(get_args(Step)) == host_text.FORMS.keys()
    assert leaves(Expr) - {Const, Symbol, Truth} == set(KINDS.values())
    assert KINDS.keys() <= PYTHON.keys()
    assert set(reductions()) == {*reduce.KINDS, "argmax", "argmin"}


@functools.cache
def constructed() -> frozenset[str]:
    """Return the names of all that the package calls, base.events itself left out."""
    return frozenset(
        node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        for source in sources()
        if source.name != "base/events.py"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute)
    )


@pytest.mark.parametrize("event", sorted({event.__name__ for event in leaves(Event)}))
def test_an_event_is_emitted(event: str) -> None:
    assert event in constructed()
