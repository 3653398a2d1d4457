"""The ladder: who decides whether a size, stride or number is dynamic."""

import logging
import math
from collections.abc import Callable

import pytest
import torch

import supple
from supple.base.config import Settings, changed
from supple.base.options import Options
from supple.errors import ConstraintViolationError
from supple.shapes.policy import Decision, Mode, number_plan, stride_plan, tensor_plan
from supple.shapes.profile import Seen, tensor_record
from supple.shapes.sources import plain, program_name, torch_name

X = "L['x']"


def options(dynamic: bool | None = None, **settings: object) -> Options:
    return Options(dynamic=dynamic, settings=changed(Settings(), settings))


def plan(
    tensor: torch.Tensor,
    given: Options | None = None,
    seen: Seen | None = None,
    source: str = X,
    *,
    is_parameter: bool = False,
    is_module_property: bool = False,
) -> tuple[Decision, ...]:
    return tensor_plan(
        tensor,
        source,
        is_parameter=is_parameter,
        is_module_property=is_module_property,
        options=given or options(),
        seen=seen,
    )


def number(
    value: float, given: Options | None = None, seen: Seen | None = None, *, is_module_property: bool = False
) -> Decision:
    return number_plan(
        value, "L['n']", is_module_property=is_module_property, options=given or options(), seen=seen
    )


def seen_sizes(*sizes: tuple[int, ...]) -> Seen:
    seen = Seen()
    for one in sizes:
        seen.note(X, tensor_record(one, torch.empty(one).stride()))
    return seen


def marked(size: int, *marks: str) -> torch.Tensor:
    tensor = torch.zeros(size)
    for mark in marks:
        getattr(supple, mark)(tensor, 0)
    return tensor


# DYN03: static first
def test_an_unknown_tensor_is_static() -> None:
    assert [one.mode for one in plan(torch.zeros(3, 4))] == [Mode.STATIC, Mode.STATIC]


# DYN04
def test_only_what_changed_is_dynamic() -> None:
    found = plan(torch.zeros(5, 4), seen=seen_sizes((3, 4)))
    assert [one.mode for one in found] == [Mode.DYNAMIC, Mode.STATIC]
    assert found[0].why == "automatic dynamic: 3, 5"
    assert (found[0].minimum, found[0].maximum) == (0, None)


def test_it_does_not_matter_whether_the_call_was_noted_before_or_after() -> None:
    assert plan(torch.zeros(5, 4), seen=seen_sizes((3, 4), (5, 4)))[0].why == "automatic dynamic: 3, 5"


# DYN11: torch takes all sizes of the other rank for dynamic too
def test_another_rank_is_dynamic_in_all_dimensions() -> None:
    assert {one.mode for one in plan(torch.zeros(2, 3, 4), seen=seen_sizes((2, 3)))} == {Mode.DYNAMIC}


# DYN18
def test_without_automatic_dynamic_nothing_becomes_dynamic() -> None:
    given = options(automatic_dynamic_shapes=False)
    assert plan(torch.zeros(5), given, seen_sizes((3,)))[0].mode is Mode.STATIC


# DYN01
def test_dynamic_false_switches_off_what_varied() -> None:
    assert plan(torch.zeros(5), options(False), seen_sizes((3,)))[0].mode is Mode.STATIC


# DYN02
def test_dynamic_true_makes_all_sizes_dynamic() -> None:
    assert (
        plan(torch.zeros(5, 1, 0), options(True)) == (Decision(Mode.DYNAMIC, "dynamic=True", minimum=0),) * 3
    )


# DYN19
@pytest.mark.parametrize(
    ("setting", "dynamic", "mode"),
    [
        (True, None, Mode.DYNAMIC),
        (True, False, Mode.STATIC),
        (False, True, Mode.DYNAMIC),
        (False, None, Mode.STATIC),
    ],
)
def test_dynamic_shapes_is_what_none_means(setting: bool, dynamic: bool | None, mode: Mode) -> None:
    assert plan(torch.zeros(5), options(dynamic, dynamic_shapes=setting))[0].mode is mode


