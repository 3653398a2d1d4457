"""What eager says of arguments that do not fit: the operator itself is asked, on zeros of the same sizes."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import torch

from supple.base.memo import of_object
from supple.expr.real import inputs_of
from supple.ir.arguments import map_leaves
from supple.shapes.decide import hint
from supple.shapes.errors import Misfit, Undecided
from supple.shapes.symnode import Symbolic, expr_of, node_of
from supple.torch_private import OpOverload, no_torch_dispatch, schema_of


def refusal(
    func: OpOverload, args: tuple[object, ...], kwargs: Mapping[str, object], otherwise: Exception
) -> Exception:
    """Return the error that eager raises for these arguments, of the sizes of this call and without guards.

    Where a size is known at run time only, or eager takes the arguments, it is `otherwise`.
    """
    try:
        with no_torch_dispatch():
            func(*map(_plain, args), **{name: _plain(arg) for name, arg in kwargs.items()})
    except Undecided:
        return otherwise
    except (RuntimeError, IndexError, TypeError, ValueError, OverflowError) as error:
        return error.with_traceback(None)  # whose frames hold what keeps the error: nothing would be let go
    return otherwise


def refused(func: OpOverload, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Exception | None:
    """Return what eager raises where a number does not go into the type of the tensors, if it does.

    It is asked on few elements of each tensor first: many such numbers are fine. A symbolic number that may
    be another in the next call is guarded to be within the range, or is specialised.
    """
    if torch.Tag.nondeterministic_seeded in func.tags or _UNSAFE.search(func.name()):
        return None
    given = (*args, *kwargs.values())
    numbers = list(_numbers(func, args, kwargs))
    typed = [x for x in given if isinstance(x, torch.dtype | torch.Tensor)]
    types = [one if isinstance(one, torch.dtype) else one.dtype for one in typed]
    outside = [_is_outside(number, dtype) for number in numbers for dtype in types or [_type_of(number)]]
    if any(isinstance(one, torch.SymFloat | torch.SymInt) for one in given):
        types = types or [torch.get_default_dtype()]
        goal = next((x for x in typed if isinstance(x, torch.dtype)), types[0])
        outside += [_is_specialised(func, one, goal) for one in _scalars(func, args, kwargs)]
    if not any(outside):
        return _unimplemented(func, args, kwargs)
    few, named = _on_few(args, kwargs)
    is_fine = refusal(func, few, named, _ACCEPTED) is _ACCEPTED
    found = _ACCEPTED if is_fine else refusal(func, args, kwargs, _ACCEPTED)
    return None if found is _ACCEPTED else found


_UNSAFE: Final = re.compile("backward|mkldnn|rnn|lstm|gru|attention")
"""Operators that read what another one left for them: with zeros in its place they write anywhere."""


def _numbers(func: OpOverload, args: Sequence[object], kwargs: Mapping[str, object]) -> Iterator[complex]:
    """Yield the plain numbers that an operator may convert to the type of the tensors: no sizes."""
    for place, parameter in enumerate(schema_of(func).arguments):
        one = args[place] if place < len(args) else kwargs.get(parameter.name)
        is_size = "int" in str(parameter.type).lower()
        if isinstance(one, int | float | complex) and not isinstance(one, bool) and not is_size:
            yield one


def _type_of(number: complex) -> torch.dtype:
    """Return the type of a tensor that is made from a number alone; of a complex one eager is asked."""
    return torch.int64 if isinstance(number, int) else torch.get_default_dtype()


def _on_few(
    args: Sequence[object], kwargs: Mapping[str, object]
) -> tuple[tuple[object, ...], dict[str, object]]:
    """Return the arguments with a few elements in place of each tensor."""
    with no_torch_dispatch():
        few = tuple(map_leaves(_few, arg) for arg in args)
        return few, {name: map_leaves(_few, arg) for name, arg in kwargs.items()}


def _unimplemented(
    func: OpOverload, args: Sequence[object], kwargs: Mapping[str, object]
) -> Exception | None:
    """Return what eager raises where it has an operator for other types of tensors only.

    Shape rules and meta kernels do not know that. It is asked once for each overload and types. Of pointwise
    operators a few elements do; others are asked on zeros of the same sizes: all where a type is complex,
    some where the types are not the usual ones of models, or the operator takes few of those. Not always:
    zeros where an operator expects what another one left for it (`mkldnn_rnn_layer_backward`) make it write
    anywhere.
    """
    found: list[object] = []
    map_leaves(found.append, (*args, *kwargs.values()))
    types = tuple(
        x.dtype if isinstance(x, torch.Tensor) else x
        for x in found
        if isinstance(x, torch.Tensor | torch.dtype)
    )
    is_pointwise = torch.Tag.pointwise in func.tags
    is_usual = torch.bool not in found and _are_usual(func, types)
    is_asked = schema_of(func).name in _ASKED and not is_usual
    if not (is_pointwise or is_asked or any(one.is_complex for one in types)):
        return None
    known = _known(func)
    if types not in known:
        few = _on_few(args, kwargs) if is_pointwise else (tuple(args), dict(kwargs))
        error = refusal(func, *few, _ACCEPTED)
        known[types] = error if _OF_TYPES.search(str(error)) else None
    answer = known[types]
    # A new one each time: what is raised keeps the frames that it goes through.
    return None if answer is None else type(answer)(*answer.args)


_CHOOSY: Final = frozenset(
    f"aten::{name}"
    for name in "binary_cross_entropy binary_cross_entropy_with_logits nll_loss_forward nll_loss2d_forward "
    "linalg_cross dist complex polar grid_sampler_2d grid_sampler_3d isin huber_loss searchsorted bucketize "
    "_pdist_forward".split()
)
"""Operators that take floats of one or two types only, and no integers next to them."""
_WIDE: Final = frozenset(
    f"aten::{name}"
    for name in "linalg_lu_factor_ex linalg_qr geqrf ormqr avg_pool3d _upsample_bilinear2d_aa "
    "_upsample_bicubic2d_aa _fft_r2c _fft_c2r _fft_c2c".split()
)
"""Operators that take no floats of two bytes."""
_ASKED: Final = (
    _CHOOSY
    | _WIDE
    | {
        f"aten::{name}"
        for name in "native_layer_norm native_group_norm native_batch_norm convolution mv addmv dot vdot mm "
        "addmm bmm baddbmm _trilinear _prelu_kernel _cdist_forward _euclidean_dist log_sigmoid_forward "
        "addbmm im2col col2im linspace logspace cumsum cumprod logcumsumexp".split()
    }
)
"""Operators that may be asked: they compute and do nothing else, and read no memory of their own making."""


_HALVES: Final = frozenset((torch.float16, torch.bfloat16))


def _are_usual(func: OpOverload, types: Sequence[torch.dtype]) -> bool:
    """Tell whether types go together in models: those of floats are one, next to places and masks."""
    name = schema_of(func).name
    if name in _CHOOSY or (name in _WIDE and not _HALVES.isdisjoint(types)):
        return False
    floats = {one for one in types if one.is_floating_point or one.is_complex}
    return not types or (len(floats) == 1 and {*types} - floats <= {torch.int64, torch.bool})


_OF_TYPES: Final = re.compile(
    "implemented for|expects|[dD]type|[tT]ype|complex|boolean|Subtraction|Expected both inputs"
)
"""What errors say that tell of the types of tensors."""


@of_object
def _known(_func: OpOverload) -> dict[tuple[torch.dtype, ...], Exception | None]:
    return {}


_ACCEPTED: Final = Misfit("eager takes the arguments")


Symbol = torch.SymFloat | torch.SymInt


def _scalars(func: OpOverload, args: Sequence[object], kwargs: Mapping[str, object]) -> Iterator[Symbol]:
    """Yield the symbolic numbers that an operator converts to the type of the tensors; sizes are none.

    Numbers that follow from sizes alone are taken to be within the range.
    """
    for place, parameter in enumerate(schema_of(func).arguments):
        given = args[place] if place < len(args) else kwargs.get(parameter.name)
        if not isinstance(given, Symbol) or not node_of(given).has_hint():
            continue
        is_of_sizes = isinstance(given, torch.SymFloat) and not inputs_of(node_of(given).expr)
        if not is_of_sizes and "number" in str(parameter.type).lower():
            yield given


def _is_specialised(func: OpOverload, number: Symbol, dtype: torch.dtype) -> bool:
    """Specialise a number outside of a type's range, or a float beside integers; tell whether it is one."""
    is_float = isinstance(number, torch.SymFloat)
    if dtype is torch.float64 or dtype.is_complex or (not is_float and dtype in _OF_ALL_INTEGERS):
        return False
    if is_float and not dtype.is_floating_point:
        is_promoted = func.name().removeprefix("aten::").partition(".")[0] in _PROMOTING
        return not is_promoted and isinstance(float(number), float)
    limits = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    is_outside = (number > limits.max and number != math.inf) or (number < limits.min and number != -math.inf)
    if is_outside:
        _ = float(number) if is_float else int(number)
    return bool(is_outside)


