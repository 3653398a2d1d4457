"""What users call: compile, disable, backends, reset, stats, logs. Checks arguments; decides nothing else."""

import functools
import logging
import os
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypedDict, TypeVar, Unpack, cast, overload

import torch

from supple.backends import BACKENDS, NATIVE, Backend
from supple.base import marks, memo
from supple.base.config import config, error_on_graph_break
from supple.base.errors import InvalidBackendError, OptionsError
from supple.base.marks import graph_break, is_compiling, skip_frame, step_unsupported
from supple.base.options import MODES, Options, cpu_level, with_mapping
from supple.base.stance import run, set_stance
from supple.capture import callables, dispatch
from supple.capture.compilation import Compiler
from supple.capture.frame import CompileGraph
from supple.capture.library import trusted
from supple.diagnose.explain import Explanation, explained
from supple.diagnose.log import set_logs, set_logs_from_environment
from supple.diagnose.stats import COUNTER
from supple.ir.graph.nodes import Graph
from supple.runtime.compiled import CompiledModule, original_of, stand_in
from supple.runtime.loaded import LOADED
from supple.runtime.rebuild import make_function
from supple.shapes import profile
from supple.shapes.marks import mark_dynamic, mark_static, mark_unbacked, maybe_mark_dynamic
from supple.torch_private import KNOWN, MissingInTorch, is_newer, unusable

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "compile_times",
    "config",
    "disable",
    "error_on_graph_break",
    "explain",
    "graph_break",
    "is_compiling",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_unbacked",
    "maybe_mark_dynamic",
    "optimize",
    "register_backend",
    "reset",
    "run",
    "set_logs",
    "set_stance",
    "skip_frame",
    "stats",
    "step_unsupported",
    "substitute_in_graph",
]

F = TypeVar("F", bound=Callable[..., object])

OFF: Final = ("SUPPLE_DISABLE", "TORCH_COMPILE_DISABLE")
"""Environment variables that turn `compile` into a no-op when one of them is 1."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What `compile` was asked for: enough to compile another object in the same way."""

    backend: str | Backend
    options: Options

    def compiler(self) -> Compiler:
        """Return the compiler with these settings."""
        return Compiler(resolve(self.backend, self.options), self.options, resolve)


def resolve(backend: str | Backend, options: Options) -> CompileGraph:
    """Return what compiles graphs for a backend, and has them verified where the user wants it.

    Raises:
        InvalidBackendError: no backend has the name.
    """
    compile_graph = BACKENDS.resolve(backend, options)

    def compiled(graph: Graph, examples: Sequence[object]) -> Callable[..., tuple[object, ...]]:
        run = compile_graph(graph, examples)
        if options.verified_share() is None:
            return run
        from supple.diagnose.verify import Setting, verified  # noqa: PLC0415  # lazy: for those who verify

        return verified(graph, run, Setting(compile_graph, backend, options))

    return compiled


class Arguments(TypedDict, total=False):
    """The keyword arguments of `compile`, for its signatures."""

    fullgraph: bool
    dynamic: bool | None
    backend: str | Backend
    mode: str | None
    options: Mapping[str, object] | None
    disable: bool
    recompile_limit: int | None
    isolate_recompiles: bool
    verify: str | float | None


@overload
def compile(model: F, **arguments: Unpack[Arguments]) -> F: ...
@overload
def compile(model: None = None, **arguments: Unpack[Arguments]) -> Callable[[F], F]: ...
def compile(  # noqa: PLR0913  # the arguments of torch.compile
    model: Callable[..., object] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Backend = NATIVE,
    mode: str | None = None,
    options: Mapping[str, object] | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = True,
    verify: str | float | None = None,
) -> object:
    """Return a compiled form of a function, method, `nn.Module` or callable object; without one, a decorator.

    The result behaves as the original does. `.orig` names the original. A compiled module is a module: its
    attributes, state and modes are the original's.

    Args:
        model: what to compile.
        fullgraph: raise `supple.errors.Unsupported` where the call cannot be one graph.
        dynamic: None compiles for the sizes of the first call, and makes what varies dynamic when it does;
            True makes all sizes and numbers dynamic at once, False none but those that are marked.
        backend: "native", "eager", "aot_eager", "aot_eager_decomp", a registered name, or a callable
            (torch.fx.GraphModule, example inputs) -> callable.
        mode: a preset name of torch; all mean the same on the CPU.
        options: see `supple.base.options.Options`; not together with `mode`.
        disable: return `model` as it is.
        recompile_limit: how often the object is compiled, where `options` says nothing.
        isolate_recompiles: accepted as in torch; each compiled object has entries and a limit of its own.
        verify: "first", "always" or a part of the calls, such as 0.01: in these, eager runs beside each
            compiled graph, and a difference, also of gradients, raises `VerificationError`.

    Raises:
        OptionsError: (a RuntimeError) unknown mode or option, or both mode and options.
        InvalidBackendError: no backend has this name.
        TypeError: `model` is not callable, or is a class.
    """
    chosen = replace(checked_options(fullgraph, dynamic, mode, options), verify=str(verify or ""))
    _ = chosen.verified_share(), chosen.spec_level, cpu_level(chosen.config.cpu)  # raise where they are none
    if chosen.recompile_limit is None:
        chosen = replace(chosen, recompile_limit=recompile_limit)
    settings = Settings(backend, chosen)
    compiler = settings.compiler()
    is_off = disable or any(os.environ.get(name) == "1" for name in OFF) or not _is_usable(fullgraph)
    if model is None:
        return functools.partial(_compile, settings=settings, compiler=compiler, is_off=is_off)
    return _compile(model, settings=settings, compiler=compiler, is_off=is_off)


