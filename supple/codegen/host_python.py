"""Host program -> Python text: one straight-line function with nothing in it but the steps.

The text defines `run(inputs) -> tuple`; kernels are global names (the convention of `runtime.load`). Names
that are made here begin with an underscore, and those of values do not (`schedule.host.identifiers`).
Measured per call: `torch.empty_strided` 1.3 us, `torch.mm` 4.3 us against `torch.ops.aten.mm.default` 7.5
us, `torch.as_strided` 4.5 us, `torch.t` 3.2 us, `data_ptr` 0.1 us. So library calls go through the function
of `torch` with the same schema where one exists, and a pointer or product of sizes that several steps need
is computed once.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import Final, TypeVar

from supple.base.rules import Rules
from supple.expr import Expr, Function, brief, const
from supple.expr.real import NAMES, Real, total_text
from supple.expr.text import Print
from supple.ir.arguments import leaves
from supple.ir.host.nodes import (
    Alloc,
    Bind,
    Check,
    Compared,
    Extern,
    Free,
    Host,
    Launch,
    Return,
    Step,
    View,
    Writes,
)
from supple.ir.host.strides import fresh_strides
from supple.ir.host.text import argument_text
from supple.ir.meta import TensorMeta, meta_text
from supple.runtime.empty import SAFE, laid_out
from supple.torch_private import FUNCTIONS

#: ATen overloads whose public function takes the same arguments and gives the same result.
PUBLIC: Final = FUNCTIONS | {
    f"aten.{name}": f"torch.{name.split('.')[0]}"
    for name in (
        "mm.default addmm.default bmm.default baddbmm.default convolution.default cumsum.default "
        "sort.default sort.stable topk.default scatter.src scatter.value scatter_add.default "
        "embedding.default index_select.default gather.default nonzero.default"
    ).split()
}

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Fence:
    """What is known of a kernel that runs between guard pages.

    Attributes:
        about: what people know it by.
        writes: which of its buffers it writes.
    """

    about: str
    writes: tuple[bool, ...]


@dataclass(slots=True)
class Text:
    """The text under construction: names bound before the function, its lines, and what they have computed.

    `uses` counts how often the steps need a pointer (by name) or a number. Where there are `fences`, by
    kernel, kernels run between guard pages, and fresh tensors hold poison.
    """

    fences: Mapping[str, Fence] | None = None

    bound: dict[str, str] = field(default_factory=dict[str, str])
    lines: list[str] = field(default_factory=list[str])
    pointers: dict[str, str] = field(default_factory=dict[str, str])
    numbers: dict[Expr | Real, str] = field(default_factory=dict["Expr | Real", str])
    floats: dict[Real, str] = field(default_factory=dict["Real", str])
    uses: Counter[object] = field(default_factory=Counter[object])
    printed: Print = field(init=False)

    def __post_init__(self) -> None:
        """What several numbers are computed from is computed once."""
        self.printed = Print(ranges=False, kept=self._kept)

    def count(self, use: object) -> None:
        """Note that one more step needs this, or one more number is computed from it."""
        self.uses[use] += 1
        if self.uses[use] == 1:
            for part in _parts(use):
                self.count(part)

    def bind(self, expression: str) -> str:
        """Return a global name for an expression of torch's namespace, bound once."""
        name = "_" + expression.removeprefix("torch.").removeprefix("ops.").replace(".", "_")
        owner, _, last = expression.rpartition(".")
        self.bound[name] = f"getattr({owner}, {last!r})" if iskeyword(last) else expression
        return name

    def pointer(self, name: str) -> str:
        """Return the address of a tensor: a call, or a name where several launches need it."""
        return self._once(self.pointers, name, f"_p_{name}", f"{name}.data_ptr()")

    def _once(self, known: dict[Key, str], key: Key, name: str, text: str) -> str:
        """Return an expression, or a name for its value where several steps need it."""
        if self.uses[key] == 1:
            return text
        if key not in known:
            known[key] = name
            self.lines.append(f"{name} = {text}")
        return known[key]

    def number(self, number: Expr | Real) -> str:
        """Return a number as Python: arithmetic, or a name where several steps need it."""
        shown = self.printed(number)
        if isinstance(number, Real):
            self.bound.update({name: f"math.{name}" for name in NAMES})
            return total_text(number, shown)
        if not number.args or isinstance(number, Function):
            return shown
        return self._once(self.numbers, number, f"_n_{len(self.numbers)}", shown)

    def _kept(self, part: Expr | Real, text: str) -> str:
        """Return what stands for a function of sizes, or an operation on floats, in a number."""
        if self.uses[part] == 1:
            return text
        return self._once(self.numbers, part, f"_n_{len(self.numbers)}", total_text(part, text))

    def bits(self, number: Real) -> str:
        """Return the bits of a float, or a name for them where several launches need it."""
        text = f"float_bits({self.number(number)})"
        return self._once(self.floats, number, f"_f_{len(self.floats)}", text)

    def numbers_of(self, values: Sequence[Expr]) -> str:
        """Return numbers as a tuple."""
        return f"({', '.join(map(self.number, values))}{',' if len(values) == 1 else ''})"

    def argument(self, arg: object) -> str:
        """Return an argument as Python text, numbers as arithmetic."""
        return argument_text(arg, self.number)


