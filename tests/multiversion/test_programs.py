"""Generated programs do the same after decode and encode."""

import warnings
from types import CodeType, FunctionType

from hypothesis import given
from hypothesis import strategies as st

from tests.multiversion.round_trip import check, nested, reassembled


def expressions() -> st.SearchStrategy[str]:
    """Texts of Python expressions over a, b and xs that always have a value."""
    atoms = st.sampled_from(["a", "b", "1", "0", "None", "xs", "()", "'s'", "f'{a!r:>4}{b}'", "sum(xs)"])
    shapes = [
        "({0}, {1})",
        "[{0} if {1} else {2}]",
        "({0} and {1} or not {2})",
        "[({0}, v) for v in xs if {1}]",
        "{{'k': {0}, **dict(z={1})}}",
        "({0} is {1}, {0} == {2})",
        "(lambda v=({0}): (v, {1}))()",
        "list((v, {0}) for v in xs)",
        "(str({2}) if {0} is {1} else repr({2}))",
        "dict(k={0}, **{{'y': {1}}})",
        "max([len(str({0})), 3], key=lambda v: -v)",
        "[*xs, {0}][-1:]",
        "(lambda *a, **k: (a, k))({0}, *xs, q={1}, **dict(r={2}))",
    ]
    return st.recursive(
        atoms,
        lambda inner: st.tuples(st.sampled_from(shapes), inner, inner, inner).map(
            lambda each: each[0].format(*each[1:])
        ),
        max_leaves=12,
    )


def statements() -> st.SearchStrategy[str]:
    """Bodies of functions that append to `out` what happens."""
    simple = expressions().map(lambda each: f"out.append({each})")
    shapes = [
        "if {e}:\n{0}\nelse:\n{1}",
        "for v in [{e}, 1]:\n{0}\n if v: break\nelse:\n{1}",
        "try:\n{0}\n raise KeyError\nexcept ValueError: pass\nexcept KeyError as error:\n{1}\nfinally:\n{0}",
        "with manager(out) as m:\n{0}\n if {e}: raise ValueError\n{1}",
        "match {e}:\n case (x, *_):\n{0}\n case {'k': x}:\n{1}\n case _: pass",
        "n = 0\nwhile n < 2 and ({e} or True):\n n += 1\n if n == 1: continue\n{0}",
    ]

    return st.recursive(
        simple,
        lambda inner: st.tuples(st.sampled_from(shapes), expressions(), inner, inner).map(filled),
        max_leaves=6,
    )


def indented(text: str, depth: int) -> str:
    """Return the lines of `text` further right."""
    return "\n".join(" " * depth + line for line in text.splitlines())


def filled(each: tuple[str, str, str, str]) -> str:
    """Return a shape with its expression and its two blocks."""
    shape, condition, *blocks = each
    depth = 2 if shape.startswith("match") else 1
    first, second = (indented(block, depth) for block in blocks)
    return shape.replace("{e}", condition).replace("{0}", first).replace("{1}", second)


class Manager:
    def __init__(self, out: list[object]) -> None:
        self.out = out

    def __enter__(self) -> str:
        self.out.append("enter")
        return "entered"

    def __exit__(self, kind: object, error: object, trace: object) -> bool:
        self.out.append(("exit", kind))
        return True


def outcome(code: CodeType, a: object, b: object) -> object:
    names: dict[str, object] = {"manager": Manager}
    exec(code, names)
    out: list[object] = []
    function = names["f"]
    assert isinstance(function, FunctionType)
    try:
        function(out, a, b, [0, 2])
    except Exception as error:
        out.append((type(error), str(error)))
    return repr(out)


@given(
    st.lists(statements(), min_size=1, max_size=3), st.sampled_from([0, 1, "", None]), st.sampled_from([0, 5])
)
def test_a_reassembled_program_does_the_same(bodies: list[str], a: object, b: object) -> None:
    lines = [f" {line}" for body in bodies for line in body.splitlines()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        code = compile("\n".join(["def f(out, a, b, xs):", *lines]), "<program>", "exec")
    for each in nested(code):
        check(each)
    assert outcome(reassembled(code), a, b) == outcome(code, a, b)
