"""Vectors in parts that fit the processor's registers, for what LLVM does not split itself."""

from collections.abc import Sequence

from supple.codegen.cpu.code import Code
from supple.codegen.cpu.registers import Reg


def part(code: Code, vector: Reg, start: int, length: int) -> Reg:
    """Return lanes `start` to `start + length` of a vector."""
    if length == vector.lanes:
        return vector
    lanes = ", ".join(f"i32 {lane}" for lane in range(start, start + length))
    text = f"shufflevector {vector.typed}, {vector.type} poison, <{length} x i32> <{lanes}>"
    return code.pure(text, vector.dtype, length, (vector,))


def joined(code: Code, parts: Sequence[Reg]) -> Reg:
    """Return the lanes of all parts (a power of two of them) as one vector."""
    while len(parts) > 1:
        parts = [_pair(code, parts[n], parts[n + 1]) for n in range(0, len(parts), 2)]
    return parts[0]


def _pair(code: Code, low: Reg, high: Reg) -> Reg:
    lanes = low.lanes * 2
    order = ", ".join(f"i32 {lane}" for lane in range(lanes))
    text = f"shufflevector {low.typed}, {high.typed}, <{lanes} x i32> <{order}>"
    return code.pure(text, low.dtype, lanes, (low, high))
