"""What else could stand in the place of a tensor, and what can be done to the tensor itself."""

import contextlib
import ctypes
import math
from collections.abc import Callable, Iterator
from typing import Any, Final

import torch
from torch import Tensor, nn

from tests.mutation.values import Variant, variants

DTYPES: Final = (
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int8,
    torch.bool,
    torch.complex64,
)
SPECIAL: Final = {"-0.0": -0.0, "inf": math.inf, "nan": math.nan, "denormal": 1e-40, "huge": 3e38}
PLACES: Final = (-1, 3, 100)
"""Integers that may be no places, labels or sizes."""
Effect = tuple[str, Callable[[], contextlib.AbstractContextManager[Any]]]
"""A label, and what makes the block in which an object is different."""


class Marked(Tensor):
    """A tensor of a class of its own."""


def like(value: Tensor, made: Tensor) -> Tensor:
    """Return a tensor that requires gradients where the other one does, and is a Parameter if that is one."""
    made = made.detach()
    if not (made.is_floating_point() or made.is_complex()):
        return made
    if isinstance(value, nn.Parameter):
        return nn.Parameter(made, requires_grad=value.requires_grad)
    return made.requires_grad_(value.requires_grad)


def adopted(flat: Tensor) -> Tensor:
    """Return a tensor with the same memory in a storage of its own, which begins where the tensor does."""
    if not flat.numel() or flat.is_meta:
        return flat
    array = (ctypes.c_char * (flat.numel() * flat.element_size())).from_address(flat.data_ptr())
    array.kept = flat  # the memory is that of the first storage
    return torch.frombuffer(array, dtype=flat.dtype)


@variants.register
def _(value: Tensor) -> Iterator[Variant]:
    yield "clone", lambda: like(value, value.detach().clone())
    yield "None", lambda: None
    yield "subclass", lambda: value.detach().clone().as_subclass(Marked)
    if value.layout is not torch.strided or value.is_quantized or value.is_nested or value.is_meta:
        return
    yield from of_sizes(value)
    yield from of_layouts(value)
    yield from of_flags(value)
    for dtype in DTYPES:
        if dtype is not value.dtype:
            yield f"dtype {dtype}", lambda dtype=dtype: like(value, value.detach().to(dtype))
    if value.numel() and value.is_floating_point():
        for name, number in SPECIAL.items():
            yield f"first {name}", lambda number=number: with_first(value, number)
    if value.numel() and value.dtype in (torch.int64, torch.int32, torch.int16, torch.int8):
        for place in PLACES:
            yield f"first {place}", lambda place=place: with_first(value, place)
    if value.numel() == 1 and value.dim() == 0:
        yield "number", value.item


def of_sizes(value: Tensor) -> Iterator[Variant]:
    """Yield tensors of other sizes."""
    for dim, size in enumerate(value.shape[:4]):
        for n in (0, 1, size + 1, size + 3):
            if n != size:
                yield f"size({dim}) {n}", lambda dim=dim, n=n: like(value, resized(value.detach(), dim, n))
    yield "unsqueezed", lambda: like(value, value.detach()[None].clone())
    if value.dim():
        yield (
            "one dimension less",
            lambda: like(
                value, value.detach().flatten(0, 1).clone() if value.dim() > 1 else value.detach().sum()
            ),
        )


def resized(value: Tensor, dim: int, n: int) -> Tensor:
    """Return the first numbers along a dimension, from the beginning again where there are too few."""
    size = value.shape[dim]
    if size:
        return value.index_select(dim, torch.arange(n) % size)
    return value.new_ones([*value.shape[:dim], n, *value.shape[dim + 1 :]])


def of_layouts(value: Tensor) -> Iterator[Variant]:
    """Yield tensors with the same numbers that lie in memory otherwise."""
    bare = value.detach()
    if value.dim() >= 2:
        yield "transposed strides", lambda: like(value, bare.mT.contiguous().mT)
    if value.dim() == 4:
        yield "channels last", lambda: like(value, bare.contiguous(memory_format=torch.channels_last))
    if value.dim():
        yield "expanded", lambda: like(value, bare[:1].expand(value.shape) if len(value) else bare.clone())
        yield "every second", lambda: like(value, bare.repeat_interleave(2, -1)[..., ::2])
    yield "offset 1", lambda: like(value, offset(bare, 1))
    yield "offset 16", lambda: like(value, offset(bare, 16))
    if value.is_complex():
        yield "conjugate bit", lambda: like(value, bare.conj().resolve_conj().conj())
    elif value.is_floating_point():
        yield "negative bit", lambda: like(value, negative(bare))


def offset(value: Tensor, count: int) -> Tensor:
    """Return a copy that begins some elements into its storage."""
    store = value.new_zeros(count + value.numel())
    return store[count:].view(value.shape).copy_(value)


