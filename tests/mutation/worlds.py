"""Programs, and the two worlds in which each of them runs: modules, classes and arguments of their own."""

import copy
import importlib.util
import random
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import torch
from torch.utils._pytree import tree_leaves

TESTS: Final = Path(__file__).parent.parent
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass
class World:
    """A function and the arguments that it is called with; a mutation changes one of two worlds at a time.

    Attributes:
        names: the globals of the module that the function is from.
        written: names, steps and owners of globals and cells, which calls may write.
        is_native: what runs it may give gradients memory of their own where eager lets them share some.
    """

    function: Callable[..., Any]
    args: list[Any]
    kwargs: dict[str, Any]
    names: dict[str, Any]
    written: tuple[Any, ...] = ()
    is_native: bool = False

    def call(self, run: Callable[..., Any]) -> Any:
        """Call a form of the function with the arguments."""
        return run(*self.args, **self.kwargs)


@dataclass(frozen=True)
class Side:
    """One of the two modules of a program: its function stays, its arguments are made anew."""

    function: Callable[..., Any]
    arguments: Callable[[], Arguments]
    names: dict[str, Any]

    def world(self) -> World:
        """Return the function with arguments that nobody has seen."""
        torch.default_generator.manual_seed(0)
        random.seed(0)
        args, kwargs = self.arguments()
        return World(self.function, list(args), dict(kwargs), self.names)


@dataclass(frozen=True)
class Program:
    """A function that is called with arguments.

    Attributes:
        side: loads the program's module, another one each time.
        bound: how far floats may be apart in eager graphs, by rounding: NumPy's own functions round otherwise
            than those of torch, which are captured for them.
    """

    name: str
    side: Callable[[], Side]
    bound: float = 0.0

    def sides(self) -> tuple[Side, Side]:
        """Return the program twice, without an object of the user's in common."""
        return self.side(), self.side()


@dataclass(frozen=True)
class Everyday:
    """A program of this folder: a function, and what makes its arguments."""

    function: Callable[..., Any]
    make: Callable[[], tuple[Any, ...]]
    named: Callable[[], Mapping[str, Any]]


@dataclass
class Programs:
    """The programs of one file: `@program(lambda: (arguments...), name=...)` adds one."""

    found: list[Everyday] = field(default_factory=list)

    def __call__(self, make: Callable[[], tuple[Any, ...]] = tuple, named: Callable[[], Any] = dict) -> Any:
        """Return a decorator that adds a function with the arguments that `make` and `named` make."""

        def add(function: Any) -> Any:
            self.found.append(Everyday(function, make, named))
            return function

        return add


@cache
def code_of(path: Path) -> types.CodeType:
    return compile(path.read_text(encoding="utf-8"), str(path), "exec")


def loaded(path: Path) -> dict[str, Any]:
    """Return the globals of a test file's module, made anew; it is not the module that is imported.

    A file that can be run once only, as it registers operators, gives the module that is imported.
    """
    name = ".".join(path.relative_to(TESTS.parent).with_suffix("").parts)
    imported = importlib.import_module(name)
    module = types.ModuleType(name)
    module.__file__ = str(path)
    try:
        exec(code_of(path), vars(module))
    except RuntimeError:
        return vars(imported)
    return vars(module)


def semantics_side(path: Path, index: int) -> Side:
    """Return one case of a file of the semantics corpus."""
    names = loaded(path)
    case = names["case"].cases[index]
    return Side(case.function, lambda: copy.deepcopy((case.args, dict(case.kwargs))), names)


def everyday_side(path: Path, index: int) -> Side:
    """Return one program of a file of this folder."""
    names = loaded(path)
    one: Everyday = names["program"].found[index]
    return Side(one.function, lambda: (one.make(), dict(one.named())), names)


def sizes_side(index: int) -> Side:
    """Return one of the programs with a dynamic dimension."""
    names = loaded(TESTS / "dynamic" / "programs.py")
    one = names["PROGRAMS"][index]
    return Side(one.function, lambda: (one.inputs(6), {}), names)


def semantics() -> Iterator[Program]:
    """Yield the semantics corpus."""
    for path in sorted((TESTS / "semantics").glob("test_*.py")):
        module = importlib.import_module(f"tests.semantics.{path.stem}")
        for index, case in enumerate(module.case.cases):
            name = f"{path.stem.removeprefix('test_')}.{case}"
            bound = 1e-6 if case.is_rounded else 0.0
            yield Program(name, lambda path=path, index=index: semantics_side(path, index), bound)


