"""The programs whose environment is changed: everyday ones, the semantics corpus, samples of operators."""

import importlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from tests.mutation import everyday
from tests.semantics.harness import Case, Corpus

FAMILIES: Final = ("everyday", "semantics", "operators")
SEMANTICS: Final = Path(__file__).parents[1] / "semantics"


def programs(family: str | None = None) -> Iterator[tuple[str, Case]]:
    """Yield the programs of a family, or of all, with their names."""
    if family in (None, "everyday"):
        yield from ((f"everyday.{case}", case) for case in everyday.case.cases)
    if family in (None, "semantics"):
        yield from of_the_semantics_corpus()
    if family in (None, "operators"):
        yield from of_operators()


def of_the_semantics_corpus() -> Iterator[tuple[str, Case]]:
    """Yield the functions of the corpus that are captured, or break."""
    for path in sorted(SEMANTICS.glob("test_*.py")):
        module = importlib.import_module(f"tests.semantics.{path.stem}")
        corpora = [value for value in vars(module).values() if isinstance(value, Corpus)]
        for case in (case for corpus in corpora for case in corpus.cases):
            if inspect.isfunction(case.function) and not inspect.isgeneratorfunction(case.function):
                yield f"{path.stem}.{case}", case


def of_operators() -> Iterator[tuple[str, Case]]:
    """Yield torch's samples of operators that take a number, a text or a truth besides tensors."""
    from tests.operators import test_samples  # noqa: PLC0415  # loads torch's descriptions: some seconds

    for name, operator in test_samples.OPERATORS.items():
        if "empty" in name or name.startswith("unsafe"):  # fresh memory holds anything; views that are hidden
            continue
        for place, (args, kwargs) in enumerate(test_samples.samples(name, 4)):
            if any(
                isinstance(one, bool | int | float | str | tuple | list)
                for one in (*args[1:], *kwargs.values())
            ):
                program = called(operator.op, f"{name}_{place}")
                yield f"operators.{name}_{place}", Case(program, args, kwargs=kwargs, is_rounded=True)


def called(operator: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function that calls an operator."""

    def program(*args: Any, **kwargs: Any) -> Any:
        return operator(*args, **kwargs)

    program.__name__ = name
    return program
