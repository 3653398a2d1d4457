"""Stage 2: a captured graph becomes functional ATen graphs, decomposed to the core operators."""

from supple.autograd.chained import joined, pieces
from supple.autograd.convention import Backward, Split, bind, is_atomic, rerun
from supple.autograd.errors import NeedsGrad, NotFunctional, Raises, Refused
from supple.autograd.higher import of_gradients
from supple.autograd.split import split

__all__ = [
    "Backward",
    "NeedsGrad",
    "NotFunctional",
    "Raises",
    "Refused",
    "Split",
    "bind",
    "is_atomic",
    "joined",
    "of_gradients",
    "pieces",
    "rerun",
    "split",
]
