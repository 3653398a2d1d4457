"""Nest -> the text of an LLVM module: `void KERNEL(integers, begin, end)`, and how its work is divided.

The kernel takes its addresses and sizes from an array of 64-bit integers and runs units `begin` to `end` of
its work. Units are independent of each other; the launcher hands them to threads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from supple.codegen.cpu import vector
from supple.codegen.cpu.block import Block
from supple.codegen.cpu.code import Code
from supple.codegen.cpu.index import Index
from supple.codegen.cpu.memory import SLOT_LINE, scratch
from supple.codegen.cpu.registers import Reg, constant, stored
from supple.codegen.cpu.target import Features
from supple.expr import Expr, const, product
from supple.ir.dtypes import DType
from supple.ir.loops.nodes import Access, Axis, Buffer, Compute, Loop, Nest, Role, Statement
from supple.ir.program import Target

SYMBOL: Final = "KERNEL"
"""Stands for the public function's name in the text, so that equal kernels have equal text."""
RARE: Final = '!0 = !{!"branch_weights", i32 1, i32 100000}'
"""What the branch to rare code says."""
CALL_COST: Final = 32
LONG_COST: Final = 8
"""What operators that call functions, and those of many instructions, are worth in simple ones."""


@dataclass(frozen=True, slots=True)
class Emitted:
    """A kernel as text.

    Attributes:
        text: the module; the kernel is called SYMBOL in it.
        units: how many units of work there are, negative where they are too few for threads. None: the module
            has a function SYMBOL_units of the array of integers, which says it.
        chunk: threads take multiples of so many units.
    """

    text: str
    units: int | None
    chunk: int


@dataclass(frozen=True, slots=True)
class Shape:
    """How a nest's axes are run.

    Attributes:
        parallel: the axes whose product is divided among threads.
        inner: the axes that each thread runs for one of those, in order.
        is_line: the only axis is the vector axis, and threads take parts of it.
    """

    parallel: tuple[Axis, ...]
    inner: tuple[Axis, ...]
    is_line: bool

    @property
    def total(self) -> Expr:
        """How many units of work there are: iterations of the parallel axes, or of the one vector axis."""
        return product(axis.extent for axis in (self.inner if self.is_line else self.parallel))


def shape(nest: Nest) -> Shape:
    """Return how the nest's axes are run."""
    parallel = tuple(axis for axis in nest.axes if axis.role is Role.PARALLEL)
    inner = nest.axes[len(parallel) :]
    return Shape(parallel, inner, not parallel and len(inner) == 1 and inner[0].role is Role.VECTOR)


def emit(nest: Nest, target: Target, features: Features) -> Emitted:
    """Return the kernel of a nest.

    Raises:
        CodegenError: scratch of unknown or too large a size.
    """
    code = Code()
    form = shape(nest)
    _write_kernel(code, nest, target, features, form)
    kernel = _function(f"void @{SYMBOL}(ptr %integers, i64 %begin, i64 %end)", code, "ret void")
    parts = [RARE, *sorted(code.declarations.values()), kernel]
    units = form.total
    work = units * operations(() if form.is_line else form.inner, nest.body)
    chunk = features.lanes * 4 if form.is_line else 1
    signed = None
    if units.is_const and work.is_const:
        signed = max(units.value, 0) * (1 if work.value >= target.parallel_work else -1)
    else:
        parts.append(_units(nest, units, work, target.parallel_work))
    return Emitted("\n\n".join(parts) + "\n", signed, chunk)


def _function(head: str, code: Code, last: str) -> str:
    return f"define {head} nounwind {{\n{code.finish()}\n  {last}\n}}"


def _units(nest: Nest, units: Expr, work: Expr, limit: int) -> str:
    """Return the function of units: their number, negative where the operations are fewer than the limit."""
    code = Code()
    index = Index(code, _sizes(code, nest).__getitem__)
    count = code.intrinsic("smax", index(units), constant(DType.I64, 0))
    is_small = code.compare("icmp slt", index(work), constant(DType.I64, limit))
    signed = code.select(is_small, code.op("sub", constant(DType.I64, 0), count), count)
    return _function(f"i64 @{SYMBOL}_units(ptr %integers)", code, f"ret {signed.typed}")


