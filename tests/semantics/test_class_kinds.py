"""Dataclasses, enumerations, metaclasses, abstract classes, `__new__`, cached properties."""

import abc
import copy
import dataclasses
import enum
import functools
import numbers
from collections.abc import Mapping, Sequence

import pytest
import torch

from tests.semantics.harness import Corpus, with_a_changed_class

case = Corpus()
X = torch.arange(4.0)


class Holder:
    def __init__(self, flag):
        self.flag = flag


@dataclasses.dataclass
class Config:
    width: int
    name: str = "c"
    items: list = dataclasses.field(default_factory=list)
    total: int = dataclasses.field(init=False, default=0)

    def __post_init__(self):
        self.total = self.width * 2


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: object
    n: int = 1


@dataclasses.dataclass(order=True)
class Ordered:
    a: int
    b: int


@dataclasses.dataclass(slots=True)
class SlottedData:
    a: object
    b: int = 3


@dataclasses.dataclass(kw_only=True)
class KeywordData(Config):
    more: int = 5


class Color(enum.Enum):
    RED = 1
    GREEN = 2

    @property
    def pretty(self):
        return self.name.lower()

    def next(self):
        return Color.GREEN if self is Color.RED else Color.RED


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Flags(enum.Flag):
    A = enum.auto()
    B = enum.auto()


class Text(enum.StrEnum):
    ONE = "one"


class Meta(type):
    def __len__(cls):
        return 5

    @property
    def kind(cls):
        return cls.__name__.lower()

    def __call__(cls, *args):
        made = super().__call__(*args)
        made.by_meta = True
        return made


class WithMeta(metaclass=Meta):
    def __init__(self, n):
        self.n = n


class Abstract(abc.ABC):
    @abc.abstractmethod
    def run(self, x): ...

    def go(self, x):
        return self.run(x) + 1


class Concrete(Abstract):
    def run(self, x):
        return x * 3


class Registered:
    pass


Abstract.register(Registered)


class Checked(type):
    def __instancecheck__(cls, obj):
        return getattr(obj, "flag", False)


class Flagged(metaclass=Checked):
    pass


class Singleton:
    instance = None

    def __new__(cls, value):
        made = super().__new__(cls)
        made.created = value
        return made

    def __init__(self, value):
        self.value = value


class Cached:
    def __init__(self, x):
        self.x = x
        self.calls = 0

    @functools.cached_property
    def doubled(self):
        self.calls += 1
        return self.x * 2


@case(X, Config(3, items=[X]), changed=((X, Config(4, items=[X])), (X, Config(3, "d", [X]))))
def dataclass_argument(x, config):
    config.width += 1
    config.items.append(x)
    return x * config.width, config.name, config.total


@case(X)
def dataclass_is_made(x):
    config = Config(2, name="n")
    other = dataclasses.replace(config, width=9)
    return (
        config,
        other,
        config == Config(2, "n"),
        config != other,
        repr(config),
        KeywordData(width=1, more=2),
    )


@case(X)
def dataclass_fields_and_asdict(x):
    return [f.name for f in dataclasses.fields(Config)], dataclasses.is_dataclass(Config), x


@case(X)
def frozen_dataclass(x):
    made = Frozen(x, n=2)
    try:
        made.n = 3
    except dataclasses.FrozenInstanceError as error:
        return made, str(error), hash(Frozen(1)) == hash(Frozen(1)), Frozen(1) == Frozen(1)


@case(X)
def ordered_dataclass(x):
    return Ordered(1, 2) < Ordered(1, 3), Ordered(2, 0) >= Ordered(1, 9), max(Ordered(1, 1), Ordered(2, 0)), x


@case(X)
def slotted_dataclass(x):
    made = SlottedData(x)
    made.b += 1
    return made, SlottedData(1) == SlottedData(1), SlottedData(1) == SlottedData(2)


@case(X, Color.RED, changed=((X, Color.GREEN), (X, 1)))
def enum_argument(x, color):
    return color is Color.RED, color == Color.GREEN, x


