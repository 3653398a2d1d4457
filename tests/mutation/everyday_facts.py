"""One question a program, of tensors, objects, classes, containers, numbers and state. These run first."""

import collections
import enum
import functools
import itertools
import math
import operator
import types
import weakref
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.mutation.worlds import Programs

program = Programs()
LIMIT = 3
TABLE = {"a": 1, "b": 2}


def numbers(*shape: int) -> Tensor:
    return torch.sin(torch.arange(math.prod(shape)) * 1.7 + 0.3).reshape(shape)


class Plain:
    """Attributes of its own and of its class."""

    shared = 2

    def __init__(self, value: Any = 1) -> None:
        self.value = value

    @property
    def twice(self) -> Any:
        return self.value * 2

    @staticmethod
    def fixed(x: Any) -> Any:
        return x * 3

    @classmethod
    def counted(cls, x: Any) -> Any:
        return x * cls.shared

    def grown(self, by: int = 1) -> Any:
        return self.value + by


class Derived(Plain):
    """A subclass."""


class Sized(Plain):
    """With a length and a test of its truth."""

    def __len__(self) -> int:
        return 0

    def __contains__(self, key: object) -> bool:
        return key == self.value

    def __getitem__(self, key: Any) -> Any:
        return key


class Slots:
    """Without a dict."""

    __slots__ = ("first", "second")

    def __init__(self) -> None:
        self.first = 1


class Kind(enum.Enum):
    """Two members."""

    ONE = 1
    TWO = 2


class Meta(type):
    """A metaclass."""

    def __call__(cls, *args: Any) -> Any:
        return super().__call__(*args)

    def size(cls) -> int:
        return 2


class Made(metaclass=Meta):
    """Its instance."""

    def __init__(self, value: int = 4) -> None:
        self.value = value


def scaled(x: Any, by: float = 2.0, *, shift: int = 1) -> Any:
    return x * by + shift


# Tensors.


@program(lambda: (numbers(3), numbers(3)))
def tensors_in_a_set(a, b):
    return a * len({a, b})


@program(lambda: (numbers(3), numbers(3)))
def tensors_as_keys(a, b):
    return a * len({a: 1, b: 2}) + {a: 1, b: 2}[a]


@program(lambda: (numbers(3), numbers(3)))
def tensors_by_id(a, b):
    return a * (2 if id(a) == id(b) else 1)


@program(lambda: (numbers(3), numbers(3)))
def one_tensor(a, b):
    return a * (2 if a is b else 1) + sum(each is a for each in [a, b])


@program(lambda: (numbers(3),))
def offset_in_the_storage(x):
    return x * x.storage_offset()


@program(lambda: (numbers(2, 3),))
def strides(x):
    return x * x.stride(0) + x.stride()[1]


@program(lambda: (numbers(2, 3),))
def contiguity(x):
    return x * (2 if x.is_contiguous() else 3)


@program(lambda: (numbers(2, 3),))
def sizes_as_numbers(x):
    return x * x.size(0) + x.shape[1] + len(x) + x.numel() + x.dim()


@program(lambda: (numbers(3),))
def dtype(x):
    return x * (2 if x.dtype is torch.float32 else 3) * x.element_size()


@program(lambda: (numbers(3).requires_grad_(),))
def needs_gradients(x):
    return x * (2 if x.requires_grad else 3) * (5 if x.is_leaf else 7)


@program(lambda: (numbers(3).requires_grad_(),))
def has_a_gradient(x):
    return x * (2 if x.grad is None else 3)


@program(lambda: (torch.complex(numbers(3), numbers(3)),))
def conjugate_bits(x):
    return x * (2 if x.is_conj() else 3), x.conj() * x


@program(lambda: (numbers(3),))
def negative_bits(x):
    return x * (2 if x.is_neg() else 3)


@program(lambda: (nn.Parameter(numbers(3)),))
def bits_of_a_parameter(p):
    return p * 1


@program(lambda: (numbers(3),))
def made_in_inference_mode(x):
    return x * (2 if x.is_inference() else 3)


@program(lambda: (numbers(3),))
def class_of_a_tensor(x):
    return x * (2 if type(x) is Tensor else 3) * (5 if isinstance(x, nn.Parameter) else 7)


@program(lambda: (numbers(3),))
def attribute_of_a_tensor(x):
    return x * getattr(x, "more", 2) * (3 if hasattr(x, "more") else 5)


@program(lambda: (numbers(3),))
def a_hook_of_a_tensor(x):
    return x * (2 if x._backward_hooks is None else 3)


@program(lambda: (numbers(4),))
def view_by_numbers(x):
    return x.as_strided((2,), (2,), 1) * 2


