"""Objects that act like builtin ones: containers, callables, attribute hooks, iteration, tensors."""

import collections
import weakref

import pytest
import torch

from tests.semantics.harness import Corpus

case = Corpus()
X = torch.arange(4.0)


class Table:
    def __init__(self):
        self.rows = {}
        self.log = []

    def __getitem__(self, key):
        self.log.append(("get", key))
        return self.rows[key]

    def __setitem__(self, key, value):
        self.log.append(("set", key))
        self.rows[key] = value

    def __delitem__(self, key):
        self.log.append(("del", key))
        del self.rows[key]

    def __contains__(self, key):
        self.log.append(("in", key))
        return key in self.rows

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        for key in self.rows:
            yield key, self.rows[key]


@case(X)
def items_of_a_class_are_logged_in_order(x):
    table = Table()
    table["a"] = x
    table["b"] = x + 1
    table["a"] += 1
    del table["b"]
    return "a" in table, "b" not in table, len(table), dict(table), table.log


@case(X, Table())
def items_of_an_argument_are_logged(x, table):
    table[1, 2] = x
    table[...] = 3
    table[1:2:3,] = 4
    return [key for key, _ in table if key is ...]


@case(X)
def key_error_of_a_class(x):
    try:
        Table()["nothing"]
    except KeyError as error:
        return error.args, x


class Squares:
    def __getitem__(self, index):
        if isinstance(index, slice):
            return [i * i for i in range(*index.indices(5))]
        if index >= 5:
            raise IndexError(index)
        return index * index


@case(X)
def sequence_protocol_alone_iterates(x):
    squares = Squares()
    return list(squares), 16 in squares, 17 in squares, squares[1:4], squares[::2], max(squares), x


@case(X)
def sequence_protocol_unpacks(x):
    a, *rest, b = Squares()
    return a, rest, b, x


class Down:
    def __init__(self, start):
        self.left = start

    def __iter__(self):
        return self

    def __next__(self):
        if self.left == 0:
            raise StopIteration
        self.left -= 1
        return self.left


@case(X)
def iterator_object_keeps_its_place(x):
    down = Down(5)
    first = next(down)
    for item in down:
        x = x + item
        if item == 2:
            break
    return x, first, list(down), next(down, "end"), down


@case(X, Down(4))
def iterator_argument_is_advanced(x, down):
    return x * next(down) + next(down)


@case(X)
def iterator_object_in_builtins(x):
    return (
        sum(Down(4)),
        sorted(Down(4)),
        list(zip(Down(3), Down(5))),
        list(enumerate(Down(2))),
        tuple(map(str, Down(3))),
        dict.fromkeys(Down(2)),
        set(Down(3)),
        [*Down(2), *Down(1)],
        x,
    )


@case(X, breaks="B121")
def not_iterable_is_a_type_error(x):
    class Plain:
        pass

    try:
        for _ in Plain():
            pass
    except TypeError as error:
        return x, "not iterable" in str(error)


class Broken:
    def __iter__(self):
        return 5

    def __len__(self):
        return -1

    def __bool__(self):
        raise ValueError("no truth")


@case(X)
def truth_that_raises(x):
    try:
        if Broken():
            return None
    except ValueError as error:
        return x, str(error)


class Missing(dict):
    def __missing__(self, key):
        self[key] = key * 2
        return self[key]


@case(X)
def missing_fills_a_dict(x):
    table = Missing(a="z")
    return table["b"], table["a"], table.get("c"), "c" in table, dict(table), x


class Attributes:
    def __init__(self):
        self.log = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self.log.append(name)
        return name.upper()


@case(X)
def getattr_is_called_for_missing_names_only(x):
    obj = Attributes()
    obj.known = 1
    return obj.known, obj.unknown, hasattr(obj, "other"), getattr(obj, "third", None), obj.log, x


class Proxy:
    def __init__(self, target):
        object.__setattr__(self, "target", target)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.target, name)

    def __setattr__(self, name, value):
        setattr(self.target, name, value)

    def __delattr__(self, name):
        delattr(self.target, name)


