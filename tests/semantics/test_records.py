"""Dataclasses, enumerations, named tuples, namespaces: made, copied, compared, matched."""

import collections
import dataclasses
import enum
import types
import typing

import pytest
import torch

from tests.semantics.harness import Corpus

case = Corpus()
X = torch.arange(4.0)


@dataclasses.dataclass
class Item:
    name: str
    count: int = 1
    tags: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Fixed:
    a: int
    b: float = 0.5


@dataclasses.dataclass(order=True)
class Ranked:
    rank: int
    name: str = dataclasses.field(compare=False, default="")


@dataclasses.dataclass
class Derived(Item):
    extra: object = None
    total: int = dataclasses.field(init=False, default=0)

    def __post_init__(self):
        self.total = self.count * 2


@dataclasses.dataclass
class Init:
    a: int
    scale: dataclasses.InitVar[int] = 2
    kind: typing.ClassVar[str] = "init"

    def __post_init__(self, scale):
        self.a = self.a * scale


@dataclasses.dataclass(kw_only=True, slots=True)
class Named:
    x: object
    y: int = 2


@dataclasses.dataclass(eq=False)
class ByIdentity:
    a: int


@dataclasses.dataclass(unsafe_hash=True)
class Hashed:
    a: int
    b: int = dataclasses.field(hash=False, default=0)


@case(X)
def default_factory_makes_new_lists(x):
    a, b = Item("a"), Item("b")
    a.tags.append(x)
    return a, b, a.tags is b.tags


@case(X)
def dataclass_text_and_equality(x):
    return repr(Item("a", 2)), Item("a") == Item("a"), Item("a") != Item("b"), str(Fixed(1)), x


@case(X)
def derived_dataclass_runs_post_init(x):
    made = Derived("a", 3, extra=x)
    return made.total, made.extra * made.count, made


@case(X)
def init_var_is_passed_to_post_init(x):
    return Init(3), Init(1, scale=5).a * x, Init.kind


@case(X)
def keyword_only_dataclass_with_slots(x):
    made = Named(x=x)
    made.y += 1
    return made.x * made.y, hasattr(made, "__dict__"), made


@case(X)
def frozen_dataclass_refuses_writes(x):
    made = Fixed(1)
    found = []
    for action in (lambda: setattr(made, "a", 2), lambda: delattr(made, "a")):
        try:
            action()
        except dataclasses.FrozenInstanceError as error:
            found.append(str(error))
    return found, x * made.a


@case(X)
def frozen_dataclass_is_a_dict_key(x):
    table = {Fixed(1): "a", Fixed(2): "b"}
    return table[Fixed(1)], Fixed(1, 0.7) in table, hash(Fixed(1)) == hash(Fixed(1)), x


@case(X)
def replace_makes_a_changed_copy(x):
    first = Fixed(1, 2.0)
    second = dataclasses.replace(first, b=3.0)
    third = dataclasses.replace(Item("a", tags=[1]), count=5)
    return first, second, third, x


@case(X)
def ordered_dataclasses_sort(x):
    ranked = sorted([Ranked(2, "b"), Ranked(1, "a"), Ranked(2, "a")])
    return [r.name for r in ranked], Ranked(1) < Ranked(2), Ranked(1, "a") == Ranked(1, "b"), x


@case(X)
def asdict_and_astuple_copy_deeply(x):
    item = Item("a", tags=[1, {"k": Fixed(2)}])
    return (
        dataclasses.asdict(item),
        dataclasses.astuple(item),
        dataclasses.asdict(item)["tags"] is item.tags,
        x,
    )


@case(X)
def fields_of_a_dataclass(x):
    return (
        [f.name for f in dataclasses.fields(Item)],
        [getattr(Item("n"), f.name) for f in dataclasses.fields(Item)],
        dataclasses.is_dataclass(Item),
        dataclasses.is_dataclass(Item("a")),
        dataclasses.is_dataclass(int),
        x,
    )


@case(X, Item("a", 3))
def dataclass_argument_is_changed(x, item):
    item.count += 1
    item.tags.append(item.count)
    return dataclasses.replace(item, name="b"), x * item.count


@case(X)
def dataclass_compared_by_identity(x):
    a = ByIdentity(1)
    return a == a, a == ByIdentity(1), Hashed(1, 2) == Hashed(1, 2), len({Hashed(1), Hashed(1)}), x


@case(X)
def missing_dataclass_argument(x):
    try:
        Item()
    except TypeError as error:
        return str(error), x


@case(X, breaks="B102")
def dataclass_made_inside(x):
    made = dataclasses.make_dataclass("Made", ["a", "b"])
    return made(1, 2).a * x


class Color(enum.Enum):
    RED = 1
    GREEN = "g"
    ALIAS = 1

    @property
    def pretty(self):
        return self.name.title()

    @classmethod
    def default(cls):
        return cls.GREEN

    def mixed(self, other):
        return f"{self.name}+{other.name}"


