"""Append to the graph under construction: inputs lifted from sources, nodes run on fake tensors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import torch

from supple.base.errors import Where
from supple.capture.source import Source
from supple.expr import const
from supple.ir.graph.nodes import Arg, Bases, Graph, Input, Meta, Node, Var, uses_of, vars_of
from supple.ir.meta import TensorMeta
from supple.ir.ops import Op
from supple.runtime.undo import version
from supple.shapes.fake import FakeTensor, fake_from, meta_of, non_leaf
from supple.shapes.infer import as_meta


@dataclass(frozen=True, slots=True)
class Lifted:
    """A graph input: where residual code loads it, the real tensor of this call, and its fake.

    Attributes:
        version: of the fake, before the graph.
    """

    source: Source
    name: str
    real: torch.Tensor
    fake: FakeTensor
    version: int | None

    @property
    def may_be_view(self) -> bool:
        """Whether it may be a view with gradients: no parameter is."""
        return self.real.requires_grad and type(self.real) is not torch.nn.Parameter

    @property
    def is_written(self) -> bool:
        """Whether the graph has written to its memory through it; writes by `.data` do not count."""
        return version(self.fake) != self.version

    @property
    def has_changed(self) -> bool:
        """Whether it requires gradients, or none, only since the graph began."""
        return self.fake.requires_grad is not self.real.requires_grad


class Recorder:
    """The graph so far. A fake tensor stands for each tensor; `names` maps its id to the value's name.

    Attributes:
        may_copy: a node may have copied what eager shows where a size is 0 or 1.
        shown: results that show their operands where sizes are general, with their versions then.
    """

    def __init__(self) -> None:
        self.inputs: list[Input] = []
        self.lifted: list[Lifted] = []
        self.nodes: list[Node] = []
        self.may_copy = False
        self.shown: list[tuple[torch.Tensor, int | None]] = []
        self._vars: dict[int, tuple[Var, torch.Tensor]] = {}
        self._taken: dict[str, int] = {}

    def lift(self, real: torch.Tensor, source: Source, meta: TensorMeta) -> torch.Tensor:
        """Return the fake of a tensor that exists, made an input of the graph."""
        is_parameter = isinstance(real, torch.nn.Parameter)
        is_leaf, is_inference = real.is_leaf, real.is_inference()
        with torch.inference_mode(is_inference):
            fake = fake_from(meta, is_parameter=is_parameter)
            fake = fake if is_leaf else non_leaf(fake)
        fake.memory = _memory(real)
        name = self._fresh(_identifier(source.name))
        self.inputs.append(
            Input(name, meta_of(fake), source.name, is_parameter, is_leaf, is_inference, is_guarded=True)
        )
        self.lifted.append(Lifted(source, name, real, fake, version(fake)))
        self._vars[id(fake)] = (Var(name), fake)
        return fake

    def var_of(self, fake: torch.Tensor) -> Var:
        """Return the use of the value that `fake` stands for."""
        return self._vars[id(fake)][0]

    def knows(self, fake: torch.Tensor) -> bool:
        """Tell whether `fake` is a value of this graph."""
        return id(fake) in self._vars

    def record(
        self,
        op: Op,
        args: tuple[Arg, ...],
        kwargs: Mapping[str, Arg],
        result: object,
        where: tuple[Where, ...],
    ) -> None:
        """Append a node whose result on fake tensors was `result`, and name the tensors in it."""
        name = self._fresh(op.name.rsplit(".", 1)[-1].strip("_"))
        bases = self._bases(result)
        self.nodes.append(Node(name, op, args, dict(kwargs), _meta(result), where, bases))
        self._note(Var(name), result)

    def rename(self, fake: torch.Tensor) -> None:
        """Let what is recorded from here on read a value as the result of the last node, which it is too."""
        self._vars[id(fake)] = (Var(self.nodes[-1].name), fake)

    def graph(self, outputs: tuple[Arg, ...], *, is_left: bool = False) -> Graph:
        """Return the finished graph with these outputs; `is_left` is told of a graph break."""
        return Graph(tuple(self.inputs), tuple(self.nodes), outputs, is_left and self.may_copy)

    def used_names(self, outputs: tuple[Arg, ...]) -> set[str]:
        """Return the names that nodes or outputs read."""
        used = {var.name for node in self.nodes for var in uses_of(node)}
        return used | {var.name for var in vars_of(outputs)}

    def _note(self, var: Var, result: object) -> None:
        if isinstance(result, torch.Tensor):
            self._vars.setdefault(id(result), (var, result))
        elif isinstance(result, tuple | list):
            for index, item in enumerate(cast("Sequence[object]", result)):
                self._note(Var(var.name, (*var.path, index)), item)

    def _bases(self, result: object) -> Bases:
        """Return of which values autograd knows tensors to be views."""
        if isinstance(result, torch.Tensor):
            base = result._base if result._is_view() else None
            return self._vars[id(base)][0] if id(base) in self._vars else None
        if isinstance(result, tuple | list):
            found = tuple(map(self._bases, cast("Sequence[object]", result)))
            return found if any(found) else None
        return None

    def _fresh(self, stem: str) -> str:
        count = self._taken.get(stem, 0)
        self._taken[stem] = count + 1
        return f"{stem}_{count}" if count else stem


def _memory(real: torch.Tensor) -> int:
    """Return the address of a tensor's storage, 0 where it has none."""
    has_storage = real.layout is torch.strided and type(real) in (torch.Tensor, torch.nn.Parameter)
    return real.untyped_storage().data_ptr() if has_storage and real.device.type == "cpu" else 0


def _meta(result: object) -> Meta:
    if isinstance(result, int) and not isinstance(result, bool):
        return const(result)
    if isinstance(result, tuple | list):
        return tuple(_meta(item) for item in cast("Sequence[object]", result))
    return as_meta(result)


def _identifier(path: str) -> str:
    text = "".join(character if character.isalnum() else "_" for character in path).strip("_").lower()
    while "__" in text:
        text = text.replace("__", "_")
    return text.replace("_modules_", "_").replace("_parameters_", "_").replace("_dict_", "_")
