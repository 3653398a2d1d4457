"""Every test of kernels runs for the processor as it is, and for each level of processors that it is of."""

from collections.abc import Iterator

import pytest

from supple.base.config import config
from supple.codegen.cpu import x86
from supple.codegen.cpu.target import host_cpu

LEVELS = [name for name, features in x86.LEVELS.items() if all(map(host_cpu().has, features))]


@pytest.fixture(autouse=True, params=["native", *LEVELS])
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    with config.patch(cpu=request.param):
        yield request.param
