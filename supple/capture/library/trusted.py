"""Functions about which the program makes a promise: nodes as they are, constant results, polyfills."""

import inspect
import re
from collections.abc import Callable

from supple.capture import breaks
from supple.capture.guards.kinds import Identity, Kind
from supple.capture.library.calls import call_rule, name_of, plain_value
from supple.capture.library.folding import is_hashable
from supple.capture.library.table import Args, Call, Kwargs, call, replace
from supple.capture.machine import Machine
from supple.capture.source import pinned
from supple.capture.values.base import NotConstant, Value
from supple.capture.values.constant import LITERALS, fold_raw
from supple.capture.values.instance import InstanceValue
from supple.capture.values.tensor import emit
from supple.ir.ops import function_op
from supple.torch_private import no_torch_dispatch, promises_to_torch

Function = Callable[..., object]


def rule_of(function: object) -> Call | None:
    """Return the rule or polyfill of a callable, what torch.compiler was told about it included."""
    found = call_rule(function)
    if found is not None or not callable(function) or not is_hashable(function):
        return found
    in_graphs, is_constant, polyfill = promises_to_torch(function)
    if in_graphs:
        return in_graph(function)
    if polyfill is not None:
        return lambda machine, args, kwargs: machine.call(machine.wrap(polyfill, None), args, kwargs)
    return constant(function) if is_constant else None


def promised(function: Function, rule: Callable[[Function], Call]) -> None:
    """Make `rule(function)` the rule of a function that has none, for the rest of the process."""
    if call.find(function) is None:
        call.on(function)(rule(function))


def in_graph(function: Function) -> Call:
    """Return the rule of a function that becomes one node, whatever it is made of."""
    name = re.sub(r"[^\w.]+", "_", name_of(function))
    op = function_op(name, function, is_pure=False)
    if op.call is not function:
        op = function_op(f"{name}_{id(function)}", function, is_pure=False)
    return lambda machine, args, kwargs: emit(machine, op, args, kwargs)


def constant(function: Function) -> Call:
    """Return the rule of a function whose result, while capture runs, is its result for ever."""

    def rule(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        try:
            plain = [_object(machine, value) for value in args]
            named = {name: _object(machine, value) for name, value in kwargs.items()}
        except NotConstant:
            machine.unsupported(breaks.NOT_CONSTANT, op=name_of(function))
        with no_torch_dispatch():  # its tensors are no fakes
            found = fold_raw(machine, function, *plain, **named)
        return machine.wrap(found, None if type(found) in LITERALS else pinned(f"C[{id(found):x}]", found))

    return rule


def _object(machine: Machine, value: Value) -> object:
    """Return the object of a constant, or an existing object that capture has not changed."""
    if isinstance(value, InstanceValue) and value.obj is not None and not value.written:
        machine.guard(value.source, Kind.ID, Identity(id(value.obj), repr(type(value.obj))))
        return value.obj
    return plain_value(value)


def substitute(original: Function, made: Function) -> None:
    """Make `made` the polyfill of a callable.

    Raises:
        ValueError: it has a rule or a polyfill.
    """
    if call_rule(original) is not None:
        raise ValueError(f"{name_of(original)} has a rule already")
    replace(original)(made)


def same_parameters(original: Function, made: Function) -> bool:
    """Tell whether two callables take the same arguments, as far as their signatures can be read."""
    try:
        signatures = inspect.signature(original), inspect.signature(made)
    except ValueError:
        return True
    found = [
        [
            (p.kind, p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) or (p.name, p.default))
            for p in s.parameters.values()
        ]
        for s in signatures
    ]
    takes_all = [(inspect.Parameter.VAR_POSITIONAL, True), (inspect.Parameter.VAR_KEYWORD, True)]
    return found[0] == found[1] or takes_all in found
