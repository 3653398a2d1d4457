"""Tensors as Python objects: indexing, iteration, truth, numbers, identity, operators."""

import numpy as np
import pytest
import torch

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
WM = torch.ones(3, 4, requires_grad=True)


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


@case(M, breaks="B112")
def a_mask_of_another_size_is_no_place_to_write(m):
    n = m.clone()
    try:
        n[m[:1] > 0] = 1
    except IndexError as error:
        return str(error), n


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


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("one", case.cases, ids=str)
def test_compiled_like_eager(one, backend):
    check_compiled(one, backend)
