"""Shape rules of results whose size, or value, is data: a symbol without a hint stands for it.

Outside of a compilation there are no symbols, and the rules raise DataDependent.
"""

import torch

from supple.expr import Expr, as_expr, equal, less_equal
from supple.expr.real import Real
from supple.ir.dtypes import DType
from supple.ir.meta import TensorMeta, contiguous_strides
from supple.shapes.decide import ZERO
from supple.shapes.env import active
from supple.shapes.errors import DataDependent
from supple.shapes.rules import Size, aten, broadcast, fresh, replaced, require, shape_rules, wrapped_dim


def unbacked(origin: str, most: Expr | None = None, least: int | None = 0) -> Expr:
    """Return an integer between `least` and `most` that is known when the program runs.

    Raises:
        DataDependent: no compilation is active.
    """
    env = active()
    if env is None:
        raise DataDependent(origin)
    limit = most.value if most is not None and most.is_const else None
    if most is not None and limit is not None and limit == least:
        return most
    made = env.create(origin, None, minimum=least, maximum=limit)
    if most is not None and limit is None:
        env.assume(less_equal(made, most))
    return made


@shape_rules.on(*aten("_local_scalar_dense"))
def _(self: TensorMeta) -> Expr | Real:
    """The only element as a number."""
    env, origin = active(), "aten._local_scalar_dense"
    if self.dtype is DType.BOOL:
        return equal(unbacked(origin, as_expr(1)), 1)
    if self.dtype.is_integer:
        limits = torch.iinfo(self.dtype.torch)
        wide = self.dtype is DType.I64
        return unbacked(origin, None if wide else as_expr(limits.max), None if wide else limits.min)
    if env is None or not self.dtype.is_float:
        raise DataDependent(origin)
    return env.create_float(origin, None)


@shape_rules.on(*aten("nonzero"))
def _(self: TensorMeta) -> TensorMeta:
    """The positions of the elements that are not zero, one column per dimension, column-major."""
    count = unbacked("aten.nonzero", self.numel)
    return fresh((count, self.rank), DType.I64, self, (1, count))


@shape_rules.on(*aten("nonzero_static"))
def _(self: TensorMeta, *, size: Size, fill_value: int = -1) -> TensorMeta:
    """As many positions as asked for, row-major."""
    require(less_equal(ZERO, as_expr(size)))
    return fresh((size, self.rank), DType.I64, self)


@shape_rules.on(*aten("masked_select"))
def _(self: TensorMeta, mask: TensorMeta) -> TensorMeta:
    """The elements under a mask, in a row."""
    wide = fresh(broadcast((self.sizes, mask.sizes)), self.dtype, self)
    return fresh((unbacked("aten.masked_select", wide.numel),), self.dtype, self)


def _by_slices(sizes: tuple[Expr, ...], place: int) -> tuple[Expr, ...]:
    """Return the strides of a tensor of which the slices along a dimension lie one after the other."""
    first, *others = contiguous_strides((sizes[place], *sizes[:place], *sizes[place + 1 :]))
    return (*others[:place], first, *others[place:])


def _unique(
    tensor: TensorMeta, dim: int | None, inverse: bool, counts: bool
) -> tuple[TensorMeta, TensorMeta, TensorMeta]:
    place = None if dim is None else wrapped_dim(dim, tensor.rank)
    count = unbacked("aten.unique", tensor.numel if place is None else tensor.sizes[place])
    kept = (count,) if place is None else replaced(tensor.sizes, place, count) if tensor.rank else ()
    strides = None if place is None or not tensor.rank else _by_slices(kept, place)
    return (
        fresh(kept, tensor.dtype, tensor, strides),
        fresh(
            (tensor.sizes if place is None else (tensor.sizes[place],)) if inverse else (0,),
            DType.I64,
            tensor,
        ),
        fresh((count if counts else 0,), DType.I64, tensor),
    )


@shape_rules.on(*aten("_unique2"))
def _(
    self: TensorMeta, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[TensorMeta, ...]:
    """Each value once, where it went, how often it was there."""
    return _unique(self, None, return_inverse or return_counts, return_counts)


@shape_rules.on(*aten("unique_dim"))
def _(self: TensorMeta, dim: int, *_flags: bool) -> tuple[TensorMeta, ...]:
    """Each slice once, where it went, how often it was there."""
    return _unique(self, dim, inverse=True, counts=True)


@shape_rules.on(*aten("unique_consecutive"))
def _(
    self: TensorMeta, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[TensorMeta, ...]:
    """Each run of equal values once."""
    return _unique(self, dim, return_inverse or dim is not None, return_counts or dim is not None)


@shape_rules.on(*aten("repeat_interleave.Tensor"))
def _(repeats: TensorMeta, *, output_size: Size | None = None) -> TensorMeta:
    """The positions of a list, each as often as its number says."""
    count = unbacked("aten.repeat_interleave") if output_size is None else output_size
    return fresh((count,), repeats.dtype, repeats)


@shape_rules.on(*aten("bincount"))
def _(self: TensorMeta, weights: TensorMeta | None = None, minlength: int = 0) -> TensorMeta:
    """How often each number is there, or the sum of its weights."""
    dtype = DType.I64 if weights is None else DType.F32 if weights.dtype is DType.F32 else DType.F64
    return fresh((unbacked("aten.bincount", least=minlength),), dtype, self)
