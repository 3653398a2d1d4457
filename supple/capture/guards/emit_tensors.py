"""When guards on tensors and on sizes fail."""

import math
from collections.abc import Mapping
from typing import Final, cast

import torch

from supple.capture.guards.kinds import Guard, ShapeCondition, TensorExpectation
from supple.capture.guards.writer import Emitter
from supple.capture.source import Source, attribute, type_of
from supple.expr.real import NAMES
from supple.torch_private import key_set


def tensor_fails(emitter: Emitter, guard: Guard) -> str:
    """All metadata, what differs most often first.

    Note [Keys of parameters]: the dispatch keys cost as much as all other parts together and are left out for
    an `nn.Parameter`. Given its device, dtype, layout (it has strides) and no active transform (STATE), what
    remains are the negative, the conjugate and the inference bit, which `p.data = ...` may bring: each is
    asked for, at a quarter of the price.
    """
    expected = cast("TensorExpectation", guard.expected)
    value = emitter.variable(guard.source)
    parts = [
        f"{emitter.variable(type_of(guard.source))} is not {emitter.constant(expected.kind)}",
        _sizes(emitter, guard.source, expected),
        f"{value}.dtype is not {emitter.constant(expected.dtype)}",
        f"{value}.requires_grad is not {expected.requires_grad}",
        _strides(emitter, guard.source, expected),
        _device(emitter, value, cast("torch.device", expected.device)),
    ]
    if expected.kind is not torch.nn.Parameter:
        parts.append(f"{emitter.called(key_set, value)}.raw_repr() != {expected.keys}")
    else:
        bits = zip(_BITS, expected.bits, strict=True)
        parts += [f"{value}.{name}() is not {bit}" for name, bit in bits if _may_have(name, expected.dtype)]
    return " or ".join(part for part in parts if part)


_BITS: Final = ("is_neg", "is_inference", "is_conj")
"""Methods of a tensor that tell of `TensorExpectation.bits`."""


def _may_have(bit: str, dtype: object) -> bool:
    return bit != "is_conj" or dtype in (torch.complex64, torch.complex128)


def _sizes(emitter: Emitter, source: Source, expected: TensorExpectation) -> str:
    """All sizes at once; with dynamic ones among them, the rank and the static ones."""
    if None not in expected.sizes:
        return f"{emitter.variable(source)}.shape != {expected.sizes!r}"
    shape = emitter.variable(attribute(source, "shape"))
    parts = [f"{emitter.called(len, shape)} != {len(expected.sizes)}"]
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


def _device(emitter: Emitter, value: str, device: torch.device) -> str:
    """There is one cpu device, and its flag is three times as fast to read as the device."""
    if device.type == "cpu":
        return f"not {value}.is_cpu"
    return f"{value}.device != {emitter.constant(device)}"


def shape_fails(emitter: Emitter, guard: Guard) -> str:
    """The condition as Python text over the numbers that it is about.

    Conditions share operations on floats, and functions of sizes, so each gets a variable.
    """
    expected = cast("ShapeCondition", guard.expected)
    words = dict(zip(expected.names, map(emitter.variable, guard.others), strict=True))

    def written(word: str) -> str:
        return emitter.constant(_NAMES[word]) if word in _NAMES else words.get(word, word)

    return f"not ({expected.text(written, lambda operation: emitter.store(operation, operation))})"


_NAMES: Final[Mapping[str, object]] = {
    **NAMES,
    "min": min,
    "max": max,
    "abs": abs,
    "float": float,
    "round": round,
}
"""What the text of a condition calls."""