_PROMOTING: Final = frozenset("eq ne lt le gt ge pow rsub".split())
"""Operators that compute with a float beside integers as with a tensor of floats."""
_OF_ALL_INTEGERS: Final = (torch.bool, torch.int64, torch.float32, torch.bfloat16)
"""Types that every int of a size can be converted to."""


def _is_outside(number: complex, dtype: torch.dtype) -> bool:
    """Tell whether a number is outside of the range of a type, or of a kind that the type has not."""
    if isinstance(number, complex):
        return not dtype.is_complex
    if dtype.is_floating_point:
        return math.isfinite(number) and abs(number) > torch.finfo(dtype).max
    if dtype is torch.bool or dtype.is_complex or isinstance(number, float):
        return isinstance(number, float) and not dtype.is_complex
    limits = torch.iinfo(dtype)
    return not limits.min <= number <= limits.max


def _few(leaf: object) -> object:
    return torch.zeros([2] * leaf.ndim, dtype=leaf.dtype) if isinstance(leaf, torch.Tensor) else leaf


def _plain(arg: object) -> object:
    return map_leaves(_plain_leaf, arg)


def _plain_leaf(leaf: object) -> object:
    """Return a number as it is in this call, a tensor as zeros of its sizes and strides."""
    if isinstance(leaf, Symbolic):
        found = node_of(leaf).hint
        if found is None:
            raise Undecided(leaf)
        return found
    if not isinstance(leaf, torch.Tensor):
        return leaf
    sizes, strides = ([hint(expr_of(one)) for one in numbers] for numbers in (leaf.shape, leaf.stride()))
    last = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    device = "cpu" if leaf.device.type == "cpu" else "meta"
    return torch.zeros(max(last, 0) + 1, dtype=leaf.dtype, device=device).as_strided(sizes, strides)