def everyday() -> Iterator[Program]:
    """Yield the programs of this folder."""
    for path in sorted(Path(__file__).parent.glob("everyday_*.py")):
        module = importlib.import_module(f"tests.mutation.{path.stem}")
        for index, one in enumerate(module.program.found):
            name = f"{path.stem}.{one.function.__name__}"
            yield Program(name, lambda path=path, index=index: everyday_side(path, index))


def sizes() -> Iterator[Program]:
    """Yield the programs with one dynamic dimension."""
    for index, one in enumerate(importlib.import_module("tests.dynamic.programs").PROGRAMS):
        yield Program(f"sizes.{one}", lambda index=index: sizes_side(index))


@dataclass
class Call:
    """An operator's arguments as attributes of an object."""

    args: list[Any]
    kwargs: dict[str, Any]


Form = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Makes a program of an operator."""


def direct(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return a program that returns what an operator gives for its arguments."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return run(*args, **kwargs)

    return call


def held(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return a program that takes the arguments from the attributes of an object."""

    def call(held: Call) -> Any:
        return run(*held.args, **held.kwargs)

    return call


def unread(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return a program that drops what the operator gives: its errors and its writes are all that is seen."""

    def call(*args: Any, **kwargs: Any) -> torch.Tensor:
        made = torch.ones(3) * 2
        run(*args, **kwargs)
        return made + 1

    return call


def operator_side(name: str, index: int, form: Form) -> Side:
    """Return a program of an operator with the arguments of a sample."""
    run = importlib.import_module("tests.operators.test_samples").OPERATORS[name].op
    args, kwargs = samples(name)[index]

    def arguments() -> Arguments:
        mine, named = copied((args, kwargs))
        return ((Call(list(mine), named),), {}) if form is held else (mine, named)

    return Side(form(run), arguments, globals())


@cache
def samples(name: str) -> list[Arguments]:
    """Return some of the arguments that torch tries an operator with; first those with numbers or strings."""
    found = list(importlib.import_module("tests.operators.test_samples").samples(name, 6))
    return sorted(found, key=lambda one: -len(plain_leaves(one)))[:2]


def plain_leaves(arguments: Arguments) -> list[Any]:
    return [one for one in tree_leaves(arguments) if isinstance(one, bool | int | float | complex | str)]


def copied(arguments: Arguments) -> Arguments:
    """Return arguments with memory of their own; what requires gradients is a leaf."""
    known: dict[int, Any] = {}
    for leaf in tree_leaves(arguments):
        if isinstance(leaf, torch.Tensor):
            known[id(leaf)] = leaf.detach().clone().requires_grad_(leaf.requires_grad)
    return copy.deepcopy(arguments, known)


BY_MEMORY: Final = {"linalg.lstsq": 1e-5}
"""Operators whose library rounds by where the memory of its matrices lies, and how far results are apart:
3,000 equal calls of eager gave five results, on a processor without AVX-512."""


def programs_of_operators(corpus: str, forms: Mapping[str, tuple[int, Form]]) -> Iterator[Program]:
    """Yield torch's operators, in each form with the sample of that number or with the last."""
    for name in importlib.import_module("tests.operators.test_samples").OPERATORS:
        if name == "lu_unpack":  # eager itself reads past the end of empty pivots
            continue
        if "empty" in name:
            continue
        for label, (index, form) in forms.items():

            def side(name: str = name, index: int = index, form: Form = form) -> Side:
                return operator_side(name, min(index, len(samples(name)) - 1), form)

            yield Program(f"{corpus}.{name}.{label}", side, BY_MEMORY.get(name, 0.0))


def operators() -> Iterator[Program]:
    """Yield torch's operators with the samples that hold most numbers and strings."""
    return programs_of_operators("operators", {"0": (0, direct), "1": (1, direct), "held": (0, held)})


def unread_operators() -> Iterator[Program]:
    """Yield torch's operators whose results nobody reads: those that raise for nothing may be dropped."""
    return programs_of_operators("unread", {"0": (0, unread), "1": (1, unread)})


CORPORA: Final[Mapping[str, Callable[[], Iterator[Program]]]] = {
    "everyday": everyday,
    "semantics": semantics,
    "sizes": sizes,
    "operators": operators,
    "unread": unread_operators,
}


def programs(corpora: tuple[str, ...] = ()) -> Iterator[Program]:
    """Yield the programs of these corpora, of all where none is named."""
    for name in corpora or CORPORA:
        yield from CORPORA[name]()
