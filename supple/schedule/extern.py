"""Which core operators stay library calls, declared so that a test can tell a hole from a decision; and the
overloads that take a number where those of the core take a tensor."""

from collections.abc import Mapping
from typing import Final

from supple.ir.core_ops import CORE_OPS, Kind
from supple.runtime.empty import SAFE

DECLARED_EXTERN: Final[Mapping[str, str]] = {
    **{op.name: "library" for op in CORE_OPS.values() if op.kind is Kind.LIBRARY},
    "aten.index.Tensor": "an index out of range raises IndexError in eager",
    "aten.index_select.default": "an index out of range raises IndexError in eager",
    "aten.gather.default": "an index out of range raises RuntimeError in eager",
    "aten.embedding.default": "an index out of range raises IndexError in eager",
}
"""Op name -> why it is a library call."""

RAISING: Final = ("aten.index_put.", "aten.scatter")
"""How the names begin of library calls that raise for what tensors hold."""


def is_sure(name: str) -> bool:
    """Tell whether an op, run as a library call, raises for nothing that its tensors hold."""
    op = CORE_OPS.get(name)
    return (op is not None and op.kind is Kind.LIBRARY and not name.startswith(RAISING)) or name in SAFE


WITH_NUMBER: Final[Mapping[str, str]] = {
    f"aten.{name}.{overload}": f"aten.{name}.{scalar}"
    for name, overload, scalar in (
        ("pow", "Tensor_Tensor", "Tensor_Scalar"),
        ("div", "Tensor_mode", "Scalar_mode"),
        ("remainder", "Tensor", "Scalar"),
        ("fmod", "Tensor", "Scalar"),
        ("bitwise_left_shift", "Tensor", "Tensor_Scalar"),
        ("bitwise_right_shift", "Tensor", "Tensor_Scalar"),
    )
}
"""Core op that a kernel does not compute in all cases -> the overload whose second operand is a number."""
