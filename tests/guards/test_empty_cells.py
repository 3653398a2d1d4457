"""Variables of enclosing functions that are not bound yet, or no longer."""

from collections.abc import Callable
from typing import Any, Final

import pytest
import torch

import supple

Program = Callable[[torch.Tensor], torch.Tensor]


def variable() -> tuple[dict[str, Program], Callable[[float], None], Callable[[], None]]:
    """Return programs that look at a variable without a value, what binds it and what unbinds it."""
    value: float = 0

    def read(x: torch.Tensor) -> torch.Tensor:
        try:
            return x * value
        except NameError:
            return x

    def nested(x: torch.Tensor) -> torch.Tensor:
        return (lambda: read(x))() + 1

    def contents(x: torch.Tensor) -> torch.Tensor:
        cell: Any = (get.__closure__ or ())[0]
        try:
            return x * cell.cell_contents
        except ValueError:
            return x

    def written(x: torch.Tensor) -> torch.Tensor:
        nonlocal value
        before = read(x)
        value = 7
        return before

    def deleted(x: torch.Tensor) -> torch.Tensor:
        nonlocal value
        try:
            del value
        except NameError:
            return x
        return x + 1

    def get() -> float:
        return value

    def bind(new: float) -> None:
        nonlocal value
        value = new

    def unbind() -> None:
        nonlocal value
        del value

    unbind()
    programs = {one.__name__: one for one in (read, nested, contents, written, deleted)}
    return programs, bind, unbind


NAMES: Final = ("read", "nested", "contents", "written", "deleted")


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("name", NAMES)
def test_variables_are_bound_and_unbound_between_calls(name: str, backend: str) -> None:
    x = torch.ones(2)
    found: list[list[float]] = []
    for wrapped in (lambda program: program, lambda program: supple.compile(program, backend=backend)):
        programs, bind, unbind = variable()
        program = wrapped(programs[name])
        results = [program(x)]
        bind(5)
        results.append(program(x))
        bind(6)
        results.append(program(x))
        bind(7)
        unbind()
        results += [program(x), program(x)]
        found.append([float(one[0]) for one in results])
    assert found[1] == found[0]


class Base:
    def name(self) -> str:
        return "base"


class Derived(Base):
    def name(self) -> str:
        try:
            return super().name()
        except (RuntimeError, NameError) as error:  # Python 3.12 loads the class before it calls super
            return str(error)


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_super_says_that_its_class_is_unbound(backend: str) -> None:
    cell: Any = (Derived.name.__closure__ or ())[0]
    compiled = supple.compile(lambda x: (Derived().name(), x + 1), backend=backend)
    found = [compiled(torch.ones(1))[0]]
    del cell.cell_contents
    try:
        want = Derived().name()
        found.append(compiled(torch.ones(1))[0])
    finally:
        cell.cell_contents = Derived
    assert found == ["base", want] != ["base", "base"]
