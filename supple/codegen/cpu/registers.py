"""Reg: a value of an LLVM function, its type and its literals."""

import struct
from dataclasses import dataclass
from typing import Final

from supple.ir.dtypes import DType

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
    """Return a number as LLVM prints it for the dtype; floats as the hexadecimal bits of a double."""
    if dtype is DType.BOOL:
        return "true" if value else "false"
    if dtype is DType.BF16:
        return str(_bf16_bits(float(value)))
    if dtype is DType.F16:
        return f"0xH{int.from_bytes(struct.pack('<e', _clamped(float(value), 65520.0)), 'little'):04X}"
    if dtype.is_float:
        number = _single(float(value)) if dtype is DType.F32 else float(value)
        return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    bits = dtype.size * 8
    wrapped = int(value) & ((1 << bits) - 1)
    return str(wrapped - (1 << bits) if wrapped >> (bits - 1) else wrapped)


def _clamped(value: float, limit: float) -> float:
    """Return infinity with the sign of `value` where the format rounds it to no finite number."""
    return value if not abs(value) >= limit else float("inf") * (1 if value > 0 else -1)


def _single(value: float) -> float:
    """Return `value` rounded to float32."""
    number = _clamped(value, 3.4028235677973366e38)
    return struct.unpack("<f", struct.pack("<f", number))[0]


def _bf16_bits(value: float) -> int:
    """Return the bits of `value` rounded to float32 and then to bfloat16, ties to even; NaN is 0x7FC0."""
    if value != value:
        return 0x7FC0
    bits: int = struct.unpack("<I", struct.pack("<f", _clamped(value, 3.4028235677973366e38)))[0]
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
