"""CompiledModule: the module that stands for a compiled module. Capture sees through it."""

import copy
import functools
import weakref
from collections.abc import Callable, Iterator
from typing import Final, cast

import torch

from supple.torch_private import WRAPPED, WRAPPER

#: Methods of nn.Module that return the module: on the wrapper they return the wrapper.
FLUENT: Final = frozenset(
    "apply bfloat16 cpu cuda double eval float half ipu mtia requires_grad_ share_memory to to_empty train "
    "type xpu".split()
)
_OWN: Final = frozenset(
    f"__deepcopy__ __reduce_ex__ orig _orig_mod {WRAPPED} {WRAPPER} "
    "__supple_original__ __supple_recompile__ __supple_run__".split()
)
_get: Final = object.__getattribute__

Recompile = Callable[[torch.nn.Module], "CompiledModule"]


class CompiledModule(torch.nn.Module):
    """A module whose call runs compiled code; everything else is the original's.

    Attributes, parameters, hooks, modes and state are those of the original: `state_dict` has its keys,
    `train()` acts on it. `isinstance` takes the wrapper for an object of the original's class, so libraries
    that ask for their own classes serve compiled modules. Methods that return the module return the wrapper.
    """

    __slots__ = ("__supple_original__", "__supple_recompile__", "__supple_run__")

    # nn.Module.__init__ is not called: the original has the state.
    def __init__(self, original: torch.nn.Module, run: Callable[..., object], recompile: Recompile) -> None:
        object.__setattr__(self, "__supple_original__", original)
        object.__setattr__(self, "__supple_run__", run)
        object.__setattr__(self, "__supple_recompile__", recompile)

    @property
    def orig(self) -> torch.nn.Module:
        """The module that was compiled."""
        return original_of(self)

    @property
    def _orig_mod(self) -> torch.nn.Module:
        """The module that was compiled, by the name that `torch.compile` has for it."""
        return original_of(self)

    # `torch.compile` of a compiled module compiles the original.
    locals()[WRAPPED] = orig
    locals()[WRAPPER] = property(id)

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Run the compiled code, hooks of the original included."""
        return _get(self, "__supple_run__")(*args, **kwargs)

    def __getattribute__(self, name: str) -> object:
        if name in _OWN:
            return _get(self, name)
        found: object = getattr(original_of(self), name)
        return _Fluent(self, found) if name in FLUENT and callable(found) else found

    def __setattr__(self, name: str, value: object) -> None:
        if name == "_orig_mod":
            made = _recompile(self)(cast("torch.nn.Module", value))
            CompiledModule.__init__(self, original_of(made), _get(made, "__supple_run__"), _recompile(self))
        else:
            setattr(original_of(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(original_of(self), name)

    def __dir__(self) -> list[str]:
        return sorted({*dir(original_of(self)), "orig"})

    def __repr__(self) -> str:
        return f"Compiled({original_of(self)!r})"

    def __getitem__(self, index: object) -> object:
        return cast("dict[object, object]", original_of(self))[index]

    def __len__(self) -> int:
        return len(cast("list[object]", original_of(self)))

    def __iter__(self) -> Iterator[object]:
        return iter(cast("list[object]", original_of(self)))

    def __bool__(self) -> bool:
        return bool(original_of(self))

    def __deepcopy__(self, memo: dict[int, object]) -> "CompiledModule":
        return _recompile(self)(copy.deepcopy(original_of(self), memo))

    def __reduce_ex__(self, _: object) -> tuple[object, ...]:
        return _recompile(self), (original_of(self),)


_STAND_INS: Final[weakref.WeakValueDictionary[int, type[CompiledModule]]] = weakref.WeakValueDictionary()
"""The classes of wrappers that live, by the id of the class that they are of, which each of them holds."""


def stand_in(kind: type[torch.nn.Module]) -> type[CompiledModule]:
    """Return the class of wrappers of a class; its `forward` shows the signature of the original's."""
    known = _STAND_INS.get(id(kind))
    if known is None:
        known = _STAND_INS[id(kind)] = _made_stand_in(kind)
    return known


def _made_stand_in(kind: type[torch.nn.Module]) -> type[CompiledModule]:
    found = kind.forward

    @functools.wraps(found)
    def forward(self: CompiledModule, *args: object, **kwargs: object) -> object:
        return original_of(self).forward(*args, **kwargs)

    # Guards tell by its name that it ends where the class of the original does.
    name = f"CompiledModule[{kind.__qualname__}]"
    space = {"forward": forward, "__slots__": (), "__qualname__": name, "__supple_class__": kind}
    return type("CompiledModule", (CompiledModule,), space)


class _Fluent:
    """A method of the original whose result, when it is the original, becomes the wrapper."""

    __slots__ = ("_method", "_wrapper")

    def __init__(self, wrapper: CompiledModule, method: Callable[..., object]) -> None:
        self._wrapper = wrapper
        self._method = method

    def __call__(self, *args: object, **kwargs: object) -> object:
        result = self._method(*args, **kwargs)
        return self._wrapper if result is original_of(self._wrapper) else result


def original_of(module: CompiledModule) -> torch.nn.Module:
    """Return the module that was compiled."""
    return cast("torch.nn.Module", _get(module, "__supple_original__"))


def _recompile(module: CompiledModule) -> Recompile:
    return cast("Recompile", _get(module, "__supple_recompile__"))
