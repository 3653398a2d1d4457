"""Tensors in Python: writes, views, aliasing, attributes, indexing, construction, conversion to numbers."""

import copy
import io
import pickle

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.semantics.harness import Corpus
from tests.semantics.sessions import check_compiled

case = Corpus()
# What torch deprecates is compared as well.
pytestmark = pytest.mark.filterwarnings("ignore")
X = torch.arange(4.0)
M = torch.arange(12.0).reshape(3, 4)
T = torch.arange(24.0).reshape(2, 3, 4)
I = torch.tensor([2, 0])
B = torch.tensor([True, False, True, False])
W = torch.ones(4, requires_grad=True)
WM = torch.ones(3, 4, requires_grad=True)


# Writes, views and bases.


@case(X)
def write_through_a_view_of_a_view(x):
    v = x.view(2, 2)[1]
    v.mul_(10)
    v[0] = -1
    return x, v


@case(X)
def write_to_the_base_is_seen_by_the_view(x):
    v = x[::2]
    x.add_(5)
    w = v * 2
    x.zero_()
    return v, w


@case(W)
def write_to_a_clone_keeps_gradients(w):
    y = w.clone()
    y[1:3] = y[0:2] * 2
    y.mul_(3)
    return y


@case(W)
def write_to_a_view_of_a_clone_keeps_gradients(w):
    y = w.clone()
    v = y[1:]
    v.mul_(2)
    v += w[1:]
    return y, v


@case(W, breaks="B112")
def write_to_a_leaf_raises(w):
    try:
        w.add_(1)
    except RuntimeError as error:
        return str(error)[:20]
    return None


@case(W)
def write_to_a_leaf_under_no_grad(w):
    with torch.no_grad():
        w.add_(1)
        w[0] = 7
    return w * 2


@case(X)
def transposed_write(x):
    m = x.reshape(2, 2)
    m.t()[0] = torch.tensor([8.0, 9.0])
    return m, x


@case(M)
def write_through_unbind_and_chunk(m):
    for row in m.unbind(0):
        row += 1
    for part in m.chunk(2, 1):
        part.mul_(2)
    a, b = m.split([1, 2])
    a.zero_()
    return m, b


@case(M)
def in_place_shape_changes(m):
    v = m.clone()
    v.unsqueeze_(0)
    v.squeeze_()
    v.t_()
    v.transpose_(0, 1)
    return v, v.shape


@case(X, breaks="B112")
def resize_of_a_new_tensor(x):
    y = torch.empty(2)
    y.resize_(4)
    y.copy_(x)
    return y


@case(X, X + 1)
def swapped_contents(x, y):
    kept = x.clone()
    x.copy_(y)
    y.copy_(kept)
    return x, y


@case(X)
def set_of_a_tensor(x):
    y = torch.zeros(4)
    y.set_(x)
    return y


@case(X)
def out_that_is_an_input(x):
    torch.mul(x, 2, out=x)
    return x


@case(M)
def out_of_a_view(m):
    torch.sum(m, 0, out=m[0])
    return m


@case(M)
def several_outs(m):
    values, indices = torch.empty(3), torch.empty(3, dtype=torch.long)
    torch.max(m, 1, out=(values, indices))
    return values, indices


@case(X, breaks="B112")
def out_is_resized(x):
    out = torch.empty(0)
    torch.add(x, 1, out=out)
    return out


@case(X)
def out_of_the_wrong_dtype(x):
    out = torch.empty(4, dtype=torch.float64)
    return torch.add(x, 1, out=out)


@case(X)
def data_is_read(x):
    d = x.data
    d.add_(1)
    return x, d, d is x


@case(W)
def data_of_a_leaf_is_written(w):
    w.data.mul_(2)
    w.data[0] = 5
    return w * 2


@case(W, X, breaks="B107")
def data_is_assigned(w, x):
    w.data = x * 2
    return w * 3


@case(X, breaks="B107")
def data_of_a_result_is_assigned(x):
    y = x * 2
    y.data = x
    return y, y + 1


@case(W)
def detach_shares_memory(w):
    d = w.detach()
    d.add_(1)
    return w, d, d.requires_grad


@case(W)
def detach_in_place(w):
    y = w * 2
    y.detach_()
    return y, y.requires_grad


@case(X)
def requires_grad_is_written(x):
    x.requires_grad = True
    y = x * 2
    return y.requires_grad, y


