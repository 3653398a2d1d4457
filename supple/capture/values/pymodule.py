"""Python modules: attributes are read through the module's dict, as global variables are."""

import types

from supple.capture import breaks
from supple.capture.guards.kinds import Kind
from supple.capture.machine import Machine
from supple.capture.source import Source, attribute, global_variable, pinned
from supple.capture.values.base import Unique, Value

_MISSING = object()


class PythonModuleValue(Unique):
    """A module object."""

    __slots__ = ("module",)

    def __init__(self, module: types.ModuleType, source: Source | None = None) -> None:
        super().__init__(source)
        self.module = module

    @property
    def name(self) -> str:
        """Its name, for messages; a program may have taken it away."""
        return str(vars(self.module).get("__name__"))

    def python_type(self) -> type:
        return types.ModuleType

    def describe(self) -> str:
        return f"module {self.name}"

    def as_python(self) -> object:
        return self.module

    def get_attr(self, machine: Machine, name: str) -> Value:
        names = self.module.__dict__
        if name == "__dict__":
            machine.unsupported(breaks.ATTRIBUTE, name=name, owner=self.describe())
        found = names.get(name, _MISSING)
        globals_source = pinned(f"G[{self.name}]", names)
        if found is not _MISSING:
            return machine.wrap(found, global_variable(globals_source, name))
        found = getattr(self.module, name, _MISSING)
        if found is _MISSING:
            machine.guard(globals_source, Kind.LACKS_KEY, name)
            machine.throw(AttributeError, f"module {self.name!r} has no attribute {name!r}")
        module = pinned(f"M[{self.name}@{id(self.module):x}]", self.module)
        return machine.wrap(found, attribute(module, name))

    def set_attr(self, machine: Machine, name: str, new: Value) -> None:
        machine.unsupported(breaks.SIDE_EFFECT, name=f"{self.name}.{name}")