class Mode(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()
    BOTH = READ | WRITE


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 10


class Text(str, enum.Enum):  # noqa: UP042
    A = "a"
    B = "b"


class Modern(enum.StrEnum):
    FIRST = enum.auto()
    SECOND = "two"


class Bits(enum.IntFlag):
    ONE = 1
    TWO = 2


class Planet(enum.Enum):
    EARTH = (1.0, 2)
    MARS = (0.5, 3)

    def __init__(self, mass, size):
        self.mass = mass
        self.size = size


@case(X)
def enum_lookup(x):
    return Color(1), Color["GREEN"], Color.ALIAS is Color.RED, Color.RED.pretty, Color.default(), x


@case(X, breaks="B102")
def enum_iteration_and_membership(x):
    return list(Color), len(Color), Color.RED in Color, [c.value for c in Color], list(Color.__members__), x


@case(X)
def enum_methods_and_comparison(x):
    return (
        Color.RED.mixed(Color.GREEN),
        Color.RED == 1,
        Color.RED == Color.RED,
        Color.RED != Color.GREEN,
        Color.RED is Color.RED,
        {Color.RED: "r"}[Color(1)],
        x,
    )


@case(X)
def enum_texts(x):
    return repr(Color.RED), str(Color.RED), f"{Color.RED}", f"{Text.A}", str(Level.LOW), f"{Level.LOW}", x


@case(X)
def unknown_enum_value_is_a_value_error(x):
    found = []
    try:
        Color(7)
    except ValueError as error:
        found.append(str(error))
    try:
        Color["BLUE"]
    except KeyError as error:
        found.append(error.args)
    try:
        Color.BLUE
    except AttributeError as error:
        found.append(type(error).__name__)
    return found, x


@case(X)
def flags_combine(x):
    mode = Mode.READ | Mode.WRITE
    return (
        mode is Mode.BOTH,
        Mode.READ in mode,
        bool(Mode.READ & Mode.WRITE),
        (mode ^ Mode.READ) is Mode.WRITE,
        ~Mode.READ,
        list(mode),
        len(mode),
        mode.value,
        x,
    )


@case(X, Mode.READ)
def flag_argument(x, mode):
    if mode & Mode.READ:
        x = x + 1
    if Mode.WRITE in mode:
        x = x * 2
    return x, mode | Mode.WRITE


@case(X)
def int_enum_is_a_number(x):
    return (
        Level.LOW + 1,
        Level.HIGH > 5,
        Level(10),
        sorted([Level.HIGH, Level.LOW]),
        x * Level.HIGH,
        [1, 2][Level.LOW],
    )


@case(X)
def str_enum_is_a_text(x):
    return Text.A == "a", Text.B.upper(), Text("b"), {"a": 1}[Text.A], Modern.FIRST, f"{Modern.SECOND}", x


@case(X)
def int_flags(x):
    return Bits.ONE | Bits.TWO, Bits.ONE + 1, Bits(3), 2 in [Bits.TWO], Bits.ONE & 3, x


@case(X)
def enum_with_fields(x):
    return Planet.EARTH.mass, [p.size for p in Planet], Planet((0.5, 3)) is Planet.MARS, x * Planet.MARS.mass


class Row(typing.NamedTuple):
    a: object
    b: int = 2

    def total(self):
        return self.a + self.b

    @property
    def first(self):
        return self.a


class Wide(Row):
    def total(self):
        return super().total() * 2


Plain = collections.namedtuple("Plain", "p q", defaults=[5])


@case(X)
def named_tuple_methods(x):
    row = Row(x)
    return row.total(), row.first is x, row._replace(b=5), row._asdict(), row._fields, len(row)


@case(X)
def named_tuple_acts_like_a_tuple(x):
    row = Row(1, 3)
    a, b = row
    return (
        row == (1, 3),
        row[0],
        row[::-1],
        row + (4,),
        a,
        b,
        hash(row) == hash((1, 3)),
        3 in row,
        row < (2,),
        x,
    )


@case(X)
def named_tuple_subclass(x):
    wide = Wide(x, 3)
    return wide.total(), isinstance(wide, tuple), type(wide) is Wide, wide._replace(b=1).total()


@case(X)
def namedtuple_defaults_and_make(x):
    made = Plain._make([1, x])
    return Plain(1), made.q is x, Plain(p=1, q=2), repr(Plain(1, 2)), Plain._field_defaults


@case(X, Row(1, 2))
def named_tuple_argument(x, row):
    return x * row.a, row.total(), row._replace(a=5)


@case(X)
def wrong_namedtuple_calls(x):
    found = []
    for action in (lambda: Plain(), lambda: Plain(1, 2, 3), lambda: Plain(1)._replace(z=1)):
        try:
            action()
        except (TypeError, ValueError) as error:
            found.append(str(error))
    return found, x


@case(X, breaks="B107")
def named_tuple_is_immutable(x):
    try:
        Row(1).a = 2
    except AttributeError as error:
        return str(error), x


@case(X, breaks="B102")
def namespaces_compare_and_print(x):
    a = types.SimpleNamespace(n=1, m=[2])
    a.k = x
    del a.n
    return (
        a.m,
        a.k,
        types.SimpleNamespace(n=1) == types.SimpleNamespace(n=1),
        vars(types.SimpleNamespace(z=1)),
    )


@case(X)
def match_on_dataclasses(x):
    found = []
    for value in (Item("a", 2), Item("b"), Fixed(3), Row(1, 2), Plain(7), Color.RED, Level.HIGH):
        match value:
            case Item(name="a", count=n):
                found.append(("a", n))
            case Item(name, 1):
                found.append(("one", name))
            case Fixed(a) if a > 2:
                found.append(("fixed", a))
            case Row(a, b):
                found.append(("row", a + b))
            case (p, q):
                found.append(("pair", p, q))
            case Color.RED:
                found.append("red")
            case int(n):
                found.append(("int", n))
    return found, x


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()
