"""Tensors: operators, methods, indexing, in-place writes, views, metadata, factories, results as tuples."""

import math
import operator

import pytest
import torch
import torch.nn.functional as F

from tests.semantics.harness import Corpus

case = Corpus()
X = torch.arange(4.0)
Y = torch.arange(4.0) + 1
M = torch.arange(12.0).reshape(3, 4)
I = torch.tensor([2, 0])
B = torch.tensor([True, False, True, False])
W = torch.ones(4, requires_grad=True)


@case(X, Y)
def arithmetic(x, y):
    return (
        x + y,
        x - 1,
        2 * x,
        x / y,
        x // y,
        x % y,
        x**2,
        2**x,
        -x,
        +x,
        abs(x),
        x @ y,
        divmod(7, 2),
        1 - x,
        1 / y,
    )


@case(X, Y)
def comparison_and_logic(x, y):
    mask = (x > 1) & (y < 4) | ~(x == 0) ^ (y != 2)
    return mask, x >= y, x <= 2, torch.where(mask, x, y)


@case(X, Y)
def reflected_operators_with_numbers(x, y):
    return 3 - x, 3 / y, 3 // y, 3 % y, 1.5 * x, True + x, 2 <= x, 2 == x


@case(M)
def indexing_with_constants(m):
    return (
        m[0],
        m[-1, 2],
        m[:, 1:3],
        m[..., 0],
        m[None],
        m[1:, ::2],
        m[:, None, :],
        m[0][1],
        m[(0, 1)],
        m[True],
    )


@case(M, I, torch.tensor([True, False, True]))
def indexing_with_tensors(m, i, mask):
    return m[i], m[i, i], m[:, i], m[[0, 2]], m[i, 1:3], torch.where(mask[:, None], m, 0)


@case(M)
def indexing_with_a_mask(m):
    return m[m > 3]


@case(M)
def writes_by_index(m):
    m[0] = 5
    m[1, 2] = m[2, 2] * 2
    m[:, 0] += 1
    m[2:, ::2] = torch.zeros(2)
    m[..., -1] *= 3
    return m.sum()


@case(M, I)
def writes_by_tensor_index(m, i):
    m[i] = 1.0
    m[m > 4] = 0
    m.index_add_(0, i, torch.ones(2, 4))
    return m


@case(X)
def in_place_methods_change_the_argument(x):
    x.add_(1).mul_(2)
    x.clamp_(max=5)
    y = x.sub_(1)
    return y is x, x


@case(X)
def augmented_assignment_is_in_place(x):
    y = x
    x += 1
    x *= 2
    x -= 1
    x /= 2
    x **= 2
    return y is x, y


@case(X)
def augmented_matrix_products_are_new_tensors(x):
    m = torch.ones(3, 3) * x.sum()
    kept = m
    m @= torch.ones(3, 3)
    x @= x
    return m is kept, m, kept, x, operator.imatmul(m, kept)


@case(X)
def augmented_assignment_of_a_view(x):
    v = x[1:3]
    v += 10
    x[0] = 7
    return x, v


@case(M)
def views_share_storage(m):
    a = m.view(4, 3)
    b = m.t()
    c = m[0]
    d = a.reshape(-1)
    m.add_(1)
    return a, b, c, d, m.T


@case(M)
def view_of_an_argument_is_returned(m):
    return m[1], m.view(-1), m.transpose(0, 1), m.detach(), m.contiguous(), m


@case(X)
def the_argument_itself_is_returned(x):
    y = x.contiguous()
    return x, y, y is x, x.to(torch.float32) is x, x.view(4) is x


@case(X, Y)
def out_argument_is_written(x, y):
    out = torch.empty(4)
    torch.add(x, y, out=out)
    return out


@case(X, Y)
def out_argument_of_the_caller_is_written(x, y):
    z = torch.mul(x, 3, out=y)
    return z is y


