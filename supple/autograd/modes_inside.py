"""The modes before each node of a captured graph, and the nodes that repeat or undo what changed them.

A graph holds a node for each change: `torch.set_autocast_enabled("cpu", True)`. A piece of the graph that is
compiled alone begins and ends with the modes in which the whole begins, so that it is a graph like any other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from supple.ir.graph.nodes import Node
from supple.ir.ops import Op, OpKind
from supple.runtime.modes import NESTING
from supple.runtime.state import mode_settings
from supple.torch_private import STATE_CHANGES

Key = tuple[str, tuple[object, ...]]
"""What a setter sets: its name in `OPS`, and all of its arguments but the last."""

OPS: Final = {
    name.rpartition(".")[2].lstrip("_"): Op(name, OpKind.FUNCTION, function, is_pure=False)
    for name, function in (*STATE_CHANGES.items(), *NESTING.items())
}
DEEPER: Final = {"autocast_increment_nesting": 1, "autocast_decrement_nesting": -1}
"""By how many blocks of autocast the graph is deeper after a node."""

GRADIENTS: Final[Key] = ("set_grad_enabled", ())

Block = tuple[bool, object]
"""A block of inference mode: whether it is on, and the grad mode to which leaving returns."""


@dataclass(frozen=True, slots=True)
class Modes:
    """What a graph has changed before one of its nodes.

    Attributes:
        first: the settings in which the graph begins.
        now: those in which the node runs.
        depth: how many blocks of autocast it has entered and not left; negative where it leaves the caller's.
        blocks: those of inference mode that it has entered and not left, the innermost last.
    """

    first: Mapping[Key, object]
    now: Mapping[Key, object]
    depth: int = 0
    blocks: tuple[Block, ...] = ()

    @property
    def can_be_left(self) -> bool:
        """Whether nodes can undo all of it; values made in inference mode are no inputs of a piece."""
        return not any(mode for mode, _ in self.blocks) and self.first.keys() == self.now.keys()

    @property
    def has_gradients(self) -> bool:
        """Whether operators record gradients."""
        return bool(self.now[GRADIENTS]) and not (self.blocks and self.blocks[-1][0])

    def entering(self, names: Iterator[str]) -> Iterator[Node]:
        """Yield nodes that make these modes of the first ones."""
        for mode, grad_mode in self.blocks:
            yield Node(next(names), OPS["set_grad_enabled"], (grad_mode,))
            yield Node(next(names), OPS["enter"], (mode,))
        yield from self._changes(self.now, self.depth, names)

    def leaving(self, names: Iterator[str]) -> Iterator[Node]:
        """Yield nodes that make the first modes of these."""
        for _ in self.blocks:
            yield Node(next(names), OPS["leave"])
        yield from self._changes(self.first, -self.depth, names)

    def _changes(self, wanted: Mapping[Key, object], deeper: int, names: Iterator[str]) -> Iterator[Node]:
        nest = OPS["autocast_increment_nesting" if deeper > 0 else "autocast_decrement_nesting"]
        for _ in range(abs(deeper)):
            yield Node(next(names), nest)
        for key, value in wanted.items():
            if self.now[key] != self.first[key] or (self.blocks and key == GRADIENTS):
                name, args = key
                yield Node(next(names), OPS[name], (*args, value))


def modes_before(nodes: Sequence[Node]) -> Iterator[Modes]:
    """Yield for each node the modes in which it runs; the process is in those in which the first one does."""
    first: dict[Key, object] = {(setter.__name__, args[:-1]): args[-1] for setter, args in mode_settings()}
    modes = Modes(first, first)
    for node in nodes:
        yield modes
        if node.op.name in STATE_CHANGES or node.op.name in NESTING:
            modes = _after(modes, node)


def _after(modes: Modes, node: Node) -> Modes:
    """Return the modes that a node leaves which changes one."""
    name = node.op.name.rpartition(".")[2].lstrip("_")
    now, blocks = modes.now, modes.blocks
    if name.startswith("set_"):
        now = {**now, (name, node.args[:-1]): node.args[-1]}
    elif name == "enter":
        (mode,) = node.args
        now, blocks = {**now, GRADIENTS: not mode}, (*blocks, (bool(mode), now[GRADIENTS]))
    elif name == "leave":
        now, blocks = {**now, GRADIENTS: blocks[-1][1]}, blocks[:-1]
    return Modes(modes.first, now, modes.depth + DEEPER.get(name, 0), blocks)
