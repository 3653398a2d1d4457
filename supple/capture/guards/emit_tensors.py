"""Checks of tensors and of conditions on sizes: a part of the tables of `emit`."""

import math
from typing import cast

import torch

from supple.capture.guards.emit import Emitter, base_of, check_rules, load_rules
from supple.capture.guards.kinds import Guard, Kind, ShapeCondition, TensorExpectation
from supple.capture.source import SizeAt, Source, StrideAt, attribute
from supple.expr import Symbol, free_symbols, substitute
from supple.expr import text as expression
from supple.expr.real import NAMES, Comparison
from supple.torch_private import dispatch_keys


@load_rules.on(SizeAt)
def _(emitter: Emitter, source: Source) -> str:
    """The shape is read once per tensor."""
    return f"{emitter.variable(attribute(base_of(source), 'shape'))}[{cast('SizeAt', source).dim}]"


@load_rules.on(StrideAt)
def _(emitter: Emitter, source: Source) -> str:
    """`x.stride(dim)`."""
    return f"{emitter.variable(base_of(source))}.stride({cast('StrideAt', source).dim})"


@check_rules.on(Kind.TENSOR)
def _(emitter: Emitter, guard: Guard) -> str:
    """All metadata, what differs most often first.

    Note [Keys of parameters]: the dispatch keys cost as much as all other parts together and are left out for
    an `nn.Parameter`. Given its device, dtype, layout (it has strides) and no active transform (STATE), what
    remains are the inference and the negative bit. No operation of torch turns those on in a tensor in place,
    and a Parameter has them only when somebody wraps such a tensor on purpose.
    """
    expected = cast("TensorExpectation", guard.expected)
    value = emitter.variable(guard.source)
    parts = [
        f"{emitter.type_of(guard.source)} is not {emitter.constant(expected.kind)}",
        _sizes(emitter, guard.source, expected),
        f"{value}.dtype is not {emitter.constant(expected.dtype)}",
        f"{value}.requires_grad is not {expected.requires_grad}",
        _strides(emitter, guard.source, expected),
        _device(emitter, value, cast("torch.device", expected.device)),
    ]
    if expected.kind is not torch.nn.Parameter:
        parts.append(f"{emitter.constant(dispatch_keys)}({value}) != {expected.keys}")
    return " or ".join(part for part in parts if part)


def _sizes(emitter: Emitter, source: Source, expected: TensorExpectation) -> str:
    """All sizes at once; with dynamic ones among them, the rank and the static ones."""
    if None not in expected.sizes:
        return f"{emitter.variable(source)}.shape != {expected.sizes!r}"
    shape = emitter.variable(attribute(source, "shape"))
    parts = [f"{emitter.constant(len)}({shape}) != {len(expected.sizes)}"]
    parts += [f"{shape}[{dim}] != {size}" for dim, size in enumerate(expected.sizes) if size is not None]
    return " or ".join(parts)


def _strides(emitter: Emitter, source: Source, expected: TensorExpectation) -> str:
    """Contiguity says it all, at half the price, where no size leaves a stride open."""
    value = emitter.variable(source)
    if expected.is_static:
        sizes = cast("tuple[int, ...]", expected.sizes)
        contiguous = tuple(math.prod(sizes[i + 1 :]) for i in range(len(sizes)))
        if expected.strides == contiguous and all(size > 1 for size in sizes):
            return f"not {value}.is_contiguous()"
        return f"{value}.stride() != {expected.strides!r}"
    if expected.is_row_major:
        return f"not {value}.is_contiguous()"
    shape = emitter.variable(attribute(source, "shape"))
    return " or ".join(
        f"{shape}[{dim}] > 1 and {value}.stride({dim}) != {stride}"
        for dim, stride in enumerate(expected.strides)
        if stride is not None
    )


@check_rules.on(Kind.SHAPE)
def _(emitter: Emitter, guard: Guard) -> str:
    """The condition as Python text over the numbers that it is about."""
    expected = cast("ShapeCondition", guard.expected)
    emitter.namespace.update(min=min, max=max)
    variables = dict(zip(expected.names, map(emitter.variable, guard.others), strict=True))
    if isinstance(expected.condition, Comparison):
        emitter.namespace.update(NAMES, abs=abs, float=float, round=round)
        return f"not ({expected.condition.renamed(variables)})"
    named = {s: Symbol(variables[s.name], s.minimum, s.maximum) for s in free_symbols(expected.condition)}
    return f"not ({expression(substitute(expected.condition, named), ranges=False)})"


def _device(emitter: Emitter, value: str, device: torch.device) -> str:
    """There is one cpu device, and its flag is three times as fast to read as the device."""
    if device.type == "cpu":
        return f"not {value}.is_cpu"
    return f"{value}.device != {emitter.constant(device)}"
