"""Transforms, operators and tensors of the program's own, tensors that are not plain."""

import warnings

import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from tests.semantics.harness import Corpus
from tests.semantics.sessions import check_compiled, copied, seeded

case = Corpus()
# What torch deprecates is compared as well.
pytestmark = pytest.mark.filterwarnings("ignore")
X = torch.arange(8.0).reshape(2, 4) / 8
W = X.clone().requires_grad_()


def layer():
    return seeded(lambda: nn.Linear(4, 4))


# Transforms.


@case(X, breaks="B103")
def vmap(x):
    return torch.vmap(lambda row: row * row.sum())(x)


@case(X, breaks="B103")
def vmap_with_dims(x):
    return torch.func.vmap(torch.dot, in_dims=(0, None))(x, x[0]), torch.vmap(torch.sin, out_dims=1)(x)


@case(X, breaks="B103")
def func_grad(x):
    return torch.func.grad(lambda t: t.sin().sum())(x)


@case(X, breaks="B103")
def func_grad_and_value(x):
    return torch.func.grad_and_value(lambda t: (t**2).sum())(x)


@case(X, breaks="B103")
def jacobians(x):
    return (
        torch.func.jacrev(torch.sin)(x[0]),
        torch.func.jacfwd(torch.cos)(x[0]),
        torch.func.hessian(lambda t: (t**3).sum())(x[0]),
    )


@case(X, breaks="B103")
def vjp_and_jvp(x):
    out, vjp = torch.func.vjp(torch.sin, x)
    return out, vjp(torch.ones_like(x)), torch.func.jvp(torch.cos, (x,), (torch.ones_like(x),))


@case(layer(), X, breaks="B103")
def per_sample_gradients(m, x):
    def loss(params, row):
        return torch.func.functional_call(m, params, (row,)).pow(2).sum()

    params = {name: p.detach() for name, p in m.named_parameters()}
    return torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(params, x)


@case(X, breaks="B103")
def functionalized(x):
    def f(t):
        y = t.clone()
        y.add_(1)
        return y

    return torch.func.functionalize(f)(x)


@case(X, breaks="B129")
def autograd_functional(x):
    return torch.autograd.functional.jacobian(lambda t: t.sin().sum(0), x)


@case(X, breaks="B103")
def forward_mode(x):
    import torch.autograd.forward_ad as fwd

    with fwd.dual_level():
        dual = fwd.make_dual(x, torch.ones_like(x))
        return fwd.unpack_dual(dual.sin()).tangent


def test_a_function_called_inside_transforms():
    import supple

    compiled = supple.compile(lambda t: t.sin().sum(), backend="eager")
    x = X[0]
    assert compiled(x) == x.sin().sum()
    assert torch.equal(torch.func.grad(compiled)(x), x.cos())
    assert torch.equal(torch.vmap(compiled)(X), X.sin().sum(1))
    assert compiled(x) == x.sin().sum()


# Control flow operators.


@case(X, breaks="B103")
def cond(x):
    return torch.cond(x.sum() > 1, lambda t: t.sin(), lambda t: t.cos(), (x,))


@case(X, breaks="B103")
def cond_on_a_shape(x):
    return torch.cond(x.shape[0] > 1, lambda t: t.sin(), lambda t: t.cos(), (x,))


@case(X, breaks="B103")
def while_loop(x):
    from torch._higher_order_ops.while_loop import while_loop as loop

    return loop(lambda i, t: i < 3, lambda i, t: (i + 1, t * 2), (torch.tensor(0), x))


# Operators and types of the program.


