"""Says what a value is in plain data, so that two of them can be compared after all has been changed back."""

import collections
import enum
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial, singledispatch
from math import copysign, isclose, isfinite
from typing import Any, Final

import torch

ATOMS: Final = (
    type(None), bool, int, float, complex, str, bytes, range, slice, torch.dtype, torch.device, torch.layout,
    torch.memory_format, types.EllipsisType, types.NotImplementedType, torch.Generator,
)  # fmt: skip
EXACT: Final = frozenset(ATOMS)
CONTAINERS: Final = (dict, collections.OrderedDict, set)
MOST: Final = 4000


@dataclass(frozen=True)
class Line:
    """What is at one place; `numbers` are a tensor's own, copied, or a float."""

    path: str
    what: Any
    numbers: Any = None
    strides: tuple[int, ...] = ()


def told(value: object) -> str:
    """Return the text of an atom; of an error's text what does not depend on stacks and nodes of autograd."""
    text = repr(value).partition("\\nException raised from")[0]
    text = re.sub(r"Function \w+Backward\w* returned", "Function returned", text)
    return re.sub("maximum recursion depth exceeded.*", "maximum recursion depth exceeded", text)


@dataclass
class Description:
    """Lines about values in the order in which they are reached; an object met again is a number."""

    lines: list[Line] = field(default_factory=list)
    known: dict[int, int] = field(default_factory=dict)
    alive: list[Any] = field(default_factory=list)

    def add(self, value: Any, path: str) -> None:
        """Describe a value."""
        kind = type(value)
        if len(self.lines) > MOST:
            return
        if kind in EXACT or isinstance(value, ATOMS):
            plain = kind.__qualname__
            self.lines.append(
                Line(path, plain, value) if isinstance(value, float) else Line(path, (plain, told(value)))
            )
        elif isinstance(
            value, type | types.ModuleType | types.BuiltinFunctionType | types.CodeType | enum.Enum
        ):
            self.lines.append(Line(path, f"{kind.__qualname__} {name_of(value)}"))
        elif id(value) in self.known:
            self.lines.append(Line(path, f"object {self.known[id(value)]}"))
        else:
            if kind is not tuple:
                self.known[id(value)] = len(self.known)
                self.alive.append(value)
            self.inside(value, kind, path)

    def inside(self, value: Any, kind: type, path: str) -> None:
        """Describe an object met for the first time."""
        self.lines.append(Line(path, kind.__qualname__))
        parts(value, self, path)
        for name, one in attributes(value):
            self.add(one, f"{path}.{name}")

    def tensor(self, value: torch.Tensor, path: str) -> None:
        """Describe a tensor: metadata, memory that it shares, numbers."""
        with torch._C.DisableTorchFunctionSubclass(), torch.no_grad():
            try:
                is_leaf = value.is_leaf
            except RuntimeError as error:  # a view made without gradients, whose base was written since
                self.lines.append(Line(path, str(error)))
                return
            flags = value.requires_grad, is_leaf, value.is_inference(), value.is_conj(), value.is_neg()
            described = (value.dtype, tuple(value.shape), value.layout, value.device.type, *flags)
            if value.layout is not torch.strided or value.is_quantized or value.is_nested or value.is_meta:
                self.lines.append(Line(path, described))
                return
            storage = value.untyped_storage()
            number = self.known.setdefault(storage._cdata, len(self.known))
            self.alive.append(storage)
            what = (*described, value.storage_offset(), f"storage {number}")
            numbers = value.detach().resolve_conj().resolve_neg().clone()
            self.lines.append(Line(path, what, numbers, value.stride()))
            if value.is_leaf:
                self.add(value.grad, f"{path}.grad")


@singledispatch
def parts(value: Any, made: Description, path: str) -> None:
    """Describe what an object of this type holds besides attributes."""


@parts.register
def _(value: torch.Tensor, made: Description, path: str) -> None:
    made.tensor(value, path)


@parts.register
def _(value: dict, made: Description, path: str) -> None:
    base = collections.OrderedDict if isinstance(value, collections.OrderedDict) else dict
    for index, (key, one) in enumerate(base.items(value)):
        made.add(key, f"{path}.key {index}")
        made.add(one, f"{path}[{key if isinstance(key, str | int) else index!r}]")


@parts.register(list)
@parts.register(tuple)
@parts.register(collections.deque)
def _(value: Any, made: Description, path: str) -> None:
    for index, one in enumerate(kind_of(value).__iter__(value)):
        made.add(one, f"{path}[{index}]")


@parts.register(set)
@parts.register(frozenset)
def _(value: Any, made: Description, path: str) -> None:
    made.lines.append(Line(path, sorted(map(plain_text, value))))


@parts.register
def _(value: types.FunctionType, made: Description, path: str) -> None:
    for name in ("__defaults__", "__kwdefaults__"):
        made.add(getattr(value, name), f"{path}.{name}")
    for index, cell in enumerate(value.__closure__ or ()):
        made.add(contents(cell), f"{path}.cell {index}")


