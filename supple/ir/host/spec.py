"""Well-formedness of host programs: one rule per kind of step.

A name is live from the step that defines it to the `Free` that ends it, and is defined once in that span (a
name may be defined again after its Free). Only live names are used; `Return` is the last step and nothing but
it; what is neither freed nor returned leaks, except inputs. Expressions name bound numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from supple.base.errors import SpecError
from supple.base.rules import Rules
from supple.expr import Expr
from supple.expr.real import Real, names_of
from supple.ir.arguments import leaves
from supple.ir.host.nodes import (
    Alloc,
    Bind,
    Check,
    Extern,
    Free,
    Host,
    Launch,
    Return,
    Step,
    Value,
    View,
    Writes,
)
from supple.ir.meta import TensorMeta


@dataclass(slots=True)
class State:
    """What is known between two steps; `step` is the one that is checked."""

    inputs: frozenset[str]
    live: set[str]
    numbers: set[str] = field(default_factory=set[str])
    freed: set[str] = field(default_factory=set[str])
    step: Step | None = None
    has_writes: bool = False

    def require(self, holds: bool, rule: str) -> None:
        """Raise SpecError where a rule does not hold."""
        if not holds:
            raise SpecError(f"{self.step}: {rule}")

    def use(self, *values: object) -> None:
        """Check that Values are live, and that expressions hold bound numbers only."""
        for value in values:
            if isinstance(value, Value):
                problem = "after its Free" if value.name in self.freed else "before it is defined"
                self.require(value.name in self.live, f"{value.name} is used {problem}")
            elif isinstance(value, Expr | Real):
                self.require(names_of(value) <= self.numbers, f"{value} holds a number that is not bound")

    def use_names(self, names: Sequence[str]) -> None:
        """Check that names are live."""
        self.use(*map(Value, names))

    def define(self, name: str, meta: TensorMeta | None = None) -> None:
        """Make a name live; its metadata holds bound numbers only."""
        if meta is not None:
            self.use(*meta.sizes, *meta.strides, meta.offset)
        self.require(name not in self.live, f"{name} is live already")
        self.live.add(name)


#: Kind of step -> (state, step) -> None.
checks: Final[Rules[Callable[..., None]]] = Rules("host spec")


def check(host: Host) -> None:
    """Check a host program.

    Raises:
        SpecError: naming the step and the rule that it breaks.
    """
    inputs = frozenset(host.inputs)
    state = State(inputs, set(inputs))
    state.require(len(inputs) == len(host.inputs), f"two inputs have one name: {host.inputs}")
    state.require(bool(host.steps), "a program without Return")
    for place, step in enumerate(host.steps):
        state.step = step
        is_last = place == len(host.steps) - 1
        state.require(isinstance(step, Return) is is_last, "Return is the last step, and only it")
        checks[type(step)](state, step)


@checks.on(Bind)
def _(state: State, step: Bind) -> None:
    """Uses its value; a number is bound once."""
    state.use_names((step.value,))
    state.require(step.number not in state.numbers, f"{step.number} is bound already")
    state.numbers.add(step.number)


@checks.on(Check)
def _(state: State, step: Check) -> None:
    """Uses a live tensor and bound numbers."""
    state.use_names((step.name,))
    state.use(*step.meta.sizes, *step.meta.strides)


@checks.on(Alloc)
def _(state: State, step: Alloc) -> None:
    """Defines a fresh tensor."""
    state.define(step.name, step.meta)


@checks.on(Launch)
def _(state: State, step: Launch) -> None:
    """Uses live tensors and bound numbers."""
    state.use_names(step.buffers)
    state.use(*step.sizes)


@checks.on(Extern)
def _(state: State, step: Extern) -> None:
    """Uses live values, then defines its results; one name unless the result is a tuple."""
    state.use(*leaves((step.args, dict(step.kwargs))))
    state.require(step.is_tuple or len(step.names) == 1, "one result has one name")
    for name in filter(None, step.names):
        state.define(name)


@checks.on(View)
def _(state: State, step: View) -> None:
    """Uses its base."""
    state.use_names((step.base,))
    state.define(step.name, step.meta)


@checks.on(Free)
def _(state: State, step: Free) -> None:
    """Ends a live name."""
    state.use_names((step.name,))
    state.live.discard(step.name)
    state.freed.add(step.name)


@checks.on(Writes)
def _(state: State, step: Writes) -> None:
    """Stands once."""
    state.require(not state.has_writes, "inputs are written from one step on")
    state.has_writes = True


@checks.on(Return)
def _(state: State, step: Return) -> None:
    """Uses what it returns; nothing else but inputs is live."""
    state.use(*leaves(step.values))
    returned = {leaf.name for leaf in leaves(step.values) if isinstance(leaf, Value)}
    left = state.live - returned - state.inputs
    state.require(not left, f"never freed: {', '.join(sorted(left))}")
