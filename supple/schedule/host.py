"""Host: kernels and library calls in order become the steps of a host program."""

import re
from collections.abc import Collection, Sequence
from keyword import iskeyword
from typing import Final

from supple.expr import Expr
from supple.expr.real import FUNCTIONS, NAMES, Real
from supple.ir.core_ops import CORE_OPS, Kind, kind_of
from supple.ir.dtypes import DType
from supple.ir.graph.nodes import Constant, Meta, Var, definitions, map_arg
from supple.ir.host.nodes import Alloc, Bind, Extern, Launch, Return, Step, Value, View
from supple.ir.literals import CALLS
from supple.ir.loops.nodes import Access, Nest
from supple.ir.meta import TensorMeta
from supple.ir.ops import function_op
from supple.runtime.empty import SAFE, laid_out
from supple.schedule.deps import base_of
from supple.schedule.exact import Computed
from supple.schedule.extern import WITH_NUMBER
from supple.schedule.lower import Call, Lowered

NUMBERS: Final = (bool, int, float, complex, Expr, Real)
LAID_OUT: Final = function_op("supple.laid_out", laid_out)
CHOSEN: Final = frozenset(
    f"aten.{name}.default"
    for name in ("convolution", "max_pool2d_with_indices", "avg_pool2d", "_adaptive_avg_pool2d")
)
"""Core operators for whose result eager chooses a layout, as it may for operators outside of the core.

What torch's meta kernels say about the latter's strides is not always what eager does."""


