"""NumPy arrays: each is the memory of a tensor, and what NumPy does with it is done with that tensor."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch

from supple.capture import breaks
from supple.capture.machine import Machine
from supple.capture.source import Source
from supple.capture.values.attributes import MISSING, lookup
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.function import BoundMethodValue, LeafValue
from supple.capture.values.sequence import new_tuple
from supple.capture.values.tensor import TensorValue

_NUMBERS: Final[Mapping[str, Callable[[torch.Tensor], object]]] = {
    "ndim": torch.Tensor.dim,
    "size": torch.Tensor.numel,
    "itemsize": torch.Tensor.element_size,
}


OPERATORS: Final[Mapping[str, Callable[..., object]]] = {
    **{"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "@": np.matmul},
    **{"==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater},
    **{">=": np.greater_equal, "neg": np.negative},
}
_NAMES: Final = "bool uint8 int8 int16 int32 int64 float32 float64".split()
_TYPES: Final[Mapping[torch.dtype, np.dtype[np.generic]]] = {
    getattr(torch, name): np.dtype(name) for name in _NAMES
}


def torch_type(dtype: object) -> torch.dtype | None:
    """Return what torch calls a type of numbers, None where arrays of it are not captured."""
    return next((one for one, other in _TYPES.items() if dtype is one or other == dtype), None)


def operate(machine: Machine, symbol: str, *operands: Value) -> Value | None:
    """Return what an operator gives where one of the operands is an array, None where none is."""
    if not any(isinstance(operand, ArrayValue) for operand in operands):
        return None
    function = OPERATORS.get(symbol)
    if function is None:
        machine.unsupported(breaks.NUMPY, name=f"{symbol} of arrays")
    return machine.call_leaf(function, operands, {})


@dataclass(slots=True)
class Memory:
    """What an array and its views have in common.

    Attributes:
        is_shown: the program has a tensor of this memory as well.
    """

    is_shown: bool = False


class ArrayValue(Value):
    """An array, or the scalar that NumPy makes of a result without dimensions.

    Attributes:
        tensor: shares the array's memory.
        is_scalar: it is a scalar.
        memory: new, unless that of another array is given.
    """

    __slots__ = ("is_scalar", "memory", "tensor")

    def __init__(
        self,
        tensor: TensorValue,
        source: Source | None = None,
        *,
        is_scalar: bool = False,
        memory: Memory | None = None,
    ) -> None:
        super().__init__(source)
        self.tensor = tensor
        self.is_scalar = is_scalar
        self.memory = memory or Memory()

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The type of the elements."""
        return _TYPES[self.tensor.fake.dtype]

    @property
    def rank(self) -> int:
        """How many dimensions there are."""
        return self.tensor.fake.ndim

    def python_type(self) -> type:
        return self.dtype.type if self.is_scalar else np.ndarray

    def describe(self) -> str:
        return f"array of {self.tensor.describe()}"

    def truth(self, machine: Machine) -> bool:
        machine.unsupported(breaks.BRANCH_ON_TENSOR, name=self.describe())

    def length(self, machine: Machine) -> Value:
        if self.is_scalar:
            return super().length(machine)
        if not self.tensor.fake.ndim:
            machine.throw(TypeError, "len() of unsized object")
        return machine.wrap(self.tensor.fake.shape[0], None)

    def get_attr(self, machine: Machine, name: str) -> Value:
        fake = self.tensor.fake
        if name in _NUMBERS:
            return machine.wrap(_NUMBERS[name](fake), None)
        if name == "shape":
            return new_tuple([machine.wrap(size, None) for size in fake.shape])
        if name == "dtype":
            return ConstantValue(self.dtype)
        if name == "__class__":
            return machine.wrap(self.python_type(), None)
        if name == "T":
            return machine.call_leaf(np.transpose, [self], {})
        found = lookup(self.python_type(), name)
        if found is MISSING or not callable(found) or (self.is_scalar and name != "item"):
            machine.unsupported(breaks.ATTRIBUTE, name=name, owner=self.describe())
        return BoundMethodValue(self, LeafValue(found))

    def get_item(self, machine: Machine, key: Value) -> Value:
        return machine.call_leaf(np.ndarray.__getitem__, [self, key], {})

    def iterate(self, machine: Machine) -> Value:
        machine.unsupported(breaks.NUMPY, name=f"iter() of {self.describe()}")
