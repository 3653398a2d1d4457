"""What residual code calls to make objects and to replay changes on objects that existed before the call."""

import types
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, MutableSet, Sequence


def bare_instance(cls: type, arguments: tuple[object, ...]) -> object:
    """Return an instance of `cls` on which no `__init__` ran; `arguments` go to the builtin base's `__new__`."""
    for base in (BaseException, tuple, str, int, float, frozenset):
        if issubclass(cls, base):
            return base.__new__(cls, *arguments)
    for base in (dict, list, set):
        if issubclass(cls, base):
            return base.__new__(cls)
    return object.__new__(cls)


def set_attributes(owner: object, names: tuple[str, ...], values: tuple[object, ...]) -> None:
    """Write own attributes past any `__setattr__` of the class."""
    for name, value in zip(names, values, strict=True):
        object.__setattr__(owner, name, value)


def delete_attributes(owner: object, names: tuple[str, ...]) -> None:
    """Delete own attributes past any `__delattr__` of the class."""
    for name in names:
        object.__delattr__(owner, name)


def make_function(
    code: types.CodeType,
    names: dict[str, object],
    defaults: tuple[object, ...] | None,
    kwdefaults: dict[str, object] | None,
    closure: tuple[types.CellType, ...],
) -> types.FunctionType:
    """Return a function over existing cells."""
    made = types.FunctionType(code, names, code.co_name, defaults, closure)
    made.__kwdefaults__ = kwdefaults
    made.__qualname__ = code.co_qualname
    return made


def replace_sequence(target: MutableSequence[object], items: Sequence[object]) -> None:
    """Make a list or deque hold exactly `items`."""
    if isinstance(target, list):
        list.__setitem__(target, slice(None), items)
        return
    target.clear()
    target.extend(items)


def replace_mapping(target: MutableMapping[object, object], items: Mapping[object, object]) -> None:
    """Make a dict hold exactly `items`, in their order; untouched when it does already."""
    if not isinstance(target, dict):
        target.clear()
        target.update(items)
        return
    keys = list(items)
    if list(dict.keys(target)) != keys[: len(target)]:
        clear: Callable[[object], object] = (
            type(target).clear if type(target) is dict else _base(target).clear
        )
        clear(target)
    store: Callable[[object, object, object], object] = _base(target).__setitem__
    for key in keys:
        store(target, key, items[key])


def fill_mapping(target: dict[object, object], items: Mapping[object, object]) -> None:
    """Add `items` to a new dict, past any `__setitem__` of its class."""
    store: Callable[[object, object, object], object] = _base(target).__setitem__
    for key in items:
        store(target, key, items[key])


def _base(target: dict[object, object]) -> type[dict[object, object]]:
    return next(cls for cls in type(target).__mro__ if not cls.__flags__ & (1 << 9) or cls is dict)


def replace_set(target: MutableSet[object], items: set[object]) -> None:
    """Make a set hold exactly `items`."""
    target.clear()
    target |= items
