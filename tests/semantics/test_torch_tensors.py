"""Tensors in Python: shapes, metadata, devices, construction, copies, NumPy."""

import copy
import io
import pickle

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from supple.torch_private import VERSION
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


@case(X, breaks="B107" if VERSION < (2, 13) else None)  # gone in 2.13
def names_of_dimensions(x):
    return x.names


@case(X, breaks="B105" if VERSION < (2, 13) else None)
def whether_dimensions_have_names(x):
    return x.has_names()


@case(X)
def layout_and_kind(x):
    return (
        x.layout,
        x.is_sparse,
        x.is_quantized,
        x.is_nested,
    )


@case(X, breaks="B105")
def whether_memory_is_pinned(x):
    return x.is_pinned()


@case(X, breaks="B102")
def whether_memory_is_shared(x):
    return x.is_shared()


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


@case(X)
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


@case(X)
def numpy_of_a_tensor(x):
    a = x.numpy()
    return torch.from_numpy(a * 2), x + 1


@case(X, breaks="B108")
def numpy_shares_memory(x):
    a = x.numpy()
    a[0] = 9
    return x, x + 1


@case(X, is_rounded=True)
def numpy_functions(x):
    a = np.sin(x.numpy())
    return torch.from_numpy(a * 2.0), a.mean(), a.max(axis=0), a[1:], a.shape


@case(X, breaks="B108", is_rounded=True)
def numpy_functions_on_tensors(x):
    return torch.as_tensor(np.sin(x.numpy())), float(np.mean(x.numpy()))


@case(np.arange(4.0), X)
def numpy_array(a, x):
    return torch.from_numpy(a) + x, a + 1, a.reshape(2, 2).T, a.shape


@case(np.arange(4.0), X, breaks="B108")
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


@case(X)
def assertion_on_a_value(x):
    assert (x >= 0).all(), "not negative"
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


@case(torch.tensor([1, 5, 3]), torch.tensor([4, 2, 3]))
def extremes_of_integers(a, b):
    return (
        torch.fmin(a, b),
        torch.fmax(a, b),
        torch.minimum(a, b),
        torch.maximum(a, b),
        torch.fmin(a, b + 0.5),
    )


@case(torch.tensor([[True, False], [False, False]]))
def extremes_of_truths(a):
    return torch.max(a, 0), torch.min(a, 1, keepdim=True), a.max(), a.min()


@case(torch.linspace(-100, 100, 97).bfloat16(), torch.linspace(0.3, 3, 89).bfloat16()[:, None])
def division_in_low_precision(a, b):
    return a / b, a.div(b, rounding_mode="trunc"), a.div(3, rounding_mode="trunc")


@case(X, breaks="B112")
def numbers_that_are_not_represented(x):
    return x.to(torch.uint64) + 1, x.chalf()


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
