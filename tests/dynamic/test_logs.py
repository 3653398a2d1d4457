"""What is told about dynamic sizes: the `dynamic` channel, reasons for recompilations, statistics."""

import logging
import re
from collections.abc import Callable, Iterator

import pytest
import torch

import supple

Text = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    yield
    supple.set_logs()


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * x.size()[0]


def branches(x: torch.Tensor) -> torch.Tensor:
    if x.size()[0] == 10:
        return x * 10
    if x.size()[0] <= 30:
        return x * 200
    return x * x.size()[0]


def told(
    capsys: Text,
    function: Callable[[torch.Tensor], torch.Tensor],
    *sizes: int,
    dynamic: bool | None = None,
) -> str:
    """Return what the channels print while a function is compiled and run."""
    compiled = supple.compile(function, backend="eager", dynamic=dynamic)
    for size in sizes:
        assert torch.equal(compiled(torch.ones(size)), function(torch.ones(size)))
    return capsys.readouterr().err


def without_prefixes(text: str) -> list[str]:
    return [line.partition("[__dynamic] ")[2] for line in text.splitlines()]


def test_each_symbol_is_told_with_its_source_range_and_reason(capsys: Text) -> None:  # LOG07, LOG09
    supple.set_logs(dynamic=True)
    text = told(capsys, scaled, 10, dynamic=True)
    assert re.search(
        r"create_symbol s0 = 10 for L\['x'\]\.size\(\)\[0\] \[0, int_oo\] \(.*dynamic=True", text
    )
    assert "return x * x.size()[0]  # " in text
    assert "in scaled" in text
    assert without_prefixes(text)[0] == "create_env"
    assert without_prefixes(text)[-1] == "produce_guards"
    assert not any(line.startswith("V") for line in text.splitlines())


def test_automatic_dynamic_says_what_varied(capsys: Text) -> None:  # LOG09
    supple.set_logs(dynamic=True)
    text = told(capsys, scaled, 10, 20)
    assert re.search(r"create_symbol s0 = 20 for L\['x'\]\.size\(\)\[0\] \[0, int_oo\] \(.*10, 20", text)


def test_each_guard_is_told_with_both_lines(capsys: Text) -> None:  # LOG10, LOG11
    supple.set_logs(dynamic=logging.DEBUG)
    text = told(capsys, branches, 10, dynamic=True)
    line = (
        r"eval Eq\(s0, 10\) \[guard added\] if x\.size\(\)\[0\] == 10:  # \S+test_logs\.py:\d+ in branches "
        r'\(\S+\.py:\d+ in \w+\), for more info run with SUPPLE_EXTENDED_DEBUG_GUARD_ADDED="Eq\(s0, 10\)"'
    )
    lines = without_prefixes(text)
    place = next(i for i, one in enumerate(lines) if re.fullmatch(line, one))
    assert lines[place + 1 : place + 3] == [
        "_update_var_to_range s0 = VR[10, 10] (update)",
        "set_replacement s0 = 10",
    ]
    levels = [one[0] for one in text.splitlines()]
    assert levels[place : place + 3] == ["I", "V", "V"]


def test_inequalities_narrow_the_range(capsys: Text) -> None:  # LOG11
    supple.set_logs(dynamic=logging.DEBUG)
    lines = without_prefixes(told(capsys, branches, 20, 40, dynamic=True))
    conditions = [line.split()[1:4] for line in lines if line.startswith("eval ")]
    assert conditions == [
        ["Ne(s0,", "10)", "[guard"],
        ["s0", "<=", "30"],
        ["Ne(s0,", "10)", "[guard"],
        ["s0", ">", "30"],
    ]
    assert "_update_var_to_range s0 = VR[0, 30] (update)" in lines
    assert "_update_var_to_range s0 = VR[31, int_oo] (update)" in lines


