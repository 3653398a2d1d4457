"""Standard library callables with state or in C: contextvars, functools, itertools, logging, warnings."""

# The methods of generic builtin classes, as keys of tables, have open element types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import contextvars
import functools
import heapq
import itertools
import operator
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, cast

from supple.capture import breaks
from supple.capture.library import comparisons, iteration, operators, polyfills
from supple.capture.library.arity import require_callable
from supple.capture.library.calls import folded
from supple.capture.library.table import NONE, Args, Call, Kwargs, call, effect, make, polyfill
from supple.capture.machine import Machine
from supple.capture.values.attributes import lookup
from supple.capture.values.base import Value, take_all
from supple.capture.values.begun import Made
from supple.capture.values.callables import GETTER_CALLS, GetterValue, PartialValue
from supple.capture.values.constant import ConstantValue, fold_raw
from supple.capture.values.generator import GeneratorValue
from supple.capture.values.mapping import DictValue
from supple.capture.values.sequence import new_list, new_tuple
from supple.capture.values.trace import Trace

polyfill.update(
    {
        functools.reduce: polyfills.reduce_,
        itertools.chain.from_iterable: iteration.chain_from,
        functools.update_wrapper: polyfills.update_wrapper_,
        functools.cmp_to_key: polyfills.cmp_to_key_,
        heapq.nlargest: polyfills.nlargest_,
        heapq.nsmallest: polyfills.nsmallest_,
        BaseException.add_note: polyfills.add_note_,
        functools.cached_property.__get__: polyfills.cached_property_get,
    }
)
_ITERTOOLS = vars(itertools)
polyfill.update({_ITERTOOLS[n[:-1]]: made for n, made in vars(iteration).items() if n[:-1] in _ITERTOOLS})


def _given_again(one: object) -> Value:
    """Return an argument of what has taken all of its items: those items, or a number."""
    return new_tuple(cast("list[Value]", one)) if isinstance(one, list) else ConstantValue(one)


