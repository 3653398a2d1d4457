"""State of torch: grad modes, autocast, default dtype and device, random numbers, queries."""

import contextlib

import pytest
import torch
import torch.distributed
import torch.nn.functional as F
from torch import nn
from torch.utils._device import set_device

from tests.semantics.harness import Corpus
from tests.semantics.sessions import check_compiled, seeded

case = Corpus()
torch.use_deterministic_algorithms(False)  # loads the modules that it needs
# What torch deprecates is compared as well.
pytestmark = pytest.mark.filterwarnings("ignore")
X = torch.arange(8.0).reshape(2, 4) / 8
W = X.clone().requires_grad_()
with torch.inference_mode():
    INFERRED = X.clone()


# Grad modes.


@case(W)
def no_grad_inside_enable_grad(w):
    with torch.enable_grad(), torch.no_grad():
        a = w * 2
    return a, a.requires_grad, w * 3


@case(W)
def enable_grad_inside_no_grad(w):
    with torch.no_grad():
        with torch.enable_grad():
            a = w * 2
        b = w * 2
    return a, b


@torch.enable_grad()
def with_grad(w):
    return w * 2, torch.is_grad_enabled()


@case(W)
def enable_grad_as_decorator(w):
    with torch.no_grad():
        return with_grad(w), w * 3


@torch.set_grad_enabled(False)
def set_to_false(w):
    return w * 2


@case(W)
def set_grad_enabled_as_decorator(w):
    return set_to_false(w), w * 3


@case(W)
def set_grad_enabled_as_function_stays(w):
    torch.set_grad_enabled(False)
    return w * 2


@case(W)
def no_grad_on_a_lambda(w):
    return torch.no_grad()(lambda t: t * 2)(w)


@case(W)
def no_grad_object_is_entered_twice(w):
    guard = torch.no_grad()
    with guard:
        a = w * 2
    with guard:
        b = w * 3
    return a, b, w * 4


# X-PY06: blocks of inference mode, as a whole in graphs.


@case(W)
def inference_mode_gives_inference_tensors(w):
    with torch.inference_mode():
        y = w * 2
        inside = torch.is_inference_mode_enabled()
    return y, inside, y.requires_grad


@case(W)
def inference_mode_off(w):
    with torch.inference_mode(False):
        return w * 2


@case(W)
def normal_mode_in_inference_mode(w):
    with torch.inference_mode():
        with torch.inference_mode(False):
            y = w.detach() * 2
        z = w * 3
    return y, z, torch.is_grad_enabled()


@torch.inference_mode()
def inferring(w):
    return w * 2


@case(W)
def inference_mode_as_decorator(w):
    y = inferring(w)
    return y, y.sum()


@case(X)
def inference_mode_writes_and_shows_what_was_made_outside(x):
    with torch.inference_mode():
        x.add_(1)
        row, made = x[0], (x * 2)[0]
        row.mul_(2)
    return x, row, made, x + row


@case(X)
def inference_mode_ends_when_an_exception_flies(x):
    try:
        with torch.inference_mode():
            y = x * 2
            raise KeyError(1)
    except KeyError:
        return y, x * 2, torch.is_inference_mode_enabled()


@case(X, breaks="B106")
def print_in_inference_mode(x):
    with torch.inference_mode():
        y = x * 2
        print(x)
        z = y + 1
    return y, z, x * 3, torch.is_inference_mode_enabled()


@case(W)
def query_of_inference_tensors(w):
    with torch.inference_mode():
        y = w * 2
        z = w.T
    made = (y, z, w, y.T, y.T * 2, INFERRED, INFERRED.T, INFERRED[0].view(-1, 1), INFERRED + 1)
    return [one.is_inference() for one in made], torch.is_inference(y)


@case(W, breaks="B112")
def inference_tensors_outside_of_their_mode(w):
    x, errors = INFERRED, []
    for change in (lambda: x.T.add_(1), lambda: x * w):
        try:
            change()
        except RuntimeError as error:
            errors.append(str(error))
    return errors, (x.T * 0).is_inference()


@case(W)
def grad_mode_object_by_hand(w):
    mode = torch.no_grad()
    mode.__enter__()
    y = w * 2
    mode.__exit__(None, None, None)
    return y, w * 3


@contextlib.contextmanager
def quiet(flag):
    with torch.set_grad_enabled(not flag):
        yield flag


@case(W)
def grad_mode_in_a_generator_context(w):
    with quiet(True) as flag:
        y = w * 2
    return y, flag, w * 3


@case(W)
def returns_out_of_no_grad(w):
    with torch.no_grad():
        return w * 2


@case(W)
def loop_with_no_grad(w):
    total = w
    for i in range(3):
        with torch.set_grad_enabled(i == 1):
            total = total + w * i
    return total


@case(W)
def detect_anomaly_is_off(w):
    return torch.is_anomaly_enabled(), w * 2


# Autocast.


