"""Stack depth, reachability, liveness and bound locals of small functions."""

import sys
import types
from collections.abc import Callable

import pytest

from supple.capture.bytecode import Decoded, decode
from supple.capture.bytecode.analysis import bindings, liveness, reachable, stack_depths, unbound_loads


def index(code: Decoded, op: str, arg: object = None) -> int:
    return next(at for at, each in enumerate(code.instructions) if each.op == op and arg in {None, each.arg})


def loop(xs: list[int]) -> int:
    total = 0
    for x in xs:
        total += x
    return total


def guarded(x: object, y: object) -> object:
    try:
        z = x
        str(x)
        z = y
    except ValueError:
        return z
    return None


def maybe(x: object) -> object:
    if x:
        y = 1
    return y


def deleted(x: object) -> object:
    if x:
        del x
    return x


def caught(x: object) -> object:
    try:
        str(x)
        y = 1
    except ValueError:
        return y
    return y


def test_depth_counts_what_lies_below() -> None:
    code = decode(loop.__code__)
    depths = stack_depths(code)
    assert depths[0] == 0
    assert depths[index(code, "FOR_ITER")] == 1
    assert depths[index(code, "STORE_FAST", "x")] == 2
    assert depths[index(code, "BINARY_OP")] == 3
    assert depths[index(code, "RETURN_VALUE")] == 1


def test_a_handler_begins_with_the_exception_on_the_region_s_depth() -> None:
    code = decode(guarded.__code__)
    depths = stack_depths(code)
    assert code.regions
    assert all(depths[region.handler] == region.depth + region.lasti + 1 for region in code.regions)


@pytest.mark.parametrize("function", [loop, guarded, maybe, deleted, caught])
def test_what_has_a_depth_is_reachable(function: Callable[..., object]) -> None:
    code = decode(function.__code__)
    depths = stack_depths(code)
    assert {at for at, depth in enumerate(depths) if depth is not None} == reachable(code)


def test_the_handler_is_reachable_only_through_its_region() -> None:
    code = decode(guarded.__code__)
    handler = code.regions[0].handler
    assert handler in reachable(code)
    assert handler not in reachable(
        Decoded(**{name: getattr(code, name) for name in Decoded.__dataclass_fields__} | {"regions": ()})
    )


def test_a_local_is_live_until_its_last_read() -> None:
    code = decode(loop.__code__)
    live = liveness(code)
    assert live.at(0) == {"xs"}
    assert live.at(index(code, "FOR_ITER")) == {"total"}
    assert live.at(index(code, "BINARY_OP")) == frozenset()
    assert live.at(len(code.instructions) - 1) == frozenset()


def test_a_local_the_handler_reads_is_live_where_it_may_be_raised() -> None:
    code = decode(guarded.__code__)
    live = liveness(code)
    assert "z" in live.at(index(code, "CALL"))
    assert "y" in live.at(index(code, "CALL"))
    assert "x" not in live.at(index(code, "CALL"))


@pytest.mark.parametrize(
    ("function", "names"),
    [(loop, []), (maybe, ["y"]), (deleted, ["x"]), (caught, ["y"]), (guarded, ["z"])],
)
def test_a_load_that_may_find_nothing_is_found(function: Callable[..., object], names: list[str]) -> None:
    code = decode(function.__code__)
    assert [code.instructions[at].arg for at in sorted(unbound_loads(code))] == names


@pytest.mark.parametrize(
    ("function", "arguments", "names"),
    [
        (loop, ([1, 2],), {"xs", "total", "x"}),
        (maybe, (True,), {"x", "y"}),
        (caught, (1,), {"x", "y"}),
    ],
)
def test_a_local_that_a_call_binds_may_be_bound(
    function: Callable[..., object], arguments: tuple[object, ...], names: set[str]
) -> None:
    """What a run of the function finds bound at its end is among what may be bound there."""
    code = decode(function.__code__)
    ends = [at for at, each in enumerate(code.instructions) if each.op == "RETURN_VALUE"]
    at_ends = frozenset[str]().union(*map(bindings(code).at, ends))
    found: set[str] = set()

    def note(frame: types.FrameType, event: str, _: object) -> object:
        if frame.f_code is function.__code__ and event == "return":
            found.update(frame.f_locals)
        return note

    sys.settrace(note)
    function(*arguments)
    sys.settrace(None)
    assert found <= at_ends <= names


def test_nothing_is_bound_before_its_first_assignment() -> None:
    code = decode(loop.__code__)
    assert bindings(code).at(0) == {"xs"}
    assert bindings(code).at(index(code, "FOR_ITER")) == {"xs", "total", "x"}  # it comes back there


def test_a_deleted_local_is_bound_no_more() -> None:
    def deletes(x: object) -> object:
        y = x
        del y
        return x

    code = decode(deletes.__code__)
    assert "y" in bindings(code).at(index(code, "DELETE_FAST"))
    assert "y" not in bindings(code).at(index(code, "DELETE_FAST") + 1)
