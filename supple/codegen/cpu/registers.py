"""Reg: a value of an LLVM function, its type and its literals."""

import struct
from dataclasses import dataclass
from typing import Final

from supple.ir.dtypes import DType
from supple.ir.loops.numbers import rounded

LLVM_TYPES: Final = {
    DType.F64: "double",
    DType.F32: "float",
    DType.BF16: "i16",
    DType.F16: "half",
    DType.I64: "i64",
    DType.I32: "i32",
    DType.I16: "i16",
    DType.I8: "i8",
    DType.U8: "i8",
    DType.BOOL: "i1",
}


@dataclass(frozen=True, slots=True)
class Reg:
    """A value of the function: an SSA name or a constant.

    Attributes:
        text: as LLVM prints it, without its type.
        dtype: BF16 is held as its 16 bits, BOOL as i1.
        lanes: 1 for a scalar, else the elements of the vector.
        level: number of the scope from which on it may be used; 0 is the function's entry.
        is_address: it is a pointer to elements of the dtype.
    """

    text: str
    dtype: DType
    lanes: int = 1
    level: int = 0
    is_address: bool = False

    @property
    def type(self) -> str:
        """Its LLVM type."""
        if self.is_address:
            return "ptr" if self.lanes == 1 else f"<{self.lanes} x ptr>"
        return type_text(self.dtype, self.lanes)

    @property
    def typed(self) -> str:
        """Its type and text: an operand of a call."""
        return f"{self.type} {self.text}"

    @property
    def number(self) -> int | None:
        """The value of an integer constant, None of anything else."""
        return int(self.text) if self.lanes == 1 and self.text.lstrip("-").isdigit() else None


def type_text(dtype: DType, lanes: int = 1) -> str:
    """Return the LLVM type of a scalar or vector in a register."""
    name = LLVM_TYPES[dtype]
    return name if lanes == 1 else f"<{lanes} x {name}>"


def stored(dtype: DType) -> DType:
    """Return the dtype whose registers look like its elements in memory: b1 takes a byte."""
    return DType.U8 if dtype is DType.BOOL else dtype


def mangled(dtype: DType, lanes: int = 1) -> str:
    """Return the suffix that an intrinsic has for the type: f32, v16f32."""
    name = {"float": "f32", "double": "f64", "half": "f16"}.get(LLVM_TYPES[dtype], LLVM_TYPES[dtype])
    return name if lanes == 1 else f"v{lanes}{name}"


def constant(dtype: DType, value: float, lanes: int = 1) -> Reg:
    """Return a number as a value of the dtype (rounded to it, integers wrapped), the same in all lanes."""
    text = literal(dtype, value)
    return Reg(text if lanes == 1 else f"splat ({type_text(dtype)} {text})", dtype, lanes)


def literal(dtype: DType, value: float) -> str:
    """Return a number as LLVM prints it for the dtype; floats as their bits, F32 as a double's."""
    if dtype is DType.BOOL:
        return "true" if value else "false"
    if not dtype.is_float:
        return str(rounded(DType.I8 if dtype is DType.U8 else dtype, value))
    number = rounded(dtype, value)
    if dtype is DType.BF16:
        return str(struct.unpack("<I", struct.pack("<f", number))[0] >> 16)
    if dtype is DType.F16:
        return f"0xH{struct.unpack('<H', struct.pack('<e', number))[0]:04X}"
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
