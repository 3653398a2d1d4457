"""Which captured graphs one dynamic graph might replace: read from a log with the channel `graph_code`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_LINE: Final = re.compile(r"\[__graph_code\] (.*)")
_TITLE: Final = re.compile(r" ===== (\S+) =====")
_INPUT: Final = re.compile(r""": "(\w+)\[([^\]]*)\][^"]*? from ((?:[^"\\]|\\.)*)\"""")
_CALL: Final = re.compile(r"""    \w+: "(?!int )(?:[^"\\]|\\.)*" = ([\w.]+)\(""")


@dataclass(frozen=True, slots=True)
class Similar:
    """Graphs with the same calls on the same tensors.

    Attributes:
        graphs: their compile ids.
        sizes: of each tensor input whose sizes differ, by source: the sizes in each graph.
    """

    graphs: tuple[str, ...]
    sizes: dict[str, tuple[str, ...]]

    def __str__(self) -> str:
        lines = (
            f"  {source}: {' | '.join(f'[{one}]' for one in sizes)}" for source, sizes in self.sizes.items()
        )
        return "\n".join((", ".join(self.graphs), *lines))


def similar_graphs(log: str) -> list[Similar]:
    """Return the groups of at least two similar graphs in a log, in its order.

    Integer inputs, and arithmetic on sizes, do not count: a static graph has numbers in their place.
    """
    groups: dict[tuple[object, ...], list[tuple[str, list[tuple[str, str, str]]]]] = {}
    for title, code in _graphs(log):
        inputs = _INPUT.findall(code.partition("\n")[0])
        tensors = tuple((source, dtype, sizes.count(",")) for dtype, sizes, source in inputs)
        groups.setdefault((tensors, *_CALL.findall(code)), []).append((title, inputs))
    return [_similar(group) for group in groups.values() if len(group) > 1]


def _similar(group: list[tuple[str, list[tuple[str, str, str]]]]) -> Similar:
    sizes = {
        same[0][2]: tuple(one[1] for one in same)
        for same in zip(*(inputs for _, inputs in group), strict=True)
        if len({one[1] for one in same}) > 1
    }
    return Similar(tuple(title for title, _ in group), sizes)


def _graphs(log: str) -> Iterator[tuple[str, str]]:
    for block in "\n".join(_LINE.findall(log)).split("TRACED GRAPH\n"):
        title = _TITLE.match(block)
        if title is not None:
            yield title[1], block.partition("\n")[2]
