"""What was seen, in memory and in the file."""

import json
import logging
import os
import subprocess
import sys
import types
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import supple
from supple.__main__ import main
from supple.base import events, files
from supple.base.config import Settings, config
from supple.shapes import profile
from supple.shapes.profile import (
    ANY,
    Record,
    Seen,
    function,
    key_of,
    load,
    path_of,
    seen_for,
    store,
    tensor_record,
    text,
)

X, M = "L['x']", "L['m']"


def code_of(source: str, filename: str = "/here/r2.py") -> types.CodeType:
    module = compile(source, filename, "exec")
    return next(one for one in module.co_consts if isinstance(one, types.CodeType))


def noted(key: str = "k", place: str = "/here/r2.py:2:func", **tensors: tuple[int, ...]) -> Seen:
    seen = Seen(key, place)
    for name, sizes in tensors.items():
        strides = [1] * len(sizes)
        for dim in reversed(range(len(sizes) - 1)):
            strides[dim] = strides[dim + 1] * sizes[dim + 1]
        seen.note(f"L[{name!r}]", tensor_record(sizes, tuple(strides)))
    return seen


# PGO08, PGO09, PGO10
def test_the_text_is_that_of_the_guide() -> None:
    seen = noted(x=(10,))
    assert seen.records[X].text == "tensor size=[10] stride=[1]"
    seen.note(X, tensor_record((20,), (1,)))
    assert seen.records[X].text == "tensor size=[?] stride=[1]"
    seen.note_number(M, 3)
    assert seen.records[M].text == "scalar 3"
    seen.note_number(M, 4)
    assert seen.records[M].text == "fully dynamic scalar or tensor"
    assert noted(x=(2, 3)).records[X].text == "tensor size=[2, 3] stride=[S(1), 1]"
    seen.note(X, tensor_record((2, 3), (3, 1)))
    assert seen.records[X].text == "fully dynamic scalar or tensor"


def test_an_outer_stride_that_does_not_follow_from_sizes_varies() -> None:
    seen = Seen()
    seen.note(X, tensor_record((4, 5), (7, 1)))
    assert seen.records[X].text == "tensor size=[4, 5] stride=[7, 1]"
    seen.note(X, tensor_record((4, 5), (9, 1)))
    assert seen.records[X].text == "tensor size=[4, 5] stride=[?, 1]"


records = st.one_of(
    st.just(ANY),
    st.builds(lambda n: Record("scalar", ((n,),)), st.integers(0, 2)),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=2).map(
        lambda dims: tensor_record(tuple(size for size, _ in dims), tuple(step for _, step in dims))
    ),
)


def data(record: Record) -> object:
    return record.data


# The order in which processes write does not matter.
@given(records, records, records)
def test_records_join_in_any_order(a: Record, b: Record, c: Record) -> None:
    assert data(a.join(a)) == data(a)
    assert data(a.join(b)) == data(b.join(a))
    assert data(a.join(b).join(c)) == data(a.join(b.join(c)))


def test_a_profile_survives_the_file(tmp_path: Path) -> None:
    seen = noted(x=(2, 3), y=(4,))
    seen.note(X, tensor_record((2, 5), (5, 1)))
    seen.note_number(M, 3)
    seen.note_number("L['z']", 0.5)
    seen.note("L['z']", tensor_record((), ()))
    assert store(tmp_path / "p.json", [seen])
    found = function(load(tmp_path / "p.json")["k"])
    assert found.place == "/here/r2.py:2:func"
    assert {name: data(one) for name, one in found.records.items()} == {
        name: data(one) for name, one in seen.records.items()
    }
    assert found.records[X].sizes == ((2,), ())


def test_private_sources_are_not_stored(tmp_path: Path) -> None:
    seen = noted(x=(2,), w=(3,))
    seen.private.add("L['w']")
    store(tmp_path / "p.json", [seen])
    assert list(function(load(tmp_path / "p.json")["k"]).records) == [X]


