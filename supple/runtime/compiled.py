"""CompiledModule: the module that stands for a compiled module. Capture sees through it."""

import copy
from collections.abc import Callable, Iterator
from typing import Final, cast

import torch

#: Methods of nn.Module that return the module: on the wrapper they return the wrapper.
FLUENT: Final = frozenset(
    "apply bfloat16 cpu cuda double eval float half ipu mtia requires_grad_ share_memory to to_empty train "
    "type xpu".split()
)
_OWN: Final = frozenset(
    "__class__ __deepcopy__ __reduce_ex__ orig "
    "__supple_original__ __supple_recompile__ __supple_run__".split()
)
_get: Final = object.__getattribute__

Recompile = Callable[[torch.nn.Module], "CompiledModule"]


class CompiledModule(torch.nn.Module):
    """A module whose call runs compiled code; everything else is the original's.

    Attributes, parameters, hooks, modes and state are those of the original: `state_dict` has its keys,
    `train()` acts on it. Methods that return the module return the wrapper.
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

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Run the compiled code, hooks of the original included."""
        return _get(self, "__supple_run__")(*args, **kwargs)

    def __getattribute__(self, name: str) -> object:
        if name in _OWN:
            return _get(self, name)
        found: object = getattr(original_of(self), name)
        return _Fluent(self, found) if name in FLUENT and callable(found) else found

    def __setattr__(self, name: str, value: object) -> None:
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
