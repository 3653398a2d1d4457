"""Every test of kernels runs for the processor as it is, and for each level of processors that it is of.

Of the levels each run of CI takes the next quarter.
"""

from collections.abc import Iterator

import pytest

from supple.base.config import config
from supple.codegen.cpu import x86
from supple.codegen.cpu.target import host_cpu

LEVELS = [name for name, features in x86.LEVELS.items() if all(map(host_cpu().has, features))]


PARAMETERS = ["native", *(pytest.param(name, marks=pytest.mark.sweep) for name in LEVELS)]


@pytest.fixture(autouse=True, params=PARAMETERS)
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    with config.patch(cpu=request.param):
        yield request.param
