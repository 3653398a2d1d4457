"""Well-formedness of host programs: one rule per kind of step.

A name is live from the step that defines it to the `Free` that ends it, and is defined once in that span (a
name may be defined again after its Free). Only live names are used; inputs are never freed; `Return` is the
last step and nothing but it; what is neither freed nor returned leaks, except inputs. Expressions name bound
numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from supple.base.errors import SuppleError
from supple.base.rules import Rules
from supple.expr import Expr
from supple.expr.real import Real, names_of
from supple.ir.host.nodes import Alloc, Bind, Extern, Free, Host, Launch, Return, Step, Value, View, leaves
from supple.ir.meta import TensorMeta


class SpecError(SuppleError):
    """A host program breaks a rule of the language; the text names the step and the rule."""


@dataclass(slots=True)
class State:
    """What is known between two steps."""

    inputs: frozenset[str]
    live: set[str] = field(default_factory=set[str])
    numbers: set[str] = field(default_factory=set[str])
    freed: set[str] = field(default_factory=set[str])

    def use(self, name: str, step: Step) -> None:
        """Check that a name is live."""
        if name not in self.live:
            problem = "after its Free" if name in self.freed else "before it is defined"
            raise SpecError(f"{step}: {name} is used {problem}")

    def define(self, name: str, step: Step) -> None:
        """Make a name live."""
        if name in self.live:
            raise SpecError(f"{step}: {name} is live already")
        self.live.add(name)

    def computable(self, values: "tuple[object, ...]", step: Step) -> None:
        """Check that expressions hold bound numbers only."""
        for value in values:
            if isinstance(value, Expr | Real) and not names_of(value) <= self.numbers:
                raise SpecError(f"{step}: {value} holds a number that is not bound")


Check = Callable[[State, Step], None]
checks: Final[Rules[Check]] = Rules("host spec")


def check(host: Host) -> None:
    """Check a host program.

    Raises:
        SpecError: naming the step and the rule that it breaks.
    """
    inputs = frozenset(host.inputs)
    if len(inputs) != len(host.inputs):
        raise SpecError(f"two inputs have one name: {host.inputs}")
    state = State(inputs, set(inputs))
    for place, step in enumerate(host.steps):
        if isinstance(step, Return) is not (place == len(host.steps) - 1):
            raise SpecError(f"step {place}, {step}: Return is the last step, and only it")
        checks[type(step)](state, step)
    if not host.steps:
        raise SpecError("a program without Return")


def _use_all(state: State, args: object, step: Step) -> None:
    for leaf in leaves(args):
        if isinstance(leaf, Value):
            state.use(leaf.name, step)
        state.computable((leaf,), step)


def _meta(state: State, meta: TensorMeta, step: Step) -> None:
    state.computable((*meta.sizes, *meta.strides, meta.offset), step)


@checks.on(Bind)
def _(state: State, step: Step) -> None:
    """Uses its value; a number is bound once."""
    assert isinstance(step, Bind), f"{step}"
    state.use(step.value, step)
    if step.number in state.numbers:
        raise SpecError(f"{step}: {step.number} is bound already")
    state.numbers.add(step.number)


@checks.on(Alloc)
def _(state: State, step: Step) -> None:
    """Defines a fresh tensor."""
    assert isinstance(step, Alloc), f"{step}"
    _meta(state, step.meta, step)
    state.define(step.name, step)


@checks.on(Launch)
def _(state: State, step: Step) -> None:
    """Uses live tensors and bound numbers."""
    assert isinstance(step, Launch), f"{step}"
    for name in step.buffers:
        state.use(name, step)
    state.computable(step.sizes, step)


@checks.on(Extern)
def _(state: State, step: Step) -> None:
    """Uses live values, then defines its results; one name unless the result is a tuple."""
    assert isinstance(step, Extern), f"{step}"
    _use_all(state, (step.args, dict(step.kwargs)), step)
    if not step.is_tuple and len(step.names) != 1:
        raise SpecError(f"{step}: one result has one name")
    for name in step.names:
        if name is not None:
            state.define(name, step)


@checks.on(View)
def _(state: State, step: Step) -> None:
    """Uses its base."""
    assert isinstance(step, View), f"{step}"
    state.use(step.base, step)
    _meta(state, step.meta, step)
    state.define(step.name, step)


@checks.on(Free)
def _(state: State, step: Step) -> None:
    """Ends a live name that is no input."""
    assert isinstance(step, Free), f"{step}"
    state.use(step.name, step)
    if step.name in state.inputs:
        raise SpecError(f"{step}: inputs belong to the caller")
    state.live.discard(step.name)
    state.freed.add(step.name)


@checks.on(Return)
def _(state: State, step: Step) -> None:
    """Uses what it returns; nothing else but inputs is live."""
    assert isinstance(step, Return), f"{step}"
    _use_all(state, step.values, step)
    returned = {leaf.name for leaf in leaves(step.values) if isinstance(leaf, Value)}
    left = state.live - returned - state.inputs
    if left:
        raise SpecError(f"never freed: {', '.join(sorted(left))}")
