"""The text of a check function under construction: sources become local variables, objects become constants.

It knows how the four classes of sources are read, and nothing of what guards compare (`emit`).
"""

import inspect
import re
import types
import weakref
from collections.abc import Callable
from operator import getitem
from typing import Final

from supple.capture.guards.kinds import Guard, Kind
from supple.capture.source import GETTERS, Attr, Called, Local, Pinned, Source, attribute, type_of

#: What reading a source raises when the program's objects are not as they were, and a condition on numbers
#: that cannot be computed for those of this call, such as a complex power.
FAILURES: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    ReferenceError,
    RuntimeError,
    TypeError,
    ValueError,
)

_FIXED: Final = {"__dict__": dict, "__closure__": tuple, "__defaults__": tuple, "__kwdefaults__": dict}


def parameters(code: types.CodeType) -> str:
    """Return the parameter list of a code object, without defaults, as Python text."""
    cells = tuple(types.CellType() for _ in code.co_freevars)
    return str(inspect.signature(types.FunctionType(code, {}, None, None, cells)))[1:-1]


class Emitter:
    """The text and the constants of one check function under construction.

    Attributes:
        namespace: the globals of the function.
        variables: its local variables, by the names of the sources (and other paths) that they hold.
    """

    def __init__(self, parameters: str) -> None:
        self.namespace: dict[str, object] = {"__builtins__": {}}
        self._parameters = parameters
        self._prefix = "_"
        while re.search(rf"\b{self._prefix}", parameters):
            self._prefix += "_"
        self._classes: dict[str, type] = {}
        self.variables: dict[str, str] = {}
        self._constants: dict[int, str] = {}
        self._class_dicts: dict[type, object] = {}
        self._lines: list[str] = []
        self._owners: list[int] = []
        self._index = 0

    def add(self, index: int, guard: Guard, fails: Callable[["Emitter", Guard], str]) -> None:
        """Append the check of one guard; `fails` gives the condition, which may be empty."""
        self._index = index
        condition = fails(self, guard)
        if condition:
            self._line(f"if {condition}: return {index}")
        if guard.kind in (Kind.TYPE, Kind.IS) and isinstance(guard.expected, type):
            # From here on the exact class is known, which makes plain subscripts safe.
            source = type_of(guard.source) if guard.kind is Kind.TYPE else guard.source
            self._classes[source.name] = guard.expected

    def variable(self, source: Source) -> str:
        """Return the local variable that holds the value of a source, read before if need be.

        A class is read again: `type(x)` is as quick as the assignment that would keep it.
        """
        if isinstance(source, Called) and source.function is type:
            return self._load(source)
        known = self.variables.get(source.name)
        return known or self.store(source.name, self._load(source))

    def store(self, name: str, expression: str) -> str:
        """Return the local variable that holds the value of an expression known by `name`."""
        known = self.variables.get(name)
        if known is None:
            known = expression
            if not expression.isidentifier():
                known = f"{self._prefix}v{len(self.variables)}"
                self._line(f"{known} = {expression}")
            self.variables[name] = known
        return known

    def inline(self, source: Source) -> str:
        """Return an expression for the value of a source that nothing else reads: it gets no variable."""
        return self.variables.get(source.name) or self._load(source)

    def own(self, source: Source) -> str:
        """Return the local variable that holds the `__dict__` of the object at a source."""
        return self.variable(attribute(source, "__dict__"))

    def constant(self, value: object) -> str:
        """Return the name of a global of the check that holds `value` itself."""
        known = self._constants.get(id(value))
        if known is None:
            known = f"{self._prefix}k{len(self._constants)}"
            self._constants[id(value)] = known
            self.namespace[known] = value
        return known

    def class_dict(self, cls: type) -> str:
        """Return the name of a global of the check that holds a live view of a class's dict."""
        return self.constant(self._class_dicts.setdefault(cls, cls.__dict__))

    def literal(self, value: object) -> str:
        """Return an expression for a constant: itself where Python writes it, else the name of a global."""
        return repr(value) if type(value) in (str, int) else self.constant(value)

    def called(self, function: object, *arguments: str) -> str:
        """Return the call of a function that the check holds."""
        return f"{self.constant(function)}({', '.join(arguments)})"

    def exact_type(self, source: Source) -> type | None:
        """Return the class of the value at a source, None where it may be another in the next call."""
        match source:
            case Pinned(value=value) if not isinstance(value, weakref.ref):
                return type(value)
            case Attr(attribute=name) if name in _FIXED:
                return _FIXED[name]
            case Called(function=function) if function is list:
                return list
            case _:
                return self._classes.get(type_of(source).name)

    def text(self) -> str:
        """Return the function's source; the text and the namespace belong together."""
        at, failures = self.constant(_at(tuple(self._owners))), self.constant(FAILURES)
        body = "\n".join(self._lines or ["        pass"])
        error = f"{self._prefix}error"
        return (
            f"def check({self._parameters}):\n    try:\n{body}\n"
            f"    except {failures} as {error}:\n        return {at}({error})\n"
        )

    def _line(self, text: str) -> None:
        self._lines.append(f"        {text}")
        self._owners.append(self._index)

    def _load(self, source: Source) -> str:
        """Return the expression that reads a source."""
        match source:
            case Local():
                return source.variable
            case Pinned(value=value):
                held = self.constant(value)
                return f"{held}()" if isinstance(value, weakref.ref) else held
            case Attr(base=base, attribute=name):
                # Nothing but its contents is read of a cell.
                return f"{self.inline(base) if name == 'cell_contents' else self.variable(base)}.{name}"
            case Called(base=base, function=function):
                arguments = [self.variable(base), *map(self.literal, source.arguments)]
                if function is list:
                    return f"[*{arguments[0]}]"
                is_plain = self.exact_type(base) in GETTERS and function in GETTERS.values()
                if is_plain or function is getitem:
                    return f"{arguments[0]}[{arguments[1]}]"
                return self.called(function, *arguments)
            case _:
                raise TypeError(f"{source}: a source of class {type(source).__name__}")


def _at(owners: tuple[int, ...]) -> Callable[[BaseException], int]:
    """Return the function that finds the guard in whose lines an exception arose."""

    def at(error: BaseException) -> int:
        trace = error.__traceback__
        assert trace is not None, error
        return owners[trace.tb_lineno - 3]

    return at
