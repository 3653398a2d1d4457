"""The callable that stands for a function: find an entry whose guards hold, else compile one.

The only catch-all of the package is here: whatever goes wrong in the compiler, the user's program runs.
"""

import functools
import inspect
import itertools
import logging
import threading
import types
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Final, cast

from supple.base import events
from supple.base.errors import (
    BackendCompilerFailed,
    Explained,
    FailOnRecompileLimitHit,
    RecompileError,
    Unsupported,
    UserError,
)
from supple.base.interrupts import is_interrupt
from supple.base.marks import ORIGINAL
from supple.base.stance import DEFAULT, STANCES, Backend, Stance
from supple.capture.breaks import ESCAPED, FAILED, FORBIDDEN, LIMIT
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
from supple.capture.drive import Refused, generate
from supple.capture.guards.emit import checker
from supple.capture.guards.explain import arguments, failures
from supple.capture.guards.kinds import Guard, Identity, Kind, TensorExpectation
from supple.capture.library import marks as marks_rules
from supple.capture.notes import tell, tell_long, write_note
from supple.capture.points import can_generate
from supple.capture.resume import CONTINUES, Continuations
from supple.capture.source import local
from supple.runtime.entries import Check, Entries, Entry
from supple.runtime.rebuild import make_function
from supple.runtime.state import State
from supple.shapes.profile import note, seen_for
from supple.torch_private import INLINED, WRAPPED, WRAPPER, is_tracing

LIBRARY_RULES = (marks_rules,)
"""Modules that fill the call table and that nothing else imports."""

Function = Callable[..., object]
Arguments = tuple[object, ...]
Named = Mapping[str, object]

COMPILATIONS_PER_ENTRY: Final = 8
"""A function is compiled at most this many times the number of entries that it may keep."""

_MISSES_TO_REST: Final = 4
_FIRST_REST: Final = 64
_LONGEST_REST: Final = 4096
"""Calls: a call that misses every entry costs what all their guards cost."""

_NUMBERS: Final = itertools.count()
_ALL: Final[weakref.WeakSet["Versions"]] = weakref.WeakSet()
_ALL_LOCK: Final = threading.Lock()
_BY_VALUE: Final = (TensorExpectation, Identity, State)
_log: Final = logging.getLogger("supple")


