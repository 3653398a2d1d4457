"""What torch answers for plain sizes only (`interpolate`, `max_pool1d`, `linspace`, `tensor_split`), and
what it answers for sizes that are not 0 only (`chunk`, `diff`).
"""

import inspect
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import torch
from torch.nn import functional

from supple.capture import breaks
from supple.capture.library.contents import item_of
from supple.capture.library.operations import torch_op
from supple.capture.library.table import NONE, Args, Kwargs, call
from supple.capture.machine import Machine
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.sequence import SequenceValue
from supple.capture.values.symbolic import SymbolicValue
from supple.capture.values.tensor import TensorValue, emit
from supple.shapes.decide import number
from supple.shapes.symnode import expr_of

Numbers = float | Sequence[float] | None
Extra = torch.Tensor | None
Function = Callable[..., object]
aten = torch.ops.aten
NEAREST = (aten.upsample_nearest1d, aten.upsample_nearest2d, aten.upsample_nearest3d)
NEAREST_EXACT = (
    aten._upsample_nearest_exact1d,
    aten._upsample_nearest_exact2d,
    aten._upsample_nearest_exact3d,
)
POOLING = (functional.adaptive_avg_pool1d, functional.adaptive_avg_pool2d, functional.adaptive_avg_pool3d)
LINEAR: Final = {
    "linear": aten.upsample_linear1d,
    "bilinear": aten.upsample_bilinear2d,
    "trilinear": aten.upsample_trilinear3d,
    "bicubic": aten.upsample_bicubic2d,
}


def resized(
    x: torch.Tensor, size: Numbers = None, scale_factor: Numbers = None, **options: Any
) -> torch.Tensor:
    """What `torch.nn.functional.interpolate` gives, from operators that take sizes as they are."""
    rank = x.dim() - 2
    mode, align_corners = options.get("mode", "nearest"), bool(options.get("align_corners"))
    sizes: Any = list(size) if isinstance(size, tuple | list) else [size] * rank
    factors: Any = [None] * rank
    if size is None:
        given: Any = list(scale_factor) if isinstance(scale_factor, tuple | list) else [scale_factor] * rank
        sizes = [math.floor(float(x.shape[place + 2]) * factor) for place, factor in enumerate(given)]
        factors = factors if options.get("recompute_scale_factor") else given
    if mode == "nearest":
        return NEAREST[rank - 1].default(x, sizes, *factors)
    if mode == "nearest-exact":
        return NEAREST_EXACT[rank - 1].default(x, sizes, *factors)
    if mode == "area":
        return POOLING[rank - 1](x, sizes)
    return LINEAR[mode].default(x, sizes, align_corners, *factors)