@case(X)
def enum_members(x):
    return (
        Color.RED.name,
        Color.RED.value,
        Color(2),
        Color["RED"],
        Color.RED.pretty,
        Color.RED.next(),
        list(Color),
        Color.RED in (Color.GREEN,),
        {Color.RED: x}[Color.RED],
        Level.LOW + 1,
        Level.HIGH > Level.LOW,
        Text.ONE == "one",
        len(Color),
        Flags.A | Flags.B,
        bool(Flags.A & Flags.B),
        isinstance(Color.RED, Color),
        f"{Text.ONE}",
    )


@case(X, Level.LOW, changed=((X, Level.HIGH), (X, 1)))
def int_enum_argument(x, level):
    return x * level, level + 1, [5, 6, 7][level]


@case(X)
def metaclass_methods(x):
    made = WithMeta(3)
    return made.by_meta, made.n, len(WithMeta), WithMeta.kind


@case(X)
def abstract_classes(x):
    return (
        Concrete().go(x),
        isinstance(Concrete(), Abstract),
        isinstance(Registered(), Abstract),
        issubclass(Registered, Abstract),
        isinstance([], Sequence),
        isinstance({}, Mapping),
        isinstance(1, numbers.Number),
    )


@case(X)
def abstract_class_cannot_be_made(x):
    try:
        Abstract()
    except TypeError as error:
        return "abstract" in str(error), x


@case(X, Holder(True), changed=((X, Holder(False)),))
def custom_instancecheck_reads_state(x, obj):
    return isinstance(obj, Flagged), x


@case(X)
def custom_instancecheck_of_a_new_object(x):
    obj = Holder(True)
    first = isinstance(obj, Flagged)
    obj.flag = False
    return first, isinstance(obj, Flagged)


@case(X)
def new_and_init(x):
    made = Singleton(x)
    return made, made.created is made.value


@case(X, Cached(X))
def cached_property_is_stored(x, obj):
    return obj.doubled + obj.doubled, obj.calls, "doubled" in obj.__dict__


@case(X)
def cached_property_of_a_new_object(x):
    obj = Cached(x)
    return obj.doubled is obj.doubled, obj.calls, obj


@case(X)
def copy_of_containers_and_objects(x):
    config = Config(1, items=[[1], x])
    shallow = copy.copy(config)
    deep = copy.deepcopy([config.items[0], {"a": (1, [2])}])
    return (
        shallow,
        shallow.items is config.items,
        deep,
        deep[0] is config.items[0],
        copy.copy([x]),
        copy.copy({1: 2}),
    )


@case(X)
def methods_of_type_are_bound_to_a_class(x):
    found = Frozen.mro, Frozen.__subclasses__, Frozen.__instancecheck__, Frozen.__call__
    return x, [one.__name__ for one in found], [one.__self__ is Frozen for one in found], [*map(type, found)]


@case(X)
def kinds_of_bound_methods(x):
    config = Config(1)
    of_objects = (
        type(config.__init__),
        type(config.__str__),
        type(config.__reduce__),
        type(config.items.append),
    )
    of_tensors = type(x.__len__), type(x.__add__), type(x.add)
    return of_objects, of_tensors, type("a".join), type("a".__eq__), type({}.__getitem__), type([].__len__)


class WithSuper(Holder):
    def classes(self):
        own = super().__class__
        return own, own is super, type(super()), isinstance(super(), Holder), issubclass(own, Holder)

    @classmethod
    def of_class(cls):
        return super().__class__


@case(X)
def super_has_a_class_of_its_own(x):
    return x, WithSuper(1).classes(), WithSuper.of_class()


@case(X, breaks="B102", line="Frozen.mro()")
def bases_are_asked_for(x):
    return x + len(Frozen.mro())


@case(X, breaks="B102", line="Config.__subclasses__()")
def subclasses_are_asked_for(x):
    return x + len(Config.__subclasses__())


@pytest.mark.parametrize(
    ("function", "owner", "name", "value"),
    [
        (metaclass_methods, Meta, "__len__", lambda self: 1),
        (custom_instancecheck_of_a_new_object, Checked, "__instancecheck__", lambda self, obj: False),
        (dataclass_is_made, Config, "__post_init__", lambda self: None),
    ],
)
def test_guards_notice_a_changed_class(function, owner, name, value, monkeypatch):
    with_a_changed_class(function, owner, name, value, monkeypatch, X)


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()
