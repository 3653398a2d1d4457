"""Machine: what values and library rules may ask of the interpreter. The engine implements it."""

import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn, Protocol

from supple.base.errors import Reason, Where
from supple.capture.guards.kinds import Kind
from supple.capture.source import Source

if TYPE_CHECKING:
    from supple.capture.heap import Heap
    from supple.capture.recorder import Recorder
    from supple.capture.sizes import Sizes
    from supple.capture.values.base import Value
    from supple.capture.values.function import CellValue, FunctionValue
    from supple.capture.values.tensor import TensorValue
    from supple.ir.graph.nodes import Arg
    from supple.ir.ops import Op


class Globals(Protocol):
    """The globals of a module: as they are, and those that capture wrote."""

    names: dict[str, object]
    written: "dict[str, Value]"


class Running(Protocol):
    """A frame that is interpreted."""

    cells: "dict[str, CellValue]"

    @property
    def code_object(self) -> types.CodeType:
        """The code that it runs."""
        ...


class Machine(Protocol):
    """One capture in progress."""

    @property
    def heap(self) -> "Heap":
        """What capture changed so far, with undo."""
        ...

    @property
    def recorder(self) -> "Recorder":
        """The graph under construction."""
        ...

    @property
    def sizes(self) -> "Sizes":
        """What is symbolic, and the guards on it."""
        ...

    @property
    def frames(self) -> Sequence[Running]:
        """What is interpreted, the innermost last."""
        ...

    checkpoint: int
    """The number of the checkpointed region that is captured, 0 outside of them."""

    @property
    def tensors(self) -> "dict[int, TensorValue]":
        """The value of each fake tensor, by its id."""
        ...

    def user_stack(self) -> tuple[Where, ...]:
        """Return the captured program's stack, innermost last."""
        ...

    def guard(self, source: Source | None, kind: Kind, expected: object = None) -> None:
        """Record a condition; does nothing without a source (the object was made during capture)."""
        ...

    def ask_state(self, part: str) -> None:
        """Guard a part of the process's state, of those in `runtime.state.ON_REQUEST`, as the call found it.

        What changes the part asks before.
        """
        ...

    def is_same(self, left: "Value", right: "Value") -> bool:
        """Return `left is right`; that two existing objects are different ones is guarded."""
        ...

    def tell_apart(self, value: "Value") -> object:
        """Return a value's identity, by which it is told from others: in a dict or set, by `id`.

        That the existing objects which were told apart are different ones is guarded.
        """
        ...

    def known(self, obj: object) -> "Value | None":
        """Return the value of an existing object that was wrapped already, None for others."""
        ...

    def wrap(self, obj: object, source: Source | None) -> "Value":
        """Return the value of an existing object, guarded as far as its kind needs at once."""
        ...

    def call(
        self, callee: "Value", args: Sequence["Value"] = (), kwargs: Mapping[str, "Value"] | None = None
    ) -> "Value":
        """Return the result of a call: a rule's, or by inlining."""
        ...

    def variables(self) -> "Iterator[Value | None]":
        """Yield what the variables of the captured function hold, arguments among them."""
        ...

    def let_go(self, value: "Value | None") -> None:
        """Break where an existing object loses a value, and the program would see that value's end."""
        ...

    def call_leaf(self, function: object, args: Sequence["Value"], kwargs: Mapping[str, "Value"]) -> "Value":
        """Return the result of a call of something without Python code, by its rule or as a graph node."""
        ...

    def heed_mark(self, name: str) -> None:
        """Break where an operation of this frame is not to be captured."""
        ...

    def note_shared(self) -> None:
        """Remember where a second tensor of the same memory is made: it has a storage of its own."""
        ...

    def heed_shared(self, op: "Op", args: "Arg") -> None:
        """Break there when an operation writes and has two tensors: torch compares their storages."""
        ...

    def inline(
        self, function: "FunctionValue", args: Sequence["Value"], kwargs: Mapping[str, "Value"]
    ) -> "Value":
        """Return the result of interpreting a Python function on values."""
        ...

    def construct(
        self, kind: type, source: Source | None, args: Sequence["Value"], kwargs: Mapping[str, "Value"]
    ) -> "Value":
        """Return a new instance of a class, by its rule or through `__new__` and `__init__`."""
        ...

    def initialize(
        self, made: "Value", init: "Value", args: Sequence["Value"], kwargs: Mapping[str, "Value"]
    ) -> None:
        """Run the `__init__` of a new instance, which the call that is interpreted gives."""
        ...

    def handling(self) -> "Value | None":
        """Return the exception of the program that is being handled."""
        ...

    def compare(self, op: str, left: "Value", right: "Value") -> "Value":
        """Return `left op right` for a comparison operator."""
        ...

    def call_python(self, function: Callable[..., object], *args: "Value") -> "Value":
        """Inline a plain Python function of this package (a polyfill) on values."""
        ...

    def inline_anyway(
        self, function: object, args: Sequence["Value"], kwargs: Mapping[str, "Value"]
    ) -> "Value":
        """Interpret a Python function of torch although it has a rule."""
        ...

    def global_module_hooks(self) -> list[tuple[Mapping[object, object], Source]]:
        """Return the hooks that apply to all modules, each with its source."""
        ...

    def written_globals(self) -> Sequence[Globals]:
        """Return the modules whose globals were written."""
        ...

    def read_context_variable(self, variable: "Value", default: Sequence["Value"]) -> "Value":
        """Return `variable.get(*default)`."""
        ...

    def write_context_variable(self, variable: "Value", new: "Value") -> "Value":
        """Note `variable.set(new)`; return its token."""
        ...

    def reset_context_variable(self, variable: "Value", token: "Value") -> None:
        """Note `variable.reset(token)`."""
        ...

    def super_of_frame(self) -> "tuple[Value, Value]":
        """Return the class and the owner that `super()` without arguments means in the innermost frame."""
        ...

    def unsupported(self, reason: Reason, **facts: object) -> NoReturn:
        """Give up this capture: raise `Unsupported` with the user's stack."""
        ...

    def throw_value(self, kind: type[BaseException], args: Sequence["Value"]) -> NoReturn:
        """Raise an exception with these values as its arguments."""
        ...

    def throw(self, kind: type[BaseException], *args: object) -> NoReturn:
        """Raise an exception inside the captured program."""
        ...
