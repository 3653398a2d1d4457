"""`supple.config`: what a user may change while the program runs, for all compiled functions at once.

It is read when a call is compiled: `now()` is the state that the compilation sees, whole and frozen. Entries
that exist are not asked: one that serves a call is used, whatever the configuration has become.
"""

import logging
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import ContextDecorator
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Settings:
    """The configuration at one moment. Lists are separated by commas.

    Attributes:
        dynamic_sources: what is dynamic whatever else says static: names as guards print them, or as the
            program writes them, or regular expressions (`re.match`); `:N` at the end for one dimension.
        unbacked_sources: the same for sizes and integers that compiled code may know nothing about.
        dynamic_values: sizes and integers that are dynamic wherever they occur.
        dynamic_shapes: what `dynamic=None` means: None (static first), True or False.
        automatic_dynamic_shapes: what varied is dynamic in the next compilation.
        assume_static_by_default: False is `dynamic=True` for functions that do not say.
        force_parameter_static_shapes: parameters are static unless `dynamic_sources` names them.
        force_nn_module_property_static_shapes: the same for other tensors reached through a module.
        allow_unspec_int_on_nn_module: `dynamic=True` takes effect on numbers of modules; else they are
            dynamic from the second value on.
        specialize_int, specialize_float: integers, floats are static unless `dynamic_sources` names them.
        specialize_zero_one: sizes 0 and 1 get graphs of their own. `backed_size_oblivious` is its opposite.
        recompile_limit: entries of a compiled object, where its options say nothing.
        accumulated_recompile_limit: entries of one code object in all compiled objects.
        error_on_recompile: a compilation after the first one raises.
        fail_on_recompile_limit_hit: the limit raises, in place of running eager.
        error_on_graph_break: a graph break raises, as with `fullgraph=True`.
        verbose: warnings about functions that run eager have the whole stacks, the user's and the compiler's.
        log_level: how much is told without `set_logs`: `logging.WARNING`, the default, tells of graph breaks,
            INFO also prints each function's bytecode and graph, DEBUG each instruction; ERROR none of it.
        suppress_errors: True: where the compiler or a backend fails, the function runs eager. False: the
            error is raised. None: failures of the compiler run eager, those of the user's backend are raised.
        capture_scalar_outputs: `.item()` and its like are captured.
        capture_dynamic_output_shape_ops: `nonzero` and its like are captured.
        activation_memory_budget: how much forward keeps for backward: 1 = all that is not cheap to compute
            again, 0 = as little as can be, between them so much of the bytes between.
        fallback_random: random operators give eager's numbers; they do so with False as well.
        profile: the file that keeps what varied from one process to the next; "0" for none.
        job_id: names a profile that runs of one job share.
        cache_dir: where files are kept that may be deleted at any time.
        verify: which calls of compiled graphs run eager beside them: "first", "always", or a part, "0.01".
        check: what is checked at least, as the option `check` says it: "1", "2" or "memory".
        cpu: what kernels may use of this processor: "native" or "" for all of it, "x86-64-v2", "x86-64-v3"
            or "x86-64-v4" for what every processor of that level has.
    """

    dynamic_sources: str = ""
    unbacked_sources: str = ""
    dynamic_values: str = ""
    dynamic_shapes: bool | None = None
    automatic_dynamic_shapes: bool = True
    assume_static_by_default: bool = True
    force_parameter_static_shapes: bool = True
    force_nn_module_property_static_shapes: bool = True
    allow_unspec_int_on_nn_module: bool = False
    specialize_int: bool = False
    specialize_float: bool = False
    specialize_zero_one: bool = False
    recompile_limit: int = 8
    accumulated_recompile_limit: int = 256
    error_on_recompile: bool = False
    fail_on_recompile_limit_hit: bool = False
    error_on_graph_break: bool = False
    log_level: int = logging.WARNING
    suppress_errors: bool | None = None
    verbose: bool = False
    capture_scalar_outputs: bool = True
    capture_dynamic_output_shape_ops: bool = True
    activation_memory_budget: float = 1.0
    fallback_random: bool = False
    profile: str = ""
    job_id: str = ""
    cache_dir: str = ""
    verify: str = ""
    check: str = ""
    cpu: str = ""


ENVIRONMENT: Final[dict[str, tuple[str, ...]]] = {
    "dynamic_sources": ("SUPPLE_DYNAMIC_SOURCES", "TORCH_COMPILE_DYNAMIC_SOURCES"),
    "unbacked_sources": ("SUPPLE_UNBACKED_SOURCES", "TORCH_COMPILE_UNBACKED_SOURCES"),
    "dynamic_values": ("SUPPLE_DYNAMIC_VALUES", "TORCH_COMPILE_DYNAMIC_VALUES"),
    "dynamic_shapes": ("SUPPLE_DYNAMIC_SHAPES", "TORCHDYNAMO_DYNAMIC_SHAPES"),
    "profile": ("SUPPLE_PROFILE",),
    "job_id": ("SUPPLE_JOB_ID", "TORCH_COMPILE_JOB_ID"),
    "cache_dir": ("SUPPLE_CACHE_DIR",),
    "verify": ("SUPPLE_VERIFY",),
    "check": ("SUPPLE_CHECK",),
    "cpu": ("SUPPLE_CPU",),
}
"""Variables that are read once, when the package is imported; the first that is not empty counts."""

