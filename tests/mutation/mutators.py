"""What is changed, by the type of what lies in a place: each mutator yields other values for one value.

`@mutator(types...)` registers one; its name is the function's. A value that eager would refuse is fine: what
is compared includes the error.
"""

import copy
import enum
import functools
import math
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import torch

from tests.mutation.places import MISSING, is_users

Mutator = Callable[[Any], Iterator[Any]]


@dataclass(frozen=True, slots=True)
class Registered:
    """A mutator, and the types that it takes."""

    name: str
    kinds: tuple[type, ...]
    make: Mutator


MUTATORS: Final[list[Registered]] = []


def mutator(*kinds: type) -> Callable[[Mutator], Mutator]:
    """Register a mutator for values of exactly these types; of classes of torch, for subclasses too.

    `object` stands for objects of the program's own classes.
    """

    def register(function: Mutator) -> Mutator:
        MUTATORS.append(Registered(function.__name__, kinds, function))
        return function

    return register


def changes(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the other values for one value, each with the mutator's name."""
    for one in MUTATORS:
        is_torchs = any(kind.__module__.startswith("torch") for kind in one.kinds)
        is_programs = one.kinds == (object,) and is_users(type(value)) and not isinstance(value, type)
        if type(value) in one.kinds or is_programs or (is_torchs and isinstance(value, one.kinds)):
            for place, made in enumerate(one.make(value)):
                yield f"{one.name}{place or ''}", made


@mutator(float)
def another_float(value: float) -> Iterator[Any]:
    yield math.nextafter(value, math.inf)
    yield value + 0.75
    yield -value
    yield int(value) if math.isfinite(value) else 1
    yield math.nan
    yield None


@mutator(int)
def another_integer(value: int) -> Iterator[Any]:
    yield value + 1
    yield -value
    yield float(value)
    yield bool(value)
    yield 2**70 + value
    yield None


@mutator(bool)
def another_truth(value: bool) -> Iterator[Any]:
    yield not value
    yield int(value)
    yield None


@mutator(str)
def another_text(value: str) -> Iterator[Any]:
    yield value + "x"
    yield ""
    yield None


@mutator(type(None))
def something(value: None) -> Iterator[Any]:
    yield 2
    yield torch.ones(1)
    yield True


@mutator(tuple)
def another_tuple(value: tuple[Any, ...]) -> Iterator[Any]:
    yield list(value)
    yield value[:-1]
    yield (*value, *value[-1:])
    yield value[::-1]
    for place, item in enumerate(value[:4]):
        for _, made in changes(item):
            yield (*value[:place], made, *value[place + 1 :])


class ListOfProgram(list[Any]):
    """A list that says something else of its length."""

    def __len__(self) -> int:
        return 1


class DictOfProgram(dict[Any, Any]):
    """A dict in which everything is 5."""

    def __getitem__(self, key: Any) -> int:
        return 5


@mutator(list)
def another_list(value: list[Any]) -> Iterator[Any]:
    yield tuple(value)
    yield value[:-1]
    yield [*value, *value[-1:]]
    yield value[::-1]
    yield ListOfProgram(value)


@mutator(dict)
def another_dict(value: dict[Any, Any]) -> Iterator[Any]:
    yield dict(list(value.items())[::-1])
    yield dict(list(value.items())[:-1])
    yield {**value, "new": 3}
    yield DictOfProgram(value)


@mutator(set, frozenset)
def another_set(value: Any) -> Iterator[Any]:
    yield type(value)(list(value)[1:])
    yield type(value)([*value, 12345])


def _otherwise(original: Callable[..., Any]) -> Callable[..., Any]:
    def changed(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if isinstance(result, bool):
            return not result
        return result + 1 if isinstance(result, int | float | torch.Tensor) else result

    return changed


@mutator(types.FunctionType)
def another_function(value: types.FunctionType) -> Iterator[Any]:
    yield _otherwise(value)
    yield lambda *_args, **_kwargs: 3


@mutator(types.BuiltinFunctionType)
def another_builtin(value: Any) -> Iterator[Any]:
    yield _otherwise(value)


@mutator(property)
def another_property(value: property) -> Iterator[Any]:
    yield 4
    if value.fget is not None:
        yield property(_otherwise(value.fget))


@mutator(staticmethod, classmethod)
def another_wrapped_function(value: Any) -> Iterator[Any]:
    yield type(value)(_otherwise(value.__func__))


@mutator(types.CodeType)
def another_code(value: types.CodeType) -> Iterator[Any]:
    if not value.co_freevars:
        yield (lambda *_args, **_kwargs: 6).__code__


@functools.cache
def _derived(kind: type, name: str) -> type:
    """Return a class with one method more changed, the same one for both worlds."""
    return type("Derived", (kind,), {name: _otherwise(vars(kind)[name]), "__slots__": ()})


@mutator(object)
def an_object_of_another_class(value: object) -> Iterator[Any]:
    """A copy of an object whose class has one method more changed than its own."""
    methods = [name for name, found in vars(type(value)).items() if isinstance(found, types.FunctionType)]
    for name in methods[:4]:
        if isinstance(value, enum.Enum):
            return
        made = copy.copy(value)
        made.__class__ = _derived(type(value), name)
        yield made


@mutator(type)
def another_class(value: type) -> Iterator[Any]:
    yield type(value.__name__, (value,), {})


@mutator(type(MISSING))
def a_new_attribute(value: object) -> Iterator[Any]:
    yield lambda *_args, **_kwargs: False
    yield lambda *_args, **_kwargs: 1


@mutator(torch.dtype)
def another_dtype(value: torch.dtype) -> Iterator[Any]:
    yield torch.float64
    yield torch.int64


@mutator(torch.Tensor)
def other_numbers(value: torch.Tensor) -> Iterator[Any]:
    def filled(number: float) -> torch.Tensor:
        made = value.detach().clone()
        made.view(-1)[:1].fill_(number) if made.is_contiguous() and made.numel() else None
        return made.requires_grad_(value.requires_grad)

    if value.dtype.is_floating_point:
        for number in (-0.0, math.inf, math.nan, 1e-42):
            yield filled(number)
    elif value.dtype is not torch.bool and not value.is_complex():
        yield filled(torch.iinfo(value.dtype).max)
        yield filled(torch.iinfo(value.dtype).min)


@mutator(torch.Tensor)
def another_type_of_numbers(value: torch.Tensor) -> Iterator[Any]:
    for dtype in (torch.float64, torch.bfloat16, torch.int64, torch.int8, torch.bool):
        if dtype is not value.dtype:
            made = value.detach().to(dtype)
            yield made.requires_grad_(value.requires_grad and dtype.is_floating_point)


@mutator(torch.Tensor)
def other_sizes(value: torch.Tensor) -> Iterator[Any]:
    data = value.detach()
    if data.dim():
        for made in (torch.cat([data, data]), data[:1].clone(), data[:0].clone(), data.unsqueeze(0).clone()):
            yield made.requires_grad_(value.requires_grad)
    else:
        yield data.reshape(1).clone().requires_grad_(value.requires_grad)


@mutator(torch.Tensor)
def another_layout(value: torch.Tensor) -> Iterator[Any]:
    """The same numbers, elsewhere in memory."""
    data = value.detach()
    places = [*range(data.dim())]
    larger = data.new_zeros(data.numel() + 3)
    larger[3:] = data.reshape(-1)
    yield larger[3:].view(data.shape).requires_grad_(value.requires_grad)
    if data.dim() > 1:
        turned = data.permute(places[::-1]).contiguous().permute(places[::-1])
        yield turned.requires_grad_(value.requires_grad)
    if data.dim():
        wide = torch.stack([data, data], dim=-1)
        yield wide[..., 1].requires_grad_(value.requires_grad)
        yield data[:1].expand(data.shape).requires_grad_(value.requires_grad)


@mutator(torch.Tensor)
def other_bits(value: torch.Tensor) -> Iterator[Any]:
    if value.dtype.is_floating_point:
        pair = torch.complex(torch.zeros_like(value).float(), -value.detach().float())
        yield pair.conj().imag
    if value.is_complex():
        yield value.detach().conj()
    with torch.inference_mode():
        yield value.detach().clone()


def _of_gradients(grad: torch.Tensor) -> torch.Tensor:
    return grad * 3


@mutator(torch.Tensor)
def another_part_in_autograd(value: torch.Tensor) -> Iterator[Any]:
    if value.dtype.is_floating_point:
        data = value.detach().clone()
        yield data.requires_grad_(not value.requires_grad)
        yield data.clone().requires_grad_() * 1
        yield torch.nn.Parameter(data.clone())
        with_gradient = data.clone().requires_grad_()
        with_gradient.grad = torch.ones_like(data)
        yield with_gradient
        hooked = data.clone().requires_grad_()
        hooked.register_hook(_of_gradients)
        yield hooked


class TensorOfProgram(torch.Tensor):
    """A subclass without anything of its own."""


@mutator(torch.Tensor)
def another_kind_of_tensor(value: torch.Tensor) -> Iterator[Any]:
    yield value.detach().clone().as_subclass(TensorOfProgram)
    noted = value.detach().clone().requires_grad_(value.requires_grad)
    noted.note = 3  # type: ignore[attr-defined]
    yield noted
    yield 1.5


def _hook(_module: object, _args: object, result: object) -> object:
    return result, 3


@mutator(torch.nn.Module)
def another_module(value: torch.nn.Module) -> Iterator[Any]:
    yield torch.nn.Identity()
    twin = copy.deepcopy(value)
    for parameter in twin.parameters():
        parameter.requires_grad_(not parameter.requires_grad)
    yield twin
    hooked = copy.deepcopy(value)
    hooked.register_forward_hook(_hook)
    yield hooked
    double = copy.deepcopy(value)
    yield double.double()
