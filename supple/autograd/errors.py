"""Why a graph is left to eager: not failures, but answers that the driver acts on."""

from supple.base.errors import SuppleError


class Refused(SuppleError):
    """The graph has no functional ATen form here; running it with eager torch is right."""


class NeedsGrad(Refused):
    """An output of the graph needs gradients, and the graph has no backward."""

    def __init__(self, output: str) -> None:
        super().__init__(f"{output} requires gradients")


class Raises(Refused):
    """An operator raises for numbers that were fixed after it was captured: the run raises at its place."""

    def __init__(self, name: str, error: Exception) -> None:
        super().__init__(f"{name} raises {type(error).__name__}: {error}")


class NotFunctional(Refused):
    """The graph writes to memory in a way that has no pure form."""
