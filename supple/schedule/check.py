"""Checks in a host program: what kernels read was made for them, or is compared with what they were made for.

A kernel takes an address and believes the rest. Memory that the program allocates is right by construction;
inputs and results of library calls that kernels read are checked in each call.
"""

from collections.abc import Iterator, Mapping, Sequence

from supple.ir.graph.nodes import Input
from supple.ir.host.nodes import Alloc, Bind, Check, Compared, Extern, Free, Launch, Step, View
from supple.ir.meta import TensorMeta


def checked(
    steps: Sequence[Step], inputs: Sequence[Input], metas: Mapping[str, TensorMeta]
) -> tuple[Step, ...]:
    """Return the steps with a check of each input and each library result that a kernel reads.

    before:  m = aten.mm.default(x, w); kernel0(m, y)
    after:   m = aten.mm.default(x, w); check metadata of m f32[2,3](3,1); kernel0(m, y)
    """
    read = _read_by_kernels(steps)
    begin = [
        Check(item.name, item.meta, Compared.MEMORY if item.is_guarded else Compared.ALL)
        for item in inputs
        if item.name in read and isinstance(item.meta, TensorMeta)
    ]
    first = next((place for place, step in enumerate(steps) if not isinstance(step, Bind)), len(steps))
    return (*steps[:first], *begin, *_after_calls(steps[first:], read, metas))


def _after_calls(
    steps: Sequence[Step], read: frozenset[str], metas: Mapping[str, TensorMeta]
) -> Iterator[Step]:
    made: list[Check] = []
    for step in steps:
        if not isinstance(step, Bind | Free):  # sizes that a call decides are bound next
            yield from made
            made = []
        yield step
        if isinstance(step, Extern):
            known = (name for name in step.names if name in read and name in metas)
            made = [Check(name, metas[name], Compared.METADATA) for name in known]


def _read_by_kernels(steps: Sequence[Step]) -> frozenset[str]:
    """Return what kernels take that the program does not allocate, seen through views."""
    bases = {step.name: step.base for step in steps if isinstance(step, View)}
    allocated = {step.name for step in steps if isinstance(step, Alloc)}
    names = {name for step in steps if isinstance(step, Launch) for name in step.buffers}
    roots: set[str] = set()
    for name in names:
        while name in bases:
            name = bases[name]  # the view's base takes its place
        roots.add(name)
    return frozenset(roots - allocated)
