"""Random small programs that compute with sizes, as source text: two vectors in, vectors and integers out.

Each condition and each count of steps goes through `choice`, so that a run of the plain program can note what
it chose; the compiled program has the same text without it.
"""

import linecache
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import torch
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

Function = Callable[[Tensor, Tensor], Any]

PAIRS: Final = ((5, 3), (6, 4), (1, 3), (0, 2), (4, 4), (9, 1), (2, 0), (8, 7), (0, 0), (1, 1), (3, 8))


@dataclass(frozen=True)
class SizeProgram:
    """A program's lines, the sizes of its vectors in the calls, and its number of variables of each kind."""

    lines: tuple[str, ...]
    calls: tuple[tuple[int, int], ...]
    integers: int
    vectors: int

    def source(self, choice: str) -> str:
        """Return the text; `choice` is the function that conditions and counts go through, "" for none."""
        names = [f"i{k}" for k in range(self.integers)] + [f"t{k}" for k in range(self.vectors)]
        body = [*self.lines, f"return [{', '.join(names)}]"]
        return "def program(t0, t1):\n" + textwrap.indent("\n".join(body), "    ").replace("CHOICE", choice)

    def function(self, choice: Callable[[Any], Any] | None = None) -> Function:
        """Return the function, with its source where tracebacks look for it."""
        source = self.source("choice" if choice else "")
        name = f"<size program {hash(source)}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        names: dict[str, Any] = {"torch": torch, "F": F, "choice": choice}
        exec(compile(source, name, "exec"), names)
        return names["program"]


INTEGERS: Final = (
    "{a} + {b}", "{a} - {b}", "{a} * {c}", "{a} // {d}", "{a} % {d}", "{a} // max({b}, 1)",
    "{a} % max({b}, 1)", "min({a}, {b})", "max({a}, {b})", "abs({a} - {b})", "-{a} % {d}",
    "min({a} * {b}, 50)", "{t}.shape[0]", "len({t}) - {c}", "{t}.numel() + {u}.shape[0]",
    "{t}.size(-1) * {d}", "({a} + {d} - 1) // {d} * {d}",
)  # fmt: skip
VECTORS: Final = (
    "{t} * {a}", "{t} + {a} / 4", "{t}[{c}:]", "{t}[:{a}]", "{t}[{a}:]", "{t}[{a}:{b}]", "{t}[::{d}]",
    "{t}[-{d}:]", "{t}[: {t}.shape[0] // 2]", "{t}[: min({t}.shape[0], {u}.shape[0])]",
    "torch.cat([{t}, {u}])", "torch.cat([{t}, {u}, {t}])[: {a} + {b}]", "torch.zeros(abs({a}) % 6) + {b}",
    "torch.ones({t}.shape[0]) + {t}", "{t}.new_full(({t}.shape[0] + {c},), {a})", "{t}.flip(0)",
    "{t}.roll({a}, 0)", "{t}.repeat(2)", "F.pad({t}, ({c}, abs({a}) % 3))", "{t}.cumsum(0)",
    "torch.arange(abs({a}) % 7) * 0.5", "{t}.softmax(0)",
    "{t}.view({t}.shape[0], 1).expand(-1, 2).reshape(-1) * 2", "({t}[:, None] * {u}[None, :]).sum(1)",
    "({t}[:, None] + {u}).sum(0, keepdim=True).view(-1)", "{t}.narrow(0, 0, {t}.shape[0] // {d})",
    "torch.outer({t}, {u}).flatten()[:20]", "{t}.sum() + torch.zeros(max(min({a}, 5), 0))",
    "{t} - {t}[:1]", "torch.stack([{t}, {t}]).sum(0)", "torch.where({t} > 0, {t}, {c})",
    "F.relu({t}).unsqueeze(0).squeeze(0)",
    "{t}.split([{t}.shape[0] // 2, {t}.shape[0] - {t}.shape[0] // 2])[1]",
    "torch.where(torch.arange({t}.shape[0]) < {a}, {t}, 0.5)", "({t}[:, None] @ {u}[None, :]).sum(1)",
    "torch.stack([{t}, {t} + 1], 1).t().reshape(-1)[:{a}]", "{t}.topk(min({t}.shape[0], 3))[0]",
    "{t}.sort()[0].diff()", "torch.ones(3, {t}.shape[0]).tril({c}).sum(0)",
    "{t}.index_select(0, torch.arange({t}.shape[0] // 2))", "{t}.unsqueeze(0).expand({d}, -1).sum(0)",
    "F.scaled_dot_product_attention(*[{t}.view(1, 1, -1, 1)] * 3).view(-1)", "({t} @ {t}) + {u}",
)  # fmt: skip
WRITES: Final = (
    "{t}[{c}:].add_({a})", "{t}[: {t}.shape[0] // 2].mul_(2)", "{t}[:{a}] = {b}", "{t}.view(-1)[::2].zero_()",
    "{t}.add_({u}.sum())", "{t}[-{d}:] -= {t}.shape[0]", "{t}.copy_({t}.flip(0))", "{t}[{c}:].relu_()",
)  # fmt: skip
CONDITIONS: Final = (
    "CHOICE({a} < {b})", "CHOICE({a} <= {c})", "CHOICE({a} > {c})", "CHOICE({a} >= {b})",
    "CHOICE({a} == {b})", "CHOICE({a} != {c})", "CHOICE({a} % 2 == 0)", "CHOICE({a})",
    "CHOICE({t}.shape == {u}.shape)", "CHOICE({t}.numel() > {c})", "not CHOICE({a} > {b})",
    "CHOICE({t}.shape[0] > {u}.shape[0] + {c})", "CHOICE({a} < {b}) and CHOICE({a} > {c})",
    "CHOICE({a} == {c}) or CHOICE({b} == {d})", "CHOICE({c} <= {a}) and CHOICE({a} < {b})",
)  # fmt: skip


