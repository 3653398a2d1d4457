"""What can be done to an object and undone, whoever holds it: containers, classes, functions, modules."""

import abc
import builtins
import contextlib
import copy
import functools
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Final

import torch
from torch import Tensor, nn

from tests.mutation.tensors import Effect, attribute, tensor_effects
from tests.mutation.values import changing
from tests.mutation.worlds import World

MISSING: Final = object()
CACHED: Final = type(functools.cache(len))


def three(*_: Any) -> int:
    return 3


def truth(*_: Any) -> bool:
    return False


def anything(self: Any, name: str) -> int:
    if name.startswith("__"):
        raise AttributeError(name)
    return 7


def calls(self: Any, *args: Any, **kwargs: Any) -> Any:
    return 5


def letters(self: Any) -> Iterator[str]:
    return iter("ab")


def equal(self: Any, other: object) -> bool:
    return True


def item(self: Any, key: object) -> int:
    return 11


SPECIAL: Final[dict[str, Any]] = {
    "__bool__": truth,
    "__len__": three,
    "__eq__": equal,
    "__hash__": three,
    "__call__": calls,
    "__iter__": letters,
    "__contains__": truth,
    "__getitem__": item,
    "__getattr__": anything,
    "__int__": three,
    "__index__": three,
    "__add__": lambda self, other: 13,
    "__radd__": lambda self, other: 17,
    "__rmul__": lambda self, other: other * 2,
    "__repr__": lambda self: "shown",
    "__torch_function__": classmethod(lambda cls, func, types, args=(), kwargs=None: 19),
}
"""Methods that a class is given, in place of its own too."""


class Mixin:
    """A base that a class is given."""

    def mixed(self) -> int:
        return 1


@functools.singledispatch
def effects(value: Any, world: World) -> Iterator[Effect]:
    """Yield what can be done to an object of this type."""
    if isinstance(value, type) or not isinstance(getattr(value, "__dict__", None), dict):
        return
    if type(value).__module__ == world.names["__name__"]:
        yield from of_instances(value)
        for name in filter(str.isidentifier, asked(vars(value), world)):
            yield f"attribute {name}", lambda name=name: attribute(value, name, 1)


@effects.register
def _(value: Tensor, world: World) -> Iterator[Effect]:
    yield from tensor_effects(value)


@effects.register
def _(value: list, world: World) -> Iterator[Effect]:
    yield "append", lambda: contents(value, [*value, value[-1] if value else 1])
    if len(value) > 1:
        yield "reverse", lambda: contents(value, value[::-1])
        yield "one object twice", lambda: contents(value, [value[0], *value[:-1]])
    if value:
        yield "pop", lambda: contents(value, value[:-1])
        yield "clear", lambda: contents(value, [])


@contextlib.contextmanager
def contents(owner: list[Any], items: list[Any]) -> Iterator[None]:
    """Give a list other items."""
    before = list(owner)
    list.__setitem__(owner, slice(None), items)
    try:
        yield
    finally:
        list.__setitem__(owner, slice(None), before)


@effects.register
def _(value: dict, world: World) -> Iterator[Effect]:
    items = list(dict.items(value))
    if len(items) > 1:
        yield "reorder", lambda: entries(value, dict(reversed(items)))
    if items:
        yield "delete the last", lambda: entries(value, dict(items[:-1]))
        yield "first key renamed", lambda: entries(value, {"renamed": items[0][1], **dict(items[1:])})
    first = items[0][1] if items else 1
    for key in ("more", *asked(value, world)):
        yield f"add {key!r}", lambda key=key: entries(value, {**dict(items), key: first})


def asked(value: dict[Any, Any], world: World) -> list[Any]:
    """Return some keys that a dict has not, among the constants of the program: it may ask for them."""
    kinds = {type(key) for key in dict.keys(value)} or {str}
    found = constants(getattr(world.function, "__code__", None))
    lacking = [one for one in dict.fromkeys(found) if not dict.__contains__(value, one)]
    return [one for one in lacking if type(one) in kinds][:3]


def constants(code: types.CodeType | None) -> Iterator[object]:
    """Yield the texts and the numbers in a function and in those made in it."""
    for constant in code.co_consts if code is not None else ():
        if isinstance(constant, types.CodeType):
            yield from constants(constant)
        elif isinstance(constant, str | int):
            yield constant


@contextlib.contextmanager
def entries(owner: dict[Any, Any], items: dict[Any, Any]) -> Iterator[None]:
    """Give a dict other entries."""
    before = dict(dict.items(owner))
    refill(owner, items)
    try:
        yield
    finally:
        refill(owner, before)


def refill(owner: dict[Any, Any], items: dict[Any, Any]) -> None:
    base = OrderedDict if isinstance(owner, OrderedDict) else dict  # which knows its order
    base.clear(owner)
    base.update(owner, items)