# Objects and classes.


@program(lambda: (Plain(), numbers(2)))
def truth_of_an_object(one, x):
    return x if one else -x


@program(lambda: (Sized(), numbers(2)))
def truth_by_length(one, x):
    return x if one else -x


@program(lambda: (Plain(), Plain(), numbers(2)))
def objects_in_a_set(one, other, x):
    return x * len({one, other})


@program(lambda: (Plain(), Plain(), numbers(2)))
def objects_as_keys(one, other, x):
    return x * {one: 2, other: 3}[one] * len({one: 2, other: 3})


@program(lambda: (Plain(), Plain(), numbers(2)))
def objects_by_id(one, other, x):
    return x * (2 if id(one) == id(other) else 3)


@program(lambda: (Plain(), Plain(), numbers(2)))
def equal_objects(one, other, x):
    return x * (2 if one == other else 3) * (5 if one != other else 7) * (11 if one is other else 13)


@program(lambda: (Plain(), Plain(), numbers(2)))
def equal_dicts_of_objects(one, other, x):
    return x * (2 if vars(one) == vars(other) else 3) * len(vars(one))


@program(lambda: (Plain(), [Plain(2), Plain(3)], numbers(2)))
def an_object_in_a_list(one, many, x):
    return x * (2 if one in many else 3) * many.count(one)


@program(lambda: (Derived(), numbers(2)))
def instance_of_a_class(one, x):
    return x * (2 if isinstance(one, Plain) else 3) * (5 if isinstance(one, (Sized, int)) else 7)


@program(lambda: (Derived, numbers(2)))
def subclass_of_a_class(kind, x):
    return x * (2 if issubclass(kind, Plain) else 3) * len(kind.__mro__) * len(kind.__bases__)


@program(lambda: (Derived(), numbers(2)))
def exact_class(one, x):
    return x * (2 if type(one) is Derived else 3) * (5 if one.__class__ is Plain else 7)


@program(lambda: (Derived(), numbers(2)))
def names_of_classes(one, x):
    return x * len(type(one).__name__) * (2 if type(one).__doc__ else 3), type(one).__qualname__


@program(lambda: (Plain(), numbers(2)))
def attributes_of_an_object(one, x):
    return x * one.value * one.shared * getattr(one, "missing", 5) * (7 if hasattr(one, "more") else 11)


@program(lambda: (Plain(), numbers(2)))
def methods_of_an_object(one, x):
    return one.fixed(x) + one.counted(x) + one.grown() + one.twice + one.grown(by=3)


@program(lambda: (Plain(), numbers(2)))
def a_callable_object(one, x):
    return x * (2 if callable(one) else 3)


@program(lambda: (Plain(), numbers(2)))
def an_object_in_arithmetic(one, x):
    try:
        return x * (one + 1)
    except TypeError:
        return x


@program(lambda: (Sized(), numbers(2)))
def an_object_as_a_container(one, x):
    return x * one[2] * (3 if 1 in one else 5) * (len(one) + 1)


@program(lambda: (Plain(), numbers(2)))
def text_of_an_object(one, x):
    return x, len(repr(one)) > 8, f"{type(one).__name__}"


@program(lambda: (Plain(), Plain(), numbers(2)))
def hashes_of_objects(one, other, x):
    return x * (2 if hash(one) == hash(other) else 3)


@program(lambda: (Slots(), numbers(2)))
def slots_of_an_object(one, x):
    return x * one.first * (2 if hasattr(one, "second") else 3)


@program(lambda: (Kind.ONE, numbers(2)))
def a_member_of_an_enumeration(kind, x):
    return x * (2 if kind is Kind.ONE else 3) * kind.value * len(kind.name) * (5 if kind == Kind.TWO else 7)


@program(lambda: (numbers(2),))
def the_members_of_an_enumeration(x):
    return x * len(Kind) * sum(one.value for one in Kind) * Kind(2).value * Kind["ONE"].value


@program(lambda: (Made, numbers(2)))
def a_class_made_by_a_metaclass(kind, x):
    return x * kind().value * kind.size() * (2 if type(kind) is Meta else 3)


@program(lambda: (Plain(2), numbers(2)))
def a_class_pattern(one, x):
    match one:
        case Derived():
            return x * 2
        case Plain(value=2):
            return x * 3
        case _:
            return x


@program(lambda: (Plain(), numbers(2)))
def what_a_weak_reference_gives(one, x):
    return x * (2 if weakref.ref(one)() is one else 3)


# Functions, modules and names.


@program(lambda: (scaled, numbers(2)))
def a_function(function, x):
    return function(x) * len(function.__name__) * len(function.__defaults__)


