"""In place: results are written over what nothing reads any more.

An input that a result replaces:

    before:  new = alloc f32[8](1); kernel(x, new); return (new)        new replaces x
    after:   kernel(x, x); return (x)

A temporary that the kernel is the last to read, also the result of a library call:

    before:  c = mm(a, b); d = alloc f32[8, 8](8, 1); kernel(c, d); e = mm(d, w)
    after:   c = mm(a, b); kernel(c, c); e = mm(c, w)
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from supple.expr import Expr
from supple.expr.walk import substitute
from supple.expr.width import may_be_wide
from supple.ir.host.nodes import Alloc, Check, Extern, Launch, Return, Step, Value, View, Writes
from supple.ir.loops.nodes import Access, Load, Loop, Nest, Statement, Store, flat
from supple.ir.meta import TensorMeta
from supple.schedule.extern import is_sure
from supple.schedule.memory import defined, last_uses, renamed_step, sharing, used


def in_place(
    steps: Sequence[Step],
    nests: Mapping[str, Nest],
    metas: Mapping[str, TensorMeta],
    homes: Mapping[int, str],
) -> list[Step]:
    """Return the steps with what kernels write put over what they are the last to read, where that is legal.

    Args:
        nests: kernels by name.
        metas: of inputs and of what library calls return.
        homes: which input a result replaces, by the place of the result; no other input is written.
    """
    shares = sharing(steps)
    last = last_uses(steps, shares)
    # A graph that raises has written to none of its inputs.
    raising = [place for place, step in enumerate(steps) if _may_raise(step)]
    allocs = {step.name: step.meta for step in steps if isinstance(step, Alloc)}
    home_of = _replaced(steps, homes, shares)
    inputs = set(home_of.values())
    last |= {home: max((last.get(home, 0), *raising)) for home in inputs}
    known = {home: metas[home] for home in inputs}
    moved: dict[str, str] = {}
    for place, step in enumerate(steps):
        if isinstance(step, Extern):
            known.update((one, metas[one]) for one in defined(step) if one in metas and one not in shares)
        if not isinstance(step, Launch):
            continue
        nest, buffers = nests[step.kernel], step.buffers
        fresh = {name: allocs[name] for name in buffers if name in allocs and name not in known}
        own = {name: home_of[name] for name in fresh if name in home_of}
        shown = {base for buffer in buffers for base in shares.get(buffer, ())}
        free = {one for one in (*buffers, *own.values()) if one in known and one not in shown}
        free = {one for one in free if last.get(one, 0) <= place}
        for name, meta in fresh.items():
            wanted = (
                [own[name]] if own.get(name) in free else [one for one in buffers if one in free - inputs]
            )
            layout = _layout(meta)
            same = (one for one in wanted if _layout(known[one]) == layout)
            home = next((one for one in same if _can_hold(nest, buffers, one, name)), None)
            if home is not None:
                moved[name] = moved.get(home, home)
                free.remove(home)
        known |= fresh
    kept = (step for step in steps if not (isinstance(step, Alloc) and step.name in moved))
    return [renamed_step(step, moved) for step in kept]


def marked(steps: Sequence[Step], nests: Mapping[str, Nest], inputs: frozenset[str]) -> tuple[Step, ...]:
    """Return the steps with a `Writes` before the first that writes to an input, if another may raise later.

    None should: this is for what an operator refuses that its rules do not know of.
    """
    first = next((at for at, step in enumerate(steps) if _written(step, nests) & inputs), len(steps))
    if not any(isinstance(step, Extern | Check) or _may_raise(step) for step in steps[first + 1 :]):
        return tuple(steps)
    return (*steps[:first], Writes(), *steps[first:])


def _written(step: Step, nests: Mapping[str, Nest]) -> set[str]:
    """Return the names of the tensors to which a kernel writes."""
    if not isinstance(step, Launch):
        return set()
    roles = [buffer.access for buffer in nests[step.kernel].buffers if buffer.access is not Access.SCRATCH]
    pairs = zip(step.buffers, roles, strict=True)
    return {name for name, access in pairs if access is not Access.READ}


def _may_raise(step: Step) -> bool:
    """Tell whether a step may raise: for what tensors hold, or for an integer that has more than 64 bits."""
    if isinstance(step, Launch):
        return any(isinstance(size, Expr) and may_be_wide(size) for size in step.sizes)
    return isinstance(step, Extern) and not is_sure(step.op)


def _replaced(
    steps: Sequence[Step], homes: Mapping[int, str], shares: Mapping[str, tuple[str, ...]]
) -> dict[str, str]:
    """Return the inputs to be replaced by the names of results of which nothing else shows the memory."""

    def is_showing(step: Step) -> bool:
        return isinstance(step, View | Return) or any(name in shares for name in defined(step))

    shown = Counter(name for step in steps if is_showing(step) for name in used(step))
    values = steps[-1].values if isinstance(steps[-1], Return) else ()
    results = {index: value.name for index, value in enumerate(values) if isinstance(value, Value)}
    return {results[at]: home for at, home in homes.items() if at in results and shown[results[at]] == 1}


def _layout(meta: TensorMeta) -> tuple[object, ...]:
    return meta.sizes, meta.strides, meta.dtype, meta.device


def _can_hold(nest: Nest, names: Sequence[str], old: str, new: str) -> bool:
    """Tell whether a kernel reads `old` only at the element of `new` that it is about to write."""
    parameters = [buffer.name for buffer in nest.buffers if buffer.access is not Access.SCRATCH]
    roles = list(zip(names, parameters, strict=True))
    read, written = ([one for name, one in roles if name == value] for value in (old, new))
    return not read or (len(read) == 1 and _is_safe(nest.body, read[0], written[0]))


def _is_safe(body: Sequence[Statement], read: str, written: str) -> bool:
    """Tell whether in one block the reads come before the one write, or in loops over the same elements."""
    loads = [(at, s) for at, s in enumerate(body) if isinstance(s, Load) and s.buffer == read]
    stores = [(at, s) for at, s in enumerate(body) if isinstance(s, Store) and s.buffer == written]
    loops = [s for s in body if isinstance(s, Loop) and _touches(s.body, read, written)]
    if loops:
        *earlier, end = loops
        is_safe = not loads and not stores and _is_safe(end.body, read, written)
        return is_safe and all(_reads_what(end, loop, read, written) for loop in earlier)
    if len(stores) != 1:
        return False
    place, store = stores[0]
    return all(at < place and load.index == store.index for at, load in loads)


def _reads_what(end: Loop, loop: Loop, read: str, written: str) -> bool:
    """Tell whether a loop reads, of `read`, only the elements that the last loop writes."""
    stored = [s.index for s in end.body if isinstance(s, Store) and s.buffer == written]
    is_same = [axis.extent for axis in loop.axes] == [axis.extent for axis in end.axes]
    if not stored or not is_same or _touches(loop.body, written):
        return False
    if any(isinstance(s, Loop) for s in loop.body):
        return False
    names = {old.symbol: new.symbol for old, new in zip(loop.axes, end.axes, strict=True)}
    reads = (s.index for s in loop.body if isinstance(s, Load) and s.buffer == read)
    return all(tuple(substitute(e, names) for e in index) == stored[0] for index in reads)


def _touches(body: Sequence[Statement], *buffers: str) -> bool:
    return any(isinstance(s, Load | Store) and s.buffer in buffers for s in flat(body))