#: Kind of step -> (text, step) -> None.
lines: Final[Rules[Callable[..., None]]] = Rules("host Python")


def host_source(host: Host, fences: Mapping[str, Fence] | None = None) -> str:
    """Return a host program as a Python module that defines `run(inputs)`; for `fences` see `Text`."""
    out = Text(fences)
    for step in host.steps:
        for use in _uses(step):
            out.count(use)
    if host.inputs:
        out.lines.append(f"{', '.join(host.inputs)}{',' if len(host.inputs) == 1 else ''} = inputs")
    for step in host.steps:
        lines[type(step)](out, step)
    bound = "\n".join(f"{name} = {value}" for name, value in out.bound.items())
    body = "\n".join(f"    {line}" for line in _guarded(out.lines))
    guards = "" if fences is None else "\nfrom supple.runtime.guard_pages import between_guards, poisoned\n"
    return f"import math\n\nimport torch\n{guards}\n{bound}\n\n\ndef run(inputs):\n{body}\n"


def _guarded(written: Sequence[str]) -> Iterator[str]:
    """Yield lines of which those behind that of `Writes` say of an exception that inputs are written."""
    end = written.index(_TRY) + 1 if _TRY in written else len(written)
    yield from written[:end]
    if end < len(written):
        yield from (f"    {line}" for line in written[end:])
        yield from ("except Exception as error:", "    note_writes(error)", "    raise")


_TRY: Final = "try:"


def _uses(step: Step) -> Iterator[object]:
    """Yield the numbers that a step needs, and the names of the tensors whose addresses it needs."""
    match step:
        case Alloc():
            yield from (*step.meta.sizes, *(fresh_strides(step.meta) or ()))
        case View():
            yield from (*step.meta.sizes, *step.meta.strides, step.meta.offset)
        case Check():
            if step.compared is not Compared.MEMORY:
                yield from (*step.meta.sizes, *step.meta.strides)
            if step.compared is not Compared.METADATA:
                yield step.meta.span
        case Launch():
            yield from (*step.buffers, *step.sizes)
        case Extern():
            yield from leaves((step.args, dict(step.kwargs)))
        case Return():
            yield from leaves(step.values)
        case _:
            pass


def _parts(number: object) -> Iterator[Function | Real]:
    """Yield the outermost operations of those that a number is computed from."""
    for arg in number.args if isinstance(number, Expr | Real) else ():
        if isinstance(arg, Function | Real):
            yield arg
        else:
            yield from _parts(arg)


@lines.on(Bind)
def _(out: Text, step: Bind) -> None:
    """number = value.size(dim)."""
    if step.dim is not None:
        out.lines.append(f"{step.number} = {step.value}.size({step.dim})")
    elif step.number != step.value:
        out.lines.append(f"{step.number} = {step.value}")


@lines.on(Check)
def _(out: Text, step: Check) -> None:
    """if any part of a tensor's metadata is another: raise."""
    conditions = list(_metadata_differs(out, step)) if step.compared is not Compared.MEMORY else []
    if step.compared is not Compared.METADATA and step.meta.span is not const(0):
        conditions.append(_is_beyond_memory(out, step))
    if conditions:
        wrong = " or ".join(conditions)
        out.lines.append(f"if {wrong}: mismatch({step.name!r}, {step.name}, {meta_text(step.meta, brief)!r})")


