"""What residual code calls to make objects and to replay changes on objects that existed before the call."""

import collections
import copy
import functools
import gc
import inspect
import itertools
import operator
import threading
import types
from collections.abc import (
    Callable,
    Generator,
    Iterator,
    Mapping,
    MutableMapping,
    MutableSequence,
    Sequence,
    Set,
)
from contextlib import suppress
from typing import Final, Protocol, cast

Store = Callable[[object, object, object], None]
New = Callable[..., object]

_SLOT: Final = type(BaseException.__init__)
_NEW: Final = types.BuiltinFunctionType
_TAKES_CONTENTS: Final = (tuple, str, int, float, frozenset)
_STARTS_EMPTY: Final = (dict, list, set)


def bare_instance(cls: type, arguments: tuple[object, ...]) -> object:
    """Return an instance of `cls` on which no `__init__` ran; a builtin base's `__new__` gets `arguments`."""
    if BaseException in cls.__mro__:
        new = next(made for base in cls.__mro__ if isinstance(made := vars(base).get("__new__"), _NEW))
        made = cast("New", new)(cls, *arguments)
        maker = next(base for base in cls.__mro__ if isinstance(vars(base).get("__init__"), _SLOT))
        cast("New", vars(maker)["__init__"])(made, *arguments)
        return made
    for base in (*_TAKES_CONTENTS, *_STARTS_EMPTY):
        if issubclass(cls, base):
            contents = arguments if base in _TAKES_CONTENTS else ()
            return cast("New", vars(base)["__new__"])(cast("type", cls), *contents)
    return cast("object", object.__new__(cls))


def can_be_bare(cls: type) -> bool:
    """Tell whether `bare_instance` can make an instance: nothing else in C makes them."""
    makers = (base for base in cls.__mro__ if isinstance(vars(base).get("__new__"), _NEW))
    return next(makers) is object or issubclass(cls, (BaseException, *_TAKES_CONTENTS, *_STARTS_EMPTY))


def set_attributes(owner: object, names: tuple[str, ...], values: tuple[object, ...]) -> None:
    """Write own attributes past any `__setattr__` of the class."""
    is_local = issubclass(type(owner), threading.local)
    write = cast("Store", threading.local.__setattr__ if is_local else object.__setattr__)
    for name, value in zip(names, values, strict=True):
        write(owner, name, value)


def delete_attributes(owner: object, names: tuple[str, ...]) -> None:
    """Delete own attributes, where they are there, past any `__delattr__` of the class."""
    is_local = issubclass(type(owner), threading.local)
    delete = cast("New", threading.local.__delattr__ if is_local else object.__delattr__)
    for name in names:
        with suppress(AttributeError):
            delete(owner, name)


def bound(function: Callable[..., object], owner: object) -> object:
    """Return a method written in C of an object, or of a class, whatever its class calls by that name."""
    place = (None, owner) if isinstance(function, types.ClassMethodDescriptorType) else (owner,)
    get = getattr(function, "__get__", None)
    return types.MethodType(function, owner) if get is None else get(*place)


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


def with_traceback(error: BaseException) -> BaseException:
    """Return an exception that is being handled; one that capture raised gets a traceback."""
    if error.__traceback__ is None:
        error.__traceback__ = types.TracebackType(None, _FRAME, 0, _FRAME.f_lineno)
    return error


def _compiled_code() -> Generator[None]:
    """Be a frame that has no caller: one that has would keep what its caller holds."""
    yield


_RAISES: Final = _compiled_code()
_FRAME: Final = cast("types.FrameType", cast("types.GeneratorType[None, None, None]", _RAISES).gi_frame)


def asked(owner: object, name: str, getter: Callable[[], object]) -> object:
    """Return what a getter gives; an AttributeError is told the name and the object, as Python does."""
    try:
        return getter()
    except AttributeError as error:
        if error.name is None and error.obj is None:
            error.name, error.obj = name, owner
        raise


