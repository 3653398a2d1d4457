"""Every switch of the compiler: parsed once, frozen, passed in, and part of the cache key."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Final

from supple.base.config import Settings, config
from supple.base.errors import Explained, OptionsError


@dataclass(frozen=True, slots=True)
class Options:
    """The switches of one compiled object. Each has a user who needs it.

    Attributes:
        fullgraph: a graph break raises `Unsupported` instead of running eager.
        dynamic: None = static first; True / False as in `torch.compile`.
        mode: a preset name; all presets mean the same on the CPU today.
        recompile_limit: entries per compiled object and code object; one more takes what varied for dynamic,
            then new calls run eager. None leaves it to the configuration.
        check: 0 = no spec checks, 1 = after each pass, 2 = also text round trips; "memory" = as 1, and
            kernels run between guard pages.
        fusion: False launches one kernel per operator (to find a guilty fusion).
        threads: False compiles single-threaded kernels.
        inline_depth: nesting of inlined calls at which capture gives up.
        step_limit: instructions of one call at which capture gives up: loops are unrolled.
        verify: which calls of a compiled graph run eager beside it: "first", "always", or a part, "0.01"; of
            calls chosen by a fixed seed. Empty follows `supple.config`.
        verify_action: what a difference does: "raise", or "log" it and let the graph run eager from then on.
        break_at: the number of the instruction before which a graph break is forced, to test them; 0 = none.
        settings: the configuration of one compilation (`fixed`); None follows `supple.config`.
    """

    fullgraph: bool = False
    dynamic: bool | None = None
    mode: str = "default"
    recompile_limit: int | None = None
    check: int | str = 0
    fusion: bool = True
    threads: bool = True
    inline_depth: int = 200
    step_limit: int = 5_000_000
    verify: str = ""
    verify_action: str = "raise"
    break_at: int = 0
    settings: Settings | None = None

    def fixed(self) -> "Options":
        """Return these options with the configuration of this moment: what one compilation goes by."""
        return replace(self, settings=self.config)

    @property
    def config(self) -> Settings:
        """The configuration."""
        return self.settings or config.now()

    def must_raise(self, reason: Explained) -> bool:
        """Tell whether the user wants an error where capture gives up for this reason."""
        is_error = self.config.error_on_graph_break if reason.is_error is None else reason.is_error
        return self.fullgraph or is_error

    @property
    def limit(self) -> int:
        """Entries per compiled object and code object."""
        return self.config.recompile_limit if self.recompile_limit is None else self.recompile_limit

    @property
    def spec_level(self) -> int:
        """How much of each language's spec is checked: the more of what the option and the configuration say.

        Raises:
            OptionsError: one of them says something else than it may.
        """
        asked = (str(self.check), self.config.check)
        for one in asked:
            if one not in _LEVELS:
                raise OptionsError(f"check is 0, 1, 2 or 'memory', not {one!r}")
        return max(_LEVELS[one] for one in asked)

    @property
    def guards_memory(self) -> bool:
        """Whether kernels run between guard pages."""
        return "memory" in (self.check, self.config.check)

    def verified_share(self) -> float | None:
        """Which part of the calls is verified: 0.0 is the first alone; None is none.

        Raises:
            OptionsError: `verify` or `verify_action` is something else than it may be.
        """
        if self.verify_action not in ("raise", "log"):
            raise OptionsError(f"verify_action is 'raise' or 'log', not {self.verify_action!r}")
        how = self.verify or self.config.verify
        if how in _SHARES:
            return _SHARES[how]
        try:
            share = float(how)
        except ValueError:
            share = 0.0
        if not 0 < share <= 1:
            raise OptionsError(f"verify is 'first', 'always' or a part of the calls up to 1, not {how!r}")
        return share

    @property
    def is_dynamic(self) -> bool | None:
        """What `dynamic` means under the configuration: None is static first."""
        return self.config.dynamic_shapes if self.dynamic is None else self.dynamic


MODES: Final = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs", "lite")
CPU_LEVELS: Final = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
"""The levels of the x86-64 psABI."""
_SHARES: Final[Mapping[str, float | None]] = {"": None, "first": 0.0, "always": 1.0}
_LEVELS: Final[Mapping[str, int]] = {"": 0, "0": 0, "1": 1, "2": 2, "memory": 1}
_LIMITS: Final = ("recompile_limit", "inline_depth", "step_limit", "break_at")
_SETTABLE: Final = (*_LIMITS, "check", "fusion", "threads", "verify_action")


def cpu_level(name: str) -> str:
    """Return what `config.cpu` says, "native" where it says nothing.

    Raises:
        OptionsError: it names no level of processors.
    """
    if name not in ("", "native", *CPU_LEVELS):
        names = ", ".join(map(repr, CPU_LEVELS))
        raise OptionsError(f"cpu (SUPPLE_CPU) is 'native' or one of {names}, not {name!r}")
    return name or "native"


def with_mapping(base: Options, given: Mapping[str, object]) -> Options:
    """Return `base` with the user's `options={...}` applied.

    Raises:
        OptionsError: for an unknown name or a value of the wrong type; lists what is known.
    """
    kinds: dict[str, tuple[type, ...]] = {
        one.name: (int if one.default is None else type(one.default),) for one in fields(Options)
    }
    kinds["check"] = (int, str)
    for name, value in given.items():
        if name not in _SETTABLE:
            raise OptionsError(f"unknown option {name!r}; known options are {', '.join(_SETTABLE)}")
        if type(value) not in kinds[name]:
            wanted = " or ".join(kind.__name__ for kind in kinds[name])
            raise OptionsError(f"option {name!r} takes a {wanted}, not {value!r}")
    return replace(base, **dict(given))
