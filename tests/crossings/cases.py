"""Calls of operators in drawn surroundings: what a program looks like, and with what it is called.

Each aspect is harmless alone and has its own tests; bugs stand where two or three of them meet.
"""

import contextlib
import dataclasses
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

from tests.fuzz.calling import default_dtype, deterministic
from tests.operators.test_samples import OPERATORS

UNDEFINED: Final = frozenset(
    "empty empty_like empty_permuted empty_strided new_empty new_empty_strided resize_ resize_as_".split()
)
"""Operators whose results hold what memory held before."""
OPEN: Final = (
    "fft",
    "unsafe_split",
    "unsafe_chunk",
    "nn.functional.max_unpool",
    "linalg.eig",
    "sparse",
    "to_sparse",
    "max_pool2d_with_indices_backward",
)
"""How names begin of operators whose strides or memory are left open (see `META_KERNELS`), or sparse."""
OTHERWISE: Final = {
    "cumprod": "the gradient of no elements asks for a maximum, and the graph is refused",
    "linalg.cond": "eager makes a tensor of zeros, which does not require gradients",
    "trapz": "eager makes a tensor of zeros, which does not require gradients",
    "trapezoid": "eager makes a tensor of zeros, which does not require gradients",
    "native_batch_norm": "batch_norm takes nothing, this operator below it refuses: a graph holds but one",
    "nn.functional.adaptive_avg_pool3d": "to one element it is a mean, which takes what the operator refuses",
    "nn.functional.multi_margin_loss": "eager gives what memory held",
    "nn.functional.multilabel_margin_loss": "eager gives what memory held",
    "svd": "the checks between stages do not see that a loop has no turns",
    "linalg.svd": "the checks between stages do not see that a loop has no turns",
}
"""Operators that are not called without elements, and why."""
FINITE: Final = (
    *("var_mean", "std_mean", "var_mean.unbiased", "std_mean.unbiased"),
    *("native_layer_norm", "native_batch_norm", "native_group_norm"),
    *("linalg.svdvals", "linalg.cond", "linalg.norm", "linalg.matrix_norm", "norm.nuc", "linalg.matrix_rank"),
)
"""Operators that are not called with infinite numbers: eager's mean is NaN or infinite by their order, and
singular values alone, which a graph computes with their vectors, are NaN where these are refused."""
INFINITE: Final = ("special values", "large")
UNCHANGED: Final = {
    "grid_sampler_2d": "eager gives what memory held",
    "grid_sampler_3d": "eager gives what memory held",
    "nn.functional.pad.circular": "eager gives what memory held",
}
"""Operators that are not called with other numbers, and why."""
MOST: Final = 100_000
"""Elements of the samples that are run: a few take seconds each."""

PLAIN: Final = "plain"
"""An aspect of a call that is as usual."""

FORMS: Final = {
    PLAIN: "return {call}",
    "unread": "{call}\nreturn 1",
    "behind a write": "w.add_(1)\nreturn {call}",
    "before a write": "r = {call}\nw.add_(1)\nreturn r",
    "handled": (
        "w.add_(1)\ntry:\n    r = {call}\nexcept Exception as error:\n    w.mul_(5)\n"
        "    r = told(error)\nreturn r"
    ),
    "behind a break": "n = w.sum()\nsupple.graph_break()\nreturn {call}, n",
    "twice": "return {call}, {call}",
    "used": "r = {call}\nreturn r, r * 2 if isinstance(r, torch.Tensor) else r",
    "a branch that raises": (
        "if w.sum() > 100:\n    raise ValueError('large')\nw.data.mul_(200)\nreturn {call}"
    ),
    "behind a check that fails": (
        "if w.sum() > 2:\n    raise ValueError('large')\nw.data.mul_(200)\nreturn {call}"
    ),
    "names of its own": "class Own: pass\nkept = Own()\nr = {call}\nreturn r, type(kept).__name__",
}
"""What a program does with the call; `w` is a tensor that it may write."""
OFTEN: Final = {"handled": 5}
"""Forms that are drawn more often than others: a handler shows when a call was refused."""