@parts.register
def _(value: types.MethodType, made: Description, path: str) -> None:
    made.add(value.__self__, f"{path}.__self__")
    made.add(value.__func__, f"{path}.__func__")


@parts.register
def _(value: types.CellType, made: Description, path: str) -> None:
    made.add(contents(value), f"{path}.cell")


@parts.register
def _(value: partial, made: Description, path: str) -> None:
    made.add((value.func, value.args, value.keywords), path)


@parts.register
def _(value: BaseException, made: Description, path: str) -> None:
    made.add(value.args, f"{path}.args")


@parts.register(types.GeneratorType)
@parts.register(map)
@parts.register(filter)
@parts.register(zip)
def _(value: Any, made: Description, path: str) -> None:
    made.add(drained(value), path)


def name_of(value: Any) -> str:
    """Return the name of a class, module, function or enum member; no metaclass is asked."""
    if isinstance(value, type):
        return type.__dict__["__name__"].__get__(value)
    return str(getattr(value, "__name__", value))


def kind_of(value: Any) -> Any:
    return next(kind for kind in (list, tuple, collections.deque) if isinstance(value, kind))


def contents(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return "empty"


def drained(iterator: Any) -> list[Any]:
    """Return what is left of an iterator, and what it raises."""
    found: list[Any] = []
    try:
        found.extend(iterator)
    except Exception as error:  # what the program raises is compared
        found.append(error)
    return found


def plain_text(value: Any) -> str:
    return repr(value) if isinstance(value, ATOMS) else type(value).__qualname__


def attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the attributes that an object keeps, without asking its class."""
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        own = {}
    for name, one in list(own.items()):
        is_empty = name.startswith("_") and type(one) in CONTAINERS and not one
        if name != "__wrapped__" and not is_empty:
            yield name, one
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__")
        if not slots:
            continue
        for name in (slots,) if isinstance(slots, str) else slots:
            member = vars(kind).get(name)
            if isinstance(member, types.MemberDescriptorType):
                try:
                    yield name, member.__get__(value)
                except AttributeError:
                    continue


ROUNDED: Final = 1e-4
"""How far floats of native code may be apart from eager's."""


def difference(want: Description, got: Description, bound: float, *, is_native: bool) -> str | None:
    """Return where two descriptions first differ, None when they do not.

    Args:
        bound: how far floats may be apart by rounding; 0: not by a bit.
    """
    for mine, theirs in zip(want.lines, got.lines, strict=False):
        if (mine.path, mine.what) != (theirs.path, theirs.what):
            return f"{mine.path}: eager {shown(mine)}, compiled {theirs.path}: {shown(theirs)}"
        has_strides = not is_native or not has_layouts_of_its_own(mine)
        is_same = mine.strides == theirs.strides or not has_strides
        if not (is_same and same_numbers(mine.numbers, theirs.numbers, bound)):
            return f"{mine.path}: eager {shown(mine)}, compiled {shown(theirs)}"
    if len(want.lines) != len(got.lines):
        return f"{len(want.lines)} and {len(got.lines)} lines"
    return None


def has_layouts_of_its_own(line: Line) -> bool:
    """Tell whether native code may lay a tensor out otherwise: a gradient, or one with few elements."""
    is_small = isinstance(line.numbers, torch.Tensor) and any(size < 2 for size in line.numbers.shape)
    return is_small or line.path.startswith("gradients")


def shown(line: Line) -> str:
    text = str(line.what) if line.numbers is None else f"{line.what} {line.strides} {line.numbers}"
    return text if len(text) < 600 else f"{text[:600]}..."


def same_numbers(want: Any, got: Any, bound: float) -> bool:
    """Tell whether numbers are the same to the bit, the sign of zero included, or but for rounding."""
    if isinstance(want, float) and isinstance(got, float):
        if bound and isfinite(want):
            return isclose(want, got, rel_tol=bound, abs_tol=bound / 10)
        return (want != want and got != got) or (want == got and copysign(1, want) == copysign(1, got))
    if want is None or got is None:
        return want is got
    if not (want.is_floating_point() or want.is_complex()):
        return torch.equal(want, got)
    if bound:
        bound = bound if want.dtype.itemsize >= 4 else 2e-2
        return torch.allclose(want, got, rtol=bound, atol=bound / 10, equal_nan=True)
    parts = [torch.view_as_real(one) if one.is_complex() else one for one in (want, got)]
    nans = [one.isnan() for one in parts]
    signs = [one.signbit() & ~nan for one, nan in zip(parts, nans, strict=True)]
    return (
        torch.equal(*nans)
        and torch.equal(*signs)
        and torch.equal(*(one.nan_to_num(nan=0.5) for one in parts))
    )