# X-SHP08
def test_assume_static_by_default_off_is_dynamic() -> None:
    given = options(assume_static_by_default=False)
    assert plan(torch.zeros(5), given)[0].mode is Mode.DYNAMIC
    assert number(3, given).mode is Mode.DYNAMIC
    given = options(False, assume_static_by_default=False)
    assert plan(torch.zeros(5), given)[0].mode is Mode.STATIC


RUNGS: tuple[tuple[str, Callable[[torch.Tensor], object], dict[str, object], str], ...] = (
    ("mark_unbacked", lambda x: supple.mark_unbacked(x, 0), {}, "mark_unbacked"),
    ("unbacked_sources", lambda _: None, {"unbacked_sources": X}, "unbacked_sources"),
    ("mark_dynamic", lambda x: supple.mark_dynamic(x, 0), {}, "mark_dynamic"),
    ("dynamic_sources", lambda _: None, {"dynamic_sources": X}, "dynamic_sources"),
    ("dynamic_values", lambda _: None, {"dynamic_values": "9, 5"}, "dynamic_values"),
    ("maybe_mark_dynamic", lambda x: supple.maybe_mark_dynamic(x, 0), {}, "maybe_mark_dynamic"),
    ("mark_static", lambda x: supple.mark_static(x, 0), {}, "mark_static"),
    ("varied", lambda _: None, {}, "automatic dynamic: 3, 5"),
)


# Each rung against everything below it: the measured ladder, ANN03, ANN06, ANN10, ANN11, ANN13, X-ESC10
@pytest.mark.parametrize("rung", range(len(RUNGS)), ids=[name for name, *_ in RUNGS])
def test_a_rung_beats_all_below_it(rung: int) -> None:
    tensor = torch.zeros(5)
    settings: dict[str, object] = {}
    for _, mark, setting, _ in RUNGS[rung:]:
        mark(tensor)
        settings |= setting
    assert plan(tensor, options(True, **settings), seen_sizes((3,)))[0].why == RUNGS[rung][3]


@pytest.mark.parametrize(
    ("marks", "mode", "is_strict"),
    [
        (("mark_unbacked",), Mode.UNBACKED, False),
        (("mark_dynamic",), Mode.DYNAMIC, True),
        (("maybe_mark_dynamic",), Mode.DYNAMIC, False),
        (("mark_static",), Mode.STATIC, False),
    ],
)
def test_what_a_mark_means(marks: tuple[str, ...], mode: Mode, is_strict: bool) -> None:
    (found,) = plan(marked(5, *marks), options(False))
    assert (found.mode, found.is_strict) == (mode, is_strict)


# ANN10, CFG01, CFG02
@pytest.mark.parametrize("mark", ["mark_dynamic", "maybe_mark_dynamic", "mark_unbacked"])
def test_no_mark_overrules_a_static_setting(mark: str) -> None:
    x = marked(5, mark)
    assert plan(x, is_parameter=True)[0].why == "force_parameter_static_shapes"
    assert plan(x, is_module_property=True)[0].why == "force_nn_module_property_static_shapes"
    assert plan(x, options(True, unbacked_sources=X), is_parameter=True)[0].mode is Mode.STATIC
    assert plan(x, options(True, dynamic_values="5"), is_parameter=True)[0].mode is Mode.STATIC
    free = options(force_parameter_static_shapes=False, force_nn_module_property_static_shapes=False)
    assert plan(x, free, is_parameter=True)[0].why == mark
    assert plan(x, free, is_module_property=True)[0].why == mark


# ANN03, ANN16
def test_the_allow_list_overrules_static_settings() -> None:
    given = options(False, dynamic_sources=X)
    assert plan(torch.zeros(5), given, is_parameter=True)[0].mode is Mode.DYNAMIC
    assert plan(torch.zeros(5), given, is_module_property=True)[0].mode is Mode.DYNAMIC


