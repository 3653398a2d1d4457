"""Build: the members of one kernel become statements over logical coordinates.

A kernel runs over row axes; a reducing kernel has, at each row, one loop over its inner axes per phase:
what needs a reduction's result comes a phase later than it. Statements go to the outermost place where
their operands exist, and equal statements are written once. Values that are dear and needed in several
phases are kept in scratch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Final

from supple.expr import Expr, Symbol, as_expr, const, free_symbols, interval, symbol
from supple.ir.dtypes import DType
from supple.ir.loops.nodes import Axis, Compute, IndexValue, Load, Loop, Reduce, Scalar, Statement, Store
from supple.ir.meta import TensorMeta
from supple.schedule.coordinates import estimate, ranges_of
from supple.schedule.define import PLACES, Definition, number
from supple.schedule.deps import Index, at
from supple.schedule.fold import folded

RELOAD_COST: Final = 3
SCRATCH_COST: Final = 12


@dataclass(frozen=True, slots=True)
class Member:
    """A definition that a kernel computes at `place`: for each domain symbol an expression over its axes."""

    definition: Definition
    place: Mapping[Symbol, Expr]

    @property
    def index(self) -> Index:
        """The coordinates of the value that is computed at a point of the kernel."""
        return at(self.definition.axes, self.place)

    def is_inner(self, inner: frozenset[Symbol]) -> bool:
        """Whether the value is computed at each point of the inner axes, not once a row."""
        return any(not inner.isdisjoint(free_symbols(e)) for e in self.place.values())


@dataclass(frozen=True, slots=True)
class Kernel:
    """What one nest computes.

    Attributes:
        axes: row axes and inner axes, in logical order.
        inner: the symbols that are looped over inside a row.
        members: by value name, operands before users.
        stored: names of members that are written to memory.
    """

    axes: tuple[Axis, ...]
    inner: frozenset[Symbol]
    members: Mapping[str, Member]
    stored: frozenset[str]

    @property
    def rows(self) -> tuple[Axis, ...]:
        """The axes that are not inner."""
        return tuple(axis for axis in self.axes if axis.symbol not in self.inner)

    @property
    def loops(self) -> tuple[Axis, ...]:
        """The inner axes."""
        return tuple(axis for axis in self.axes if axis.symbol in self.inner)


@dataclass(slots=True)
class Scope:
    """Statements of a row or of one loop, and what they name."""

    statements: list[Statement] = field(default_factory=list[Statement])
    values: dict[object, Scalar] = field(default_factory=dict[object, Scalar])
    names: set[str] = field(default_factory=set[str])


Key = tuple[str, Index]


@dataclass(frozen=True, slots=True)
class Scratch:
    """A per-thread buffer that holds the value `key` at element `place` between the phases of a row."""

    name: str
    key: Key
    place: Expr
    dtype: DType


class Builder:
    """Writes the statements of one kernel; `scratch` says what is kept between phases, None to find out."""

    def __init__(
        self,
        kernel: Kernel,
        definitions: Mapping[str, Definition],
        sources: frozenset[str],
        metas: Mapping[str, TensorMeta],
        scratch: Mapping[Key, Scratch] | None,
    ) -> None:
        self.kernel = kernel
        self.known = ranges_of(kernel.axes)
        self.definitions = definitions
        self.sources = sources
        self.metas = metas
        self.is_planning = scratch is None
        self.scratch = scratch or {}
        self.row = Scope()
        self.loop: Scope | None = None
        self.reduced: dict[str, str] = {}
        self.kept: dict[Key, int] = {}
        self.of_row: set[str] = set()
        self.repeated: dict[Key, None] = {}
        self.dtypes: dict[str, DType] = {}
        self.phase = 0
        self._count = 0
        self.phase_of = cache(self._phase_of)
        self._first: dict[Key, int] = {}
        self._costs: dict[str, int] = {}
        self._conjuncts: dict[Scalar, frozenset[Scalar]] = {}  # of masks that hold where several others do

    # Placing statements.

    def _fresh(self, dtype: DType) -> str:
        name = f"t{self._count}"
        self._count += 1
        self.dtypes[name] = dtype
        return name

    def _scope(self, scalars: Sequence[object], exprs: Sequence[Expr] = ()) -> Scope:
        """Return the outermost scope in which these operands exist."""
        if self.loop is None:
            return self.row
        inside = self.loop.names
        if any(isinstance(s, str) and s in inside for s in scalars):
            return self.loop
        symbols = (s for e in exprs for s in free_symbols(e))
        return self.loop if any(s in self.kernel.inner or s.name in inside for s in symbols) else self.row

    def _known(self, key: object) -> Scalar | None:
        if self.loop is not None and key in self.loop.values:
            return self.loop.values[key]
        return self.row.values.get(key)

    def _add(self, key: object, scope: Scope, statement: Load | Compute | IndexValue) -> str:
        scope.statements.append(statement)
        scope.values[key] = statement.name
        scope.names.add(statement.name)
        return statement.name

    def compute(self, op: str, dtype: DType, *args: Scalar) -> Scalar:
        """Return `op(args)`, folded if the operands are numbers, written once if it exists."""
        constant = folded(op, dtype, args)
        if constant is not None:
            return constant
        key = (op, dtype, *map(_told_apart, args))
        known = self._known(key)
        if known is not None:
            return known
        return self._add(key, self._scope(args), Compute(self._fresh(dtype), dtype, op, args))

    def index_value(self, dtype: DType, value: Expr) -> Scalar:
        """Return the value of an index expression."""
        if value.is_const:
            return value.value
        known = self._known((dtype, value))
        if known is not None:
            return known
        name = self._fresh(dtype)
        return self._add((dtype, value), self._scope((), (value,)), IndexValue(name, dtype, value))

    def load(self, buffer: str, dtype: DType, index: Index, mask: Scalar | None, other: float) -> Scalar:
        """Return an element of a buffer."""
        key = ("load", buffer, index, mask, _told_apart(other))
        known = self._known(key)
        if known is not None:
            return known
        assert mask is None or isinstance(mask, str), f"a mask that is a number: {mask}"
        scope = self._scope((mask,), index)
        if self.loop is not None and mask is None and self._may_be_empty:
            # What a loop without iterations would read may not be there.
            scope = self.loop
        return self._add(key, scope, Load(self._fresh(dtype), dtype, buffer, index, mask, other))

    @cached_property
    def _may_be_empty(self) -> bool:
        return any((interval(axis.extent).lo or 0) < 1 for axis in self.kernel.loops)

    # Values.

    def value(self, name: str, index: Index, mask: Scalar | None = None) -> Scalar:
        """Return the scalar `name[index]`; where the mask is false it is undefined, no memory touched."""
        key = (name, index, mask)
        known = self._known(key)
        if known is not None:
            return known
        if name in self.reduced:
            return self.reduced[name]
        member = self.kernel.members.get(name)
        if member is None and name in self.sources:
            return self.load(name, self.metas[name].dtype, index, mask, 0)
        kept = self._from_earlier(name, index) if mask is None else None
        result = self._inlined(name, index, mask) if kept is None else kept
        scope = self._scope((result,))
        scope.values[key] = result
        if self.loop is not None and scope is self.row:
            self.of_row.add(name)
        return result

    def _from_earlier(self, name: str, index: Index) -> Scalar | None:
        """Return a value that an earlier phase stored or kept, where reading it is the cheaper way."""
        if self.loop is None or all(self.kernel.inner.isdisjoint(free_symbols(e)) for e in index):
            return None
        cost = self.computing_cost(self.definitions[name])
        if cost < RELOAD_COST:
            return None
        key = (name, index)
        if self._first.setdefault(key, self.phase) == self.phase:
            return None
        dtype = self.definitions[name].meta.dtype
        if key in self.kept:
            return self.load(name, dtype, index, None, 0)
        scratch = self.scratch.get(key)
        if scratch is not None:
            return self.load(scratch.name, dtype, (scratch.place,), None, 0)
        if not self.is_planning or cost < SCRATCH_COST:
            return None
        self.repeated[key] = None
        return self.load("planned", dtype, index, None, 0)

    def _inlined(self, name: str, index: Index, mask: Scalar | None) -> Scalar:
        definition = self.definitions[name]
        assert definition.reduce is None, f"{name} is reduced elsewhere"
        result = self.body(definition, dict(zip(definition.axes, index, strict=True)), mask)
        scratch = self.scratch.get((name, index))
        if scratch is not None and mask is None and self.loop is not None and (name, index) not in self.kept:
            self.loop.statements.append(Store(scratch.name, (scratch.place,), result))
        return result

    def body(self, definition: Definition, place: Mapping[Symbol, Expr], mask: Scalar | None) -> Scalar:
        """Return the result of a definition's body at a place."""
        local: dict[str, Scalar] = {}
        symbols = dict(place)
        for statement in definition.body:
            match statement:
                case Load():
                    result = self._read(statement, local, symbols, mask)
                case Compute():
                    args = [local[arg] if isinstance(arg, str) else arg for arg in statement.args]
                    result = self.compute(statement.op, statement.dtype, *args)
                case IndexValue():
                    value = self.known(at((statement.value,), symbols)[0])
                    result = self.index_value(statement.dtype, value)
            local[statement.name] = result
            if statement.dtype.is_integer:
                new = symbol(result) if isinstance(result, str) else as_expr(int(result))
                symbols[symbol(statement.name)] = new
        result = definition.result
        return local[result] if isinstance(result, str) else result

    def _read(
        self, load: Load, local: Mapping[str, Scalar], symbols: Mapping[Symbol, Expr], mask: Scalar | None
    ) -> Scalar:
        index = self.known.all(at(load.index, symbols))
        own = True if load.mask is None else local[load.mask]
        if own is True:
            return self.value(load.buffer, index, mask)
        if own is False:
            return number(load.other, load.dtype)
        both = own if mask is None else self._both(own, mask)
        if load.buffer in self.sources and load.buffer not in self.kernel.members:
            return self.load(load.buffer, load.dtype, index, both, load.other)
        inside = self.value(load.buffer, index, both)
        return self.compute("where", load.dtype, own, inside, load.other)

    def _both(self, own: Scalar, mask: Scalar) -> Scalar:
        """Return where two masks hold: one of them where it holds under the other alone.

        Reads under the same masks, one inside the other, are then one, however many there are.
        """
        parts = self._conjuncts.get(own, frozenset((own,)))
        others = self._conjuncts.get(mask, frozenset((mask,)))
        if parts <= others or others <= parts:
            return mask if parts <= others else own
        made = self.compute("and", DType.BOOL, own, mask)
        self._conjuncts[made] = parts | others
        return made

    # Costs and phases.

    def cost(self, name: str) -> int:
        """Return the rough cost of computing one point of a value that is not a source of this kernel."""
        if name in self.of_row:
            return 0
        if name in self.reduced or (name in self.sources and name not in self.kernel.members):
            return 1
        known = self._costs.get(name)
        if known is None:
            definition = self.definitions[name]
            if definition.reduce is not None:
                return 0
            is_kept = any(kept == name for kept, _ in self.kept)
            known = 1 if is_kept else self.computing_cost(definition)
            self._costs[name] = known
        return known

    def computing_cost(self, definition: Definition) -> int:
        """Return the rough cost of one point, loads of what is kept included."""
        return definition.arithmetic + sum(self.cost(load.buffer) for load in definition.loads)

    def _phase_of(self, name: str) -> int:
        """Return the first phase in which a value can be computed."""
        if name in self.sources and name not in self.kernel.members:
            return 0
        return max((self._ready(load.buffer) for load in self.definitions[name].loads), default=0)

    def _ready(self, name: str) -> int:
        is_reduced = name in self.kernel.members and self.definitions[name].reduce is not None
        return self.phase_of(name) + is_reduced

    # Statements of the kernel.

    def statements(self) -> tuple[Statement, ...]:
        """Return the kernel's body: row statements and loops, phase by phase."""
        members = list(self.kernel.members.items())
        last = max(self._ready(name) for name, _ in members)
        for self.phase in range(last + 1):
            here = [(n, m) for n, m in members if m.definition.reduce and self.phase_of(n) == self.phase]
            stores = [(n, m) for n, m in members if n in self.kernel.stored and self._ready(n) == self.phase]
            for name, member in stores:
                if not member.is_inner(self.kernel.inner) or member.definition.reduce:
                    self._store(self.row, name, member)
            inner = [(n, m) for n, m in stores if m.is_inner(self.kernel.inner) and not m.definition.reduce]
            if here or inner:
                self._loop(inner, here)
        return tuple(self.row.statements)

    def _store(self, scope: Scope, name: str, member: Member) -> None:
        scope.statements.append(Store(name, member.index, self.value(name, member.index)))

    def _loop(self, stores: Sequence[tuple[str, Member]], reductions: Sequence[tuple[str, Member]]) -> None:
        """Add the loop of this phase."""
        self.loop = Scope()
        reduces: list[Reduce] = []
        found: dict[object, str] = {}
        for name, member in reductions:
            reduces.extend(self._reduce(name, member, found))
        for name, member in stores:
            self._store(self.loop, name, member)
        loop = Loop(self.kernel.loops, tuple(self.loop.statements), tuple(reduces))
        self.row.statements.append(loop)
        self.row.names.update(reduce.name for reduce in reduces)
        self.loop = None
        for name, member in stores:
            self.kept[name, member.index] = self.phase
        self._costs.clear()

    def _reduce(self, name: str, member: Member, found: dict[object, str]) -> Sequence[Reduce]:
        """Return the reduction of a member; none if an equal one exists."""
        definition = member.definition
        assert definition.reduce is not None, f"{name} is no reduction"
        operand = self.body(definition, member.place, None)
        if not isinstance(operand, str):
            operand = self._materialised(operand, definition)
        key = (definition.reduce, definition.meta.dtype, operand)
        if key in found:
            self.reduced[name] = found[key]
            return ()
        self.reduced[name] = found[key] = self._fresh(definition.meta.dtype)
        return (Reduce(found[key], definition.meta.dtype, definition.reduce, operand),)

    def _materialised(self, value: Scalar, definition: Definition) -> str:
        """Return the name of a scalar that is a number, in the type of the result unless that is a place."""
        dtype = definition.meta.dtype
        if definition.reduce in PLACES and isinstance(value, float):
            dtype = DType.F64
        name = self._fresh(dtype)
        op, neutral = ("or", False) if dtype is DType.BOOL else ("add", 0)
        self.row.statements.append(Compute(name, dtype, op, (value, neutral)))
        self.row.names.add(name)
        return name