MADE: Final = {
    PLAIN: "",
    "a copy": "x.clone()",
    "a part of a copy": "x.clone()[1:]",
    "a part": "x[1:]",
    "every second": "x[..., ::2]",
    "a product": "x * 1",
    "detached": "x.detach()",
    "data": "x.data",
    "a view": "x.view_as(x)",
    "doubles": "x.to(torch.float64)",
    "one of two": "torch.stack([x, x])[1]",
    "turned": "x.mT.contiguous().mT",
    "no rows": "x[:0]",
}
"""What a program makes of the first tensor before the call."""

VARIANTS: Final[dict[str, str]] = {
    PLAIN: "op",
    "in place": "inplace_variant",
    "method": "method_variant",
}
"""Which of an operator's forms is called: what torch's list of operators calls them."""

TYPES: Final = {
    PLAIN: torch.float32,
    "complex": torch.complex64,
    "bfloat16": torch.bfloat16,
    "half": torch.float16,
    "double": torch.float64,
    "long": torch.int64,
    "bool": torch.bool,
}
"""Of the floating-point tensors that a program gets."""

SPECIAL: Final = torch.tensor(
    [-0.0, float("inf"), 1e-45, float("nan"), 0.0, -float("inf"), 3.4e38, -1.5], dtype=torch.float64
)
FILLS: Final[dict[str, Callable[[Tensor], Tensor]]] = {
    PLAIN: lambda x: x,
    "negative zeros": lambda x: x * 0 * -1,
    "special values": lambda x: SPECIAL.repeat(x.numel() // 8 + 1)[: x.numel()].reshape(x.shape).to(x.dtype),
    "ones": torch.ones_like,
    "large": lambda x: x * 3e38,
    "whole numbers": lambda x: x.round(),
}
"""What floating-point tensors hold."""


def _offset(x: Tensor) -> Tensor:
    room = torch.ones(x.numel() + 5, dtype=x.dtype)
    return room[3 : 3 + x.numel()].view(x.shape).copy_(x)


def _spread(x: Tensor) -> Tensor:
    room = torch.ones((*x.shape, 2), dtype=x.dtype)
    return room[..., 0].copy_(x)


def _windows(x: Tensor) -> Tensor:
    room = torch.arange(sum(x.shape) + 1).to(x.dtype)
    return room.as_strided(x.shape, (1,) * x.dim())


def _odd(x: Tensor) -> Tensor:
    """Return the same with other strides where there is one element along a dimension."""
    return x.as_strided(x.shape, [s if n > 1 else 5 for n, s in zip(x.shape, x.stride(), strict=True)])


def _turned(x: Tensor) -> Tensor:
    return x.T.contiguous().T if x.dim() == 2 else x.transpose(0, -1).contiguous().transpose(0, -1)


LAYOUTS: Final[dict[str, Callable[[Tensor], Tensor]]] = {
    PLAIN: lambda x: x,
    "behind other elements": _offset,
    "with gaps": _spread,
    "turned": lambda x: _turned(x) if x.dim() > 1 else x,
    "no rows": lambda x: x[:0] if x.dim() else x,
    "no columns": lambda x: x[..., :0] if x.dim() else x,
    "windows": lambda x: _windows(x) if x.dim() > 1 else x,
    "one column": lambda x: _odd(x[..., :1]) if x.dim() else x,
    "one row": lambda x: _odd(x[:1]) if x.dim() else x,
    "one for many": lambda x: x[:1].expand(x.shape) if x.dim() and x.shape[0] else x,
}
"""How tensors lie in memory."""

MODES: Final[dict[str, Callable[[], contextlib.AbstractContextManager[Any]]]] = {
    PLAIN: contextlib.nullcontext,
    "no_grad": torch.no_grad,
    "inference": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "autocast, off": lambda: torch.autocast("cpu", enabled=False),
    "doubles": lambda: default_dtype(torch.float64),
    "deterministic": deterministic,
}

NUMBERS: Final[dict[str, object]] = {
    repr(one): one
    for one in (
        0,
        1,
        2,
        3,
        7,
        -1,
        -4,
        2**31,
        2**70,
        0.5,
        1.0,
        2.5,
        -0.0,
        -1.5,
        1e300,
        float("nan"),
        True,
        None,
    )
} | {
    "'no'": "no",
    "tensor(1)": torch.tensor(1),
    "tensor(1.5)": torch.tensor(1.5),
    "numpy.float64(2)": np.float64(2),
    "numpy.int64(1)": np.int64(1),
    "()": (),
    "torch.int32": torch.int32,
}
"""What stands in place of an argument that is no tensor."""

NEAR: Final[dict[str, Callable[[Any], object]]] = {
    "+ 1": lambda n: n + 1,
    "- 1": lambda n: n - 1,
    "* -1": lambda n: n * -1,
    "* 2": lambda n: n * 2,
    "- 5": lambda n: n - 5,
    "+ 7": lambda n: n + 7,
}
"""What stands in place of a number, made of it."""

OTHERS: Final[dict[str, Callable[[Tensor], object]]] = {
    "* 3": lambda x: x * 3,
    "[:1]": lambda x: x[:1],
    "[:0]": lambda x: x[:0],
    "[None]": lambda x: x[None],
    "doubles": lambda x: x.double(),
    "longs": lambda x: x.long(),
    "- 1": lambda x: x - 1,
    "a list": lambda x: x.tolist(),
    "nothing": lambda x: None,
}
"""What stands in place of an argument that is a tensor."""


@dataclass(frozen=True)
class Crossing:
    """One call of an operator, with all that surrounds it.

    Attributes:
        sample: which of the operator's samples it is called with.
        earlier: with which one the program is called before; None for none.
        was_usual: that call has torch's own arguments, in no mode, whatever is changed in this one.
        changes: arguments that are replaced: the number of the leaf, and what stands there.
        inside: the mode in which the program calls the operator.
        outside: the mode in which the program is called.
        has_gradients: the tensors require gradients, and backward runs from all results.
        are_constant: the program knows all arguments but the first, which come with each call otherwise.
    """

    operator: str
    sample: int = 0
    earlier: int | None = None
    was_usual: bool = False
    form: str = PLAIN
    variant: str = PLAIN
    made: str = PLAIN
    dtype: str = PLAIN
    fill: str = PLAIN
    layout: str = PLAIN
    inside: str = PLAIN
    outside: str = PLAIN
    changes: tuple[tuple[int, str], ...] = ()
    has_gradients: bool = False
    are_constant: bool = False
    dynamic: bool | None = None
    backend: str = "eager"

    def __str__(self) -> str:
        usual = Crossing(self.operator)
        kept = {
            field.name: value
            for field in dataclasses.fields(self)
            if (value := getattr(self, field.name)) != getattr(usual, field.name)
        }
        named = ", ".join(f"{name}={value!r}" for name, value in kept.items())
        return f"Crossing({self.operator!r}{named and ', '}{named})"

    def calls(self) -> list["Crossing"]:
        """Return the calls of the program that are made: an earlier one, if any, and this."""
        if self.earlier is None:
            return [self]
        usual = {name: PLAIN for name in ("dtype", "fill", "layout", "outside")} if self.was_usual else {}
        changes = () if self.was_usual else self.changes
        return [dataclasses.replace(self, sample=self.earlier, changes=changes, **usual), self]

    def simpler(self) -> Iterator["Crossing"]:
        """Yield this call with one aspect less."""
        usual = Crossing(self.operator)
        for field in dataclasses.fields(self):
            name = field.name
            if name not in ("operator", "backend") and getattr(self, name) != getattr(usual, name):
                yield dataclasses.replace(self, **{name: getattr(usual, name)})
        for place in range(len(self.changes)):
            yield dataclasses.replace(self, changes=self.changes[:place] + self.changes[place + 1 :])

    def source(self) -> str:
        """Return the text of the program."""
        lines = ["x, *rest = args"]
        if MADE[self.made]:
            lines.append(f"if isinstance(x, torch.Tensor): x = {MADE[self.made]}")
        if self.inside != PLAIN:
            lines.append(f"with MODES[{self.inside!r}]():")
        indent = "    " * (self.inside != PLAIN)
        call = "operator(x, *rest, **named)"
        if self.are_constant:
            call = "operator(x, *ARGS, **NAMED)"
            lines[0] = "x = args[0]"
        lines += [indent + line for line in FORMS[self.form].replace("{call}", call).splitlines()]
        return "def program(args, named, w, thing):\n" + "".join(f"    {line}\n" for line in lines)

    def function(self) -> Callable[..., Any]:
        """Return what the program calls; the operator itself, where it has no such variant."""
        operator = OPERATORS[self.operator]
        return getattr(operator, VARIANTS[self.variant]) or operator.op

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return new arguments: those of the operator's sample, in this call's types and places."""
        found = _samples(self.operator)
        args, named = found[self.sample % len(found)]
        leaves, spec = tree_flatten((args, named))
        for place, change in self.changes:
            place %= len(leaves)
            leaves[place] = _changed(leaves[place], change) if place else leaves[place]
        args, named = tree_unflatten(leaves, spec)
        return tree_map(self._placed, args), tree_map(self._placed, named)

    def _placed(self, leaf: object) -> object:
        """Return a tensor with this call's type, elements and layout; others as they are."""
        if not isinstance(leaf, Tensor):
            return leaf
        x = leaf.detach().clone()
        if x.layout is not torch.strided:
            return x
        if x.dtype is torch.float32:
            x = FILLS[self.fill](x).to(TYPES[self.dtype])
        x = LAYOUTS[self.layout](x).detach()
        takes = self.has_gradients and (x.is_floating_point() or x.is_complex())
        return x.requires_grad_(takes)


def _changed(leaf: object, change: str) -> object:
    """Return an argument as a change makes it; one that is for other kinds of arguments does nothing."""
    if isinstance(leaf, Tensor):
        return OTHERS[change](leaf) if change in OTHERS else leaf
    if change in NEAR:
        return NEAR[change](leaf) if isinstance(leaf, int | float) else leaf
    return NUMBERS.get(change, leaf)


@lru_cache(maxsize=2)
def _samples(name: str) -> Sequence[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Return the arguments of an operator's samples."""
    torch.manual_seed(0)
    found = OPERATORS[name].sample_inputs("cpu", torch.float32)
    calls = [((sample.input, *sample.args), sample.kwargs) for sample in found]
    return [one for one in calls if _elements(one) < MOST]


def _elements(tree: object) -> int:
    leaves = tree_flatten(tree)[0]
    return sum(one.numel() for one in leaves if isinstance(one, Tensor))


def operators() -> list[str]:
    """Return the names of operators whose results are defined."""
    return [name for name in OPERATORS if OPERATORS[name].name not in UNDEFINED and not name.startswith(OPEN)]


def drawn(chosen: random.Random, name: str) -> Crossing | None:
    """Return a call of an operator, None where it has no samples: most aspects as usual, a few not."""
    count = len(_samples(name))
    if not count:
        return None

    def some(table: Iterable[str], share: float) -> str:
        found = chosen.choice(list(table)) if chosen.random() < share else PLAIN
        is_left_out = (
            (found.startswith("no ") and name in OTHERWISE)
            or (found in INFINITE and name in FINITE)
            or (found == "windows" and name.endswith("_scatter"))  # eager's copy overlaps as its operand does
        )
        return PLAIN if is_left_out else found

    def change() -> tuple[int, str]:
        return chosen.randrange(1, 8), chosen.choice(list(chosen.choice((NUMBERS, NEAR, NEAR, OTHERS))))

    return Crossing(
        name,
        sample=chosen.randrange(count),
        earlier=chosen.randrange(count) if chosen.random() < 0.4 else None,
        was_usual=chosen.random() < 0.5,
        form=some([name for name in FORMS for _ in range(OFTEN.get(name, 1))], 0.8),
        variant=some(VARIANTS, 0.4),
        made=some(MADE, 0.4),
        dtype=some(TYPES, 0.4),
        fill=some(FILLS, 0.4),
        layout=some(LAYOUTS, 0.4),
        inside=some(MODES, 0.3),
        outside=some(MODES, 0.3),
        changes=tuple(change() for _ in range(chosen.choice((0, 0, 1, 1, 2, 3)) * (name not in UNCHANGED))),
        has_gradients=chosen.random() < 0.3,
        are_constant=chosen.random() < 0.3,
        dynamic=chosen.choice((None, True, False)),
        backend=chosen.choice(("native", "native", "eager")),
    )
