"""What functions were called with: per process in memory, and from one process to the next in a file.

A function is known by its content and its name, so that a comment above it, or another folder, leaves its
record as it is. The file is read once per process. It is written when a compilation ends that has seen
something new: under a lock, merged with what other processes wrote meanwhile, then renamed into place.
"""

import itertools
import json
import logging
import os
import threading
import types
import weakref
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

import torch

from supple.base import events, files
from supple.base.config import Settings, config
from supple.base.memo import memo
from supple.base.stable import digest

Values = tuple[int | float, ...]
"""Values seen in one place: one for a constant, two for what varied, none for what varied earlier."""

VERSION: Final = 1
FUNCTIONS: Final = 500
"""The file keeps this many functions, those that were stored last."""
INPUTS: Final = 1_000
"""Of each it keeps this many inputs, those that were seen first: the items of a list are inputs."""
ALL_INPUTS: Final = 10_000
"""And so many of all functions: a compilation that has seen something new writes the whole file again."""
PATIENCE_S: Final = 2.0
"""Whoever does not get the lock within this time leaves the file alone until the next compilation."""
CONTENT: Final = (
    "co_code co_exceptiontable co_consts co_argcount co_posonlyargcount co_kwonlyargcount co_flags "
    "co_names co_varnames co_freevars co_cellvars co_qualname"
).split()
"""What of a code object says what it does: all but where it stands."""
FULLY: Final = "fully dynamic scalar or tensor"

_log: Final = logging.getLogger("supple")


def joined(left: Values, right: Values) -> Values:
    """Return what was seen by either side."""
    both = tuple(dict.fromkeys((*left, *right)))[:2]
    return both if len(both) == 2 or (left and right) else ()


def why(values: Values) -> str:
    """Return why values are no constant; empty when they are one."""
    if len(values) == 1:
        return ""
    return f"automatic dynamic: {values[0]}, {values[1]}" if values else "profile"


@dataclass(frozen=True, slots=True)
class Record:
    """What one input has been.

    Attributes:
        kind: "tensor"; "scalar"; "any" for both, or for tensors of several ranks.
        sizes: of each dimension; of a scalar, its value.
        strides: of each dimension.
        inner: for each dimension, those whose size times their stride was its stride every time.
    """

    kind: str
    sizes: tuple[Values, ...] = ()
    strides: tuple[Values, ...] = ()
    inner: tuple[frozenset[int], ...] = ()

    def join(self, other: "Record") -> "Record":
        """Return what both say."""
        if self == other:
            return self
        if self.kind != other.kind or len(self.sizes) != len(other.sizes):
            return ANY
        return Record(
            self.kind,
            tuple(map(joined, self.sizes, other.sizes)),
            tuple(map(joined, self.strides, other.strides)),
            tuple(mine & its for mine, its in zip(self.inner, other.inner, strict=True)),
        )

    @property
    def text(self) -> str:
        """For people: `?` for what varied, `S(1)` for the product of size and stride of dimension 1."""
        sizes = [_shown(values) for values in self.sizes]
        if self.kind != "tensor":
            return FULLY if self == ANY or sizes == ["?"] else f"scalar {sizes[0]}"
        steps = [
            f"S({min(inner)})" if inner and values not in ((0,), (1,)) else _shown(values)
            for values, inner in zip(self.strides, self.inner, strict=True)
        ]
        return f"tensor size=[{', '.join(sizes)}] stride=[{', '.join(steps)}]"

    @property
    def is_dynamic(self) -> bool:
        """Whether anything varied."""
        return self.text == FULLY or "?" in self.text

    @property
    def data(self) -> object:
        """What the file says."""
        sizes = [_stored(values) for values in self.sizes]
        if self.kind != "tensor":
            return "?" if self == ANY else {"scalar": sizes[0]}
        strides = [_stored(values) for values in self.strides]
        return {"size": sizes, "stride": strides, "inner": [sorted(dims) for dims in self.inner]}


ANY: Final = Record("any")


@memo(1024)
def tensor_record(sizes: tuple[int, ...], strides: tuple[int, ...], dynamic: tuple[int, ...] = ()) -> Record:
    """Return the record of one tensor, of which some dimensions are said to vary."""
    dims = range(len(sizes))
    inner = (
        frozenset(one for one in dims if one != dim and sizes[one] * strides[one] == strides[dim])
        for dim in dims
    )
    seen = tuple(() if dim in dynamic else (size,) for dim, size in enumerate(sizes))
    return Record("tensor", seen, tuple((step,) for step in strides), tuple(inner))


def _shown(values: Values) -> str:
    return str(_stored(values))


def _stored(values: Values) -> object:
    return values[0] if len(values) == 1 else "?"


def _values(data: object) -> Values:
    if data == "?":
        return ()
    if type(data) not in (int, float):
        raise ValueError(data)
    return (cast("float", data),)


def _whole(data: object) -> Values:
    if type(data) is float:
        raise ValueError(data)
    return _values(data)


