"""Block: what is known while the statements of a block are written: names, lanes, the kernel around them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from supple.base.errors import SuppleError
from supple.codegen.cpu.code import Code
from supple.codegen.cpu.index import Index, Strides
from supple.codegen.cpu.registers import Reg, constant, type_text
from supple.codegen.cpu.target import Features
from supple.expr import Expr
from supple.ir.dtypes import DType
from supple.ir.loops.nodes import Buffer, Scalar


class CodegenError(SuppleError):
    """A nest asks for something that this backend has no code for."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """The vector axis that a block runs over.

    Attributes:
        axis: its symbol's name.
        count: elements per vector.
        base: the axis' value in lane 0, a multiple of `count`.
        mask: which lanes exist; None is all.
    """

    axis: str
    count: int
    base: Reg
    mask: Reg | None = None


@dataclass(frozen=True)
class Block:
    """A block of statements being written.

    Attributes:
        code: the function.
        features: what the machine has.
        buffers: the nest's buffers and the address of each one's first element.
        names: axis symbols, sizes and scalars that are visible here; statements add to it.
        lanes: the vector axis, if the block runs over one.
        starts: of scalars that grow by 1 from lane to lane, their value in lane 0; statements add to it.
    """

    code: Code
    features: Features
    buffers: Mapping[str, tuple[Buffer, Reg]]
    names: dict[str, Reg]
    lanes: Lanes | None = None
    starts: dict[str, Reg] = field(default_factory=dict[str, Reg])

    def inside(self, names: Mapping[str, Reg], lanes: Lanes | None) -> "Block":
        """Return the block of a loop's body: it sees all names here, and adds its own to a copy."""
        return Block(self.code, self.features, self.buffers, {**self.names, **names}, lanes)

    @property
    def width(self) -> int:
        """Lanes of a value that is not the same for all."""
        return 1 if self.lanes is None else self.lanes.count

    def integer(self, name: str) -> Reg:
        """Return the i64 value of a symbol: a vector for the vector axis."""
        if self.lanes is not None and name == self.lanes.axis:
            return self._axis
        reg = self.names[name]
        if reg.dtype is DType.I64:
            return reg
        return self.code.convert("zext" if reg.dtype in (DType.U8, DType.BOOL) else "sext", reg, DType.I64)

    def integer_at_lane_0(self, name: str) -> Reg:
        """Return the i64 value of a symbol in lane 0."""
        if self.lanes is not None and name == self.lanes.axis:
            return self.lanes.base
        return self.integer(name)

    @cached_property
    def _axis(self) -> Reg:
        """The vector axis in each lane: base + (0, 1, ...)."""
        assert self.lanes is not None, "the block has no vector axis"
        return self.code.op("add", self.code.splat(self.lanes.base, self.width), iota(self.width))

    def stride(self, e: Expr) -> int | None:
        """Return how much `e` grows from lane to lane: 0 without lanes, None if it is irregular."""
        if self.lanes is None:
            return 0
        varying = frozenset(name for name, reg in self.names.items() if reg.lanes > 1)
        return Strides(self.lanes.axis, self.lanes.count, varying)(e)

    def index(self, e: Expr) -> Reg:
        """Return the value of `e` in every lane; a scalar where it is the same in all."""
        return Index(self.code, self.integer)(e)

    def index_at_lane_0(self, e: Expr) -> Reg:
        """Return the scalar value of `e` in lane 0."""
        return Index(self.code, self.integer_at_lane_0)(e)

    def operand(self, value: Scalar, dtype: DType) -> Reg:
        """Return an operand: the register of a name, or a number of the dtype."""
        return self.names[value] if isinstance(value, str) else constant(dtype, value)

    def wide(self, reg: Reg) -> Reg:
        """Return `reg` in all lanes of the block."""
        return self.code.splat(reg, self.width)


def iota(lanes: int, dtype: DType = DType.I64, step: int = 1) -> Reg:
    """Return the integer vector (0, step, 2*step, ...)."""
    items = ", ".join(f"{type_text(dtype)} {lane * step}" for lane in range(lanes))
    return Reg(f"<{items}>", dtype, lanes)
