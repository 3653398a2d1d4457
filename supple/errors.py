"""The exceptions that users of supple may catch."""

from supple.base.errors import (
    Explained,
    InternalError,
    InvalidBackendError,
    OptionsError,
    Reason,
    SuppleError,
    Unsupported,
    UserError,
    Where,
)

__all__ = [
    "Explained",
    "InternalError",
    "InvalidBackendError",
    "OptionsError",
    "Reason",
    "SuppleError",
    "Unsupported",
    "UserError",
    "Where",
]
