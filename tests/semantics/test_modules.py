"""nn.Module: calls, hooks, parameters, buffers, containers, training mode; contexts of torch's state."""

import pytest
import torch
from torch import nn

from tests.semantics.harness import Case, Corpus

case = Corpus()
X = torch.arange(8.0).reshape(2, 4)


class Block(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        self.linear = nn.Linear(n, n)
        self.norm = nn.LayerNorm(n)
        self.register_buffer("scale", torch.full((n,), 2.0))
        self.calls = 0

    def forward(self, x, residual=True):
        y = self.norm(self.linear(x)) * self.scale
        return x + y if residual else y


class Counting(Block):
    def forward(self, x):
        self.calls += 1
        self.last = x
        return super().forward(x) * self.calls


class Updating(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))
        self.register_buffer("nothing", None)
        self.weight = nn.Parameter(torch.ones(4))
        self.register_parameter("bias", None)

    def forward(self, x):
        self.seen += 1
        self.seen = self.seen * 2
        if self.bias is not None:
            x = x + self.bias
        return x * self.weight * self.seen, self.nothing


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.table = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()})
        self.weights = nn.ParameterList([nn.Parameter(torch.ones(4)) for _ in range(2)])

    def forward(self, x):
        for index, layer in enumerate(self.layers):
            x = layer(x) + index
        for name, module in self.table.items():
            x = module(x) if name != "skip" else x
        return x * self.weights[0] + self.weights[-1], len(self.layers), self.layers[0](x), list(self.table)


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Block()

    def forward(self, x):
        names = [name for name, _ in self.named_parameters()]
        total = sum(p.sum() for p in self.parameters())
        children = [type(child).__name__ for child in self.children()]
        return (
            x + total,
            names,
            children,
            [n for n, _ in self.named_modules()],
            self.training,
            next(self.parameters()).dtype,
        )


class Dynamic(nn.Module):
    def __getattr__(self, name):
        if name == "computed":
            return 5
        return super().__getattr__(name)

    def forward(self, x):
        return x * self.computed, hasattr(self, "nothing")


def seeded(module):
    torch.manual_seed(0)
    made = module()
    return made


def hooked(add):
    module = seeded(Block)
    add(module)
    return module


def double_output(module, args, output):
    return output * 2


def note_call(module, args, output):
    module.calls += 1


def shift_input(module, args):
    return (args[0] + 1,)


@case(
    seeded(Block),
    X,
    changed=((seeded(Block).eval(), X), (seeded(Block), X.double()[:, :4].float()), (seeded(Block), X[:1])),
)
def calls_a_module(module, x):
    return module(x), module.linear(x), module(x, residual=False), module.forward(x)


@case(seeded(Counting), X)
def module_writes_its_attributes(module, x):
    y = module(x) + module(x)
    return y, module.calls


@case(seeded(Updating), X)
def module_updates_its_buffer(module, x):
    return module(x)


@case(seeded(Stack), X)
def module_containers(module, x):
    return module(x)


@case(seeded(Named), X)
def module_introspection(module, x):
    return module(x)


@case(seeded(Dynamic), X)
def module_getattr(module, x):
    return module(x)


@case(
    nn.Sequential(seeded(Block), nn.ReLU(), nn.Dropout(0.5)),
    X,
    changed=((nn.Sequential(seeded(Block), nn.ReLU(), nn.Dropout(0.5)).eval(), X),),
)
def sequential_with_dropout(module, x):
    return module(x), module[0](x), len(module), [type(m).__name__ for m in module]


@case(hooked(lambda m: m.register_forward_hook(double_output)), X)
def forward_hook_changes_the_result(module, x):
    return module(x)


@case(hooked(lambda m: m.linear.register_forward_hook(double_output)), X)
def forward_hook_of_a_submodule(module, x):
    return module(x)


@case(hooked(lambda m: m.register_forward_hook(note_call)), X)
def forward_hook_has_side_effects(module, x):
    return module(x), module.calls


@case(hooked(lambda m: m.register_forward_pre_hook(shift_input)), X)
def forward_pre_hook_changes_the_input(module, x):
    return module(x)


@case(hooked(lambda m: m.register_forward_hook(lambda m, a, k, o: o + len(k), with_kwargs=True)), X)
def forward_hook_with_kwargs(module, x):
    return module(x, residual=True)


