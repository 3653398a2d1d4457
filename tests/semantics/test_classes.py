"""User classes: inheritance, `super()`, metaclasses, descriptors, slots, operators, attribute hooks."""

import abc
import operator
import typing

import pytest
import torch

from tests.semantics.harness import Corpus

case = Corpus()
X = torch.arange(4.0)


class Base:
    tag = "base"

    def __init__(self, scale=2.0):
        self.scale = scale

    def run(self, x):
        return x * self.scale

    @classmethod
    def make(cls, scale):
        return cls(scale)

    @staticmethod
    def shift(x):
        return x + 1


class Left(Base):
    def run(self, x):
        return super().run(x) + 1


class Right(Base):
    def run(self, x):
        return super().run(x) * 10


class Both(Left, Right):
    def run(self, x):
        return super().run(x) - 5


@case(X)
def diamond_follows_the_mro(x):
    return Both(3.0).run(x), [cls.__name__ for cls in Both.__mro__]


@case(X)
def classmethods_make_the_class_they_are_called_on(x):
    made = Left.make(4.0)
    return type(made) is Left, made.run(x), type(made.make(1.0)) is Left


@case(X)
def staticmethod_by_class_and_instance(x):
    return Base.shift(x), Left(1.0).shift(x), Both.shift(x)


class Registry(Base):
    @classmethod
    def make(cls, scale):
        made = super().make(scale + 1)
        made.name = cls.__name__
        return made


class Registered(Registry):
    pass


@case(X)
def super_in_a_classmethod(x):
    made = Registered.make(2.0)
    return made, made.run(x)


class Measured:
    def __init__(self):
        self._size = 1

    @property
    def size(self):
        return self._size

    @size.setter
    def size(self, value):
        self._size = value

    @size.deleter
    def size(self):
        self._size = 0


class Doubled(Measured):
    @property
    def size(self):
        return super().size * 2

    @size.setter
    def size(self, value):
        Measured.size.fset(self, value + 1)


@case(X)
def property_of_a_base_through_super(x):
    obj = Doubled()
    first = obj.size
    obj.size = 5
    return x * obj.size, first, obj


@case(X)
def property_deleter_is_called(x):
    obj = Measured()
    obj.size = 7
    del obj.size
    return x + obj.size, obj._size


@case(X, Measured())
def property_deleter_of_an_argument(x, obj):
    del obj.size
    return x, obj.size


@case(X)
def super_with_explicit_arguments(x):
    obj = Both(2.0)
    return super(Both, obj).run(x), super(Left, obj).run(x), super(Right, obj).run(x)


@case(X)
def super_attribute_that_is_missing(x):
    class_of = Both(1.0)
    try:
        super(Both, class_of).nothing
    except AttributeError as error:
        return x, str(error)


@case(X)
def super_reads_class_attributes(x):
    return super(Both, Both()).tag, super(Left, Both).tag, x


