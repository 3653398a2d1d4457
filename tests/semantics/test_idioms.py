"""What libraries do: partials of their own, state of threads, views of dicts, traced modules, shapes."""

import builtins
import collections
import functools
import threading

import pytest
import torch
import torch.fx

import supple
from tests.semantics.harness import Corpus

case = Corpus()
X = torch.arange(4.0)
LOCAL = threading.local()
LOCAL.scale = 3.0
TRACED = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()))


class Bound(functools.partial):
    def __get__(self, owner, kind=None):
        return self if owner is None else functools.partial(self.func, owner)


class Shadowed(functools.partial):
    __slots__ = ("func",)

    def __init__(self, func):
        self.func = func


class Doubled(functools.partial):
    def __call__(self, x):
        return super().__call__(x) * 2


class Local(threading.local):
    def __init__(self):
        self.log = [1]


OWN = Local()


def add(x, y):
    return x + y


def owned(self, y):
    return self.x + y


class Holder:
    plus = Bound(owned)

    def __init__(self, x):
        self.x = x


@case(X)
def subclasses_of_partial(x):
    made = Bound(add, x)
    functools.update_wrapper(made, add)
    return made(x), made.func is add, made.args, made.__name__, type(made) is Bound, made


@case(X)
def subclasses_of_partial_that_hide_its_fields(x):
    made = Shadowed(functools.partial(add, x))
    return made(x), made.func.args


@case(X)
def subclasses_of_partial_with_a_call_of_their_own(x):
    return Doubled(add, x)(x), functools.partial(Doubled(add, y=x), x)()


@case(X)
def subclasses_of_partial_as_methods(x):
    return Holder(x).plus(x), Holder.plus is Holder.plus


@case(X)
def attributes_of_threads_are_read(x):
    return x * LOCAL.scale, getattr(LOCAL, "missing", None), hasattr(OWN, "log"), len(OWN.log)


@case(torch.ones(2, 4))
def traced_modules(x):
    return TRACED(x) + 1


@case(X, torch.ones(3, 1))
def shapes_that_are_broadcast(x, y):
    shape = torch.broadcast_shapes(x.shape, y.shape, (1,))
    return x.expand(shape), torch.broadcast_shapes((2, 1), 3), shape, shape.numel(), x.shape[:0].numel()


@case(X, [X + 1], X + 2)
def parameters_called_like_variables_of_code_that_is_made(_0, _1, _k0):
    _1.append(_0 * 2)
    return _0 + _k0, _1, _0, {"a": _k0, "b": _0}


@case(X)
def whether_transforms_are_active(x):
    return torch._C._are_functorch_transforms_active(), x


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()


def test_each_thread_has_its_own_attributes():
    compiled = supple.compile(lambda x: (x * LOCAL.scale, getattr(LOCAL, "name", None)), fullgraph=True)
    seen = []

    def run(scale, name):
        LOCAL.scale = scale
        if name:
            LOCAL.name = name
        seen.append([compiled(torch.ones(1)) for _ in range(2)])

    run(2.0, None)
    thread = threading.Thread(target=run, args=(7.0, "other"))
    thread.start()
    thread.join()
    run(2.0, None)
    assert seen == [[(torch.tensor([n]), name)] * 2 for n, name in ((2.0, None), (7.0, "other"), (2.0, None))]


def test_attributes_of_threads_are_written():
    local = Local()

    def program(x):
        local.count = getattr(local, "count", 0) + 1
        local.log.append(local.count)
        if hasattr(local, "old"):
            del local.old
        return x * local.count

    compiled = supple.compile(program, fullgraph=True, backend="eager")
    for run in (program, compiled):
        local.__dict__.clear()
        local.log, local.old = [1], 2
        assert [run(torch.ones(1)).item() for _ in range(3)] == [1, 2, 3]
        assert local.__dict__ == {"count": 3, "log": [1, 1, 2, 3]}


KINDS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)


@pytest.mark.parametrize("kind", KINDS)
def test_views_of_a_dict_go_on_after_a_break(kind):
    def program(x, held):
        values, keys, items = held.values(), held.keys(), held.items()
        supple.graph_break()
        total = sum(values) * x
        held["c"] = 5
        return total, len(keys), "c" in keys, sorted(values), [key for key, _ in items]

    compiled = supple.compile(program, backend="eager")
    for _ in range(2):
        held = [collections.defaultdict(int) if kind is collections.defaultdict else kind() for _ in range(2)]
        for one in held:
            one.update(a=1, b=2)
        assert str(compiled(X, held[0])) == str(program(X, held[1]))
    assert [supple.stats()[what] for what in ("graphs", "breaks")] == [1, 1]


def test_shapes_are_broadcast_whatever_their_sizes():
    compiled = supple.compile(
        lambda x, y: x.expand(torch.broadcast_shapes(x.shape, y.shape)) + 1, fullgraph=True, dynamic=True
    )
    for rows in (3, 5, 1, 0, 4):
        x, y = torch.ones(1, 2), torch.ones(rows, 1)
        assert compiled(x, y).shape == (rows, 2)
    assert supple.stats()["graphs"] == 1


NOT_LOOKING = {
    "an attribute": "net.eval(); {}; return net(x) + 1",
    "dir of something": "y = x * 2; {}; return y, 'x' in dir(net), len(vars(net))",
}


LOOKING = {
    "locals": "y = x * 2; {}; return y, sorted(locals())",
    "dir of nothing": "y = x * 2; {}; return y, dir()",
    "vars of nothing among others": "y = x * 2; {}; return y, len(vars(net)), sorted(vars())",
    "locals of a module": "y = x * 2; {}; return y, sorted(builtins.locals())",
    "eval of a module": "y = x * 2; z = 3; {}; return builtins.eval('y + z')",
}


@pytest.mark.parametrize("body", LOOKING)
def test_functions_that_look_at_their_variables_see_them_after_a_break(body):
    names = {"supple": supple, "net": torch.nn.Linear(4, 4), "builtins": builtins}
    exec(f"def program(x):\n    {LOOKING[body].format('supple.graph_break()')}\n", names)
    compiled = supple.compile(names["program"], backend="eager")
    assert str(compiled(X)) == str(names["program"](X))


@pytest.mark.parametrize("body", NOT_LOOKING)
def test_what_is_called_like_a_function_that_looks_at_variables_goes_on_after_a_break(body):
    names = {"supple": supple, "net": torch.nn.Linear(4, 4).eval(), "dir": dir}
    text = NOT_LOOKING[body].format("supple.graph_break()")
    exec(f"def program(x):\n    y = x + 1\n    {text}\n", names)
    compiled = supple.compile(names["program"], backend="eager")
    with torch.no_grad():
        assert str(compiled(X)) == str(names["program"](X))
    assert supple.stats()["fallbacks"] == 0
    assert supple.stats()["graphs"] >= 1


def test_views_of_a_dict_are_not_what_its_own_methods_give():
    class Loud(dict):
        def values(self):
            return [0]

    def program(x, held):
        values = dict.values(held)
        supple.graph_break()
        return sum(values) * x, held.values()

    held = Loud(a=1, b=2)
    assert str(supple.compile(program, backend="eager")(X, held)) == str(program(X, held))