@effects.register
def _(value: set, world: World) -> Iterator[Effect]:
    yield "add", lambda: elements(value, {*value, "more"})
    if value:
        yield "clear", lambda: elements(value, set())


@contextlib.contextmanager
def elements(owner: set[Any], items: set[Any]) -> Iterator[None]:
    before = set(owner)
    owner.clear()
    owner.update(items)
    try:
        yield
    finally:
        owner.clear()
        owner.update(before)


def of_instances(value: Any) -> Iterator[Effect]:
    """Yield what can be done to an instance of a class of the program."""
    kind = type(value)
    yield "attribute", lambda: attribute(value, "more", 1)
    yield "subclass", lambda: of_class(value, type(kind.__name__, (kind,), {}))
    yield "subclass that is false", lambda: of_class(value, type(kind.__name__, (kind,), {"__bool__": truth}))
    own = vars(value)
    for name in list(own)[:6]:
        if not name.startswith("_"):
            yield f"del {name}", lambda name=name: replaced(own, name, MISSING)
    for name, member in methods(kind):
        bound = types.MethodType(changing(member), value)
        yield f"own {name}", lambda name=name, bound=bound: replaced(own, name, bound)
        changed = type(kind.__name__, (kind,), {name: changing(member)})
        yield f"subclass with {name}", lambda changed=changed: of_class(value, changed)


def methods(kind: type) -> list[tuple[str, Callable[..., Any]]]:
    """Return some methods of a class of the program."""
    found = [(name, one) for name, one in vars(kind).items() if isinstance(one, types.FunctionType)]
    return [one for one in found if one[0] not in ("__init__", "__new__", "__hash__", "__init_subclass__")][
        :4
    ]


@contextlib.contextmanager
def of_class(value: Any, kind: type) -> Iterator[None]:
    """Change the class of an object, whatever its own `__setattr__` does."""
    before = type(value)
    object.__setattr__(value, "__class__", kind)
    try:
        yield
    finally:
        object.__setattr__(value, "__class__", before)


@contextlib.contextmanager
def replaced(owner: dict[str, Any], name: str, value: object) -> Iterator[None]:
    """Set or delete an entry of a dictionary; put it back where it was in the order."""
    before = dict(owner)
    if value is MISSING:
        owner.pop(name, None)
    else:
        owner[name] = value
    try:
        yield
    finally:
        was, now = before.get(name, MISSING), owner.get(name, MISSING)
        if was is MISSING:
            owner.pop(name, None)
        elif now is MISSING:
            refill(owner, {**{key: owner.get(key, one) for key, one in before.items()}, **owner})
        else:
            owner[name] = was


@effects.register
def _(value: type, world: World) -> Iterator[Effect]:
    if value.__module__ != world.names["__name__"]:
        return
    asked = ("__instancecheck__", "__subclasscheck__") if issubclass(value, type) else ()
    for name, method in (*SPECIAL.items(), *((one, truth) for one in asked)):
        yield f"given {name}", lambda name=name, method=method: member(value, name, method)
    yield "given an attribute", lambda: member(value, "more", 1)
    for name in ("__name__", "__qualname__"):
        yield name, lambda name=name: member(value, name, getattr(value, name) + "x")
    yield "__doc__", lambda: member(value, "__doc__", "another text")
    for name, one in list(vars(value).items())[:12]:
        if not name.startswith("__") and not isinstance(one, types.MemberDescriptorType):
            yield f"del {name}", lambda name=name: member(value, name, MISSING)
    if value.__bases__ != (object,):
        yield "bases", lambda: member(value, "__bases__", (*value.__bases__, Mixin))
        yield "other bases", lambda: member(value, "__bases__", (Mixin,))
        yield "bases first", lambda: member(value, "__bases__", (Mixin, *value.__bases__))
    if isinstance(value, abc.ABCMeta):
        yield "register", lambda: registered(value)


@contextlib.contextmanager
def member(owner: type, name: str, value: object) -> Iterator[None]:
    """Set an attribute of a class, or delete one; put back what was there.

    Raises:
        TypeError: the class does not take it.
        AttributeError: the same.
    """
    is_of_types = name in ("__bases__", "__name__", "__qualname__")
    before = getattr(owner, name) if is_of_types else vars(owner).get(name, MISSING)
    delattr(owner, name) if value is MISSING else setattr(owner, name, value)
    try:
        yield
    finally:
        delattr(owner, name) if before is MISSING else setattr(owner, name, before)


@contextlib.contextmanager
def registered(kind: abc.ABCMeta) -> Iterator[None]:
    """Let all objects be instances of an abstract class; registering empties what it remembers."""
    hook = classmethod(lambda cls, other: True)
    with member(kind, "__subclasshook__", hook):
        kind.register(Mixin)
        yield
    kind.register(type("Another", (), {}))