class Plain:
    def __init__(self, **kwargs):
        self.__dict__.update(kwargs)


@case(X)
def proxy_forwards_everything(x):
    target = Plain(a=1, b=2)
    proxy = Proxy(target)
    proxy.c = proxy.a + 5
    del proxy.b
    return target.__dict__, proxy.c * x


@case(X, Proxy(Plain(a=3)))
def proxy_argument_forwards(x, proxy):
    proxy.a += 1
    return x * proxy.a


class Computed:
    def __getattribute__(self, name):
        if name == "magic":
            return 42
        return object.__getattribute__(self, name)


@case(X)
def getattribute_comes_first(x):
    obj = Computed()
    obj.__dict__["magic"] = 1
    obj.other = 2
    return obj.magic, obj.other, x


class Adder:
    def __init__(self, amount):
        self.amount = amount

    def __call__(self, x, *rest, scale=1, **kwargs):
        return (x + self.amount) * scale, rest, kwargs


@case(X)
def call_takes_every_kind_of_argument(x):
    add = Adder(1)
    return add(x), add(x, 1, 2, scale=3, extra=4), list(map(Adder(2), [1, 2]))


@case(X)
def callable_in_a_dict_and_a_default(x, table={"k": Adder(5)}):
    return table["k"](x)[0]


@case(X)
def not_callable_is_a_type_error(x):
    try:
        Plain()(1)
    except TypeError as error:
        return x, str(error)


class Generic:
    def __class_getitem__(cls, item):
        return (cls.__name__, item)


@case(X)
def class_getitem_is_called(x):
    return Generic[int], Generic["a", 1], x


class Point:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __eq__(self, other):
        return NotImplemented if not isinstance(other, Point) else (self.a, self.b) == (other.a, other.b)

    def __lt__(self, other):
        return (self.a, self.b) < (other.a, other.b)

    def __hash__(self):
        return hash((self.a, self.b))

    def __repr__(self):
        return f"Point({self.a}, {self.b})"

    def __str__(self):
        return f"<{self.a}, {self.b}>"

    def __format__(self, spec):
        return f"{self.a:{spec}}|{self.b:{spec}}" if spec else str(self)


@case(X)
def sorting_and_extremes_of_objects(x):
    points = [Point(2, 1), Point(1, 5), Point(1, 2)]
    return [str(p) for p in sorted(points)], str(min(points)), repr(max(points)), x


@case(X)
def equality_with_other_kinds(x):
    return Point(1, 2) == Point(1, 2), Point(1, 2) != Point(1, 3), Point(1, 2) == 5, Point(1, 2) != "a", x


@case(X)
def texts_of_objects(x):
    p = Point(1, 2)
    return f"{p}", f"{p!r}", f"{p:>3}", str([p, p]), "%s %r" % (p, p), f"{p} {p!r:>14}", x


@case(X)
def count_index_and_remove_use_equality(x):
    points = [Point(1, 2), Point(3, 4), Point(1, 2)]
    found = points.count(Point(1, 2)), points.index(Point(3, 4)), Point(3, 4) in points
    points.remove(Point(1, 2))
    return found, [p.a for p in points], x


@case(X, breaks="B121")
def class_statement_makes_a_class(x):
    class Local:
        scale = 3

        def run(self, x):
            return x * self.scale

    return Local().run(x)


@case(X, breaks="B121")
def class_statement_sees_the_enclosing_scope(x):
    n = 2

    class Local(Point):
        kind = n + 1

        def run(self):
            return super().__repr__(), n

    return Local(1, 2).run(), Local.kind, x


class Stack(list):
    def push(self, item):
        self.append(item)
        return self

    def __len__(self):
        return super().__len__() + 100

    def __getitem__(self, index):
        return ("item", super().__getitem__(index))


@case(X)
def list_subclass_with_overridden_methods(x):
    stack = Stack([1, 2]).push(x)
    return len(stack), stack[0], stack[-1], [item is x for item in stack], bool(Stack())


