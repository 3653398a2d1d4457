"""Code objects of the standard library survive decode and encode, and do what they did.

These tests need no torch, so that they run under every interpreter the package supports:
`python -m pytest tests/multiversion -q`, with `-m slow` for the whole library.
"""

import sys
import sysconfig
import types
import unittest
from collections.abc import Callable, Iterator
from importlib.abc import InspectLoader
from importlib.util import find_spec
from pathlib import Path
from types import CodeType
from typing import cast

import pytest

from tests.multiversion.round_trip import check, nested, reassembled

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
SAMPLE = (
    "contextlib.py",
    "dataclasses.py",
    "enum.py",
    "json/decoder.py",
    "asyncio/taskgroups.py",
    "inspect.py",
)


def compiled(path: Path) -> CodeType | None:
    """Return the code of a module, or None where it is not meant to compile."""
    try:
        return compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None


def files(top: str) -> list[Path]:
    """Return the modules of the library whose path begins with the name `top`."""
    path = LIBRARY / top
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def tops() -> list[str]:
    """Return the library's top-level modules and packages."""
    names = {path.relative_to(LIBRARY).parts[0] for path in LIBRARY.rglob("*.py")}
    return sorted(names - {"site-packages"})


def shares() -> list[tuple[str, int, int]]:
    """Return (top, part, parts): CPython's own tests are half of the library and are taken in parts."""
    parts = {"test": 12}
    return [(top, part, parts.get(top, 1)) for top in tops() for part in range(parts.get(top, 1))]


def test_decode_imports_no_torch() -> None:
    if find_spec("torch") is None:
        assert "torch" not in sys.modules
    else:
        import subprocess  # noqa: PLC0415 - only where torch could be imported

        program = "import sys, supple.capture.bytecode; sys.exit('torch' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize("name", SAMPLE)
def test_sample_round_trips(name: str) -> None:
    code = compiled(LIBRARY / name)
    assert code is not None
    assert sum(check(each) for each in nested(code)) > 200


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize(("top", "part", "parts"), shares())
def test_whole_library_round_trips(top: str, part: int, parts: int) -> None:
    for path in list(files(top))[part::parts]:
        code = compiled(path)
        for each in nested(code) if code is not None else ():
            try:
                check(each)
            except Exception as error:
                error.add_note(f"in {path}, {each.co_qualname}, line {each.co_firstlineno}")
                raise


