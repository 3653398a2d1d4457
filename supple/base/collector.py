"""The collector of cycles, off where what a finalizer computes would be taken for the program."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collecting(is_on: bool) -> Generator[None]:
    """Switch the collector of cycles; to walk all objects of torch once takes longer than capture."""
    before = gc.isenabled()
    (gc.enable if is_on else gc.disable)()
    try:
        yield
    finally:
        (gc.enable if before else gc.disable)()