@case(X)
def requires_grad_in_place_of_an_argument(x):
    return x.requires_grad_() * 2


@case(X)
def requires_grad_of_a_new_tensor(x):
    y = torch.ones(4, requires_grad=True)
    z = (x * 2).requires_grad_()
    return y * z, y, z, z.is_leaf


@case(X)
def requires_grad_of_an_argument_stays(x):
    x.requires_grad_()
    return x.sum().detach()


@case(W)
def requires_grad_is_cleared(w):
    w.requires_grad_(False)
    y = w * 2
    w.requires_grad_(True)
    return y, w * 2


@case(W)
def grad_is_read(w):
    return w.grad is None, w * 2


def graded():
    w = torch.ones(4, requires_grad=True)
    w.grad = torch.full((4,), 3.0)
    return w


@case(graded())
def existing_grad_is_read(w):
    return w.grad * 2, w * 2


@case(graded())
def grad_is_set_to_none(w):
    w.grad = None
    return w * 2


@case(W)
def grad_is_assigned(w):
    w.grad = torch.ones(4)
    return w * 2


@case(graded())
def grad_is_scaled_in_place(w):
    w.grad.mul_(0.5)
    w.grad.data.add_(1)
    return w.grad.norm()


@case(X)
def attribute_on_a_tensor(x):
    x.tag = "a"
    return x.tag, x * 2


@case(X)
def attribute_on_a_result(x):
    y = x * 2
    y.tag = ("a", 1)
    return y


@case(X)
def attribute_that_is_a_tensor(x):
    y = x * 2
    y.origin = x
    return y.origin is x, y


@case(X, X + 1)
def attributes_refer_to_each_other(x, y):
    x.partner = y
    y.partner = [x, y * 2]
    z = x + 1
    z.parts = (x, z)
    return z, x.partner is y, y.partner[1]


@case(X)
def attribute_is_written_twice(x):
    x.count = 1
    x.count += 1
    return getattr(x, "count"), hasattr(x, "count"), x * x.count


@case(W)
def grad_is_replaced_and_read(w):
    w.grad = torch.full((4,), 2.0)
    g = w.grad
    w.grad = w.grad * 3
    return g, w.grad, w * 2


@case(W, breaks="B107")
def grad_of_another_shape_raises(w):
    try:
        w.grad = torch.ones(3)
    except RuntimeError:
        return w * 2


@case(X, X)
def attribute_of_one_tensor_under_two_names(a, b):
    a.tag = 1
    return getattr(b, "tag", 0), a is b


def tagged():
    x = torch.ones(4)
    x.factor = 3
    return x


@case(tagged())
def existing_attribute_is_read(x):
    return x * x.factor, hasattr(x, "nothing")


@case(tagged(), breaks="B107")
def existing_attribute_is_deleted(x):
    y = x * x.factor
    del x.factor
    x.factor = 4
    return y


# Aliasing.


@case(X)
def argument_is_returned_twice(x):
    return x, [x, x], {"x": x}


@case(X)
def result_is_returned_twice(x):
    y = x + 1
    return y, y, [y]


@case(X, X)
def the_same_tensor_twice(a, b):
    a.add_(1)
    return a is b, b * 2


@case(X, X.view(2, 2))
def an_argument_and_its_view(a, v):
    a.mul_(2)
    v[0] += 1
    return a + 1, v


@case([X, X[1:], X[:2]])
def overlapping_views(items):
    items[1].add_(10)
    return [item * 1 for item in items]


@case(M)
def view_and_copy_of_an_argument(m):
    a = m.reshape(-1)
    b = m.t().reshape(-1)
    a[0] = 100
    return a, b


@case(M.t())
def non_contiguous_argument(m):
    m[0] = 5
    return m.contiguous(), m.is_contiguous(), m.view(-1) if m.is_contiguous() else m.reshape(-1)


@case(X.expand(3, 4))
def expanded_argument(m):
    return m + 1, m.stride(), m.contiguous()


@case(X)
def identity_chain(x):
    return (
        x.to(x.dtype) is x,
        x.contiguous() is x,
        x.float() is x,
        x.clone() is x,
        x.view(4) is x,
        x.data is x,
    )


@case(W, breaks="B107")
def base_of_a_view(w):
    v = w[1:]
    return v._base is w, v._is_view(), w._base is None


