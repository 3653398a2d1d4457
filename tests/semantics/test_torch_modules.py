"""nn.Module: hooks, state that changes, introspection, containers."""

import pytest
import torch
from torch import nn

import supple
from tests.semantics.harness import Corpus
from tests.semantics.nets import net
from tests.semantics.sessions import check_compiled, copied

case = Corpus()
# What torch deprecates is compared as well.
pytestmark = pytest.mark.filterwarnings("ignore")
X = torch.arange(8.0).reshape(2, 4) / 8
W = X.clone().requires_grad_()


def with_hooks(*add):
    made = net()
    for one in add:
        one(made)
    return copied(made)


# Hooks.


@case(
    with_hooks(
        lambda m: m.register_forward_pre_hook(lambda m, a, k: ((a[0] + 1,), {"scale": 3.0}), with_kwargs=True)
    ),
    X,
)
def pre_hook_changes_keyword_arguments(m, x):
    return m(x, scale=2.0)


@case(with_hooks(lambda m: m.register_forward_pre_hook(lambda m, a: a[0] * 2)), X)
def pre_hook_may_return_a_single_value(m, x):
    return m(x)


@case(with_hooks(lambda m: m.register_forward_hook(lambda m, a, k, o: o * k["scale"], with_kwargs=True)), X)
def forward_hook_reads_keyword_arguments(m, x):
    return m(x, scale=2.0)


def remember(m, args, out):
    m.last = out
    m.log.append(len(args))


@case(with_hooks(lambda m: m.register_forward_hook(remember)), X)
def hook_keeps_the_output(m, x):
    y = m(x)
    return y is m.last, m.log


def first_hook(m, args, out):
    return out + 1


def second_hook(m, args, out):
    return out * 2


@case(
    with_hooks(lambda m: m.register_forward_hook(first_hook), lambda m: m.register_forward_hook(second_hook)),
    X,
)
def hooks_run_in_order(m, x):
    return m(x)


@case(
    with_hooks(
        lambda m: m.register_forward_hook(first_hook),
        lambda m: m.register_forward_hook(second_hook, prepend=True),
    ),
    X,
)
def prepended_hook_runs_first(m, x):
    return m(x)


@case(with_hooks(lambda m: m.register_forward_hook(first_hook, always_call=True)), X)
def hook_that_is_always_called(m, x):
    return m(x)


@case(net(), X, breaks="B102")
def hook_registered_and_removed_inside(m, x):
    handle = m.first.register_forward_hook(second_hook)
    a = m(x)
    handle.remove()
    return a, m(x)


@case(net(), X, breaks="B102")
def hook_registered_inside_stays(m, x):
    if not m.first._forward_hooks:
        m.first.register_forward_hook(first_hook)
    return m(x), len(m.first._forward_hooks)


@case(with_hooks(lambda m: m.register_full_backward_hook(lambda m, i, o: (i[0] * 2,))), W, breaks="B107")
def full_backward_hook_changes_the_gradient(m, x):
    return m(x)


@case(
    with_hooks(lambda m: m.first.register_full_backward_pre_hook(lambda m, o: (o[0] * 3,))), W, breaks="B107"
)
def backward_pre_hook_of_a_submodule(m, x):
    return m(x)


@case(with_hooks(lambda m: m.second.weight.register_hook(lambda g: g * 2)), W)
def hook_on_a_parameter(m, x):
    return m(x)


@case(W, breaks="B129")
def hook_on_a_result(x):
    y = x * 2
    y.register_hook(lambda g: g * 10)
    return y.sin()


@case(W, breaks="B129")
def hook_on_an_argument(x):
    handle = x.register_hook(lambda g: g * 10)
    y = x * 2
    handle.remove()
    return y


# State that changes.