def negative(value: Tensor) -> Tensor:
    """Return a tensor with the same numbers whose memory holds them negated."""
    if value.dtype not in (torch.float32, torch.float64, torch.float16):
        return value.clone()
    return torch.complex(torch.zeros_like(value), -value).conj().imag


def of_flags(value: Tensor) -> Iterator[Variant]:
    """Yield tensors with the same numbers that autograd treats otherwise."""
    bare = value.detach()
    if not (value.is_floating_point() or value.is_complex()):
        yield "inference tensor", lambda: inference(bare)
        yield "view", lambda: bare.clone()[...]
        return
    if value.requires_grad:
        yield "no gradient", lambda: bare.clone()
    else:
        yield "gradient", lambda: bare.clone().requires_grad_()
    yield "no leaf", lambda: bare.clone().requires_grad_() * 1
    yield "view", lambda: bare.clone()[...]
    yield "view of a leaf", lambda: bare.clone().requires_grad_()[...]
    yield "view made without gradients", lambda: unrecorded(bare)
    yield "inference tensor", lambda: inference(bare)
    if isinstance(value, nn.Parameter):
        yield "plain tensor", lambda: bare.clone().requires_grad_(value.requires_grad)
    else:
        yield "Parameter", lambda: nn.Parameter(bare.clone())


def unrecorded(value: Tensor) -> Tensor:
    with torch.no_grad():
        return value.clone().requires_grad_()[...]


def inference(value: Tensor) -> Tensor:
    with torch.inference_mode():
        return value.clone()


def with_first(value: Tensor, number: float) -> Tensor:
    """Return a tensor whose first number is another."""
    made = value.detach().clone(memory_format=torch.contiguous_format)
    made.view(-1)[0] = number
    return like(value, made)


def tensor_effects(value: Tensor) -> Iterator[Effect]:
    """Yield what can be done to a tensor and undone, whoever holds it."""
    yield "attribute", lambda: attribute(value, "tag", 1)
    if value.layout is not torch.strided or value.is_inference() or value.is_quantized or value.is_nested:
        return
    yield "written", lambda: written(value)
    if value.is_floating_point() and value.is_leaf:
        yield "requires_grad", lambda: requires_grad(value, not value.requires_grad)
        if value.requires_grad:
            yield ".grad", lambda: gradient(value)
    if value.requires_grad:
        yield "hook", lambda: hook(value)
    if value.dim() >= 2:
        yield "data transposed", lambda: data(value, value.detach().mT.contiguous().mT)
    yield "data offset", lambda: data(value, offset(value.detach(), 1))
    yield "data of other numbers", lambda: data(value, value.detach().clone() + 1)
    if value.is_complex():
        yield "data with a conjugate bit", lambda: data(value, value.detach().conj().resolve_conj().conj())
    if value.is_floating_point():
        yield "data with a negative bit", lambda: data(value, negative(value.detach()))
        yield "data double", lambda: data(value, value.detach().double())
    if value.dim() and value.shape[0] > 1:
        yield "data shorter", lambda: data(value, value.detach()[:1].clone())


@contextlib.contextmanager
def attribute(owner: Any, name: str, value: object) -> Iterator[None]:
    """Set an attribute that the object does not have."""
    if hasattr(owner, name):
        yield
        return
    setattr(owner, name, value)
    try:
        yield
    finally:
        vars(owner).pop(name, None)


@contextlib.contextmanager
def written(value: Tensor) -> Iterator[None]:
    """Write other numbers; put back the old ones."""
    before = value.detach().clone()
    with torch.no_grad():
        value.detach().copy_(before.logical_not() if before.dtype is torch.bool else before + 1)
    try:
        yield
    finally:
        with torch.no_grad():
            if value.shape == before.shape:
                value.detach().copy_(before)


@contextlib.contextmanager
def requires_grad(value: Tensor, flag: bool) -> Iterator[None]:
    before = value.requires_grad
    value.requires_grad_(flag)
    try:
        yield
    finally:
        if value.is_leaf:
            value.requires_grad_(before)


@contextlib.contextmanager
def gradient(value: Tensor) -> Iterator[None]:
    before = value.grad
    value.grad = torch.ones_like(value) if before is None else None
    try:
        yield
    finally:
        value.grad = before


@contextlib.contextmanager
def hook(value: Tensor) -> Iterator[None]:
    handle = value.register_hook(lambda gradient: gradient * 3)
    try:
        yield
    finally:
        handle.remove()


@contextlib.contextmanager
def data(value: Tensor, other: Tensor) -> Iterator[None]:
    before = value.data
    value.data = other
    try:
        yield
    finally:
        value.data = before