@torch.library.custom_op("supple_semantics::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def _(x):
    return torch.empty_like(x)


twice.register_autograd(lambda ctx, g: g * 20)


@torch.library.custom_op("supple_semantics::bump", mutates_args=("x",))
def bump(x: torch.Tensor, by: float = 1.0) -> None:
    x.add_(by)


LIBRARY = torch.library.Library("supple_semantics_defined", "DEF")
LIBRARY.define("plus(Tensor x, Tensor y, int n=1) -> Tensor")
LIBRARY.impl("plus", lambda x, y, n=1: x + y * n, "CompositeExplicitAutograd")
torch.library.register_fake("supple_semantics_defined::plus", lambda x, y, n=1: torch.empty_like(x))
LIBRARY.define("parts(Tensor x) -> Tensor[]")
LIBRARY.impl("parts", lambda x: [row.clone() for row in x], "CompositeExplicitAutograd")


@case(X, breaks="B103")
def custom_operator(x):
    return twice(x) + 1


@case(W, breaks="B103")
def custom_operator_with_gradient(w):
    return twice(w).sin()


@case(X, breaks="B103")
def custom_operator_that_writes(x):
    bump(x)
    bump(x, by=3.0)
    return x * 2


@case(X)
def custom_operator_by_name(x):
    return torch.ops.supple_semantics.twice(x), torch.ops.supple_semantics.twice.default(x)


@case(X)
def library_operator(x):
    return torch.ops.supple_semantics_defined.plus(x, x), torch.ops.supple_semantics_defined.plus(x, x, n=3)


@case(X)
def library_operator_without_fake(x):
    return torch.ops.supple_semantics_defined.parts(x)


@case(X)
def aten_operators(x):
    return torch.ops.aten.add(x, 1), torch.ops.aten.mul.Tensor(x, x), torch.ops.aten.sum.dim_IntList(x, [0])


class Tagged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        found = super().__torch_function__(func, types, args, kwargs or {})
        return found + 100 if func is torch.sin else found


class Plain(torch.Tensor):
    pass


TAGGED, PLAIN = X.as_subclass(Tagged), X.as_subclass(Plain)


@case(breaks="B109")
def subclass_with_torch_function():
    return torch.sin(TAGGED), type(TAGGED * 2) is Tagged


@case(breaks="B109")
def plain_subclass():
    return PLAIN * 2, type(PLAIN + 1) is Plain


@case(X, breaks="B112")
def subclass_made_inside(x):
    y = x.as_subclass(Tagged)
    return torch.sin(y), isinstance(y, Tagged)


@case(X, breaks="B112")
def plain_subclass_made_inside(x):
    return (x * 2).as_subclass(Plain), x


class Duck:
    def __init__(self, value):
        self.value = value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "duck", func.__name__, len(args)


@case(X, Duck(1))
def duck_with_torch_function(x, duck):
    return torch.add(x, duck), torch.sin(duck), x * 2


@case(X, Duck(1), breaks="B108")
def duck_in_an_operator(x, duck):
    return x + duck


class Shifting(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        return out + 1000 if func is torch.sin else out


@case(X, breaks="B102")
def function_mode_inside(x):
    with Shifting():
        a = torch.sin(x)
    return a, torch.sin(x)


class Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.__name__)
        return func(*args, **(kwargs or {}))


@case(X, breaks="B102", reuses=False, line="")
def dispatch_mode_inside(x):
    with Counting() as mode:
        y = x.sin() + 1
    return mode.seen, y


@case(X, breaks="B102")
def disabled_torch_function(x):
    with torch._C.DisableTorchFunctionSubclass():
        return x.sin()


@pytest.mark.parametrize("mode", [Shifting, Counting])
def test_a_mode_of_the_caller_sees_the_calls(mode):
    import supple

    def f(x):
        return torch.sin(x) + 1

    compiled = supple.compile(f, backend="eager")
    for _ in range(2):
        assert torch.equal(compiled(X), f(X))
        with mode() as here:
            got = compiled(X)
        with mode() as there:
            want = f(X)
        assert torch.equal(got, want)
        assert getattr(here, "seen", 0) == getattr(there, "seen", 0)


# Tensors that are not plain, functions that torch compiled.


def twofold(x):
    return x * 2


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    QUANTIZED = copied(torch.quantize_per_tensor(X, 0.1, 0, torch.quint8))
    torch.nested.nested_tensor([X[0]])
    SCRIPTED = torch.jit.script(seeded(lambda: nn.Linear(4, 4)))
    scripted = torch.jit.script(twofold)
    traced = torch.jit.trace(lambda t: t + 1, X)


@case(X, breaks="B112")
def sparse_tensor_inside(x):
    s = x.to_sparse()
    return s.to_dense() * 2, s.is_sparse, torch.sparse.mm(s, x.T)


@case(X.to_sparse(), breaks="B109")
def sparse_argument(s):
    return s.to_dense() + 1, s._nnz()


@case(X, breaks="B112")
def sparse_csr(x):
    return x.to_sparse_csr().crow_indices(), x + 1


@case(X, breaks="B112")
def quantized_tensor_inside(x):
    q = torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)
    return q.dequantize(), q.int_repr(), q.is_quantized


@case(QUANTIZED, breaks="B109")
def quantized_argument(q):
    return q.dequantize() * 2


@case(X, breaks="B112")
def nested_tensor_inside(x):
    n = torch.nested.nested_tensor([x[0], x[1, :2]])
    return n.to_padded_tensor(0.0), n.is_nested


@case(X, breaks="B112")
def packed_sequence(x):
    packed = nn.utils.rnn.pack_padded_sequence(x[..., None], torch.tensor([4, 2]), batch_first=True)
    out, lengths = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    return packed.data, out, lengths


@case([X[0], X[1, :2]])
def padded_sequence(items):
    return nn.utils.rnn.pad_sequence(items, batch_first=True)


@case(X, breaks="B127")
def scripted_function(x):
    return scripted(x) + 1


@case(X, breaks="B127")
def traced_function(x):
    return traced(x) * 2


@case(X, breaks="B127")
def scripted_module(x):
    return SCRIPTED(x)


@case(X, breaks="B103")
def symbolic_trace_inside(x):
    gm = torch.fx.symbolic_trace(lambda t: t * 2)
    return gm(x)


GRAPH_MODULE = torch.fx.symbolic_trace(seeded(lambda: nn.Sequential(nn.Linear(4, 4), nn.ReLU())))


@case(X)
def graph_module(x):
    return GRAPH_MODULE(x)


@case(X)
def pytree_functions(x):
    from torch.utils import _pytree

    leaves, spec = _pytree.tree_flatten({"a": [x, 1], "b": (x * 2,)})
    return (
        _pytree.tree_unflatten([one * 2 for one in leaves], spec),
        len(leaves),
        _pytree.tree_map(lambda t: t + 1, [x]),
    )


@case(X)
def data_loader_inside(x):
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x), batch_size=1)
    return [batch[0].sum() for batch in loader]


@case(X)
def grad_scaler(x):
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    return scaler.scale(x)


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("one", case.cases, ids=str)
def test_compiled_like_eager(one, backend):
    check_compiled(one, backend)
