"""The exception tree and the message that every reason prints: what, where, why, do.

Reasons are data with a stable code. A stage keeps its own catalogue of `Reason`s (capture/breaks.py,
say); the raise site gives only the facts that the texts name in braces.
"""

import linecache
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Where:
    """A place in the user's program.

    Attributes:
        region: the number of the checkpointed region that runs, 0 outside of them.
        is_caught: the function may catch what is raised here.
    """

    filename: str
    line: int
    function: str
    region: int = 0
    is_caught: bool = field(default=False, compare=False)

    @property
    def text(self) -> str:
        """The source line, stripped; empty when the source is not at hand."""
        return linecache.getline(self.filename, self.line).strip()


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something could not be done: a stable code and three texts with {named} facts.

    Attributes:
        code: a letter and three digits, never reused: B = break, U = user error, G = guards, I = internal.
        what: one sentence about what happened.
        why: why the compiler cannot do it.
        do: what the user can change.
    """

    code: str
    what: str
    why: str
    do: str


class SuppleError(Exception):
    """Base of every error that supple raises on purpose."""


class Explained(SuppleError):
    """An error with a catalogued reason, the facts of this case, and the user's stack (innermost last).

    Attributes:
        is_error: whether the program says there that graph breaks are errors; None where it says nothing.
    """

    is_error: bool | None = None

    def __init__(self, reason: Reason, stack: tuple[Where, ...] = (), **facts: object) -> None:
        self.reason = reason
        self.stack = stack
        self.facts = facts
        super().__init__(explain(self))

    @property
    def what(self) -> str:
        """What happened, with the facts of this case."""
        return self.reason.what.format(**self.facts)

    @property
    def why(self) -> str:
        """Why the compiler cannot do it."""
        return self.reason.why.format(**self.facts)

    @property
    def do(self) -> str:
        """What the user can change."""
        return self.reason.do.format(**self.facts)


class Unsupported(Explained):
    """Capture cannot go on here: the frame runs eager, or, under `fullgraph=True`, the user sees this."""


class UserError(Explained):
    """The user's program or call asks for something that has no meaning."""


class OptionsError(SuppleError, RuntimeError):
    """An argument of `supple.compile` or an option is not valid; nothing was changed."""


class InvalidBackendError(OptionsError):
    """The name of a backend is not known."""


class RecompileError(Explained, RuntimeError):
    """A compilation was needed, and the stance or `config.error_on_recompile` forbids it."""


class FailOnRecompileLimitHit(RecompileError):
    """A function was compiled as often as it may be, and must not run eager."""


class ConstraintViolationError(UserError, RuntimeError):
    """A program does not keep to what `mark_dynamic` promised."""


class VerificationError(Explained, RuntimeError):
    """Compiled code gives something else than eager, and `verify` asked to be told."""


class MemoryFault(SuppleError, RuntimeError):
    """A kernel wrote or used memory that is not its own, and `check="memory"` asked to be told."""


class BackendCompilerFailed(SuppleError, RuntimeError):
    """A backend of the user raised an exception while it compiled a graph; the exception is the cause.

    Attributes:
        inner_exception: the exception.
    """

    def __init__(self, backend: str, inner_exception: Exception) -> None:
        self.inner_exception = inner_exception
        kind = type(inner_exception).__name__
        super().__init__(f"the backend `{backend}` raised {kind}: {inner_exception}")
        self.add_note(
            "Do: correct the backend; `supple.config.suppress_errors = True` runs such functions eager."
        )


class SpecError(SuppleError):
    """A program breaks a rule of its language; the text names the part of it and the rule."""


class InternalError(SuppleError):
    """A failure inside the compiler. Never reaches the user's program unless `fullgraph=True`."""


class TraceError(InternalError):
    """The compiler gave a graph up, since an operator would raise; the run shows that it does not."""


def explain(reason: Explained) -> str:
    """Return the text of a reason: what [code], where with the user's line, why, do."""
    lines = [f"{reason.what} [{reason.reason.code}]"]
    for where in reversed(reason.stack):
        lines.append(f"  at {where.filename}:{where.line} in {where.function}")
        if where.text:
            lines.append(f"    {where.text}")
    return "\n".join((*lines, f"  why: {reason.why}", f"  do:  {reason.do}"))


def one_line(function: str, reason: Explained, is_what: str) -> str:
    """Return a reason as one line: which function is what ("runs eager"), what, where, why, what to do."""
    where = "".join(
        f" at {place.filename}:{place.line} in {place.function} (`{place.text}`)"
        for place in reason.stack[-1:]
    )
    line = (
        f"{function} {is_what}: {reason.what} [{reason.reason.code}]{where}. "
        f"Why: {reason.why} Do: {reason.do}"
    )
    return " ".join(line.split())
