"""Operators without a rule of our own: torch's meta kernels, on meta tensors with the same sizes and strides.

Slow (a first use may load torch's symbolic shapes), so the operators of common models have rules instead.
Symbolic sizes and numbers are specialised.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final

import torch

from supple.expr import as_expr
from supple.ir.arguments import leaves, map_leaves
from supple.ir.dtypes import from_torch
from supple.ir.meta import TensorMeta
from supple.shapes.errors import DataDependent, NoShapeRule
from supple.shapes.rules import placed
from supple.torch_private import OpOverload, registered_fake, schema_of

Make = Callable[[TensorMeta], torch.Tensor]
Mode = Callable[[], AbstractContextManager[object]]

_SPECIALISED: Final[dict[type, Callable[..., object]]] = {
    torch.SymInt: int,
    torch.SymFloat: float,
    torch.SymBool: bool,
}


def run(
    func: OpOverload, args: tuple[object, ...], kwargs: Mapping[str, object], make: Make, mode: Mode
) -> object:
    """Return fake results of an overload, made by `make`; arguments that it writes are returned themselves.

    Args:
        mode: the context in which Python runs: the function registered as the fake of a custom operator.

    Raises:
        DataDependent: the result or its shape depends on data.
        NoShapeRule: there is no meta kernel, or it changes the metadata of an argument.
    """
    if torch.Tag.data_dependent_output in func.tags or torch.Tag.dynamic_output_shape in func.tags:
        raise DataDependent(str(func))
    registered = registered_fake(func)
    if registered is not None:
        with mode():
            return registered(*args, **kwargs)
    twins = _Twins(make, _device_of(args, kwargs))
    named = {name: twins.of(arg) for name, arg in kwargs.items()}
    if any(argument.name == "device" for argument in schema_of(func).arguments):
        named["device"] = torch.device("meta")
    try:
        result = func(*(twins.of(arg) for arg in args), **named)
    except NotImplementedError as error:
        raise NoShapeRule(str(func), str(error).splitlines()[0]) from error
    twins.require_unchanged(str(func))
    return twins.fake(result)


class _Twins:
    """The meta tensors that stand for the arguments of one call."""

    def __init__(self, make: Make, device: str) -> None:
        self._make = make
        self._device = device
        self._pairs: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def of(self, arg: object) -> object:
        """Return an argument with tensors and devices replaced by their meta twins."""
        return map_leaves(self._twin, arg)

    def _twin(self, leaf: object) -> object:
        if isinstance(leaf, torch.Tensor):
            sizes, strides = list(map(int, leaf.shape)), list(map(int, leaf.stride()))
            twin = torch.empty_strided(sizes, strides, dtype=leaf.dtype, device="meta")
            if offset := int(leaf.storage_offset()):
                twin.set_(twin.untyped_storage(), offset, sizes, strides)  # type: ignore[call-overload]
            self._pairs[id(twin)] = (twin, leaf)
            return twin
        if type(leaf) in _SPECIALISED:
            return _SPECIALISED[type(leaf)](leaf)
        return torch.device("meta") if isinstance(leaf, torch.device) else leaf

    def require_unchanged(self, name: str) -> None:
        """Check that no argument has other sizes or strides, or another place in its storage, now.

        Raises:
            NoShapeRule: one has.
        """
        for twin, original in self._pairs.values():
            if _place(twin) != _place(original):
                raise NoShapeRule(name, "it changes the sizes, strides or offset of an argument")

    def fake(self, value: object) -> object:
        """Return a result with twins replaced by what they stand for, other meta tensors by fakes."""
        return map_leaves(self._original, value)

    def _original(self, leaf: object) -> object:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        known = self._pairs.get(id(leaf))
        return self._make(_described(leaf, self._device)) if known is None else known[1]


def _place(tensor: torch.Tensor) -> tuple[object, ...]:
    return tensor.shape, tensor.stride(), tensor.storage_offset()


def _described(tensor: torch.Tensor, device: str) -> TensorMeta:
    return TensorMeta(
        tuple(as_expr(size) for size in tensor.shape),
        tuple(as_expr(stride) for stride in tensor.stride()),
        from_torch(tensor.dtype),
        device,
        as_expr(int(tensor.storage_offset())),
    )


def _device_of(args: Sequence[object], kwargs: Mapping[str, object]) -> str:
    """Return the device of the results: the `device` argument, else the first tensor's, else the CPU."""
    given = kwargs.get("device")
    if isinstance(given, torch.device):
        return placed(given)
    found = (leaf for leaf in leaves([*args, *kwargs.values()]) if isinstance(leaf, torch.Tensor))
    return next((str(tensor.device) for tensor in found), "cpu")
