"""Compares what two modules of one program made, bit for bit where eager and compiled code round alike."""

import array
import decimal
import fractions
import math
import re
import types
import weakref
from typing import Any, Final

import numpy as np
import torch

from supple.capture.library.polyfills import stepped
from supple.runtime.undo import version
from tests.fuzz.calling import ADDRESS
from tests.semantics.harness import Comparison

BY_TEXT: Final = (
    array.array,
    decimal.Decimal,
    fractions.Fraction,
    np.generic,
    np.random.Generator,
    np.random.RandomState,
)
"""Classes of C whose objects tell all of what they hold in their text, but for addresses."""
MODULE: Final = "program"
"""How names of modules of random programs begin."""
ADDRESSES: Final = range(2**40, 2**48)
"""Where objects lie in memory, and hashes made of that: an `id` is another in each of two runs."""
SAVED: Final = re.compile(r"(?<=modified by an inplace operation: ).*")
"""Which of the written tensors backward needs first, and what to do: docs/training.md leaves it open."""
GIVEN: Final = re.compile(r"arguments\[\d+\]")
"""Where tensors are that the call did not make: eager and compiled code write them equally often."""
TOLERANCE: Final = {torch.bfloat16: 3e-2, torch.float16: 4e-3}
NUMBER: Final = re.compile(r"(-?\d+\.\d*(?:e[-+]\d+)?)")
"""A floating-point number in the text of a tensor."""
PRINTED: Final = 2e-4
"""How far numbers may be apart of which torch prints four digits."""
ASKED: Final = 1e-6
"""How far Python's and NumPy's floats may be apart, of which a sum of the numbers of a tensor may be one."""
LITTLE: Final = 1e-2
"""What rounding errors may grow to where a program takes differences of nearly equal numbers."""


