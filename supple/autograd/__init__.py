"""Stage 2: a captured graph becomes functional ATen graphs, decomposed to the core operators."""

from supple.autograd.convention import (
    Convention,
    InputItself,
    Mutation,
    Output,
    Plain,
    Result,
    SameAs,
    Split,
    ViewOfInput,
    ViewOfResult,
    bind,
)
from supple.autograd.errors import NeedsGrad, NotFunctional, Refused
from supple.autograd.split import split

__all__ = [
    "Convention",
    "InputItself",
    "Mutation",
    "NeedsGrad",
    "NotFunctional",
    "Output",
    "Plain",
    "Refused",
    "Result",
    "SameAs",
    "Split",
    "ViewOfInput",
    "ViewOfResult",
    "bind",
    "split",
]
