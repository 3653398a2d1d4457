"""Memory: when values die, and which later value takes over a dead buffer.

A buffer that is only looked at through one view is allocated in the view's sizes and strides. A temporary
that a kernel writes takes over the buffer of a dead one of the same metadata. Inputs, outputs and results of
library calls are never taken over; neither is a buffer that a live view or a result may share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from supple.expr import const
from supple.ir.arguments import map_leaves
from supple.ir.core_ops import CORE_OPS
from supple.ir.host import nodes
from supple.ir.host.strides import dense_order
from supple.ir.meta import TensorMeta
from supple.ir.ops import op_named


def used(step: nodes.Step) -> tuple[str, ...]:
    """Return the names that a step reads or writes, those that it defines aside."""
    match step:
        case nodes.Launch():
            return step.buffers
        case nodes.Extern():
            return (*nodes.values_in(step.args), *nodes.values_in(dict(step.kwargs)))
        case nodes.View():
            return (step.base,)
        case nodes.Check():
            return (step.name,)
        case nodes.Bind():
            return (step.value,)
        case nodes.Return():
            return tuple(nodes.values_in(step.values))
        case _:
            return ()


def defined(step: nodes.Step) -> tuple[str, ...]:
    """Return the names that a step defines."""
    match step:
        case nodes.Alloc() | nodes.View():
            return (step.name,)
        case nodes.Extern():
            return tuple(name for name in step.names if name is not None)
        case _:
            return ()


def sharing(steps: Sequence[nodes.Step]) -> dict[str, tuple[str, ...]]:
    """Return, by name, the names whose storage it may share; core ops that are no views share nothing."""
    shares: dict[str, tuple[str, ...]] = {}
    for step in steps:
        if isinstance(step, nodes.View):
            shares[step.name] = (step.base, *shares.get(step.base, ()))
        elif isinstance(step, nodes.Extern) and (step.op not in CORE_OPS or op_named(step.op).is_view):
            for name in defined(step):
                shares[name] = tuple(base for use in used(step) for base in (use, *shares.get(use, ())))
    return shares


def last_uses(steps: Sequence[nodes.Step], shares: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """Return the last step that uses each name, or the storage of one that `shares` it."""
    last: dict[str, int] = {}
    for place, step in enumerate(steps):
        for name in (*used(step), *defined(step)):
            last.update(dict.fromkeys((name, *shares.get(name, ())), place))
    return last


def shaped(steps: Sequence[nodes.Step]) -> tuple[nodes.Step, ...]:
    """Return the steps with buffers that only kernels and one view use allocated as that view.

    A kernel takes an address, so its buffer may have any sizes and strides over the same elements.
    """
    allocs = {step.name: step for step in steps if isinstance(step, nodes.Alloc)}
    views: dict[str, set[TensorMeta]] = {}
    for step in steps:
        if isinstance(step, nodes.View):
            views.setdefault(step.base, set()).add(step.meta)
        elif isinstance(step, (nodes.Extern, nodes.Return)):
            for name in used(step):
                allocs.pop(name, None)
    single = {name: next(iter(metas)) for name, metas in views.items() if len(metas) == 1 and name in allocs}
    as_view = {name: meta for name, meta in single.items() if is_same_storage(allocs[name].meta, meta)}
    names = {step.name: step.base for step in steps if isinstance(step, nodes.View) and step.base in as_view}
    result: list[nodes.Step] = []
    for step in steps:
        if isinstance(step, nodes.Alloc) and step.name in as_view:
            result.append(nodes.Alloc(step.name, as_view[step.name]))
        elif not (isinstance(step, nodes.View) and step.name in names):
            result.append(renamed_step(step, names))
    return tuple(result)


def is_same_storage(fresh: TensorMeta, view: TensorMeta) -> bool:
    """Tell whether a view covers all of a fresh tensor without gaps or repeats."""
    return (
        view.offset is const(0)
        and view.dtype is fresh.dtype
        and view.device == fresh.device
        and view.numel is fresh.numel
        and dense_order(view) is not None
        and dense_order(fresh) is not None
    )


def taken_over(steps: Sequence[nodes.Step]) -> tuple[nodes.Step, ...]:
    """Return the steps with buffers that died in place of fresh ones of the same metadata."""
    storages = last_uses(steps, sharing(steps))
    end = len(steps) - 1
    new_name: dict[str, str] = {}
    dead: dict[TensorMeta, list[str]] = {}
    dying: dict[int, list[nodes.Alloc]] = {}
    for step in steps:
        if isinstance(step, nodes.Alloc) and storages[step.name] < end:
            dying.setdefault(storages[step.name], []).append(step)
    result: list[nodes.Step] = []
    for place, step in enumerate(steps):
        taken = dead.get(step.meta) if isinstance(step, nodes.Alloc) and storages[step.name] < end else None
        if isinstance(step, nodes.Alloc) and taken:
            new_name[step.name] = taken.pop()
        else:
            result.append(renamed_step(step, new_name))
        for alloc in dying.get(place, ()):
            dead.setdefault(alloc.meta, []).append(new_name.get(alloc.name, alloc.name))
    return tuple(result)


def renamed_step(step: nodes.Step, names: Mapping[str, str]) -> nodes.Step:
    """Return a step with names replaced."""
    match step:
        case nodes.Launch():
            return replace(step, buffers=tuple(names.get(name, name) for name in step.buffers))
        case nodes.Extern():
            new = tuple(None if name is None else names.get(name, name) for name in step.names)
            args = tuple(renamed_arg(arg, names) for arg in step.args)
            kwargs = {key: renamed_arg(arg, names) for key, arg in step.kwargs.items()}
            return nodes.Extern(new, step.op, args, kwargs, step.is_tuple)
        case nodes.View():
            return replace(step, name=names.get(step.name, step.name), base=names.get(step.base, step.base))
        case nodes.Bind():
            return replace(step, value=names.get(step.value, step.value))
        case nodes.Return():
            return nodes.Return(tuple(renamed_arg(arg, names) for arg in step.values))
        case nodes.Alloc() | nodes.Check() | nodes.Free():
            return replace(step, name=names.get(step.name, step.name))
        case nodes.Writes():
            return step


def renamed_arg(arg: object, names: Mapping[str, str]) -> object:
    """Return a host argument with the names of Values replaced."""

    def rename(leaf: object) -> object:
        return nodes.Value(names.get(leaf.name, leaf.name)) if isinstance(leaf, nodes.Value) else leaf

    return map_leaves(rename, arg)


def freed(steps: Sequence[nodes.Step]) -> tuple[nodes.Step, ...]:
    """Return the steps with every tensor freed after its last use."""
    last = last_uses(steps, {})
    numbers = {step.value for step in steps if isinstance(step, nodes.Bind) and step.value == step.number}
    result: list[nodes.Step] = []
    for place, step in enumerate(steps):
        named = _without_unused(step, last, place)
        result.append(named)
        if isinstance(step, nodes.Return):
            continue
        ended = dict.fromkeys(name for name in (*used(step), *defined(named)) if last[name] == place)
        result.extend(nodes.Free(name) for name in ended if name not in numbers)
    return tuple(result)


def _without_unused(step: nodes.Step, last: Mapping[str, int], place: int) -> nodes.Step:
    """Return a library call with the items of its result that nobody uses unnamed."""
    if not isinstance(step, nodes.Extern) or not step.is_tuple:
        return step
    names = tuple(None if name is None or last[name] == place else name for name in step.names)
    return replace(step, names=names)
