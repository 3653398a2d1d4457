"""Classes: methods, attributes, descriptors, slots, operators; objects made and given."""

import typing

import pytest
import torch

from tests.semantics.harness import Case, Corpus, with_a_changed_class

case = Corpus()
X = torch.arange(4.0)
Y = torch.arange(4.0) + 1


class Base:
    scale = 2

    def __init__(self, n):
        self.n = n

    def apply(self, x):
        return x * self.n * self.scale

    @classmethod
    def make(cls, n):
        return cls(n)

    @staticmethod
    def plus(x, y):
        return x + y

    @property
    def twice(self):
        return self.n * 2

    @twice.setter
    def twice(self, value):
        self.n = value // 2

    def __call__(self, x):
        return self.apply(x)

    def __eq__(self, other):
        return isinstance(other, Base) and self.n == other.n

    def __hash__(self):
        return hash(self.n)


class Derived(Base):
    def __init__(self, n, extra):
        super().__init__(n)
        self.extra = extra

    def apply(self, x):
        return super().apply(x) + self.extra

    @classmethod
    def make(cls, n):
        made = super().make.__func__(cls, n) if False else cls(n, 1)
        return made

    @property
    def twice(self):
        return super().twice + 1


class Left(Base):
    def apply(self, x):
        return super().apply(x) + 1


class Right(Base):
    def apply(self, x):
        return super().apply(x) * 10


class Diamond(Left, Right):
    pass


class Fallback:
    def __init__(self):
        self.real = 1

    def __getattr__(self, name):
        if name.startswith("made_"):
            return name[5:]
        raise AttributeError(name)


class Intercepting:
    def __init__(self):
        object.__setattr__(self, "log", [])

    def __getattribute__(self, name):
        if name == "secret":
            return "intercepted"
        return super().__getattribute__(name)

    def __setattr__(self, name, value):
        self.log.append(name)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        self.log.append(("del", name))
        super().__delattr__(name)


class Validated:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, owner=None):
        if obj is None:
            return self
        return getattr(obj, self.name)

    def __set__(self, obj, value):
        if value < 0:
            raise ValueError(f"{self.name} < 0")
        setattr(obj, self.name, value)


class WithDescriptor:
    size = Validated()

    def __init__(self, size):
        self.size = size


class NonData:
    def __get__(self, obj, owner=None):
        return ("computed", obj is None, owner is WithNonData)


class WithNonData:
    field = NonData()


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


class Vector:
    def __init__(self, v):
        self.v = v

    def __add__(self, other):
        return Vector(self.v + (other.v if isinstance(other, Vector) else other))

    def __radd__(self, other):
        return Vector(other + self.v)

    def __iadd__(self, other):
        self.v = self.v + other
        return self

    def __mul__(self, other):
        return NotImplemented

    def __neg__(self):
        return Vector(-self.v)

    def __matmul__(self, other):
        return "matmul"

    def __lt__(self, other):
        return "lt"

    def __getitem__(self, key):
        return ("item", key)

    def __contains__(self, item):
        return item == 3

    def __len__(self):
        return 7

    def __bool__(self):
        return False

    def __repr__(self):
        return f"Vector({self.v if isinstance(self.v, int) else 'tensor'})"

    def __format__(self, spec):
        return f"<{spec}>"

    def __int__(self):
        return 11

    def __index__(self):
        return 2

    def __iter__(self):
        return iter([1, 2])


class Holder:
    def __init__(self, flag):
        self.flag = flag


class Generic_(typing.Generic[typing.TypeVar("T")]):
    def __init__(self, v):
        self.v = v


class Node:
    def __init__(self, value, parent=None):
        self.value = value
        self.parent = parent
        self.children = []
        if parent is not None:
            parent.children.append(self)


@case(X, Base(3), changed=((X, Base(4)), (X, Derived(3, 1)), (X, Base(3.0))))
def calls_a_method_of_an_argument(x, obj):
    return obj.apply(x) + obj(x)


@case(X)
def makes_an_object(x):
    obj = Base(3)
    return obj.apply(x), obj.twice, Base.plus(x, 1), obj.plus(x, 2), Base.make(4).n, Derived.make(2).extra


@case(X)
def super_and_inheritance(x):
    return Derived(2, 5).apply(x), Diamond(1).apply(x), Derived(2, 1).twice, isinstance(Diamond(1), Right)


