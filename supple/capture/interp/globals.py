"""Global variables of one module: read with guards, written in a journal."""

import sys
from typing import TYPE_CHECKING

from supple.capture.guards.kinds import Kind
from supple.capture.source import Source, global_variable, pinned, variable_or_none
from supple.capture.values.base import LazyValue, Value

if TYPE_CHECKING:
    from supple.capture.interp.engine import Engine

_MISSING = object()


class GlobalsValue:
    """The globals dict of a module.

    Attributes:
        names: the dict itself; never written during capture.
        written: variables that capture wrote, in order.
    """

    def __init__(self, names: dict[str, object], *, is_root: bool) -> None:
        self.names = names
        self.written: dict[str, Value] = {}
        self._read: dict[str, Value] = {}
        module = str(names.get("__name__", "?"))
        self.is_trusted = module.startswith("supple.")
        label = "G" if is_root else f"G[{module}]"
        if not is_root and getattr(sys.modules.get(module), "__dict__", None) is not names:
            label = f"G[{module}@{id(names):x}]"
        self.source: Source | None = None if self.is_trusted else pinned(label, names)

    def find(self, engine: "Engine", name: str) -> Value | None:
        """Return the value of a variable, None when the module has none (guarded)."""
        found = self.written.get(name) or self._read.get(name)
        if found is not None:
            return found
        raw = self.names.get(name, _MISSING)
        if raw is _MISSING:
            engine.guard(self.source, Kind.LACKS_KEY, name)
            return None
        source = global_variable(self.source, name) if self.source else None
        found = engine.wrap(raw, source)
        self._read[name] = found
        return found

    def put(self, engine: "Engine", name: str, new: Value) -> None:
        """Write a variable; replayed after the graph."""
        place = variable_or_none(self.source, name) if self.source else None
        engine.let_go(self.written.get(name) or LazyValue(self.names.get(name), place))
        engine.heap.put(self.written, name, new)
