"""How random programs are called: trained, differentiated twice, by several threads, under modes of torch."""

import contextlib
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

Program = Callable[..., Any]


def floats(made: Any) -> list[Tensor]:
    """Return the tensors of floats in a result, in order."""
    leaves = pytree.tree_leaves(made)
    return [one for one in leaves if isinstance(one, Tensor) and one.is_floating_point()]


def laid(flowing: Tensor, place: int) -> Tensor:
    """Return a gradient that flows in as it is, with its elements in another order, or all in one place."""
    way = 0 if flowing.dim() < 2 else (place + flowing.shape[0]) % 3
    if way == 0:
        return flowing
    if way == 1:
        return flowing.transpose(0, -1).contiguous().transpose(0, -1)
    return torch.full((), float(place + 1), dtype=flowing.dtype).expand(flowing.shape)


def trained(program: Program, args: tuple[Any, ...], twice: bool = False, which: int | None = None) -> Any:
    """Return what a call returns, after the gradients of its results.

    Args:
        twice: gradients are asked for a second time.
        which: the only result that has a gradient, if there is one.
    """
    made = program(*args)
    roots = [one for one in floats(made) if one.requires_grad]
    if which is not None and roots:
        roots = [roots[which % len(roots)]]
    if roots:
        flowing = [laid(torch.ones_like(one) * (place + 1), place) for place, one in enumerate(roots)]
        torch.autograd.backward(roots, flowing, retain_graph=twice)
        if twice:
            torch.autograd.backward(roots, flowing)
    return made


def watched(program: Program, args: tuple[Any, ...]) -> Any:
    """Return what a call returns, with the gradients of the results themselves, which a hook changes."""
    made = program(*args)
    roots = [one for one in floats(made) if one.requires_grad and not one.is_leaf]
    roots = list({id(one): one for one in roots}.values())
    seen: dict[int, Tensor] = {}
    for place, one in enumerate(roots):
        one.retain_grad()
        one.register_hook(lambda grad, place=place: seen.setdefault(place, grad.clone()) * 2)
    if roots:
        torch.autograd.backward(
            roots, [torch.ones_like(one) * (place + 1) for place, one in enumerate(roots)]
        )
    return made, [one.grad for one in roots], sorted(seen.items())


def gradients(program: Program, args: tuple[Any, ...]) -> Any:
    """Return what a call returns, its gradients, and theirs."""
    made = program(*args)
    roots = [one.double().pow(2).sum() for one in floats(made) if one.requires_grad]
    leaves = [one for one in floats(args) if one.requires_grad]
    if not roots or not leaves:
        return made
    once = torch.autograd.grad(sum(roots[1:], roots[0]), leaves, create_graph=True, allow_unused=True)
    inner = [one.double().pow(2).sum() for one in once if one is not None and one.requires_grad]
    if not inner:
        return made, apart(once)
    twice = torch.autograd.grad(sum(inner[1:], inner[0]), leaves, allow_unused=True)
    return made, apart(once), apart(twice)


def separately(program: Program, args: tuple[Any, ...]) -> Any:
    """Return what a call returns, and the gradients of each result alone: into some inputs nothing flows.

    Eager gives one number for many where it can, and compiled code writes it out. Which gradients of one call
    share memory, and what strides they have, is left open (docs/training.md).
    """
    made = program(*args)
    modules = [one for one in args if isinstance(one, torch.nn.Module)]
    given = [one for one in floats(args) if one.requires_grad]
    leaves = [*given, *(one for module in modules for one in module.parameters())]
    roots = {id(one): one for one in floats(made) if one.requires_grad}.values()
    if not leaves:
        return made
    found = [
        torch.autograd.grad(root, leaves, torch.ones_like(root), retain_graph=True, allow_unused=True)
        for root in roots
    ]
    return made, [apart(row) for row in found]


def apart(grads: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Return gradients row by row, each in memory of its own."""
    return [None if one is None else one.clone(memory_format=torch.contiguous_format) for one in grads]


def in_threads(program: Program, *makers: Callable[[], tuple[Any, ...]]) -> list[Any]:
    """Return what several threads get that call a program at once, each with arguments of its own."""
    results: list[Any] = [None] * len(makers)
    ready = threading.Barrier(len(makers))

    def work(place: int) -> None:
        args = makers[place]()
        ready.wait()
        try:
            results[place] = (program(*args), args)
        except Exception as error:  # what a program raises is compared
            results[place] = (told(error), args)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(makers))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return results


@contextlib.contextmanager
def deterministic() -> Iterator[None]:
    """Ask torch for deterministic algorithms in a block."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


@contextlib.contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Make a dtype the default in a block."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


ADDRESS: Final = r"0x[0-9a-f]+|\b\d{13,}\b"
"""What tells objects apart, in a text or as `id` gives it."""


def told(error: BaseException) -> str:
    """Return what is comparable of an exception: its class and its text, without addresses or frames."""
    said = str(error).split("\nException raised from", maxsplit=1)[0]
    text = "" if isinstance(error, NameError) else re.sub(ADDRESS, "0x", said)
    return f"{type(error).__name__}: {text}".replace("UnboundLocalError", "NameError")


def told_of(thunk: Callable[[], object]) -> str:
    """Return what a function raises."""
    try:
        thunk()
    except Exception as error:  # what a program raises is compared
        return told(error)
    return "fine"
