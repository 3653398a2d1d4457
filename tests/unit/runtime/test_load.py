"""Loading artifacts: host text, kernels as functions, threads, errors."""

import gc
import sys
import threading
from dataclasses import replace

import pytest
import torch

from supple.codegen.backend import kernel_artifact
from supple.codegen.cpu.jit import Compiler
from supple.codegen.cpu.target import host_cpu, host_target
from supple.ir.dtypes import DType
from supple.runtime.artifact import Artifact, from_bytes, to_bytes
from supple.runtime.link import Linker, LinkError, external
from supple.runtime.load import kernels, load
from tests.unit.codegen.cpu.kernels import pointwise

F32 = DType.F32
SOURCE = """
import torch

def run(inputs):
    x, y = inputs
    out = torch.empty_like(x)
    op_add(x.data_ptr(), y.data_ptr(), out.data_ptr())
    return (out,)
"""


def added(length: int) -> Artifact:
    return kernel_artifact([pointwise("add", (F32, F32), F32, length)], host_target(), SOURCE)


def test_the_host_text_calls_kernels_by_name() -> None:
    x, y = torch.randn(2, 1000)
    (out,) = load(added(1000))((x, y))
    assert torch.equal(out, x + y)


def test_an_artifact_from_bytes_runs() -> None:
    x, y = torch.randn(2, 77)
    (out,) = load(from_bytes(to_bytes(added(77))))((x, y))
    assert torch.equal(out, x + y)


def test_an_artifact_without_kernels_runs() -> None:
    assert load(Artifact((), (), "def run(inputs):\n    return (inputs[0],)\n"))((5,)) == (5,)


@pytest.mark.parametrize("length", [1_000, 1_000_003])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_result_does_not_depend_on_the_number_of_threads(length: int, threads: int) -> None:
    before = torch.get_num_threads()
    x, y = torch.randn(2, length)
    run = load(added(length))
    torch.set_num_threads(threads)
    try:
        (out,) = run((x, y))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(out, x + y)


def test_two_python_threads_may_call_at_once() -> None:
    run = load(added(100_003))
    wrong: list[int] = []

    def work(seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for _ in range(20):
            x, y = torch.randn(2, 100_003, generator=generator)
            (out,) = run((x, y))
            if not torch.equal(out, x + y):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((1, 2), TypeError),
        ((1, 2, 3, 4), TypeError),
        (("a", 2, 3), TypeError),
        ((1, 2, 1 << 70), OverflowError),
    ],
)
def test_a_kernel_refuses_what_are_not_its_integers(
    arguments: tuple[object, ...], error: type[Exception]
) -> None:
    add = kernels(added(8))["op_add"]
    with pytest.raises(error):
        add(*arguments)


def test_calling_a_kernel_keeps_reference_counts() -> None:
    add = kernels(added(8))["op_add"]
    x = torch.ones(8)
    address = x.data_ptr()
    before = sys.getrefcount(address)
    for _ in range(100):
        assert add(address, address, address) is None
    assert sys.getrefcount(address) == before


def test_a_kernel_outlives_its_artifact() -> None:
    add = kernels(added(8))["op_add"]
    gc.collect()
    x, out = torch.ones(8), torch.empty(8)
    add(x.data_ptr(), x.data_ptr(), out.data_ptr())
    assert out.tolist() == [2.0] * 8


def test_an_object_is_linked_once() -> None:
    linker = Linker()
    (data, _) = added(8).objects
    assert linker.link(data) is linker.link(data)


MISSING = """
declare void @no_such_function()
define void @KERNEL() {
  call void @no_such_function()
  ret void
}
"""


def test_a_function_that_nobody_has_is_named() -> None:
    artifact = added(8)
    broken = replace(artifact, objects=(*artifact.objects, Compiler(host_cpu())(MISSING).object))
    with pytest.raises(LinkError, match="no_such_function"):
        load(broken)


def test_kernels_use_the_thread_pool_of_eager() -> None:
    assert external("GOMP_parallel") is not None
    assert external("omp_get_num_threads") is not None