def test_each_size_is_told_with_what_it_is(capsys: Text) -> None:  # LOG08
    supple.set_logs(dynamic=logging.DEBUG)
    compiled = supple.compile(lambda x, n: x * n, backend="eager")
    for rows, n in ((2, 3), (4, 5)):
        compiled(torch.ones(rows, 7), n)
    lines = without_prefixes(capsys.readouterr().err)
    behind = lines[len(lines) - lines[::-1].index("produce_guards") :]
    assert behind == [
        "track_symint L['x'].size()[0] s0",
        "track_symint L['x'].size()[1] 7",
        "track_symint L['n'] s1",
        "Skipping guard L['x'].size()[1] == 7",
    ]


def test_plain_and_plus_choose_the_level(
    capsys: Text, monkeypatch: pytest.MonkeyPatch
) -> None:  # LOG02, LOG08
    from supple.diagnose.log import set_logs_from_environment  # noqa: PLC0415

    for value, has_details in (("dynamic", False), ("+dynamic", True)):
        monkeypatch.setenv("SUPPLE_LOGS", value)
        set_logs_from_environment()
        text = told(capsys, branches, 10, dynamic=True)
        assert ("_update_var_to_range" in text) == has_details
        supple.reset()


def test_a_guard_that_is_named_is_told_with_the_whole_stack(
    capsys: Text, monkeypatch: pytest.MonkeyPatch
) -> None:  # LOG13
    monkeypatch.setenv("SUPPLE_EXTENDED_DEBUG_GUARD_ADDED", "Eq(s0, 10)")
    supple.set_logs(dynamic=True)
    text = told(capsys, branches, 10, dynamic=True)
    assert "supple/shapes/env.py" in text
    assert len(re.findall("eval ", text)) == 1
    assert "test_a_guard_that_is_named" in text


def test_four_graphs_are_four_blocks(capsys: Text) -> None:  # LOG04
    supple.set_logs(graph_code=True)
    assert told(capsys, scaled, 10, 20, 30, 40, dynamic=False).count("TRACED GRAPH") == 4
    supple.reset()
    text = told(capsys, scaled, 10, 20, 30, 40)
    assert text.count("TRACED GRAPH") == 2
    assert 's0: "int' in text


def test_a_size_is_told_as_size_related(capsys: Text) -> None:  # REC02, REC03, X-GRD07
    supple.set_logs(recompiles=True)
    text = told(capsys, scaled, 3, 4)
    assert "Recompiling function scaled in " in text
    assert "    triggered by the following guard failure(s):" in text
    assert re.search(
        r"    - \d+/0: tensor 'x' size mismatch at index 0\. expected 3, actual 4  # return x \* x", text
    )
    hint = r"size-related. To compile once for all sizes: supple\.mark_dynamic\(x, 0\)"
    assert re.search(rf"\]  +{hint}, or SUPPLE_DYNAMIC_SOURCES=\"L\['x'\]\"\.", text)


def dropped(x: torch.Tensor, p: float) -> torch.Tensor:
    return torch.nn.functional.dropout(x, p) + 1


def repeated(x: torch.Tensor, n: int) -> torch.Tensor:
    for _ in range(n):
        x = x + 1
    return x


def unrolled(x: torch.Tensor, rows: torch.Tensor) -> list[torch.Tensor]:
    return [x * rows[place] for place in range(rows.shape[0])]


@pytest.mark.parametrize(
    ("function", "calls", "name", "line"),
    [
        (dropped, (0.1, 0.2, 0.3), "p", "return torch.nn.functional.dropout(x, p) + 1"),
        (repeated, (2, 3, 4), "n", "for _ in range(n):"),
        (
            unrolled,
            (torch.ones(2), torch.ones(3), torch.ones(4)),
            "rows.size()[0]",
            "return [x * rows[place]",
        ),
    ],
)
def test_a_number_that_may_vary_in_vain_is_told_with_the_line_that_needs_it(
    capsys: Text, function: Callable[..., object], calls: tuple[object, ...], name: str, line: str
) -> None:
    supple.set_logs(recompiles=True, dynamic=True)
    compiled = supple.compile(function, backend="eager")
    for argument in calls[:2]:
        compiled(torch.ones(2), argument)
    text = capsys.readouterr().err
    assert "To compile once" in text  # nobody knows yet
    assert re.search(r"eval (f\d+ == 0\.2|Eq\(s\d+, 3\)) ", text)
    compiled(torch.ones(2), calls[2])
    text = capsys.readouterr().err
    reasons = [one for one in text.splitlines() if re.search(r"    - \d+/\d+: ", one)]
    assert len(reasons) == 2
    assert all(f"# {line}" in one for one in reasons)
    assert "To compile once" not in text
    assert text.count("The line needs the number itself") == text.count(f"Keep {name} as it is") == 2
    assert supple.stats()["breaks"] == 0


