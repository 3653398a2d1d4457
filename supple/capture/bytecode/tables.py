"""What differs between Python versions, and what each normal op does to the stack, as data."""

import opcode
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, cast


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one CPython version spells what the normal form says in one way.

    Attributes:
        null_follows_callable: calls find (callable, NULL), not (NULL, callable).
        precall: CALL comes after PRECALL, conditional jumps have a direction in their name, and
            intrinsics are ops of their own that push nothing.
        keyword_call: keyword names are a constant below CALL_KW, not a KW_NAMES before CALL.
        method_bit: LOAD_ATTR's lowest bit makes it a method load.
        unchecked_loads: LOAD_FAST of an unbound local is undefined; LOAD_FAST_CHECK raises.
        compare_shift: bits below the operator in COMPARE_OP's operand.
        compare_masks: the low bits of COMPARE_OP's operand, by operator.
        exact_bools: POP_JUMP_IF_TRUE, POP_JUMP_IF_FALSE and UNARY_NOT take only True and False.
        cleanups: the ops at the target of a jump that leave the stack as the normal jump leaves it.
        yield_depth: YIELD_VALUE's operand is how many handlers enclose it.
        yield_kind: YIELD_VALUE's operand is whether it delegates, and RESUME's bit 2 is whether only one
            handler encloses it.
        split_make_function: attributes come one by one through SET_FUNCTION_ATTRIBUTE.
        closure_is_local: cells are pushed by LOAD_FAST.
        calls_look_back: what a function in Python raises is caught by the handler of the code unit that
            stands before its call.
        bound_exits: `with` keeps `__exit__` in two slots, as a method load leaves them.
        null_for_keywords: CALL_FUNCTION_EX takes a NULL where there are no keyword arguments.
    """

    null_follows_callable: bool = False
    precall: bool = False
    keyword_call: bool = False
    method_bit: bool = True
    unchecked_loads: bool = True
    compare_shift: int = 4
    compare_masks: tuple[int, ...] = (2, 10, 8, 7, 4, 12)
    exact_bools: bool = False
    cleanups: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    yield_depth: bool = False
    yield_kind: bool = False
    split_make_function: bool = False
    closure_is_local: bool = False
    calls_look_back: bool = False
    bound_exits: bool = False
    null_for_keywords: bool = False


_3_13: Final = Dialect(
    null_follows_callable=True,
    keyword_call=True,
    compare_shift=5,
    exact_bools=True,
    cleanups={"FOR_ITER": ("END_FOR", "POP_TOP"), "SEND": ("END_SEND",)},
    yield_kind=True,
    split_make_function=True,
    closure_is_local=True,
    calls_look_back=True,
)

DIALECTS: Final = {
    (3, 11): Dialect(
        precall=True, method_bit=False, unchecked_loads=False, compare_shift=0, compare_masks=(0,) * 6
    ),
    (3, 12): Dialect(yield_depth=True, cleanups={"FOR_ITER": ("END_FOR",), "SEND": ("END_SEND",)}),
    (3, 13): _3_13,
    # Decoded and encoded, not captured: no rule of the tracer knows LOAD_SPECIAL and templates yet.
    (3, 14): replace(
        _3_13,
        cleanups={"FOR_ITER": ("END_FOR", "POP_ITER"), "SEND": ("END_SEND",)},
        bound_exits=True,
        null_for_keywords=True,
    ),
}

DIALECT: Final = DIALECTS[sys.version_info[:2]]

COMPARISONS: Final = tuple(opcode.cmp_op)
BINARY_SYMBOLS: Final = tuple(symbol for _, symbol in cast("list[tuple[str, str]]", vars(opcode)["_nb_ops"]))
FUNCTION_PARTS: Final = {1: "defaults", 2: "kwdefaults", 4: "annotations", 8: "closure", 16: "annotate"}
SUBSCRIPT: Final = "[]"
"""The operator by which BINARY_OP, from 3.14, says BINARY_SUBSCR."""
SPECIAL_METHODS: Final = tuple(cast("list[str]", vars(opcode).get("_special_method_names", [])))
COMMON_CONSTANTS: Final = tuple(cast("list[object]", vars(opcode).get("_common_constants", [])))
"""What LOAD_COMMON_CONSTANT pushes, by its operand."""
SMALL_INTS: Final = 256 if "LOAD_SMALL_INT" in opcode.opmap else 0
"""How many numbers, from 0, stand in operands."""

# Intrinsics that have a normal op of their own; the others are INTRINSIC_1 and INTRINSIC_2 with a name.
NAMED_INTRINSICS: Final = frozenset(
    {
        "ASYNC_GEN_WRAP",
        "IMPORT_STAR",
        "LIST_TO_TUPLE",
        "PREP_RERAISE_STAR",
        "PRINT",
        "STOPITERATION_ERROR",
        "UNARY_POSITIVE",
    }
)


def _intrinsics(table: str) -> tuple[str, ...]:
    names = cast("list[str]", vars(opcode).get(table, []))
    return tuple(name.removeprefix("INTRINSIC_") for name in names)


INTRINSICS_1: Final = _intrinsics("_intrinsic_1_descs")
INTRINSICS_2: Final = _intrinsics("_intrinsic_2_descs")

# 3.13 pushes an exact bool from these, so no truth test has to come between one and a branch.
BOOL_OPS: Final = frozenset(
    {
        "CHECK_EXC_MATCH",
        "COMPARE_OP",
        "CONTAINS_OP",
        "IS_OP",
        "MATCH_MAPPING",
        "MATCH_SEQUENCE",
        "TO_BOOL",
        "UNARY_NOT",
    }
)

# What may run a function in Python in the loop that runs its caller: a call, a property, a `__getitem__`, a
# generator.
RUN_PYTHON: Final = frozenset(
    {"BINARY_SUBSCR", "CALL", "CALL_FUNCTION_EX", "CALL_KW", "FOR_ITER", "LOAD_ATTR", "LOAD_METHOD", "SEND"}
)

# Ops whose operand is one flag: inverted.
FLAGGED: Final = ("IS_OP", "CONTAINS_OP")

# 3.11's conditional jumps by direction, and what the jump on the opposite condition is called.
CONDITIONS: Final = ("TRUE", "FALSE", "NONE", "NOT_NONE")
OPPOSITE: Final = {
    "POP_JUMP_IF_TRUE": "POP_JUMP_IF_FALSE",
    "POP_JUMP_IF_FALSE": "POP_JUMP_IF_TRUE",
    "POP_JUMP_IF_NONE": "POP_JUMP_IF_NOT_NONE",
    "POP_JUMP_IF_NOT_NONE": "POP_JUMP_IF_NONE",
}

ENDS: Final = frozenset({"JUMP", "RAISE_VARARGS", "RERAISE", "RETURN_VALUE"})

Effect = tuple[int, int]


def _count(arg: object) -> int:
    assert isinstance(arg, int), f"the operand {arg!r} is no count"
    return arg


def _collect(arg: object) -> Effect:
    return _count(arg), 1


def _peek(arg: object) -> Effect:
    return _count(arg) + 1, _count(arg)


def _call(arg: object) -> Effect:
    positional, keywords = cast("tuple[int, tuple[str, ...]]", arg)
    return positional + len(keywords) + 2, 1


def _unpack_ex(arg: object) -> Effect:
    before, after = cast("tuple[int, int]", arg)
    return 1, before + 1 + after


def _super(arg: object) -> Effect:
    _, is_method, _ = cast("tuple[str, bool, bool]", arg)
    return 3, 1 + is_method


def _format(arg: object) -> Effect:
    _, has_spec = cast("tuple[int, bool]", arg)
    return 1 + has_spec, 1


_BY_EFFECT: Final[dict[Effect, str]] = {
    (0, 0): "COPY_FREE_VARS DELETE_DEREF DELETE_FAST DELETE_GLOBAL DELETE_NAME JUMP MAKE_CELL NOP"
    " SETUP_ANNOTATIONS",
    (0, 1): "LOAD_ASSERTION_ERROR LOAD_BUILD_CLASS LOAD_CLOSURE LOAD_CONST LOAD_DEREF LOAD_FAST"
    " LOAD_FAST_AND_CLEAR LOAD_GLOBAL LOAD_LOCALS LOAD_NAME PUSH_NULL RETURN_GENERATOR",
    (1, 0): "DELETE_ATTR POP_EXCEPT POP_JUMP_IF_FALSE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE"
    " POP_JUMP_IF_TRUE POP_TOP RETURN_VALUE STORE_DEREF STORE_FAST STORE_GLOBAL STORE_NAME",
    (1, 1): "ASYNC_GEN_WRAP CONVERT_VALUE GET_AITER GET_AWAITABLE GET_ITER GET_YIELD_FROM_ITER IMPORT_STAR"
    " INTRINSIC_1 LIST_TO_TUPLE LOAD_ATTR LOAD_FROM_DICT_OR_DEREF LOAD_FROM_DICT_OR_GLOBALS PRINT"
    " STOPITERATION_ERROR TO_BOOL UNARY_INVERT UNARY_NEGATIVE UNARY_NOT UNARY_POSITIVE YIELD_VALUE",
    (1, 2): "BEFORE_ASYNC_WITH BEFORE_WITH FOR_ITER GET_ANEXT GET_LEN IMPORT_FROM LOAD_METHOD"
    " LOAD_SPECIAL MATCH_MAPPING MATCH_SEQUENCE PUSH_EXC_INFO",
    (2, 0): "DELETE_SUBSCR END_ASYNC_FOR STORE_ATTR",
    (2, 1): "BINARY_OP BINARY_SUBSCR BUILD_TEMPLATE COMPARE_OP CONTAINS_OP END_SEND IMPORT_NAME INTRINSIC_2"
    " IS_OP PREP_RERAISE_STAR SET_FUNCTION_ATTRIBUTE",
    (2, 2): "CHECK_EG_MATCH CHECK_EXC_MATCH SEND",
    (2, 3): "MATCH_KEYS",
    (3, 0): "STORE_SUBSCR",
    (3, 1): "BINARY_SLICE MATCH_CLASS",
    (3, 2): "CLEANUP_THROW",
    (4, 0): "STORE_SLICE",
    (5, 6) if DIALECT.bound_exits else (4, 5): "WITH_EXCEPT_START",
}

EFFECTS: Final[dict[str, Effect | Callable[[object], Effect]]] = {
    **{op: effect for effect, ops in _BY_EFFECT.items() for op in ops.split()},
    # `or`-jumps pop only when they do not jump.
    "JUMP_IF_FALSE_OR_POP": (1, 0),
    "JUMP_IF_TRUE_OR_POP": (1, 0),
    "BUILD_CONST_KEY_MAP": lambda arg: (_count(arg) + 1, 1),
    "BUILD_INTERPOLATION": lambda arg: (2 + (_count(arg) & 1), 1),
    "BUILD_LIST": _collect,
    "BUILD_MAP": lambda arg: (2 * _count(arg), 1),
    "BUILD_SET": _collect,
    "BUILD_SLICE": _collect,
    "BUILD_STRING": _collect,
    "BUILD_TUPLE": _collect,
    "CALL": _call,
    "CALL_FUNCTION_EX": lambda arg: (3 + bool(arg), 1),
    "COPY": lambda arg: (_count(arg), _count(arg) + 1),
    "DICT_MERGE": _peek,
    "DICT_UPDATE": _peek,
    "FORMAT_VALUE": _format,
    "LIST_APPEND": _peek,
    "LIST_EXTEND": _peek,
    "LOAD_SUPER_ATTR": _super,
    "MAKE_FUNCTION": lambda arg: (1 + len(cast("frozenset[str]", arg)), 1),
    "MAP_ADD": lambda arg: (_count(arg) + 2, _count(arg)),
    "RAISE_VARARGS": lambda arg: (_count(arg), 0),
    # The offset that a re-raise may restore stays on the stack.
    "RERAISE": lambda arg: (1 + _count(arg), _count(arg)),
    "SET_ADD": _peek,
    "SET_UPDATE": _peek,
    "SWAP": lambda arg: (_count(arg), _count(arg)),
    "UNPACK_EX": _unpack_ex,
    "UNPACK_SEQUENCE": lambda arg: (1, _count(arg)),
}

# What a jump does on the way to its target, where it differs from falling through.
TAKEN: Final[dict[str, Effect]] = {
    "FOR_ITER": (1, 0),
    "JUMP_IF_FALSE_OR_POP": (1, 1),
    "JUMP_IF_TRUE_OR_POP": (1, 1),
    "SEND": (2, 1),
}


def effect(op: str, arg: object) -> Effect:
    """Return how many values `op` pops and pushes when control goes on to the next instruction.

    Raises:
        ValueError: for what is no normal op.
    """
    entry = EFFECTS.get(op)
    if entry is None:
        raise ValueError(f"there is no op {op}")
    return entry(arg) if callable(entry) else entry
