"""Artifact -> callable: link the objects, make each kernel a Python function, run the host text.

The convention between host text and kernels (the host text is what `codegen.host_python` prints):

* The text defines `run(inputs)`: `inputs` is a sequence of tensors (integers where the graph takes one), the
  result a tuple. It is executed once, in a namespace that holds each kernel under its name, and nothing else:
  the text imports torch itself.
* A kernel is called with integers only and returns None: the buffers' `data_ptr()`s in the order of the
  nest's parameters (SCRATCH is none), then the sizes:  `norm(x.data_ptr(), out.data_ptr(), s0)`.
  It releases the GIL while it runs. It keeps no reference: the caller keeps the tensors alive meanwhile.
* Sizes are at least 0 and below 2**63. Nothing is checked here: the host text owns that.

A call costs about 0.8 us for 6 arguments: ctypes with `c_void_p` parameters is its fastest form (`c_int64`
parameters cost 1.5 us, packing the integers into one array 0.85 us).
"""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import torch

from supple.runtime.artifact import Artifact, Kernel
from supple.runtime.link import addresses

Run = Callable[[Sequence[torch.Tensor]], tuple[object, ...]]


def load(artifact: Artifact) -> Run:
    """Return the function that runs the artifact: inputs -> outputs. It may be called by several threads.

    Raises:
        LinkError: a symbol that the machine code needs is not in this process.
    """
    namespace: dict[str, object] = dict(kernels(artifact))
    exec(compile(artifact.host_source, "<supple host program>", "exec"), namespace)
    return cast("Run", namespace["run"])


def kernels(artifact: Artifact) -> Mapping[str, Callable[..., None]]:
    """Return each kernel of the artifact, by name, as a function of integers (see the module's text)."""
    found = addresses(artifact)
    return {kernel.name: _function(kernel, found[kernel.symbol]) for kernel in artifact.kernels}


def _function(kernel: Kernel, address: int) -> Callable[..., None]:
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * kernel.parameters)
    return cast("Callable[..., None]", prototype(address))
