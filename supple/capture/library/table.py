"""The call table: a callable -> what a call of it does on values. Filled beside what the rules are about."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from supple.base.rules import Rules
from supple.capture.machine import Machine
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue

Args = Sequence[Value]
Kwargs = Mapping[str, Value]
Call = Callable[[Machine, Args, Kwargs], Value]
NONE: Final = ConstantValue(None)

call: Final[Rules[Call]] = Rules("call")
"""Functions, builtins and method descriptors, by object."""

make: Final[Rules[Call]] = Rules("make")
"""Classes whose construction has a rule, by class."""

transparent: Final[set[object]] = set()
"""Python functions whose rules give what another function of the program gives, unchanged."""

polyfill: Final[dict[object, Callable[..., object]]] = {}
"""Callables replaced by plain Python functions."""


def effect(act: Callable[[Machine, Args, Kwargs], object]) -> Call:
    """Return the rule of a callable that does something and returns None."""

    def rule(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        act(machine, args, kwargs)
        return NONE

    return rule


def replace(*originals: object) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Return a decorator that makes a plain Python function the polyfill of `originals`."""

    def register(function: Callable[..., object]) -> Callable[..., object]:
        for original in originals:
            assert original not in polyfill, f"two polyfills for {original}"
            polyfill[original] = function
        return function

    return register