def _dims(data: object, rank: int) -> frozenset[int]:
    dims = frozenset(cast("Iterable[int]", data))
    if any(type(dim) is not int or not 0 <= dim < rank for dim in dims):
        raise ValueError(data)
    return dims


def _parsed(data: object) -> Record:
    """Return the record that `data` gave; anything else raises ValueError or TypeError."""
    if data == "?":
        return ANY
    match cast("dict[str, list[object]]", data):
        case {"scalar": value}:
            return Record("scalar", (_values(value),))
        case {"size": [*sizes], "stride": [*strides], "inner": [*inner]} if (
            len(sizes) == len(strides) == len(inner)
        ):
            dims = tuple(_dims(one, len(sizes)) for one in inner)
            return Record("tensor", tuple(map(_whole, sizes)), tuple(map(_whole, strides)), dims)
        case _:
            raise ValueError(data)


@dataclass(slots=True, weakref_slot=True, eq=False)
class Seen:
    """What one function has been called with, by source; grows with every compilation.

    Attributes:
        key: names the function in the file; empty for one that is not stored.
        place: "file:line:name" of the function.
        records: by source name.
        private: sources that are not stored.
        is_widened: what varied is dynamic even where the configuration keeps it static.
    """

    key: str = ""
    place: str = ""
    records: dict[str, Record] = field(default_factory=dict[str, Record])
    private: set[str] = field(default_factory=set[str])
    is_widened: bool = False

    def note(self, source: str, now: Record, *, is_private: bool = False) -> None:
        """Remember what an input is now; in this process only if it is private."""
        (self.private.add if is_private else self.private.discard)(source)
        old = self.records.get(source)
        if old is now:
            return
        new = self._with(source, now)
        if old != new:
            self.records[source] = new
            if self.key and not is_private:
                _MEMORY.changed[id(self)] = self

    def note_number(self, source: str, value: float, *, is_private: bool = False) -> None:
        """Remember an int or a float; in this process only if it is private."""
        if value == value:  # a NaN equals nothing, and is never dynamic
            self.note(source, Record("scalar", ((value,),)), is_private=is_private)

    def varied_dims(self, source: str, now: Record) -> dict[int, str]:
        """Return the dimensions of which not all sizes were those of this tensor, and what they were."""
        seen = self._with(source, now)
        if seen is now:
            return {}
        if seen == ANY:
            return dict.fromkeys(range(len(now.sizes)), "automatic dynamic: ranks or types vary")
        return {dim: text for dim, values in enumerate(seen.sizes) if (text := why(values))}

    def varied_strides(self, source: str, now: Record) -> dict[int, str]:
        """Return the dimensions whose stride neither is constant nor follows from sizes."""
        seen = self._with(source, now)
        if seen is now:
            return {}
        found = zip(seen.strides, seen.inner, strict=True)
        return {dim: text for dim, (values, inner) in enumerate(found) if not inner and (text := why(values))}

    def number_varied(self, source: str, value: float) -> str:
        """Return which values there were, empty when there was this one only."""
        seen = self._with(source, Record("scalar", ((value,),)))
        return "automatic dynamic: ranks or types vary" if seen == ANY else why(seen.sizes[0])

    def _with(self, source: str, now: Record) -> Record:
        old = self.records.get(source)
        return now if old is None or old is now else old.join(now)


@dataclass(frozen=True, slots=True)
class Function:
    """What the file says of one function."""

    place: str
    records: Mapping[str, Record]


Stored = dict[str, object]
"""The functions in the file, by key, as they stand there: few of them are looked at."""