def _metadata_differs(out: Text, step: Check) -> Iterator[str]:
    """Yield what holds of a tensor with another dtype, device or size, or with other strides."""
    name, meta = step.name, step.meta
    yield f"{name}.dtype is not {out.bind(str(meta.dtype.torch))}"
    yield f"not {name}.is_cpu" if meta.device == "cpu" else f"str({name}.device) != {meta.device!r}"
    yield f"{name}.shape != {out.numbers_of(meta.sizes)}"
    if meta.is_contiguous:
        yield f"not {name}.is_contiguous()"
    elif meta.rank:
        strides = out.numbers_of(meta.strides)
        yield f"({name}.stride() != {strides} and not has_strides({name}, {strides}))"


def _is_beyond_memory(out: Text, step: Check) -> str:
    """Return what holds of a tensor whose storage ends before its last element, if it has any."""
    meta = step.meta
    needed = f"({step.name}.storage_offset() + {out.number(meta.span)}) * {meta.dtype.size}"
    return f"({step.name}.untyped_storage().nbytes() < {needed} and {step.name}.numel())"


@lines.on(Alloc)
def _(out: Text, step: Alloc) -> None:
    """name = empty_strided(sizes, strides, dtype), or empty(sizes, dtype)."""
    meta = step.meta
    strides = fresh_strides(meta)
    make = out.bind("torch.empty" if strides is None else "torch.empty_strided")
    dtype = out.bind(str(meta.dtype.torch))
    device = "" if meta.device == "cpu" else f", device={meta.device!r}"
    shape = ", ".join(map(out.numbers_of, (meta.sizes,) if strides is None else (meta.sizes, strides)))
    out.lines.append(f"{step.name} = {make}({shape}, dtype={dtype}{device})")
    if out.fences is not None:
        out.lines.append(f"poisoned({step.name})")


@lines.on(Launch)
def _(out: Text, step: Launch) -> None:
    """kernel(addresses, sizes)."""
    sizes = [out.bits(size) if isinstance(size, Real) else out.number(size) for size in step.sizes]
    if out.fences is None:
        args = [*map(out.pointer, step.buffers), *sizes]
        out.lines.append(f"{step.kernel}({', '.join(args)})")
        return
    fence = out.fences[step.kernel]
    pairs = zip(step.buffers, fence.writes, strict=True)
    operands = ", ".join(f"({name}, {name!r}, {is_written})" for name, is_written in pairs)
    numbers = ", ".join(sizes)
    out.lines.append(f"between_guards({step.kernel}, {fence.about!r}, [{operands}], [{numbers}])")


@lines.on(Extern)
def _(out: Text, step: Extern) -> None:
    """names = function(arguments); what is laid out already is not called for."""
    safe = SAFE.get(step.op)
    function = safe.__name__ if safe else out.bind(PUBLIC.get(step.op, f"torch.ops.{step.op}"))
    args = [out.argument(arg) for arg in step.args]
    args += [f"{key}={out.argument(arg)}" for key, arg in step.kwargs.items()]
    names = ", ".join(name or "_" for name in step.names)
    call = f"{function}({', '.join(args)})"
    if safe is laid_out and len(args) == 2:
        call = f"{args[0]} if {args[0]}.stride() == {args[1]} else {call}"
    out.lines.append(f"{names}{',' if step.is_tuple else ''} = {call}")


@lines.on(View)
def _(out: Text, step: View) -> None:
    """name = as_strided(base, sizes, strides, offset)."""
    meta: TensorMeta = step.meta
    make = out.bind("torch.as_strided")
    start = "" if meta.offset is const(0) else f", {step.base}.storage_offset() + {out.number(meta.offset)}"
    sizes, strides = out.numbers_of(meta.sizes), out.numbers_of(meta.strides)
    out.lines.append(f"{step.name} = {make}({step.base}, {sizes}, {strides}{start})")


@lines.on(Free)
def _(out: Text, step: Free) -> None:
    """del name; its address is forgotten."""
    out.pointers.pop(step.name, None)
    out.lines.append(f"del {step.name}")


@lines.on(Writes)
def _(out: Text, step: Writes) -> None:
    """try: what follows."""
    out.lines.append(_TRY)


@lines.on(Return)
def _(out: Text, step: Return) -> None:
    """return results."""
    out.lines.append(f"return {out.argument(step.values)}")
