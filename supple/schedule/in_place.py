"""In place: results are written over what nothing reads any more.

An input that a result replaces:

    before:  new = alloc f32[8](1); kernel(x, new); return (new)        new replaces x
    after:   kernel(x, x); return (x)

A temporary that the kernel is the last to read, also the result of a library call:

    before:  c = mm(a, b); d = alloc f32[8, 8](8, 1); kernel(c, d); e = mm(d, w)
    after:   c = mm(a, b); kernel(c, c); e = mm(c, w)
"""

from collections.abc import Mapping, Sequence

from supple.expr.walk import substitute
from supple.ir.host.nodes import Alloc, Extern, Launch, Return, Step, Value, View
from supple.ir.loops.nodes import Access, Load, Loop, Nest, Statement, Store
from supple.ir.meta import TensorMeta
from supple.schedule.memory import defined, last_uses, renamed_step, sharing, used


def in_place(
    steps: list[Step],
    nests: Mapping[str, Nest],
    metas: Mapping[str, TensorMeta],
    homes: Mapping[int, str],
) -> list[Step]:
    """Return the steps with results written into the inputs that they replace, where that is legal.

    Args:
        nests: kernels by name.
        metas: of the inputs.
        homes: which input a result replaces, by the place of the result.
    """
    end = steps[-1] if steps else None
    if not homes or not isinstance(end, Return):
        return steps
    shares = sharing(steps)
    _, last = last_uses(steps, shares)
    allocs = {step.name: step.meta for step in steps if isinstance(step, Alloc)}
    shown = {name for step in steps if isinstance(step, Extern | View) for name in used(step)}
    returned = used(end)
    writers: dict[str, tuple[int, Launch]] = {}
    for place, step in enumerate(steps):
        if isinstance(step, Launch):
            writers |= {name: (place, step) for name in step.buffers if name not in writers}
    moved: dict[str, str] = {}
    for index, home in homes.items():
        value = end.values[index]
        name = value.name if isinstance(value, Value) else ""
        if name not in writers or name not in allocs or name in shown or returned.count(name) > 1:
            continue
        place, launch = writers[name]
        is_read_through_view = any(home in shares.get(buffer, ()) for buffer in launch.buffers)
        is_last = last.get(home, 0) <= place and not is_read_through_view
        if is_last and _is_same_layout(allocs[name], metas[home]):
            if _reads_where_it_writes(nests[launch.kernel], launch.buffers, home, name):
                moved[name] = home
    return _moved(steps, moved)


def over_dying(
    steps: Sequence[Step], nests: Mapping[str, Nest], metas: Mapping[str, TensorMeta]
) -> list[Step]:
    """Return the steps with what a kernel writes put over a temporary that it is the last to read."""
    shares = sharing(steps)
    _, last = last_uses(steps, shares)
    allocs = {step.name: step.meta for step in steps if isinstance(step, Alloc)}
    known: dict[str, TensorMeta] = {}
    moved: dict[str, str] = {}
    for place, step in enumerate(steps):
        if isinstance(step, Extern):
            own = (name for name in defined(step) if name in metas and name not in shares)
            known.update((name, metas[name]) for name in own)
        if not isinstance(step, Launch):
            continue
        dying = [name for name in step.buffers if name in known and last[name] == place]
        seen = {base for buffer in step.buffers for base in shares.get(buffer, ())}
        for name in step.buffers:
            if name in allocs and name not in known:
                same = (old for old in dying if old not in seen and _is_same_layout(allocs[name], known[old]))
                nest = nests[step.kernel]
                home = next((o for o in same if _reads_where_it_writes(nest, step.buffers, o, name)), None)
                if home is not None:
                    moved[name] = moved.get(home, home)
                    dying.remove(home)
        known.update((name, allocs[name]) for name in step.buffers if name in allocs)
    return _moved(steps, moved)


def _moved(steps: Sequence[Step], moved: Mapping[str, str]) -> list[Step]:
    kept = (step for step in steps if not (isinstance(step, Alloc) and step.name in moved))
    return [renamed_step(step, moved) for step in kept]


def _is_same_layout(fresh: TensorMeta, home: TensorMeta) -> bool:
    one, other = ((meta.sizes, meta.strides, meta.dtype, meta.device) for meta in (fresh, home))
    return one == other


def _reads_where_it_writes(nest: Nest, names: Sequence[str], home: str, name: str) -> bool:
    """Tell whether a kernel reads `home` only at the element of `name` that it is about to write."""
    parameters = [buffer.name for buffer in nest.buffers if buffer.access is not Access.SCRATCH]
    by_name = dict(zip(names, parameters, strict=True))
    return home not in by_name or _is_safe(nest.body, by_name[home], by_name[name])


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
    return any(
        _touches(s.body, *buffers)
        if isinstance(s, Loop)
        else isinstance(s, Load | Store) and s.buffer in buffers
        for s in body
    )
