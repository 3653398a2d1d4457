"""Artifact -> callable: link the objects, make each kernel a Python function, run the host text.

The convention between host text and kernels (the host text is what `codegen.host_python` prints):

* The text defines `run(inputs)`: `inputs` is a sequence of tensors, integers and floats, the
  result a tuple. It is executed once, in a namespace that holds each kernel under its name, `float_bits`,
  `float_of`, the functions of `empty` and those of `mismatch`; the text imports torch itself.
* A kernel is called with integers only and returns None: the buffers' `data_ptr()`s in the order of the
  nest's parameters (SCRATCH is none), then the sizes:  `norm(x.data_ptr(), out.data_ptr(), s0)`; a float as
  the bits of a float64.
  It releases the GIL while it runs. It keeps no reference: the caller keeps the tensors alive meanwhile.
* Sizes are at least 0 and below 2**63. Nothing is checked here: the host text owns that.

A kernel is a built-in function over the artifact's launcher: a call costs about 0.2 us besides its work,
where ctypes takes 0.8 us for six arguments.
"""

import ctypes
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, Final, cast

from supple.runtime.artifact import Artifact, Kernel
from supple.runtime.empty import SAFE, float_of
from supple.runtime.link import Hold, linked
from supple.runtime.mismatch import has_strides, mismatch
from supple.runtime.undo import note_writes

Run = Callable[[Iterable[object]], tuple[object, ...]]


def load(artifact: Artifact) -> Run:
    """Return the function that runs the artifact: inputs -> outputs. It may be called by several threads.

    Raises:
        LinkError: a symbol that the machine code needs is not in this process.
    """
    namespace: dict[str, object] = {**kernels(artifact), "float_bits": float_bits, "float_of": float_of}
    namespace.update((call.__name__, call) for call in (*SAFE.values(), mismatch, has_strides, note_writes))
    exec(compile(artifact.host_source, "<supple host program>", "exec"), namespace)
    return cast("Run", namespace.pop("run"))  # else the function would be in a cycle


def float_bits(value: float) -> int:
    """Return the bits of a float64 as a signed integer."""
    return struct.unpack("=q", struct.pack("=d", value))[0]


def kernels(artifact: Artifact) -> Mapping[str, Callable[..., None]]:
    """Return each kernel of the artifact, by name, as a function of integers (see the module's text).

    Raises:
        LinkError: a symbol that the machine code needs is not in this process.
    """
    found, hold = linked(artifact)
    return {
        kernel.name: _function(kernel, found, found[artifact.launcher], hold) for kernel in artifact.kernels
    }


class MethodDef(ctypes.Structure):
    """PyMethodDef of the C API. Python keeps a pointer to it for as long as the function lives."""

    _fields_: ClassVar = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


METH_FASTCALL: Final = 0x80


def _function(kernel: Kernel, found: Mapping[str, int], launcher: int, hold: Hold) -> Callable[..., None]:
    """Return the built-in function that hands its integers to the launcher with the kernel's descriptor.

    Its `__module__` is the hold: what a running call needs lives at least as long as the function.
    """
    units = 0 if kernel.units is not None else found[f"{kernel.symbol}_units"]
    descriptor = struct.pack(
        "=5q", found[kernel.symbol], units, kernel.units or 0, kernel.chunk, kernel.parameters
    )
    method = MethodDef(kernel.name.encode(), launcher, METH_FASTCALL, None)
    hold.add(method)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    return cast("Callable[..., None]", make(ctypes.addressof(method), descriptor, hold))