class Plugin:
    found: typing.ClassVar = {}

    def __init_subclass__(cls, name=None, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.name = name or cls.__name__
        Plugin.found[cls.name] = cls


class Conv(Plugin, name="conv"):
    def run(self, x):
        return x * 2


class Pool(Plugin):
    def run(self, x):
        return x / 2


@case(X, breaks="B102")
def super_of_a_class_alone(x):
    return super(Both).__get__(Both()).run(x)


@case(X)
def init_subclass_has_run(x):
    return Conv.name, Pool.name, Plugin.found["conv"]().run(x), Plugin.found["Pool"]().run(x)


class Typed:
    def __set_name__(self, owner, name):
        self.name = "_" + name
        self.owner = owner.__name__

    def __get__(self, obj, kind=None):
        if obj is None:
            return self
        return getattr(obj, self.name, None)

    def __set__(self, obj, value):
        if not isinstance(value, int | float):
            raise TypeError(f"{self.name}: {value!r}")
        setattr(obj, self.name, value)

    def __delete__(self, obj):
        delattr(obj, self.name)


class Typeful:
    width = Typed()
    height = Typed()

    def __init__(self, width, height):
        self.width = width
        self.height = height


@case(X)
def set_name_names_the_descriptor(x):
    obj = Typeful(2, 3.5)
    return obj.width * x, obj.height, Typeful.width.name, Typeful.width.owner, obj.__dict__


@case(X)
def descriptor_refuses_a_value(x):
    try:
        Typeful(1, "a")
    except TypeError as error:
        return x, str(error)


@case(X)
def descriptor_deletes(x):
    obj = Typeful(1, 2)
    del obj.width
    return x, obj.width, obj.height, vars_of(obj)


@case(X, Typeful(1, 2))
def descriptor_of_an_argument_deletes(x, obj):
    del obj.height
    obj.width = 9
    return x * obj.width


def vars_of(obj):
    return dict(obj.__dict__)


class Lazy:
    def __init__(self, function):
        self.function = function

    def __get__(self, obj, kind=None):
        value = self.function(obj)
        obj.__dict__[self.function.__name__] = value
        return value


class Heavy:
    def __init__(self):
        self.calls = 0

    @Lazy
    def weight(self):
        self.calls += 1
        return 3.0


@case(X)
def non_data_descriptor_caches_itself_in_the_dict(x):
    obj = Heavy()
    return x * obj.weight + obj.weight, obj.calls, list(obj.__dict__)


@case(X, Heavy())
def non_data_descriptor_of_an_argument_caches_itself(x, obj):
    return x * obj.weight * obj.weight


class Meta(type):
    def __call__(cls, *args, **kwargs):
        made = super().__call__(*args, **kwargs)
        made.created_by = cls.__name__
        return made

    def __getattr__(cls, name):
        return f"{cls.__name__}.{name}"

    @property
    def upper(cls):
        return cls.__name__.upper()

    def __len__(cls):
        return 4

    def __contains__(cls, item):
        return item == 1

    def __iter__(cls):
        return iter([1, 2])

    def __getitem__(cls, key):
        return (cls, key)


class Managed(metaclass=Meta):
    def __init__(self, value):
        self.value = value


@case(X)
def metaclass_call_wraps_construction(x):
    made = Managed(3)
    return made, x * made.value


@case(X)
def metaclass_attributes_and_protocols(x):
    return Managed.anything, Managed.upper, len(Managed), 1 in Managed, 3 in Managed, list(Managed), x


@case(X)
def metaclass_getitem(x):
    return Managed["k"], x


class Single(type):
    def __call__(cls, *args):
        if not hasattr(cls, "_one"):
            return super().__call__(*args)
        return cls._one


class Only(metaclass=Single):
    def __init__(self, n):
        self.n = n


@case(X)
def metaclass_may_return_what_it_likes(x):
    return Only(2).n * x


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


class SlottedChild(Slotted):
    __slots__ = ("c",)


@case(X)
def unset_slot_is_an_attribute_error(x):
    obj = Slotted(1)
    try:
        return obj.b
    except AttributeError:
        return x * obj.a, hasattr(obj, "b"), getattr(obj, "b", 5)


@case(X)
def slots_are_inherited(x):
    obj = SlottedChild(x)
    obj.c = obj.a + 1
    obj.b = obj.c
    return obj


@case(X)
def slots_refuse_other_names(x):
    obj = Slotted(1)
    try:
        obj.other = 2
    except AttributeError as error:
        return x, str(error)


@case(X, SlottedChild(3))
def slot_of_an_argument_is_deleted_and_set(x, obj):
    del obj.a
    obj.c = 2
    return x * obj.c, hasattr(obj, "a")


class Vector:
    def __init__(self, *items):
        self.items = items

    def __add__(self, other):
        if not isinstance(other, Vector):
            return NotImplemented
        return Vector(*[a + b for a, b in zip(self.items, other.items, strict=True)])

    def __radd__(self, other):
        return Vector(*[other + a for a in self.items])

    def __iadd__(self, other):
        self.items = (*self.items, other)
        return self

    def __mul__(self, other):
        return Vector(*[a * other for a in self.items])

    __rmul__ = __mul__

    def __rsub__(self, other):
        return ("rsub", other)

    def __neg__(self):
        return Vector(*[-a for a in self.items])

    def __pos__(self):
        return self

    def __invert__(self):
        return Vector(*self.items[::-1])

    def __abs__(self):
        return max(abs(a) for a in self.items)

    def __matmul__(self, other):
        return sum(a * b for a, b in zip(self.items, other.items, strict=True))

    def __divmod__(self, other):
        return ("divmod", other)

    def __pow__(self, power, modulus=None):
        return ("pow", power, modulus)

    def __rpow__(self, base):
        return ("rpow", base)

    def __eq__(self, other):
        return isinstance(other, Vector) and self.items == other.items

    def __hash__(self):
        return hash(self.items)

    def __bool__(self):
        return any(self.items)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]

    def __round__(self, digits=None):
        return Vector(*[round(a, digits) for a in self.items])

    def __index__(self):
        return len(self.items)

    def __float__(self):
        return float(self.items[0])

    def __complex__(self):
        return complex(self.items[0], 1)

    def __reversed__(self):
        return iter(self.items[::-1])

    def __repr__(self):
        return f"Vector{self.items}"


