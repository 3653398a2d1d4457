"""The normal form says the same thing in the same words under every supported interpreter."""

import sys
from collections.abc import Callable
from types import CodeType

import pytest

from supple.capture.bytecode import Decoded, Position, decode


def words(source: str, name: str = "f") -> list[tuple[object, ...]]:
    """Return (op, arg, target) of the function `name` in `source`, without what is None."""
    return [
        tuple(part for part in (each.op, each.arg, each.target) if part is not None)
        for each in normal(source, name).instructions
    ]


def normal(source: str, name: str = "f") -> Decoded:
    return decode(find(compile(source, "<test>", "exec"), name))


def find(code: CodeType, name: str) -> CodeType:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            if each.co_name == name:
                return each
            if any(isinstance(inner, CodeType) for inner in each.co_consts):
                return find(each, name)
    msg = f"no function {name}"
    raise AssertionError(msg)


def test_a_call_has_its_callable_above_a_null() -> None:
    assert words("def f(x, y): return x.foo(y, k=1) + g(y)") == [
        ("LOAD_FAST", "x"),
        ("LOAD_METHOD", "foo"),
        ("LOAD_FAST", "y"),
        ("LOAD_CONST", 1),
        ("CALL", (1, ("k",))),
        ("PUSH_NULL",),
        ("LOAD_GLOBAL", "g"),
        ("LOAD_FAST", "y"),
        ("CALL", (1, ())),
        ("BINARY_OP", "+"),
        ("RETURN_VALUE",),
    ]


def test_a_local_callable_ends_up_above_its_null() -> None:
    stack: list[object] = []
    for op, *rest in words("def f(g): return g()"):
        match op:
            case "PUSH_NULL":
                stack.append("NULL")
            case "LOAD_FAST":
                stack.append(rest[0])
            case "SWAP":
                stack[-1], stack[-2] = stack[-2], stack[-1]
            case "CALL":
                break
            case _:
                pytest.fail(f"{op} is not expected")
    assert stack == ["NULL", "g"]


def test_a_loop_goes_past_its_clean_up() -> None:
    assert words("def f(xs):\n t = 0\n for x in xs:\n  t += x\n return t") == [
        ("LOAD_CONST", 0),
        ("STORE_FAST", "t"),
        ("LOAD_FAST", "xs"),
        ("GET_ITER",),
        ("FOR_ITER", 11),
        ("STORE_FAST", "x"),
        ("LOAD_FAST", "t"),
        ("LOAD_FAST", "x"),
        ("BINARY_OP", "+="),
        ("STORE_FAST", "t"),
        ("JUMP", True, 4),
        ("LOAD_FAST", "t"),
        ("RETURN_VALUE",),
    ]


def test_a_branch_tests_truth_itself() -> None:
    ops = [op for op, *_ in words("def f(x, b):\n if x:\n  return not b")]
    assert ops[:5] == ["LOAD_FAST", "POP_JUMP_IF_FALSE", "LOAD_FAST", "UNARY_NOT", "RETURN_VALUE"]


def test_a_comparison_has_the_operator_as_it_is_written() -> None:
    assert words("def f(a, b): return a >= b")[2] == ("COMPARE_OP", ">=")
    assert words("def f(a, b): return a is not b")[2] == ("IS_OP", True)
    assert words("def f(a, b): return a in b")[2] == ("CONTAINS_OP", False)


def test_a_branch_on_a_comparison_has_nothing_between() -> None:
    ops = [op for op, *_ in words("def f(a, b):\n if a < b:\n  g()")]
    assert ops[2:4] == ["COMPARE_OP", "POP_JUMP_IF_FALSE"]


def test_a_closure_is_made_of_cells() -> None:
    source = "def f(x):\n def g(y=1): return x\n return g"
    assert [word[:2] for word in words(source) if word[0] != "LOAD_CONST"] == [
        ("MAKE_CELL", "x"),
        ("LOAD_CLOSURE", "x"),
        ("BUILD_TUPLE", 1),
        ("MAKE_FUNCTION", frozenset({"defaults", "closure"})),
        ("STORE_FAST", "g"),
        ("LOAD_FAST", "g"),
        ("RETURN_VALUE",),
    ]
    assert words(source, "g") == [("COPY_FREE_VARS", 1), ("LOAD_DEREF", "x"), ("RETURN_VALUE",)]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="comprehensions are functions")
def test_a_comprehension_s_own_variable_is_no_cell() -> None:
    source = """def f(x):
    late = [lambda: i for i in x]
    early = [lambda i=i: i for i in x]
    both = [lambda j=j: (i, j) for i in x for j in early]
    return late, early, [i for i in x], both, {i: [i for i in x] for i in x}
"""
    found = words(source)
    makers = [word[1] for word in found if word[0] == "MAKE_FUNCTION"]
    closures = [maker for maker in makers if isinstance(maker, frozenset) and "closure" in maker]
    assert len(closures) == 2
    assert [word[0] for word in found].count("LOAD_CLOSURE") == 2


