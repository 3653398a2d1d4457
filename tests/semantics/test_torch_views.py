"""Tensors that share memory: writes, views, bases, attributes, aliasing."""

import pytest
import torch

from tests.semantics.harness import Corpus
from tests.semantics.sessions import check_compiled

case = Corpus()
# What torch deprecates is compared as well.
pytestmark = pytest.mark.filterwarnings("ignore")
X = torch.arange(4.0)
M = torch.arange(12.0).reshape(3, 4)
W = torch.ones(4, requires_grad=True)


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


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("one", case.cases, ids=str)
def test_compiled_like_eager(one, backend):
    check_compiled(one, backend)