ALIASES: Final = {
    "cache_size_limit": "recompile_limit",
    "accumulated_cache_size_limit": "accumulated_recompile_limit",
}
OPPOSITES: Final = {"backed_size_oblivious": "specialize_zero_one"}
OPTIONAL: Final = ("dynamic_shapes", "suppress_errors")
KINDS: Final[dict[str, type]] = {
    one.name: bool if one.default is None else type(one.default) for one in fields(Settings)
}


def from_environment(environ: Mapping[str, str]) -> Settings:
    """Return the configuration that environment variables ask for."""
    found: dict[str, object] = {}
    for name, variables in ENVIRONMENT.items():
        text = next((environ[key] for key in variables if environ.get(key)), "")
        if text:
            found[name] = text != "0" if KINDS[name] is bool else text
    return changed(Settings(), found)


def changed(base: Settings, changes: Mapping[str, object]) -> Settings:
    """Return `base` with changes.

    Raises:
        AttributeError: for an unknown name; lists what there is.
        TypeError: for a value of the wrong type.
    """
    found: dict[str, Any] = {}
    for name, value in changes.items():
        known = named(name)
        if type(value) is not KINDS[known] and not (value is None and known in OPTIONAL):
            raise TypeError(f"the setting {name!r} takes a {KINDS[known].__name__}, not {value!r}")
        found[known] = not value if name in OPPOSITES else value
    return replace(base, **found)


def named(name: str) -> str:
    """Return the setting that a name, or another name of it, stands for.

    Raises:
        AttributeError: there is none.
    """
    known = OPPOSITES.get(name) or ALIASES.get(name, name)
    if known not in KINDS:
        raise AttributeError(f"no setting {name!r}; there are {', '.join(KINDS)}")
    return known


class Scoped(ContextDecorator, Generic[T]):
    """Sets a context variable in a `with` block or in calls of a decorated function.

    It keeps what was, and no token, so that a graph break may hand it over.
    """

    def __init__(self, variable: ContextVar[T], value: Callable[[], T]) -> None:
        self._variable = variable
        self._value = value

    def _recreate_cm(self) -> "Scoped[T]":
        return Scoped(self._variable, self._value)

    def __enter__(self) -> None:
        self._before = self._variable.get()
        self._variable.set(self._value())

    def __exit__(self, *_: object) -> None:
        self._variable.set(self._before)


class Config:
    """The configuration: the settings are its attributes. What is assigned holds for the process.

    What `patch` changes, and what is assigned inside of it, holds for this thread until the patch ends.
    """

    _settings: Settings
    _patched: ContextVar[Settings | None]
    _lock: threading.Lock

    def __init__(self, settings: Settings) -> None:
        patched: ContextVar[Settings | None] = ContextVar("supple.config", default=None)
        vars(self).update(_settings=settings, _patched=patched, _lock=threading.Lock())

    def now(self) -> Settings:
        """Return the settings of this moment and thread."""
        return self._patched.get() or self._settings

    def patch(self, changes: Mapping[str, object] | None = None, **more: object) -> "Scoped[Settings | None]":
        """Change settings in a `with` block, or, as a decorator, during the calls of a function.

        Raises:
            AttributeError: for an unknown name; lists what there is.
            TypeError: for a value of the wrong type.
        """
        return Scoped(self._patched, lambda: changed(self.now(), {**(changes or {}), **more}))

    def __getattr__(self, name: str) -> object:
        value: object = getattr(self.now(), named(name))
        return not value if name in OPPOSITES else value

    def __setattr__(self, name: str, value: object) -> None:
        patched = self._patched.get()
        if patched is not None:
            self._patched.set(changed(patched, {name: value}))
            return
        with self._lock:
            vars(self)["_settings"] = changed(self._settings, {name: value})

    def __dir__(self) -> list[str]:
        """Return the names of all settings, and `patch`."""
        return sorted({*KINDS, *ALIASES, *OPPOSITES, "patch", "now"})


REGION: Final[ContextVar[bool | None]] = ContextVar("supple.error_on_graph_break", default=None)
"""Whether graph breaks are errors in the region that runs; None outside of regions."""


def error_on_graph_break(is_error: bool = True) -> "Scoped[bool | None]":
    """Let graph breaks be errors, or not, in a `with` block or in calls of a decorated function.

    It may stand in compiled code; the innermost counts, and goes before `config.error_on_graph_break`. With
    `fullgraph=True` breaks are errors everywhere.
    """
    return Scoped(REGION, lambda: is_error)


config: Final = Config(from_environment(os.environ))
