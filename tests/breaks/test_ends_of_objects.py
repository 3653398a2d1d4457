"""Objects end when they end in eager: finalizers run in their place, weak references tell of it."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple

events: list[object] = []


def say(what: object) -> None:
    events.append(what)


class Noisy:
    """Says when it ends."""

    def __init__(self, name: object) -> None:
        self.name = name

    def __del__(self) -> None:
        say(f"end of {self.name}")


class Plain:
    """An object that can be referred to weakly."""

    value: Any = 3


class Holder:
    """An object from outside, with what programs take from it."""

    def __init__(self) -> None:
        self.noisy: Any = Noisy("noisy")
        self.plain: Any = Plain()
        self.box: Any = [Noisy("boxed")]
        self.tensor: Any = torch.ones(2)
        self.reference = weakref.ref(self.plain)
        self.items: list[Any] = [Noisy("item"), Plain()]
        self.named: dict[str, Any] = {"k": Noisy("named")}
        self.members = {Noisy("member")}


GLOBAL: object = None
x = torch.ones(2)


def a_weak_reference_after_del(h: Holder) -> object:
    d = Plain()
    w = weakref.ref(d)
    del d
    return w() is None


def finalizers_between_calls(h: Holder) -> object:
    d = Noisy(1)
    say("a")
    del d
    say("b")
    e = Noisy(2)
    say("c")
    return x + 1


def a_local_of_an_inner_function(h: Holder) -> object:
    def inner():
        d = Noisy(1)
        say("in")

    inner()
    say("out")
    return x + 1


def a_name_bound_again(h: Holder) -> object:
    d = Noisy(1)
    say("a")
    d = Noisy(2)
    say("b")
    d = None
    say("c")
    return x + 1


def pop(h: Holder) -> object:
    say("a")
    h.items.pop(0)
    say("b")
    return x + 1


def del_of_an_item(h: Holder) -> object:
    say("a")
    del h.items[0]
    say("b")
    return x + 1


def clear(h: Holder) -> object:
    say("a")
    h.items.clear()
    say("b")
    return x + 1


def an_item_replaced(h: Holder) -> object:
    say("a")
    h.items[0] = None
    say("b")
    return x + 1


def del_of_a_key(h: Holder) -> object:
    say("a")
    del h.named["k"]
    say("b")
    return x + 1


def a_key_replaced(h: Holder) -> object:
    say("a")
    h.named["k"] = 1
    say("b")
    return x + 1


def update(h: Holder) -> object:
    say("a")
    h.named.update(k=None)
    say("b")
    return x + 1


def a_set_cleared(h: Holder) -> object:
    say("a")
    h.members.clear()
    say("b")
    return x + 1


def an_attribute_replaced(h: Holder) -> object:
    say("a")
    h.noisy = None
    say("b")
    return x + 1


def an_attribute_deleted(h: Holder) -> object:
    say("a")
    del h.noisy
    say("b")
    return x + 1


def a_list_replaced(h: Holder) -> object:
    say("a")
    h.box = None
    say("b")
    return x + 1


def an_attribute_with_a_weak_reference(h: Holder) -> object:
    h.plain = None
    return x + 1, h.reference() is None


def an_item_with_a_weak_reference(h: Holder) -> object:
    w = weakref.ref(h.items[1])
    h.items.pop()
    return x + 1, w() is None


def a_new_list_holds_it(h: Holder) -> object:
    p = Plain()
    q = [p]
    w = weakref.ref(p)
    del p
    before = w() is None
    q.clear()
    return x + 1, before, w() is None


def finalize(h: Holder) -> object:
    p = Plain()
    weakref.finalize(p, say, "final")
    say("a")
    del p
    say("b")
    return x + 1


def a_cycle(h: Holder) -> object:
    p = Plain()
    p.value = p
    w = weakref.ref(p)
    del p
    found = w() is None
    p = w()
    assert p is not None
    p.value = p = None
    return found, w() is None


def a_callback(h: Holder) -> object:
    p = Plain()
    w = weakref.ref(p, lambda _: say("callback"))
    say("a")
    del p
    say("b")
    return x + 1


def a_weak_key(h: Holder) -> object:
    d = weakref.WeakKeyDictionary()
    p = Plain()
    d[p] = 1
    before = len(d)
    del p
    return x + 1, before, len(d)


def a_weak_value(h: Holder) -> object:
    d = weakref.WeakValueDictionary()
    p = Plain()
    d[1] = p
    before = len(d)
    del p
    return x + 1, before, len(d)


def a_tensor(h: Holder) -> object:
    y = x + 1
    w = weakref.ref(y)
    del y
    return x, w() is None


def a_tensor_of_an_attribute(h: Holder) -> object:
    w = weakref.ref(h.tensor)
    h.tensor = None
    return x + 1, w() is None


def a_function(h: Holder) -> object:
    def f():
        return 1

    w = weakref.ref(f)
    del f
    return x, w() is None


def a_temporary_object(h: Holder) -> object:
    say("a")
    Noisy(1)
    say("b")
    return x + 1, weakref.ref(Plain())() is None


def a_global(h: Holder) -> object:
    global GLOBAL
    say("a")
    GLOBAL = None
    say("b")
    return x + 1


def a_variable_of_a_closure(h: Holder) -> object:
    d = Noisy(5)

    def f():
        return d

    f()
    say("a")
    d = None
    say("b")
    return x + 1


def the_end_of_a_handler(h: Holder) -> object:
    d = Noisy(1)
    try:
        raise ValueError
    except ValueError:
        say("caught")
    del d
    say("a")
    return x + 1


def a_generator(h: Holder) -> object:
    def g():
        d = Noisy(1)
        yield 1
        yield 2

    it = g()
    next(it)
    say("a")
    del it
    say("b")
    return x + 1


def two_names(h: Holder) -> object:
    old, h.noisy = h.noisy, None
    say("a")
    del old
    say("b")
    return x + 1


def an_object_that_holds_it(h: Holder) -> object:
    q = Holder()
    say("a")
    del q
    say("b")
    return x + 1


def a_result(h: Holder) -> object:
    d = Noisy(3)
    say("a")
    return x + 1, type(d)


PROGRAMS = [
    a_weak_reference_after_del,
    finalizers_between_calls,
    a_local_of_an_inner_function,
    a_name_bound_again,
    pop,
    del_of_an_item,
    clear,
    an_item_replaced,
    del_of_a_key,
    a_key_replaced,
    update,
    a_set_cleared,
    an_attribute_replaced,
    an_attribute_deleted,
    a_list_replaced,
    an_attribute_with_a_weak_reference,
    an_item_with_a_weak_reference,
    a_new_list_holds_it,
    finalize,
    a_cycle,
    a_callback,
    a_weak_key,
    a_weak_value,
    a_tensor,
    a_tensor_of_an_attribute,
    a_function,
    a_temporary_object,
    a_global,
    a_variable_of_a_closure,
    the_end_of_a_handler,
    a_generator,
    two_names,
    an_object_that_holds_it,
    a_result,
]


def plain(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return value.tolist() if isinstance(value, torch.Tensor) else value


def seen(function: Callable[[Holder], object]) -> list[object]:
    """Return what a program sees and gives, in two calls."""
    found: list[object] = []
    for _ in range(2):
        globals()["GLOBAL"] = Noisy("global")
        holder = Holder()
        events.clear()
        result = plain(function(holder))
        found.append((list(events), result))
    globals()["GLOBAL"] = None
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_objects_end_as_in_eager(program: Callable[[Holder], object]) -> None:
    gc.collect()
    assert seen(supple.compile(program)) == seen(program)


def test_what_nobody_watches_is_captured_whole() -> None:
    def program(h: Holder) -> torch.Tensor:
        h.tensor = h.tensor + 1
        h.items = [1]
        h.items.pop()
        made = Plain()
        del made
        return h.tensor

    h = Holder()
    h.items = []
    compiled = supple.compile(program, fullgraph=True)
    compiled(h)
    assert compiled(h).tolist() == [3.0, 3.0]


def test_references_of_the_compiler_are_not_seen() -> None:
    """Entries watch objects that they know by identity; a function that loses such an object has no break."""

    def program(x: torch.Tensor, a: object, b: object) -> torch.Tensor:
        y = x + 1 if a is b else x + 2
        a = b = None
        return y

    compiled = supple.compile(program, fullgraph=True)
    one, other = Plain(), Plain()
    for pair in ((one, one), (one, other), (one, one)):
        assert torch.equal(compiled(x, *pair), program(x, *pair))