@case(X, Base(3))
def property_setter_writes(x, obj):
    obj.twice = 10
    obj.fresh = x
    obj.n += 1
    return obj.n, obj


@case(X)
def property_without_setter_is_an_error(x):
    try:
        Derived(1, 2).twice = 5
    except AttributeError as error:
        return str(error), x


@case(X)
def property_without_deleter_is_an_error(x):
    try:
        del Base(1).twice
    except AttributeError as error:
        return str(error)


@case(X)
def object_is_returned_with_its_attributes(x):
    obj = Derived(1, x)
    obj.list = [obj]
    return obj, obj.list


@case(X)
def cyclic_objects_are_returned(x):
    root = Node(x)
    leaf = Node(x + 1, root)
    Node(3, leaf)
    return root, leaf


@case(X, Fallback(), changed=())
def getattr_fallback(x, obj):
    return (
        obj.real,
        obj.made_up,
        getattr(obj, "nothing", "default"),
        hasattr(obj, "nothing"),
        hasattr(obj, "made_x"),
    )


@case(X)
def getattribute_and_setattr(x):
    obj = Intercepting()
    obj.a = 1
    obj.b = x
    del obj.a
    return obj.secret, obj.log, hasattr(obj, "a"), obj.b


@case(X, Intercepting())
def setattr_on_an_argument(x, obj):
    obj.value = x
    return obj.log


@case(X)
def data_descriptor(x):
    obj = WithDescriptor(3)
    obj.size = 5
    try:
        obj.size = -1
    except ValueError as error:
        return obj.size, str(error), obj._size, isinstance(WithDescriptor.size, Validated)


@case(X, WithDescriptor(3), changed=((X, WithDescriptor(4)),))
def data_descriptor_of_an_argument(x, obj):
    obj.size = obj.size + 1
    return x * obj.size


@case(X)
def non_data_descriptor(x):
    obj = WithNonData()
    before = obj.field
    obj.field = 1
    return before, obj.field, WithNonData.field


@case(X, Slotted(1), changed=((X, Slotted(2)),))
def slots(x, obj):
    made = Slotted(x)
    obj.b = 5
    obj.a += 1
    try:
        made.c = 1
    except AttributeError:
        return made, obj, hasattr(made, "b"), made.a


@case(X)
def operators_of_a_class(x):
    v = Vector(1)
    w = v
    w += 5
    try:
        v * 2
    except TypeError as error:
        message = str(error)
    return (
        (v + v).v,
        (v + 1).v,
        (1 + v).v,
        (-v).v,
        v @ 1,
        v < 1,
        v[1:2],
        3 in v,
        4 in v,
        len(v),
        bool(v),
        w is v,
        message,
    )


@case(X)
def conversions_of_a_class(x):
    v = Vector(4)
    return repr(v), f"{v:abc}", f"{v!r}", int(v), [1, 2, 3][v], list(v), str(v), [*v], not v


@case(X)
def reflected_operator_with_a_tensor(x):
    return (Vector(x) + x).v, (Vector(x) + Vector(x)).v


@case(X)
def isinstance_with_tuples_unions_and_generics(x):
    return (
        isinstance(1, (str, int)),
        isinstance(1, int | str),
        isinstance(x, torch.Tensor),
        isinstance(True, int),
        issubclass(bool, int),
        isinstance(None, type(None)),
        isinstance(Base, type),
        isinstance(x, torch.nn.Parameter),
        isinstance(1, bool),
        isinstance([], list | tuple),
        isinstance(len, object),
        callable(len),
        callable(1),
    )


@case(X)
def generic_class_is_made(x):
    return Generic_[int](x).v, Generic_(3).v


@case(X)
def type_and_class_attributes(x):
    obj = Derived(1, 2)
    return (
        type(obj) is Derived,
        obj.__class__ is Derived,
        type(obj).__name__,
        Derived.__mro__[1] is Base,
        type(x),
        obj.scale,
        Derived.scale,
        type(obj).__bases__,
        Base.__doc__,
        Base.__module__ == __name__,
        int,
        type(None),
    )


@case(X, Base(1))
def instance_attribute_shadows_class_attribute(x, obj):
    obj.scale = 7
    return obj.apply(x), Base.scale