@st.composite
def size_programs(draw: st.DrawFn) -> SizeProgram:
    """Draw a program of up to 8 statements and 6 pairs of sizes for it."""
    integers, vectors = 2, 2
    lines = ["i0 = t0.shape[0]", "i1 = t1.size(0)"]

    def filled(templates: tuple[str, ...]) -> str:
        names = {name: f"i{draw(st.integers(0, integers - 1))}" for name in "ab"}
        names |= {name: f"t{draw(st.integers(0, vectors - 1))}" for name in "tu"}
        numbers = {"c": draw(st.integers(0, 4)), "d": draw(st.integers(1, 4))}
        return draw(st.sampled_from(templates)).format(**names, **numbers)

    for _ in range(draw(st.integers(2, 8))):
        match draw(st.sampled_from(("integer", "integer", "vector", "vector", "branch", "loop", "write"))):
            case "integer":
                lines.append(f"i{integers} = {filled(INTEGERS)}")
                integers += 1
            case "vector":
                lines.append(f"t{vectors} = {filled(VECTORS)}")
                vectors += 1
            case "write":
                lines.append(filled(WRITES))
            case "branch":
                condition, one, other = filled(CONDITIONS), filled(VECTORS), filled(VECTORS)
                lines += [
                    f"if CHOICE({condition}):",
                    f"    t{vectors} = {one}",
                    "else:",
                    f"    t{vectors} = {other}",
                ]
                vectors += 1
            case _:
                counted, step = f"i{draw(st.integers(0, integers - 1))}", filled(VECTORS[:2])
                lines += [f"t{vectors} = {step}", f"for k in range(CHOICE(abs({counted}) % 4)):"]
                lines += [f"    t{vectors} = t{vectors} * 0.5 + k"]
                vectors += 1
    calls = draw(st.lists(st.sampled_from(PAIRS), min_size=2, max_size=6, unique=True))
    return SizeProgram(tuple(lines), tuple(calls), integers, vectors)
