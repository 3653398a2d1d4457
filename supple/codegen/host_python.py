"""Host program -> Python text: one straight-line function with nothing in it but the steps.

The text defines `run(inputs) -> tuple`; kernels are global names (the convention of `runtime.load`).
Measured per call: `torch.empty_strided` 1.3 us, `torch.mm` 4.3 us against `torch.ops.aten.mm.default` 7.5
us, `torch.as_strided` 4.5 us, `torch.t` 3.2 us, `data_ptr` 0.1 us. So library calls go through the function
of `torch` with the same schema where one exists, and a pointer that several launches need is asked for
once.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from supple.base.rules import Rules
from supple.expr import Expr, const
from supple.expr import text as expr_text
from supple.ir.host.nodes import Alloc, Extern, Free, Host, Launch, Return, Step, View
from supple.ir.host.text import argument_text
from supple.ir.meta import TensorMeta

#: ATen overloads whose public function takes the same arguments and gives the same result.
PUBLIC: Final = {
    f"aten.{name}": f"torch.{name.split('.')[0]}"
    for name in (
        "mm.default addmm.default bmm.default baddbmm.default convolution.default cumsum.default "
        "sort.default sort.stable topk.default scatter.src scatter.value scatter_add.default "
        "index_put.default embedding.default index_select.default gather.default"
    ).split()
}


@dataclass(slots=True)
class Text:
    """The text under construction: names bound before the function, and its lines."""

    bound: dict[str, str] = field(default_factory=dict[str, str])
    lines: list[str] = field(default_factory=list[str])
    pointers: dict[str, str] = field(default_factory=dict[str, str])
    pointer_uses: Counter[str] = field(default_factory=Counter[str])

    def bind(self, expression: str) -> str:
        """Return a global name for an expression of torch's namespace, bound once."""
        name = "_" + expression.removeprefix("torch.").removeprefix("ops.").replace(".", "_")
        self.bound[name] = expression
        return name

    def pointer(self, name: str) -> str:
        """Return the address of a tensor: a call, or a name where several launches need it."""
        if self.pointer_uses[name] == 1:
            return f"{name}.data_ptr()"
        if name not in self.pointers:
            self.pointers[name] = f"p_{name}"
            self.lines.append(f"p_{name} = {name}.data_ptr()")
        return self.pointers[name]


lines: Final[Rules[Callable[[Text, Step], None]]] = Rules("host Python")


def host_source(host: Host) -> str:
    """Return a host program as a Python module that defines `run(inputs)`."""
    out = Text()
    out.pointer_uses.update(n for step in host.steps if isinstance(step, Launch) for n in step.buffers)
    if host.inputs:
        out.lines.append(f"{', '.join(host.inputs)}{',' if len(host.inputs) == 1 else ''} = inputs")
    for binding in host.sizes:
        place = binding.input if binding.dim < 0 else f"{binding.input}.size({binding.dim})"
        out.lines.append(f"{binding.symbol.name} = {place}")
    for step in host.steps:
        lines[type(step)](out, step)
    head = ["import torch", "", *(f"{name} = {value}" for name, value in out.bound.items()), "", ""]
    body = [f"    {line}" for line in out.lines]
    return "\n".join((*head, "def run(inputs):", *body)) + "\n"


def _number(e: Expr) -> str:
    return expr_text(e, ranges=False)


def _numbers(values: tuple[Expr, ...]) -> str:
    return f"({', '.join(map(_number, values))}{',' if len(values) == 1 else ''})"


def _argument(arg: object) -> str:
    """Return an argument as Python text, size expressions as arithmetic."""
    return argument_text(arg, _number)


@lines.on(Alloc)
def _(out: Text, step: Step) -> None:
    """name = empty_strided(sizes, strides, dtype)."""
    assert isinstance(step, Alloc), f"{step}"
    meta = step.meta
    make = out.bind("torch.empty_strided")
    dtype = out.bind(str(meta.dtype.torch))
    device = "" if meta.device == "cpu" else f", device={meta.device!r}"
    out.lines.append(
        f"{step.name} = {make}({_numbers(meta.sizes)}, {_numbers(meta.strides)}, dtype={dtype}{device})"
    )


@lines.on(Launch)
def _(out: Text, step: Step) -> None:
    """kernel(addresses, sizes)."""
    assert isinstance(step, Launch), f"{step}"
    args = [*(out.pointer(name) for name in step.buffers), *(_number(e) for e in step.sizes)]
    out.lines.append(f"{step.kernel}({', '.join(args)})")


@lines.on(Extern)
def _(out: Text, step: Step) -> None:
    """names = function(arguments)."""
    assert isinstance(step, Extern), f"{step}"
    function = out.bind(PUBLIC.get(step.op, f"torch.ops.{step.op}"))
    args = [_argument(arg) for arg in step.args]
    args += [f"{key}={_argument(arg)}" for key, arg in step.kwargs.items()]
    names = ", ".join(name or "_" for name in step.names)
    out.lines.append(f"{names}{',' if step.is_tuple else ''} = {function}({', '.join(args)})")


@lines.on(View)
def _(out: Text, step: Step) -> None:
    """name = as_strided(base, sizes, strides, offset)."""
    assert isinstance(step, View), f"{step}"
    meta: TensorMeta = step.meta
    make = out.bind("torch.as_strided")
    offset = "" if meta.offset is const(0) else f", {step.base}.storage_offset() + {_number(meta.offset)}"
    out.lines.append(
        f"{step.name} = {make}({step.base}, {_numbers(meta.sizes)}, {_numbers(meta.strides)}{offset})"
    )


@lines.on(Free)
def _(out: Text, step: Step) -> None:
    """del name; its address is forgotten."""
    assert isinstance(step, Free), f"{step}"
    out.pointers.pop(step.name, None)
    out.lines.append(f"del {step.name}")


@lines.on(Return)
def _(out: Text, step: Step) -> None:
    """return results."""
    assert isinstance(step, Return), f"{step}"
    out.lines.append(f"return {_argument(step.values)}")