def test_what_another_process_wrote_is_merged(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "p.json"
    store(path, [noted(x=(10,)), noted("other", x=(1,))])
    store(path, [noted(x=(20,), y=(1,))])
    found = load(path)
    assert function(found["k"]).records[X].text == "tensor size=[?] stride=[1]"
    assert set(function(found["k"]).records) == {X, "L['y']"}
    assert list(found) == ["other", "k"]


def test_the_file_keeps_those_that_were_stored_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "FUNCTIONS", 3)
    for key in "abcad":
        store(tmp_path / "p.json", [noted(key, x=(1,))])
    assert list(load(tmp_path / "p.json")) == ["c", "a", "d"]


def noted_many(key: str, count: int) -> Seen:
    seen = Seen(key, "/here/r2.py:2:func")
    for place in range(count):
        seen.note_number(f"L['x'][{place}]", place)
    return seen


def test_the_file_stays_small_whatever_a_function_was_called_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The items of a list are inputs of their own, and each compilation writes the file anew."""
    monkeypatch.setattr(profile, "INPUTS", 4)
    monkeypatch.setattr(profile, "ALL_INPUTS", 9)
    for key in "abc":
        store(tmp_path / "p.json", [noted_many(key, 7)])
    kept = load(tmp_path / "p.json")
    assert [*kept] == ["b", "c"]
    assert [*function(kept["c"]).records] == [f"L['x'][{place}]" for place in range(4)]


def test_a_file_that_is_too_large_becomes_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(tmp_path / "p.json", [noted_many("a", 7), noted_many("b", 1)])
    monkeypatch.setattr(profile, "ALL_INPUTS", 5)
    store(tmp_path / "p.json", [noted_many("c", 1)])
    assert [*load(tmp_path / "p.json")] == ["b", "c"]


BODY = "def f(x, m=2):\n    'doc'\n    return [x * n in {{'a', 'b', 'c'}} for n in x.size()]{}\n"


# Issue: comment lines and another folder keep the key
def test_a_function_keeps_its_key_when_lines_or_folders_change() -> None:
    key = key_of(code_of(BODY.format("")))
    assert key_of(code_of("# one\n# two\n" + BODY.format("  # three"))) == key
    assert key_of(code_of(BODY.format(""), "/elsewhere/r2.py")) == key
    assert key_of(code_of(BODY.format(" or 1"))) != key
    assert key_of(code_of(BODY.format(""), "/here/other.py")) != key
    assert key_of(code_of(BODY.format("").replace("def f", "def g"))) != key
    assert key_of(code_of(BODY.format("").replace("'c'", "'d'"))) != key


def test_a_key_does_not_depend_on_the_process() -> None:
    program = (
        f"from supple.shapes.profile import key_of\n"
        f"code = compile({BODY.format('')!r}, 'r2.py', 'exec')\n"
        "print(key_of(code.co_consts[1]))"
    )
    keys = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(number)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for number in (1, 2)
    }
    assert len(keys) == 1


def test_code_objects_of_equal_content_are_seen_apart() -> None:
    first, second = code_of(BODY.format("")), code_of(BODY.format(""))
    seen_for(first).note_number(M, 3)
    assert seen_for(second).records == {}
    assert seen_for(first) is seen_for(first)


def test_reset_forgets_what_was_seen() -> None:
    code = code_of(BODY.format(""))
    seen_for(code).note_number(M, 3)
    supple.reset()
    assert seen_for(code).records == {}


def test_a_dead_function_is_forgotten() -> None:
    seen_for(code_of(BODY.format(""))).note_number(M, 3)
    assert seen_for(code_of(BODY.format(""))).records == {}


# PGO01, PGO02
def test_it_is_stored_when_a_compilation_ends_and_read_once(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    first, second = code_of(BODY.format("")), code_of(BODY.format(""))
    with supple.config.patch(profile=str(path)):
        seen_for(first).note_number(M, 3)
        assert not path.exists()
        events.emit(events.CompileFinished("0/0", ()))
        stored = path.stat()
        seen_for(first).note_number(M, 3)
        events.emit(events.CompileFinished("0/1", ()))
        assert path.stat().st_mtime_ns == stored.st_mtime_ns
        assert seen_for(second).records == {}
    with supple.config.patch(profile=f"{tmp_path}/./../{tmp_path.name}/p.json"):
        supple.reset()
        assert seen_for(second).records[M].text == "scalar 3"


def test_a_profile_that_is_off_is_not_written(tmp_path: Path) -> None:
    with supple.config.patch(profile="0", cache_dir=str(tmp_path)):
        seen_for(code_of(BODY.format(""))).note_number(M, 3)
        events.emit(events.CompileFinished("0/0", ()))
    assert list(tmp_path.iterdir()) == []


# PGO04
def test_where_the_profile_is() -> None:
    home = Path.home() / ".cache" / "supple"
    assert path_of(Settings()) == path_of(Settings(profile="1")) == home / "profile.json"
    assert path_of(Settings(job_id="a/b 7", cache_dir="/c")) == Path("/c/profile-a_b_7.json")
    assert path_of(Settings(profile="~/p", cache_dir="/c")) == Path.home() / "p"
    assert path_of(Settings(profile="0")) is None


@pytest.mark.parametrize(
    "contents",
    [
        "",
        "{",
        "[]",
        '{"version": 99, "functions": {}}',
        '{"version": 1, "functions": 3}',
    ],
)
def test_a_corrupt_file_is_set_aside(contents: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "p.json"
    path.write_text(contents)
    with caplog.at_level(logging.WARNING, "supple"):
        assert load(path) == {}
        assert load(path) == {}
    assert (tmp_path / "p.json.corrupt").read_text() == contents
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert store(path, [noted(x=(1,))])
    assert list(load(path)) == ["k"]


@pytest.mark.parametrize(
    "data",
    [
        None,
        3,
        {"place": "p", "inputs": 3},
        {"place": "p", "inputs": {"x": {"size": [1], "stride": [], "inner": []}}},
        {"place": "p", "inputs": {"x": {"size": [1], "stride": [1], "inner": [3]}}},
        {"place": "p", "inputs": {"x": {"scalar": "3"}}},
    ],
)
def test_a_function_that_makes_no_sense_is_forgotten(data: object) -> None:
    assert function(data).records == {}


def test_bytes_that_are_no_text_are_set_aside(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_bytes(b"\xff\xfe\x00")
    assert load(tmp_path / "p.json") == {}


def test_a_profile_that_cannot_be_written_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING, "supple"), config.patch(profile=str(tmp_path / "file" / "p.json")):
        seen_for(code_of(BODY.format(""))).note_number(M, 3)
        events.emit(events.CompileFinished("0/0", ()))
    assert "the profile is not" in caplog.text


WRITER = """
import sys
from contextlib import suppress
from pathlib import Path
from supple.shapes.profile import Seen, store, tensor_record
path, number = Path(sys.argv[1]), int(sys.argv[2])
for turn in range(20):
    seen, own = Seen("shared", "f"), Seen(f"own {number}", "f")
    seen.note(f"L['x{turn}']", tensor_record((number + 2,), (1,)))
    own.note_number(f"L['n{turn}']", turn)
    while not store(path, [seen, own]):
        pass