@contextlib.contextmanager
def global_name(names: dict[str, Any], name: str) -> Iterator[None]:
    """Let a variable of the module hide a builtin function or class."""
    names[name] = lambda *args, **kwargs: 23
    try:
        yield
    finally:
        del names[name]


@effects.register
def _(value: types.FunctionType, world: World) -> Iterator[Effect]:
    if value.__globals__ is not world.names:
        return
    yield "attribute", lambda: attribute(value, "more", 1)
    code = value.__code__
    for index, constant in enumerate(code.co_consts):
        if isinstance(constant, int | float) and not isinstance(constant, bool):
            changed = (*code.co_consts[:index], constant + 1, *code.co_consts[index + 1 :])
            yield (
                f"constant {constant!r}",
                lambda changed=changed: field(value, "__code__", code.replace(co_consts=changed)),
            )
    for name in code.co_names:
        if name in world.names or not callable(getattr(builtins, name, None)):
            continue
        yield f"global {name}", lambda name=name: global_name(world.names, name)
    yield "equal code", lambda: field(value, "__code__", code.replace(co_name=code.co_name))
    for name in ("__name__", "__qualname__"):
        yield name, lambda name=name: field(value, name, "renamed")
    yield "__doc__", lambda: field(value, "__doc__", "another text")
    if value.__defaults__:
        yield "no defaults", lambda: field(value, "__defaults__", None)
    if value.__kwdefaults__:
        yield "no defaults by name", lambda: field(value, "__kwdefaults__", None)


@effects.register(CACHED)
def _(value: Any, world: World) -> Iterator[Effect]:
    for name, make in effects(value.__wrapped__, world):
        yield f"{name}, cache cleared", lambda make=make: cleared(value, make)


@contextlib.contextmanager
def cleared(cached: Any, make: Callable[[], contextlib.AbstractContextManager[None]]) -> Iterator[None]:
    """Let a function behind a cache give other answers, also where it has answered."""
    with make():
        cached.cache_clear()
        yield
    cached.cache_clear()


@contextlib.contextmanager
def field(owner: Any, name: str, value: object) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@effects.register
def _(value: nn.Module, world: World) -> Iterator[Effect]:
    yield "train or eval", lambda: trained(value, not value.training)
    yield "training alone", lambda: field(value, "training", not value.training)
    hooks = {
        "forward hook": lambda: value.register_forward_hook(lambda module, args, result: larger(result)),
        "forward pre-hook": lambda: value.register_forward_pre_hook(lambda module, args: larger(args)),
        "backward hook": lambda: value.register_full_backward_hook(lambda module, given, made: None),
    }
    for name, add in hooks.items():
        yield name, lambda add=add: removed(add)
    yield "frozen", lambda: frozen(value)
    yield "forward of its own", lambda: replaced(vars(value), "forward", changing(value.forward))
    if any(True for _ in value.parameters()):
        yield "double", lambda: doubled(value)
    if type(value).__module__ == world.names["__name__"]:
        yield from of_instances(value)


def larger(result: Any) -> Any:
    if isinstance(result, Tensor):
        return result + 1 if result.is_floating_point() else result
    return tuple(map(larger, result)) if type(result) is tuple else result


@contextlib.contextmanager
def trained(module: nn.Module, flag: bool) -> Iterator[None]:
    before = [(one, one.training) for one in module.modules()]
    module.train(flag)
    try:
        yield
    finally:
        for one, was in before:
            one.training = was


@contextlib.contextmanager
def removed(add: Callable[[], Any]) -> Iterator[None]:
    handle = add()
    try:
        yield
    finally:
        handle.remove()


@contextlib.contextmanager
def frozen(module: nn.Module) -> Iterator[None]:
    before = [(one, one.requires_grad) for one in module.parameters() if one.is_leaf]
    for one, was in before:
        one.requires_grad_(not was)
    try:
        yield
    finally:
        for one, was in before:
            one.requires_grad_(was)


@contextlib.contextmanager
def doubled(module: nn.Module) -> Iterator[None]:
    """Convert a module to float64 in place; put back the tensors that it had."""
    before = [(one, one.data) for one in (*module.parameters(), *module.buffers())]
    module.double()
    try:
        yield
    finally:
        for one, was in before:
            one.data = was


@effects.register
def _(value: torch.optim.Optimizer, world: World) -> Iterator[Effect]:
    for group in value.param_groups:
        yield "lr", lambda group=group: replaced(group, "lr", group["lr"] * 2)
        yield "momentum", lambda group=group: replaced(group, "momentum", 0.5)
        yield "weight_decay", lambda group=group: replaced(group, "weight_decay", 0.5)
    yield "state", lambda: entries(value.state, copy.copy(dict(list(value.state.items())[:-1])))