@case(X, Base(1))
def deleting_an_attribute(x, obj):
    obj.temp = 1
    del obj.temp
    del obj.n
    return hasattr(obj, "temp"), hasattr(obj, "n"), vars(obj) if False else x


@case(X, Base(5))
def dict_of_an_object(x, obj):
    obj.__dict__["k"] = x
    return (
        obj.k,
        "n" in obj.__dict__,
        sorted(obj.__dict__),
        dict(obj.__dict__),
        obj.__dict__.get("n"),
        len(obj.__dict__),
    )


@case(X)
def setattr_and_getattr_by_name(x):
    obj = Base(1)
    for name in ("a", "b"):
        setattr(obj, name, x)
    delattr(obj, "a")
    return obj.b, hasattr(obj, "a"), getattr(obj, "zz", None)


@case(X)
def bound_methods(x):
    obj = Base(2)
    method = obj.apply
    return (
        method(x),
        method.__self__ is obj,
        method.__func__ is Base.apply,
        obj.apply == obj.apply,
        Base.apply(obj, x),
    )


@case(X, Base(2))
def bound_method_is_returned(x, obj):
    return obj.apply, Derived(1, x).apply


@case(X)
def equality_and_hash_of_a_class(x):
    return (
        Base(1) == Base(1),
        Base(1) != Base(2),
        Base(1) in [Base(1)],
        [Base(1)].index(Base(1)),
        Base(1) == 5,
        x,
    )


@case(X)
def objects_as_dict_keys_by_hash(x):
    return {Base(1): "a"}.get(Base(1)), x


@case(X)
def default_equality_is_identity(x):
    a, b = Holder(1), Holder(1)
    return a == b, a == a, a != b, {a: 1}[a], b in {a: 1}, a is not b


@case(X, Node(X))
def object_graph_argument_is_extended(x, root):
    child = Node(x, root)
    child.self = child
    root.children[0].value = x + 1
    return child


@case(X, Holder([1]))
def augmented_assignment_of_an_attribute(x, obj):
    obj.flag += [2]
    obj.flag[0] += 5
    return obj.flag


@case(X, Base(1), Base(1))
def two_objects_are_not_one(x, a, b):
    a.n = 5
    return b.n, a is b, a == b


SHARED = Base(1)


@case(X, SHARED, SHARED, changed=((X, Base(1), Base(1)),))
def one_object_by_two_paths(x, a, b):
    a.n = 5
    return b.n, a is b


@pytest.mark.parametrize(
    ("function", "owner", "name", "value"),
    [
        (calls_a_method_of_an_argument, Base, "scale", 3),
        (calls_a_method_of_an_argument, Base, "apply", lambda self, x: x),
        (calls_a_method_of_an_argument, Base, "__call__", lambda self, x: x),
        (property_setter_writes, Base, "twice", 1),
        (makes_an_object, Base, "__init__", lambda self, n: setattr(self, "n", 9)),
        (super_and_inheritance, Right, "apply", lambda self, x: x),
        (operators_of_a_class, Vector, "__add__", lambda self, other: self),
        (operators_of_a_class, Vector, "__len__", lambda self: 1),
        (data_descriptor, Validated, "__set__", lambda self, obj, value: None),
        (non_data_descriptor, NonData, "__get__", lambda self, obj, owner=None: 1),
        (equality_and_hash_of_a_class, Base, "__eq__", lambda self, other: True),
    ],
)
def test_guards_notice_a_changed_class(function, owner, name, value, monkeypatch):
    args = {
        calls_a_method_of_an_argument: (X, Base(3)),
        property_setter_writes: (X, Base(3)),
    }.get(function, (X,))
    with_a_changed_class(function, owner, name, value, monkeypatch, *args)


def test_guards_notice_an_attribute_that_shadows_a_method():
    one = Case(calls_a_method_of_an_argument, (X, Base(3)))
    captured = one.captured((X, Base(3)))
    shadowed = Base(3)
    shadowed.apply = lambda x: x
    assert not one.holds(captured, (X, shadowed))


def test_guards_notice_a_method_added_to_a_subclass(monkeypatch):
    one = Case(super_and_inheritance, (X,))
    captured = one.captured((X,))
    monkeypatch.setattr(Diamond, "apply", lambda self, x: x, raising=False)
    assert not one.holds(captured, (X,))


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()