@case(X, Stack([1, 2]))
def list_subclass_argument_with_overridden_methods(x, stack):
    stack.push(3).push(4)
    return len(stack), stack[2], x


@case(X)
def bound_methods_compare_and_sort(x):
    p, q = Point(1, 2), Point(1, 2)
    return p.__str__ == p.__str__, p.__str__ == q.__str__, p.__repr__(), sorted([3, 1], key=(5).__sub__), x


@case(X)
def methods_in_a_table(x):
    p = Point(1, 2)
    table = {"repr": p.__repr__, "str": Point.__str__, "new": Point}
    return table["repr"](), table["str"](p), table["new"](3, 4).a, x


@case(X, Plain(a=1), breaks="B102")
def weak_reference_to_an_argument(x, obj):
    ref = weakref.ref(obj)
    return x * ref().a


@case(X)
def vars_and_dir_of_an_object(x):
    return vars(Plain(a=1, b=x)), sorted(Plain(q=1).__dict__.items())


@case(X, breaks="B115")
def instance_class_is_assigned(x):
    class_before = Plain(a=1)
    class_before.__class__ = Point
    class_before.b = 2
    return repr(class_before), x


@case(X)
def issubclass_and_isinstance_of_bases(x):
    return (
        issubclass(Stack, list),
        issubclass(bool, int),
        isinstance(Stack(), collections.abc.Sequence),
        isinstance(Squares(), collections.abc.Iterable),
        isinstance(Down(1), collections.abc.Iterator),
        isinstance(Adder(1), collections.abc.Callable),
        isinstance({}, collections.abc.MutableMapping),
        isinstance(Point(1, 2), collections.abc.Hashable),
        x,
    )


@case(X, breaks="B102")
def type_with_three_arguments(x):
    made = type("Made", (Point,), {"extra": 1})
    return made(1, 2).extra, x


class Unit(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})


@case(X, breaks="B112")
def tensor_subclass_with_torch_function(x):
    unit = x.as_subclass(Unit)
    return (unit + 1).as_subclass(torch.Tensor)


class Wrapped:
    def __init__(self, value):
        self.value = value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        plain = [one.value if isinstance(one, Wrapped) else one for one in args]
        return cls(func(*plain, **(kwargs or {})))


@case(X)
def torch_function_of_a_wrapper(x):
    return torch.add(Wrapped(x), 1).value, torch.sin(Wrapped(x)).value


@case(X, Wrapped(X))
def torch_function_of_a_wrapper_argument(x, wrapped):
    return torch.mul(x, wrapped)


class Doubling(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result * 2 if func is torch.add else result


@case(X, breaks="B102")
def torch_function_mode(x):
    with Doubling():
        y = torch.add(x, 1)
    return y, torch.add(x, 1)


@case(X)
def attribute_hooks_by_functions(x):
    obj = Plain()
    setattr(obj, "a", 1)
    object.__setattr__(obj, "b", 2)
    obj.__setattr__("c", 3)
    obj.__delattr__("a")
    return obj.__dict__, obj.__getattribute__("b"), x


@case(X)
def identity_of_methods_and_classes(x):
    return Plain.__init__ is Plain.__init__, Plain() is Plain(), type(Plain()) is Plain, x


@case(X, breaks="B102")
def repr_of_an_object_without_one_is_an_address(x):
    text = repr(Plain())
    return text.startswith("<"), x


class Odd:
    def __len__(self):
        return -1

    def __bool__(self):
        return 2

    def __hash__(self):
        return "a"

    def __str__(self):
        return 5


@case(X)
def results_of_special_methods_are_checked(x):
    found = []
    for action in (lambda o: len(o), lambda o: bool(o), lambda o: {o: 1}, lambda o: str(o), lambda o: Odd(1)):
        try:
            action(Odd())
        except (TypeError, ValueError) as error:
            found.append((type(error).__name__, str(error)))
    return found, x


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()