def test_a_class_reads_a_captured_name_through_its_namespace() -> None:
    source = "def f(x):\n class C:\n  y = x\n return C"
    found = words(source, "C")
    at = found.index(("LOAD_LOCALS",))
    assert found[at + 1] == ("LOAD_FROM_DICT_OR_DEREF", "x")


def test_formatting_joins_a_conversion_without_a_spec() -> None:
    assert words("def f(x): return f'{x!r}'") == [
        ("LOAD_FAST", "x"),
        ("FORMAT_VALUE", (2, False)),
        ("RETURN_VALUE",),
    ]


def test_a_generator_starts_with_the_value_sent() -> None:
    found = words("def f():\n yield 1")
    assert found[:2] == [("RETURN_GENERATOR",), ("POP_TOP",)]
    kind, _ = next(word[1] for word in found if word[0] == "YIELD_VALUE")
    assert kind == 1


@pytest.mark.parametrize(("source", "kind"), [("def f(x): yield from x", 2), ("async def f(x): await x", 3)])
def test_a_delegation_says_what_it_is(source: str, kind: int) -> None:
    yields = [word[1] for word in words(source) if word[0] == "YIELD_VALUE"]
    assert [each[0] for each in yields] == [kind]


def test_send_goes_to_where_the_result_is_used() -> None:
    code = normal("def f(x):\n y = yield from x\n return y")
    send = next(each for each in code.instructions if each.op == "SEND")
    assert send.target is not None
    assert code.instructions[send.target].op == "STORE_FAST"


def test_an_operand_over_a_byte_is_whole() -> None:
    source = "def f():\n" + "".join(f" v{at} = {at}\n" for at in range(600)) + " return v599"
    assert words(source)[-2] == ("LOAD_FAST", "v599")


def test_a_long_branch_finds_its_target() -> None:
    source = "def f(x):\n if x:\n" + "  x += 1\n" * 400 + " return x"
    found = words(source)
    assert found[found[1][1]] == ("LOAD_FAST", "x")
    assert found[1][1] == len(found) - 2


def test_a_region_covers_the_truth_test_of_a_branch() -> None:
    code = normal("def f(x):\n while True:\n  try:\n   if x: g()\n  except E: pass")
    branch = next(at for at, each in enumerate(code.instructions) if each.op.startswith("POP_JUMP"))
    assert code.handler_at(branch) is not None


def test_handler_at_finds_the_innermost_region() -> None:
    code = normal("def f():\n try:\n  g()\n except A:\n  h()\n return 1")
    index = {str(each.arg): at for at, each in enumerate(code.instructions) if each.op == "LOAD_GLOBAL"}
    inner, outer = code.handler_at(index["g"]), code.handler_at(index["h"])
    assert inner is not None
    assert outer is not None
    assert code.instructions[inner.handler].op == "PUSH_EXC_INFO"
    assert (inner.depth, inner.lasti) == (0, False)
    assert (outer.depth, outer.lasti) == (1, True)
    end = max(region.end for region in code.regions)
    assert code.handler_at(end) is None
    assert code.handler_at(len(code.instructions) - 1) is None or end == len(code.instructions)


def test_a_position_is_the_span_of_the_source() -> None:
    code = normal("def f(a, b):\n return (a +\n   b)")
    add = next(each for each in code.instructions if each.op == "BINARY_OP")
    assert add.position == Position(2, 3, 9, 4)


def test_the_header_is_the_code_object_s() -> None:
    code = normal("def f(a, /, b, *c, d, **e):\n 'Doc.'\n z = a\n return z")
    assert code.argnames == ("a", "b", "d", "c", "e")
    assert code.varnames == (*code.argnames, "z")
    assert (code.argcount, code.posonlyargcount, code.kwonlyargcount) == (2, 1, 1)
    assert code.docstring == "Doc."
    assert (code.name, code.firstlineno, code.filename) == ("f", 1, "<test>")


def sample(x: object, *rest: object, **named: object) -> object:
    return x, rest, named


@pytest.mark.parametrize("tracer", [sys.settrace, sys.setprofile])
def test_a_traced_function_decodes_as_an_untraced_one(tracer: Callable[..., object]) -> None:
    before = decode(sample.__code__)
    for _ in range(50):
        sample(1, 2, k=3)
    old = sys.gettrace() if tracer is sys.settrace else sys.getprofile()
    tracer(lambda *_: None)
    try:
        sample(1)
        during = decode(sample.__code__)
    finally:
        tracer(old)
    assert during == before