@case(X, breaks="B107")
def version_counter(x):
    y = x.clone()
    before = y._version
    y.add_(1)
    return y._version - before, y


# Indexing.


@case(T)
def indexing_mixes_everything(t):
    return (
        t[0, :, 1],
        t[..., ::2],
        t[:, None, 1],
        t[1, ..., None],
        t[-1, -2:],
        t[:, [0, 2]],
        t[:, [0, 2], [1, 3]],
    )


@case(M, I)
def indexing_with_index_tensors(m, i):
    return m[i], m[:, i], m[i, i], m[i[:, None], i], m[i, 1:], m[..., i], m[(i, i)]


@case(M)
def indexing_with_lists_and_ranges(m):
    return m[[0, 2]], m[[[0, 1], [1, 2]]], m[range(2)], m[[True, False, True]], m[[2, 0], [1, 3]]


@case(M, B)
def indexing_with_masks(m, b):
    return m[:, b], m[m > 5], m[m.sum(1) > 20]


@case(M, breaks="B124")
def indexing_with_numpy_numbers(m):
    return m[np.int64(1)], m[:, np.int64(2)]


@case(M, breaks="B130")
def indexing_with_zero_dimensional_tensors(m):
    i = torch.tensor(1)
    return m[i], m[i, i], m[torch.tensor(0) :]


@case(M)
def indexing_with_booleans_and_none(m):
    return m[True], m[False], m[None, True], m[:, None, None]


@case(M, breaks="B112")
def indexing_out_of_range_raises(m):
    try:
        return m[5]
    except IndexError:
        return m.sum()


@case(M, [0, slice(1, 3), None, ..., (1, 2), slice(None, None, 2)])
def indexing_with_computed_keys(m, keys):
    return [m[key] for key in keys]


