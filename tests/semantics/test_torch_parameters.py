"""Parameters that are shared, replaced or computed, and modules that a function makes."""

import copy
import warnings

import pytest
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, parametrizations, parametrize, vector_to_parameters

from tests.semantics.harness import Corpus
from tests.semantics.nets import net
from tests.semantics.sessions import check_compiled, copied, seeded

case = Corpus()
# What torch deprecates is compared as well.
pytestmark = pytest.mark.filterwarnings("ignore")
X = torch.arange(8.0).reshape(2, 4) / 8
W = X.clone().requires_grad_()


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
