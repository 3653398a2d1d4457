"""What is symbolic in one capture: which sizes and numbers become symbols, and the guards on them."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import SymFloat, SymInt

from supple.base.errors import Where
from supple.base.options import Options
from supple.capture.guards.kinds import Guard, Kind, ShapeCondition, TensorExpectation
from supple.capture.source import Source, size_at, stride_at
from supple.expr import Expr, Symbol, const, either, equal, free_symbols, interval, less_equal, product
from supple.expr.real import Comparison, Real, names_of
from supple.ir.meta import TensorMeta, contiguous_strides
from supple.shapes.decide import ONE
from supple.shapes.env import ShapeEnv
from supple.shapes.fake import meta_of
from supple.shapes.marks import Violation, violations
from supple.shapes.policy import Decision, Mode, number_plan, stride_plan, tensor_plan
from supple.shapes.profile import Seen
from supple.shapes.symnode import Symbolic, SymNode
from supple.torch_private import dispatch_keys

MODULE_PATHS: Final = ("_modules", "_parameters", "_buffers")
"""Parts of the path to what belongs to a module."""


INT64: Final = (-(2**63), 2**63 - 1)
"""The least and the greatest integer that code takes; another one of the program is a constant."""


@dataclass(frozen=True, slots=True)
class Strict:
    """A dimension that the user marked dynamic: to specialise it, or to narrow a range given, is an error."""

    symbol: Symbol
    source: Source
    dim: int
    has_range: bool


class Sizes:
    """The symbols of one capture.

    Attributes:
        env: what is known of them.
        sources: where the value of each symbol and float input is found, by name.
        strict: dimensions that must stay dynamic.
    """

    def __init__(self, options: Options, seen: Seen, where: Callable[[], tuple[Where, ...]]) -> None:
        self.env = ShapeEnv(where)
        self.sources: dict[str, Source] = {}
        self.strict: list[Strict] = []
        self._options = options
        self._seen = seen
        self._required: list[Guard] = []
        self._open_strides: list[tuple[Source, tuple[int, ...], tuple[Expr, ...]]] = []
        self._values: dict[str, int] = {}

    def tensor(self, tensor: torch.Tensor, source: Source) -> tuple[TensorMeta, TensorExpectation]:
        """Return a tensor's metadata, dynamic sizes as symbols, and what its guard compares."""
        sizes, strides = tuple(tensor.shape), tuple(tensor.stride())
        plan = tensor_plan(
            tensor,
            source.name,
            is_parameter=isinstance(tensor, torch.nn.Parameter),
            is_module_property=any(part in source.name for part in MODULE_PATHS),
            options=self._options,
            seen=self._seen,
        )
        steps = stride_plan(tensor, source.name, options=self._options, seen=self._seen)
        meta = meta_of(tensor)
        is_static = all(decision.mode is Mode.STATIC for decision in (*plan, *steps))
        if is_static:
            return meta, expectation(tensor, sizes, strides)
        exprs = tuple(self._size(source, dim, size, plan[dim]) for dim, size in enumerate(sizes))
        is_row_major = tensor.is_contiguous()
        if is_row_major:
            usual = contiguous_strides(exprs)
            made = tuple(
                const(step) if size is ONE and not self._is_now(made, step) else made
                for size, step, made in zip(exprs, strides, usual, strict=True)
            )
            self._open_strides.append((source, strides, made))
        else:
            made = self._strides(source, strides, sizes, exprs, steps)
        symbolic = TensorMeta(exprs, made, meta.dtype, meta.device, meta.offset, meta.requires_grad)
        compared = (None,) * len(sizes) if is_row_major else _known(made)
        expected = expectation(tensor, _known(exprs), compared, is_row_major=is_row_major)
        return symbolic, expected

    def _is_now(self, size: Expr, value: int) -> bool:
        """Tell whether a size is a number in this call."""
        return self.env.is_backed(size) and self.env.hint(size) == value

    def _size(self, source: Source, dim: int, size: int, decision: Decision) -> Expr:
        if decision.mode is Mode.STATIC:
            return const(size)
        place = size_at(source, dim)
        lowest, highest = decision.minimum or 0, decision.maximum
        hint = None if decision.mode is Mode.UNBACKED else size
        symbol = self.env.create(place.name, hint, minimum=lowest, maximum=highest, why=decision.why)
        self.sources[symbol.name] = place
        self._values[symbol.name] = size
        if lowest > 0 or highest is not None:
            self._required += self._bounds(symbol, place, lowest, highest)
        if decision.is_strict:
            self.strict.append(Strict(symbol, source, dim, decision.has_range))
        return symbol

    def _bounds(self, symbol: Symbol, place: Source, lowest: int, highest: int | None) -> list[Guard]:
        wide = Symbol(symbol.name, None, None)
        limits = [less_equal(lowest, wide)] if lowest else []
        limits += [less_equal(wide, highest)] if highest is not None else []
        return [_shape_guard(limit, {symbol.name: place}, None) for limit in limits]

    def _strides(
        self,
        source: Source,
        strides: tuple[int, ...],
        sizes: tuple[int, ...],
        exprs: tuple[Expr, ...],
        plan: tuple[Decision, ...],
    ) -> tuple[Expr, ...]:
        """Return strides that are products of sizes where they are so now, symbols where they varied, numbers
        else.

        A symbol is no 0: tensors that show an element many times have graphs of their own.
        """
        made: dict[int, Expr] = {}
        for dim in sorted(range(len(strides)), key=lambda place: (strides[place], -place)):
            found = next(
                (
                    step * exprs[inner]
                    for inner, step in made.items()
                    if strides[inner] * sizes[inner] == strides[dim] and sizes[inner] > 1
                ),
                const(strides[dim]),
            )
            place = stride_at(source, dim)
            if found.is_const and plan[dim].mode is not Mode.STATIC and strides[dim] > 1:
                found = self.env.create(place.name, strides[dim], minimum=1, why=plan[dim].why)
                self.sources[found.name] = place
                self._required += self._bounds(found, place, 1, None)
            elif not found.is_const:
                self._guard_stride(place, found, exprs, dim)
            made[dim] = found
        return tuple(made[dim] for dim in range(len(strides)))

    def _guard_stride(self, place: Source, expected: Expr, sizes: tuple[Expr, ...], dim: int) -> None:
        """Add a guard that a stride is what the sizes say, unless the dimension has no second element.

        In a tensor without elements, whose strides may be products with 0, it is of no account.
        """
        stride = Symbol("stride", None, None)
        is_empty = equal(product(sizes), 0)
        condition = either(less_equal(sizes[dim], 1), equal(stride, expected), is_empty)
        names = {s.name: self.sources[s.name] for s in free_symbols(condition) - {stride}}
        self._required.append(_shape_guard(condition, {"stride": place, **names}, None))

    def pin_strides(self) -> bool:
        """Guard the strides of dimensions with one element, which the program asks for, as they are assumed.

        False when they are not so in this call.
        """
        for source, strides, made in self._open_strides:
            for dim, step in enumerate(made):
                if self.env.hint(step) != strides[dim]:
                    return False
                place = stride_at(source, dim)
                names = {name: self.sources[name] for name in names_of(step)}
                condition = equal(Symbol("stride", None, None), step)
                self._required.append(_shape_guard(condition, {"stride": place, **names}, None))
        self._open_strides.clear()
        return True

    def number(self, value: float, source: Source) -> Symbolic | None:
        """Return an int or float of the caller as a symbol, None when it is static."""
        decision = number_plan(
            value,
            source.name,
            is_module_property=any(part in source.name for part in MODULE_PATHS),
            options=self._options,
            seen=self._seen,
        )
        if decision.mode is Mode.STATIC:
            return None
        if isinstance(value, float):
            real = self.env.create_float(source.name, value, decision.why)
            self.sources[str(real.args[0])] = source
            return SymFloat(SymNode(real, self.env, float))
        hint = None if decision.mode is Mode.UNBACKED else value
        low, high = decision.minimum, decision.maximum
        symbol = self.env.create(
            source.name, hint, minimum=low, maximum=high, why=decision.why, is_number=True
        )
        self.sources[symbol.name] = source
        self._values[symbol.name] = value
        self._required += self._bounds(symbol, source, *INT64)
        return SymInt(SymNode(symbol, self.env, int))

    def meta(self, name: str) -> Expr | Real:
        """Return a symbol or float input."""
        known = self.env.symbols.get(name)
        return Real("input", (name,)) if known is None else known.symbol

    def example(self, name: str) -> float:
        """Return the value of a symbol or float input in this call."""
        known = self.env.symbols.get(name)
        if known is None:
            return self.env.floats[name]
        return self._values[name] if known.hint is None else known.hint

    def shown(self) -> dict[str, str]:
        """Return what each symbolic size and number is in the graph, by its place."""
        current = {s.symbol.name: str(self.env.current(s.symbol)) for s in self.env.symbols.values()}
        return {source.name: current.get(name, name) for name, source in self.sources.items()}

    def guards(self) -> tuple[Guard, ...]:
        """Return the guards on symbols."""
        asked = [
            _shape_guard(
                guard.condition,
                {name: self.sources[name] for name in _names(guard.condition)},
                _last(guard.stack),
                is_specialised=guard.is_value,
            )
            for guard in self.env.guards
        ]
        floats = [
            Guard(self.sources[name], Kind.EQUALS, self.env.floats[name], _last(stack), is_specialised=True)
            for name, stack in sorted(self.env.specialized_floats.items())
        ]
        return (*self._required, *asked, *floats)

    def finish(self) -> None:
        """End the time for new guards.

        Raises:
            ConstraintViolationError: the program does not allow all sizes of a dimension marked dynamic.
        """
        self.env.is_installed = True
        self.env.where = tuple  # compiled code may keep the symbols, not what capture looked at
        found = [violation for strict in self.strict if (violation := self._violation(strict)) is not None]
        if found:
            raise violations(found)

    def _violation(self, strict: Strict) -> Violation | None:
        """Return what the program asked of a marked dimension that it must not ask."""
        now = self.env.current(strict.symbol)
        is_narrow = strict.has_range and self.env.bounds(strict.symbol) != interval(strict.symbol)
        if not now.is_const and not is_narrow:
            return None
        asked = [guard for guard in self.env.guards if strict.symbol.name in _names(guard.condition)]
        name = f"{strict.symbol.name} = "
        decided = (one for one in asked if any(known.startswith(name) for known in one.follows))
        guard = next(itertools.chain(decided, asked), None)
        value = now.value if now.is_const else None
        # A size without a hint has no guard: what holds of it is checked in each call.
        condition, stack = (f"{name}{now}", ()) if guard is None else (str(guard.condition), guard.stack)
        return Violation(strict.source.name, strict.dim, condition, value, stack)