@case(X)
def autocast_keeps_pointwise_operations(x):
    with torch.autocast("cpu"):
        a = x @ x.T
        b = a + x.sum()
    return a.dtype, b.dtype, F.linear(x, x)


@torch.autocast("cpu", dtype=torch.bfloat16)
def casted(x):
    return x @ x.T


@case(X)
def autocast_as_decorator(x):
    return casted(x), x @ x.T


@case(nn.Linear(4, 4), X)
def autocast_around_a_module(m, x):
    with torch.amp.autocast(device_type="cpu", dtype=torch.bfloat16):
        return m(x), torch.get_autocast_dtype("cpu"), torch.is_autocast_enabled("cpu")


@case(X)
def autocast_without_cache(x):
    with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
        return x @ x.T, torch.is_autocast_cache_enabled()


@case(X)
def autocast_with_an_exception(x):
    try:
        with torch.autocast("cpu"):
            raise ValueError
    except ValueError:
        return x @ x.T


# Default dtype and device.


@case(X, breaks="B102")
def default_dtype_is_set_and_restored(x):
    torch.set_default_dtype(torch.float64)
    a = torch.ones(2)
    torch.set_default_dtype(torch.float32)
    return a, torch.ones(2), x.sum()


@case(X, breaks="B102")
def default_dtype_stays(x):
    torch.set_default_dtype(torch.float64)
    return torch.ones(2), torch.tensor(1.5), x + 1


@case(X, breaks="B102")
def default_device_is_set_and_restored(x):
    torch.set_default_device("meta")
    a = torch.ones(2)
    torch.set_default_device(None)
    return a.device, torch.ones(2), x


@case(X)
def meta_device_as_a_context(x):
    with torch.device("meta"):
        a = torch.ones(2)
        b = torch.tensor([1.0])
        c = torch.zeros(2, device="cpu")
        d = torch.ones_like(x)
        e = torch.arange(3)
    return a, b, c, d, e, torch.ones(2)


@case(X)
def device_contexts_nest(x):
    with torch.device("meta"):
        with torch.device("cpu"):
            a = torch.ones(2)
        b = torch.ones(2)
    return a, b, x + a.sum()


@case(X)
def device_context_reaches_called_functions(x):
    def make():
        return torch.empty(3), nn.Linear(4, 4)

    with torch.device("meta"):
        a, layer = make()
    return a, layer.weight.device, x


@case(X)
def device_context_and_get_default_device(x):
    with torch.device("meta"):
        inside = torch.get_default_device()
    return inside, torch.get_default_device(), x


@case(X)
def device_context_with_an_exception(x):
    try:
        with torch.device("meta"):
            raise ValueError
    except ValueError:
        return torch.ones(2) + x.sum()


@set_device("meta")
def made_on_meta():
    return torch.ones(3)


@case(X)
def device_as_decorator(x):
    return made_on_meta(), x


@case(X)
def device_context_is_bound(x):
    with torch.device("cpu") as device:
        return torch.ones(2, device=device), device.type


# Random numbers.


@case(X)
def generator_state_advances_as_in_eager(x):
    a = torch.rand(3)
    b = x * 2
    c = torch.randn(2)
    return a, b, c


@case(X)
def unused_random_numbers_are_drawn(x):
    torch.rand(5)
    F.dropout(x, 0.5)
    return torch.rand(2)


@case(X, breaks="B122 B103")
def manual_seed_inside(x):
    torch.manual_seed(7)
    a = torch.rand(3)
    torch.manual_seed(7)
    return a, torch.rand(3), x


@case(X, breaks="B122")
def seed_functions(x):
    return torch.initial_seed(), x


@case(X, breaks="B102")
def generator_argument(x):
    g = torch.Generator().manual_seed(3)
    return torch.rand(3, generator=g), torch.randn(2, generator=g), torch.rand(2), x


GENERATOR = torch.Generator()


@case(X, breaks="B102")
def global_generator_object(x):
    GENERATOR.manual_seed(5)
    return torch.rand(2, generator=GENERATOR), x.clone().normal_(generator=GENERATOR)


@case(X, breaks="B122")
def random_state_is_saved_and_restored(x):
    state = torch.get_rng_state()
    a = torch.rand(2)
    torch.set_rng_state(state)
    return a, torch.rand(2), x


@case(X, breaks="B122")
def fork_rng(x):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        a = torch.rand(2)
    return a, torch.rand(2), x


@case(X)
def random_functions(x):
    return (
        torch.randint(10, (3,)),
        torch.randperm(5),
        torch.normal(0.0, 1.0, (2,)),
        torch.bernoulli(x.clamp(0, 1)),
        torch.rand_like(x),
        torch.randint_like(x, 5),
        torch.multinomial(torch.ones(4), 2),
        torch.poisson(x),
    )


@case(X)
def random_methods_in_place(x):
    return (
        x.clone().uniform_(0, 2),
        x.clone().normal_(),
        x.clone().bernoulli_(0.5),
        x.clone().random_(0, 9),
        x.clone().exponential_(),
        x.clone().geometric_(0.5),
        x.clone().cauchy_(),
        x.clone().log_normal_(),
    )


