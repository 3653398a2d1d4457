"""Which callables may be run during capture on constants: pure, deterministic, and without tensors."""

# Some functions of torch are untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import builtins
import importlib.metadata
import importlib.util
import inspect
import math
import operator
import os
import re
import string
import sys
import types
import typing
import weakref
from _string import formatter_field_name_split as split_field  # pyright: ignore  # the parser of string.Formatter, untyped
from typing import Any, Final

import torch


def format_fields(template: str) -> tuple[tuple[str, str | None, str, str | None], ...]:
    """Return the (text, field, spec, conversion) of a format string."""
    return tuple(
        (text, field, spec or "", how) for text, field, spec, how in string.Formatter().parse(template)
    )


def format_path(field: str) -> tuple[int | str, tuple[tuple[bool, Any], ...]]:
    """Return the argument that a field of a format string names, and the attributes and keys behind it."""
    first, rest = split_field(field)
    return first, tuple(rest)


_BUILTINS: Final = (
    "abs ascii bin bool bytes chr complex divmod float format hash hex int len oct ord pow range repr round "
    "slice "
    "str sum tuple frozenset"
).split()
_MODULES: Final = (math, operator)
_TYPES: Final = (
    str, bytes, int, float, complex, bool, tuple, frozenset, range, slice, torch.dtype, torch.device,
    torch.Size,
    re.Pattern, re.Match, types.CodeType,
)  # fmt: skip
_FUNCTIONS: Final = (
    format_fields, format_path,
    inspect.signature, re.compile, re.match, re.search, re.sub, re.split, re.fullmatch, re.findall,
    string.capwords, torch.finfo, torch.iinfo, torch.promote_types, torch.can_cast, torch.get_default_dtype,
    torch.are_deterministic_algorithms_enabled, torch.device, torch.Size,
    torch.get_num_threads, torch.cuda.is_available, type(None), property, object.__reduce_ex__,
    importlib.util.find_spec,
    sys.intern, importlib.metadata.version, importlib.metadata.packages_distributions,
    getattr(re, "_compile", None), re.escape, os.fspath, typing.get_type_hints, typing.get_origin,
    typing.get_args,
    getattr(typing, "_get_protocol_attrs", None), getattr(typing, "_is_callable_members_only", None),
)  # fmt: skip


def _collect() -> frozenset[object]:
    found: set[object] = {getattr(builtins, name) for name in _BUILTINS}
    for module in _MODULES:
        found.update(value for value in vars(module).values() if callable(value))
    for kind in _TYPES:
        found.add(kind)
        found.update(value for value in vars(kind).values() if callable(value) and is_hashable(value))
        found.update(getattr(kind, name) for name in vars(kind) if is_hashable(getattr(kind, name, None)))
    found.update(_FUNCTIONS)
    found.discard(None)
    return frozenset(found)


def is_hashable(value: object) -> bool:
    """Tell whether a callable can be looked up; the hash of a weak reference is that of its object."""
    if isinstance(value, weakref.ReferenceType):
        return False
    try:
        hash(value)
    except TypeError:
        return False
    return True


FOLDABLE: Final = _collect()


def is_foldable(function: object) -> bool:
    """Tell whether calling this on constants gives the same constant each time and changes nothing."""
    return is_hashable(function) and function in FOLDABLE
