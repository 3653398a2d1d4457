"""Nest -> the text of an LLVM module with one public function.

The public function takes addresses and sizes. It runs `@range` over all of the parallel iterations itself, or
through GOMP_parallel where there is enough work; then each thread runs a part of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from supple.codegen.cpu import vector
from supple.codegen.cpu.block import Block, CodegenError
from supple.codegen.cpu.code import Code
from supple.codegen.cpu.index import Index
from supple.codegen.cpu.memory import SLOT_LINE
from supple.codegen.cpu.registers import Reg, constant, stored
from supple.codegen.cpu.target import Features
from supple.expr import Expr, const, product
from supple.ir.dtypes import DType
from supple.ir.loops.nodes import Access, Axis, Buffer, Loop, Nest, Role, Statement
from supple.ir.program import Target

SYMBOL: Final = "KERNEL"
"""Stands for the public function's name in the text, so that equal kernels have equal text."""


THREADS: Final = (
    "declare void @GOMP_parallel(ptr, ptr, i32, i32)",
    "declare i32 @omp_get_thread_num()",
    "declare i32 @omp_get_num_threads()",
)


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


def emit(nest: Nest, target: Target, features: Features) -> str:
    """Return the module's text.

    Raises:
        CodegenError: scratch of unknown or too large a size, or a complex dtype.
    """
    code = Code()
    form = shape(nest)
    _write_range(code, nest, target, features, form)
    ranges = _function("internal void @range", [*_parameters(nest), "i64 %begin", "i64 %end"], code)
    work = form.total * operations(() if form.is_line else form.inner, nest.body)
    parts = [*sorted(code.declarations.values()), ranges]
    is_small = work.is_const and work.value < target.parallel_work
    if not is_small:
        parts += [*THREADS, _thread(nest, form, features)]
    parts.append(_entry(nest, form, None if is_small else (work, target.parallel_work)))
    return "\n\n".join(parts) + "\n"


def _function(head: str, parameters: Sequence[str], code: Code) -> str:
    return f"define {head}({', '.join(parameters)}) nounwind {{\n{code.finish()}\n}}"


def operations(axes: Sequence[Axis], body: Sequence[Statement]) -> Expr:
    """Return how many scalar operations the body takes over the axes: a measure of work."""
    total = const(0)
    for statement in body:
        total = total + (operations(statement.axes, statement.body) if isinstance(statement, Loop) else 1)
    return total * product(axis.extent for axis in axes)


def _parameters(nest: Nest) -> list[str]:
    buffers = [f"ptr noalias %p{n}" for n in range(len(_passed(nest)))]
    return [*buffers, *[f"i64 %s{n}" for n in range(len(nest.sizes))]]


def _arguments(nest: Nest) -> list[str]:
    return [parameter.replace("noalias ", "") for parameter in _parameters(nest)]


def _sizes(nest: Nest) -> dict[str, Reg]:
    return {size.name: Reg(f"%s{n}", DType.I64) for n, size in enumerate(nest.sizes)}


def _passed(nest: Nest) -> list[Buffer]:
    """Return the buffers that are parameters."""
    return [buffer for buffer in nest.buffers if buffer.access is not Access.SCRATCH]


def _write_range(code: Code, nest: Nest, target: Target, features: Features, form: Shape) -> None:
    """Write the body of `@range`: units %begin to %end of the work."""
    code.line(SLOT_LINE)
    block = Block(code, features, _addresses(code, nest, target), _sizes(nest))
    begin, end = Reg("%begin", DType.I64), Reg("%end", DType.I64)
    work = Loop(form.inner, nest.body)
    if form.is_line:
        run = vector.Run(work, (), vector.copies_for(work, features.lanes), features.lanes)
        vector.write_axis(run, block, (begin, end), ())
        return
    with code.repeat(begin, end, 1) as loop:
        inside = block.inside(_coordinates(block, form.parallel, loop.index), None)
        if form.inner:
            vector.write_loop(inside, work)
        else:
            vector.write(inside, nest.body)