def relay(box: list[object]) -> Generator[object, object, object]:
    """Be a generator whose state can be read and replaced: what goes on is made of the box at its next use.

    Args:
        box: a function, whether its generator has started, and the function's arguments; empty while that
            generator runs.
    """
    inner: Generator[object, object, object] | None = None
    is_waiting, sent, item = bool(box[1]), None, None
    error: BaseException | None = None
    while True:
        try:
            if is_waiting:
                sent = yield item
        except BaseException as raised:
            error = raised
        is_waiting = True
        if box:
            function, is_started, *state = box
            box.clear()
            inner = cast("Relayed", function)(*state)
            del state  # what the generator lets go of is gone
            if is_started:
                next(inner)
        assert inner is not None, "a relay has a state or a generator"
        try:
            item = inner.send(sent) if error is None else inner.throw(error)
        except StopIteration as stop:
            return stop.value
        finally:
            sent = error = None


Relayed = Callable[..., Generator[object, object, object]]


def make_generator(function: Relayed, is_started: bool, state: tuple[object, ...]) -> object:
    """Return a generator that goes on where `function(*state)` does."""
    made = cast("types.GeneratorType[object, object, object]", relay([function, is_started, *state]))
    made.__name__, made.__qualname__ = function.__name__, function.__qualname__
    return restore_generator(made, function, is_started, state)


def renamed(function: types.FunctionType, name: str, qualname: str) -> types.FunctionType:
    """Give a function that was made for one generator the names that the generator has."""
    function.__name__, function.__qualname__ = name, qualname
    return function


def restore_generator(
    generator: Generator[object, object, object],
    function: Relayed,
    is_started: bool,
    state: tuple[object, ...],
) -> object:
    """Make a relay go on where `function(*state)` does; return it."""
    box_of(generator)[:] = (function, is_started, *state)
    if is_started and inspect.getgeneratorstate(generator) == inspect.GEN_CREATED:
        next(generator)
    if function is finished:
        generator.close()
    return generator


def box_of(generator: Generator[object, object, object]) -> list[object]:
    """Return the state of a relay."""
    return cast("list[object]", inspect.getgeneratorlocals(generator)["box"])


def dict_of(view: object) -> object:
    """Return the dict of which an object is the keys, the values or the items."""
    return gc.get_referents(view)[0]


def made_of(iterator: Iterator[object]) -> tuple[object, ...]:
    """Return the class of one of GOING_ON, and with what it is called to go on as this one."""
    if type(iterator).__module__ == "itertools":
        fields = _fields(iterator)
        return type(iterator), fields if isinstance(iterator, itertools.compress) else fields[::-1]
    return cast("tuple[object, ...]", iterator.__reduce__())


def _fields(iterator: Iterator[object]) -> tuple[object, ...]:
    """Return the objects that an iterator of itertools holds; Python 3.14 has no `__reduce__` of it."""
    found = gc.get_referents(iterator)
    return tuple(found[1:] if type(iterator).__flags__ & _OF_HEAP else found)  # whose first is the class


_OF_HEAP: Final = 1 << 9
"""The flag of classes that are no static data of C."""


def arguments_of(getter: object) -> tuple[tuple[object, ...], dict[str, object]]:
    """Return with what the class of an itemgetter, an attrgetter or a methodcaller was called."""
    made, args = cast("tuple[object, tuple[object, ...]]", getter.__reduce__())
    if isinstance(made, functools.partial):
        return (*made.args, *args), made.keywords
    return args, {}


def typed_arguments(getter: object) -> tuple[object, ...]:
    """Return the same with their classes, for a comparison: 1 is not True."""
    args, kwargs = arguments_of(getter)
    return (*((type(one), one) for one in args), *((name, type(one), one) for name, one in kwargs.items()))


def over(iterator: Iterator[object]) -> object:
    """Return the list that an iterator goes over; of a dict or a set, a list of what it still gives."""
    if type(iterator) is itertools.count:
        return None
    return cast("tuple[object, tuple[object]]", iterator.__reduce__())[1][0]


def finished() -> Generator[object, object, object]:
    """Return a generator that has nothing to give."""
    return
    yield


def has_next(iterator: Iterator[object], count: int) -> bool | None:
    """Tell whether an iterator gives another item after `count` more; None when it raises."""
    try:
        return next(itertools.islice(_copied(iterator), count, None), _END) is not _END
    except RuntimeError:
        return None


def has_ended(iterator: Iterator[object]) -> bool:
    """Tell whether an iterator over a list has found its end: it gives nothing more, though the list grow."""
    return len(iterator.__reduce__()) < _WITH_PLACE


