"""Runs a random program eager and compiled, and says where they differ."""

import contextlib
import gc
import io
import itertools
import linecache
import os
import random
import re
import resource
import tempfile
import traceback
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from torch.utils.hooks import RemovableHandle

import supple
from supple.base.config import config
from tests.fuzz import setting
from tests.fuzz.calling import ADDRESS
from tests.fuzz.comparing import MODULE, Twins
from tests.fuzz.settled import alone, asked, in_vectors, litter, named_otherwise, shaken
from tests.modes import modes_now, set_modes

LATE: Final = (
    "refer to a single memory location",
    "Inplace update to inference tensor",
    "is a view and is being modified inplace",
    "A view was created in",
    "a leaf Variable that requires grad is being used in an in-place operation",
    "Can't detach views in-place",
    "a saved tensor that has been detached in-place",
    "A different number of tensors was saved during the original forward and recomputation",
)
"""What only the run of a graph that writes to tensors finds out: effects before it are not replayed then.
The fifth is raised for views too, as long as nobody, guards included, has asked for their `grad_fn`. Views
that a graph has made may be detached and written to, and backward has a text of its own for tensors written
since (docs/training.md). The last is what a checkpoint says of arguments that were detached since: a graph
computes again from what it kept."""

KEPT: Final = "modified by an inplace operation"
"""What backward says of a tensor that it needs: compiled code may need less than eager (docs/training.md)."""

UNDEFINED: Final = "Trying to resize storage that is not resizable"
"""It leaves a tensor with sizes larger than its memory: nothing can be compared from there on."""

TOO_LARGE: Final = ("can't allocate memory", "std::bad_alloc")
ROOM: Final = 1 << 30
"""Bytes that a call may add in eager, half of what it may compiled: a random size is up to 2 ** 63."""


RUNNING: Final = Path(tempfile.gettempdir()) / f"supple-fuzz-{os.getpid()}.py"
"""Holds the program that runs, and is left where one ends the process."""

_NUMBERS: Final = itertools.count()


@dataclass(frozen=True)
class Difference:
    """Where a compiled program first differs from the eager one.

    Attributes:
        signature: what differs, without what depends on the program.
        is_by_little: a floating-point number differs, by an amount to which rounding errors may grow.
        is_at_edge: one is a number where the other is none, as on the other side of the end of a function,
            or has the other sign, as of what takes it from a NaN.
    """

    text: str
    signature: str
    is_by_little: bool = False
    is_at_edge: bool = False

    def __str__(self) -> str:
        return f"{self.signature}\n{self.text}"


@dataclass(frozen=True)
class Outcome:
    """What a call did: all of what it changed and returned, and the exception, if any, with its traceback."""

    seen: tuple[Any, ...]
    error: Exception | None
    traced: traceback.TracebackException | None

    def has(self, text: str) -> bool:
        """Tell whether the exception says this."""
        return self.error is not None and text in str(self.error)

    def trace(self) -> str:
        """Return the traceback of the exception."""
        return "" if self.traced is None else "".join(self.traced.format())

    def place(self) -> str:
        """Return what was raised, and which function of the compiler raised it, if one did."""
        if self.traced is None:
            return "returned"
        last = self.traced.stack[-1]
        inside = f" in {last.name} of {last.filename.rpartition('supple/')[2]}"
        return f"{type(self.error).__name__}{inside if '/supple/' in last.filename else ''}"


@dataclass(frozen=True)
class Verdict:
    """What came of a program.

    Attributes:
        difference: from eager, if there is one.
        graphs: how many graphs with operations ran.
        refused: how many of them native code did not take.
    """

    difference: Difference | None
    graphs: int
    refused: int


STEPS = 100_000
"""Instructions of one call at which a compilation breaks: a list that doubles in each turn takes minutes."""


class Endless(BaseException):
    """A program, or its compilation, takes too long."""


def difference(source: str, backend: str = "eager", **options: Any) -> Difference | None:
    """Return where the calls of a program first differ from eager's, None when they do not; see `verdict`."""
    return verdict(source, backend, **options).difference