@case(X)
def binary_operators_of_a_class(x):
    a, b = Vector(1, 2), Vector(3, 4)
    return (a + b).items, (a * 3).items, (3 * a).items, a @ b, 5 - a, x


@case(X)
def unary_operators_of_a_class(x):
    a = Vector(1, -2)
    return (-a).items, (~a).items, abs(a), +a is a, x


@case(X)
def in_place_operator_keeps_the_object(x):
    a = Vector(1)
    b = a
    a += x
    return a is b, b.items


@case(X)
def in_place_falls_back_to_the_binary_operator(x):
    a = Vector(1, 2)
    b = a
    a *= 2
    return a is b, a.items, b.items, x


@case(X)
def not_implemented_on_both_sides_is_a_type_error(x):
    try:
        Vector(1) @ None
    except AttributeError as error:
        first = str(error)
    try:
        Vector(1) << 2
    except TypeError as error:
        return x, first, str(error)


@case(X)
def reflected_add_of_a_number(x):
    return (1 + Vector(1, 2)).items, sum([Vector(1), Vector(2)]).items, x


@case(X, breaks="B102")
def divmod_and_power_of_a_class(x):
    a = Vector(1)
    return divmod(a, 2), a**2, pow(a, 2, 3), 2**a, x


@case(X, breaks="B102")
def conversions_of_a_vector(x):
    a = Vector(2.5, 1.0)
    return float(a), complex(a), operator.index(a), round(a).items, round(a, 1).items, [1, 2, 3][a], x


@case(X)
def truth_length_and_reversed_of_a_class(x):
    return bool(Vector(0, 0)), bool(Vector(0, 1)), len(Vector(1, 2)), list(reversed(Vector(1, 2))), x


@case(X)
def vectors_as_dict_keys(x):
    table = {Vector(1): "a", Vector(2): "b"}
    return table[Vector(1)], Vector(3) in table, len({Vector(1), Vector(1)}), x


@case(X)
def a_class_multiplies_a_tensor(x):
    return (Vector(1.0, 2.0) * x).items, (x.sum() * 2, x)


class Number:
    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return ("add", self.value)

    def __lt__(self, other):
        return "lt"

    def __gt__(self, other):
        return "gt"

    def __eq__(self, other):
        return "eq"

    __hash__ = None


class Special(Number):
    def __radd__(self, other):
        return ("radd", self.value)

    def __gt__(self, other):
        return "special gt"

    def __eq__(self, other):
        return "special eq"


@case(X)
def a_subclass_on_the_right_goes_first(x):
    return Number(1) + Special(2), Special(1) + Number(2), Special(1) + Special(2), x


@case(X)
def a_subclass_on_the_right_compares_first(x):
    return Number(1) < Special(2), Number(1) == Special(2), Special(1) == Number(2), x


@case(X)
def a_class_without_hash_is_unhashable(x):
    try:
        return {Number(1): 2}
    except TypeError as error:
        return x, str(error)


class OnlyReflected:
    def __radd__(self, other):
        return "radd"


@case(X)
def reflected_is_not_tried_between_equal_types(x):
    try:
        OnlyReflected() + OnlyReflected()
    except TypeError as error:
        return x, 1 + OnlyReflected(), str(error)


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()