@case(M)
def shape_arithmetic(m):
    rows, columns = m.shape
    size = m.size()
    return (
        m.reshape(rows * columns),
        m.view(columns, -1),
        size,
        size[0],
        m.size(1),
        m.shape[1] // 2,
        len(m),
        m.numel(),
        m.dim(),
        m.ndim,
        size == (3, 4),
        isinstance(size, tuple),
        size.numel(),
        m.shape + (1,),
        m.shape[1:],
        list(size),
        tuple(size),
        math.prod(size),
        torch.Size([1, 2]),
        m.stride(),
        m.stride(0),
        m.is_contiguous(),
        m.T.is_contiguous(),
    )


@case(X)
def metadata(x):
    return (
        x.dtype,
        x.device,
        x.device.type,
        x.dtype is torch.float32,
        x.is_floating_point(),
        x.requires_grad,
        x.is_cuda,
        x.layout,
        x.element_size(),
        x.dtype.is_floating_point,
        x.itemsize,
        x.nbytes,
        x.is_leaf,
        x.is_complex(),
        x.dtype.itemsize,
        torch.is_tensor(x),
        x.ndimension(),
        x.get_device(),
        x.is_sparse,
        torch.is_floating_point(x),
        x.grad_fn,
        x.grad,
    )


@case(
    X,
    changed=((X.double(),), (X[:2],), (X.reshape(2, 2),), (X.clone().requires_grad_(),), (M[:, 0],), (3.0,)),
)
def metadata_is_guarded(x):
    return x * 2


@case(X)
def conversions(x):
    return (
        x.to(torch.float64),
        x.double(),
        x.int(),
        x.to("cpu"),
        x.type(torch.int64),
        x.half(),
        x.bool(),
        x.type_as(x),
        x.to(x),
    )


@case(X)
def factories(x):
    n = x.shape[0]
    return (
        torch.zeros(n),
        torch.ones(2, 3),
        torch.arange(n),
        torch.full((2,), 1.5),
        torch.eye(2),
        torch.linspace(0, 1, 3),
        torch.tensor([1, 2]),
        torch.tensor(1.5),
        torch.tensor([[1.0]]),
        torch.zeros_like(x),
        x.new_zeros(2),
        x.new_tensor([1]),
        torch.empty(0),
        torch.ones((2, 1), dtype=torch.int8),
        torch.arange(0, 4, 2, device=x.device),
        torch.tensor(True),
    )


@case(X, Y)
def tensor_of_tensors_is_stacked(x, y):
    return (
        torch.stack([x, y]),
        torch.cat((x, y)),
        torch.cat([x[None], y[None]], dim=0),
        torch.stack(tuple([x] * 3), -1),
    )


@case(M)
def named_results(m):
    values, indices = m.topk(2)
    top = m.max(dim=1)
    return (
        values,
        indices,
        top,
        top.values,
        top.indices,
        top[0],
        torch.sort(m, descending=True),
        m.min(0).indices,
    )


@case(M)
def several_results(m):
    a, b = m.chunk(2, dim=1)
    parts = m.split([1, 2])
    return a, b, parts, m.unbind(0), torch.aminmax(m), len(parts), torch.meshgrid(m[0], m[1], indexing="ij")


@case(M)
def reductions(m):
    return (
        m.sum(),
        m.mean(0),
        m.sum(dim=(0, 1)),
        m.var(-1, keepdim=True),
        m.prod(),
        m.argmax(),
        m.norm(),
        m.cumsum(0),
        m.all(),
    )


@case(M)
def functional(m):
    return (
        F.relu(m),
        F.softmax(m, -1),
        F.layer_norm(m, (4,)),
        F.gelu(m),
        F.linear(m, m),
        F.pad(m, (1, 1)),
        torch.sin(m),
        F.dropout(m, 0.5, training=False),
        F.scaled_dot_product_attention(m[None], m[None], m[None]),
        F.one_hot(torch.tensor([1]), 3),
        torch.einsum("ij,kj->ik", m, m),
        F.cross_entropy(m, torch.tensor([0, 1, 2])),
        torch.matmul(m, m.T),
        F.silu(m),
    )


