"""The callable that stands for a function: find an entry whose guards hold, else compile one.

The only catch-all of the package is here: whatever goes wrong in the compiler, the user's program runs.
"""

import functools
import itertools
import logging
import platform
import tempfile
import threading
import traceback
import types
import weakref
from collections.abc import Callable, Mapping
from typing import Final, cast

import torch

from supple.base import events
from supple.base.errors import Explained, Reason, Unsupported
from supple.base.marks import ORIGINAL
from supple.capture.breaks import ESCAPED
from supple.capture.compilation import (
    About,
    Call,
    Compiler,
    Made,
    argument_guards,
    checked,
    compile_call,
    place_of,
)
from supple.capture.guards.explain import arguments, why
from supple.capture.library import marks as marks_rules
from supple.runtime.entries import Entries, Entry
from supple.torch_private import GLOBAL_MODULE_HOOKS, module_call

LIBRARY_RULES = (marks_rules,)
"""Modules that fill the call table and that nothing else imports."""

Function = Callable[..., object]
Arguments = tuple[object, ...]
Named = Mapping[str, object]

LIMIT: Final = Reason(
    "G101",
    "{function} was compiled {count} times, each time for another reason.",
    "The last one: {last}. To compile again and again costs more than it gains.",
    "Make what changes a tensor, or raise `options={{'recompile_limit': ...}}`.",
)
FAILED: Final = Reason(
    "I001",
    "The compiler failed: {error}.",
    "This is a bug in supple, or in the backend, and not in your program.",
    "Please report it with {note}. `supple.disable` on the function avoids it meanwhile.",
)
COMPILATIONS_PER_ENTRY: Final = 8
"""A function is compiled at most this many times the number of entries that it may keep."""

_NUMBERS: Final = itertools.count()
_ALL: Final[weakref.WeakSet["Versions"]] = weakref.WeakSet()
_log: Final = logging.getLogger("supple")


