"""New code objects: what normal instructions say is what the running interpreter does."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from types import CellType, CodeType, FunctionType

import pytest

from supple.capture.bytecode import (
    Header,
    Instruction,
    Jump,
    Label,
    Position,
    Protected,
    assemble,
    decode,
    encode,
)

OPTIMIZED, NEW_LOCALS, GENERATOR = 1, 2, 32
Item = Instruction | Jump | Label


def header(*names: str, arguments: int = 0, flags: int = OPTIMIZED | NEW_LOCALS) -> Header:
    return Header(
        name="made",
        qualname="here.made",
        filename="<made>",
        firstlineno=7,
        flags=flags,
        argcount=arguments,
        varnames=names,
    )


def made(items: Sequence[Item], like: Header, **variables: object) -> FunctionType:
    return FunctionType(assemble(items, like=like), {"__builtins__": __builtins__, **variables})


def ops(*lines: tuple[object, ...]) -> list[Item]:
    return [Instruction(str(op), *rest) for op, *rest in lines]


def test_the_header_is_kept() -> None:
    code = assemble(
        ops(("LOAD_CONST", 1), ("RETURN_VALUE",)),
        like=replace(header("a", "b", arguments=1), docstring="Doc.", freevars=("c",), cellvars=("d",)),
    )
    assert (code.co_name, code.co_qualname, code.co_filename) == ("made", "here.made", "<made>")
    assert (code.co_firstlineno, code.co_argcount, code.co_varnames) == (7, 1, ("a", "b"))
    assert (code.co_freevars, code.co_cellvars) == (("c",), ("d",))
    assert code.co_consts[0] == "Doc."


def test_no_constant_becomes_a_docstring() -> None:
    function = made(ops(("LOAD_CONST", "text"), ("RETURN_VALUE",)), header())
    assert function() == "text"
    assert function.__doc__ is None


@pytest.mark.parametrize("load", [("LOAD_FAST", "g"), ("LOAD_GLOBAL", "g")])
def test_a_call_takes_the_null_before_the_callable(load: tuple[str, str]) -> None:
    items = ops(
        ("PUSH_NULL",), load, ("LOAD_CONST", 1), ("LOAD_CONST", 2), ("CALL", (1, ("k",))), ("RETURN_VALUE",)
    )
    function = made(items, header("g", arguments=1), g=lambda x, k: (x, k))
    assert function(lambda x, k: (x, k)) == (1, 2)


def test_a_call_takes_the_null_swapped_below_the_callable() -> None:
    items = ops(("LOAD_FAST", "g"), ("PUSH_NULL",), ("SWAP", 2), ("CALL", (0, ())), ("RETURN_VALUE",))
    assert made(items, header("g", arguments=1))(lambda: 3) == 3


def test_a_call_of_an_attribute_of_a_global_takes_the_null_before_it() -> None:
    items = ops(
        ("PUSH_NULL",),
        ("LOAD_GLOBAL", "pair"),
        ("LOAD_ATTR", "imag"),
        ("LOAD_ATTR", "__add__"),
        ("LOAD_CONST", 1.5),
        ("CALL", (1, ())),
        ("RETURN_VALUE",),
    )
    assert made(items, header(), pair=2j)() == 3.5


def test_a_call_of_a_chosen_callable_takes_the_null_before_the_choice() -> None:
    other, end = Label(), Label()
    items: list[Item] = [
        Instruction("PUSH_NULL"),
        Instruction("LOAD_FAST", "x"),
        Jump("POP_JUMP_IF_FALSE", other),
        Instruction("LOAD_GLOBAL", "len"),
        Jump("JUMP", end),
        other,
        Instruction("LOAD_GLOBAL", "list"),
        end,
        Instruction("PUSH_NULL"),
        Instruction("LOAD_GLOBAL", "sorted"),
        Instruction("LOAD_FAST", "x"),
        Instruction("CALL", (1, ())),
        Instruction("CALL", (1, ())),
        Instruction("RETURN_VALUE"),
    ]
    function = made(items, header("x", arguments=1))
    assert function([2, 1]) == 2
    assert function(()) == []


@pytest.mark.parametrize("has_kwargs", [False, True])
def test_a_call_with_stars_takes_the_null_before_the_callable(has_kwargs: bool) -> None:
    items = ops(
        ("PUSH_NULL",),
        ("LOAD_FAST", "g"),
        ("LOAD_CONST", (1, 2)),
        *([("LOAD_FAST", "k")] if has_kwargs else []),
        ("CALL_FUNCTION_EX", has_kwargs),
        ("RETURN_VALUE",),
    )
    function = made(items, header("g", "k", arguments=2))
    assert function(lambda *a, **k: (a, k), {"z": 3}) == ((1, 2), {"z": 3} if has_kwargs else {})


def test_a_method_call_takes_what_load_method_pushes() -> None:
    items = ops(
        ("LOAD_FAST", "x"), ("LOAD_METHOD", "count"), ("LOAD_CONST", 1), ("CALL", (1, ())), ("RETURN_VALUE",)
    )
    assert made(items, header("x", arguments=1))([1, 1, 2]) == 2


def test_a_plain_attribute_is_called_through_load_method() -> None:
    items = ops(("LOAD_FAST", "x"), ("LOAD_METHOD", "real"), ("CALL", (0, ())), ("RETURN_VALUE",))

    class Holder:
        def __init__(self) -> None:
            self.real = lambda: 5

    assert made(items, header("x", arguments=1))(Holder()) == 5


@pytest.mark.parametrize(
    "op", ["POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE"]
)
@pytest.mark.parametrize("value", [None, 0, 1, [], [0], "x"])
def test_a_conditional_jump_goes_either_way_in_either_direction(op: str, value: object) -> None:
    taken = {
        "POP_JUMP_IF_TRUE": bool(value),
        "POP_JUMP_IF_FALSE": not value,
        "POP_JUMP_IF_NONE": value is None,
        "POP_JUMP_IF_NOT_NONE": value is not None,
    }[op]
    back, start, forward = Label(), Label(), Label()
    items: list[Item] = [
        Jump("JUMP", start),
        back,
        *ops(("LOAD_CONST", "back"), ("RETURN_VALUE",)),
        start,
        Instruction("LOAD_FAST", "x"),
        Jump(op, forward),
        *ops(("LOAD_CONST", "on"), ("RETURN_VALUE",)),
        forward,
        Instruction("LOAD_FAST", "x"),
        Jump(op, back),
        *ops(("LOAD_CONST", "never"), ("RETURN_VALUE",)),
    ]
    assert made(items, header("x", arguments=1))(value) == ("back" if taken else "on")


@pytest.mark.parametrize(
    ("op", "expected"), [("JUMP_IF_TRUE_OR_POP", [3, 4]), ("JUMP_IF_FALSE_OR_POP", [4, 0])]
)
def test_a_jump_or_pop_keeps_the_value_it_jumps_with(op: str, expected: list[int]) -> None:
    end = Label()
    items: list[Item] = [
        Instruction("LOAD_FAST", "x"),
        Jump(op, end),
        Instruction("LOAD_CONST", 4),
        end,
        Instruction("RETURN_VALUE"),
    ]
    function = made(items, header("x", arguments=1))
    assert [function(3), function(0)] == expected


def test_control_may_fall_into_the_end_of_a_loop() -> None:
    head, body, end = Label(), Label(), Label()
    items: list[Item] = [
        *ops(("LOAD_CONST", 0), ("STORE_FAST", "t"), ("LOAD_FAST", "xs"), ("GET_ITER",)),
        head,
        Jump("FOR_ITER", end),
        *ops(("COPY", 1), ("STORE_FAST", "t")),
        Jump("POP_JUMP_IF_FALSE", body),
        Jump("JUMP", head),
        body,
        Instruction("POP_TOP"),
        end,
        *ops(("LOAD_FAST", "t"), ("RETURN_VALUE",)),
    ]
    function = made(items, header("xs", "t", arguments=1))
    assert function([1, 2]) == 2
    assert function([1, 0, 2]) == 0
    assert function([]) == 0


def test_a_delegation_needs_no_clean_up_of_its_own() -> None:
    head, end = Label(), Label()
    items: list[Item] = [
        *ops(("RETURN_GENERATOR",), ("POP_TOP",), ("LOAD_FAST", "x"), ("GET_YIELD_FROM_ITER",)),
        Instruction("LOAD_CONST", None),
        head,
        Jump("SEND", end),
        Instruction("YIELD_VALUE", (2, False)),
        Jump("JUMP", head),
        end,
        Instruction("RETURN_VALUE"),
    ]
    code = assemble(items, like=header("x", arguments=1, flags=OPTIMIZED | NEW_LOCALS | GENERATOR))

    def inner() -> object:
        got = yield 1
        return got

    generator = FunctionType(code, {})(inner())
    assert next(generator) == 1
    with pytest.raises(StopIteration) as stop:
        generator.send("sent")
    assert stop.value.value == "sent"


def test_the_innermost_protected_range_catches() -> None:
    start, middle, inner_end, end, inner, outer = (Label() for _ in range(6))
    caught = ops(("PUSH_EXC_INFO",), ("POP_TOP",), ("POP_EXCEPT",))
    items: list[Item] = [
        start,
        Instruction("LOAD_FAST", "x"),
        Instruction("LOAD_ATTR", "real"),
        Instruction("POP_TOP"),
        middle,
        Instruction("LOAD_FAST", "x"),
        Instruction("UNARY_NEGATIVE"),
        Instruction("RETURN_VALUE"),
        inner_end,
        end,
        inner,
        *caught,
        *ops(("LOAD_CONST", "inner"), ("RETURN_VALUE",)),
        outer,
        *caught,
        *ops(("LOAD_CONST", "outer"), ("RETURN_VALUE",)),
    ]
    code = assemble(
        items,
        like=header("x", arguments=1),
        protected=[Protected(middle, inner_end, inner, 0), Protected(start, end, outer, 0)],
    )
    function = FunctionType(code, {})

    class Awkward:
        real = 1

    assert [function(1), function(Awkward()), function(object())] == [-1, "inner", "outer"]


@pytest.mark.parametrize(
    ("first", "second"), [(0.0, -0.0), (1, True), (1, 1.0), ((0,), (False,)), ("1", b"1")]
)
def test_constants_that_are_equal_stay_apart(first: object, second: object) -> None:
    items = ops(("LOAD_CONST", first), ("LOAD_CONST", second), ("BUILD_TUPLE", 2), ("RETURN_VALUE",))
    assert repr(made(items, header())()) == repr((first, second))


def test_any_object_is_a_constant_by_identity() -> None:
    one, two = bytearray(b"x"), bytearray(b"x")
    items = ops(
        ("LOAD_CONST", one), ("LOAD_CONST", two), ("LOAD_CONST", one), ("BUILD_TUPLE", 3), ("RETURN_VALUE",)
    )
    found = made(items, header())()
    assert [each is one for each in found] == [True, False, True]


class Raises:
    """Each way in which an instruction runs a function in Python, which raises."""

    def __call__(self, *_: object) -> object:
        raise KeyError

    __getitem__ = __iter__ = __call__
    real = property(__call__)


def raises(*_: object) -> object:
    raise KeyError


def raises_at_once() -> Iterator[object]:
    raise KeyError
    yield


CALLEE = ops(("PUSH_NULL",), ("LOAD_FAST", "x"))
ITEM = ops(("LOAD_FAST", "x"), ("LOAD_CONST", 0))
RUNS: dict[str, tuple[list[Item], Item, object]] = {
    "call": (CALLEE, Instruction("CALL", (0, ())), raises),
    "keywords": (
        [*CALLEE, Instruction("LOAD_CONST", 1)],
        Instruction("CALL", (0, ("k",))),
        lambda k: raises(k),
    ),
    "object": (CALLEE, Instruction("CALL", (0, ())), Raises()),
    "stars": ([*CALLEE, Instruction("LOAD_CONST", ())], Instruction("CALL_FUNCTION_EX", False), raises),
    "property": (ops(("LOAD_FAST", "x")), Instruction("LOAD_ATTR", "real"), Raises()),
    "subscript": (ITEM, Instruction("BINARY_SUBSCR"), Raises()),
    "in C": (ITEM, Instruction("BINARY_SUBSCR"), {}),
}


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("which", RUNS)
def test_a_region_of_one_instruction_catches_what_this_runs(which: str, depth: int) -> None:
    before, runs, argument = RUNS[which]
    start, end, handler = Label(), Label(), Label()
    caught = ops(
        ("PUSH_EXC_INFO",), ("POP_TOP",), ("POP_EXCEPT",), ("LOAD_CONST", "caught"), ("RETURN_VALUE",)
    )
    below = ops(("LOAD_CONST", "below")) * depth
    code = assemble(
        [*below, *before, start, runs, end, Instruction("RETURN_VALUE"), handler, *caught],
        like=header("x", arguments=1),
        protected=[Protected(start, end, handler, depth)],
    )
    function = FunctionType(code, {})
    assert [function(argument) for _ in range(20)] == ["caught"] * 20  # specialised meanwhile


@pytest.mark.parametrize("which", RUNS)
def test_a_region_that_ends_before_an_instruction_does_not_catch_what_this_runs(which: str) -> None:
    before, runs, argument = RUNS[which]
    start, end, handler = Label(), Label(), Label()
    caught = ops(
        ("PUSH_EXC_INFO",), ("POP_TOP",), ("POP_EXCEPT",), ("LOAD_CONST", "caught"), ("RETURN_VALUE",)
    )
    code = assemble(
        [start, *before, end, runs, Instruction("RETURN_VALUE"), handler, *caught],
        like=header("x", arguments=1),
        protected=[Protected(start, end, handler, 0)],
    )
    function = FunctionType(code, {})
    for _ in range(20):
        with pytest.raises(KeyError):
            function(argument)


def test_a_region_of_the_head_of_a_loop_catches_what_a_generator_raises() -> None:
    start, end, handler, after = Label(), Label(), Label(), Label()
    caught = ops(
        ("PUSH_EXC_INFO",), ("POP_TOP",), ("POP_EXCEPT",), ("LOAD_CONST", "caught"), ("RETURN_VALUE",)
    )
    code = assemble(
        [
            Instruction("LOAD_FAST", "x"),
            start,
            Jump("FOR_ITER", after),
            end,
            Instruction("RETURN_VALUE"),
            after,
            *ops(("LOAD_CONST", "empty"), ("RETURN_VALUE",)),
            handler,
            *caught,
        ],
        like=header("x", arguments=1),
        protected=[Protected(start, end, handler, 1)],
    )
    function = FunctionType(code, {})
    assert [function(raises_at_once()) for _ in range(20)] == ["caught"] * 20


def test_a_call_whose_callable_is_loaded_far_before_it() -> None:
    call = Label()
    items: list[Item] = [
        Instruction("PUSH_NULL"),
        Instruction("LOAD_GLOBAL", "g"),
        Instruction("LOAD_FAST", "x"),
        Jump("JUMP", call),
        # No control comes here, at whatever depth.
        Instruction("POP_TOP"),
        Instruction("LOAD_CONST", 1),
        Instruction("RETURN_VALUE"),
        call,
        Instruction("CALL", (1, ())),
        Instruction("RETURN_VALUE"),
    ]
    assert made(items, header("x", arguments=1), g=lambda x: x + 1)(2) == 3


def test_an_unbound_local_raises() -> None:
    skip = Label()
    items: list[Item] = [
        Instruction("LOAD_FAST", "x"),
        Jump("POP_JUMP_IF_FALSE", skip),
        *ops(("LOAD_CONST", 1), ("STORE_FAST", "y")),
        skip,
        *ops(("LOAD_FAST", "y"), ("RETURN_VALUE",)),
    ]
    function = made(items, header("x", "y", arguments=1))
    assert function(True) == 1
    with pytest.raises(UnboundLocalError):
        function(False)


def test_a_free_variable_and_a_cell_of_one_name_are_two() -> None:
    like = replace(header(), cellvars=("v",), freevars=("v (free)",))
    items = ops(
        ("COPY_FREE_VARS", 1),
        ("MAKE_CELL", "v"),
        ("LOAD_CONST", "own"),
        ("STORE_DEREF", "v"),
        ("LOAD_DEREF", "v (free)"),
        ("LOAD_DEREF", "v"),
        ("BUILD_TUPLE", 2),
        ("RETURN_VALUE",),
    )
    code = assemble(items, like=like)
    assert code.co_freevars == ("v",)
    assert FunctionType(code, {}, closure=(CellType("outer"),))() == ("outer", "own")
    assert decode(code).freevars == ("v (free)",)


@pytest.mark.parametrize("value", [3, "text", 1.5, None])
@pytest.mark.parametrize("conversion", [0, 1, 2, 3])
@pytest.mark.parametrize("spec", [None, "", "10"])
def test_formatting_converts_below_the_spec(value: object, conversion: int, spec: str | None) -> None:
    convert = (lambda each: each, str, repr, ascii)[conversion]
    items = ops(
        ("LOAD_FAST", "x"),
        *([("LOAD_CONST", spec)] if spec is not None else []),
        ("FORMAT_VALUE", (conversion, spec is not None)),
        ("RETURN_VALUE",),
    )
    function = made(items, header("x", arguments=1))
    try:
        expected = format(convert(value), spec or "")
    except TypeError as error:
        with pytest.raises(TypeError, match=str(error).split(" ")[0]):
            function(value)
    else:
        assert function(value) == expected


def test_slices_need_no_op_of_their_own() -> None:
    items = ops(
        ("LOAD_CONST", (7,)),
        ("LOAD_FAST", "x"),
        ("LOAD_CONST", 1),
        ("LOAD_CONST", 3),
        ("STORE_SLICE",),
        ("LOAD_FAST", "x"),
        ("LOAD_CONST", 0),
        ("LOAD_CONST", 2),
        ("BINARY_SLICE",),
        ("RETURN_VALUE",),
    )
    numbers = [0, 1, 2, 3]
    assert made(items, header("x", arguments=1))(numbers) == [0, 7]
    assert numbers == [0, 7, 3]


def test_a_position_is_the_line_of_the_traceback() -> None:
    where = Position(40, 40, 2, 9)
    items: list[Item] = [
        Instruction("LOAD_FAST", "x", position=where),
        Instruction("UNARY_NEGATIVE", position=where),
        Instruction("RETURN_VALUE", position=where),
    ]
    code = assemble(items, like=header("x", arguments=1))
    with pytest.raises(TypeError) as caught:
        FunctionType(code, {})("text")
    assert caught.tb.tb_next is not None
    assert caught.tb.tb_next.tb_lineno == 40
    assert [each.position for each in decode(code).instructions] == [where] * 3


def test_an_unknown_op_is_an_error() -> None:
    with pytest.raises(ValueError, match="no op SUCH_OP"):
        assemble(ops(("SUCH_OP",), ("LOAD_CONST", 1), ("RETURN_VALUE",)), like=header())


def test_an_unbalanced_stack_is_an_error() -> None:
    with pytest.raises(ValueError, match="pops 2 of 1 values"):
        assemble(ops(("LOAD_CONST", 1), ("BINARY_OP", "+"), ("RETURN_VALUE",)), like=header())


def test_control_off_the_end_is_an_error() -> None:
    with pytest.raises(ValueError, match="off the end"):
        assemble(ops(("LOAD_CONST", 1), ("POP_TOP",)), like=header())


def test_an_unknown_variable_is_an_error() -> None:
    with pytest.raises(ValueError, match="no variable 'x'"):
        assemble(ops(("LOAD_FAST", "x"), ("RETURN_VALUE",)), like=header())


def test_a_call_that_nothing_reaches_is_kept() -> None:
    items = ops(
        ("LOAD_CONST", 1),
        ("RETURN_VALUE",),
        ("PUSH_NULL",),
        ("LOAD_GLOBAL", "g"),
        ("CALL", (0, ())),
        ("RETURN_VALUE",),
    )
    again = decode(assemble(items, like=header())).instructions
    assert [(each.op, each.arg) for each in again] == [(each.op, each.arg) for each in items]


def test_a_loop_that_ends_behind_a_handler_is_not_in_the_handlers_range() -> None:
    """The clean-up of a loop has fewer values than a handler of the loop's body wants."""
    source = """
def f(managers, say):
    for each in managers:
        with each:
            say(each)
            raise ValueError(each)
    return "fine"
"""
    code = next(each for each in compile(source, "<test>", "exec").co_consts if isinstance(each, CodeType))
    again = encode(decode(code))
    assert again.co_stacksize >= code.co_stacksize
    said: list[object] = []
    function = FunctionType(again, {"__builtins__": __builtins__})
    assert function([], said.append) == "fine"
    assert function([suppress(ValueError)], said.append) == "fine"
    assert len(said) == 1
