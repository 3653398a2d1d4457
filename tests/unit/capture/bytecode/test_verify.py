"""Code objects that must not run are found: CPython's own library passes, and damaged code does not."""

import opcode
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from supple.capture.bytecode.verify import MalformedCode, Op, operations, verified

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
MODULES = ("argparse", "textwrap", "functools", "contextlib", "asyncio/queues", "json/decoder", "enum")
NOP = opcode.opmap["NOP"]


def nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested(constant)


def codes(name: str) -> list[types.CodeType]:
    path = LIBRARY / f"{name}.py"
    return list(nested(compile(path.read_bytes(), str(path), "exec", dont_inherit=True)))


@pytest.mark.parametrize("name", MODULES)
def test_the_library_passes(name: str) -> None:
    for code in codes(name):
        assert verified(code) is code


def with_op(code: types.CodeType, op: Op, name: str, arg: int = 0) -> types.CodeType:
    """Return the code with another instruction in one place."""
    changed = bytearray(code.co_code)
    changed[op.offset : op.offset + 2] = bytes((opcode.opmap[name], arg))
    return code.replace(co_code=bytes(changed))


def with_arg(code: types.CodeType, op: Op, arg: int) -> types.CodeType:
    """Return the code with another operand in one place, where it fits into a byte."""
    return with_op(code, op, op.name, arg)


def first(code: types.CodeType, *names: str) -> Iterator[Op]:
    """Yield the instructions of these names that have no prefix."""
    yield from (op for op in operations(code.co_code) if op.name in names and op.begin == op.offset)


def dropped(*names: str) -> Callable[[types.CodeType], Iterator[types.CodeType]]:
    return lambda code: (with_op(code, op, "NOP") for op in first(code, *names))


def out_of_range(
    size: Callable[[types.CodeType], int], *names: str
) -> Callable[[types.CodeType], Iterator[types.CodeType]]:
    def damaged(code: types.CodeType) -> Iterator[types.CodeType]:
        for op in first(code, *names):
            shift = 1 if op.name == "LOAD_GLOBAL" else 0
            if size(code) << shift <= 255:
                yield with_arg(code, op, size(code) << shift)

    return damaged


def variables(code: types.CodeType) -> int:
    return len({*code.co_varnames, *code.co_cellvars}) + len(code.co_freevars)


def jumps_too_far(code: types.CodeType) -> Iterator[types.CodeType]:
    for op in operations(code.co_code):
        if op.target is not None and op.begin == op.offset and len(code.co_code) < 400:
            yield with_arg(code, op, 255)


def a_smaller_stack(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code.replace(co_stacksize=0)


def a_handler_that_wants_more(code: types.CodeType) -> Iterator[types.CodeType]:
    table = bytearray(code.co_exceptiontable)
    if table and table[-1] < 32:  # the depth of the last entry, in one byte
        table[-1] += 30
        yield code.replace(co_exceptiontable=bytes(table))


def no_cell(code: types.CodeType) -> Iterator[types.CodeType]:
    plain = [place for place, name in enumerate(code.co_varnames) if name not in code.co_cellvars]
    for op in first(code, "LOAD_DEREF", "STORE_DEREF"):
        if plain:
            yield with_arg(code, op, plain[0])


def no_names_of_keywords(code: types.CodeType) -> Iterator[types.CodeType]:
    other = [place for place, constant in enumerate(code.co_consts) if not isinstance(constant, tuple)]
    for op in first(code, "KW_NAMES"):
        if other and other[0] < 256:
            yield with_arg(code, op, other[0])


def delegates_to_nobody(code: types.CodeType) -> Iterator[types.CodeType]:
    for op in first(code, "RESUME"):
        if op.arg == 1:  # behind a plain `yield`
            yield with_arg(code, op, 2)


DAMAGE: dict[str, Callable[[types.CodeType], Iterator[types.CodeType]]] = {
    "a NULL is not pushed": dropped("PUSH_NULL"),
    "a value is not pushed": dropped("LOAD_CONST", "LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_SMALL_INT"),
    "there is no return": dropped("RETURN_VALUE"),
    "free variables are not copied": dropped("COPY_FREE_VARS"),
    "cells are not made": dropped("MAKE_CELL"),
    "no such constant": out_of_range(lambda code: len(code.co_consts), "LOAD_CONST", "RETURN_CONST"),
    "no such name": out_of_range(lambda code: len(code.co_names), "LOAD_NAME", "STORE_NAME", "LOAD_GLOBAL"),
    "no such variable": out_of_range(
        variables, "LOAD_FAST", "LOAD_FAST_BORROW", "STORE_FAST", "LOAD_DEREF", "STORE_DEREF"
    ),
    "no cell": no_cell,
    "no names of keywords": no_names_of_keywords,
    "a jump too far": jumps_too_far,
    "a smaller stack": a_smaller_stack,
    "a handler that wants more": a_handler_that_wants_more,
}
if sys.version_info < (3, 12):  # whose `throw` reads the code
    DAMAGE["delegates to nobody"] = delegates_to_nobody
"""Kinds of damage that end the process, or read foreign memory, wherever the code is run."""


OFTEN_HARMLESS: dict[str, float] = {
    "a NULL is not pushed": 0.85,
    "a value is not pushed": 0.8,
    "there is no return": 0.8,
    "a smaller stack": 0.85,
}
"""Kinds that may do no harm to memory, and the least share that is found: paths raise, or need no stack,
and a call may take a value below its own for its callable, so that a wrong object is called."""


def is_found(code: types.CodeType) -> bool:
    try:
        verified(code)
    except MalformedCode:
        return True
    return False


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_code_is_found(kind: str) -> None:
    tried = [code for name in MODULES for whole in codes(name) for code in DAMAGE[kind](whole)]
    found = sum(map(is_found, tried))
    assert found >= OFTEN_HARMLESS.get(kind, 1.0) * len(tried), f"{found} of {len(tried)}"
    assert tried or kind in ("no names of keywords", "a NULL is not pushed"), "nothing to damage"


def test_the_error_shows_the_place() -> None:
    code = (lambda x: x + 1.5).__code__
    op = next(first(code, "LOAD_CONST"))
    with pytest.raises(
        MalformedCode, match=r"<lambda> at \d+: there are [12] constants\n(.*\n)*  >.*LOAD_CONST 9"
    ):
        verified(with_arg(code, op, 9))