def pooled(
    x: torch.Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> torch.Tensor:
    """What `torch.max_pool1d` gives, as of an image of height 1; without gradients it is row-major."""
    if not (x.requires_grad and torch.is_grad_enabled()):
        x = x.contiguous()
    stride = kernel_size if stride is None or stride in ((), []) else stride
    parts: list[Any] = [
        [fixed, *(one if isinstance(one, tuple | list) else [one])]
        for fixed, one in ((1, kernel_size), (1, stride), (0, padding), (1, dilation))
    ]
    kernel, step, pad, spread = parts
    return torch.max_pool2d(x.unsqueeze(-2), kernel, step, pad, spread, ceil_mode).squeeze(-2)


def spaced(start: float, end: float, steps: int, **options: Any) -> torch.Tensor:
    """What `torch.linspace` gives: counted from the start in the first half, from the end in the second."""
    options = {"dtype": torch.get_default_dtype(), **options}
    places = torch.arange(steps, **options)
    for bound in (start, end):
        torch.full((), bound, **options)  # which refuses what is outside of the type, as eager does
    counts = torch.full_like(places, steps)
    step = (end - start) / (counts - 1).clamp(min=1)
    is_late = (places >= steps // 2) & (places > 0)
    spread = torch.where(is_late, end - step * (steps - 1 - places), start + step * places)
    return torch.where(counts == 1, start, spread)


def divided(x: torch.Tensor, sections: int, dim: int = 0) -> tuple[torch.Tensor, ...]:
    """What `tensor_split` into a number of sections gives."""
    each, more = x.size(dim) // sections, x.size(dim) % sections
    starts = [place * each + min(place, more) for place in range(sections + 1)]
    return tuple(
        [x.narrow(dim, starts[place], starts[place + 1] - starts[place]) for place in range(sections)]
    )


def differences(
    x: torch.Tensor, n: int = 1, dim: int = -1, prepend: Extra = None, append: Extra = None
) -> torch.Tensor:
    """What `torch.diff` gives, of order 1 or more: of nothing, the tensor itself."""
    if prepend is not None or append is not None:
        x = torch.cat([part for part in (prepend, x, append) if part is not None], dim)
    for _ in range(n):
        less = x.size(dim) - 1
        if less < 0:
            break
        late, early = x.narrow(dim, 1, less), x.narrow(dim, 0, less)
        x = late ^ early if x.dtype == torch.bool else late - early
    return x


def pieces(x: torch.Tensor, chunks: int, dim: int = 0) -> tuple[torch.Tensor, ...]:
    """What `chunk` gives: of nothing, as many pieces as were asked for."""
    return tuple(aten.chunk.default(x if x.size(dim) else x.narrow(dim, 0, 0), chunks, dim))


_ONLY_PLAIN: Final = frozenset(("out", "antialias", "return_indices"))


def _for_plain_sizes(
    function: Function, general: Function, most: int, machine: Machine, args: Args, kwargs: Kwargs
) -> Value:
    """A function that takes plain sizes; `general` takes others, and `most` arguments."""
    named = {name: given for name, given in kwargs.items() if name not in ("input", "self", "out")}
    given = [*args, *(kwargs[name] for name in ("input", "self") if name in kwargs)]
    if (
        any(_is_symbolic(machine, one) for one in (*given, *named.values()))
        and _ONLY_PLAIN.isdisjoint(kwargs)
        and len(args) <= most
    ):
        return machine.call(machine.wrap(general, None), given, named)
    return _by_eager(function, machine, args, kwargs)


def _is_symbolic(machine: Machine, value: Value) -> bool:
    """Tell whether an argument is a symbolic number, has one, or is a tensor with a symbolic size."""
    if isinstance(value, SequenceValue):
        return any(_is_symbolic(machine, one) for one in value.all(machine))
    if isinstance(value, TensorValue):
        return any(isinstance(size, torch.SymInt) for size in value.fake.shape)
    return isinstance(value, SymbolicValue)


def _by_eager(function: Function, machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """A function of torch on numbers as they are in this call; what it refuses breaks the graph."""
    args, kwargs = [_plain(arg) for arg in args], {key: _plain(arg) for key, arg in kwargs.items()}
    op = torch_op(function)
    return machine.inline_anyway(function, args, kwargs) if op is None else emit(machine, op, args, kwargs)


def _are_usual(machine: Machine, least: int, numbers: Sequence[Value | None]) -> bool:
    """Tell whether numbers are integers, at least so large, and no truth values; None is a default."""
    for one in numbers:
        if one is None:
            continue
        if one.python_type() is not int or machine.compare("<", one, ConstantValue(least)).truth(machine):
            return False
    return True


_MODES: Final = {
    "nearest": (3, 4, 5),
    "nearest-exact": (3, 4, 5),
    "area": (3, 4, 5),
    "linear": (3,),
    "bilinear": (4,),
    "bicubic": (4,),
    "trilinear": (5,),
}
"""How images are made larger or smaller, and the ranks of the images for which there is each."""


_INTERPOLATE: Final[Function] = functional.interpolate
"""Torch's own, whatever a program puts in its place."""


@call.on(_INTERPOLATE)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """What eager refuses of the arguments, it refuses in words of its own."""
    names = ("input", "size", "scale_factor", "mode", "align_corners", "recompute_scale_factor")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    options = {name: given.pop(name).as_python() for name in names[3:] if name in given}
    mode, corners, again = options.get("mode", "nearest"), *(options.get(name) for name in names[4:])
    image, numbers = given.pop("input", NONE), dict[str, Sequence[Value]]()
    for name, one in given.items():
        if one.identity() is not None:
            numbers[name] = one.all(machine) if isinstance(one, SequenceValue) else [one]
    kinds = {name: [part.python_type() for part in parts] for name, parts in numbers.items()}
    ranks = _MODES.get(mode, ()) if isinstance(mode, str) else ()
    is_usual = (
        isinstance(image, TensorValue)
        and image.fake.dim() in ranks
        and (corners is None or (type(corners) is bool and mode in LINEAR))
        and (again is None or again is False or (again is True and "size" not in kinds))
        and len(kinds) == 1
        and given.keys() <= _NUMBERS.keys()
        and all(set(found) <= _NUMBERS.get(name, set()) for name, found in kinds.items())
        and all(len(found) in (1, image.fake.dim() - 2) for found in kinds.values())
        and all(_is_moderate(machine, factor) for factor in numbers.get("scale_factor", ()))
    )
    if not is_usual:
        return _by_eager(_INTERPOLATE, machine, args, kwargs)
    return _for_plain_sizes(_INTERPOLATE, resized, 3, machine, args, kwargs)


def _is_moderate(machine: Machine, factor: Value) -> bool:
    """Tell whether a size times this factor is a number that is a size again; it is not for a NaN."""
    ends = ((">", ConstantValue(0)), ("<", ConstantValue(_LARGE)))
    return all(machine.compare(op, factor, end).truth(machine) for op, end in ends)


_LARGE: Final = 2.0**20
_NUMBERS: Final[dict[str, set[type]]] = {"size": {int}, "scale_factor": {int, float}}
"""What sizes and factors are."""


def _max_pool1d(function: Function, machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """What eager refuses of the window, it refuses in words of its own."""
    names = ("input", "kernel_size", "stride", "padding", "dilation", "ceil_mode")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    kernel, stride, padding, dilation = (_only(machine, given.get(name)) for name in names[1:5])
    is_usual = _are_usual(machine, 1, (kernel, stride, dilation)) and _are_usual(machine, 0, (padding,))
    image = given.get("input")
    is_tensor = isinstance(image, TensorValue)
    if is_tensor and not image.fake.dtype.is_floating_point:
        machine.unsupported(breaks.CALL, name=f"torch.max_pool1d of {image.fake.dtype}, which it may refuse,")
    if not (is_usual and is_tensor):
        return _by_eager(function, machine, args, kwargs)
    return _for_plain_sizes(function, pooled, 6, machine, args, kwargs)


def _only(machine: Machine, value: Value | None) -> Value | None:
    """Return a number, also of a sequence of one; None for None and, as a stride, for a sequence of none."""
    if isinstance(value, SequenceValue) and len(value.items) == 1:
        return value.at(machine, 0)
    return None if value is None or value.identity() is None else value


for _function in (functional.max_pool1d, torch.max_pool1d):
    call.on(_function)(partial(_max_pool1d, _function))


def _hidden_views(function: Function, machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Pieces that show a tensor's memory, which neither autograd nor a graph knows of."""
    machine.unsupported(breaks.CALL, name=function.__name__)


for _name in ("unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes"):
    for _function in (getattr(torch, _name), getattr(torch.Tensor, _name)):
        call.on(_function)(partial(_hidden_views, _function))


@call.on(torch.Tensor.sum_to_size)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """The tensor itself where it has the sizes (guarded); to no sizes all is summed."""
    x, *sizes = args
    if len(sizes) == 1 and isinstance(sizes[0], SequenceValue):
        sizes = sizes[0].all(machine)
    if isinstance(x, TensorValue) and 0 < len(sizes) == x.fake.dim() and not kwargs:
        own = [machine.wrap(size, None) for size in x.fake.shape]
        pairs = zip(own, sizes, strict=True)
        if all(machine.compare("==", one, wanted).truth(machine) for one, wanted in pairs):
            return x
    op = torch_op(torch.Tensor.sum_to_size)
    assert op is not None, "Tensor.sum_to_size is an operator"
    return emit(machine, op, args, kwargs)


@call.on(torch.arange)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Tensors without dimensions or gradients stand for numbers."""
    op = torch_op(torch.arange)
    assert op is not None, "torch.arange is an operator"

    def number(value: Value) -> Value:
        is_number = isinstance(value, TensorValue) and not (value.fake.dim() or value.fake.requires_grad)
        return item_of(machine, value) if is_number else value

    named = {name: value if name == "out" else number(value) for name, value in kwargs.items()}
    return emit(machine, op, list(map(number, args)), named)


@call.on(torch.linspace)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Integers and complex numbers are rounded in ways of their own: eager makes them, for plain sizes."""
    dtype = kwargs["dtype"].as_python() if "dtype" in kwargs else torch.get_default_dtype()
    steps = kwargs.get("steps", args[2] if len(args) > 2 else None)
    if dtype in (None, torch.float32, torch.float64) and _are_usual(machine, 0, (steps,)):
        return _for_plain_sizes(torch.linspace, spaced, 3, machine, args, kwargs)
    return _by_eager(torch.linspace, machine, args, kwargs)


def _plain(value: Value) -> Value:
    """Return a number as it is in this call, guarded."""
    return ConstantValue(value.as_python()) if isinstance(value, SymbolicValue) else value


@call.on(torch.Tensor.new)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """A `torch.Size` says sizes, where another tuple says contents: graphs hold the sizes one by one."""
    op = torch_op(torch.Tensor.new)
    assert op is not None, "Tensor.new is an operator"
    if len(args) == 2 and isinstance(sizes := args[1], SequenceValue) and sizes.python_type() is torch.Size:
        return emit(machine, op, [args[0], *sizes.all(machine)], kwargs)
    return emit(machine, op, args, kwargs)


_ALIASES: Final = {"axis": "dim", **dict.fromkeys(("input", "self", "a", "x1"), "x")}
"""How else torch, as NumPy does, calls the arguments of the functions that stand for its own."""


def _of_counts(
    function: Function, general: Callable[..., object], machine: Machine, args: Args, kwargs: Kwargs
) -> Value:
    """A function of a tensor, a positive integer, a dimension and more; eager takes or refuses other ones."""
    named = {_ALIASES.get(name, name): given for name, given in kwargs.items()}
    try:
        bound = inspect.signature(general).bind(*args, **named)
    except TypeError:
        return _by_eager(function, machine, args, kwargs)
    bound.apply_defaults()
    given = [one if isinstance(one, Value) else ConstantValue(one) for one in bound.args]
    x, count, dim, *_ = given
    is_usual = isinstance(x, TensorValue) and x.fake.dim() > 0 and dim.python_type() is int
    if not is_usual or len(named) != len(kwargs) or not _are_usual(machine, 1, (count,)):
        return _by_eager(function, machine, args, kwargs)
    return _for_plain_sizes(function, general, len(given), machine, given, {})


for _name, _general in (("tensor_split", divided), ("chunk", pieces), ("diff", differences)):
    for _function in (getattr(torch, _name), getattr(torch.Tensor, _name)):
        call.on(_function)(partial(_of_counts, _function, _general))


def _with_plain_sizes(machine: Machine, value: Value) -> Value:
    """Return a tensor, or a list of them, with the sizes of this call as plain numbers (guarded)."""
    if isinstance(value, SequenceValue):
        return SequenceValue(value.kind, [_with_plain_sizes(machine, one) for one in value.all(machine)])
    if not isinstance(value, TensorValue) or not any(isinstance(s, torch.SymInt) for s in value.fake.shape):
        return value
    sizes = [ConstantValue(number(expr_of(size))) for size in value.fake.shape]
    return machine.call_leaf(torch.Tensor.reshape, [value, *sizes], {})


def _recurrent(function: Function, machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """A recurrent network, whose loop over the steps torch unrolls in C++."""
    op = torch_op(function)
    assert op is not None, function
    return emit(machine, op, [_with_plain_sizes(machine, one) for one in args], kwargs)


for _function in (torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu):
    call.on(_function)(partial(_recurrent, _function))
