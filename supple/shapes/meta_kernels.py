"""Operators without a rule of our own: torch's meta kernels, on meta tensors with the same sizes and strides.

Slow (a first use may load torch's symbolic shapes), so the operators of common models have rules instead.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final, cast

import torch

from supple.expr import as_expr
from supple.ir.dtypes import from_torch
from supple.ir.meta import TensorMeta
from supple.shapes.errors import DataDependent, NoShapeRule
from supple.torch_private import OpOverload, is_composite, schema_of

Make = Callable[[TensorMeta], torch.Tensor]

#: What torch raises when an operator has no meta kernel, or the kernel needs data.
_REFUSALS: Final = (NotImplementedError,)


def run(
    func: OpOverload,
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    make: Make,
    mode: Callable[[], AbstractContextManager[object]],
) -> object:
    """Return fake results of an overload, made by `make`; arguments that it writes are returned themselves.

    Args:
        mode: a composite operator (seen in inference mode) is decomposed inside this context.

    Raises:
        DataDependent: the result or its shape depends on data.
        NoShapeRule: there is no meta kernel, or it changes the metadata of an argument.
    """
    if torch.Tag.data_dependent_output in func.tags or torch.Tag.dynamic_output_shape in func.tags:
        raise DataDependent(str(func))
    if is_composite(func):
        with mode():
            return func.decompose(*args, **kwargs)
    originals: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
    device = _device_of(args, kwargs)

    def convert(arg: object) -> object:
        if isinstance(arg, torch.Tensor):
            twin = _meta_twin(arg)
            originals[id(twin)] = (twin, arg)
            return twin
        if isinstance(arg, list | tuple):
            return [convert(item) for item in cast("Sequence[object]", arg)]
        return torch.device("meta") if isinstance(arg, torch.device) else arg

    meta_kwargs = {name: convert(arg) for name, arg in kwargs.items()}
    if "device" in (argument.name for argument in schema_of(func).arguments):
        meta_kwargs["device"] = torch.device("meta")
    try:
        result = func(*map(convert, args), **meta_kwargs)
    except _REFUSALS as error:
        raise NoShapeRule(str(func), str(error).splitlines()[0]) from error
    for twin, original in originals.values():
        if twin.shape != original.shape or twin.stride() != original.stride():
            why = "it changes the sizes or strides of an argument"
            raise NoShapeRule(str(func), why)

    def back(value: object) -> object:
        if isinstance(value, torch.Tensor):
            known = originals.get(id(value))
            return make(_described(value, device)) if known is None else known[1]
        if isinstance(value, list):
            return [back(item) for item in cast("list[object]", value)]
        if isinstance(value, tuple):
            return tuple(back(item) for item in cast("tuple[object, ...]", value))
        return value

    return back(result)


def _meta_twin(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")


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
        return str(given)
    for arg in (*args, *kwargs.values()):
        for item in cast("Sequence[object]", arg) if isinstance(arg, list | tuple) else (arg,):
            if isinstance(item, torch.Tensor):
                return str(item.device)
    return "cpu"