def verdict(source: str, backend: str = "eager", **options: Any) -> Verdict:
    """Return where the calls of a program first differ from eager's, and how much of it was compiled.

    Kernels run between guard pages: one that leaves its memory ends the process.

    Args:
        options: of `supple.compile`; `break_at` among them.
    """
    options = {"check": "memory", "step_limit": STEPS, **options}
    with (
        written(f"# {backend}, {options}\n{source}"),
        loaded(source) as (eager, compiled),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        run = supple.compile(
            compiled["program"], backend=backend, dynamic=options.pop("dynamic", None), options=options
        )
        found = first_difference(eager, compiled, run, backend, is_collected="gc.collect" in source)
        stats = supple.stats()
        if found is not None and not is_settled(source, backend, found):
            found = None
        graphs, refused = stats["graphs"] if stats["ops"] else 0, stats["refusals"]
        assert isinstance(graphs, int), graphs
        assert isinstance(refused, list), refused
        return Verdict(found, graphs, len(refused))


def is_settled(source: str, backend: str, found: Difference) -> bool:
    """Tell whether two runs of eager agree where compiled code was found to differ.

    They do not where a sum of rounding errors is the result, which differs by little, nor where a set is
    iterated whose members have their addresses for hashes, nor where eager's vectors and scalar code differ,
    nor where the name of a node in autograd's graph is part of a text that the program looks into, nor where
    it depends on who asked views before what eager says of them.
    """
    seeds = range(5 + 6 * found.is_at_edge)
    for seed in seeds:
        with loaded(source) as (one, other):
            is_shaken = (found.is_by_little and seed < 2) or (found.is_at_edge and seed < 8)
            run = shaken(other["program"], seed) if is_shaken else other["program"]
            ways = dict(zip(reversed(seeds), (alone, in_vectors, named_otherwise, asked), strict=False))
            run = ways[seed](run) if seed in ways else run
            kept = litter(seed)
            again = first_difference(one, other, run, backend)
            del kept
        is_same = again is not None and again.signature == found.signature
        if is_same and (again.is_at_edge or not found.is_at_edge):
            return False
    return True


@contextlib.contextmanager
def written(source: str) -> Iterator[None]:
    """Keep a program in `RUNNING` while it runs."""
    RUNNING.write_text(source)
    try:
        yield
    finally:
        RUNNING.unlink(missing_ok=True)


def first_difference(
    eager: dict[str, Any],
    compiled: dict[str, Any],
    run: Callable[..., Any],
    backend: str,
    *,
    is_collected: bool = False,
) -> Difference | None:
    """Return where the calls of two modules of a program first differ.

    Args:
        is_collected: collect what the outcomes of a call held before the next one, which may do so itself.
    """
    try:
        for name in [name for name in eager if name.startswith("arguments_")]:
            found = difference_of_call(name, eager, compiled, run, backend)
            if found is not None:
                return found
            if is_collected:
                gc.collect()
    except Undefined:  # no program to compare with
        pass
    return None


class Undefined(Exception):
    """What eager does is not defined."""


def difference_of_call(
    name: str, eager: dict[str, Any], compiled: dict[str, Any], run: Callable[..., Any], backend: str
) -> Difference | None:
    """Return where one call of two modules of a program differs.

    Raises:
        Undefined: eager's call does not end, or is not defined.
    """
    try:
        with limited_memory(ROOM):
            want = outcome(eager["program"], eager, name)
    except (Endless, MemoryError):  # memory may be too full to keep what it raised
        raise Undefined from None
    if isinstance(want.error, MemoryError) or any(map(want.has, (*LATE, UNDEFINED, *TOO_LARGE))):
        raise Undefined
    with limited_memory(2 * ROOM):
        got = outcome(run, compiled, name)
    is_rounded = backend == "native" or "is_rounded" in eager
    comparison = Twins(is_rounded and not eager.get("is_exact"))
    for what, one, other in zip(PARTS, want.seen, got.seen, strict=True):
        found = comparison.difference(one, other, what)
        if found is not None and any(text in str(found) for text in TOO_LARGE):
            raise Undefined  # the program caught what eager raised
        if found is not None and want.has(KEPT) and not got.has(KEPT):
            raise Undefined
        if found is not None:
            text = f"call {name}: {found}\neager {want.trace()}\ncompiled {got.trace()}"
            same = want.place() == got.place()
            kind = re.sub(r"\d+", "", found.partition(":")[0]) + " aliasing" * ("aliasing" in found)
            signature = kind if same else f"{want.place()} -> {got.place()}"
            return Difference(text, signature, comparison.is_by_little, comparison.is_at_edge)
    return None


@contextlib.contextmanager
def limited_memory(room: int) -> Iterator[None]:
    """Let this process add no more than so many bytes to its addresses in the block; Linux only.

    A program that asks for more gets an error, where it would end the process, or others of this machine.
    """
    status = Path("/proc/self/statm")
    if not status.exists():
        yield
        return
    used = int(status.read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = used + room if soft == resource.RLIM_INFINITY else min(soft, used + room)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


USUAL: Final = modes_now()
"""The modes in which each call begins."""
PARTS: Final = ("result", "prints", "arguments", "globals", "modes", "seed", "random")


@contextlib.contextmanager
def loaded(source: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Give the globals of two modules of a program; errors of the compiler are not suppressed meanwhile."""
    name, torchs = f"<program {hash(source)}>", dict(vars(torch))
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    try:
        with config.patch(suppress_errors=False), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = compile(source, name, "exec")
            gc.disable()  # what an exception holds in a circle says its last words in none of the calls,
            module = f"{MODULE}{next(_NUMBERS)}"
            yield namespace(code, module), namespace(code, module)
    finally:
        for changed, value in torchs.items():
            if vars(torch).get(changed) is not value:
                setattr(torch, changed, value)
        supple.reset()
        gc.enable()
        gc.collect()  # but now, not in a later program
        set_modes(USUAL)  # a generator that ends leaves its blocks
        linecache.cache.pop(name, None)


def namespace(code: Any, module: str) -> dict[str, Any]:
    """Return the globals of a program's module; names of modules are new, as classes are known by them."""
    names = {"__name__": module, **{name: getattr(setting, name) for name in setting.__all__}}
    exec(code, names)
    return names


def outcome(run: Callable[..., Any], names: Mapping[str, Any], arguments: str) -> Outcome:
    """Return what a call does; random numbers, modes and numbers of hooks are the same for each."""
    args = result = error = traced = None
    text = io.StringIO()
    torch.manual_seed(0)
    random.seed(0)
    set_modes(USUAL)  # a generator of a call before may have ended since
    RemovableHandle.next_id = 0
    with contextlib.redirect_stdout(text):
        try:
            args = names[arguments]()
            way = names.get(arguments.replace("arguments", "call"))
            result = ("returned", run(*args) if way is None else way(run, *args))
        except Exception as raised:  # what a program raises is compared
            result, error = ("raised", chain(raised)), raised
            traced = traceback.TracebackException.from_exception(raised)
            let_go(raised)
    modes = modes_now()
    set_modes(USUAL)
    kept = {name: value for name, value in names.items() if is_kept(name, value)}
    state = torch.get_rng_state(), random.getstate()
    return Outcome((result, nameless(text.getvalue()), args, kept, modes, *state), error, traced)


def let_go(error: BaseException | None) -> None:
    """Empty and drop the frames of tracebacks: those of compiled code hold other objects and cells."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        traceback.clear_frames(error.__traceback__)
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def is_kept(name: str, value: object) -> bool:
    """Tell whether a global is data of the program, which it may write."""
    return not name.startswith("_") and not isinstance(value, type | types.FunctionType | types.ModuleType)


def nameless(text: str) -> str:
    """Return a text without the addresses of objects and the names of autograd's nodes; see also `chain`."""
    text = re.sub(r"grad_fn=<\w+>", "grad_fn", text.replace("UnboundLocalError", "NameError"))
    text = re.sub(r", which is output \d+ of \w+,", "", text)
    return re.sub("0x[0-9a-f]+", "0x", text)


def chain(error: BaseException | None) -> list[Any]:
    """Return what is seen of an exception, and of those that it was raised from or while they were handled.

    Behind a break a variable in a cell is one of an enclosing function: the error that it is unbound says so.
    """
    found: list[Any] = []
    while error is not None and len(found) < 20:
        is_cause = error.__cause__ is error.__context__
        kind, text = type(error), re.sub(ADDRESS, "0x", nameless(str(error)))
        if isinstance(error, NameError):
            kind, text = NameError, text.split("'")[1]
        found.append((kind, text, error.__suppress_context__, is_cause))
        error = error.__context__
    return found