class Versions:
    """The entries of one function, and how to make more.

    After a limit, entries that no call fits would cost more than they gain. So after some misses in a row
    the entries rest: the next calls run the function and ask none of them. Each rest is twice as long as the
    last, until a call between two of them finds an entry.

    Attributes:
        rests: how many calls the entries rest for.
        function: what is captured.
        name: what people call it.
        entries: its guarded versions.
        defaults, kwdefaults: those with which the entries bind arguments.

    Args:
        root: the versions of which this function is a continuation.
    """

    def __init__(
        self, function: types.FunctionType, compiler: Compiler, name: str = "", root: "Versions | None" = None
    ) -> None:
        self.function = function
        self.name = name or function.__qualname__
        self.entries = Entries(functools.partial(_report_dropped, self.name))
        self.defaults = function.__defaults__
        self.kwdefaults = function.__kwdefaults__
        self._compiler = compiler
        self._continuations: Continuations = (
            Continuations(lambda going_on: compile_function(going_on, compiler, self))
            if root is None
            else root._continuations
        )
        self._continues = CONTINUES in function.__dict__
        self._number = next(_NUMBERS)
        self._compilations = 0
        self.rests = 0
        self._misses = 0
        self._rest = _FIRST_REST
        self._is_exhausted = False
        self._is_widened = False
        self._is_noted = False
        self._lock = threading.RLock()
        self._owner: int | None = None
        self._told: set[str] = set() if root is None else root._told
        self._forced: dict[Backend, Versions] = {}
        self._differing: tuple[tuple[Entry, ...], list[tuple[Check, Entry]]] = ((), [])
        with _ALL_LOCK:
            _ALL.add(self)

    def call(self, args: Arguments, kwargs: Named) -> object:
        """Run the function on these arguments: by an entry, or compile one."""
        function = self.function
        if self.rests and not STANCES.intervene:
            self.rests = max(0, self.rests - 1)  # other threads count too
            return function(*args, **kwargs)
        if function.__defaults__ is not self.defaults or function.__kwdefaults__ is not self.kwdefaults:
            self.renew_defaults()
        stance = STANCES.current() if STANCES.intervene else DEFAULT
        if stance is not DEFAULT:
            return self._call_under(stance, args, kwargs)
        entry = self.find(args, kwargs)
        return self.miss(args, kwargs) if entry is None else entry.run(*args, **kwargs)

    def _call_under(self, stance: Stance, args: Arguments, kwargs: Named) -> object:
        """Run the function as a stance says."""
        if stance.name == "force_eager":
            return self.function(*args, **kwargs)
        backend = stance.force_backend
        if stance.compiles_later and not self._is_noted and not self.entries.all:
            self._is_noted = True
            self._note(args, kwargs)
            if stance.name == "eager_then_compile":
                return self.function(*args, **kwargs)
            backend = "eager"
        if backend is not None:
            return self._with(backend).call_compiled(args, kwargs)
        entry = (
            self._find_unsafely(args, kwargs) if stance.skip_guard_eval_unsafe else self.find(args, kwargs)
        )
        return self.miss(args, kwargs, stance) if entry is None else entry.run(*args, **kwargs)

    def call_compiled(self, args: Arguments, kwargs: Named) -> object:
        """Run the function by an entry, or compile one, whatever the stance."""
        entry = self.find(args, kwargs)
        return self.miss(args, kwargs) if entry is None else entry.run(*args, **kwargs)

    def find(self, args: Arguments, kwargs: Named) -> Entry | None:
        """Return the entry whose guards hold; None when there is none or the arguments do not fit."""
        try:
            for entry in self.entries.all:
                if entry.check(*args, **kwargs) is None:
                    if entry is not self.entries.all[0]:
                        self.entries.hit_behind(entry)
                    self._misses, self._rest = 0, _FIRST_REST
                    return entry
        except (TypeError, IndexError):
            # The arguments do not fit the parameters (the function itself says so), or the last entry died.
            return None
        return None

    def miss(self, args: Arguments, kwargs: Named, stance: Stance = DEFAULT) -> object:
        """Compile for this call, then run it; another thread may have compiled meanwhile."""
        function = self.function
        # A backend may call the function that it compiles: that call runs as it is, and so does one of which
        # `torch.jit.trace` records what it does.
        if self._owner == threading.get_ident() or stance.name == "eager_on_recompile" or is_tracing():
            return function(*args, **kwargs)
        is_forbidden = stance.name == "fail_on_recompile"
        if self._is_exhausted and not self._must_compile and not is_forbidden:
            self._note_miss()
            return function(*args, **kwargs)
        named: Mapping[str, object] | None
        try:
            named = arguments(function, args, kwargs)
        except TypeError:
            named = None
        if named is None:
            return function(*args, **kwargs)
        call = Call(function, args, kwargs, named)
        if is_forbidden:
            error = self._forbidden(call, f"the stance {stance.name!r}")
            raise Refused(error) if self._continues else error
        with self._lock:
            entry = self.find(args, kwargs)
            if entry is None:
                self._owner = threading.get_ident()
                try:
                    entry = self._compile(call)
                except Exception as error:
                    if self._continues:
                        raise Refused(error) from None
                    raise
                finally:
                    self._owner = None
        return entry.run(*args, **kwargs)

    def _note_miss(self) -> None:
        """Count a call that no entry fits, after the limit; after some in a row the entries rest."""
        self._misses += 1
        if self._misses >= _MISSES_TO_REST:
            self._misses = 0
            self.rests, self._rest = self._rest, min(2 * self._rest, _LONGEST_REST)

    def renew_defaults(self) -> None:
        """Bind arguments with the function's present defaults; their values are guarded like any argument."""
        self.defaults, self.kwdefaults = self.function.__defaults__, self.function.__kwdefaults__
        for entry in self.entries.all:
            for made in (entry.check, inspect.unwrap(entry.run)):
                if isinstance(made, types.FunctionType):
                    made.__defaults__ = self.defaults
                    made.__kwdefaults__ = self.kwdefaults

    def reset(self) -> None:
        """Forget all entries."""
        with self._lock:
            self.entries.clear()
            self._compilations = self.rests = self._misses = 0
            self._is_exhausted = self._is_widened = self._is_noted = False

    @property
    def _must_compile(self) -> bool:
        """Whether running eager at a limit is an error."""
        options = self._compiler.options
        return options.fullgraph or options.config.fail_on_recompile_limit_hit

    def _with(self, backend: Backend) -> "Versions":
        """Return the versions of the function that another backend compiles."""
        compiler = self._compiler
        if backend not in self._forced:
            made = replace(compiler, compile_graph=compiler.resolve(backend, compiler.options))
            self._forced.setdefault(backend, Versions(self.function, made, self.name))
        return self._forced[backend]

    def _note(self, args: Arguments, kwargs: Named) -> None:
        """Note the sizes and numbers of a call that is not compiled, for the next one."""
        try:
            bound = arguments(self.function, args, kwargs)
        except TypeError:
            return
        for name, value in bound.items():
            note(seen_for(self.function.__code__), local(name).name, value)

    def _find_unsafely(self, args: Arguments, kwargs: Named) -> Entry | None:
        """Return an entry by those guards alone in which the entries differ."""
        entries = self.entries.all
        if self._differing[0] is not entries:
            guards = {entry: {_value_key(guard): guard for guard in _guards(entry)} for entry in entries}
            counts = Counter(key for keyed in guards.values() for key in keyed)
            made = [
                (checker([g for key, g in keyed.items() if counts[key] < len(entries)], self.function), entry)
                for entry, keyed in guards.items()
            ]
            self._differing = (entries, [(one.check, entry) for one, entry in made])
        try:
            return next(
                (entry for check, entry in self._differing[1] if check(*args, **kwargs) is None), None
            )
        except TypeError:
            return None

    def _compile(self, call: Call) -> Entry:
        """Return a new entry for this call; one that runs the function itself where it cannot be compiled."""
        compile_id = f"{self._number}/{self._compilations}"
        failed = failures(((_id(entry), guard) for entry, guard in self._failed(call)), call.values)
        if failed and self._compiler.options.config.error_on_recompile:
            raise self._forbidden(call, "`config.error_on_recompile`")
        limit = self._limit()
        if limit and not self._widen(call):
            return self._exhausted(call, compile_id, limit, failed)
        self._compilations += 1
        all_failed = functools.partial(self._all_failed, call)
        where = place_of(self.function)
        started = perf_counter()
        events.emit(events.CompileStarted(compile_id, self.name, where, failed, all_failed, self._continues))
        try:
            entries = self.entries.all
            made = compile_call(call, self._compiler, compile_id, self._continuations, entries)
        except UserError:
            events.emit(events.CompileFinished(compile_id, (), "refused"))
            raise
        except Exception as error:  # the catch-all
            events.emit(events.CompileFinished(compile_id, (), f"{type(error).__name__}: {error}"))
            if self._is_raised(error):
                raise
            made = self._after_failure(call, compile_id, error)
        else:
            tell_long(self.name, where, perf_counter() - started, self._told)
            if made.broken is not None:
                self._tell(made.broken, "has a graph break")
            if made.reason is not None:
                self._fall_back(compile_id, made.reason)
                if self._compiler.options.fullgraph:
                    made.entry.run = must_raise(call.function, made.reason)
        self.entries.insert(made.entry, made.watched)
        return made.entry

    def _is_raised(self, error: Exception) -> bool:
        """Tell whether a failure of a compilation is for the user, and not to be answered by eager."""
        options = self._compiler.options
        is_suppressed = options.config.suppress_errors
        if isinstance(error, BackendCompilerFailed) and not is_suppressed:
            return True
        return options.fullgraph or is_suppressed is False or is_interrupt(error)

    def _limit(self) -> str:
        """Return the limit that was reached, empty when none was."""
        options = self._compiler.options
        limit, total = options.limit, options.config.accumulated_recompile_limit
        if len(self.entries.all) >= limit or self._compilations >= COMPILATIONS_PER_ENTRY * limit:
            return f"recompile_limit ({limit})"
        code = self.function.__code__
        alike = [one for one in _alive() if one.function.__code__ is code and one.name == self.name]
        is_full = sum(len(one.entries.all) for one in alike) >= total
        return f"accumulated_recompile_limit ({total})" if is_full else ""

    def _widen(self, call: Call) -> bool:
        """Let one more compilation take all that varied for dynamic; False where that cannot help.

        It can where the newest entry, made when nearly all was seen, still has a number.
        """
        newest = max(self._failed(call), key=lambda pair: int(_id(pair[0]).rpartition("/")[2]), default=None)
        if self._is_widened or self._compiler.options.is_dynamic is False or newest is None:
            return False
        guard = newest[1]
        is_known = guard.kind is Kind.SHAPE or guard.is_specialised
        if is_known or not failures([("", guard)], call.values)[0].is_size:
            return False
        self._is_widened = True
        seen_for(self.function.__code__).is_widened = True
        return True

    def _exhausted(
        self, call: Call, compile_id: str, limit: str, failed: tuple[events.FailedGuard, ...]
    ) -> Entry:
        last = str(failed[0]) if failed else "no entry was left"
        stack = (place_of(self.function),)
        facts = {"function": self.name, "limit": limit, "last": last}
        if self._must_compile:
            raise FailOnRecompileLimitHit(LIMIT, stack, **facts)
        self._is_exhausted = True
        self._fall_back(compile_id, Unsupported(LIMIT, stack, **facts))
        return Entry(_holds, call.function)

    def _forbidden(self, call: Call, by: str) -> RecompileError:
        failed = failures(((_id(entry), guard) for entry, guard in self._failed(call)), call.values)
        facts = {
            "function": self.name,
            "by": by,
            "failed": "; ".join(map(str, failed)) or "it has none, this is its first compilation",
            "hint": failed[0].hint if failed else "Make a first call where compilation is allowed.",
        }
        return RecompileError(FORBIDDEN, (place_of(self.function),), **facts)

    def _after_failure(self, call: Call, compile_id: str, error: Exception) -> Made:
        """Return an entry that runs the function for arguments like these."""
        note = write_note(call, error)
        described = (
            str(error) if isinstance(error, BackendCompilerFailed) else f"{type(error).__name__}: {error}"
        )
        reason = Explained(FAILED, (place_of(self.function),), error=described, note=note)
        reason.__cause__ = error
        self._fall_back(compile_id, reason)
        guards = argument_guards(call)
        about = About(guards, compile_id=compile_id)
        return Made(Entry(checked(call, guards).check, call.function, about), ())

    def _fall_back(self, compile_id: str, reason: Explained) -> None:
        """Say once per place that the function runs eager; raise where the user wants whole graphs.

        An exception that leaves the program is no break: running the function raises it.
        """
        options = self._compiler.options
        if options.must_raise(reason) and reason.reason is not ESCAPED:
            raise reason if options.config.verbose else reason.with_traceback(None)
        events.emit(events.FellBack(compile_id, str(reason)))
        if reason.reason is not ESCAPED:
            self._tell(reason, "runs eager")

    def _tell(self, reason: Explained, what: str) -> None:
        tell(self.name, reason, what, self._told, self._compiler.options.config)

    def _failed(self, call: Call) -> Iterator[tuple[Entry, Guard]]:
        """Yield each entry with the first guard of it that fails."""
        for entry in self.entries.all:
            index = entry.check(*call.args, **call.kwargs)
            if index is not None and index < len(_guards(entry)):
                yield entry, _guards(entry)[index]

    def _all_failed(self, call: Call) -> tuple[events.FailedGuard, ...]:
        found = (
            (_id(entry), guard)
            for entry in self.entries.all
            for guard in _guards(entry)
            if checker((guard,), self.function).check(*call.args, **call.kwargs) is not None
        )
        return failures(found, call.values)