def _arranging(function: Callable[..., Iterable[Sequence[Value]]]) -> Call:
    """Return the rule of an iterator that takes all items before it gives any: the real one arranges them."""

    def counted(value: Value) -> object:
        number = value.as_python()
        return int(number) if isinstance(number, int) else number

    def rule(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        is_product = function is itertools.product
        given = [
            take_all(machine, one) if place == 0 or is_product else counted(one)
            for place, one in enumerate(args)
        ]
        named = {
            name: take_all(machine, one) if name == "iterable" else counted(one)
            for name, one in kwargs.items()
        }
        rows = fold_raw(machine, function, *given, **named)
        arranged = new_list([new_tuple(row) for row in cast("Iterable[Sequence[Value]]", rows)])
        found = machine.call_python(iteration.arranged, arranged, ConstantValue(function))
        assert isinstance(found, GeneratorValue), found.describe()
        found.over = Made([*map(_given_again, given)], {n: _given_again(one) for n, one in named.items()})
        return found

    return rule


for _arrange in (
    *(itertools.product, itertools.combinations, itertools.permutations),
    itertools.combinations_with_replacement,
):
    call.on(_arrange)(_arranging(_arrange))


def _applying(apply: Callable[..., Value], symbol: str) -> Call:
    return lambda machine, args, kwargs: apply(machine, symbol, *args)


for _symbol, _row in operators.BINARY.items():
    call.on(_row[0])(_applying(operators.binary, _symbol))
for _symbol, _function in operators.IN_PLACE.items():
    call.on(_function)(_applying(operators.binary, _symbol + "="))
for _symbol, _comparison in comparisons.COMPARISONS.items():
    call.on(_comparison[0])(_applying(comparisons.compare, _symbol))
for _symbol, _function in operators.UNARY.items():
    call.on(_function)(_applying(operators.unary, _symbol))

call.on(operator.getitem)(lambda machine, args, _: args[0].get_item(machine, args[1]))
call.on(operator.setitem)(effect(lambda machine, args, _: args[0].set_item(machine, args[1], args[2])))
call.on(operator.delitem)(effect(lambda machine, args, _: args[0].delete_item(machine, args[1])))
call.on(operator.contains)(lambda machine, args, _: args[0].contains(machine, args[1]))
call.on(operator.is_)(lambda machine, args, _: ConstantValue(machine.is_same(args[0], args[1])))
call.on(operator.is_not)(lambda machine, args, _: ConstantValue(not machine.is_same(args[0], args[1])))
call.on(operator.truth)(lambda machine, args, _: ConstantValue(args[0].truth(machine)))
call.on(operator.not_)(lambda machine, args, _: ConstantValue(not args[0].truth(machine)))

# What is set during capture is noted, and replayed if it is not reset.
_Variable = contextvars.ContextVar
call.on(_Variable.get)(lambda machine, args, _: machine.read_context_variable(args[0], args[1:]))
call.on(_Variable.set)(lambda machine, args, _: machine.write_context_variable(args[0], args[1]))
call.on(_Variable.reset)(effect(lambda machine, args, _: machine.reset_context_variable(args[0], args[1])))


@make.on(functools.partial)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """functools.partial(f, ...): of a partial object without attributes, more of the same function."""
    require_callable(machine, args[0], "the first argument must be callable")
    whole = args[0]
    if _is_flattened(whole.python_type()) and not whole.get_attr(machine, "__dict__").truth(machine):
        function, first, named = _parts(machine, whole)
        return PartialValue(function, [*first, *args[1:]], {**named, **kwargs})
    return PartialValue(whole, args[1:], kwargs)


def _is_flattened(kind: type[object]) -> bool:
    """Tell whether a partial object of such a one has its function: a subclass may have a call of its own."""
    if functools.partial not in kind.__mro__:
        return False
    return _FLATTENS_ALL or lookup(kind, "__call__") is functools.partial.__dict__["__call__"]


class _Called(functools.partial[object]):
    def __call__(self) -> object:
        """Differ from the class above."""


_FLATTENS_ALL: Final = not isinstance(functools.partial(_Called(len)).func, _Called)
"""Whether this version of Python does so whatever the call."""


def _getter(kind: type, machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """operator.itemgetter(key, ...) and its like: what is asked for by name is given a text."""
    names = {operator.attrgetter: args, operator.methodcaller: args[:1]}.get(kind, ())
    is_named = all(issubclass(name.python_type(), str) for name in names)
    if not args or not is_named or (kwargs and kind is not operator.methodcaller):
        fold_raw(machine, kind, *([None] * len(args)), **dict.fromkeys(kwargs))  # which raises
    return GetterValue(kind, args, kwargs)


for _kind in GETTER_CALLS:
    make.on(_kind)(functools.partial(_getter, _kind))


@call.on(functools.partial.__call__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """An existing partial, called."""
    function, first, named = _parts(machine, args[0])
    return machine.call(function, [*first, *args[1:]], {**named, **kwargs})


def _parts(machine: Machine, whole: Value) -> tuple[Value, list[Value], dict[str, Value]]:
    """Return the function, the arguments and the keywords of a partial object."""
    if isinstance(whole, PartialValue):
        return whole.function, [*whole.args], whole.kwargs
    if lookup(whole.python_type(), "func") is not functools.partial.__dict__["func"]:
        machine.unsupported(breaks.CALL, name=whole.describe())
    given = whole.get_attr(machine, "keywords")
    assert isinstance(given, DictValue), given.describe()
    pairs = zip(given.keys(machine), given.values(machine), strict=True)
    named = {str(key.as_python()): value for key, value in pairs}
    return whole.get_attr(machine, "func"), take_all(machine, whole.get_attr(machine, "args")), named


@call.on(re.Pattern.sub)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """pattern.sub(replacement, text, count=0): the replacement may be a function."""
    found = folded(machine, re.Pattern.sub, args, kwargs)
    return found or machine.call(machine.wrap(polyfills.pattern_sub, None), args, kwargs)


@call.on(re.Pattern.finditer)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """pattern.finditer(text)."""
    plain = [value.as_python() for value in (*args, *kwargs.values())]
    matches = cast("Iterator[object]", fold_raw(machine, re.Pattern.finditer, *plain))
    return new_list([ConstantValue(match) for match in matches]).iterate(machine)


@call.on(sys.exception)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """sys.exception(): the exception being handled."""
    return machine.handling() or NONE


@call.on(sys.exc_info)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """sys.exc_info(): the exception being handled."""
    error = machine.handling()
    if error is None:
        return new_tuple([NONE, NONE, NONE])
    return new_tuple([machine.wrap(error.python_type(), None), error, Trace()])