class Versions:
    """The entries of one function, and how to make more.

    Attributes:
        function: what is captured.
        name: what people call it.
        entries: its guarded versions.
        defaults, kwdefaults: those with which the entries bind arguments.
    """

    def __init__(self, function: types.FunctionType, compiler: Compiler, name: str = "") -> None:
        self.function = function
        self.name = name or function.__qualname__
        self.entries = Entries(compiler.options.recompile_limit, _dropped(self.name))
        self.defaults = function.__defaults__
        self.kwdefaults = function.__kwdefaults__
        self._compiler = compiler
        self._number = next(_NUMBERS)
        self._compilations = 0
        self._is_exhausted = False
        self._lock = threading.RLock()
        self._owner: int | None = None
        self._told: set[str] = set()
        _ALL.add(self)

    def call(self, args: Arguments, kwargs: Named) -> object:
        """Run the function on these arguments: by an entry, or compile one."""
        function = self.function
        if function.__defaults__ is not self.defaults or function.__kwdefaults__ is not self.kwdefaults:
            self.renew_defaults()
        entry = self.find(args, kwargs)
        return self.miss(args, kwargs) if entry is None else entry.run(*args, **kwargs)

    def find(self, args: Arguments, kwargs: Named) -> Entry | None:
        """Return the entry whose guards hold; None when there is none or the arguments do not fit."""
        try:
            for entry in self.entries.all:
                if entry.check(*args, **kwargs) is None:
                    if entry is not self.entries.all[0]:
                        self.entries.hit_behind(entry)
                    return entry
        except (TypeError, IndexError):
            # The arguments do not fit the parameters (the function itself says so), or the last entry died.
            return None
        return None

    def miss(self, args: Arguments, kwargs: Named) -> object:
        """Compile for this call, then run it; another thread may have compiled meanwhile."""
        function = self.function
        is_fullgraph = self._compiler.options.fullgraph
        # A backend may call the function that it compiles: that call runs as it is.
        if self._owner == threading.get_ident() or (self._is_exhausted and not is_fullgraph):
            return function(*args, **kwargs)
        try:
            call = Call(function, args, kwargs, arguments(function, args, kwargs))
        except TypeError:
            return function(*args, **kwargs)
        with self._lock:
            entry = self.find(args, kwargs)
            if entry is None:
                self._owner = threading.get_ident()
                try:
                    entry = self._compile(call)
                finally:
                    self._owner = None
        return entry.run(*args, **kwargs)

    def renew_defaults(self) -> None:
        """Bind arguments with the function's present defaults; their values are guarded like any argument."""
        self.defaults, self.kwdefaults = self.function.__defaults__, self.function.__kwdefaults__
        for entry in self.entries.all:
            for made in (entry.check, entry.run):
                if isinstance(made, types.FunctionType):
                    made.__defaults__ = self.defaults
                    made.__kwdefaults__ = self.kwdefaults

    def reset(self) -> None:
        """Forget all entries."""
        with self._lock:
            self.entries.clear()
            self._compilations = 0
            self._is_exhausted = False

    def _compile(self, call: Call) -> Entry:
        """Return a new entry for this call; one that runs the function itself where it cannot be compiled."""
        compile_id = f"{self._number}/{self._compilations}"
        failed = self._failed_guards(call)
        if self._compilations >= COMPILATIONS_PER_ENTRY * self._compiler.options.recompile_limit:
            return self._exhausted(call, compile_id, failed)
        self._compilations += 1
        events.emit(events.CompileStarted(compile_id, self.name, place_of(self.function), failed))
        try:
            made = compile_call(call, self._compiler, compile_id)
        except Exception as error:  # the catch-all
            events.emit(events.CompileFinished(compile_id, (), f"{type(error).__name__}: {error}"))
            if self._compiler.options.fullgraph:
                raise
            made = self._after_failure(call, compile_id, error)
        else:
            if made.reason is not None:
                self._fall_back(compile_id, made.reason)
                if self._compiler.options.fullgraph:
                    made.entry.run = must_raise(call.function, made.reason)
        self.entries.insert(made.entry, made.watched)
        return made.entry

    def _exhausted(self, call: Call, compile_id: str, failed: tuple[str, ...]) -> Entry:
        last = failed[0] if failed else "no entry was left"
        stack = (place_of(self.function),)
        self._is_exhausted = True
        self._fall_back(
            compile_id, Unsupported(LIMIT, stack, function=self.name, count=self._compilations, last=last)
        )
        return Entry(_holds, call.function)

    def _after_failure(self, call: Call, compile_id: str, error: Exception) -> Made:
        """Return an entry that runs the function for arguments like these."""
        note = write_note(call, error)
        described = f"{type(error).__name__}: {error}"
        self._fall_back(compile_id, Explained(FAILED, (place_of(self.function),), error=described, note=note))
        guards = argument_guards(call)
        return Made(Entry(checked(call, guards).check, call.function, About(guards)), ())

    def _fall_back(self, compile_id: str, reason: Explained) -> None:
        """Say once per place that the function runs eager; raise where the user wants whole graphs.

        An exception that leaves the program is no break: running the function raises it.
        """
        if self._compiler.options.fullgraph and reason.reason is not ESCAPED:
            raise reason
        events.emit(events.FellBack(compile_id, str(reason)))
        place = f"{reason.reason.code} {reason.stack[-1:]}"
        if place not in self._told and reason.reason is not ESCAPED:
            self._told.add(place)
            _log.warning("%s", one_line(self.name, reason))

    def _failed_guards(self, call: Call) -> tuple[str, ...]:
        """Return why each entry does not serve this call."""
        reasons: list[str] = []
        for entry in self.entries.all:
            index = entry.check(*call.args, **call.kwargs)
            if index is not None and isinstance(entry.about, About) and index < len(entry.about.guards):
                reasons.append(why(entry.about.guards[index], call.values))
        return tuple(reasons)