"""


# Issue: several processes at once
def test_several_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(number)]) for number in range(4)
    ]
    while any(process.poll() is None for process in processes):
        if path.exists():
            json.loads(path.read_text())
    assert {process.returncode for process in processes} == {0}
    found = load(path)
    assert len(found) == 5
    shared = function(found["shared"]).records
    assert {one.text for one in shared.values()} == {"tensor size=[?] stride=[1]"}
    assert len(shared) == 20
    assert all(len(function(found[f"own {number}"]).records) == 20 for number in range(4))
    assert not list(tmp_path.glob("*.corrupt"))


def test_a_lock_that_is_never_released_does_not_stop_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile, "PATIENCE_S", 0.02)
    path = tmp_path / "p.json"
    with files.locked(path, 1.0):
        assert not store(path, [noted(x=(1,))])
    assert store(path, [noted(x=(1,))])


# PGO07, PGO08, PGO09, PGO11
def test_the_command_prints_the_profile(tmp_path: Path) -> None:
    seen = noted(x=(10,), w=(3,))
    seen.note(X, tensor_record((20,), (1,)))
    seen.note_number(M, 3)
    seen.note_number(M, 4)
    path = tmp_path / "p.json"
    store(path, [seen])
    expected = (
        "/here/r2.py:2:func:\n"
        "L['m']: fully dynamic scalar or tensor\n"
        "L['w']: tensor size=[3] stride=[1]\n"
        "L['x']: tensor size=[?] stride=[1]\n"
        "SUPPLE_DYNAMIC_SOURCES=\"L['m'],L['x']\"\n"
    )
    assert text(load(path)) == expected
    assert CliRunner().invoke(main, ["profile", str(path)]).output.strip() == expected.strip()
    with config.patch(profile=str(path)):
        assert CliRunner().invoke(main, ["profile"]).output.strip() == expected.strip()
    with config.patch(profile="0"):
        assert "SUPPLE_PROFILE=0" in CliRunner().invoke(main, ["profile"]).output


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.sampled_from("?x"),
    lambda parts: (
        st.lists(parts, max_size=4)
        | st.dictionaries(
            st.sampled_from(["size", "stride", "inner", "scalar", "place", "inputs", "x"]), parts, max_size=4
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_data_is_a_function_or_none(data: object) -> None:
    records = function(data).records
    assert all(isinstance(one.text, str) and one.join(one) == one for one in records.values())
    assert function({"place": "p", "inputs": {"x": data}}).records.keys() <= {"x"}


@given(st.binary(max_size=40) | JSON.map(lambda data: json.dumps(data).encode()))
def test_any_file_is_a_profile_or_none(tmp_path_factory: pytest.TempPathFactory, contents: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "p.json"
    path.write_bytes(contents)
    assert isinstance(load(path), dict)


@pytest.mark.parametrize(
    "contents", ["[" * 200_000, '{"a":' * 200_000, "9" * 5000, " " * (files.LARGEST + 1)]
)
def test_a_file_that_is_too_much_is_no_profile(
    contents: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "p.json"
    path.write_text(contents)
    with caplog.at_level(logging.WARNING, "supple"):
        assert load(path) == {}
    assert len(caplog.records) == 1


def test_a_pipe_in_the_place_of_the_profile_stops_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "p.json"
    os.mkfifo(path)
    with caplog.at_level(logging.WARNING, "supple"):
        assert load(path) == {}
    assert len(caplog.records) == 1


@pytest.mark.parametrize("name", ["p.json", "p.json.lock", "p.json.new"])
def test_a_planted_link_leads_nowhere(name: str, tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "cache" / "p.json"
    victim.write_text("precious")
    path.parent.mkdir()
    (path.parent / name).symlink_to(victim)
    with suppress(OSError):
        store(path, [noted(x=(1,))])
    assert victim.read_text() == "precious"


def test_a_folder_of_everybody_is_not_written_to(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(OSError, match="other users"):
        store(folder / "p.json", [noted(x=(1,))])
    assert list(folder.iterdir()) == []
    folder.chmod(0o1777)
    assert store(folder / "p.json", [noted(x=(1,))])


def test_what_is_written_belongs_to_its_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "p.json"
    assert store(path, [noted(x=(1,))])
    modes = [one.stat().st_mode & 0o777 for one in (path.parent, path, Path(f"{path}.lock"))]
    assert modes == [0o700, 0o600, 0o600]
    assert sorted(one.name for one in path.parent.iterdir()) == ["p.json", "p.json.lock"]