class _Memory:
    """What this process has seen: of each live code object, and in the file when it was first read."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.seen: dict[int, Seen] = {}
        self.changed: dict[int, Seen] = {}
        self.files: dict[Path, Stored] = {}


_MEMORY: Final = _Memory()


def note(seen: Seen, source: str, value: object) -> None:
    """Note the sizes and numbers in an argument, as capture does where it reads them."""
    match value:
        case torch.Tensor() if value.layout is torch.strided:
            seen.note(source, tensor_record(tuple(value.shape), tuple(value.stride())))
        case bool():
            pass
        case int() | float():
            seen.note_number(source, value)
        case list() | tuple() | dict():
            parts = cast("dict[object, object] | list[object]", value)
            for key, part in parts.items() if isinstance(parts, dict) else enumerate(parts):
                note(seen, f"{source}[{key!r}]", part)
        case _:
            pass


def seen_for(code: types.CodeType) -> Seen:
    """Return what a function was called with, in this process and in those before it."""
    with _MEMORY.lock:
        found = _MEMORY.seen.get(id(code))
        if found is None:
            key = key_of(code)
            place = f"{code.co_filename}:{code.co_firstlineno}:{code.co_name}"
            found = _MEMORY.seen[id(code)] = Seen(key, place, dict(_before(key)))
            weakref.finalize(code, _MEMORY.seen.pop, id(code), None).atexit = False
        return found


def forget() -> None:
    """Forget what this process has seen; what earlier ones left in the file stays."""
    with _MEMORY.lock:
        _MEMORY.seen.clear()
        _MEMORY.changed.clear()


def key_of(code: types.CodeType) -> str:
    """Return what names a function: its content without line numbers, its name, the name of its file."""
    return digest(_content(code), os.path.basename(code.co_filename), code.co_qualname)


def _content(value: object) -> str:
    match value:
        case types.CodeType():
            return _content(tuple(getattr(value, name) for name in CONTENT))
        case tuple() | frozenset():
            parts = [_content(part) for part in cast("Iterable[object]", value)]
            return f"({','.join(parts if isinstance(value, tuple) else sorted(parts))})"
        case _:
            return f"{type(value).__name__} {value!r}"


def path_of(settings: Settings) -> Path | None:
    """Return where the profile is kept; None for nowhere."""
    if settings.profile == "0":
        return None
    if settings.profile not in ("", "1"):
        return Path(settings.profile).expanduser()
    job = files.named(settings.job_id)
    return files.folder_of(settings) / (f"profile-{job}.json" if job else "profile.json")


def _before(key: str) -> Mapping[str, Record]:
    path = path_of(config.now())
    if path is None:
        return {}
    if path not in _MEMORY.files:
        _MEMORY.files[path] = load(path)
    return function(_MEMORY.files[path].get(key)).records


def load(path: Path) -> Stored:
    """Return what a file says; a file that is no profile is set aside, with a warning."""
    try:
        try:
            return _read(path)
        except ValueError:
            with files.locked(path, PATIENCE_S):
                return _read_or_set_aside(path)
    except OSError as error:
        _log.warning("the profile %s is not read: %s", path, error)
    return {}


def _read(path: Path) -> Stored:
    try:
        text = files.read(path).decode()
    except FileNotFoundError:
        return {}
    try:
        data = json.loads(text)
    except RecursionError as error:
        raise ValueError(path) from error
    match data:
        case {"version": 1, "functions": {**functions}}:
            return cast("Stored", functions)
        case _:
            raise ValueError(path)


def function(data: object) -> Function:
    """Return what the file says of one function; nothing where it makes no sense."""
    match cast("dict[str, object]", data):
        case {"place": str(place), "inputs": inputs}:
            with suppress(TypeError, ValueError):
                named = dict(cast("dict[str, object]", inputs))
                return Function(place, {source: _parsed(one) for source, one in named.items()})
        case _:
            pass
    return Function("", {})


def _read_or_set_aside(path: Path) -> Stored:
    try:
        return _read(path)
    except ValueError:
        aside = Path(f"{path}.corrupt")
        path.replace(aside)
        _log.warning("%s is not a profile that can be read: moved to %s, and a new one begins", path, aside)
        return {}


def store(path: Path, changed: Iterable[Seen]) -> bool:
    """Add to a file what functions were called with; False when another process does not let go of it.

    Raises:
        OSError: it cannot be written.
    """
    with files.locked(path, PATIENCE_S) as is_held:
        if not is_held:
            return False
        functions = _read_or_set_aside(path)
        for seen in changed:
            records = dict(function(functions.pop(seen.key, None)).records)
            for source, new in seen.records.items():
                if source not in seen.private:
                    records[source] = records[source].join(new) if source in records else new
            inputs = {source: record.data for source, record in itertools.islice(records.items(), INPUTS)}
            functions[seen.key] = {"place": seen.place, "inputs": inputs}
        kept = _newest(functions)
        files.replace(path, json.dumps({"version": VERSION, "functions": kept}).encode())
    return True


def _newest(functions: Stored) -> Stored:
    """Return the functions that were stored last, as many as the file has room for."""
    fit = itertools.takewhile(
        lambda total: total <= ALL_INPUTS, itertools.accumulate(map(_size, reversed(functions.values())))
    )
    count = min(FUNCTIONS, sum(1 for _ in fit))
    return dict(itertools.islice(functions.items(), len(functions) - count, None))


def _size(data: object) -> int:
    match cast("dict[str, dict[str, object]]", data):
        case {"inputs": {**inputs}}:
            return len(inputs)
        case _:
            return 0


def _store(event: events.Event) -> None:
    """Store what changed, when a compilation has ended."""
    if not isinstance(event, events.CompileFinished) or not _MEMORY.changed:
        return
    with _MEMORY.lock:
        changed, _MEMORY.changed = _MEMORY.changed, {}
        path = path_of(config.now())
        try:
            if path is not None and not store(path, changed.values()):
                _MEMORY.changed = {**changed, **_MEMORY.changed}
        except OSError as error:
            _log.warning("the profile is not written: %s", error)


events.listen(_store, reads_texts=False)


def text(functions: Stored) -> str:
    """Return a profile for people: what varied is `?`; a line that makes it dynamic from the start."""
    lines: list[str] = []
    for one in map(function, functions.values()):
        lines.append(f"{one.place}:")
        lines += [f"{source}: {record.text}" for source, record in sorted(one.records.items())]
        dynamic = sorted(source for source, record in one.records.items() if record.is_dynamic)
        if dynamic:
            lines.append(f'SUPPLE_DYNAMIC_SOURCES="{",".join(dynamic)}"')
        lines.append("")
    return "\n".join(lines)