def rebuilt(name: str) -> types.ModuleType:
    """Return a new copy of a module whose code was decoded and encoded."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    path = Path(spec.origin)
    # Within an archive only the loader finds it.
    source = path.read_bytes() if path.exists() else cast("InspectLoader", spec.loader).get_source(name)
    assert source is not None
    code = compile(source, spec.origin, "exec", dont_inherit=True)
    module = types.ModuleType(name)
    module.__spec__, module.__package__, module.__file__ = spec, spec.parent, spec.origin
    exec(reassembled(code), module.__dict__)
    return module


def json_text() -> Iterator[object]:
    encoder, decoder, scanner = rebuilt("json.encoder"), rebuilt("json.decoder"), rebuilt("json.scanner")
    encoder.c_make_encoder = None
    value = {"a": [1, 2.5, None, True, "snow\u2603"], "b": {"c": [], "d": {}}, "e": '\t"\\'}
    text = encoder.JSONEncoder(indent=2, sort_keys=True).encode(value)
    yield text
    reader = decoder.JSONDecoder()
    reader.parse_string = decoder.py_scanstring
    reader.scan_once = scanner.py_make_scanner(reader)
    yield reader.decode(text) == value
    for broken in ('{"a": 1,}', "[1, 2", '"\\x"', "nul"):
        with pytest.raises(ValueError, match="line 1 column") as caught:
            reader.decode(broken)
        yield str(caught.value)


def wrapped_text() -> Iterator[object]:
    textwrap = rebuilt("textwrap")
    text = "The quick brown fox, jumped-over    the lazy dog. " * 3
    yield textwrap.fill(text, 31, initial_indent="* ", subsequent_indent="  ", fix_sentence_endings=True)
    yield textwrap.shorten(text, 40)
    yield textwrap.dedent("    a\n      b\n\n    c")
    yield textwrap.indent("a\n\nb", "> ")


def differences() -> Iterator[object]:
    difflib = rebuilt("difflib")
    old, new = "one\ntwo\nthree\nfour\n".splitlines(True), "one\ntwos\nfour\nfive\n".splitlines(True)
    yield list(difflib.unified_diff(old, new, "a", "b"))
    yield list(difflib.context_diff(old, new))
    yield list(difflib.ndiff(old, new))
    yield difflib.HtmlDiff().make_table(old, new)
    yield difflib.get_close_matches("appel", ["ape", "apple", "peach", "puppy"])
    yield difflib.SequenceMatcher(None, "abxcd", "abcd").get_opcodes()


def syntax() -> Iterator[object]:
    ast = rebuilt("ast")
    import ast as original  # noqa: PLC0415 - beside its rebuilt copy

    source = (LIBRARY / "contextlib.py").read_text()
    yield ast.unparse(original.parse(source))
    yield ast.literal_eval("{'a': (1, -2.5), 'b': [None, {3}]}")


def enums_and_records() -> Iterator[object]:
    enum, dataclasses, statistics = rebuilt("enum"), rebuilt("dataclasses"), rebuilt("statistics")
    colour = enum.Enum("colour", "red green")
    yield [repr(each) for each in colour]
    permission = enum.Flag("permission", "r w x")
    yield repr(permission.r | permission.x), repr(~permission.r)
    record = dataclasses.make_dataclass(
        "record", [("x", int), ("y", list, dataclasses.field(default_factory=list))]
    )
    yield repr(record(1)), dataclasses.asdict(record(2, [record(3)])), record(1) == record(1)
    yield statistics.quantiles(range(20), n=7), statistics.stdev([1.5, 2.5, 4.0])


def options() -> Iterator[object]:
    argparse, configparser = rebuilt("argparse"), rebuilt("configparser")
    parser = argparse.ArgumentParser("tool", description="A tool.")
    parser.add_argument("-n", type=int, default=3, help="how many (%(default)s)")
    parser.add_argument("files", nargs="+")
    yield vars(parser.parse_args(["-n", "5", "a", "b"]))
    yield parser.format_help()
    config = configparser.ConfigParser()
    config.read_string("[a]\nx = 1\ny = %(x)s2\n[b]\nz: on\n")
    yield config.getint("a", "y"), config.getboolean("b", "z"), config.sections()


def contexts() -> Iterator[object]:
    contextlib = rebuilt("contextlib")
    log: list[object] = []

    @contextlib.contextmanager
    def noted(name: str) -> Iterator[str]:
        log.append(f"+{name}")
        try:
            yield name
        except KeyError as error:
            log.append(repr(error))
        finally:
            log.append(f"-{name}")

    with contextlib.ExitStack() as stack:
        stack.enter_context(noted("a"))
        stack.enter_context(noted("b"))
        stack.callback(log.append, "callback")
        raise KeyError(1)
    with contextlib.suppress(ZeroDivisionError):
        yield 1 // 0
    yield log


WORK = (json_text, wrapped_text, differences, syntax, enums_and_records, options, contexts)


@pytest.mark.parametrize("work", WORK)
def test_rebuilt_modules_give_the_same_results(
    work: Callable[[], Iterator[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    results = list(work())
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules[__name__], "reassembled", lambda code: code)
        expected = list(work())
    assert results == expected


# The interpreter's own tests of the statements whose code is the hardest.
SUITES = (
    "test_asyncgen",
    "test_augassign",
    "test_compare",
    "test_coroutines",
    "test_decorators",
    "test_except_star",
    "test_exception_group",
    "test_exceptions",
    "test_extcall",
    "test_fstring",
    "test_generators",
    "test_genexps",
    "test_grammar",
    "test_keywordonlyarg",
    "test_listcomps",
    "test_named_expressions",
    "test_patma",
    "test_positional_only_arg",
    "test_raise",
    "test_scope",
    "test_setcomps",
    "test_super",
    "test_type_params",
    "test_unpack_ex",
    "test_with",
)


def failures(module: types.ModuleType) -> set[str]:
    """Return the names of the module's tests that do not pass."""
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    result = unittest.TestResult()
    suite.run(result)
    return {str(case) for case, _ in result.failures + result.errors}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SUITES)
def test_rebuilt_test_suites_pass_as_before(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec(f"test.{name}") is None:
        pytest.skip("not in this version's library")
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules[__name__], "reassembled", lambda code: code)
        original = rebuilt(f"test.{name}")
        patch.setitem(sys.modules, f"test.{name}", original)
        expected = failures(original)
    again = rebuilt(f"test.{name}")
    monkeypatch.setitem(sys.modules, f"test.{name}", again)
    assert failures(again) <= expected
