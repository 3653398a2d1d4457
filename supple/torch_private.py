"""Every private name of torch that the package touches, one commented line each. A test lists them."""

from torch import Tensor
from torch._C import FunctionSchema as FunctionSchema  # the signature of an ATen overload
from torch._C import _disabled_torch_function_impl
from torch._ops import OpOverload as OpOverload  # the class of torch.ops.aten.add.Tensor
from torch.utils._python_dispatch import TorchDispatchMode

# A mode that sees every ATen operator of a thread, below autograd.
DispatchMode = TorchDispatchMode

# Keeps a tensor subclass out of the __torch_function__ protocol.
no_torch_function = _disabled_torch_function_impl

# Makes a tensor with sizes, strides, dtype and device but no memory.
make_wrapper_subclass = Tensor._make_wrapper_subclass


def schema_of(overload: OpOverload) -> FunctionSchema:
    """Return the signature of an ATen overload."""
    return overload._schema  # noqa: SLF001  # no public accessor
