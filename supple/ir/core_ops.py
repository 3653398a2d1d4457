"""The operators that an ATen graph holds after decomposition, as a table: name -> kind and one line.

Facts that hold of every decomposed graph (the spec checks them):

* Operands of a pointwise op broadcast as in eager. Its tensor operands have one dtype (casts are explicit
  `aten._to_copy.default` nodes), except the condition of `where`. A Python number may stand for any tensor
  operand, also for the first; it has the dtype of the tensor operands.
* A pointwise op on bf16 or f16 computes in f32 and rounds its result once. Where eager keeps more precision
  over several steps (softmax, norms, gelu), the graph casts to f32 first and back at the end.
* The result dtype is the node's `meta.dtype`: of compares, `isnan` and `logical_not` b1, else the operands'.
* Dimensions are non-negative, dimension lists explicit, sizes never -1, `alpha` of add and sub is always 1.
* Every node is functional: nothing is written. Strides of a result are those of its meta.
* A node that reads or makes complex numbers is a library call, whatever its op; it is as eager called it.
* An op that is not in the table is a library call (`kind_of` says so).
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Kind(Enum):
    """How an op is lowered."""

    POINTWISE = "pointwise"
    REDUCTION = "reduction"
    VIEW = "view"
    GATHER = "gather"
    CREATION = "creation"
    LIBRARY = "library"


@dataclass(frozen=True, slots=True)
class CoreOp:
    """One operator of decomposed graphs; `text` says what each result element is."""

    name: str
    kind: Kind
    text: str


UNARY: Final = (
    "neg abs sqrt rsqrt exp exp2 log log2 log10 log1p expm1 sin cos tan asin acos atan sinh cosh tanh asinh "
    "acosh atanh erf erfc lgamma floor ceil round trunc reciprocal sign"
).split()
"""Pointwise operators of one operand, which are scalar operators of the same name."""

_TEXTS: Final = {
    Kind.POINTWISE: """
add.Tensor: a + b; on b1: or
sub.Tensor: a - b
mul.Tensor: a * b; on b1: and
div.Tensor: a / b, floats only (integers are cast before)
div.Tensor_mode: rounding_mode "floor" (floor division) or "trunc" (towards 0); ints or floats
remainder.Tensor: a mod b with the sign of b
fmod.Tensor: a mod b with the sign of a
pow.Tensor_Tensor: a ** b
atan2.default: atan2(a, b)
hypot.default: sqrt(a*a + b*b) without overflow
copysign.Tensor: the magnitude of a with the sign of b
maximum.default: the larger; a NaN of either wins
minimum.default: the smaller; a NaN of either wins
eq.Tensor: a == b, b1
ne.Tensor: a != b, b1
lt.Tensor: a < b, b1
le.Tensor: a <= b, b1
gt.Tensor: a > b, b1
ge.Tensor: a >= b, b1
isnan.default: a != a, b1
isinf.default: whether a is infinite, b1
logical_not.default: a == 0, b1
bitwise_not.default: every bit inverted; on b1: not
bitwise_and.Tensor: a & b, ints and b1
bitwise_or.Tensor: a | b, ints and b1
bitwise_xor.Tensor: a ^ b, ints and b1
bitwise_left_shift.Tensor: a << b, ints
bitwise_right_shift.Tensor: a >> b, ints, arithmetic
where.self: (condition b1, a, b): a where the condition holds, else b
_to_copy.default: a converted to kwarg `dtype`; strides as in meta
clone.default: a; strides as in meta (kwarg memory_format is explained by them)
""",
    Kind.REDUCTION: """
