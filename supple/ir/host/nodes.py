"""Bind, Check, Alloc, Launch, Extern, View, Free, Writes, Return: frozen steps of a host program, in order.

A value is a tensor, known by its name. Inputs are named first; each step defines new names; `Free` ends one.
The numbers that expressions name (s0, u0, f0) are bound to sizes of values, or to values that are numbers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from supple.expr import Expr
from supple.expr.real import Real
from supple.ir.arguments import Arg, leaves
from supple.ir.meta import TensorMeta


@dataclass(frozen=True, slots=True)
class Value:
    """A use of a named tensor (or of another object that an Extern returned)."""

    name: str


@dataclass(frozen=True, slots=True)
class Bind:
    """number = size `dim` of a tensor; without `dim` the value is the number itself."""

    number: str
    value: str
    dim: int | None = None


class Compared(Enum):
    """What a Check compares; the value prints it."""

    ALL = ""
    METADATA = "metadata of "  # dtype, device, sizes; strides in dimensions with a second element
    MEMORY = "memory of "  # the storage reaches to the last element


@dataclass(frozen=True, slots=True)
class Check:
    """Raise where a tensor is not as kernels were made for."""

    name: str
    meta: TensorMeta
    compared: Compared = Compared.ALL


@dataclass(frozen=True, slots=True)
class Alloc:
    """name = a fresh tensor with this metadata, undefined contents; in strides a size of 0 counts as 1."""

    name: str
    meta: TensorMeta


@dataclass(frozen=True, slots=True)
class Launch:
    """Run a kernel: `buffers` are tensor names in the order of the nest's parameters, then `sizes`.

    A Real among the sizes is passed as the bits of a float64.
    """

    kernel: str
    buffers: tuple[str, ...]
    sizes: tuple[Expr | Real, ...] = ()


@dataclass(frozen=True, slots=True)
class Extern:
    """names = op(*args, **kwargs), a library call.

    `op` is an ir.ops name ("aten.addmm.default"). One name: the result itself; several: its items, None for
    items that nobody needs.
    """

    names: tuple[str | None, ...]
    op: str
    args: tuple[Arg, ...]
    kwargs: Mapping[str, Arg] = field(default_factory=dict[str, Arg])
    is_tuple: bool = False

    @property
    def call(self) -> tuple[tuple[Arg, ...], Mapping[str, Arg]]:
        """The arguments."""
        return self.args, self.kwargs


@dataclass(frozen=True, slots=True)
class View:
    """name = the storage of `base` seen with the sizes and strides of `meta`.

    `meta.offset` counts from the first element of `base`, not from the start of its storage.
    """

    name: str
    base: str
    meta: TensorMeta


@dataclass(frozen=True, slots=True)
class Free:
    """The name is not used after this step; its memory may be used again."""

    name: str


@dataclass(frozen=True, slots=True)
class Writes:
    """From here on inputs may hold what the program writes to them: an exception says so."""


@dataclass(frozen=True, slots=True)
class Return:
    """End the program with these results: Values, constants, Exprs, Reals."""

    values: tuple[Arg, ...]


Step = Bind | Check | Alloc | Launch | Extern | View | Free | Writes | Return


@dataclass(frozen=True, slots=True)
class Host:
    """A host program: names of its inputs in order, and its steps."""

    inputs: tuple[str, ...]
    steps: tuple[Step, ...]


def values_in(arg: Arg) -> Iterator[str]:
    """Yield the names of the Values in an argument."""
    return (leaf.name for leaf in leaves(arg) if isinstance(leaf, Value))