class Averaging(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("step", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        if self.training:
            self.mean.mul_(0.9).add_(x.detach().mean(0), alpha=0.1)
            self.step += 1
        return x - self.mean


@case(Averaging(), X, changed=((Averaging().eval(), X),))
def running_average_in_a_buffer(m, x):
    return m(x)


@case(Averaging(), X)
def buffer_is_replaced(m, x):
    m.mean = m.mean + 1
    return m(x), m.mean


@case(Averaging(), X)
def buffer_is_registered_inside(m, x):
    m.register_buffer("extra", x.sum(0), persistent=False)
    return m(x) + m.extra, sorted(m._non_persistent_buffers_set)


@case(Averaging(), X)
def buffer_is_deleted(m, x):
    y = m(x)
    kept = m.mean
    del m.mean
    m.register_buffer("mean", kept)
    return y, list(m._buffers)


@case(Averaging(), X)
def buffer_is_set_to_none_and_back(m, x):
    kept = m.mean
    m.mean = None
    is_none = m.mean is None
    m.mean = kept
    return m(x), is_none


@case(net(), X)
def attributes_set_in_forward(m, x):
    m.calls += 1
    m.hidden = x * m.calls
    m.shape = tuple(x.shape)
    return m.hidden, m.calls, m.shape


@case(net(), X)
def tensor_attribute_is_kept_from_call_to_call(m, x):
    previous = getattr(m, "previous", None)
    m.previous = x.detach() * 2 if previous is None else previous + 1
    return m.previous


@case(net(), X)
def list_attribute_grows(m, x):
    m.log.append(x.sum())
    return len(m.log), m.log[-1]


@case(net(), X)
def parameter_is_replaced_by_a_new_one(m, x):
    m.first.weight = nn.Parameter(torch.ones(4, 4))
    return m(x), m.first.weight.is_leaf


@case(net(), X)
def parameter_is_registered_inside(m, x):
    m.register_parameter("gain", nn.Parameter(torch.full((4,), 2.0)))
    return m(x) * m.gain, [name for name, _ in m.named_parameters()]


@case(net(), X)
def module_is_added_inside(m, x):
    m.add_module("third", nn.Identity())
    return m.third(m(x)), len(list(m.children()))


@case(net(), X)
def module_is_replaced(m, x):
    m.second = m.first
    return m(x), m.second is m.first


@case(net(), X)
def setting_a_parameter_to_a_tensor_raises(m, x):
    try:
        m.first.weight = x
    except TypeError as error:
        return str(error)[:30]
    return None


@case(net(), X)
def missing_attribute_raises(m, x):
    try:
        return m.nothing
    except AttributeError as error:
        return str(error)


@case(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)), X)
def train_and_eval_switches(m, x):
    m.eval()
    a = m(x)
    m.train()
    b = m(x)
    m[1].train(False)
    return a, b, m(x), m.training, m[1].training


@case(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), X)
def eval_for_one_call(m, x):
    was = m.training
    m.train(False)
    try:
        return m(x)
    finally:
        m.train(was)


@case(net(), X)
def requires_grad_of_a_module_is_switched(m, x):
    m.requires_grad_(False)
    a = m(x)
    m.requires_grad_(True)
    return a, m(x), a.requires_grad


@case(net(), X)
def parameter_requires_grad_is_written(m, x):
    m.first.weight.requires_grad = False
    a = m(x)
    m.first.weight.requires_grad = True
    return a


@case(net(), X, breaks="B105")
def module_moves_its_dtype(m, x):
    m.double()
    y = m(x.double())
    m.float()
    return y, m(x)


@case(net(), X)
def module_apply(m, x):
    seen = []
    m.apply(lambda one: seen.append(type(one).__name__))
    return m(x), seen


@case(net(), X)
def init_functions(m, x):
    nn.init.constant_(m.first.weight, 0.5)
    nn.init.zeros_(m.first.bias)
    nn.init.normal_(m.second.weight)
    nn.init.xavier_uniform_(m.second.weight)
    return m(x)


@case(net(), X)
def reset_parameters(m, x):
    m.first.reset_parameters()
    return m(x)


# Introspection.


@case(net(), X, breaks="B107")
def state_dict_inside(m, x):
    state = m.state_dict()
    return list(state), state["first.weight"].sum(), m(x)


@case(net(), X, breaks="B107")
def load_state_dict_inside(m, x):
    state = {name: value * 2 for name, value in m.state_dict().items()}
    result = m.load_state_dict(state)
    return m(x), list(result.missing_keys)


@case(net(), X)
def named_members(m, x):
    return (
        [name for name, _ in m.named_buffers()],
        [name for name, _ in m.named_children()],
        [name for name, _ in m.named_parameters(recurse=False)],
        sum(p.numel() for p in m.parameters()),
        x,
    )


