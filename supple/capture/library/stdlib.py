"""Standard library callables with state or in C: contextvars, functools, itertools, logging, warnings."""

# The methods of generic builtin classes, as keys of tables, have open element types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import contextvars
import functools
import itertools
import operator
import sys
from collections.abc import Mapping, Sequence

from supple.capture.library import operators, polyfills
from supple.capture.library.table import call, make, polyfill
from supple.capture.machine import Machine
from supple.capture.values.base import Value
from supple.capture.values.callables import PartialValue
from supple.capture.values.constant import ConstantValue
from supple.capture.values.mapping import DictValue
from supple.capture.values.sequence import new_tuple

Args = Sequence[Value]
Kwargs = Mapping[str, Value]
_NONE = ConstantValue(None)

polyfill.update(
    {
        functools.reduce: polyfills.reduce_,
        itertools.chain: polyfills.chain_,
        itertools.repeat: polyfills.repeat_,
        itertools.islice: polyfills.islice_,
        itertools.accumulate: polyfills.accumulate_,
        itertools.product: polyfills.product_,
        itertools.chain.from_iterable: polyfills.chain_from,
        itertools.starmap: polyfills.starmap_,
        itertools.count: polyfills.count_,
        itertools.cycle: polyfills.cycle_,
        itertools.takewhile: polyfills.takewhile_,
        itertools.dropwhile: polyfills.dropwhile_,
        itertools.filterfalse: polyfills.filterfalse_,
        itertools.zip_longest: polyfills.zip_longest_,
        itertools.pairwise: polyfills.pairwise_,
        itertools.groupby: polyfills.groupby_,
        itertools.combinations: polyfills.combinations_,
        itertools.permutations: polyfills.permutations_,
        operator.itemgetter: polyfills.itemgetter_,
        operator.attrgetter: polyfills.attrgetter_,
        operator.methodcaller: polyfills.methodcaller_,
        functools.cached_property.__get__: polyfills.cached_property_get,
    }
)


def _operator_rule(symbol: str) -> object:
    def rule(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        return operators.binary(machine, symbol, args[0], args[1])

    return rule


def _compare_rule(symbol: str) -> object:
    def rule(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        return operators.compare(machine, symbol, args[0], args[1])

    return rule


def _unary_rule(symbol: str) -> object:
    def rule(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        return operators.unary(machine, symbol, args[0])

    return rule


for _symbol, _row in operators.BINARY.items():
    call.on(_row[0])(_operator_rule(_symbol))  # pyright: ignore[reportArgumentType]  # a rule
for _symbol, _function in operators.IN_PLACE.items():
    call.on(_function)(_operator_rule(_symbol + "="))  # pyright: ignore[reportArgumentType]  # a rule
for _symbol, _comparison in operators.COMPARISONS.items():
    call.on(_comparison[0])(_compare_rule(_symbol))  # pyright: ignore[reportArgumentType]  # a rule
for _symbol, _function in operators.UNARY.items():
    call.on(_function)(_unary_rule(_symbol))  # pyright: ignore[reportArgumentType]  # a rule


@call.on(operator.getitem)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """operator.getitem."""
    return args[0].get_item(machine, args[1])


@call.on(operator.is_)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """operator.is_."""
    return ConstantValue(machine.is_same(args[0], args[1]))


@call.on(operator.is_not)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """operator.is_not."""
    return ConstantValue(not machine.is_same(args[0], args[1]))


@call.on(operator.truth)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """operator.truth."""
    return ConstantValue(args[0].truth(machine))


@call.on(operator.not_)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """operator.not_."""
    return ConstantValue(not args[0].truth(machine))


@call.on(operator.contains)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """operator.contains."""
    return args[0].contains(machine, args[1])


@call.on(operator.setitem)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """operator.setitem."""
    args[0].set_item(machine, args[1], args[2])
    return _NONE


@call.on(operator.delitem)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """operator.delitem."""
    args[0].delete_item(machine, args[1])
    return _NONE


@call.on(contextvars.ContextVar.get)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """ContextVar.get: the value set during capture, else the one of this call, guarded."""
    return machine.read_context_variable(args[0], args[1:])


@call.on(contextvars.ContextVar.set)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """ContextVar.set: noted, and replayed if it is not reset; gives a token with the old value."""
    return machine.write_context_variable(args[0], args[1])


@call.on(contextvars.ContextVar.reset)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """ContextVar.reset(token)."""
    machine.reset_context_variable(args[0], args[1])
    return _NONE


@make.on(functools.partial)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """functools.partial(...)."""
    return PartialValue(args[0], args[1:], kwargs)


@call.on(functools.partial.__call__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """An existing partial, called."""
    whole = args[0]
    function = whole.get_attr(machine, "func")
    first = machine.call(machine.wrap(list, None), [whole.get_attr(machine, "args")])
    given = whole.get_attr(machine, "keywords")
    assert isinstance(given, DictValue), given.describe()
    named = {
        str(key.as_python()): value
        for key, value in zip(given.keys(machine), given.values(machine), strict=True)
    }
    values = [value for value in first.items]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]  # a list
    return machine.call(function, [*values, *args[1:]], {**named, **kwargs})


@call.on(sys.exc_info)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """sys.exc_info(): the exception being handled; capture keeps no tracebacks."""
    error = machine.handling()
    if error is None:
        return new_tuple([_NONE, _NONE, _NONE])
    return new_tuple([machine.wrap(error.python_type(), None), error, _NONE])