class Twins(Comparison):
    """Compares what two modules of one program made: of each class of theirs there are two.

    Attributes:
        is_by_little: whether the difference found is one of floating-point numbers, by no more than `LITTLE`.
        is_at_edge: whether it is one of what is a number and what is none, or of a sign, all else being near.
    """

    def __init__(self, is_rounded: bool = False) -> None:
        super().__init__(is_rounded)
        self.is_by_little = self.is_at_edge = False

    def difference(self, want: Any, got: Any, path: str) -> str | None:
        """Return where the two first differ, None when they are alike."""
        # `isinstance` would ask the objects for their classes, which those of the program may note.
        kinds = [one if issubclass(type(one), type) else type(one) for one in (want, got)]
        if type(want) is type(got) is int and want in ADDRESSES and got in ADDRESSES:
            return None
        if type(want) is type(got) is str and self.are_texts_alike(want, got):
            return None
        is_asked = self.is_rounded and type(want) is float  # it may be a sum
        if type(want) is type(got) and (is_asked or issubclass(type(want), np.floating)) and want != got:
            if math.isclose(want, got, rel_tol=ASKED, abs_tol=ASKED):
                return None
        if goes_on_for(got, want):
            return None if self.pair(want, got) is not None else f"{path}: aliasing differs ({want!r})"
        if kinds[0] is kinds[1] or not all(map(is_programs, kinds)):
            return super().difference(want, got, path)
        are_classes = [issubclass(type(one), type) for one in (want, got)]
        if kinds[0].__qualname__ != kinds[1].__qualname__ or are_classes[0] != are_classes[1]:
            return f"{path}: {want!r} and {got!r}"
        paired = self.pair(want, got)
        if paired is None:
            return f"{path}: aliasing differs ({want!r} and {got!r})"
        return None if paired or are_classes[0] else self.inside(want, got, path)

    def are_texts_alike(self, want: str, got: str) -> bool:
        """Tell whether two texts differ in addresses at most, and of tensors in rounding."""
        mine, theirs = (re.sub(SAVED, "", re.sub(ADDRESS, "", one)) for one in (want, got))
        if mine == theirs or not (self.is_rounded and "tensor(" in mine):
            return mine == theirs
        words, others = (NUMBER.split("".join(one.split())) for one in (mine, theirs))
        return words[::2] == others[::2] and all(
            math.isclose(float(one), float(other), rel_tol=PRINTED, abs_tol=PRINTED)
            for one, other in zip(words[1::2], others[1::2], strict=True)
        )

    def inside(self, want: Any, got: Any, path: str) -> str | None:
        """Return where two objects of one class differ; those of C have no attributes to look at."""
        if is_programs(type(want)) and not issubclass(type(want), torch.nn.Module | BaseException):
            return self.difference_of_attributes(want, got, path)
        if isinstance(want, np.ndarray):
            return self.arrays(want, got, f"{path}.array")
        if isinstance(want, array.array) and want.typecode in "fd":  # may hold sums, which are rounded
            return self.arrays(np.array(want), np.array(got), f"{path}.array")
        if isinstance(want, weakref.ref):
            return self.difference(want(), got(), f"{path}.referent")
        if isinstance(want, weakref.WeakKeyDictionary | weakref.WeakValueDictionary):
            return self.difference(list(want.items()), list(got.items()), f"{path}.items")
        if isinstance(want, BY_TEXT):
            mine, theirs = text(want), text(got)
            return None if mine == theirs else f"{path}: {mine} and {theirs}"
        return super().inside(want, got, path)

    def tensors(self, want: torch.Tensor, got: torch.Tensor, path: str) -> str | None:
        """Return how two tensors differ; a view that was written although it must not be says nothing."""
        # A view of nothing else may be made as a tensor of its own, as a gradient by eager's kernels; `set_`
        # of one makes no other kind of tensor of a view.
        bytes_there = {one.untyped_storage().nbytes() for one in (want, got)}
        # Where a view of nothing begins follows from strides that the documents leave open.
        is_comparable = want._is_view() and got._is_view() and len(bytes_there) == 1 and want.numel() > 0
        offset = ("storage_offset",) if is_comparable else ()
        for name in ("is_conj", "is_neg", *offset):
            mine, theirs = (getattr(one, name)() for one in (want, got))
            if mine != theirs:
                return f"{path}.{name}: {mine} and {theirs}"
        if GIVEN.fullmatch(path):
            counts = version(want), version(got)
            if counts[0] != counts[1]:
                return f"{path}._version: {counts[0]} and {counts[1]}"
        try:
            return super().tensors(want, got, path)
        except RuntimeError as error:
            if "has been modified inplace" in str(error) or tells_nothing(want):
                return None
            raise

    def values(self, want: torch.Tensor, got: torch.Tensor) -> bool:
        """Tell whether two tensors of one shape hold the same numbers: the same bits, or about the same."""
        with torch.no_grad():
            mine, theirs = (one.detach().resolve_conj().resolve_neg() for one in (want, got))
            if mine.is_complex():
                mine, theirs = torch.view_as_real(mine), torch.view_as_real(theirs)
            if bool((alike(mine, theirs) | self.is_near(mine, theirs)).all()):
                return True
            is_little = torch.isclose(theirs, mine, rtol=LITTLE, atol=LITTLE, equal_nan=True)
            is_rounded = self.is_rounded and not is_exact(want)
            self.is_by_little = is_rounded and bool(is_little.all())
            is_edge = (mine.isnan() != theirs.isnan()) | (mine == -theirs)
            self.is_at_edge = is_rounded and bool((is_little | is_edge).all())
            self.is_at_edge &= not self.is_by_little
            return False

    def has_memory(self, tensor: torch.Tensor) -> bool:
        """Tell whether a tensor's storage holds anything; of others docs/dynamic_shapes.md says nothing."""
        return tensor.untyped_storage().nbytes() > 0

    def steps(self, tensor: torch.Tensor) -> list[int]:
        """Return the strides along dimensions with a second element, as docs/dynamic_shapes.md says."""
        if not tensor.numel():
            return []
        return [step for size, step in zip(tensor.shape, tensor.stride(), strict=True) if size > 1]

    def arrays(self, want: np.ndarray[Any, Any], got: np.ndarray[Any, Any], path: str) -> str | None:
        """Return how two arrays differ."""
        mine, theirs = ((str(one.dtype), one.shape, one.strides) for one in (want, got))
        if mine != theirs:
            return f"{path}: {mine} and {theirs}"
        if want.dtype.char in "efdFD":
            is_alike = self.values(torch.from_numpy(want.copy()), torch.from_numpy(got.copy()))
        else:
            is_alike = want.tobytes() == got.tobytes()
        return None if is_alike else f"{path}: {want} and {got}"

    def is_near(self, want: torch.Tensor, got: torch.Tensor) -> torch.Tensor:
        """Tell where two results differ by rounding."""
        if not self.is_rounded or not want.is_floating_point():
            return torch.zeros(want.shape, dtype=torch.bool)
        limit = TOLERANCE.get(want.dtype, 1e-4)
        return torch.isclose(got, want, rtol=limit, atol=limit)


def goes_on_for(got: Any, want: Any) -> bool:
    """Tell whether a generator stands for an iterator of C that has begun, as docs/architecture.md says."""
    is_of_c = type(want).__module__ in ("builtins", "itertools") and hasattr(want, "__next__")
    is_stand_in = type(got) is types.GeneratorType and got.__name__ == stepped.__name__
    return is_of_c and is_stand_in and type(want) is not types.GeneratorType


def is_programs(kind: type) -> bool:
    """Tell whether a class is one of a random program's own."""
    return str(type.__getattribute__(kind, "__module__")).startswith(MODULE)


def is_exact(found: torch.Tensor) -> bool:
    """Tell whether numbers of a tensor are never rounded: integers and truths."""
    return not (found.is_floating_point() or found.is_complex())


def tells_nothing(tensor: torch.Tensor) -> bool:
    """Tell whether eager finds no node of a view: `set_` gave what it shows other memory."""
    try:
        _ = tensor.grad_fn
    except RuntimeError:
        return True
    return False


def alike(want: torch.Tensor, got: torch.Tensor) -> torch.Tensor:
    """Tell where two tensors have the same bits; one NaN is another."""
    if not want.is_floating_point():
        return want == got
    return (want == got) & (want.signbit() == got.signbit()) | want.isnan() & got.isnan()


def text(found: Any) -> str:
    """Return the text of an object of C, with the state of what draws random numbers."""
    if isinstance(found, np.random.Generator):
        return repr(found.bit_generator.state)
    if isinstance(found, np.random.RandomState):
        return repr([str(one) for one in found.get_state()])
    return repr(found)
