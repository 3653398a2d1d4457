"""Which core operators stay library calls, declared so that a test can tell a hole from a decision."""

from collections.abc import Mapping
from typing import Final

from supple.ir.core_ops import CORE_OPS, Kind

DECLARED_EXTERN: Final[Mapping[str, str]] = {
    **{op.name: "library" for op in CORE_OPS.values() if op.kind is Kind.LIBRARY},
    "aten.index.Tensor": "an index out of range raises IndexError in eager",
    "aten.index_select.default": "an index out of range raises IndexError in eager",
    "aten.gather.default": "an index out of range raises RuntimeError in eager",
    "aten.embedding.default": "an index out of range raises IndexError in eager",
}
"""Op name -> why it is a library call."""