def must_raise(function: Function, reason: Unsupported) -> Function:
    """Return the function for a call in which capture saw an exception leave the program (`fullgraph=True`).

    Eager raises it, with the right traceback. When eager does not, capture was wrong, and the user, who asked
    for one graph, is told so.
    """

    @functools.wraps(function)
    def run(*args: object, **kwargs: object) -> object:
        function(*args, **kwargs)
        raise reason

    return run


def _holds(*_args: object, **_kwargs: object) -> int | None:
    return None


def _dropped(function: str) -> Callable[[Entry, str], None]:
    def report(_: Entry, why_dropped: str) -> None:
        events.emit(events.EntryDropped(function, why_dropped))

    return report


def reset() -> None:
    """Forget the entries of every compiled function."""
    for versions in tuple(_ALL):
        versions.reset()


def entry_count() -> int:
    """Return how many entries there are in the process."""
    return sum(len(versions.entries.all) for versions in tuple(_ALL))


def one_line(function: str, reason: Explained) -> str:
    """Return a reason as one line: which function, what, where, why, what to do."""
    facts = reason.facts
    where = "".join(
        f" at {place.filename}:{place.line} in {place.function} (`{place.text}`)"
        for place in reason.stack[-1:]
    )
    what, reason_why, do = (
        text.format(**facts) for text in (reason.reason.what, reason.reason.why, reason.reason.do)
    )
    line = f"{function} runs eager: {what} [{reason.reason.code}]{where}. Why: {reason_why} Do: {do}"
    return " ".join(line.split())


def write_note(call: Call, error: Exception) -> str:
    """Write what a report of a compiler failure needs into a file; return its path."""
    lines = [
        f"function: {call.function.__qualname__} at {call.where.filename}:{call.where.line}",
        f"versions: Python {platform.python_version()}, torch {torch.__version__}",
        *(f"argument {name}: {_described(value)}" for name, value in call.values.items()),
        "",
        *traceback.format_exception(error),
    ]
    with tempfile.NamedTemporaryFile(
        "w", prefix="supple-failure-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        file.write("\n".join(lines))
    return file.name


def _described(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"{type(value).__name__} {tuple(value.shape)} {value.dtype} {value.device}"
    return type(value).__qualname__


def compile_function(function: types.FunctionType, compiler: Compiler) -> types.FunctionType:
    """Return the compiled form of a Python function: itself a function, so it binds as a method."""
    versions = Versions(function, compiler)
    entries = versions.entries

    @functools.wraps(function)
    def compiled(*args: object, **kwargs: object) -> object:
        if (
            function.__defaults__ is not versions.defaults
            or function.__kwdefaults__ is not versions.kwdefaults
        ):
            versions.renew_defaults()
        all_entries = entries.all
        if all_entries:
            entry = all_entries[0]
            try:
                failed = entry.check(*args, **kwargs)
            except TypeError:
                return function(*args, **kwargs)
            if failed is None:
                return entry.run(*args, **kwargs)
        return versions.call(args, kwargs)

    return marked(compiled, function)


def compile_module_call(module: torch.nn.Module, compiler: Compiler) -> Function:
    """Return what a compiled module runs when it is called.

    The frame that is captured is `forward`; with hooks on the module, it is the call with its hooks.
    """
    calls = _Targets(compiler)
    hooks = tuple(vars(torch.nn.modules.module)[name] for name in GLOBAL_MODULE_HOOKS)

    def call(*args: object, **kwargs: object) -> object:
        own = module.__dict__
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


def marked(compiled: Function, target: object) -> types.FunctionType:
    """Let a compiled function name its original, for users and for capture."""
    function = cast("types.FunctionType", compiled)
    function.__dict__["orig"] = target
    function.__dict__[ORIGINAL] = target
    return function


def original(function: object) -> object:
    """Return what a compiled function was made from, other objects as they are."""
    return getattr(function, ORIGINAL, function)
