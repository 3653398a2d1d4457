"""Operators that write an argument, and the pure overload that computes the same numbers."""

from dataclasses import dataclass
from functools import cache
from typing import Final

import torch

from supple.torch_private import OpOverload, schema_of

#: Packets whose pure form has a name of its own.
_PURE_PACKETS: Final = {"normal_": "normal_functional"}
_JOINING: Final = frozenset(("set_",))
"""Packets that give a tensor the memory of another: no value of a graph is that memory."""


@dataclass(frozen=True, slots=True)
class Write:
    """How an overload with a written argument is expressed by a pure one.

    Attributes:
        pure: the overload without writes; its result is the new value of the written argument.
        written: the position of the written argument, or the name of a keyword argument.
    """

    pure: OpOverload
    written: int | str


def is_writer(overload: OpOverload) -> bool:
    """Tell whether an overload writes any argument."""
    return schema_of(overload).is_mutable


@cache
def write_of(overload: OpOverload) -> Write | None:
    """Return the pure form of an overload that writes exactly one tensor, or None when there is none."""
    schema = schema_of(overload)
    written = [
        (place, argument)
        for place, argument in enumerate(schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    if len(written) != 1 or not str(written[0][1].type).startswith(("Tensor",)):
        return None
    place, target = written[0]
    is_out = bool(target.is_out)
    packet = schema.name.split("::")[1]
    if packet in _JOINING:
        return None
    wanted = _signature(overload, written=place if is_out else None)
    pure = _find(_PURE_PACKETS.get(packet, packet if is_out else packet.rstrip("_")), wanted)
    if pure is None:
        return None
    return Write(pure, str(target.name) if is_out else place)


def _signature(overload: OpOverload, written: int | None = None) -> list[tuple[str, str]]:
    """Return names and types of the arguments, without the one at place `written`."""
    arguments = schema_of(overload).arguments
    return [
        (str(a.name), str(a.type)) for place, a in enumerate(arguments) if written is None or place != written
    ]


def _find(packet_name: str, wanted: list[tuple[str, str]]) -> OpOverload | None:
    """Return the pure overload of a packet whose arguments have these names and types in this order."""
    packet = getattr(torch.ops.aten, packet_name, None)
    if packet is None:
        return None
    for overload_name in packet.overloads():
        overload: OpOverload = getattr(packet, overload_name)
        schema = schema_of(overload)
        if not schema.is_mutable and _signature(overload) == wanted:
            return overload
    return None


def completed(overload: OpOverload, args: tuple[object, ...]) -> tuple[object, ...]:
    """Return positional arguments with the defaults of those left out, which the pure form may not have."""
    rest = [a for a in schema_of(overload).arguments if not a.kwarg_only][len(args) :]
    return (*args, *(a.default_value for a in rest if a.has_default_value()))