def operations(axes: Sequence[Axis], body: Sequence[Statement]) -> Expr:
    """Return how many simple scalar operations the body is worth over the axes: a measure of work."""
    total = const(0)
    for statement in body:
        match statement:
            case Loop():
                total = total + operations(statement.axes, statement.body)
            case Compute(op=op):
                total = total + (CALL_COST if op in vector.CALLS else LONG_COST if op in vector.LONG else 1)
            case _:
                total = total + 1
    return total * product(axis.extent for axis in axes)


def _passed(nest: Nest) -> list[Buffer]:
    """Return the buffers that are parameters."""
    return [buffer for buffer in nest.buffers if buffer.access is not Access.SCRATCH]


def _parameter(code: Code, number: int, kind: str) -> str:
    """Return the name of an integer of the kernel's array, read as an LLVM type."""
    place, name = code.fresh(), code.fresh()
    code.line(f"{place} = getelementptr i64, ptr %integers, i64 {number}")
    code.line(f"{name} = load {kind}, ptr {place}, align 8")
    return name


def _sizes(code: Code, nest: Nest) -> dict[str, Reg]:
    """Return the sizes, which follow the addresses in the array."""
    first = len(_passed(nest))
    return {
        size.name: Reg(_parameter(code, first + number, "i64"), DType.I64)
        for number, size in enumerate(nest.sizes)
    }


def _write_kernel(code: Code, nest: Nest, target: Target, features: Features, form: Shape) -> None:
    """Write the kernel's body: units %begin to %end of the work."""
    code.line(SLOT_LINE)
    sizes = _sizes(code, nest)
    buffers: dict[str, tuple[Buffer, Reg]] = {}
    for number, buffer in enumerate(_passed(nest)):
        name = _parameter(code, number, "ptr")
        buffers[buffer.name] = buffer, Reg(name, stored(buffer.dtype), is_address=True)
    with scratch(code, nest, target, sizes) as reserved:
        _write_units(Block(code, features, {**buffers, **reserved}, sizes), nest, form)


def _write_units(block: Block, nest: Nest, form: Shape) -> None:
    code = block.code
    begin, end = Reg("%begin", DType.I64), Reg("%end", DType.I64)
    work = Loop(form.inner, nest.body)
    if form.is_line:
        vector.write_axis(vector.run_of(work, (), block), block, (begin, end), ())
        return
    # Coordinates are counted up from unit to unit where a size would divide: that is cheaper.
    count = any(not axis.extent.is_const for axis in form.parallel[1:])
    first = tuple(_coordinates(block, form.parallel, begin).values()) if count else ()
    with code.repeat(begin, end, 1, first) as loop:
        if count:
            names = [axis.symbol.name for axis in form.parallel]
            places = dict(zip(names, loop.carried, strict=True))
            loop.next = _following(block, form.parallel, loop.carried)
        else:
            places = _coordinates(block, form.parallel, loop.index)
        inside = block.inside(places, None)
        if form.inner:
            vector.write_loop(inside, work)
        else:
            vector.write(inside, nest.body)


def _following(block: Block, axes: tuple[Axis, ...], places: Sequence[Reg]) -> tuple[Reg, ...]:
    """Return the coordinates of the next unit: the last axis one further, the one before at its end."""
    code = block.code
    following: list[Reg] = []
    step = constant(DType.I64, 1)
    for axis, place in zip(reversed(axes), reversed(places), strict=True):
        moved = code.op("add", place, step)
        is_end = code.compare("icmp eq", moved, block.index(axis.extent))
        following.append(code.select(is_end, constant(DType.I64, 0), moved))
        step = code.convert("zext", is_end, DType.I64)
    return tuple(reversed(following))


def _coordinates(block: Block, axes: tuple[Axis, ...], unit: Reg) -> dict[str, Reg]:
    """Return the value of each parallel axis in a unit of work, the last axis running fastest."""
    code = block.code
    values: dict[str, Reg] = {}
    for axis in reversed(axes[1:]):
        extent = block.index(axis.extent)
        quotient = code.trapping(f"udiv i64 {unit.text}, {extent.text}", DType.I64, 1, (unit, extent))
        values[axis.symbol.name] = code.op("sub", unit, code.op("mul", quotient, extent))
        unit = quotient
    if axes:
        values[axes[0].symbol.name] = unit
    return {axis.symbol.name: values[axis.symbol.name] for axis in axes}