@case(net(), X)
def get_submodule_and_parameter(m, x):
    return m.get_submodule("first")(x), m.get_parameter("second.bias"), m.get_buffer("count")


@case(net(), X)
def attribute_queries(m, x):
    return hasattr(m, "first"), hasattr(m, "nothing"), getattr(m, "nothing", 3), "first" in m._modules, x


@case(net(), X)
def module_dict_is_read(m, x):
    return sorted(m.__dict__["_modules"]), m.__dict__["training"], x + 1


@case(net())
def module_text(m):
    return repr(m.first), m._get_name(), m.first.extra_repr()


@case(net(), X)
def bound_methods_and_partial_application(m, x):
    call = m.forward
    return call(x), [layer(x) for layer in (m.first, m.second)], nn.Module.__call__(m, x)


@case(net(), X)
def zero_grad_inside(m, x):
    m.zero_grad()
    return m(x), m.first.weight.grad


# Containers.


@case(nn.ModuleList([nn.Linear(4, 4) for _ in range(3)]), X)
def module_list(m, x):
    for layer in m[:2]:
        x = layer(x)
    return m[-1](x), len(m), m[0] in list(m), [i for i, _ in enumerate(m)]


@case(nn.ModuleList([nn.Linear(4, 4)]), X)
def module_list_changes(m, x):
    m.append(nn.ReLU())
    m.insert(0, nn.Identity())
    m.extend([nn.Tanh()])
    for layer in m:
        x = layer(x)
    return x, len(m)


@case(nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.ReLU()}), X)
def module_dict(m, x):
    for name in ("a", "b"):
        x = m[name](x)
    return x, "a" in m, list(m.keys()), [type(v).__name__ for v in m.values()], len(m)


@case(nn.ModuleDict({"a": nn.Linear(4, 4)}), X)
def module_dict_changes(m, x):
    m["c"] = nn.ReLU()
    m.update({"d": nn.Tanh()})
    popped = m.pop("d")
    return m["c"](m["a"](x)), list(m), type(popped).__name__


@case(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)), X)
def sequential_slices(m, x):
    return m[:2](x), m[-1](m[:-1](x)), len(m), [type(one).__name__ for one in m]


@case(nn.ParameterList([nn.Parameter(torch.ones(4)), nn.Parameter(torch.zeros(4))]), X)
def parameter_list(m, x):
    for p in m:
        x = x + p
    return x, len(m), m[0] * 2, m[-1]


@case(nn.ParameterDict({"w": nn.Parameter(torch.ones(4)), "b": nn.Parameter(torch.zeros(4))}), X)
def parameter_dict(m, x):
    return x * m["w"] + m["b"], list(m.keys()), "w" in m, sum(v.sum() for v in m.values())


@case(nn.ParameterDict({"w": nn.Parameter(torch.ones(4))}), X)
def parameter_dict_changes(m, x):
    m["v"] = torch.full((4,), 2.0)
    return x * m["v"], list(m), isinstance(m["v"], nn.Parameter)


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("one", case.cases, ids=str)
def test_compiled_like_eager(one, backend):
    check_compiled(one, backend)


class Called(nn.Module):
    def __call__(self, x, more=1000):
        return super().__call__(x) + more

    def forward(self, x):
        return x * 2


class Row(nn.Sequential):
    def __call__(self, x, factor=3):
        return super().__call__(x) * factor


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_a_compiled_module_is_called_as_its_class_says(backend):
    class Plain(nn.Module):
        def forward(self, x):
            return x * 2

    x = torch.ones(2)
    for module in (Called(), Row(Plain(), Called())):
        compiled = supple.compile(module, backend=backend)
        for arguments in ((x,), (x, 5), (x,)):
            assert torch.equal(compiled(*arguments), module(*arguments))
    module = Plain()
    compiled = supple.compile(module, backend=backend)
    assert torch.equal(compiled(x), x * 2)
    Plain.__call__ = lambda self, x: self.forward(x) + 7
    assert torch.equal(compiled(x), module(x))
    del Plain.__call__
    assert torch.equal(compiled(x), x * 2)