@case(M)
def slices_with_computed_bounds(m):
    n = m.shape[0]
    return m[n - 2 :], m[: n // 2], m[-n:], m[:, : m.shape[1] - 1 : 2], m[n:]


@case(M)
def writes_of_numbers(m):
    m[0, 1] = 5
    m[1] = 2.5
    m[:, 0] = True
    m[..., -1] = -1
    m[2:, 1:3] = 9
    return m


@case(M)
def writes_of_tensors(m):
    m[0] = torch.arange(4)
    m[1:] = torch.tensor([[1.0], [2.0]])
    m[:, :2] = m[:, 2:] * 2
    return m


@case(M, I)
def writes_at_index_tensors(m, i):
    m[i] += 1
    m[:, i] = 0.5
    m[i, i] = torch.tensor([7.0, 8.0])
    m[[0, 1], [1, 2]] = -1
    return m


@case(M, B)
def writes_at_masks(m, b):
    m[m > 6] = 0
    m[:, b] = 1
    m[m == 1] *= 5
    m[m < 0] = m.sum()
    return m


@case(M)
def writes_that_accumulate(m):
    i = torch.tensor([0, 0, 1])
    m.index_put_((i,), torch.ones(3, 4), accumulate=True)
    m.index_add_(0, i, torch.ones(3, 4))
    m.scatter_add_(1, torch.zeros(3, 1, dtype=torch.long), torch.ones(3, 1))
    return m


@case(WM)
def writes_into_a_clone_flow_back(w):
    y = w.clone()
    y[0] = w[1] * 2
    y[:, 1] *= 3
    y[y > 5] = 0
    return y


@case(M)
def writes_of_a_list_value(m):
    m[0] = torch.tensor([1.0, 2, 3, 4])
    m[1, :2] = m.new_tensor([5, 6])
    return m


@case(M)
def augmented_items(m):
    m[0] += 1
    m[0, 0] -= 2
    m[:, 1] *= m[:, 2]
    m[1] /= 2
    m[2] **= 2
    return m


@case(M)
def select_scatter_family(m):
    return (
        m.select_scatter(torch.zeros(4), 0, 1),
        m.slice_scatter(torch.zeros(1, 4), 0, 1, 2),
        m.diagonal_scatter(torch.zeros(3)),
        m.index_select(0, torch.tensor([1])),
        m.narrow(1, 1, 2),
        torch.take(m, torch.tensor([0, 5])),
        torch.take_along_dim(m, torch.tensor([[0], [1], [2]]), 1),
    )


# Python protocols.


@case(M)
def tensors_unpack(m):
    a, b, c = m
    first, *rest = m
    p, _, _, s = a
    return a + b, c, first, rest, p + s


@case(M)
def iteration_and_zip(m):
    return [a * b for a, b in zip(m, m.flip(0), strict=True)], sum(m), list(map(torch.sum, m)), len(m)


@case(M)
def reversed_and_enumerate(m):
    return list(reversed(m)), [(i, r.sum()) for i, r in enumerate(m)]


@case(torch.tensor(2.0))
def iteration_of_a_scalar_raises(x):
    try:
        return list(x)
    except TypeError:
        return x + 1


@case(X, torch.tensor(2.0), breaks="B104")
def contains(x, t):
    return 2 in x, t in x, 7.0 in x


@case(torch.tensor([3.0]), torch.tensor(0), breaks="B104")
def truth_of_a_tensor(x, n):
    return bool(x), not n, x if x > 2 else n


@case(X, breaks="B104")
def and_or_of_tensors(x):
    return (x.sum() > 1) and x * 2, (x.sum() > 100) or x * 3


@case(X, breaks="B104")
def comparison_chain(x):
    s = x.sum()
    return 0 < s < 10, s


@case(X, breaks="B104")
def truth_of_several_elements_raises(x):
    try:
        if x:
            return 1
    except RuntimeError as error:
        return str(error)[:20]
    return None


@case(X, X.clone(), breaks="B105")
def equal_and_allclose(x, y):
    return torch.equal(x, y), torch.allclose(x, y + 1e-9), x.equal(y + 1), x


@case(X, breaks="B104")
def any_and_all_branch(x):
    if (x > 2).any():
        x = x + 1
    if torch.all(x > 0):
        x = x * 2
    return x


@case(torch.tensor(3), X)
def item_of_an_integer(n, x):
    k = n.item()
    return x[:k], x * k, k + 1


@case(X)
def item_of_a_float(x):
    return x * x.max().item(), x.mean().item()


@case(torch.tensor([True]), breaks="B130")
def item_of_a_boolean(b):
    return b.item(), 1 if b.item() else 2


@case(torch.tensor([3, 1, 2]), X, breaks="B130")
def tolist_of_integers(n, x):
    sizes = n.tolist()
    return sizes, [x * s for s in sizes], sorted(sizes)


@case(X, breaks="B105")
def tolist_of_floats(x):
    return x.tolist(), x[0].tolist()


@case(torch.tensor([[1, 2], [3, 4]]), X)
def tolist_of_two_dimensions(n, x):
    return n.tolist(), x


@case(torch.tensor([1, 3]), X)
def split_by_a_tensor_of_sizes(n, x):
    return x.split(n.tolist())


@case(torch.tensor(2), X, breaks="B119")
def int_float_and_index(n, x):
    return int(n), float(n), [10, 20, 30][n], x[int(n)], range(n), complex(n)


@case(X)
def signs_of_a_tensor(x):
    return abs(x - 2), -x, +x, x.__neg__()


@case(X, breaks="B102")
def hash_and_identity(x):
    y = x * 2
    table = {x: 1, y: 2}
    return table[x], table[y], hash(x) == hash(x), id(x) == id(x), x in table, len({x, x, y})


@case(X)
def id_of_a_tensor_in_a_set(x):
    seen = {id(x)}
    y = x + 1
    return id(x) in seen, id(y) in seen, y


@case([X, X + 1])
def tensors_in_lists_by_identity(items):
    return items.index(items[0]), items[0] in items, items[0] is items[1]


@case(X, breaks="B106")
def format_of_a_tensor(x):
    return f"{x.shape} {x.dtype} {x.device}", f"{x.sum()}", str(x.shape), repr(x.dtype)


@case(X, breaks="B106")
def text_of_a_tensor(x):
    return str(x), repr(x * 2), f"{x.sum().item():.2f}"


@case(X)
def isinstance_queries(x):
    return (
        isinstance(x, torch.Tensor),
        isinstance(x, torch.nn.Parameter),
        type(x) is torch.Tensor,
        torch.is_tensor(x),
        issubclass(type(x), torch.Tensor),
        isinstance(x.shape, torch.Size),
        isinstance(x, torch.FloatTensor),
        isinstance(x, (int, torch.Tensor)),
    )


@case(X, breaks="B112")
def operators_with_wrong_types_raise(x):
    try:
        return x + "a"
    except TypeError:
        return x


@case(X)
def methods_as_values(x):
    f = x.add
    return f(1), torch.Tensor.add(x, 2), getattr(x, "mul")(3), [m(x) for m in (torch.Tensor.sin, torch.cos)]


@case(X)
def named_tuple_results(x):
    m = x.view(2, 2) + torch.eye(2)
    q = torch.linalg.qr(m)
    _, s, _ = torch.linalg.svd(m)
    e = torch.sort(x, descending=True)
    return (
        q.Q.abs(),
        s,
        e.values,
        e.indices,
        torch.mode(x),
        torch.median(x, 0),
        x.kthvalue(2),
        torch.slogdet(m),
    )


@case(M)
def named_tuple_protocol(m):
    top = torch.topk(m, 2)
    return (
        isinstance(top, tuple),
        len(top),
        top._fields if hasattr(top, "_fields") else 0,
        [*top],
        top[1:],
        top,
    )


@case(X)
def result_of_max_without_dim(x):
    return torch.max(x), x.max(), torch.max(x, x + 1), x.max(0), x.min(dim=0, keepdim=True).values


# Shapes and metadata.


@case(T)
def shape_arithmetic(t):
    b, n, d = t.shape
    h = d // 2
    return (
        t.view(b, n, 2, h).transpose(1, 2).reshape(b * 2, n, h),
        t.flatten(1),
        t.unflatten(2, (2, -1)),
        b * n * d,
    )


@case(T)
def shape_objects(t):
    s = t.shape
    return (
        s[:-1],
        s + (1,),
        (1, *s),
        s == torch.Size([2, 3, 4]),
        s.numel(),
        list(s),
        s.index(3),
        s.count(2),
        hash(s) != 0,
    )


@case(T)
def size_with_a_dimension(t):
    return t.size(-1), t.size()[1:], t.shape[-1] * 2, t.dim() - 1, t.nelement(), torch.numel(t)


@case(T)
def shapes_as_dict_keys(t):
    table = {t.shape: "a", tuple(t.shape[:1]): "b"}
    return table[t.shape], table[(2,)], t


@case(M, breaks="B105")
def strides_and_storage(m):
    return m.stride(), m[1].storage_offset(), m.t().stride(0), m.is_contiguous(), m.untyped_storage().nbytes()


@case(X, breaks="B105")
def data_pointers(x):
    return x.data_ptr() == x.view(2, 2).data_ptr(), x.data_ptr() == x.clone().data_ptr(), x


@case(X, breaks="B105")
def storage_comparison(x):
    return x.untyped_storage().data_ptr() == x[1:].untyped_storage().data_ptr(), x.storage_offset(), x + 1


@case(T)
def memory_formats(t):
    y = t[None].contiguous(memory_format=torch.channels_last)
    return y.stride(), y.is_contiguous(memory_format=torch.channels_last), y, torch.empty_like(y).stride()


@case(W, breaks="B107")
def autograd_metadata(w):
    y = w * 2
    return w.is_leaf, y.is_leaf, y.requires_grad, y.grad_fn is None, w.grad_fn is None, y.detach().is_leaf


@case(W, breaks="B107")
def grad_fn_of_a_result(w):
    y = w * 2
    return y.grad_fn is not None, isinstance(y.grad_fn.name(), str)


@case(X)
def names_and_layout(x):
    return (
        x.layout,
        x.is_sparse,
        x.is_quantized,
        x.is_nested,
        x.names,
        x.has_names(),
        x.is_shared(),
        x.is_pinned(),
    )


# Devices and dtypes.


@case(X)
def dtype_moves(x):
    return (
        x.to(torch.float16),
        x.to(dtype=torch.int32),
        x.double(),
        x.long(),
        x.bool(),
        x.to(torch.complex64),
        x.type(torch.float64),
        x.type(),
        x.to("cpu", torch.float64),
        x.to(torch.ones(1, dtype=torch.int8)),
        x.bfloat16(),
    )


@case(X)
def device_moves(x):
    return (
        x.to("cpu"),
        x.cpu() is x,
        x.to(torch.device("cpu")),
        x.to(device=x.device, dtype=torch.float64, copy=True),
    )


@case(X)
def moves_to_meta(x):
    y = x.to("meta")
    z = torch.empty_like(x, device="meta") * 2
    return y.device, y.shape, z.is_meta, y + z


@case(torch.ones(4, device="meta"))
def meta_argument(x):
    return x * 2, x.device.type, x.shape


@case(X, breaks="B112")
def bit_casts(x):
    return x.view(torch.int32), x.view(torch.float64), x.half().view(torch.int16), x.view(torch.uint8).shape


# Construction.


@case(X)
def tensor_of_numbers(x):
    n = x.shape[0]
    return (
        torch.tensor(n),
        torch.tensor([n, 1.5]),
        torch.tensor([[1, 2], [3, n]]),
        torch.tensor(True),
        torch.tensor([]),
        torch.tensor([1, 2], dtype=torch.float64),
        torch.tensor(1j),
        torch.tensor((1, 2)),
        torch.tensor([1.0], requires_grad=True),
    )


@case(X, breaks="B112")
def tensor_of_tensors(x):
    return torch.tensor([x[0], x[1]]), x


@case(X)
def tensor_of_a_tensor(x):
    return torch.tensor(x), torch.as_tensor(x) is x, torch.asarray(x) is x


@case(X)
def tensor_of_a_range(x):
    return torch.tensor(range(3)), torch.tensor(list(range(2))), torch.tensor([i * 2 for i in range(3)]), x


@case(X)
def like_factories(x):
    return (
        torch.zeros_like(x),
        torch.ones_like(x, dtype=torch.int64),
        torch.full_like(x, 3),
        torch.empty_like(x).shape,
        x.new_zeros(2, 2),
        x.new_ones((3,)),
        x.new_full((2,), 1.5),
        x.new_tensor([1, 2]),
        x.new_empty(2).shape,
        x.new(3).shape,
    )


@case(X, breaks="B102")
def constructor_classes(x):
    return (
        torch.Tensor([1, 2]),
        torch.FloatTensor([1.0]),
        torch.LongTensor([1, 2]),
        torch.Tensor(2, 3).shape,
        x,
    )


@case(X)
def range_factories(x):
    n = len(x)
    return (
        torch.arange(n),
        torch.arange(1, n),
        torch.arange(0, 1, 0.25),
        torch.linspace(0, 1, n),
        torch.logspace(0, 1, 3),
        torch.eye(n, 2),
        torch.full((n,), n),
        torch.full((2,), True),
        torch.tril_indices(2, 2),
        torch.zeros(n, 0),
        torch.scalar_tensor(2.0),
        torch.zeros(()),
        torch.ones(size=(2,)),
        torch.empty((0, 3)),
        torch.zeros(torch.Size([2])),
    )


@case(X)
def meshes_and_products(x):
    return (
        torch.meshgrid(x, x, indexing="ij"),
        torch.cartesian_prod(x[:2], x[:2]),
        torch.combinations(x),
        torch.block_diag(x, x),
        torch.broadcast_tensors(x, x[:, None]),
        torch.atleast_2d(x),
        torch.vander(x),
        torch.diag(x),
    )


@case(X)
def stacks_of_lists(x):
    rows = [x * i for i in range(3)]
    return (
        torch.stack(rows),
        torch.cat(rows),
        torch.vstack(rows),
        torch.hstack(rows),
        torch.dstack(rows).shape,
        torch.stack(rows, dim=1),
    )


@case(X)
def einsum_and_tensordot(x):
    m = x.view(2, 2)
    return (
        torch.einsum("ij,jk->ik", m, m),
        torch.tensordot(m, m, dims=1),
        torch.einsum("i,i", x, x),
        torch.kron(m, m),
    )


@case(X)
def constant_tensor_is_made_anew(x):
    c = torch.tensor([1.0, 2.0, 3.0, 4.0])
    c += x
    return c


# Copies and texts.


@case(X, breaks="B102")
def copies(x):
    a, b = copy.copy(x), copy.deepcopy(x)
    a.add_(1)
    return a, b, a is x


@case(X, breaks="B102")
def deep_copy_of_a_container(x):
    items = {"a": [x, x], "b": (x * 2,)}
    return copy.deepcopy(items)


@case(W, breaks="B102")
def deep_copy_of_a_leaf(w):
    c = copy.deepcopy(w)
    return c * 2, c.is_leaf, c is w


@case(X, breaks="B102")
def pickled(x):
    return pickle.loads(pickle.dumps(x)), x * 2


@case(X, breaks="B123")
def saved_and_loaded(x):
    file = io.BytesIO()
    torch.save(x * 2, file)
    file.seek(0)
    return torch.load(file), x + 1


@case(X, breaks="B130")
def printed(x):
    print("sum", x.sum().item())
    y = x * 2
    print(y.shape, x)
    return y + 1


# NumPy.


@case(X, breaks="B105")
def numpy_of_a_tensor(x):
    a = x.numpy()
    return torch.from_numpy(a * 2), x + 1


@case(X, breaks="B105")
def numpy_shares_memory(x):
    a = x.numpy()
    a[0] = 9
    return x, x + 1


@case(X, breaks="B105")
def numpy_functions_on_tensors(x):
    return torch.as_tensor(np.sin(x.numpy())), float(np.mean(x.numpy()))


@case(np.arange(4.0), X, breaks="B102")
def numpy_array_argument(a, x):
    return torch.from_numpy(a) + x, torch.tensor(a), torch.as_tensor(a), a.shape


@case(X, breaks="B124")
def numpy_scalars(x):
    return x * np.float64(2.5), x + np.int64(1), x * np.pi, np.prod(x.shape), np.sqrt(4)


@case(X, breaks="B124")
def numpy_constants(x):
    return torch.tensor(np.arange(3)), torch.from_numpy(np.zeros(2, dtype=np.float32)), x


@case(W, breaks="B105")
def numpy_of_a_tensor_that_requires_grad_raises(w):
    try:
        return w.numpy()
    except RuntimeError:
        return w.detach().numpy().sum()


# Operators that need care.


@case(X)
def checks_by_the_program(x):
    torch._assert(x.shape[0] == 4, "four")
    torch._check(x.dim() == 1)
    assert x.dtype == torch.float32, "float"
    return x * 2


@case(X, breaks="B104")
def assertion_on_a_value(x):
    assert (x >= 0).all(), "not negative"
    return x * 2


@case(X, breaks="B104")
def assertion_that_fails(x):
    if not x.sum() < 0:
        raise AssertionError("negative")
    return x * 2


@case(M)
def nonzero_unique_and_where(m):
    return m.nonzero(), torch.unique(m % 3), torch.where(m > 5), torch.argwhere(m > 8), m[m > 3].sum()


@case(M)
def masked_select_then_arithmetic(m):
    kept = torch.masked_select(m, m > 4)
    return kept * 2, kept.shape[0], kept.numel() + 1


@case(torch.tensor([1, 2, 0]))
def repeat_interleave_by_data(n):
    return torch.repeat_interleave(n), torch.repeat_interleave(torch.arange(3), n), torch.bincount(n)


@case(M, breaks="B102")
def complex_results(m):
    z = torch.complex(m, m)
    return (
        torch.fft.fft(m[0]),
        z.conj(),
        z.conj().resolve_conj(),
        z.real,
        torch.view_as_real(z),
        z.abs(),
        z.conj() * 2,
    )


@case(W)
def foreach_functions(w):
    return torch._foreach_add([w, w * 2], 1.0), torch._foreach_mul([w], [w])


@case(X)
def foreach_in_place(x):
    items = [x.clone(), x * 2]
    torch._foreach_add_(items, 1.0)
    torch._foreach_mul_(items, 2.0)
    return items


@case(torch.tensor([3.0, float("nan"), 1.0]))
def nan_handling(x):
    return x.nan_to_num(0), x.isnan(), torch.nanmean(x), x.max(), x != x


@case(M)
def inplace_functional(m):
    y = F.relu(m - 5, inplace=True)
    z = m.clone()
    F.relu_(z)
    torch.relu_(m)
    torch.neg_(m)
    return y, z, m


@case(M)
def padding_and_folding(m):
    return (
        F.pad(m, (1, 2)),
        F.unfold(m[None, None], 2),
        m.unfold(0, 2, 1),
        m.roll(1, 0),
        torch.rot90(m),
        m.flip((0, 1)),
    )


@case(M)
def bucketing_and_searching(m):
    edges = torch.tensor([2.0, 5.0])
    return (
        torch.bucketize(m, edges),
        torch.searchsorted(edges, m),
        torch.histc(m, 3),
        m.argsort(1),
        torch.cummax(m, 0),
    )


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("one", case.cases, ids=str)
def test_compiled_like_eager(one, backend):
    check_compiled(one, backend)