# The ladder's first rung: what is forced is no part of the profile; at the limit, what varied is dynamic
def test_what_is_forced_is_not_stored_and_widening_ends_it() -> None:
    seen = seen_sizes((3,))
    assert plan(torch.zeros(5), seen=seen, is_parameter=True)[0].mode is Mode.STATIC
    assert seen.private == {X}
    seen.is_widened = True
    assert plan(torch.zeros(5), seen=seen, is_parameter=True)[0].why == "automatic dynamic: 3, 5"


# The ladder's second rung: the mark is remembered
def test_a_dynamic_mark_is_seen_as_variation() -> None:
    seen = Seen()
    plan(marked(5, "mark_dynamic"), seen=seen)
    assert plan(torch.zeros(5), seen=seen)[0].why == "profile"


# DYN09, SYM15
def test_specialize_zero_one_keeps_0_and_1_apart() -> None:
    given = options(True, specialize_zero_one=True)
    found = plan(torch.zeros(5, 1, 0), given)
    assert [one.mode for one in found] == [Mode.DYNAMIC, Mode.STATIC, Mode.STATIC]
    assert found[0].minimum == 2
    assert number(1, given).mode is Mode.DYNAMIC


# ANN12
@pytest.mark.parametrize("size", [0, 1])
def test_a_dynamic_mark_on_0_or_1_stays_dynamic(size: int) -> None:
    assert plan(marked(size, "mark_dynamic"))[0].mode is Mode.DYNAMIC
    classic = options(specialize_zero_one=True)
    with pytest.raises(ConstraintViolationError, match=r"L\['x'\]\.size\(\)\[0\] is .*specialize_zero_one"):
        plan(marked(size, "mark_dynamic"), classic)
    assert plan(marked(size, "maybe_mark_dynamic"), classic)[0].mode is Mode.STATIC
    assert plan(marked(size, "mark_unbacked"), classic)[0].mode is Mode.UNBACKED


# ANN07
def test_bounds_of_a_mark() -> None:
    x = torch.zeros(10)
    supple.mark_dynamic(x, 0, min=5, max=35)
    assert plan(x) == (Decision(Mode.DYNAMIC, "mark_dynamic", True, 5, 35, has_range=True),)
    supple.mark_dynamic(x, 0, min=11)
    with pytest.raises(ConstraintViolationError, match=r"is 10, and it is marked to be in \[11, oo\]"):
        plan(x)


# X-SHP11
def test_a_stride_that_varied_is_dynamic() -> None:
    seen = Seen()
    first, second = torch.zeros(4, 7)[:, :5], torch.zeros(4, 9)[:, :5]
    seen.note(X, tensor_record(tuple(first.shape), first.stride()))
    found = stride_plan(second, X, options=options(), seen=seen)
    assert [one.mode for one in found] == [Mode.DYNAMIC, Mode.STATIC]
    assert found[0].why == "automatic dynamic: 7, 9"
    off = stride_plan(second, X, options=options(False), seen=seen)
    assert [one.mode for one in off] == [Mode.STATIC, Mode.STATIC]


# PGO10
def test_a_stride_that_follows_from_sizes_is_not_dynamic() -> None:
    seen = seen_sizes((2, 3))
    assert stride_plan(torch.zeros(2, 4), X, options=options(), seen=seen)[0].mode is Mode.STATIC
    turned = torch.zeros(5, 6).t()
    assert {one.mode for one in stride_plan(turned, X, options=options(True), seen=None)} == {Mode.STATIC}


# DYN02, X-SHP11
def test_dynamic_true_makes_free_strides_dynamic() -> None:
    found = stride_plan(torch.zeros(4, 7)[:, :5], X, options=options(True), seen=None)
    assert [one.mode for one in found] == [Mode.DYNAMIC, Mode.STATIC]


# DYN05, X-SHP08
@pytest.mark.parametrize(("first", "second"), [(5, 6), (0.5, 1.5)])
def test_a_number_is_dynamic_from_the_second_value(first: float, second: float) -> None:
    seen = Seen()
    assert number(first, seen=seen).mode is Mode.STATIC
    seen.note_number("L['n']", first)
    assert number(first, seen=seen).mode is Mode.STATIC
    assert number(second, seen=seen) == Decision(Mode.DYNAMIC, f"automatic dynamic: {first}, {second}")
    assert number(second, options(False), seen).mode is Mode.STATIC
    assert number(second, options(automatic_dynamic_shapes=False), seen).mode is Mode.STATIC
    assert number(second, options(specialize_int=True, specialize_float=True), seen).mode is Mode.STATIC


