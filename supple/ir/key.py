"""The key of a frozen value: what shares compiled code shares it under `key_of` all that was compiled.

The key is made of the whole value. Reflection finds the fields of dataclasses, so nobody has to remember one;
a field that says nothing about the compiled code (the user's line, say) is declared with `metadata=UNKEYED`
where it is defined. Equal keys mean equal values, in every process.
"""

import struct
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Final, cast

import torch

from supple.base.memo import memo
from supple.base.stable import digest
from supple.expr import Expr
from supple.expr.real import Real
from supple.expr.text import Print

UNKEYED: Final[Mapping[str, bool]] = types.MappingProxyType({"unkeyed": True})
"""Metadata of a dataclass field that is no part of the key."""


class NoKey(Exception):
    """A value holds an object without a form of its own: a function, an instance of a user's class."""


def key_of(*values: object) -> str | None:
    """Return a digest of values and of all that is in reach of them; None where an object has no form."""
    writer = _Writer()
    try:
        writer.write_all(tuple, values)
    except NoKey:
        return None
    return digest("\0".join(writer.parts))


class _Writer:
    """Writes values as text without ambiguity: a part begins with its kind, a container with its length."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._print = Print(ranges=True, kept=self._kept)
        self._count = 0
        self._reals: dict[Real, int] = {}

    def write(self, value: object) -> None:
        """Append the parts of a value.

        Raises:
            NoKey: it has no form.
        """
        kind = type(value)
        if kind in _ATOMS:
            self.parts.append(_ATOMS[kind](value))
        elif isinstance(value, Expr):
            self.parts.append(f"expr {self._print(value)}")
        elif isinstance(value, Real):
            self._write_real(value)
        elif isinstance(value, Enum):
            self.parts.append(f"{_name(kind)} {value.name}")
        else:
            self.write_all(kind, _contents(value))

    def write_all(self, kind: type, items: Iterable[object]) -> None:
        """Append what contains other values."""
        contents = tuple(items)
        self.parts.append(f"{_name(kind)} {len(contents)}")
        for item in contents:
            self.write(item)

    def _kept(self, _: Expr, shown: str) -> str:
        """Append a function of sizes, which many may share, and return its number."""
        self._count += 1
        self.parts.append(f"{self._count} is {shown}")
        return f"#{self._count}"

    def _write_real(self, real: Real) -> None:
        """Append the operation and its operands; or the number of one that has been written."""
        if real in self._reals:
            self.parts.append(f"real {self._reals[real]}")
            return
        self.write_all(Real, (real.op, *real.args))
        self._reals[real] = len(self._reals)


def _contents(value: object) -> Iterable[object]:
    """Return what a container or a dataclass holds, in an order that equal values share.

    Raises:
        NoKey: it is something else.
    """
    kind = type(value)
    if kind in (list, tuple, torch.Size):
        return cast("Iterable[object]", value)
    if isinstance(value, slice):
        bounds = cast("slice[object, object, object]", value)
        return (bounds.start, bounds.stop, bounds.step)
    if isinstance(value, dict | types.MappingProxyType):
        return (part for pair in cast("Mapping[object, object]", value).items() for part in pair)
    if isinstance(value, set | frozenset):
        return sorted(_digest(member) for member in cast("frozenset[object]", value))
    if is_dataclass(kind):
        return (getattr(value, name) for name in _keyed(kind))
    raise NoKey(_name(kind))


def _digest(member: object) -> str:
    key = key_of(member)
    if key is None:
        raise NoKey(_name(type(member)))
    return key


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


@memo(1024)
def _keyed(kind: type) -> tuple[str, ...]:
    """Return the names of a dataclass's fields that are part of the key."""
    return tuple(one.name for one in fields(kind) if not one.metadata.get("unkeyed"))


def _bits(value: float) -> str:
    """Return the bits of a float: -0.0 is not 0.0, and one NaN is not another."""
    return struct.pack("=d", value).hex()


def _real(value: object) -> str:
    return f"float {_bits(cast('float', value))}"


def _complex(value: object) -> str:
    number = cast("complex", value)
    return f"complex {_bits(number.real)} {_bits(number.imag)}"


def _shown(value: object) -> str:
    return f"{type(value).__name__} {value!r}"


_ATOMS: Final[dict[type, Callable[..., str]]] = {
    **dict.fromkeys((type(None), bool, int, str, bytes, type(Ellipsis)), _shown),
    float: _real,
    complex: _complex,
    **dict.fromkeys((torch.dtype, torch.layout, torch.memory_format, torch.device), _shown),
}
"""Kinds of values without parts, and their texts."""