@program(lambda: (numbers(2),))
def a_global_function(x):
    return scaled(x) + scaled(x, shift=2)


@program(lambda: (functools.partial(scaled, by=3.0), numbers(2)))
def a_partial(function, x):
    return function(x) * len(function.keywords)


@program(lambda: (numbers(2),))
def a_global_number(x):
    return x * LIMIT + TABLE["a"] * len(TABLE)


@program(lambda: (numbers(2),))
def builtins(x):
    return x * len([1, 2]) * max(1, 2) * sum((1, 2)) * abs(-3)


@program(lambda: (numbers(2),))
def functions_of_modules(x):
    return F.relu(x) * math.sqrt(4.0) * operator.add(1, 2)


@program(lambda: (numbers(2),))
def an_import_inside(x):
    import math as inside  # noqa: PLC0415  # what is asked

    return x * inside.floor(2.5)


@program(lambda: (nn.Linear(2, 2), numbers(1, 2)))
def a_layer(layer, x):
    return layer(x) * (2 if layer.training else 3) * layer.in_features


@program(lambda: (nn.Linear(2, 2), nn.Linear(2, 2), numbers(1, 2)))
def two_layers(one, other, x):
    return (
        one(other(x))
        * (2 if one.weight is other.weight else 3)
        * len({*one.parameters(), *other.parameters()})
    )


@program(lambda: (nn.Sequential(nn.Linear(2, 2), nn.ReLU()), numbers(1, 2)))
def parts_of_a_module(module, x):
    return (
        module(x)
        * len(module)
        * len([*module.named_parameters()])
        * (2 if "weight" in module._modules else 3)
    )


# Containers.


@program(lambda: ([1, 2], numbers(2)))
def a_list(items, x):
    return x * len(items) * items[0] * (2 if items else 3) * (5 if 2 in items else 7)


@program(lambda: ([1, 2], [1, 2], numbers(2)))
def equal_lists(one, other, x):
    return x * (2 if one == other else 3) * (5 if one is other else 7)


@program(lambda: ({"a": 1, "b": 2}, numbers(2)))
def a_dict(table, x):
    return x * table["a"] * table.get("c", 3) * len(table) * (5 if "b" in table else 7)


@program(lambda: (nn.Parameter(torch.complex(numbers(3), numbers(3))), numbers(3)))
def spectral_weights(weights, x):
    return torch.view_as_real(weights * x), (weights.real * 2).sum()


@program(lambda: (nn.Parameter(torch.complex(numbers(3), numbers(3)).imag), numbers(3)))
def imaginary_weights(weights, x):
    return weights * x, weights.sum()


@program(lambda: ({"scale": 2.0}, numbers(2)))
def options_with_defaults(options, x):
    return x * options.get("scale", 1.0) + options.get("bias", 0.5)


@program(lambda: ({"scale": 2.0}, numbers(2)))
def options_that_are_looked_for(options, x):
    if "bias" in options:
        x = x + 1
    return x * (3 if "power" not in options else 5)


@program(lambda: ({"scale": 2.0}, numbers(2)))
def options_by_name(options, x):
    def scaled(x, scale=1.0, bias=0.5, **_):
        return x * scale + bias

    return scaled(x, **options)


@program(lambda: ({"a": 1, "b": 2}, numbers(2)))
def order_of_a_dict(table, x):
    for place, (key, value) in enumerate(table.items()):
        x = x * value + place * len(key)
    return x, [*table], next(iter(table.values()))


@program(lambda: ({"a": 1, "b": 2}, {"b": 2, "a": 1}, numbers(2)))
def equal_dicts(one, other, x):
    return x * (2 if one == other else 3) * (5 if one.keys() == other.keys() else 7)


@program(lambda: ({1, 2}, numbers(2)))
def a_set(items, x):
    return x * len(items) * (2 if 1 in items else 3) * (5 if items == {1, 2} else 7) * sum(items)


@program(lambda: ((1, 2.0, "a"), numbers(2)))
def a_tuple(items, x):
    return x * items[0] * items[1] * len(items) * (2 if items == (1, 2.0, "a") else 3)


@program(lambda: (collections.deque([1, 2], 3), numbers(2)))
def a_deque(items, x):
    return x * len(items) * items[0] * (items.maxlen or 7)


@program(lambda: (collections.deque([1, 2], 2), numbers(2)))
def a_deque_that_is_full(items, x):
    items.append(5)
    return x * items[0] * len(items)


@program(lambda: (collections.defaultdict(int, a=1), numbers(2)))
def a_dict_with_a_default(table, x):
    return x * (table["a"] + table["new"]) * len(table)


