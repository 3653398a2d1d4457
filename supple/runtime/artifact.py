"""Artifact: what a compiled graph is on disk: machine code, a host program, a calling convention.

The bytes hold no pickles: a header of JSON, then the object files. Equal artifacts have equal bytes.
"""

import json
from dataclasses import dataclass
from typing import Final

from supple.base.errors import SuppleError

MAGIC: Final = b"supple artifact 2\n"


class ArtifactError(SuppleError):
    """Bytes that are no artifact of this version."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One native function.

    Attributes:
        name: how the host program calls it.
        symbol: its name in the object file.
        object: which of the artifact's objects holds it.
        parameters: how many 64-bit integers it takes: addresses, then sizes.
        units: independent parts of its work, negative where they stay on one thread; None where the function
            `<symbol>_units` of the integers says it.
        chunk: threads take multiples of so many units.
    """

    name: str
    symbol: str
    object: int
    parameters: int
    units: int | None = None
    chunk: int = 1


@dataclass(frozen=True, slots=True)
class Artifact:
    """A compiled graph.

    Attributes:
        kernels: the functions that the host program may call.
        launcher: the symbol of the function that runs kernels; its object is the last; empty without kernels.
        objects: ELF object files; several kernels may share one.
        host_source: Python text that defines `run(inputs) -> tuple`; see `runtime.load`.
        target: "<triple> <cpu> <features>" of the machine code, empty when there is none.
    """

    kernels: tuple[Kernel, ...]
    objects: tuple[bytes, ...]
    host_source: str
    launcher: str = ""
    target: str = ""


def to_bytes(artifact: Artifact) -> bytes:
    """Return the artifact as bytes."""
    header = {
        "kernels": [[k.name, k.symbol, k.object, k.parameters, k.units, k.chunk] for k in artifact.kernels],
        "objects": [len(data) for data in artifact.objects],
        "host_source": artifact.host_source,
        "launcher": artifact.launcher,
        "target": artifact.target,
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    return b"".join((MAGIC, len(text).to_bytes(8, "little"), text, *artifact.objects))


def from_bytes(data: bytes) -> Artifact:
    """Return the artifact that `to_bytes` wrote.

    Raises:
        ArtifactError: the bytes are cut short, or another version wrote them.
    """
    if not data.startswith(MAGIC):
        raise ArtifactError(f"not an artifact of this version: starts with {data[: len(MAGIC)]!r}")
    start = len(MAGIC) + 8
    end = start + int.from_bytes(data[len(MAGIC) : start], "little")
    try:
        header = json.loads(data[start:end])
    except ValueError as error:
        raise ArtifactError(f"the artifact's header is damaged: {error}") from error
    lengths: list[int] = header["objects"]
    if len(data) != end + sum(lengths):
        raise ArtifactError(f"the artifact has {len(data)} bytes, its header says {end + sum(lengths)}")
    objects: list[bytes] = []
    for length in lengths:
        objects.append(data[end : end + length])
        end += length
    kernels = tuple(Kernel(*fields) for fields in header["kernels"])
    return Artifact(kernels, tuple(objects), header["host_source"], header["launcher"], header["target"])