def test_a_condition_is_told_with_the_line_that_asked(capsys: Text) -> None:  # REC02, GRD09
    supple.set_logs(recompiles=True)
    text = told(capsys, branches, 20, 40, dynamic=True)
    assert re.search(
        r"- \d+/0: L\['x'\]\.size\(\)\[0\] <= 30, but L\['x'\]\.size\(\)\[0\] = 40  # if x\.size", text
    )
    assert "test_logs.py" in text


@pytest.mark.parametrize(
    ("first", "second", "reason", "hint"),
    [
        ((torch.ones(2), "a"), (torch.ones(2), "b"), "L['s'] was 'a', is 'b'", "Each value is a program"),
        (
            (torch.ones(2), 1),
            (torch.ones(2), 1.5),
            "L['s'] was 1, is 1.5 (float)",
            "Each value is a program",
        ),
        ((torch.ones(2), len), (torch.ones(2), max), "L['s'] was <built-in", "Pass the same object"),
        ((torch.ones(2), []), (torch.ones(2), [1]), "len(L['s']) was 0, is 1", "Keep the lengths"),
        (
            (torch.ones(2), 0),
            (torch.ones(2, 2), 0),
            "rank mismatch. expected 1, actual 2",
            "reshape x before",
        ),
        ((torch.ones(2), 0), (torch.ones(2).double(), 0), "dtype mismatch", "convert x before the call"),
    ],
)
def test_each_class_of_reasons_has_a_hint(
    capsys: Text, first: tuple[object, ...], second: tuple[object, ...], reason: str, hint: str
) -> None:  # REC03, REC12, GRD02
    supple.set_logs(recompiles=True)
    compiled = supple.compile(lambda x, s: x if not s else x + 1, backend="eager")
    compiled(*first)
    compiled(*second)
    text = capsys.readouterr().err
    assert reason in text
    assert "not size-related." in text
    assert hint in text


def test_another_layout_is_told(capsys: Text) -> None:  # REC03
    supple.set_logs(recompiles=True)
    compiled = supple.compile(lambda x: x + 1, backend="eager", dynamic=True)
    compiled(torch.ones(3, 4))
    compiled(torch.ones(3, 8)[:, :4])
    assert "tensor 'x' layout mismatch. expected row-major, actual another" in capsys.readouterr().err


def test_the_verbose_channel_lists_all_failures(capsys: Text) -> None:  # REC02
    compiled = supple.compile(lambda x, y, s: x + 1 if s == "a" else y, backend="eager", dynamic=False)
    for channel, count in (("recompiles", 1), ("recompiles_verbose", 3)):
        supple.set_logs(**{channel: True})
        supple.reset()
        compiled(torch.ones(2), torch.ones(2), "a")
        compiled(torch.ones(3), torch.ones(3), "b")
        text = capsys.readouterr().err
        assert len(re.findall(r"- \d+/0: ", text)) == min(count, 2 + ("'y'" in text))


def test_statistics_list_specialisations_in_order() -> None:  # LOG16
    compiled = supple.compile(branches, backend="eager", dynamic=True)
    compiled(torch.ones(20))
    found = supple.stats()["specializations"]
    assert isinstance(found, list)
    assert [str(one).partition("  #")[0] for one in found] == ["s0 != 10", "s0 <= 30"]
    assert "if x.size()[0] == 10:" in str(found[0])
