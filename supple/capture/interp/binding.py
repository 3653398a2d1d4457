"""Arguments to parameters, as CPython binds them."""

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from supple.capture.values.base import LazyValue, Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.function import FunctionValue
from supple.capture.values.mapping import DictValue
from supple.capture.values.sequence import new_tuple

if TYPE_CHECKING:
    from supple.capture.interp.engine import Engine


def bind(
    engine: "Engine", function: FunctionValue, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> dict[str, Value]:
    """Return the locals with which the function starts.

    Raises:
        Raised: TypeError in the program when the arguments do not fit.
    """
    code = function.code
    positional = code.co_varnames[: code.co_argcount]
    keyword_only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    bound: dict[str, Value] = dict(zip(positional, args, strict=False))
    rest = len(positional) + len(keyword_only)
    if code.co_flags & inspect.CO_VARARGS:
        bound[code.co_varnames[rest]] = new_tuple(args[len(positional) :])
        rest += 1
    elif len(args) > len(positional):
        msg = f"{code.co_name}() takes {len(positional)} positional arguments but {len(args)} were given"
        engine.throw(TypeError, msg)
    extra = DictValue()
    takes_extra = bool(code.co_flags & inspect.CO_VARKEYWORDS)
    by_name = {*positional[code.co_posonlyargcount :], *keyword_only}
    for name, value in kwargs.items():
        if name in by_name:
            if name in bound:
                engine.throw(TypeError, f"{code.co_name}() got multiple values for argument {name!r}")
            bound[name] = value
        elif takes_extra:
            extra.items[name] = (ConstantValue(name), value)
        else:
            engine.throw(TypeError, f"{code.co_name}() got an unexpected keyword argument {name!r}")
    if takes_extra:
        bound[code.co_varnames[rest]] = extra
    _fill_defaults(engine, function, positional, keyword_only, bound)
    return bound


def _fill_defaults(
    engine: "Engine",
    function: FunctionValue,
    positional: Sequence[str],
    keyword_only: Sequence[str],
    bound: dict[str, Value],
) -> None:
    first = len(positional) - len(function.defaults)
    for index, name in enumerate(positional):
        if name not in bound:
            if index < first:
                engine.throw(TypeError, f"{function.code.co_name}() missing required argument: {name!r}")
            bound[name] = _forced(engine, function.defaults[index - first])
    for name in keyword_only:
        if name not in bound:
            default = function.kwdefaults.get(name)
            if default is None:
                engine.throw(TypeError, f"{function.code.co_name}() missing keyword argument: {name!r}")
            bound[name] = _forced(engine, default)


def _forced(engine: "Engine", value: Value) -> Value:
    return value.force(engine) if isinstance(value, LazyValue) else value
