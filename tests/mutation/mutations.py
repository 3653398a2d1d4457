"""The registry of mutators: each finds where it applies, and gives the block in which the change holds."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from tests.mutation import tensors as tensors  # registers what may stand in the place of a tensor
from tests.mutation.objects import effects
from tests.mutation.places import Cell, Entry, Place, Step, places
from tests.mutation.process import PROCESS
from tests.mutation.values import UNBOUND, Variant, variants
from tests.mutation.worlds import World

FIRST_HANDLE: Final = 10**9
"""Hooks are kept by the numbers of their handles, which go up."""
PAIRED: Final = 10
"""Places of one kind that are compared with each other."""
Blocks = contextlib.AbstractContextManager[Any]


class CannotApply(Exception):
    """A mutation does not apply to a world as it is now."""


@dataclass(frozen=True)
class Mutation:
    """One change: which mutator, where, and which of its variants."""

    mutator: str
    places: tuple[Place, ...]
    label: str

    def __str__(self) -> str:
        return f"{self.mutator} at {' and '.join(map(str, self.places)) or 'process'}: {self.label}"

    @contextlib.contextmanager
    def applied(self, worlds: Sequence[World]) -> Iterator[None]:
        """Change the same thing in all worlds for the time of a block; what they share, once.

        Raises:
            CannotApply: the place is gone or does not take the value.
        """
        with contextlib.ExitStack() as stack:
            try:
                for world in MUTATORS[self.mutator].distinct(self, worlds):
                    RemovableHandle.next_id = FIRST_HANDLE + 10_000
                    stack.enter_context(MUTATORS[self.mutator].block(self, world))
            except Exception as error:  # the objects of the program may refuse in any way
                raise CannotApply(str(error)) from error
            yield


class Mutator:
    """A kind of change."""

    def find(self, world: World) -> Iterator[tuple[tuple[Place, ...], str]]:
        """Yield the places of a world and the labels of the changes there."""
        raise NotImplementedError

    def block(self, mutation: Mutation, world: World) -> Blocks:
        """Return the block in which a world is different."""
        raise NotImplementedError

    def distinct(self, mutation: Mutation, worlds: Sequence[World]) -> Sequence[World]:
        """Return the worlds to change: one where what is changed is the same object in all."""
        return worlds


class Replaced(Mutator):
    """Another value in the place of one: an argument, an attribute, an item, a global, a cell, a default."""

    def find(self, world: World) -> Iterator[tuple[tuple[Place, ...], str]]:
        for place, value in places(world):
            if place.can_change and str(place) != "function":
                for label, _ in others(place.steps[-1], value):
                    yield (place,), label

    @contextlib.contextmanager
    def block(self, mutation: Mutation, world: World) -> Iterator[None]:
        (place,) = mutation.places
        owner, step = place.owner(world), place.steps[-1]
        before = step.get(owner)
        step.put(owner, dict(others(step, before))[mutation.label]())
        try:
            yield
        finally:
            step.put(owner, before)

    def distinct(self, mutation: Mutation, worlds: Sequence[World]) -> Sequence[World]:
        (place,) = mutation.places
        is_shared = isinstance(place.steps[-1], Entry) or place.owner(worlds[0]) is place.owner(worlds[-1])
        return worlds[:1] if is_shared else worlds


class Affected(Mutator):
    """An object that is changed itself, whoever holds it."""

    def find(self, world: World) -> Iterator[tuple[tuple[Place, ...], str]]:
        seen: set[int] = set()
        for place, value in places(world):
            if id(value) not in seen:
                seen.add(id(value))
                for label, _ in labelled(effects(value, world)):
                    yield (place,), label

    def block(self, mutation: Mutation, world: World) -> Blocks:
        (place,) = mutation.places
        return dict(labelled(effects(place.value(world), world)))[mutation.label]()

    def distinct(self, mutation: Mutation, worlds: Sequence[World]) -> Sequence[World]:
        (place,) = mutation.places
        return worlds[:1] if place.value(worlds[0]) is place.value(worlds[-1]) else worlds


def others(step: Step, value: Any) -> Iterator[Variant]:
    """Yield what else could stand where a step leads; a variable in a cell may have no value."""
    yield from labelled(variants(value))
    if isinstance(step, Cell) and value is not UNBOUND:
        yield "unbound", lambda: UNBOUND


def is_mutable(value: Any) -> bool:
    return isinstance(value, torch.Tensor | list | dict | nn.Module) or hasattr(type(value), "__slots__")


class Aliased(Mutator):
    """Two places hold one object, or overlapping memory; two that held one object hold equal ones."""

    def find(self, world: World) -> Iterator[tuple[tuple[Place, ...], str]]:
        found = [
            (place, value)
            for place, value in places(world)
            if place.can_change and not isinstance(value, type) and is_paired(value, world)
        ][:PAIRED]
        for (one, mine), (other, theirs) in combinations(found, 2):
            if mine is theirs:
                yield (one, other), "equal but different"
            elif alike(mine, theirs):
                yield (one, other), "one object"
            if isinstance(mine, torch.Tensor) and isinstance(theirs, torch.Tensor) and alike(mine, theirs):
                yield (one, other), "view of the same memory"
                if mine.numel() > 1:
                    yield (one, other), "overlapping memory"
                    yield (one, other), "overlapping storages"

    @contextlib.contextmanager
    def block(self, mutation: Mutation, world: World) -> Iterator[None]:
        one, other = mutation.places
        mine, theirs = one.value(world), other.value(world)
        try:
            match mutation.label:
                case "one object":
                    other.put(world, mine)
                case "equal but different":
                    other.put(world, dict(labelled(variants(mine)))[copy_label(mine)]())
                case "view of the same memory":
                    other.put(world, tensors.like(theirs, mine.detach()))
                case label:
                    store = torch.cat((mine.detach().reshape(-1), mine.detach().reshape(-1)[-1:]))
                    first, second = store[:-1], store[1:]
                    if label == "overlapping storages":
                        first, second = tensors.adopted(first), tensors.adopted(second)
                    one.put(world, tensors.like(mine, first.view(mine.shape)))
                    other.put(world, tensors.like(theirs, second.view(mine.shape)))
            yield
        finally:
            one.put(world, mine)
            other.put(world, theirs)


def copy_label(value: Any) -> str:
    return (
        "clone"
        if isinstance(value, torch.Tensor)
        else "copy"
        if isinstance(value, nn.Module)
        else "equal copy"
    )


def is_paired(value: Any, world: World) -> bool:
    """Tell whether the identity of an object can matter to the program."""
    own = type(value).__module__ == world.names["__name__"]
    return own or isinstance(value, torch.Tensor | list | dict | nn.Module | set)


def alike(mine: Any, theirs: Any) -> bool:
    """Tell whether an object can stand in the place of another one."""
    if isinstance(mine, torch.Tensor):
        same = type(mine) is type(theirs) and mine.shape == theirs.shape and mine.dtype == theirs.dtype
        return same and mine.layout is theirs.layout is torch.strided
    return type(mine) is type(theirs)


class Around(Mutator):
    """State of the process in which both worlds are called."""

    def find(self, world: World) -> Iterator[tuple[tuple[Place, ...], str]]:
        for label in PROCESS:
            yield (), label

    def block(self, mutation: Mutation, world: World) -> Blocks:
        return PROCESS[mutation.label]()

    def distinct(self, mutation: Mutation, worlds: Sequence[World]) -> Sequence[World]:
        return worlds[:1]


MUTATORS: Final[dict[str, Mutator]] = {
    "value": Replaced(),
    "object": Affected(),
    "alias": Aliased(),
    "process": Around(),
}


def labelled(found: Iterator[tuple[str, Callable[[], Any]]]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield variants until one of them cannot be told: the objects of the program may refuse any question."""
    try:
        yield from found
    except Exception:  # what the program's own methods raise ends the list
        return


def mutations(world: World) -> list[Mutation]:
    """Return all mutations of a world in a fixed order."""
    return [
        Mutation(name, where, label)
        for name, mutator in MUTATORS.items()
        for where, label in mutator.find(world)
    ]