@program(lambda: (iter([1, 2, 3]), numbers(2)))
def an_iterator(it, x):
    return x * next(it) * (2 if next(it, None) is None else 3)


@program(lambda: (types.SimpleNamespace(a=1, b=2.0), numbers(2)))
def a_namespace(names, x):
    return x * names.a * names.b * getattr(names, "c", 3)


# Numbers and texts.


@program(lambda: (3, numbers(2)))
def an_integer(n, x):
    return x * n, str(n), n == 3, n > 2, type(n) is int, n.bit_length(), [0, 1, 2, 3, 4, 5, 6, 7][n % 7]


@program(lambda: (0.5, numbers(2)))
def a_float(f, x):
    return x * f, f == 0.5, f > 0, int(f * 4), math.floor(f), f"{f:.2f}", math.copysign(1, f), f != f


@program(lambda: (True, numbers(2)))
def a_truth(flag, x):
    return x * 2 if flag else x, flag is True, not flag, flag + 1


@program(lambda: (None, numbers(2)))
def nothing(value, x):
    return x * 2 if value is None else x * 3


@program(lambda: ("mean", numbers(2)))
def a_text(mode, x):
    return (x.sum() if mode == "sum" else x.mean()) * len(mode), mode.upper(), "e" in mode


@program(lambda: (slice(0, 1), numbers(3)))
def a_slice(part, x):
    return x[part] * 2, part.start, part.step


@program(lambda: (range(3), numbers(2)))
def a_range(numbers_, x):
    for n in numbers_:
        x = x + n
    return x * len(numbers_)


@program(lambda: (torch.float64, numbers(2)))
def a_dtype(kind, x):
    return x.to(kind) * (2 if kind.is_floating_point else 3)


# The process.


@program(lambda: (numbers(2),))
def state_of_the_process(x):
    y = x * (2 if torch.is_grad_enabled() else 3) * (5 if torch.is_inference_mode_enabled() else 7)
    return y * (11 if torch.get_default_dtype() is torch.float32 else 13), torch.empty(0).dtype


@program(lambda: (numbers(2, 2),))
def autocast_of_the_caller(x):
    return x @ x * (2 if torch.is_autocast_enabled("cpu") else 3)


@program(lambda: (numbers(2),))
def denormal_constants(x):
    return x * 1e-40 * 1e39, torch.where(x > 1, x, 1e-40).view(torch.int32)


@program(lambda: (numbers(2),))
def fresh_memory(x):
    return torch.empty_like(x).fill_(1) + torch.zeros(2) + torch.full((2,), 3.0)


@program(lambda: (numbers(2, 3),))
def fresh_memory_is_looked_at(x):
    return x.new_empty(9_000_000).isnan().all(), x * 2  # so much that the system makes it, of zeros


# Sizes and places.


@program(lambda: (numbers(2), numbers(2, 3)))
def new_of_a_size(x, like):
    return x.new(like.size()).fill_(1), x.new(2, 1).fill_(2), x.new(like.shape[0]).fill_(3)


@program(lambda: (torch.tensor([0, 2, 1]), 3))
def one_hot_of_labels(labels, classes):
    return F.one_hot(labels, 3) * 2, F.one_hot(labels % classes, classes)


@program(lambda: (numbers(6), 2))
def every_few(x, step):
    y = x.clone()
    y[0:4:step] = 1
    return y * 2, x[::step]


@program(lambda: (numbers(1, 2, 3, 4), numbers(1, 2, 5, 4)))
def attention_of_lengths(query, key):
    return F.scaled_dot_product_attention(query, key, key)


@program(lambda: ([1, 1, 2, 2, 1, 3],))
def groups_that_are_kept(items):
    groups = [(key, group) for key, group in itertools.groupby(items)]
    first = next(itertools.groupby(items))[1]
    return [(key, list(group)) for key, group in groups], list(first)


@program(lambda: (numbers(6), 2))
def every_few_written(x, step):
    x[0:4:step] = 1
    return x * 2


@program(lambda: (numbers(64), True))
def written_or_read(x, is_written):
    if is_written:
        x.mul_(3)
        return None
    return x * 3


@program(lambda: ((torch.arange(600) * 1.7).bfloat16(), (torch.arange(600) % 37 * 0.03 + 1).bfloat16()))
def quotients_towards_zero(x, y):
    return torch.div(x, y, rounding_mode="trunc"), torch.div(x, y, rounding_mode="floor")


@program(lambda: (torch.ones(37), numbers(37).round()))
def first_of_equals(x, y):
    return x.argmax(), x.argmin(), y.argmax(), y.max(0), y.min(0)
