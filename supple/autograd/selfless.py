"""Whether Python code can have no effect on the program, and depends on nothing of it but its arguments."""

import builtins
import dis
import types
from typing import Final

_PURE: Final = frozenset(
    "None True False abs all any bool dict enumerate float int isinstance len list max min range reversed "
    "set slice sorted sum tuple zip ValueError TypeError RuntimeError NotImplementedError".split()
)
"""Builtins that a function may call."""


def knows_torch_alone(function: object) -> bool:
    """Tell whether all that a function reads, its arguments aside, are modules of torch and pure builtins."""
    if isinstance(function, staticmethod):
        function = function.__func__
    if not isinstance(function, types.FunctionType) or function.__closure__ or function.__defaults__:
        return False
    return _reads_torch_alone(function.__code__, function.__globals__)


def _reads_torch_alone(code: types.CodeType, names: dict[str, object]) -> bool:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL", "IMPORT_NAME"):
            return False
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and not _is_harmless(instruction.argval, names):
            return False
    inner = (each for each in code.co_consts if isinstance(each, types.CodeType))
    return all(_reads_torch_alone(each, names) for each in inner)


def _is_harmless(name: str, names: dict[str, object]) -> bool:
    if name not in names:
        return name in _PURE and hasattr(builtins, name)
    found = names[name]
    return isinstance(found, types.ModuleType) and found.__name__.partition(".")[0] == "torch"
