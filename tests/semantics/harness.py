"""The harness of the semantics corpus: one small function, captured and eager, must not differ in anything.

Compared are the result, the arguments after the call, what the function wrote to globals and closures,
and which of all these are one object. `Corpus` collects the functions of one file; `Case.check` runs one.
"""

import collections
import contextlib
import copy
import dis
import io
import math
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch.utils.hooks import RemovableHandle

from supple.base.options import Options
from supple.capture.frame import Captured, capture
from supple.capture.guards.emit import checker
from supple.ir.graph.interp import compile_python

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
ATOMS = (
    type(None), bool, int, float, complex, str, bytes, range, slice, torch.dtype, torch.device,
    types.CodeType,     torch.layout, torch.memory_format, type(...), type(NotImplemented),
)  # fmt: skip


FIRST_HANDLE = 10**9
"""Hooks are kept by the numbers of their handles, which go up."""

RAISING = ("B113", "B112")
"""The reasons for which a call that raises is not captured."""


@dataclass(frozen=True)
class Case:
    """One function of the corpus.

    Attributes:
        args: copied for each run.
        changed: further arguments, in turn: an entry whose guards hold for them must give their result.
        breaks: the code of the reason for which capture gives up (several, where it depends on what is
            loaded), None when it must succeed.
        line: a part of the user's line that the reason must name.
        reuses: whether the guards hold for a copy of the arguments.
        is_rounded: whether floats may differ by rounding.
    """

    function: Any
    args: tuple[Any, ...]
    changed: tuple[tuple[Any, ...], ...] = ()
    breaks: str | None = None
    line: str = ""
    reuses: bool = True
    is_rounded: bool = False
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.function.__name__

    def check(self) -> None:
        """Assert that capture and eager agree."""
        if self.breaks is not None:
            self.check_break()
            return
        captured = self.capture_and_compare(self.args)
        held = self.holds(captured, self.args)
        assert held or not self.reuses, "the guards do not hold for equal arguments"
        for args in (self.args, *self.changed):
            if captured.run is not None and self.holds(captured, args):
                self.compare(captured.run, args)
            else:
                self.capture_and_compare(args)

    def capture_and_compare(self, args: tuple[Any, ...]) -> Captured:
        captured = self.captured(args)
        if self.raises(args):
            assert captured.reason is not None, "captured, although it raises"
            assert captured.reason.reason.code in RAISING, str(captured.reason)
            return captured
        assert captured.reason is None, f"not captured: {captured.reason}"
        assert self.holds(captured, args), "a guard does not hold for the captured call itself"
        self.compare(captured.run, args)
        return captured

    def captured(self, args: tuple[Any, ...]) -> Captured:
        """Capture a call on a copy of the arguments, which must stay as they are."""
        given = copy.deepcopy((args, dict(self.kwargs)))
        before = self.kept_state()
        captured = capture(self.function, *given, lambda graph, _: compile_python(graph), Options())
        self.assert_same(
            (args, dict(self.kwargs), before), (*given, self.kept_state()), "capture changed state"
        )
        return captured

    def holds(self, captured: Captured, args: tuple[Any, ...]) -> bool:
        given = copy.deepcopy((args, dict(self.kwargs)))
        return checker(captured.guards, self.function).check(*given[0], **given[1]) is None

    def raises(self, args: tuple[Any, ...]) -> bool:
        """Tell whether eager raises for these arguments."""
        return self.outcome(self.function, args)[0][0] == "raised"

    def compare(self, run: Callable[..., Any] | None, args: tuple[Any, ...]) -> None:
        assert run is not None
        want = self.outcome(self.function, args)
        got = self.outcome(run, args)
        self.assert_same(want, got, "captured and eager differ")

    def outcome(self, run: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return all that a call gives and changes; globals and closure variables are put back."""
        given = copy.deepcopy((args, dict(self.kwargs)))
        text = io.StringIO()
        torch.manual_seed(0)
        RemovableHandle.next_id = FIRST_HANDLE
        with self.restored(), contextlib.redirect_stdout(text):
            try:
                result = ("returned", run(*given[0], **given[1]))
            except Exception as error:  # what the program raises is compared
                result = ("raised", type(error), error.args)
            return result, given, self.kept_state(), text.getvalue()

    def check_break(self) -> None:
        """Assert that capture gives up for the right reason and has changed nothing."""
        captured = self.captured(self.args)
        reason = captured.reason
        assert reason is not None, "captured"
        assert captured.run is None
        assert reason.reason.code in self.breaks.split(), str(reason)
        assert reason.stack, f"no place: {reason}"
        assert any(self.line in where.text for where in reason.stack), str(reason)
        assert self.holds(captured, self.args) or not self.reuses

    def kept_state(self) -> dict[str, object]:
        """Return what the function can write besides its arguments: globals and closure variables."""
        names = self.function.__globals__
        state: dict[str, object] = {name: names.get(name) for name in written_globals(self.function.__code__)}
        for name, cell in zip(
            self.function.__code__.co_freevars, self.function.__closure__ or (), strict=True
        ):
            state[f"cell {name}"] = contents(cell)
        return state

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        """Put back globals, closure variables with their contents and modes; inside they are copies."""
        names = self.function.__globals__
        written = written_globals(self.function.__code__)
        before = {name: names[name] for name in written if name in names}
        cells = [
            (cell, contents(cell))
            for cell in self.function.__closure__ or ()
            if isinstance(contents(cell), ATOMS + (list, dict, set))
        ]
        for cell, value in cells:
            cell.cell_contents = copy.deepcopy(value)
        try:
            yield
        finally:
            torch.set_grad_enabled(True)
            torch.set_default_dtype(torch.float32)
            torch.set_default_device(None)
            for name in written:
                names.pop(name, None)
            names.update(before)
            for cell, value in cells:
                cell.cell_contents = value

    def assert_same(self, want: object, got: object, what: str) -> None:
        difference = Comparison(self.is_rounded).difference(want, got, "")
        assert difference is None, f"{what}: {difference}"


def contents(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def written_globals(code: types.CodeType) -> list[str]:
    """Return the names of globals that a function, or one made in it, assigns."""
    found = {
        str(one.argval)
        for one in dis.get_instructions(code)
        if one.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")
    }
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found.update(written_globals(constant))
    return sorted(found)


class Comparison:
    """Walks two object graphs in step; objects that are one on the left must be one on the right."""

    def __init__(self, is_rounded: bool = False) -> None:
        self.is_rounded = is_rounded
        self.partner: dict[int, int] = {}
        self.taken: dict[int, int] = {}
        self.alive: list[object] = []

    def difference(self, want: Any, got: Any, path: str) -> str | None:
        """Return where the two first differ, None when they are alike."""
        if type(want) is not type(got):
            return f"{path}: {type(want).__name__} {want!r} and {type(got).__name__} {got!r}"
        if isinstance(want, ATOMS):
            return None if same_atom(want, got) else f"{path}: {want!r} and {got!r}"
        if isinstance(want, type | types.ModuleType):
            return None if want is got else f"{path}: {want!r} and {got!r}"
        if isinstance(want, types.BuiltinFunctionType):
            return self.items([want.__name__, want.__self__], [got.__name__, got.__self__], path + ".builtin")
        if isinstance(want, tuple) and type(want) is tuple:
            return self.items(want, got, path)
        paired = self.pair(want, got)
        if paired is None:
            return f"{path}: aliasing differs ({want!r} and {got!r})"
        return None if paired else self.inside(want, got, path)

    def pair(self, want: object, got: object) -> bool | None:
        """Return True for partners met before, False for new partners, None when they cannot be partners."""
        self.alive += [want, got]
        known, taken = self.partner.get(id(want)), self.taken.get(id(got))
        if known is None and taken is None:
            self.partner[id(want)] = id(got)
            self.taken[id(got)] = id(want)
            return False
        return True if known == id(got) and taken == id(want) else None

    def sets(self, want: Any, got: Any, path: str) -> str | None:
        """Compare sets by what is equal by value; of other members the order tells nothing, so by class."""
        plain = [{one for one in members if isinstance(one, ATOMS)} for members in (want, got)]
        others = [[one for one in members if not isinstance(one, ATOMS)] for members in (want, got)]
        if len(others[0]) == len(others[1]) == 1:
            return self.items([plain[0] == plain[1], *others[0]], [True, *others[1]], path)
        kinds = [sorted(type(one).__name__ for one in members) for members in others]
        return None if plain[0] == plain[1] and kinds[0] == kinds[1] else f"{path}: {want} and {got}"

    def inside(self, want: Any, got: Any, path: str) -> str | None:
        match want:
            case torch.Tensor():
                return self.tensors(want, got, path)
            case dict():  # the order of an OrderedDict is not that of the dict which it is to C
                kinds = [
                    collections.OrderedDict if isinstance(one, collections.OrderedDict) else dict
                    for one in (want, got)
                ]
                if (
                    found := self.items(list(kinds[0].keys(want)), list(kinds[1].keys(got)), path + ".keys")
                ) is not None:
                    return found
                found = self.items(list(kinds[0].values(want)), list(kinds[1].values(got)), path + ".values")
            case set() | frozenset():
                found = None if want == got else self.sets(want, got, path)
            case types.FunctionType():
                return self.functions(want, got, path)
            case types.MethodType():
                return self.items([want.__func__, want.__self__], [got.__func__, got.__self__], path)
            case types.CellType():
                return self.difference(contents(want), contents(got), path + ".cell")
            case BaseException():
                found = self.difference(want.args, got.args, path + ".args")
            case types.GeneratorType() | map() | filter() | zip():
                found = self.items(list(want), list(got), path + ".yielded")
            case _ if isinstance(want, Sequence) or hasattr(want, "popleft"):
                found = self.items(list(want), list(got), path)
            case _ if hasattr(want, "func") and hasattr(want, "keywords"):
                found = self.items(
                    [want.func, want.args, want.keywords], [got.func, got.args, got.keywords], path
                )
            case _:
                found = None
        return found or self.difference_of_attributes(want, got, path)

    def difference_of_attributes(self, want: object, got: object, path: str) -> str | None:
        mine, theirs = attributes(want), attributes(got)
        if list(mine) != list(theirs):
            return f"{path}: attributes {list(mine)} and {list(theirs)}"
        return self.items(list(mine.values()), list(theirs.values()), path + "." + "/".join(mine))

    def items(self, want: Sequence[Any], got: Sequence[Any], path: str) -> str | None:
        if len(want) != len(got):
            return f"{path}: {want!r} and {got!r}"
        for index, (one, other) in enumerate(zip(want, got, strict=True)):
            found = self.difference(one, other, f"{path}[{index}]")
            if found is not None:
                return found
        return None

    def functions(self, want: types.FunctionType, got: types.FunctionType, path: str) -> str | None:
        mine = [
            want.__code__,
            want.__defaults__,
            want.__kwdefaults__,
            want.__dict__,
            *(want.__closure__ or ()),
        ]
        theirs = [got.__code__, got.__defaults__, got.__kwdefaults__, got.__dict__, *(got.__closure__ or ())]
        return self.items(mine, theirs, path + ".function")

    def has_memory(self, tensor: torch.Tensor) -> bool:
        """Tell whether it counts with which others a tensor shares its storage."""
        return True

    def tensors(self, want: torch.Tensor, got: torch.Tensor, path: str) -> str | None:
        for name in ("dtype", "device", "shape", "requires_grad", "is_leaf", "layout", "is_quantized"):
            if getattr(want, name) != getattr(got, name):
                return f"{path}.{name}: {getattr(want, name)} and {getattr(got, name)}"
        if want.is_inference() != got.is_inference():
            return f"{path}.is_inference(): {want.is_inference()} and {got.is_inference()}"
        if want.device.type == "meta":
            return None
        if want.layout is not torch.strided or want.is_quantized or want.is_nested:
            dense = [one.dequantize() if one.is_quantized else one.to_dense() for one in (want, got)]
            return self.items(dense[:1], dense[1:], path + ".dense")
        if self.steps(want) != self.steps(got):
            return f"{path}.stride: {want.stride()} and {got.stride()}"
        if not self.values(want, got):
            return f"{path}: {want} and {got}"
        # Arrays of NumPy and tensors share memory in storages of their own.
        storages = (want.untyped_storage(), got.untyped_storage())
        mine, theirs = (one.data_ptr() or one._cdata for one in storages)
        is_shared = (
            self.partner.setdefault(mine, theirs) != theirs or self.taken.setdefault(theirs, mine) != mine
        )
        if is_shared and self.has_memory(want):
            return f"{path}: one shares its storage with another tensor, one does not"
        self.alive += [want.untyped_storage(), got.untyped_storage()]
        if want.is_leaf:
            return self.items([want.grad, vars(want)], [got.grad, vars(got)], path + ".grad/attributes")
        return self.items([vars(want)], [vars(got)], path + ".attributes")

    def steps(self, tensor: torch.Tensor) -> list[int]:
        """Return the strides that count."""
        return list(tensor.stride())

    def values(self, want: torch.Tensor, got: torch.Tensor) -> bool:
        """Tell whether two tensors of one shape hold the same numbers."""
        if self.is_rounded:
            return torch.allclose(want, got, rtol=1e-4, atol=1e-5, equal_nan=True)
        with torch.no_grad():
            return torch.equal(want.isnan(), got.isnan()) and torch.equal(want.nan_to_num(), got.nan_to_num())


def same_atom(want: Any, got: Any) -> bool:
    if isinstance(want, float) and math.isnan(want):
        return math.isnan(got)
    return bool(want == got) and (
        not isinstance(want, float) or math.copysign(1, want) == math.copysign(1, got)
    )


def attributes(obj: object) -> dict[str, object]:
    """Return an object's own attributes, slots included; caches of torch and of weak references left out."""
    found = dict(getattr(obj, "__dict__", {}))
    for cls in type(obj).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(obj, name) and name not in ("__dict__", "__weakref__"):
                found[name] = getattr(obj, name)
    return found


class Corpus:
    """The functions of one file: `@case(arguments...)` adds one."""

    def __init__(self) -> None:
        self.cases: list[Case] = []

    def __call__(self, *args: Any, **options: Any) -> Callable[[Any], Any]:
        """Return a decorator that adds a function with these arguments; see `Case` for the options."""

        def add(function: Any) -> Any:
            self.cases.append(Case(function, args, **options))
            return function

        return add


def with_a_changed_class(
    function: Any, owner: type, name: str, value: object, monkeypatch: pytest.MonkeyPatch, *args: Any
) -> None:
    """Assert that guards notice when an attribute of a class is another."""
    one = Case(function, args)
    captured = one.captured(args)
    assert captured.reason is None, captured.reason
    assert one.holds(captured, args)
    monkeypatch.setattr(owner, name, value)
    assert not one.holds(captured, args)
