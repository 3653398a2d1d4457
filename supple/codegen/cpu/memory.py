"""Loads and stores: contiguous vectors, broadcasts, gathers and scatters, under masks; scratch.

A load whose address is the same in all lanes is a scalar. The memory of masked lanes is not touched.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Final

from supple.codegen.cpu import x86
from supple.codegen.cpu.block import Block, CodegenError, iota
from supple.codegen.cpu.code import Code
from supple.codegen.cpu.index import Index
from supple.codegen.cpu.registers import Reg, constant, mangled, stored, type_text
from supple.codegen.cpu.split import joined, part
from supple.expr import Expr
from supple.ir.dtypes import DType
from supple.ir.loops.nodes import Access, Buffer, Load, Nest, Store
from supple.ir.program import Target

SLOT: Final = Reg("%slot", DType.U8, is_address=True)
SLOT_LINE: Final = "%slot = alloca [16 x i8], align 16"
"""A place that is read where a scalar load is masked out."""


@contextmanager
def scratch(
    code: Code, nest: Nest, target: Target, sizes: Mapping[str, Reg]
) -> Generator[dict[str, tuple[Buffer, Reg]]]:
    """Reserve the scratch buffers of a nest while the code that uses them is written.

    They lie on the stack, up to `target.scratch_bytes` in all. One of symbolic size has a share of the stack,
    and where that is too small at run time, memory of the heap.

    Raises:
        CodegenError: those of fixed size are too large.
    """
    wanted = [buffer for buffer in nest.buffers if buffer.access is Access.SCRATCH]
    fixed = sum(buffer.size.value * buffer.dtype.size for buffer in wanted if buffer.size.is_const)
    if fixed > target.scratch_bytes:
        raise CodegenError(f"{fixed} bytes of scratch in {nest.name}: no room on the stack")
    share = (target.scratch_bytes - fixed) // max(sum(not buffer.size.is_const for buffer in wanted), 1)
    reserved: dict[str, tuple[Buffer, Reg]] = {}
    on_heap: list[tuple[Reg, Reg]] = []
    for buffer in wanted:
        kind = stored(buffer.dtype)
        most = buffer.size.value if buffer.size.is_const else share // kind.size
        place = Reg(code.fresh(), kind, is_address=True)
        code.line(f"{place.text} = alloca [{max(most, 1)} x {type_text(kind)}], align 64")
        if not buffer.size.is_const:
            length = Index(code, sizes.__getitem__)(buffer.size)
            is_large = code.compare("icmp sgt", length, constant(DType.I64, most))
            place = _on_heap(code, is_large, place, length)
            on_heap.append((is_large, place))
        reserved[buffer.name] = buffer, place
    yield reserved
    for is_large, place in on_heap:
        code.declare("free", "void", ["ptr"])
        with code.guard(is_large, is_rare=True):
            code.line(f"call void @free({place.typed})")


def _on_heap(code: Code, is_large: Reg, place: Reg, length: Reg) -> Reg:
    """Return the address of `length` elements of the heap where that `is_large`, else `place`."""
    code.declare("malloc", "ptr", ["i64"])
    size = code.op("mul", length, constant(DType.I64, place.dtype.size))
    with code.guard(is_large, (place,), is_rare=True) as region:
        made = code.here(f"call ptr @malloc({size.typed})", place.dtype)
        region.next = (replace(made, is_address=True),)
    return replace(region.results[0], is_address=True)


def load(block: Block, statement: Load) -> Reg:
    """Return the register of a Load: a vector, or a scalar where all lanes read one element."""
    buffer, address = block.buffers[statement.buffer]
    other = constant(address.dtype, statement.other)
    mask = None if statement.mask is None else block.names[statement.mask]
    stride = block.stride(statement.index[0])
    pointer = _address(block, address, statement.index[0], stride)
    read = _one if stride == 0 else _many
    value = read(block, buffer, pointer, mask, other)
    if buffer.dtype is not DType.BOOL:
        return value
    return block.code.compare("icmp ne", value, constant(DType.U8, 0, value.lanes))


def store(block: Block, statement: Store) -> None:
    """Write a Store."""
    code = block.code
    buffer, address = block.buffers[statement.buffer]
    value = block.operand(statement.value, buffer.dtype)
    if buffer.dtype is DType.BOOL:
        value = code.convert("zext", value, DType.U8)
    mask = None if statement.mask is None else block.names[statement.mask]
    stride = block.stride(statement.index[0])
    pointer = _address(block, address, statement.index[0], stride)
    if stride == 0 and value.lanes == 1 and (mask is None or mask.lanes == 1):
        with nullcontext() if mask is None else code.guard(mask):
            code.line(_plain_store(value, pointer))
        return
    if stride == 0:
        pointer = code.splat(pointer, block.width)
    value = block.wide(value)
    mask = _exists(block, mask)
    if pointer.lanes == 1 and mask is None:
        code.line(_plain_store(value, pointer))
        return
    mask = mask or constant(DType.BOOL, 1, block.width)
    if pointer.lanes == 1 and mask.text.startswith("<i1 true") and mask.text.count("true") == 1:
        # LLVM 22 writes four bytes for one lane of one or two bytes that is truncated.
        code.line(_plain_store(code.extract(value, 0), pointer))
        return
    suffix = mangled(value.dtype, value.lanes)
    name = f"store.{suffix}.p0" if pointer.lanes == 1 else f"scatter.{suffix}.v{pointer.lanes}p0"
    target = f"{pointer.type} align {value.dtype.size} {pointer.text}"
    code.line(f"call void @llvm.masked.{name}({value.typed}, {target}, {mask.typed})")


def _plain_store(value: Reg, pointer: Reg) -> str:
    return f"store {value.typed}, ptr {pointer.text}, align {value.dtype.size}"


def _address(block: Block, base: Reg, index: Expr, stride: int | None) -> Reg:
    """Return the address of the element in lane 0 for strides 0 and 1, else an address for each lane."""
    code = block.code
    if stride is None:
        return code.element(base, block.wide(block.index(index)))
    first = code.element(base, block.index_at_lane_0(index))
    if stride in (0, 1):
        return first
    return code.element(first, iota(block.width, step=stride))


def _exists(block: Block, mask: Reg | None) -> Reg | None:
    """Return which lanes an access is for: those of the block that the statement's mask lets through."""
    outer = None if block.lanes is None else block.lanes.mask
    if mask is None:
        return outer
    mask = block.wide(mask)
    return mask if outer is None else block.code.op("and", mask, outer)


