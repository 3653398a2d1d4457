"""Every normal opcode has a rule, and every rule is for a normal opcode."""

from typing import Final

from supple.capture.bytecode.tables import EFFECTS
from supple.capture.frame import OPCODE_RULES
from supple.capture.interp.frame import opcode

DECLARED_BREAKS: Final = frozenset(
    {
        # Bodies of classes and modules, which are never captured.
        "DELETE_NAME", "IMPORT_STAR", "LOAD_FROM_DICT_OR_DEREF", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_LOCALS",
        "PRINT", "STORE_NAME",
        # Type parameters of functions and classes, and asynchronous generators.
        "INTRINSIC_1", "INTRINSIC_2",
        # The compiler of 3.13 writes it where it joins MAKE_FUNCTION.
        "SET_FUNCTION_ATTRIBUTE",
        # 3.14 writes them for `with` and for t-strings; no torch has run there yet.
        "BUILD_INTERPOLATION", "BUILD_TEMPLATE", "LOAD_SPECIAL",
    }
)  # fmt: skip
"""Opcodes without a rule: capture gives up at them with B101."""


def test_every_normal_opcode_has_a_rule_or_is_a_declared_break():
    assert OPCODE_RULES, "the modules that fill the table are loaded"
    assert opcode.unclaimed(EFFECTS) == DECLARED_BREAKS


def test_every_opcode_rule_is_for_a_normal_opcode():
    assert {str(op) for op in opcode} <= set(EFFECTS)
