"""Which fake tensors share memory, and the pure value that each stands for at this point of a trace.

Each memory block has a base value; a view is the base with a chain of view steps. A write makes a new base
value, and views made earlier are computed again from it when they are next read.
"""

from dataclasses import dataclass, field

from supple.ir.graph.nodes import Arg, Var
from supple.ir.meta import TensorMeta
from supple.ir.ops import Op


@dataclass(frozen=True, slots=True)
class ViewStep:
    """One view: `op(tensor, *args, **kwargs)`."""

    op: Op
    args: tuple[Arg, ...]
    kwargs: dict[str, Arg] = field(default_factory=dict[str, Arg])


@dataclass(frozen=True, slots=True)
class Value:
    """A graph value and its metadata in the graph being made."""

    var: Var
    meta: TensorMeta


@dataclass(slots=True)
class Storage:
    """A block of memory.

    Attributes:
        value: its contents now.
        meta: the layout of its base tensor, as eager has it.
        version: number of writes so far.
        input: the place of the graph input whose memory it is.
    """

    value: Value
    meta: TensorMeta
    version: int = 0
    input: int | None = None


@dataclass(slots=True)
class Cell:
    """One tensor: a view (or all) of a storage, and its value as of `version` of the storage."""

    storage: Storage
    chain: tuple[ViewStep, ...]
    value: Value
    version: int
