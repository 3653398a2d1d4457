"""nn.Module in full: hooks, state that changes, containers, shared and replaced parts, parametrisations."""

import copy
import warnings

import pytest
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, parametrizations, parametrize, vector_to_parameters

from tests.semantics.harness import Corpus
from tests.semantics.sessions import check_compiled, copied, seeded

case = Corpus()
# What torch deprecates is compared as well.
pytestmark = pytest.mark.filterwarnings("ignore")
X = torch.arange(8.0).reshape(2, 4) / 8
W = X.clone().requires_grad_()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)
        self.register_buffer("count", torch.zeros(()))
        self.calls = 0
        self.log = []

    def forward(self, x, scale=1.0):
        return self.second(torch.relu(self.first(x))) * scale


def net():
    return seeded(Net)


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


# Shared and functional parameters.


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(self.embed(ids))


@case(seeded(Tied), torch.tensor([[0, 3], [4, 1]]))
def shared_parameter(m, ids):
    return m(ids), m.head.weight is m.embed.weight, len(list(m.parameters()))


@case(seeded(Tied), torch.tensor([0, 3]))
def shared_parameter_is_written(m, ids):
    with torch.no_grad():
        m.head.weight.add_(1)
    return m(ids)


def shared_layer():
    layer = nn.Linear(4, 4)
    return nn.Sequential(layer, nn.ReLU(), layer)


@case(seeded(shared_layer), W)
def shared_module(m, x):
    return m(x)


@case(net(), X)
def functional_call_with_other_parameters(m, x):
    parameters = {name: p * 2 for name, p in m.named_parameters()}
    return torch.func.functional_call(m, parameters, (x,)), m(x)


@case(net(), X)
def functional_call_with_keywords(m, x):
    return torch.func.functional_call(m, {"first.bias": torch.ones(4)}, (x,), {"scale": 3.0})


@case(copied(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))), W)
def functional_call_with_buffers(m, x):
    state = {"1.running_mean": torch.ones(4), "0.weight": torch.eye(4)}
    return torch.func.functional_call(m, state, x), state, m[1].num_batches_tracked


@case(net(), X, breaks="B112")
def functional_call_that_raises_puts_parameters_back(m, x):
    try:
        torch.func.functional_call(m, {"first.bias": torch.ones(4)}, (x[:, :3],))
    except RuntimeError:
        pass
    return m(x)


@case(seeded(Tied), torch.tensor([0, 3]))
def functional_call_of_tied_weights(m, ids):
    return torch.func.functional_call(m, {"embed.weight": torch.ones(5, 4)}, (ids,)), m(ids)


@case(net(), X)
def parameters_as_a_vector(m, x):
    vector = parameters_to_vector(m.parameters())
    return vector.shape, vector.sum(), m(x)


@case(net(), X, breaks="B107")
def vector_into_parameters(m, x):
    vector_to_parameters(torch.ones(40), m.parameters())
    return m(x)


@case(net(), X)
def soft_update_of_parameters(m, x):
    with torch.no_grad():
        for a, b in zip(m.first.parameters(), m.second.parameters(), strict=True):
            a.lerp_(b, 0.5)
    return m(x)


@case(net(), X, breaks="B107")
def parameter_data_is_written(m, x):
    m.first.weight.data = torch.ones(4, 4)
    m.second.weight.data.mul_(2)
    m.second.bias.data[0] = 5
    return m(x)


@case(net(), X, breaks="B102")
def deep_copy_of_a_module(m, x):
    other = copy.deepcopy(m)
    with torch.no_grad():
        other.first.weight.zero_()
    return other(x), m(x)


# Modules made inside.


@case(X)
def module_made_inside(x):
    layer = nn.Linear(4, 3)
    return layer(x)


@case(X)
def activation_made_inside(x):
    return nn.ReLU()(x), nn.Sequential(nn.Tanh(), nn.GELU())(x), nn.Softmax(dim=-1)(x)


@case(X)
def made_module_leaves(x):
    m = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    return m, m(x)


@case(X)
def loss_module_made_inside(x):
    return nn.CrossEntropyLoss()(x, torch.tensor([0, 1])), nn.MSELoss(reduction="sum")(x, x + 1)


@case(X)
def parameter_made_inside(x):
    p = nn.Parameter(torch.ones(4))
    y = x * p
    return y, p, p.requires_grad, type(p) is nn.Parameter


@case(X)
def buffer_made_inside(x):
    b = nn.Buffer(torch.ones(4))
    return x * b, isinstance(b, nn.Buffer)


# Parametrisations.

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    OLD_WEIGHT_NORM = seeded(lambda: nn.utils.weight_norm(nn.Linear(4, 4)))


class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).mT


def parametrized():
    m = nn.Linear(4, 4)
    parametrize.register_parametrization(m, "weight", Symmetric())
    return m


@case(seeded(parametrized), W)
def parametrized_weight(m, x):
    return m(x), m.weight


@case(seeded(parametrized), W, breaks="B110")
def parametrized_weight_cached(m, x):
    with parametrize.cached():
        return m(x) + m(x)


@case(seeded(parametrized), X)
def parametrization_queries(m, x):
    return parametrize.is_parametrized(m, "weight"), m(x)


@case(seeded(parametrized), X)
def parametrized_weight_is_assigned(m, x):
    m.weight = torch.ones(4, 4)
    return m(x)


@case(copied(seeded(lambda: parametrizations.weight_norm(nn.Linear(4, 4)))), W)
def weight_norm(m, x):
    return m(x)


@case(seeded(lambda: parametrizations.spectral_norm(nn.Linear(4, 4))), W)
def spectral_norm_updates_its_vectors(m, x):
    return m(x)


@case(seeded(lambda: parametrizations.spectral_norm(nn.Linear(4, 4)).eval()), W)
def spectral_norm_in_eval(m, x):
    return m(x)


@case(seeded(lambda: parametrizations.orthogonal(nn.Linear(4, 4))), X)
def orthogonal_parametrization(m, x):
    return m(x)


@case(W)
def old_weight_norm_by_hook(x):
    return OLD_WEIGHT_NORM(x)


@case(copied(seeded(lambda: nn.utils.spectral_norm(nn.Linear(4, 4)))), W)
def old_spectral_norm_by_hook(m, x):
    return m(x)


@case(X, breaks="B102")
def parametrization_registered_inside(x):
    m = nn.Linear(4, 4)
    parametrize.register_parametrization(m, "weight", Symmetric())
    return m(x)


@case(copied(nn.LSTM(4, 3, batch_first=True)), X[None])
def lstm(m, x):
    out, (h, c) = m(x)
    return out, h, c


@case(nn.GRUCell(4, 3), X)
def gru_cell_in_a_loop(m, x):
    h = torch.zeros(2, 3)
    for _ in range(3):
        h = m(x, h)
    return h


@case(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), X[None])
def transformer_layer(m, x):
    return m(x)


@case(X, breaks="B102")
def lazy_module(x):
    return nn.LazyLinear(3)(x)


@case(nn.BatchNorm1d(4), X)
def batch_norm_several_calls(m, x):
    return m(x), m(x + 1), m.num_batches_tracked


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("one", case.cases, ids=str)
def test_compiled_like_eager(one, backend):
    check_compiled(one, backend)