@case(M)
def random_numbers_follow_the_generator(m):
    return (
        torch.rand(3),
        torch.randn_like(m),
        F.dropout(m, 0.5),
        torch.randint(0, 5, (4,)),
        torch.empty(3).uniform_(),
    )


@case(W, X)
def results_that_require_grad(w, x):
    y = (w * x).sum()
    z = w.detach() * 2
    return y, z, y.requires_grad, z.requires_grad, w.is_leaf, y.is_leaf


@case(X)
def identity_of_tensors(x):
    y = x
    z = x.clone()
    return y is x, z is x, x is not None, x in [x], (x is z) or 1


@case(X)
def none_comparisons(x):
    return x == None, x != None, x is None


@case(X)
def tensor_in_containers(x):
    table = {"x": x, 1: [x, (x,)]}
    table[1][0] = table["x"] + 1
    return table


@case(X)
def setattr_of_grad_metadata(x):
    y = x.clone()
    y.requires_grad_(True)
    return y.requires_grad, (y * 2).requires_grad


@case(torch.nn.Parameter(torch.ones(3)))
def parameter_argument(p):
    return (
        p * 2,
        isinstance(p, torch.nn.Parameter),
        isinstance(p, torch.Tensor),
        p.requires_grad,
        type(p) is torch.nn.Parameter,
    )


@case(M)
def iteration_over_rows(m):
    total = 0
    for index, row in enumerate(m):
        total = total + row * index
    return total, [row.sum() for row in m], len(list(m))


@case(torch.tensor(3), X)
def zero_dimensional_tensor_as_operand(n, x):
    return x * n, n + 1, n.view(1), n[None]


@case(X)
def method_chains_and_aliases(x):
    return x.unsqueeze(0).expand(2, 4).contiguous().flatten().view(2, -1).permute(1, 0).squeeze()


@case(X)
def getattr_of_tensor_by_name(x):
    return x.sin(), x.shape, hasattr(x, "cos"), hasattr(x, "nothing"), getattr(x, "nothing", 3)


@case(X)
def torch_functions_as_values(x):
    functions = [torch.sin, torch.cos, F.relu, torch.Tensor.exp, torch.ops.aten.neg.default]
    return [function(x) for function in functions]


@case(M)
def property_tensors(m):
    return m.T, m.mT, m.real, m.data, m.view(4, 3).mT, m.H


@case(torch.complex(X, Y))
def complex_numbers(z):
    return z * 1j, z.real, z.imag, z.abs(), torch.view_as_real(z), z.dtype


@case(X)
def dtype_arithmetic(x):
    return (
        torch.finfo(x.dtype).min,
        torch.iinfo(torch.int8).max,
        torch.promote_types(torch.int8, x.dtype),
        torch.float16,
        x.dtype == torch.float,
    )


@case(X)
def default_dtype_is_read(x):
    return torch.get_default_dtype(), torch.zeros(1).dtype


@case(X)
def compiling_queries(x):
    flags = torch.jit.is_scripting(), torch.jit.is_tracing()
    return x, flags


@case(M)
def masked_and_gathered(m):
    index = torch.tensor([[0, 1], [1, 2], [2, 3]])
    m.masked_fill_(m > 8, -1.0)
    return (
        m.gather(1, index),
        m.masked_fill(m < 2, 0),
        torch.tril(m),
        m.scatter(1, index, 9.0),
        m.roll(1),
        m.flip(0),
    )


@case(X, Y)
def mutation_through_two_names(x, y):
    z = x
    z.copy_(y)
    x.zero_()
    return z


@case(X)
def error_of_an_operation_is_raised_by_eager(x):
    return x @ torch.ones(3)


@case(X, X)
def one_tensor_for_two_parameters(x, y):
    x.add_(1)
    return y + 0


@case([X, X[1:]], changed=(([X, Y],),))
def overlapping_arguments(items):
    items[0].add_(1)
    return items[1] + 0


@case(X)
def item_of_a_tensor(x):
    return x * x.sum().item()


@case(X)
def float_of_a_tensor(x):
    return float(x.sum())


@case(X)
def shape_that_depends_on_data(x):
    return x.nonzero()


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()