@case(X)
def dropout_functions(x):
    return (
        F.dropout(x),
        F.alpha_dropout(x, 0.5, training=True),
        F.dropout1d(x, 0.5),
        F.feature_alpha_dropout(x, 0.5, training=True),
        F.rrelu(x - 0.5, training=True),
    )


@case(X)
def gumbel_softmax(x):
    return F.gumbel_softmax(x, tau=1, hard=True), F.gumbel_softmax(x)


@case(W)
def random_numbers_and_gradients(w):
    return F.dropout(w, 0.5) * torch.rand_like(w)


@case(X)
def random_numbers_in_a_loop_and_branch(x):
    out = []
    for i in range(4):
        if i % 2:
            out.append(torch.rand(1))
        else:
            x = x + torch.rand(())
    return out, x


@case(X)
def random_numbers_around_a_break(x):
    a = torch.rand(2)
    print("between", tuple(a.shape))
    return a, torch.rand(2), x


# Distributions.


@case(X)
def distribution_made_inside(x):
    normal = torch.distributions.Normal(x, torch.ones(4))
    return normal.log_prob(x + 1), normal.mean


@case(X)
def distribution_is_sampled(x):
    normal = torch.distributions.Normal(x, 1.0, validate_args=False)
    return normal.sample(), normal.rsample()


@case(X)
def categorical_distribution(x):
    d = torch.distributions.Categorical(logits=x, validate_args=True)
    return d.sample(), d.entropy()


# Queries.


@case(X)
def scripting_and_tracing_queries(x):
    return torch.jit.is_scripting(), torch.jit.is_tracing(), torch._C._get_tracing_state(), x


@case(X)
def distributed_queries(x):
    is_available = torch.distributed.is_available()
    if is_available and torch.distributed.is_initialized():
        x = x + 1
    return x * 2, is_available


@case(X)
def backend_queries(x):
    return torch.cuda.is_available(), torch.backends.mps.is_available(), torch.backends.mkldnn.enabled, x


@case(
    X, breaks="B121" if torch.version.cuda else None
)  # a build with CUDA loads the driver's library by ctypes
def cuda_device_count(x):
    return x + torch.cuda.device_count(), torch.version.cuda, torch.__version__ >= "2"


@case(X)
def threads_and_flags(x):
    return torch.get_num_threads() > 0, torch.are_deterministic_algorithms_enabled(), x


@case(X)
def compiler_queries_differ_not(x):
    return x * 2 if torch.compiler.is_exporting() else x * 3


@case(X)
def dtype_queries(x):
    return torch.finfo(x.dtype).eps, torch.finfo().max, torch.iinfo(torch.int32).bits, x.dtype.to_complex()


@case(X)
def result_type_and_promotion(x):
    return (
        torch.result_type(x, 1),
        torch.promote_types(torch.int32, torch.float16),
        torch.can_cast(x.dtype, torch.int32),
    )


@case(X, breaks="B102")
def backend_flags_are_read(x):
    return torch.backends.cudnn.benchmark, torch.backends.cuda.matmul.allow_tf32, x


@case(X, breaks="B108")
def attention_backend_context(x):
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        q = x[None, None]
        return F.scaled_dot_product_attention(q, q, q)


@case(X, breaks="B115")
def deterministic_algorithms_are_switched(x):
    torch.use_deterministic_algorithms(True)
    flag = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(False)
    return flag, x


@case(X)
def profiler_record_function(x):
    with torch.profiler.record_function("part"):
        y = x * 2
    return y


@case(X, breaks="B102")
def set_num_threads_inside(x):
    before = torch.get_num_threads()
    torch.set_num_threads(before)
    return torch.get_num_threads() == before, x


@pytest.mark.parametrize("outer", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_modes_of_the_caller_are_part_of_the_guards(outer):
    import supple

    compiled = supple.compile(lambda w: w * 2, backend="eager")
    w = W.clone().detach().requires_grad_()
    assert compiled(w).requires_grad
    with outer():
        assert compiled(w).requires_grad == torch.is_grad_enabled()
        assert compiled(w).is_inference() == torch.is_inference_mode_enabled()
    assert compiled(w).requires_grad


def test_device_contexts_of_the_caller_are_part_of_the_guards():
    import supple

    def f(x):
        return torch.ones(2), x + 1

    compiled = supple.compile(f, backend="eager")
    for device in ("meta", "cpu", "meta"):
        with torch.device(device):
            assert compiled(X)[0].device.type == device
        assert compiled(X)[0].device.type == "cpu"
        torch.set_default_device(device)
        try:
            assert compiled(X)[0].device.type == device
        finally:
            torch.set_default_device(None)


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("one", case.cases, ids=str)
def test_compiled_like_eager(one, backend):
    check_compiled(one, backend)
