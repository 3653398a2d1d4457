"""Arguments to parameters, as CPython binds them."""

import inspect
import types
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from supple.capture.values.base import LazyValue, Value
from supple.capture.values.constant import ConstantValue, fold_raw
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
        _refuse(engine, function, args, kwargs)
    extra = DictValue()
    takes_extra = bool(code.co_flags & inspect.CO_VARKEYWORDS)
    by_name = {*positional[code.co_posonlyargcount :], *keyword_only}
    for name, value in kwargs.items():
        if name in by_name:
            if name in bound:
                _refuse(engine, function, args, kwargs)
            bound[name] = value
        elif takes_extra:
            extra.items[name] = (ConstantValue(name), value)
        else:
            _refuse(engine, function, args, kwargs)
    if takes_extra:
        bound[code.co_varnames[rest]] = extra
    if not _fill_defaults(engine, function, bound):
        _refuse(engine, function, args, kwargs)
    return bound


def _fill_defaults(engine: "Engine", function: FunctionValue, bound: dict[str, Value]) -> bool:
    """Bind the parameters that got no argument; tell whether all of them have a default."""
    code = function.code
    positional = code.co_varnames[: code.co_argcount]
    first = len(positional) - len(function.defaults)
    given: dict[str, Value] = dict(zip(positional[first:], function.defaults, strict=True))
    given.update(function.kwdefaults)
    for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        if name not in bound:
            if name not in given:
                return False
            value = given[name]
            bound[name] = value.force(engine) if isinstance(value, LazyValue) else value
    return True


def _refuse(
    engine: "Engine", function: FunctionValue, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> NoReturn:
    """Raise in the program what CPython raises for a function of this signature, whose body is empty."""
    empty = (lambda: None).__code__
    code = function.code.replace(
        co_flags=function.code.co_flags & (empty.co_flags | inspect.CO_VARARGS | inspect.CO_VARKEYWORDS),
        co_code=empty.co_code,
        co_consts=(None,),
        co_cellvars=(),
        co_freevars=(),
        co_exceptiontable=b"",
        co_linetable=empty.co_linetable,
    )
    like = types.FunctionType(code, {}, code.co_name, (None,) * len(function.defaults))
    like.__kwdefaults__ = dict.fromkeys(function.kwdefaults)
    like.__qualname__ = str(function.get_attr(engine, "__qualname__").as_python())
    fold_raw(engine, like, *[None] * len(args), **dict.fromkeys(kwargs))
    raise AssertionError(f"{code.co_qualname} takes these arguments: {args} {kwargs}")
