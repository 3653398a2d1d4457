"""What every test may rely on: Hypothesis profiles, warnings, seeds, golden files, a clean compiler."""

import gc
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from zlib import crc32

import hypothesis
import pytest

# No test reads or writes the profile of the user's programs.
os.environ.update(SUPPLE_PROFILE="0", SUPPLE_CACHE_DIR=os.path.join(tempfile.gettempdir(), "supple-tests"))
# Threads that wait for work leave their core to the other processes of a test run.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

HERE = Path(__file__).parent
GOLDEN = HERE / "language" / "golden"

GUARDED = ("models", "operators", "semantics", "training")
"""Folders whose kernels run between guard pages, where a byte out of bounds is a fault with a name."""

hypothesis.settings.register_profile("dev", max_examples=50, deadline=None)
hypothesis.settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True)
hypothesis.settings.register_profile("nightly", max_examples=5000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

# Third parties whose warnings say nothing about this package. Everything else is an error.
WARNINGS = (
    "error",
    # transformers and huggingface_hub deprecate their own arguments.
    "default::FutureWarning:transformers.*",
    "default::DeprecationWarning:transformers.*",
    "default::FutureWarning:huggingface_hub.*",
)

MARKERS = (
    "slow: more than a second; run by `make slow`",
    "feature(id): shows the feature with this id",
    "sweep: one of many like it; SUPPLE_SWEEP=0/4 runs a quarter of them",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", action="store_true", help="rewrite the golden files instead of comparing")


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    for warning in WARNINGS:
        config.addinivalue_line("filterwarnings", warning)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the environment does not ask for.

    SUPPLE_SWEEP=0/4 asks for a quarter of the sweeps, SUPPLE_SHARE=0/12 for a twelfth of all tests.
    """
    left_out = [
        item
        for item in items
        if not is_asked_for(item, "SUPPLE_SHARE")
        or (item.get_closest_marker("sweep") and not is_asked_for(item, "SUPPLE_SWEEP"))
    ]
    config.hook.pytest_deselected(items=left_out)
    gone = set(left_out)
    items[:] = [item for item in items if item not in gone]


def is_asked_for(item: pytest.Item, variable: str) -> bool:
    """Return whether a test is in the part that a variable of the environment asks for."""
    part, parts = map(int, os.environ.get(variable, "0/1").split("/"))
    return crc32(f"{variable} {item.nodeid}".encode()) % parts == part


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Name what failed at once: a run of CI may end before its summary."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\nFAILED {report.nodeid}", flush=True)


def pytest_collection_finish() -> None:
    """Keep the million objects that the tests are made of out of each later collection of cycles."""
    gc.collect()
    gc.freeze()


@dataclass(frozen=True, slots=True)
class Golden:
    """Compares text with the file named after the test, or rewrites that file."""

    path: Path
    is_rewriting: bool

    def check(self, text: str) -> None:
        """Assert that `text` is what the golden file holds; under --golden, write it there."""
        text = text.rstrip("\n") + "\n"
        if self.is_rewriting:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(text, encoding="utf-8")
            return
        assert self.path.exists(), f"no golden file {self.path}; `make golden` writes it"
        assert text == self.path.read_text(encoding="utf-8"), (
            "differs from the golden file; see `make golden`"
        )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """The golden file of this test: tests/language/golden/<test file>/<test name>.txt."""
    name = request.node.name.replace("[", "-").replace("]", "").replace("/", "_")
    path = GOLDEN / request.node.path.stem.removeprefix("test_") / f"{name.removeprefix('test_')}.txt"
    return Golden(path, request.config.getoption("--golden"))


def forget_seeds_of_absent_devices(torch: ModuleType) -> None:
    """Let torch keep no seed for a device that the machine lacks.

    torch.manual_seed stores one for each kind of device, with a formatted stack: most of its 6 ms. Samples of
    operators call it for each sample.
    """
    for device, holder in (
        (torch.cuda, torch.cuda.random),
        (torch.xpu, torch.xpu.random),
        (torch.mtia, torch.mtia),
    ):
        if not device.is_available():
            holder._lazy_call = lambda _call, **_kinds: None


@pytest.fixture(autouse=True)
def seed() -> int:
    """Seed Python's and, where it is loaded, torch's random numbers; return the seed."""
    number = 1234
    random.seed(number)
    torch = sys.modules.get("torch")
    if torch is not None:
        forget_seeds_of_absent_devices(torch)
        torch.manual_seed(number)
    return number


@pytest.fixture(autouse=True)
def fresh_compiler() -> Iterator[None]:
    """Forget what the test compiled, where it used the compiler at all."""
    yield
    api = sys.modules.get("supple.api")
    if api is not None:
        api.reset()


@pytest.fixture(autouse=True)
def modes(seed: int) -> Iterator[None]:
    """Fail a test that leaves other modes of torch than it found, and put them back for the next ones."""
    if "torch" not in sys.modules:  # the tests of bytecode need none
        yield
        return
    from tests.modes import modes_now, set_modes  # noqa: PLC0415  # only where there is torch

    before = modes_now()
    yield
    after = modes_now()
    set_modes(before)
    assert after == before, "the test left other modes than it found"


@pytest.fixture(autouse=True)
def guard_pages(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the kernels of whole programs between guard pages; torch's inductor has kernels of its own."""
    folder = request.path.relative_to(HERE).parts[0]
    if folder not in GUARDED or "inductor" in request.node.name:
        yield
        return
    import supple  # noqa: PLC0415  # only where there is torch

    before = supple.config.check
    supple.config.check = "memory"
    yield
    supple.config.check = before
