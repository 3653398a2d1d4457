"""Bugs that were fixed, as small changes of the package's source that put them back."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parent.parent
"""The folder of the package and of its tests."""


@dataclass(frozen=True)
class Edit:
    """One change of the source.

    Attributes:
        file: what is changed, from `ROOT`.
        before: text that stands there once.
        after: what stands there instead.
    """

    file: str
    before: str
    after: str

    def changed(self, text: str) -> str:
        """Return the source with the bug.

        Raises:
            ValueError: the code was rewritten since; the mutant must follow it.
        """
        count = text.count(self.before)
        if count != 1:
            raise ValueError(f"{self.before!r} stands {count} times in {self.file}, not once")
        return text.replace(self.before, self.after)


@dataclass(frozen=True)
class Mutant:
    """One bug.

    Attributes:
        name: two or three words.
        area: the file that holds it, without its ending.
        restores: the finding or the commit that it puts back.
        says: what is wrong then.
        edits: what is changed; several places where the package has a second line of defence.
        shows: a program that ends well with the package as it is, and not with the mutant.
        likely: the generators that run first.
        focus: for generators that go through a list, the arguments with which they begin near the bug.
    """

    name: str
    area: str
    restores: str
    says: str
    edits: tuple[Edit, ...]
    shows: str
    likely: tuple[str, ...] = ()
    focus: Mapping[str, str] = field(default_factory=dict)

    def apply(self, folder: Path) -> None:
        """Put the bug into the package of a folder.

        Raises:
            ValueError: the code was rewritten since; the mutant must follow it.
        """
        for edit in self.edits:
            place = folder / edit.file
            place.write_text(edit.changed(place.read_text()))


def mutants() -> tuple[Mutant, ...]:
    """Return all mutants, by area and in the order in which they are written."""
    return tuple(_read())


def _read() -> Iterator[Mutant]:
    for path in sorted(HERE.glob("*.toml")):
        for entry in tomllib.loads(path.read_text())["mutant"]:
            edits = [{name: entry.pop(name) for name in ("file", "before", "after")}, *entry.pop("also", ())]
            likely = tuple(entry.pop("likely", ()))
            yield Mutant(area=path.stem, edits=tuple(Edit(**edit) for edit in edits), likely=likely, **entry)
