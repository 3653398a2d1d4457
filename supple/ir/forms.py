"""Forms: lines of text that stand for data, each given by an example that is printed and parsed.

    FREE = Form(Free, "free {name}")
    FREE.show(Free("x")) == "free x"
    FREE.read("free x") == Free("x")

What stands in braces are fields of the data. A part says how the text of a field looks, how it is made and
how it is read; both functions get the context (the symbols that are declared, say) as their last argument.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from supple.ir.dtypes import DType

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Part:
    """The text of one field: a regular expression, (value, context) -> text, (text, context) -> value."""

    pattern: str
    show: Callable[[Any, Any], str]
    read: Callable[[str, Any], object]


def part(pattern: str, show: Callable[[Any], str], read: Callable[[str], object]) -> Part:
    """Return a part whose functions need no context."""
    return Part(pattern, lambda value, _: show(value), lambda text, _: read(text))


WORD: Final = part(r"\w+", str, str)
DTYPE: Final = part(r"\w+", lambda dtype: dtype.value, DType)


def optional(prefix: str, inner: Part, absent: object = ()) -> Part:
    """Return a part behind a prefix, both left out for what is empty or None: it reads as `absent`."""
    return Part(
        f"(?:{prefix}{inner.pattern})?",
        lambda value, context: f"{prefix}{inner.show(value, context)}" if value else "",
        lambda text, context: inner.read(text.removeprefix(prefix), context) if text else absent,
    )


def listed(item: Part, pattern: str = ".*") -> Part:
    """Return a part of several items, separated by commas."""
    return Part(
        pattern,
        lambda values, context: ", ".join(item.show(value, context) for value in values),
        lambda text, context: tuple(item.read(one, context) for one in separated(text)),
    )


class Form(Generic[T]):
    """How one kind of data is written on a line."""

    __slots__ = ("_make", "_parts", "example")

    def __init__(self, make: Callable[..., T], example: str, **parts: Part) -> None:
        """`make` takes the fields that `example` has in braces, by name; one without a part is a word."""
        self.example = example
        self._make = make
        self._parts = {field: parts.get(field, WORD) for field in re.findall(r"{(\w+)}", example)}

    def show(self, data: T, context: object = None) -> str:
        """Return the line."""
        texts = {field: each.show(getattr(data, field), context) for field, each in self._parts.items()}
        return self.example.format(**texts)

    def read(self, line: str, context: object = None) -> T | None:
        """Return the data that a line stands for; None when the line has another form.

        Raises:
            ValueError: the text of a field makes no sense.
        """
        pattern = re.escape(self.example)
        for field, each in self._parts.items():
            pattern = pattern.replace(rf"\{{{field}\}}", f"(?P<{field}>{each.pattern})")
        found = re.fullmatch(pattern, line)
        if found is None:
            return None
        return self._make(**{field: each.read(found[field], context) for field, each in self._parts.items()})

    def item(self, pattern: str = ".+") -> Part:
        """Return the form as a part of a larger one."""
        return Part(pattern, self.show, lambda line, context: read_one((self,), line, context))


def read_one(forms: Sequence[Form[T]], line: str, context: object = None) -> T:
    """Return what the line stands for in the first form that it has.

    Raises:
        ValueError: it has none of them.
    """
    found = next((data for form in forms if (data := form.read(line, context)) is not None), None)
    if found is None:
        raise ValueError(f"not a line of the form {' or '.join(form.example for form in forms)}: {line!r}")
    return found


def separated(text: str, separator: str = ",") -> list[str]:
    """Return the parts of a text between separators that stand in no brackets; none of an empty text."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == separator and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [one.strip() for one in parts] if text.strip() else []