sum.dim_IntList: (x, dims, keepdim): sum over dims, kwarg dtype: x is cast to it first; f32 sums for bf16, f16
prod.dim_int: (x, dim, keepdim): product over one dim, kwarg dtype as for sum
amax.default: (x, dims, keepdim): the largest; NaN wins; of no floats -inf
amin.default: (x, dims, keepdim): the smallest; NaN wins
any.dims: (x, dims, keepdim): whether any element is not 0, b1
all.dims: (x, dims, keepdim): whether no element is 0, b1
argmax.default: (x, dim or None, keepdim): i64 position of the first largest; None: in the flattened tensor
argmin.default: (x, dim or None, keepdim): i64 position of the first smallest; None: in the flattened tensor
""",
    Kind.VIEW: """
view.default: (x, sizes): same elements in row-major order, other sizes; possible with these strides
expand.default: (x, sizes): dims of size 1 repeated, dims added in front
permute.default: (x, dims): result dim i is x's dim dims[i]
squeeze.dims: (x, dims): those of dims that have size 1 are removed
unsqueeze.default: (x, dim): a dim of size 1 inserted before dim
slice.Tensor: (x, dim, start, end, step): clamped, step > 0
select.int: (x, dim, index): the dim removed, index >= 0
diagonal.default: (x, offset, dim1, dim2): as eager; the diagonal is the last dim
unfold.default: (x, dim, size, step): windows of a dim; they are the last dim
as_strided.default: (x, sizes, strides, offset): of x's storage; only on graph inputs and library results
""",
    Kind.GATHER: """
index.Tensor: (x, [indices or None, ...]): eager's indexing by i64 tensors (no masks); negatives wrap
index_select.default: (x, dim, index 1-d): rows of x along dim; no negatives
gather.default: (x, dim, index): x at index along dim, element by element; kwarg sparse_grad is ignored
embedding.default: (weight, indices, ...): rows of weight; later arguments matter to gradients only
cat.default: ([x, ...], dim): operands have the result's dtype; none is the legacy empty 1-d tensor
constant_pad_nd.default: (x, [left, right of the last dim, ...], value): negative amounts crop
flip.default: (x, dims): reversed along dims
roll.default: (x, shifts, dims): rotated; both lists have one length, dims explicit
slice_scatter.default: (x, src, dim, start, end, step): x with a slice replaced
select_scatter.default: (x, src, dim, index): x with a row replaced
""",
    Kind.CREATION: """
full.default: (sizes, value), kwargs dtype, device: every element is value
arange.start_step: (start, end, step), kwargs dtype, device: start + i * step
empty.memory_format: (sizes), kwargs dtype, device: contents undefined
""",
    Kind.LIBRARY: """
mm.default: matrix product
addmm.default: input + matrix product; kwargs beta and alpha as given
bmm.default: batched matrix product
baddbmm.default: input + batched product; kwargs beta and alpha as given
convolution.default: convolution with its 9 arguments
_scaled_dot_product_flash_attention_for_cpu.default: (output, logsumexp)
cumsum.default: running sum along a dim
sort.default: (values, indices)
sort.stable: (values, indices)
topk.default: (values, indices)
max_pool2d_with_indices.default: (values, indices)
avg_pool2d.default: means of windows
_adaptive_avg_pool2d.default: means of windows
index_put.default: functional index_put
scatter.src: functional scatter
scatter.value: functional scatter
scatter_add.default: functional scatter_add
""",
}
"""Of each kind its operators, one a line: name and what each result element is."""

_UNARY: Final = [CoreOp(f"aten.{name}.default", Kind.POINTWISE, f"{name}(a)") for name in UNARY]
_OTHERS: Final = [
    CoreOp(f"aten.{name}", kind, text)
    for kind, lines in _TEXTS.items()
    for name, text in (line.split(": ", 1) for line in lines.strip().splitlines())
]
CORE_OPS: Final = {op.name: op for op in (*_UNARY, *_OTHERS)}


def kind_of(name: str) -> Kind:
    """Return how an op of a decomposed graph is lowered; LIBRARY for every op that is not in the table."""
    op = CORE_OPS.get(name)
    return Kind.LIBRARY if op is None else op.kind