def optimize(
    backend: str | Backend = NATIVE, *, nopython: bool = False, dynamic: bool | None = None
) -> Callable[[F], F]:
    """Return a decorator: an older way to write `compile`, in which `fullgraph` is called `nopython`."""
    return compile(backend=backend, fullgraph=nopython, dynamic=dynamic)


def _is_usable(fullgraph: bool) -> bool:
    """Tell whether this torch has what compilation needs; say once what it lacks, or that it is new.

    Raises:
        MissingInTorch: it lacks something, and `fullgraph` asks for more than eager.
    """
    lacking = unusable()
    if lacking is not None and fullgraph:
        raise MissingInTorch(lacking)
    if lacking is not None:
        _say_once(f"Everything runs eager: {lacking}. `python -m supple env` shows more.")
    elif is_newer():
        last = ".".join(map(str, KNOWN[-1]))
        _say_once(f"torch {torch.__version__} is newer than {last}, the last version that supple knows.")
    return lacking is None


@functools.cache
def _say_once(text: str) -> None:
    logging.getLogger("supple").warning(text)


def checked_options(
    fullgraph: bool, dynamic: bool | None, mode: str | None, given: Mapping[str, object] | None
) -> Options:
    """Return the options that the arguments of `compile` mean.

    Raises:
        OptionsError: unknown mode or option, or both mode and options.
    """
    if mode is not None and given is not None:
        raise OptionsError("`mode` and `options` exclude each other: a mode is a preset of options")
    if mode is not None and mode not in MODES:
        raise OptionsError(f"unknown mode {mode!r}; known modes are {', '.join(MODES)}")
    base = Options(fullgraph=fullgraph, dynamic=dynamic, mode=mode or "default")
    return with_mapping(base, given or {})


def _compile(model: object, *, settings: Settings, compiler: Compiler, is_off: bool) -> object:
    if isinstance(model, type):
        msg = f"{model.__qualname__} is a class: compile an instance of it, or decorate its `forward`"
        raise TypeError(msg)
    if not callable(model):
        raise TypeError(f"only something that can be called is compiled, not {model!r}")
    if is_off or getattr(model, marks.DISABLED, False):
        return model
    if isinstance(model, CompiledModule):
        model = original_of(model)
    if isinstance(model, torch.nn.Module):
        return _compile_module(model, settings, compiler)
    return callables.compile_callable(getattr(model, marks.ORIGINAL, model), compiler)


def _compile_module(module: torch.nn.Module, settings: Settings, compiler: Compiler) -> CompiledModule:
    call = callables.compile_module_call(module, compiler)
    return stand_in(type(module))(module, call, functools.partial(_recompile, settings=settings))


def as_torch_backend(gm: torch.fx.GraphModule, _: Sequence[object]) -> Callable[..., object]:
    """Compile a graph that `torch.compile(model, backend="supple")` captured; supple guards its inputs."""
    return cast("Callable[..., object]", compile(gm))


def _recompile(module: torch.nn.Module, settings: Settings) -> CompiledModule:
    return _compile_module(module, settings, settings.compiler())


