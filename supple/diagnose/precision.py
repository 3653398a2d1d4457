"""How far rounding alone may take the results of a graph: copies of inputs, and runs in float64."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

import torch

from supple.base.errors import SuppleError
from supple.ir.arguments import leaves, map_leaves
from supple.torch_private import OperatorMode, OpOverload, schema_of

WIDE: Final = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}


class NotCompared(SuppleError):
    """A graph cannot be compared with eager, in no call: because of its inputs, or of random numbers."""


@dataclass(slots=True)
class Copies:
    """Copies of a graph's inputs that share memory with each other as the originals do.

    Attributes:
        items: the copies; other objects are as they were.
        leaves: for each place whose gradient can be asked for, the tensor to ask for.
    """

    items: list[object] = field(default_factory=list[object])
    leaves: dict[int, torch.Tensor] = field(default_factory=dict[int, torch.Tensor])


def copied(inputs: Sequence[object], *, is_wide: bool = False) -> Copies:
    """Return copies of inputs, with strides and offsets; `is_wide` makes their floats float64.

    Raises:
        NotCompared: a tensor of a subclass, without strides, or that shows other numbers than its memory.
    """
    made = Copies()
    memory: dict[tuple[int, torch.dtype], torch.UntypedStorage] = {}
    for place, item in enumerate(inputs):
        if not isinstance(item, torch.Tensor):
            made.items.append(item)
            continue
        is_plain = type(item) in (torch.Tensor, torch.nn.Parameter) and item.layout is torch.strided
        if not is_plain or item.is_conj() or item.is_neg() or item.device.type == "meta":
            raise NotCompared(f"input {place} is a {type(item).__name__} ({item.layout}, {item.device})")
        copy = _copy(item, memory, is_wide=is_wide)
        if item.requires_grad:
            copy, made.leaves[place] = _following(item, copy)
        made.items.append(copy)
    return made


def _copy(
    item: torch.Tensor, memory: dict[tuple[int, torch.dtype], torch.UntypedStorage], *, is_wide: bool
) -> torch.Tensor:
    storage = item.untyped_storage()
    dtype = WIDE.get(item.dtype, item.dtype) if is_wide else item.dtype
    key = (storage.data_ptr(), dtype)
    if key not in memory:
        with torch.no_grad():
            flat = torch.empty(0, dtype=item.dtype, device=item.device).set_(storage)
            memory[key] = flat.to(dtype, copy=True).untyped_storage()
    with torch.no_grad():
        fresh = torch.empty(0, dtype=dtype, device=item.device)
        return fresh.set_(memory[key], item.storage_offset(), item.size(), item.stride())


def _following(item: torch.Tensor, copy: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a copy that requires gradients, and the leaf that they reach: where eager may write, another."""
    if isinstance(item, torch.nn.Parameter):
        copy = torch.nn.Parameter(copy)
    is_repeated = any(
        not stride and size > 1 for size, stride in zip(copy.size(), copy.stride(), strict=True)
    )
    if item.is_leaf or is_repeated or torch.is_inference_mode_enabled():
        return copy, copy.requires_grad_()
    leaf = copy.detach().clone().requires_grad_()
    with torch.enable_grad():
        return copy.copy_(leaf), leaf


class Double(OperatorMode):
    """Runs operators in float64; random numbers are those of the original types.

    Args:
        noise: what an operator reads is changed at random by up to this part of it: what rounding inside the
            operator does to its result, this does too. Integers are exact in any type and stay. Fresh
            memory holds 0 then.
    """

    def __init__(self, narrow: torch.dtype, noise: float = 0.0, seed: int = 0) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType]  # untyped in torch
        self._narrow = narrow
        self._noise = noise
        self._random = torch.Generator().manual_seed(seed)

    def on_operator(self, func: OpOverload, args: tuple[object, ...], kwargs: Mapping[str, object]) -> object:
        """Run an operator on doubles."""
        schema, named = schema_of(func), dict(kwargs)
        if torch.Tag.nondeterministic_seeded in func.tags:
            return self._draw(func, args, named)
        if not schema.is_mutable and any(returned.alias_info is not None for returned in schema.returns):
            return func(*args, **named)
        written = {
            one.name for one in schema.arguments if one.alias_info is not None and one.alias_info.is_write
        }
        given = [
            self._used(one.name in written, arg) for one, arg in zip(schema.arguments, args, strict=False)
        ]
        result = func(*given, **{name: self._used(name in written, arg) for name, arg in named.items()})
        if self._noise and "empty" in schema.name:
            result.zero_()
        return result if written else map_leaves(_wide, result)

    def _used(self, is_written: bool, arg: object) -> object:
        """Return an argument with noise, in what is written itself."""
        if not is_written:
            return map_leaves(self._read, arg)
        for leaf in leaves(arg) if self._noise else ():
            if isinstance(leaf, torch.Tensor) and 0 not in leaf.stride():
                leaf.copy_(cast("torch.Tensor", self._read(leaf)))
        return arg

    def _draw(self, func: OpOverload, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        before = torch.get_rng_state()
        if not schema_of(func).is_mutable and kwargs.get("generator") is None:
            result = cast("object", func(*args, **kwargs))
            if torch.equal(before, torch.get_rng_state()):
                return result
            torch.set_rng_state(before)
        given = cast("list[object]", map_leaves(self._as_given, list(args)))
        result = cast("object", func(*given, **kwargs))
        if not schema_of(func).is_mutable:
            return map_leaves(_wide, result)
        return cast("torch.Tensor", args[0]).copy_(cast("torch.Tensor", given[0]))

    def _as_given(self, leaf: object) -> object:
        if not isinstance(leaf, torch.Tensor) or leaf.dtype is not torch.float64:
            return leaf
        return leaf.to(self._narrow)

    def _read(self, leaf: object) -> object:
        made = _wide(leaf)
        if not self._noise or not isinstance(made, torch.Tensor) or made.dtype is not torch.float64:
            return made
        chance = torch.rand(made.size(), generator=self._random, dtype=torch.float64) * 2 - 1
        return torch.where(made == made.round(), made, made * (1 + self._noise * chance))


def _wide(leaf: object) -> object:
    if isinstance(leaf, torch.dtype):
        return WIDE.get(leaf, leaf)
    return leaf.to(WIDE[leaf.dtype]) if isinstance(leaf, torch.Tensor) and leaf.dtype in WIDE else leaf