def _one(block: Block, buffer: Buffer, pointer: Reg, mask: Reg | None, other: Reg) -> Reg:
    """Return the element at `pointer`; where the mask is false, `other`."""
    code = block.code
    if mask is None:
        return _read(block, buffer, _plain_load(other, pointer), (pointer,), 1)
    needed = mask
    if mask.lanes > 1:
        exists = _exists(block, mask)
        assert exists is not None, "a mask combined with another is a mask"
        needed = code.across(exists, "or")
    chosen = code.select(needed, pointer, SLOT)
    chosen = Reg(chosen.text, pointer.dtype, 1, chosen.level, is_address=True)
    read = _read(block, buffer, _plain_load(other, chosen), (chosen,), 1)
    return code.select(mask, code.splat(read, mask.lanes), code.splat(other, mask.lanes))


def _plain_load(like: Reg, pointer: Reg) -> str:
    return f"load {like.type}, ptr {pointer.text}, align {like.dtype.size}"


def _many(block: Block, buffer: Buffer, pointer: Reg, mask: Reg | None, other: Reg) -> Reg:
    """Return the vector at one address, or of the elements at an address for each lane."""
    lanes = block.width
    mask = _exists(block, mask)
    other = block.wide(other)
    if pointer.lanes == 1 and mask is None:
        return _read(block, buffer, _plain_load(other, pointer), (pointer,), lanes)
    if pointer.lanes == 1 and block.features.has_masked_loads and other.dtype.size >= 4:
        assert mask is not None, "a load of all lanes is a plain one"
        return _by_registers(block, buffer, pointer, mask, other)
    mask = mask or constant(DType.BOOL, 1, lanes)
    suffix = mangled(other.dtype, lanes)
    name = f"load.{suffix}.p0" if pointer.lanes == 1 else f"gather.{suffix}.v{lanes}p0"
    source = f"{pointer.type} align {other.dtype.size} {pointer.text}"
    result = type_text(other.dtype, lanes)
    text = f"call {result} @llvm.masked.{name}({source}, {mask.typed}, {other.typed})"
    return _read(block, buffer, text, (pointer, mask, other), lanes)


def _by_registers(block: Block, buffer: Buffer, pointer: Reg, mask: Reg, other: Reg) -> Reg:
    """Return a masked vector, loaded by AVX2's instruction for each register.

    LLVM 22 reads a register whole where it finds out late that its `masked.load` reads no lane of it.
    """
    code, dtype = block.code, other.dtype
    lanes = min(mask.lanes, block.features.cpu.vector_bytes // dtype.size)
    integers = DType.I32 if dtype.size == 4 else DType.I64
    name = x86.masked_load(dtype, lanes * dtype.size)
    result = type_text(dtype, lanes)
    code.declare(name, result, ["ptr", type_text(integers, lanes)])
    parts: list[Reg] = []
    for start in range(0, mask.lanes, lanes):
        place = code.element(pointer, constant(DType.I64, start))
        signs = code.convert("sext", part(code, mask, start, lanes), integers)
        text = f"call {result} @{name}({place.typed}, {signs.typed})"
        parts.append(_read(block, buffer, text, (place, signs), lanes))
    loaded = joined(code, parts)
    return loaded if other == constant(dtype, 0, mask.lanes) else code.select(mask, loaded, other)


def _read(block: Block, buffer: Buffer, text: str, operands: tuple[Reg, ...], lanes: int) -> Reg:
    """Return the result of a load; loads of buffers that nobody writes are shared and hoisted."""
    raw = stored(buffer.dtype)
    if buffer.access is Access.READ:
        return block.code.trapping(text, raw, lanes, operands)
    return block.code.here(text, raw, lanes)
