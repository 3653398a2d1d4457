"""Stage 2: a captured graph becomes functional ATen graphs, decomposed to the core operators."""

from supple.autograd.convention import Result, Split, bind
from supple.autograd.errors import NeedsGrad, NotFunctional, Refused
from supple.autograd.split import split

__all__ = ["NeedsGrad", "NotFunctional", "Refused", "Result", "Split", "bind", "split"]