_WITH_PLACE: Final = 3
"""How many parts `__reduce__` gives of an iterator over a list that it still has: the third is its place."""


def upcoming(iterator: Iterator[object], count: int) -> object:
    """Return what an iterator, which a copy can stand for, gives after `count` more items."""
    return next(itertools.islice(_copied(iterator), count, None))


def _copied(iterator: Iterator[object]) -> Iterator[object]:
    if type(iterator) is not itertools.count:
        return copy.copy(iterator)
    # It counts in steps of one without an object for the number, which only its text says.
    *number, step = cast("tuple[int, ...]", _fields(iterator))
    return itertools.count(*(number or [int(repr(iterator)[len("count(") : -1])]), step)


_END: Final = object()


def advance(iterator: Iterator[object], count: int) -> None:
    """Take items from an iterator, and find its end if there are fewer."""
    for _ in range(count):
        if next(iterator, _END) is _END:
            return


def place_backwards(iterator: "reversed[object]", index: int) -> None:
    """Make an iterator that goes backwards give the item at an index next; at -1 it has ended."""
    if index < 0:
        collections.deque(iterator, 0)
    else:
        cast("Placed", iterator).__setstate__(index)


class Placed(Protocol):
    """An iterator over a sequence, which can be told where it stands."""

    def __setstate__(self, index: int, /) -> None:
        """Go on at an index."""
        ...


def replace_sequence(target: MutableSequence[object], items: Sequence[object]) -> None:
    """Make a list or deque hold exactly `items`."""
    if isinstance(target, list):
        cast("Store", vars(list)["__setitem__"])(cast("object", target), slice(None), items)
        return
    target.clear()
    target.extend(items)


def replace_mapping(target: MutableMapping[object, object], items: Mapping[object, object]) -> None:
    """Make a dict hold exactly `items`, in their order; entries that are in place are not moved."""
    is_plain = type(cast("object", target)) is dict
    if is_plain and len(target) == len(items) and all(map(operator.is_, target, items)):
        target.update(items)
        return
    if not isinstance(target, dict):
        target.clear()
        target.update(items)
        return
    base = _builtin_base(type(cast("object", target)))
    for key in [key for key in base.keys(target) if key not in items]:
        base.__delitem__(target, key)
    if not all(map(_is_key, base.keys(target), items)):
        base.clear(target)
    fill_mapping(target, items)


def _is_key(mine: object, wanted: object) -> bool:
    """Tell whether a key of a dict is the one wanted; classes of the program are not asked."""
    if mine is wanted:
        return True
    if type(mine) is not type(wanted):
        return False
    if type(wanted) in (float, complex):
        return repr(mine) == repr(wanted)  # of 0.0 and -0.0 one can be a key
    if isinstance(wanted, tuple):
        parts, others = cast("tuple[object, ...]", mine), cast("tuple[object, ...]", wanted)
        return len(parts) == len(others) and all(map(_is_key, parts, others))
    return isinstance(type(wanted).__eq__, types.WrapperDescriptorType) and mine == wanted


def fill_mapping(target: MutableMapping[object, object], items: Mapping[object, object]) -> None:
    """Write `items` into a dict, past any `__setitem__` of its class."""
    store = cast("Store", _builtin_base(type(target)).__setitem__)
    for key in items:
        store(target, key, items[key])


def _builtin_base(cls: type) -> type[dict[object, object]]:
    """Return the innermost base written in C: dict, or OrderedDict, which keeps its order elsewhere."""
    found = next(base for base in cls.__mro__ if not base.__flags__ & _MADE_BY_CLASS_STATEMENT)
    return cast("type[dict[object, object]]", found)


_MADE_BY_CLASS_STATEMENT: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE


def stored_set(whole: Set[object]) -> list[object]:
    """Return what a set or frozenset holds, in its own order, past any methods of its class."""
    base = set if isinstance(whole, set) else frozenset
    return list(cast("Iterator[object]", vars(base)["__iter__"](whole)))


def replace_set(target: set[object], items: tuple[object, ...]) -> None:
    """Make a set hold exactly `items`, past any methods of its class; those in place stay there."""
    wanted = set(items)
    before = stored_set(target)
    gone = [member for member in before if member not in wanted]
    if len(gone) == len(before):
        set[object].clear(target)
    for member in gone:
        set[object].discard(target, member)
    set[object].update(target, items)