# ANN02, ANN03
def test_numbers_in_the_allow_list() -> None:
    given = options(False, dynamic_sources="L['n']", specialize_int=True)
    assert number(5, given).why == "dynamic_sources"
    assert number(5, options(dynamic_values="5")).why == "dynamic_values"
    assert number(5, options(unbacked_sources="L['n']", dynamic_sources="L['n']")).mode is Mode.UNBACKED
    assert number(5, options(dynamic_sources="L['n']:0")).mode is Mode.STATIC


# CFG03, X-SHP09
def test_a_number_of_a_module_is_dynamic_on_the_second_value() -> None:
    seen = Seen()
    seen.note_number("L['n']", 1)
    assert number(2, options(True), is_module_property=True).mode is Mode.STATIC
    assert number(2, seen=seen, is_module_property=True).mode is Mode.DYNAMIC
    unspec = options(True, allow_unspec_int_on_nn_module=True)
    assert number(2, unspec, is_module_property=True).mode is Mode.DYNAMIC


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 2**63, -(2**63) - 1])
def test_numbers_that_no_code_computes_with_are_static(value: float) -> None:
    seen = Seen()
    seen.note_number("L['n']", 1)
    assert number(value, options(True, dynamic_sources="L['n']"), seen).mode is Mode.STATIC


# ANN01, X-SHP01
@pytest.mark.parametrize(
    "listed",
    [
        "L['x']",
        "L[x]",
        'L["x"]',
        "L[\u2018x\u2019]",
        "L['nope'], L['x'] ",
        r"L\['.'\]",
        ".*",
        "L['x']:0",
        ".*:0",
    ],
)
def test_a_list_names_a_source(listed: str) -> None:
    found = plan(torch.zeros(5, 6), options(dynamic_sources=listed))
    assert found[0].mode is Mode.DYNAMIC
    assert found[1].mode is (Mode.STATIC if ":" in listed else Mode.DYNAMIC)


# ANN04
@pytest.mark.parametrize("listed", ["L['nope']", "L['x']:7", "L['xy']", "x", ",,"])
def test_a_list_may_name_what_does_not_exist(listed: str) -> None:
    assert {one.mode for one in plan(torch.zeros(5, 6), options(dynamic_sources=listed))} == {Mode.STATIC}


def test_what_is_no_regular_expression_is_a_name(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "supple"):
        found = plan(torch.zeros(5), options(dynamic_sources="(x, L['x']"))
    assert found[0].mode is Mode.DYNAMIC
    assert "no regular expression" in caplog.text


OURS = "L['self'].__dict__['_modules']['a'].__dict__['_parameters']['weight']"


# ANN16, PGO11
@pytest.mark.parametrize(
    "listed",
    [
        OURS,
        "L['self']._modules['a']._parameters['weight']",
        "L['self'].a.weight",
        "L['self']._modules['a'].weight",
        r"L\['self'\]\.a\..*",
        r"L\['self'\]\._modules\['a'\].*",
    ],
)
def test_a_parameter_has_several_names(listed: str) -> None:
    found = plan(torch.zeros(5), options(dynamic_sources=listed), source=OURS, is_parameter=True)
    assert found[0].mode is Mode.DYNAMIC


def test_names_of_modules_in_lists() -> None:
    ours = "L['self'].__dict__['_modules']['layers'].__dict__['_modules']['0'].__dict__['n']"
    assert plain(ours) == "L.self.layers[0].n"
    assert (
        plain("L['self'].layers[0].n") == plain("L['self']._modules['layers']._modules['0'].n") == plain(ours)
    )
    assert program_name(ours) == "L['self'].layers[0].n"
    assert torch_name(ours) == "L['self']._modules['layers']._modules['0'].n"
