"""Gradients inside and through captured code, custom functions, checkpoints, optimisers."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from tests.semantics.harness import Corpus
from tests.semantics.sessions import check_compiled, copied, seeded

case = Corpus()
# What torch deprecates is compared as well.
pytestmark = pytest.mark.filterwarnings("ignore")
X = torch.arange(8.0).reshape(2, 4) / 8
W = X.clone().requires_grad_()
P = nn.Parameter(torch.ones(4))


def layer():
    return seeded(lambda: nn.Linear(4, 4))


# backward and grad.


@case(layer(), X, breaks="B129")
def backward_inside(m, x):
    loss = m(x).pow(2).sum()
    loss.backward()
    return loss.detach(), m.weight.grad


@case(W, breaks="B129")
def backward_with_a_gradient(w):
    y = w * 2
    y.backward(torch.full_like(w, 3.0))
    return w.grad


@case(W, breaks="B129")
def backward_twice_accumulates(w):
    (w * 2).sum().backward()
    (w * 3).sum().backward()
    return w.grad * 2


@case(W, breaks="B129")
def backward_that_keeps_the_graph(w):
    y = (w**2).sum()
    y.backward(retain_graph=True)
    y.backward()
    return w.grad


@case(W, breaks="B129")
def backward_of_several(w):
    torch.autograd.backward([w.sum(), (w * 2).sum()])
    return w.grad


@case(W, breaks="B129")
def grad_of_a_function(w):
    (g,) = torch.autograd.grad((w**3).sum(), w)
    return g * 2


@case(W, breaks="B129")
def grad_of_a_gradient(w):
    (g,) = torch.autograd.grad((w**3).sum(), w, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), w)
    return g, h


@case(W, breaks="B129")
def grad_that_is_unused(w):
    x = torch.ones(2, requires_grad=True)
    return torch.autograd.grad(w.sin().sum(), [w, x], allow_unused=True)


@case(W, breaks="B129")
def gradient_penalty(w):
    with torch.enable_grad():
        y = w.sin().sum()
        (g,) = torch.autograd.grad(y, w, create_graph=True)
    return (g.norm() - 1) ** 2


@case(X, breaks="B129")
def leaf_made_inside_and_backward(x):
    w = x.clone().requires_grad_()
    (w * 2).sin().sum().backward()
    return w.grad


@case(W, breaks="B129")
def retain_grad(w):
    y = w * 2
    y.retain_grad()
    y.sum().backward()
    return y.grad, w.grad


@case(layer(), X, breaks="B129")
def gradient_accumulation_hook(m, x):
    seen = []
    handle = m.weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.sum()))
    m(x).sum().backward()
    handle.remove()
    return seen


@case(W)
def detached_branch_gets_no_gradient(w):
    return w * w.detach() + (w * 2).detach()


@case(W)
def straight_through(w):
    return w + (w.round() - w).detach()


@case(W)
def stop_gradient_in_a_condition(w):
    with torch.no_grad():
        mask = (w > 0.3).float()
    return w * mask


@case(W, W)
def one_leaf_twice(a, b):
    return a * b


@case(W)
def leaf_is_returned(w):
    return w, w.view(-1), w * 1


@case(W, breaks="B102")
def saved_tensor_hooks(w):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
        return (w * w).sin()


@case(W, breaks="B102")
def save_on_cpu(w):
    with torch.autograd.graph.save_on_cpu():
        return w.exp()


# autograd.Function.


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 5 * x


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor, flag=True):
        ctx.factor = factor
        ctx.flag = flag
        return x * factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor * 3, None, None


class WithContext(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x * y, x + y

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y = inputs
        ctx.save_for_backward(x, y)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, g, _):
        x, y = ctx.saved_tensors
        return g * y * 7, g * x


class InPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.needs = ctx.needs_input_grad
        return x.sin()

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        return g * 4


@case(W)
def custom_function(w):
    return Double.apply(w).sin()


@case(X)
def custom_function_without_gradient(x):
    return Double.apply(x)


@case(W)
def custom_function_with_numbers(w):
    return Scaled.apply(w, 3.0) + Scaled.apply(w, 2, False)


@case(W, X)
def custom_function_with_setup_context(w, x):
    a, b = WithContext.apply(w, x)
    return a, b, b.requires_grad


@case(W)
def custom_function_in_place(w):
    y = w.clone()
    return InPlace.apply(y), y


@case(W)
def custom_function_once_differentiable(w):
    return Once.apply(w)


@case(W)
def custom_function_under_no_grad(w):
    with torch.no_grad():
        return Double.apply(w)


@case(W, breaks="B129")
def custom_function_with_backward_inside(w):
    Double.apply(w).sum().backward()
    return w.grad


def double(x):
    return Double.apply(x)


@case(W)
def custom_function_behind_a_function(w):
    return [double(w * i) for i in range(3)]


class Talking(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        print("forward", tuple(x.shape))
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 3


SEEN = []


class Noting(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        SEEN.append(len(SEEN))
        return g * 3


@case(W, breaks="B102")
def custom_function_that_prints(w):
    return Talking.apply(w) + 1


@case(W, breaks="B129")
def custom_function_whose_backward_has_effects(w):
    SEEN.clear()
    Noting.apply(w).sum().backward()
    return w.grad, list(SEEN)


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return -g


@case(W)
def custom_function_that_returns_its_input(w):
    y = Same.apply(w)
    return y is w, y * 2


@case(X)
def custom_function_that_returns_its_input_without_gradient(x):
    y = Same.apply(x)
    return y is x, y


FACTOR = 2.0


class ByGlobal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * FACTOR

    @staticmethod
    def backward(ctx, g):
        return g * FACTOR


def test_globals_that_a_custom_function_reads_are_guarded():
    import supple

    global FACTOR
    compiled = supple.compile(lambda x: ByGlobal.apply(x) + 1)
    for FACTOR in (2.0, 3.0, 4.0):
        w = W.detach().clone().requires_grad_()
        compiled(w).sum().backward()
        assert torch.equal(w.grad, torch.full_like(w, FACTOR))
        assert torch.equal(compiled(X), X * FACTOR + 1)
    FACTOR = 2.0


class Counted(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        print("set", key)


@case(Counted(), X)
def overridden_method_of_a_builtin_base(d, x):
    d["a"] = x
    return d["a"] + 1


# Checkpoints.


@case(layer(), W)
def checkpointed(m, x):
    return checkpoint(m, x, use_reentrant=False)


@case(layer(), W)
def checkpointed_function_with_keywords(m, x):
    def body(x, scale=1.0):
        return m(x).relu() * scale

    return checkpoint(body, x, use_reentrant=False, scale=2.0)


@case(W)
def checkpointed_dropout(x):
    return checkpoint(lambda t: F.dropout(t, 0.5).sin(), x, use_reentrant=False)


@case(layer(), W, breaks="B103")
def checkpoint_that_is_reentrant(m, x):
    return checkpoint(m, x, use_reentrant=True)


@case(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)), W)
def checkpoint_of_a_sequence(m, x):
    return checkpoint_sequential(m, 2, x, use_reentrant=False)


# Optimisers.


def trained(make):
    m = layer()
    return copied((m, make(m.parameters())))


def train(m, optimizer, x):
    optimizer.zero_grad()
    loss = F.mse_loss(m(x), x)
    loss.backward()
    optimizer.step()
    return loss.detach()


@case(*trained(lambda p: torch.optim.SGD(p, lr=0.1)), X, breaks="B129")
def sgd_step(m, optimizer, x):
    return train(m, optimizer, x)


@case(
    *trained(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1)),
    X,
    breaks="B129",
)
def sgd_with_momentum(m, optimizer, x):
    return train(m, optimizer, x)


# While it is compiled, torch computes what steps share in tensors, else in numbers of Python.
@case(*trained(lambda p: torch.optim.Adam(p, lr=0.1)), X, breaks="B129", is_rounded=True)
def adam_step(m, optimizer, x):
    return train(m, optimizer, x)


@case(*trained(lambda p: torch.optim.AdamW(p, lr=0.1, foreach=True)), X, breaks="B129", is_rounded=True)
def adamw_step(m, optimizer, x):
    return train(m, optimizer, x)


@case(*trained(lambda p: torch.optim.RMSprop(p, lr=0.1)), X, breaks="B129")
def rmsprop_step(m, optimizer, x):
    return train(m, optimizer, x)


@case(*trained(lambda p: torch.optim.Adagrad(p, lr=0.1)), X, breaks="B129", is_rounded=True)
def adagrad_step(m, optimizer, x):
    return train(m, optimizer, x)


def scheduled():
    m = layer()
    optimizer = torch.optim.SGD(m.parameters(), lr=0.1)
    return copied((m, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)))


@case(*scheduled(), X, breaks="B129")
def scheduler_step(m, optimizer, scheduler, x):
    loss = train(m, optimizer, x)
    scheduler.step()
    return loss, scheduler.get_last_lr()


@case(*trained(lambda p: torch.optim.SGD(p, lr=0.1)), X, breaks="B129")
def optimizer_with_a_closure(m, optimizer, x):
    def closure():
        optimizer.zero_grad()
        loss = m(x).pow(2).mean()
        loss.backward()
        return loss

    return optimizer.step(closure).detach()


@case(layer(), X, breaks="B103")
def optimizer_made_inside(m, x):
    optimizer = torch.optim.SGD(m.parameters(), lr=0.1)
    return train(m, optimizer, x)


@case(layer(), X, breaks="B129")
def gradient_clipping(m, x):
    m.zero_grad()
    m(x).pow(2).sum().backward()
    norm = nn.utils.clip_grad_norm_(m.parameters(), 0.1)
    nn.utils.clip_grad_value_(m.parameters(), 0.05)
    return norm, m.weight.grad


@case(layer(), X, breaks="B129")
def update_by_hand(m, x):
    loss = m(x).pow(2).sum()
    grads = torch.autograd.grad(loss, list(m.parameters()))
    with torch.no_grad():
        for p, g in zip(m.parameters(), grads, strict=True):
            p.sub_(0.1 * g)
    return loss.detach()


def averaged():
    m = layer()
    return m, torch.optim.swa_utils.AveragedModel(m)


@case(*averaged(), X, breaks="B104")
def averaged_model(m, average, x):
    average.update_parameters(m)
    return average(x)


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("one", case.cases, ids=str)
def test_compiled_like_eager(one, backend):
    check_compiled(one, backend)
