"""The compiled form of each kind of callable: modules, functions, bound methods, partials, other objects."""

import functools
import types
import weakref
from collections.abc import Callable
from typing import cast

import torch

from supple.capture.compilation import Compiler
from supple.capture.dispatch import Versions, compile_function, marked, original
from supple.torch_private import GLOBAL_MODULE_HOOKS, module_call, module_call_wrapper

Function = Callable[..., object]


def compile_module_call(module: torch.nn.Module, compiler: Compiler) -> Function:
    """Return what a compiled module runs when it is called.

    The frame that is captured is `forward`; with hooks on the module, it is the call with its hooks. A class
    that says itself what a call is, is asked.
    """
    calls = _Targets(compiler)
    hooks = tuple(vars(torch.nn.modules.module)[name] for name in GLOBAL_MODULE_HOOKS)

    def call(*args: object, **kwargs: object) -> object:
        own = module.__dict__
        if type(module).__call__ is not module_call_wrapper:
            return calls.of(_call).call((module, *args), kwargs)
        if (
            own["_forward_hooks"]
            or own["_forward_pre_hooks"]
            or own["_backward_hooks"]
            or own["_backward_pre_hooks"]
            or any(hooks)
        ):
            return calls.of(module_call).call((module, *args), kwargs)
        if "forward" in own or own.get("_compiled_call_impl") is not None:
            return calls.of(_call).call((module, *args), kwargs)
        forward = type(module).forward
        return calls.of(forward).call((module, *args), kwargs)

    return call


class _Targets:
    """The versions of each function that a call of one object has led to; usually there is one."""

    __slots__ = ("_compiler", "_known", "_last")

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self._known: weakref.WeakKeyDictionary[object, Versions] = weakref.WeakKeyDictionary()
        self._last: tuple[object, Versions | None] = (None, None)

    def of(self, function: object) -> Versions:
        """Return the versions of a function; what is no Python function is called through one."""
        known, last = self._last
        if known is function and last is not None:
            return last
        target = original(function)
        name = ""
        if not isinstance(target, types.FunctionType):
            name = str(getattr(target, "__qualname__", type(target).__qualname__))
            target = _call
        found = self._known.get(target)
        if found is None:
            found = self._known.setdefault(target, Versions(target, self._compiler, name))
        self._last = (function, found)
        return found


def _call(function: Function, /, *args: object, **kwargs: object) -> object:
    """Call an object: the frame that is captured for what is no Python function itself."""
    return function(*args, **kwargs)


def compile_callable(target: object, compiler: Compiler) -> Function:
    """Return the compiled form of a function, bound method, partial, or object with `__call__`.

    A function written in C is returned as it is.
    """
    match target:
        case types.FunctionType():
            return compile_function(target, compiler)
        case types.BuiltinFunctionType():
            return target
        case functools.partial():
            return _compile_partial(cast("functools.partial[object]", target), compiler)
        case types.MethodType() if isinstance(target.__func__, types.FunctionType):
            function = cast("types.FunctionType", original(target.__func__))
            return _compile_bound(target, function, target.__self__, function.__qualname__, compiler)
        case _:
            return _compile_bound(
                target, cast("types.FunctionType", _call), target, type(target).__qualname__, compiler
            )


def _compile_bound(
    target: object, function: types.FunctionType, owner: object, name: str, compiler: Compiler
) -> Function:
    versions = Versions(function, compiler, name)

    def compiled(*args: object, **kwargs: object) -> object:
        return versions.call((owner, *args), kwargs)

    functools.update_wrapper(compiled, cast("Function", target))
    return marked(compiled, target)


def _compile_partial(target: "functools.partial[object]", compiler: Compiler) -> Function:
    inner = compile_callable(original(target.func), compiler)

    def compiled(*args: object, **kwargs: object) -> object:
        return inner(*target.args, *args, **{**target.keywords, **kwargs})

    functools.update_wrapper(compiled, target)
    return marked(compiled, target)