def _guards(entry: Entry) -> tuple[Guard, ...]:
    return entry.about.guards if isinstance(entry.about, About) else ()


def _id(entry: Entry) -> str:
    return entry.about.compile_id if isinstance(entry.about, About) else ""


def _value_key(guard: Guard) -> tuple[object, ...]:
    """Return what is equal for guards of two entries that are the same condition."""
    key = guard.key
    return (*key[:3], guard.expected if isinstance(guard.expected, _BY_VALUE) else key[3], *map(str, key[4:]))


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


def _report_dropped(function: str, _: Entry, why_dropped: str) -> None:
    events.emit(events.EntryDropped(function, why_dropped))


def _alive() -> tuple[Versions, ...]:
    with _ALL_LOCK:
        return tuple(_ALL)


def reset() -> None:
    """Forget the entries of every compiled function."""
    for versions in _alive():
        versions.reset()


def entry_count() -> int:
    """Return how many entries there are in the process."""
    return sum(len(versions.entries.all) for versions in _alive())


def compile_function(
    function: types.FunctionType, compiler: Compiler, root: Versions | None = None
) -> types.FunctionType:
    """Return the compiled form of a Python function: itself a function, so it binds as a method.

    Args:
        root: the versions of which it is a continuation.
    """
    if root is None and can_generate(function.__code__):
        return _compile_generator(function, compiler)
    if root is None:
        versions = Versions(function, compiler)
    else:
        unforced = replace(compiler, options=replace(compiler.options, break_at=0))
        versions = Versions(function, unforced, root.name, root)
    entries = versions.entries

    @functools.wraps(function)
    def compiled(*args: object, **kwargs: object) -> object:
        if (
            STANCES.intervene
            or versions.rests
            or function.__defaults__ is not versions.defaults
            or function.__kwdefaults__ is not versions.kwdefaults
        ):
            return versions.call(args, kwargs)
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


def _compile_generator(function: types.FunctionType, compiler: Compiler) -> types.FunctionType:
    twin = make_function(function.__code__, function.__globals__, None, None, function.__closure__ or ())
    twin.__dict__[CONTINUES] = True
    versions = Versions(twin, compiler)

    @functools.wraps(function)
    def compiled(*args: object, **kwargs: object) -> object:
        made = function(*args, **kwargs)  # never begins: arguments that do not fit are found here
        twin.__defaults__, twin.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        generator = cast("types.GeneratorType[object, object, object]", generate(versions.call, args, kwargs))
        generator.__name__, generator.__qualname__ = made.__name__, made.__qualname__
        return generator

    return marked(compiled, function)


def marked(compiled: Function, target: object) -> types.FunctionType:
    """Let a compiled function name its original, for users, for capture and for `torch.compile`."""
    function = cast("types.FunctionType", compiled)
    function.__dict__[INLINED] = function.__dict__[WRAPPED] = target
    function.__dict__[WRAPPER] = id(function)
    function.__dict__["orig"] = target
    function.__dict__[ORIGINAL] = target
    return function


def original(function: object) -> object:
    """Return what a compiled function was made from, other objects as they are."""
    return getattr(function, ORIGINAL, function)