@case(nn.BatchNorm1d(4), X, changed=((nn.BatchNorm1d(4).eval(), X),))
def batch_norm_updates_its_statistics(module, x):
    return module(x)


@case(seeded(Block), X)
def parameter_is_read_and_written(module, x):
    with torch.no_grad():
        module.linear.weight.mul_(2)
        module.linear.bias += 1
    return module.linear.weight.sum(), module.linear.in_features


@case(nn.Embedding(5, 3), torch.tensor([[1, 2], [0, 4]]))
def embedding(module, ids):
    return module(ids), module.weight.shape


@case(nn.MultiheadAttention(4, 2, batch_first=True), X[None])
def multihead_attention(module, x):
    return module(x, x, x, need_weights=False)[0]


@case(nn.Conv2d(1, 2, 3, padding=1), torch.ones(1, 1, 4, 4))
def convolution(module, x):
    return torch.relu(module(x)).mean((2, 3))


@case(X)
def module_function_without_module(x):
    return nn.functional.linear(x, torch.ones(3, 4)), nn.ReLU()(x) if False else 0


@case(X)
def no_grad_in_a_with_block(x):
    w = x.clone().requires_grad_()
    with torch.no_grad():
        a = w * 2
        inside = torch.is_grad_enabled()
        with torch.enable_grad():
            b = w * 3
    return a, b, w * 4, inside, torch.is_grad_enabled()


@torch.no_grad()
def without_grad(x):
    return x * 2, torch.is_grad_enabled()


@case(X.clone().requires_grad_())
def no_grad_as_decorator(w):
    return without_grad(w), (w * 3).requires_grad


@case(X.clone().requires_grad_())
def set_grad_enabled_both_ways(w):
    with torch.set_grad_enabled(False):
        a = w * 2
    previous = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    b = w * 3
    torch.set_grad_enabled(previous)
    return a, b, w * 4


@case(X.clone().requires_grad_())
def grad_mode_is_restored_by_an_exception(w):
    try:
        with torch.no_grad():
            raise ValueError
    except ValueError:
        pass
    return w * 2, torch.is_grad_enabled()


@case(X)
def autocast_on_cpu(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        a = x @ x.T
        b = x + 1
        with torch.autocast("cpu", enabled=False):
            c = x @ x.T
        inside = torch.is_autocast_enabled("cpu")
    return a, b, c, x @ x.T, inside, torch.is_autocast_enabled("cpu")


@case(X)
def device_context_makes_factories_there(x):
    with torch.device("cpu"):
        a = torch.ones(2)
    return a + 1, x


@case(X)
def meta_device_context(x):
    with torch.device("meta"):
        a = torch.ones(2)
    return a, x, torch.ones(1).device


@case(X)
def inference_mode_block(x):
    with torch.inference_mode():
        y = x * 2
        inside = torch.is_inference_mode_enabled()
    return y + 1, inside


def test_guards_notice_a_new_hook():
    module = seeded(Block)
    one = Case(calls_a_module, (module, X))
    captured = one.captured((module, X))
    assert one.holds(captured, (module, X))
    module.linear.register_forward_hook(double_output)
    assert not one.holds(captured, (module, X))


def test_guards_notice_a_global_hook():
    module = seeded(Block)
    one = Case(calls_a_module, (module, X))
    captured = one.captured((module, X))
    handle = nn.modules.module.register_module_forward_hook(double_output)
    try:
        assert not one.holds(captured, (module, X))
    finally:
        handle.remove()


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.train(not m.training),
        lambda m: setattr(m, "linear", nn.Linear(4, 4, bias=False)),
        lambda m: setattr(m, "norm", nn.Identity()),
        lambda m: setattr(m.norm, "eps", 0.5),
        lambda m: m.register_buffer("scale", None),
        lambda m: m.to(torch.float64),
        lambda m: m.linear.requires_grad_(False),
        lambda m: setattr(m, "forward", lambda x, residual=True: x),
    ],
)
def test_a_changed_module_gives_the_eager_result(change):
    module = seeded(Block)
    one = Case(calls_a_module, (module, X))
    captured = one.captured((module, X))
    change(module)
    if one.holds(captured, (module, X)):
        one.compare(captured.run, (module, X))


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()