@dataclass(frozen=True, slots=True)
class Built:
    """A kernel's statements at logical coordinates, and its scratch buffers."""

    kernel: Kernel
    body: tuple[Statement, ...]
    scratch: tuple[Scratch, ...]


def build(
    kernel: Kernel,
    definitions: Mapping[str, Definition],
    metas: Mapping[str, TensorMeta],
    sources: frozenset[str],
    scratch_bytes: int,
) -> Built:
    """Return the statements of a kernel; dear values of several phases go to scratch where a row fits."""
    first = Builder(kernel, definitions, sources, metas, None)
    body = first.statements()
    if not first.repeated:
        return Built(kernel, body, ())
    scratch = _planned(first, scratch_bytes)
    kept = {item.key: item for item in scratch}
    return Built(kernel, Builder(kernel, definitions, sources, metas, kept).statements(), tuple(scratch))


def _planned(builder: Builder, scratch_bytes: int) -> list[Scratch]:
    """Return scratch buffers for the values that several phases compute, in the order they are met."""
    position, points = const(0), const(1)
    for axis in reversed(builder.kernel.loops):
        position = position + axis.symbol * points
        points = points * axis.extent
    planned: list[Scratch] = []
    left = scratch_bytes
    for key in builder.repeated:
        dtype = builder.definitions[key[0]].meta.dtype
        needed = max(estimate(points), 1) * dtype.size
        if needed <= left:
            planned.append(Scratch(f"scratch{len(planned)}", key, position, dtype))
            left -= needed
    return planned


def _told_apart(scalar: Scalar) -> object:
    """Return what is equal for one scalar alone: of numbers, True, 1 and 1.0 differ, and -0.0 and 0.0."""
    return scalar if isinstance(scalar, str) else (type(scalar), repr(scalar))
