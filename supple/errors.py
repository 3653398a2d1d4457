"""The exceptions that users of supple may catch."""

from supple.base.errors import (
    ConstraintViolationError,
    Explained,
    FailOnRecompileLimitHit,
    InternalError,
    InvalidBackendError,
    OptionsError,
    Reason,
    RecompileError,
    SuppleError,
    Unsupported,
    UserError,
    VerificationError,
    Where,
)

__all__ = [
    "ConstraintViolationError",
    "Explained",
    "FailOnRecompileLimitHit",
    "InternalError",
    "InvalidBackendError",
    "OptionsError",
    "Reason",
    "RecompileError",
    "SuppleError",
    "Unsupported",
    "UserError",
    "VerificationError",
    "Where",
]
