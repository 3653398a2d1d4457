"""What is x86-64's own: its levels, the widths of its registers, instructions without a general name."""

from collections.abc import Mapping, Sequence
from typing import Final

from supple.base.options import CPU_LEVELS
from supple.ir.dtypes import DType

TRIPLE: Final = "x86_64-unknown-linux-gnu"

_V2: Final = "64bit cmov cx16 cx8 fxsr mmx popcnt sahf sse sse2 sse3 sse4.1 sse4.2 ssse3".split()
_V3: Final = [*_V2, *"avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave".split()]
_V4: Final = [*_V3, *"avx512bw avx512cd avx512dq avx512f avx512vl".split()]
LEVELS: Final[Mapping[str, Sequence[str]]] = dict(zip(CPU_LEVELS, (_V2, _V3, _V4), strict=True))
"""LLVM's names of what every processor of a level of the psABI has."""

AVX_512: Final = ("avx512f", "avx512bw", "avx512dq", "avx512vl")
"""What kernels use of AVX-512, all of it or none."""

HALVES: Final = "f16c"
"""What converts f16 to f32 and back."""

SLEEF: Final[Mapping[int, str]] = {64: "avx512f", 32: "avx2"}
"""How the names of SLEEF's functions end, by the width of their vectors in bytes."""

SCALE: Final = "llvm.x86.avx512.mask.scalef.ps.512"
"""A product with a power of two, rounded once."""


def masked_load(dtype: DType, size: int) -> str:
    """Return LLVM's name of AVX2's load of the lanes whose masks are negative.

    Args:
        dtype: of 4 or 8 bytes.
        size: bytes of the vector, 16 or 32.
    """
    kind = {DType.F32: "avx.maskload.ps", DType.F64: "avx.maskload.pd"}.get(
        dtype, f"avx2.maskload.{'d' if dtype.size == 4 else 'q'}"
    )
    return f"llvm.x86.{kind}{'.256' if size == 32 else ''}"