def _addresses(code: Code, nest: Nest, target: Target) -> dict[str, tuple[Buffer, Reg]]:
    """Return each buffer with its address: a parameter, or scratch on the stack."""
    found: dict[str, tuple[Buffer, Reg]] = {}
    for number, buffer in enumerate(_passed(nest)):
        found[buffer.name] = buffer, Reg(f"%p{number}", stored(buffer.dtype), is_address=True)
    reserved = 0
    for buffer in nest.buffers:
        if buffer.access is Access.SCRATCH:
            length = buffer.size.value if buffer.size.is_const else None
            reserved += (length or 0) * buffer.dtype.size
            if length is None or reserved > target.scratch_bytes:
                msg = f"scratch {buffer.name} of {buffer.size} elements in {nest.name}: no room on the stack"
                raise CodegenError(msg)
            kept = Reg(code.fresh(), stored(buffer.dtype))
            code.line(f"{kept.text} = alloca [{max(length, 1)} x {kept.type}], align 64")
            found[buffer.name] = buffer, replace(kept, is_address=True)
    return found


def _coordinates(block: Block, axes: tuple[Axis, ...], unit: Reg) -> dict[str, Reg]:
    """Return the value of each parallel axis in a unit of work, the last axis running fastest."""
    code = block.code
    values: dict[str, Reg] = {}
    for axis in reversed(axes[1:]):
        extent = block.index(axis.extent)
        text = f"udiv i64 {unit.text}, {extent.text}"
        quotient = code.trapping(text, DType.I64, 1, (unit, extent))
        values[axis.symbol.name] = code.op("sub", unit, code.op("mul", quotient, extent))
        unit = quotient
    if axes:
        values[axes[0].symbol.name] = unit
    return values


def _entry(nest: Nest, form: Shape, limit: tuple[Expr, int] | None) -> str:
    """Return the public function; limit[0] operations take one thread where they are fewer than limit[1]."""
    code = Code()
    index = Index(code, _sizes(nest).__getitem__)
    total = index(form.total)
    direct = f"call void @range({', '.join([*_arguments(nest), 'i64 0', total.typed])})"
    with code.guard(code.compare("icmp sgt", total, constant(DType.I64, 0))):
        if limit is None:
            code.line(direct)
        else:
            is_small = code.compare("icmp slt", index(limit[0]), constant(DType.I64, limit[1]))
            with code.guard(is_small):
                code.line(direct)
            with code.guard(code.op("xor", is_small, constant(DType.BOOL, 1))):
                _fork(code, nest, total)
    return _function(f"void @{SYMBOL}", _parameters(nest), code)


def _fork(code: Code, nest: Nest, total: Reg) -> None:
    """Write the arguments and the total to memory and run `@thread` on every thread of the pool."""
    values = [*_arguments(nest), total.typed]
    code.line(f"%shared = alloca [{len(values)} x i64], align 8")
    for number, value in enumerate(values):
        code.line(f"%a{number} = getelementptr i64, ptr %shared, i64 {number}")
        code.line(f"store {value}, ptr %a{number}, align 8")
    # 0 threads: as many as torch.set_num_threads asked for.
    code.line("call void @GOMP_parallel(ptr @thread, ptr %shared, i32 0, i32 0)")


def _thread(nest: Nest, form: Shape, features: Features) -> str:
    """Return what each thread runs: its part of the units, in chunks of whole vectors for a line."""
    code = Code()
    arguments = _arguments(nest)
    for number, argument in enumerate([*arguments, "i64 %total"]):
        kind, name = argument.split()
        code.line(f"%a{number} = getelementptr i64, ptr %shared, i64 {number}")
        code.line(f"{name} = load {kind}, ptr %a{number}, align 8")
    total, unit = Reg("%total", DType.I64), features.lanes * 4 if form.is_line else 1
    number = code.convert("zext", code.here("call i32 @omp_get_thread_num()", DType.I32), DType.I64)
    threads = code.convert("zext", code.here("call i32 @omp_get_num_threads()", DType.I32), DType.I64)
    share = code.op("add", total, code.op("mul", threads, constant(DType.I64, unit)))
    share = code.op("sub", share, constant(DType.I64, 1))
    share = code.op("udiv", share, code.op("mul", threads, constant(DType.I64, unit)))
    share = code.op("mul", share, constant(DType.I64, unit))
    begin = code.op("mul", number, share)
    end = code.intrinsic("smin", code.op("add", begin, share), total)
    with code.guard(code.compare("icmp slt", begin, end)):
        code.line(f"call void @range({', '.join([*arguments, begin.typed, end.typed])})")
    return _function("internal void @thread", ["ptr %shared"], code)