def _known(exprs: tuple[Expr, ...]) -> tuple[int | None, ...]:
    return tuple(e.value if e.is_const else None for e in exprs)


def expectation(
    tensor: torch.Tensor,
    sizes: tuple[int | None, ...],
    strides: tuple[int | None, ...],
    *,
    is_row_major: bool = False,
) -> TensorExpectation:
    """Return what a guard on `tensor` compares: these sizes and strides, and all else as it is."""
    return TensorExpectation(
        type(tensor),
        tensor.dtype,
        tensor.device,
        sizes,
        strides,
        tensor.requires_grad,
        dispatch_keys(tensor),
        is_row_major,
        (tensor.is_neg(), tensor.is_inference(), tensor.is_conj()),
    )


def _names(condition: Expr | Comparison) -> frozenset[str]:
    return condition.names if isinstance(condition, Comparison) else names_of(condition)


def _shape_guard(
    condition: Expr | Comparison,
    sources: dict[str, Source],
    where: Where | None,
    *,
    is_specialised: bool = False,
) -> Guard:
    names = tuple(sorted(sources))
    places = tuple(sources[name] for name in names)
    return Guard(places[0], Kind.SHAPE, ShapeCondition(condition, names), where, places, is_specialised)


def _last(stack: Sequence[Where]) -> Where | None:
    return stack[-1] if stack else None
