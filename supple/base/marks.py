"""Functions that mean something to capture, and the marks that it looks for. Plain calls do nothing."""

from typing import Final

#: A function with this attribute set is never captured: the call that contains it runs eager.
DISABLED: Final = "__supple_disabled__"


#: A code flag of functions whose own operations are not captured; the calls that they make are.
ALONE: Final = 1 << 28

#: What `supple.compile` returns names its original here; capture goes through it.
ORIGINAL: Final = "__supple_original__"

#: Attribute of an exception: inputs of the graph that raised it may hold what the graph writes to them.
WRITTEN: Final = "__supple_written__"

#: What the check of a condition says that an operator has: it stands before the operator, and its writes.
EXPECTED: Final = "Expected {} to be True"


def is_compiling() -> bool:
    """Tell whether the caller runs as captured code; a plain call is not, capture answers True."""
    return False


def graph_break(msg: str = "") -> None:
    """End the graph here, for the reason `msg`; outside of captured code nothing happens."""


def skip_frame(msg: str = "") -> None:
    """Let the call that runs this line run eager as a whole; outside of captured code nothing happens."""


step_unsupported = graph_break