class Steps:
    """Collects the steps of a host program. Values keep their graph names.

    Args:
        computed: the integers that the host computes for kernels; it grows while they are made.
    """

    def __init__(self, lowered: Lowered, computed: Computed) -> None:
        self.lowered = lowered
        self.computed = computed
        self.steps: list[Step] = []
        self.known = {item.name for item in lowered.inputs}
        self.numbers: set[str] = set()
        for item in lowered.inputs:
            self.bind(item.name, item.meta)

    def bind(self, name: str, meta: Meta) -> None:
        """Add what binds the numbers that a value shows and no earlier one does."""
        for number, path, dim in definitions(meta):
            if number not in self.numbers:
                self.numbers.add(number)
                self.steps.append(Bind(number, str(Var(name, path)), dim))

    def launch(self, nest: Nest, buffers: Sequence[str]) -> None:
        """Add a kernel: its outputs are allocated just before. `buffers` are value names, without scratch."""
        written = {buffer.name: buffer.access is not Access.READ for buffer in nest.buffers}
        self.allocate([name for name, is_out in zip(buffers, written.values(), strict=False) if is_out])
        given = {**self.lowered.reals, **{found: number for number, found in self.computed.items()}}
        sizes = tuple(given.get(size, size) for size in nest.sizes)
        self.steps.append(Launch(nest.name, tuple(buffers), sizes))

    def allocate(self, names: Sequence[str]) -> None:
        """Add allocations of values that are not in memory yet."""
        for name in names:
            if name not in self.known:
                self.steps.append(Alloc(name, self.lowered.metas[name]))
                self.known.add(name)

    def call(self, call: Call) -> None:
        """Add a library call; views among its operands are made first."""
        args = tuple(self.argument(arg) for arg in call.args)
        kwargs = {key: self.argument(arg) for key, arg in call.kwargs.items()}
        name = call.op.name
        if kind_of(name) is Kind.POINTWISE and any(isinstance(arg, NUMBERS) for arg in args):
            if name in WITH_NUMBER and not isinstance(args[0], NUMBERS):
                name = WITH_NUMBER[name]
            else:
                args = self._as_tensors(call, args)
        is_known = (name in CORE_OPS and name not in CHOSEN) or not call.op.is_pure
        raw = {one: f"{one}.raw" for one, meta in call.metas.items() if meta.rank and not is_known}
        names = tuple(raw.get(one, one) if one else None for one in call.names)
        self.steps.append(Extern(names, name, args, kwargs, call.is_tuple))
        for one, given in zip(call.names, names, strict=True):
            if one is not None and given is not None:
                self.known.add(one)
                self.bind(given, self.lowered.values[one])
        for one, given in raw.items():
            meta = call.metas[one]
            said = () if name.startswith("aten.") else (_plain(meta.sizes), name)
            self.steps.append(Extern((one,), LAID_OUT.name, (Value(given), _plain(meta.strides), *said)))

    def _as_tensors(self, call: Call, args: tuple[object, ...]) -> tuple[object, ...]:
        """Return operands of a pointwise op with real numbers made tensors of the dtype of the others."""
        dtype = next(
            meta.dtype for name in call.reads if isinstance(meta := self.lowered.values[name], TensorMeta)
        )
        made: list[object] = []
        for place, arg in enumerate(args):
            if isinstance(arg, NUMBERS) and not isinstance(arg, complex):
                name = f"{call.origin}.{place}"
                arg = self._scalar(name, arg, dtype)
            made.append(arg)
        return tuple(made)

    def _scalar(self, name: str, number: object, dtype: DType) -> Value:
        """Make a number a tensor; one that does not fit among integers wraps, as in eager's own operator."""
        known = DType.I64 if dtype.is_integer and not isinstance(number, float | Real) else dtype
        wide = name
        self.steps.append(Extern((wide,), "aten.scalar_tensor.default", (number,), {"dtype": known.torch}))
        if known is not dtype:
            wide, name = name, f"{name}.wrapped"
            self.steps.append(
                Extern((name,), "aten._to_copy.default", (Value(wide),), {"dtype": dtype.torch})
            )
        return Value(name)

    def argument(self, arg: object) -> object:
        """Return a graph argument as a host argument, making the views that it needs."""
        return map_arg(self._use, arg)

    def _use(self, var: Var) -> object:
        name = str(var)
        meta = self.lowered.values[name]
        if isinstance(meta, TensorMeta):
            self._ensure(name, meta)
        elif isinstance(meta, Constant | Expr | Real) and name not in self.known:
            return meta.value if isinstance(meta, Constant) else meta
        return Value(name)

    def _ensure(self, name: str, meta: TensorMeta) -> None:
        """Make the view `name` of a value in memory, unless it exists."""
        if name in self.known:
            return
        base = base_of(name, self.lowered.definitions)
        assert base in self.known, f"{name} is needed, but its storage {base} is not in memory"
        assert base != name, f"{name} is in no kernel"
        start = meta.offset - self.lowered.metas[base].offset
        shown = TensorMeta(meta.sizes, meta.strides, meta.dtype, meta.device, start)
        self.steps.append(View(name, base, shown))
        self.known.add(name)

    def finish(self, outputs: Sequence[object]) -> None:
        """Add the Return."""
        self.steps.append(Return(tuple(map(self.argument, outputs))))


def _plain(numbers: Sequence[Expr]) -> tuple[Expr | int, ...]:
    return tuple(number.value if number.is_const else number for number in numbers)


RESERVED: Final = frozenset(
    (
        *filter(str.isidentifier, (*FUNCTIONS, *CALLS)),
        *NAMES,
        *(call.__name__ for call in SAFE.values()),
        *"float_bits float_of has_strides mismatch note_writes between_guards poisoned".split(),
        *"inputs error math torch str".split(),
    )
)
"""What the text of a host program calls: a value of such a name would be called in its place."""


def identifiers(names: Sequence[str], others: Collection[str]) -> dict[str, str]:
    """Return a Python identifier for each value name; different names get different ones.

    None is that of a number or a kernel (`others`), none that of a function which the text of the program
    needs (`RESERVED`), and none begins with an underscore, as the names that the text makes do.
    """
    result: dict[str, str] = {}
    taken = set(others)
    for name in dict.fromkeys(names):
        word = re.sub(r"\W+", "_", name).strip("_") or "v"
        word = word if word[0].isalpha() else f"v{word}"
        while word in taken or word in RESERVED or iskeyword(word):
            word += "_"
        taken.add(word)
        result[name] = word
    return result