def disable(
    fn: Callable[..., object] | None = None, *, recursive: bool = True, reason: str | None = None
) -> object:
    """Return a function that is never captured: a compiled function that calls it runs eager.

    Without `fn`, return a decorator. Of a module, `forward` is disabled and the module is returned.

    Args:
        recursive: False lets the Python functions that a disabled function calls be captured.
        reason: is told with the graph break.
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if isinstance(fn, torch.nn.Module):
        fn.forward = _disabled(fn.forward, reason, recursive=recursive)
        return fn
    return _disabled(fn, reason, recursive=recursive)


def _disabled(
    function: Callable[..., object], reason: str | None, *, recursive: bool
) -> Callable[..., object]:
    if isinstance(function, types.MethodType) and not recursive:
        return types.MethodType(_disabled(function.__func__, reason, recursive=False), function.__self__)
    if isinstance(function, types.FunctionType) and not recursive:
        code = function.__code__.replace(co_flags=function.__code__.co_flags | marks.ALONE)
        parts = (function.__defaults__, function.__kwdefaults__, function.__closure__ or ())
        return functools.update_wrapper(make_function(code, function.__globals__, *parts), function)

    @functools.wraps(function)
    def disabled(*args: object, **kwargs: object) -> object:
        return function(*args, **kwargs)

    setattr(disabled, marks.DISABLED, reason or True)
    return disabled


def allow_in_graph(fn: F) -> F:
    """Let calls of a function be single nodes of graphs: capture does not look inside. Returns the function.

    Its results are tensors, which depend on its arguments alone; it may run on tensors without data.

    Raises:
        TypeError: `fn` is not callable.
    """
    if not callable(fn):
        raise TypeError(f"only something that can be called is allowed in graphs, not {fn!r}")
    trusted.promised(fn, trusted.in_graph)
    return fn


def assume_constant_result(fn: F) -> F:
    """Let a function run while its callers are captured; that result is its result for ever. Returns it."""
    trusted.promised(fn, trusted.constant)
    return fn


def substitute_in_graph(
    original_fn: Callable[..., object],
    *,
    can_constant_fold_through: bool = False,
    skip_signature_check: bool = False,
) -> Callable[[F], F]:
    """Return a decorator that has a Python function captured in place of one that cannot be, as of C code.

    Args:
        original_fn: what programs call; outside of captured code it runs as ever.
        can_constant_fold_through: accepted as in torch; on constants the function is interpreted as well.
        skip_signature_check: let the two take other arguments.

    Raises:
        TypeError: one of the two is no function, or their parameters differ.
        ValueError: capture knows what `original_fn` does.
    """
    if not callable(original_fn) or isinstance(original_fn, type):
        raise TypeError(f"only functions are substituted, not {original_fn!r}")

    def register(fn: F) -> F:
        if not isinstance(fn, types.FunctionType):
            raise TypeError(f"only a Python function is captured in place of another, not {fn!r}")
        if not skip_signature_check and not trusted.same_parameters(original_fn, fn):
            raise TypeError(f"{fn.__qualname__} takes other arguments than {original_fn!r}")
        trusted.substitute(original_fn, fn)
        return cast("F", fn)

    return register


def reset() -> None:
    """Forget everything that was compiled, what was seen of its arguments, and the counts.

    What earlier processes left in the profile stays.
    """
    dispatch.reset()
    profile.forget()
    LOADED.clear()
    memo.forget()
    COUNTER.reset()


def stats() -> dict[str, object]:
    """Return what the compiler did since the last reset.

    Keys: graphs, ops, breaks, reasons (their texts), recompiles, recompile_reasons, fallbacks,
    fallback_reasons, compilations, entries (alive now), dropped, kernels, externs (library calls), fused
    (kernel -> graph nodes), times (seconds by stage).
    """
    return COUNTER.report(dispatch.entry_count())


@overload
def explain(function: Callable[..., object]) -> Callable[..., Explanation]: ...
@overload
def explain(
    function: Callable[..., object], first: object, /, *args: object, **kwargs: object
) -> Explanation: ...
def explain(function: Callable[..., object], *args: object, **kwargs: object) -> object:
    """Return a function whose call runs `function`, compiled anew, and returns an `Explanation` of it.

    With arguments, return the `Explanation` of that call at once. Graphs run as eager runs them.
    """

    def call(*args: object, **kwargs: object) -> Explanation:
        return explained(lambda backend: compile(function, backend=backend), args, kwargs)

    return call(*args, **kwargs) if args or kwargs else call


def compile_times() -> str:
    """Return a table: seconds that each function's compilations took, then those of the backend by stage."""
    return COUNTER.compile_times()


def list_backends() -> list[str]:
    """Return the names that `backend=` accepts: ours and the registered ones. Names of torch work too."""
    return BACKENDS.names()


def register_backend(name: str | Backend | None = None, backend: Backend | None = None) -> object:
    """Give a backend a name; without `backend`, return a decorator that does.

    As a decorator without a name it gives a function its own name.

    Raises:
        InvalidBackendError: the name is built in, or the backend is not callable.
    """
    if callable(name):
        return _register(None, name)
    if backend is None:
        return functools.partial(_register, name)
    return _register(name, backend)


def _register(name: str | None, backend: Backend) -> Backend:
    own = getattr(backend, "__name__", None)
    if name is None and not isinstance(own, str):
        raise InvalidBackendError(f"{backend!r} has no name of its own: register_backend(name, backend)")
    BACKENDS.register(str(own) if name is None else name, backend)
    return backend


set_logs_from_environment()
