"""Names of what a function was given: the ways to write them, and lists of them."""

import logging
import re
from dataclasses import dataclass
from typing import Final

from supple.base.memo import memo

_log: Final = logging.getLogger("supple")


@dataclass(frozen=True, slots=True)
class Listed:
    """One item of a list of sources."""

    text: str
    plain: str
    pattern: re.Pattern[str] | None
    dim: int | None


@memo(64)
def parsed(listed: str) -> tuple[Listed, ...]:
    """Return the items of a list of sources. One that is no regular expression counts as a name only."""
    items: list[Listed] = []
    for part in filter(None, map(str.strip, listed.split(","))):
        text, colon, dim = part.rpartition(":")
        has_dim = bool(colon) and dim.isdigit()
        name = text if has_dim else part
        try:
            pattern = re.compile(name)
        except re.error as error:
            _log.warning("%r in a list of sources is no regular expression: %s", name, error)
            pattern = None
        items.append(Listed(name, plain(name), pattern, int(dim) if has_dim else None))
    return tuple(items)


@memo(4096)
def is_listed(listed: str, source: str, dim: int | None) -> bool:
    """Tell whether a list names a source: as guards print it, as programs write it, or by an expression."""
    names = (source, torch_name(source), program_name(source))
    return any(
        item.dim in (None, dim)
        and (
            item.plain == plain(source) or (item.pattern is not None and any(map(item.pattern.match, names)))
        )
        for item in parsed(listed)
    )


def torch_name(source: str) -> str:
    """Return a source as torch prints it: `L['self']._modules['a']._parameters['weight']`."""
    return re.sub(r"\.__dict__\['(\w+)'\]", r".\1", source)


def program_name(source: str) -> str:
    """Return a source as programs write it: `L['self'].a.weight`."""
    return re.sub(r"^([LG])\.(\w+)", r"\1['\2']", plain(source))


def plain(source: str) -> str:
    """Return a name in the one form that all ways to write it have in common.

    `L['self'].__dict__['_modules']['a'].__dict__['_parameters']['weight']`, `L["self"].a.weight` and
    `L['self']._modules['a'].weight` are all `L.self.a.weight`; items keep their brackets: `L.self.layers[0]`.
    """
    text = re.sub(
        r"\[['\"\u2018\u2019\u201c\u201d]?([^\d\W]\w*)['\"\u2018\u2019\u201c\u201d]?\]", r".\1", source
    )
    text = re.sub(r"\.__dict__\b|\._(modules|parameters|buffers)(?=[.\[])", "", text)
    return re.sub(r"\[['\"]?(\d+)['\"]?\]|\.(\d+)\b", lambda found: f"[{found[1] or found[2]}]", text)
