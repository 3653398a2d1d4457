"""CPython's own tests, each compiled: what passes in Python passes compiled, but for what KNOWN says.

The tests are those of the running Python (`test` of its standard library); a Python without them skips.
"""

import contextlib
import importlib
import io
import unittest
from collections.abc import Iterator

import pytest

import supple

pytestmark = pytest.mark.sweep

STEPS = 60_000
"""Where capture gives up: of the tests that sort for millions of instructions, the rest runs eager."""
TRACE = "sys.settrace sees no line of captured code"
KNOWN: dict[str, dict[str, str]] = {
    "test_augassign": {},
    "test_binop": {},
    "test_bisect": {},
    "test_bool": {},
    "test_call": {},
    "test_compare": {},
    "test_defaultdict": {},
    "test_dictcomps": {},
    "test_dictviews": {},
    "test_copy": {},
    "test_fractions": {},
    "test_fstring": {},
    "test_funcattrs": {},
    "test_grammar": {},
    "test_isinstance": {},
    "test_keywordonlyarg": {},
    "test_named_expressions": {},
    "test_opcodes": {},
    "test_patma": {
        "test_default_capture": TRACE,
        "test_default_wildcard": TRACE,
        "test_no_default": TRACE,
        "test_only_default_capture": TRACE,
        "test_only_default_wildcard": TRACE,
        "test_unreachable_code": TRACE,
    },
    "test_positional_only_arg": {},
    "test_property": {},
    "test_raise": {},
    "test_reprlib": {},
    "test_richcmp": {},
    "test_scope": {},
    "test_subclassinit": {},
    "test_super": {},
    "test_with": {},
    "test_abc": {},
    "test_baseexception": {},
    "test_contains": {},
    "test_decorators": {},
    "test_dynamicclassattribute": {},
    "test_except_star": {},
    "test_exception_variations": {},
    "test_generator_stop": {},
    "test_sort": {},
    "test_string": {},
    "test_userdict": {},
    "test_userlist": {},
    "test_weakset": {},
    "test_yield_from": {},
}
"""Of each module, the tests that fail compiled, and why."""


def each_test(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from each_test(one)
        elif isinstance(one, unittest.TestCase) and hasattr(type(one), one.id().rpartition(".")[2]):
            yield one


def outcome(test: unittest.TestCase, *, is_compiled: bool) -> str | None:
    """Run one test; return what went wrong, "" when nothing did and None when it was skipped."""
    kind, name = type(test), test.id().rpartition(".")[2]
    made = kind(name)
    if is_compiled:
        compiled = supple.compile(getattr(kind, name), backend="eager", options={"step_limit": STEPS})
        setattr(made, name, compiled.__get__(made, kind))
    result = unittest.TestResult()
    with contextlib.redirect_stdout(io.StringIO()):
        made.run(result)
    if result.skipped:
        return None
    return "".join(text for _, text in (*result.errors, *result.failures))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module", KNOWN)
def test_passes_compiled(module: str) -> None:
    found = pytest.importorskip(f"test.{module}")
    suite = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(found.__name__))
    wrong: dict[str, str] = {}
    ran = 0
    for test in each_test(suite):
        if outcome(test, is_compiled=False) == "":
            ran += 1
            text = outcome(test, is_compiled=True)
            supple.reset()
            if text:
                wrong[test.id().rpartition(".")[2]] = text
    assert ran
    assert not wrong.keys() - KNOWN[module].keys(), "\n".join(wrong.values())
    assert not KNOWN[module].keys() - wrong.keys(), "these pass by now"
