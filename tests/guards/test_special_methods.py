"""Special methods that a class gets, loses, or has as something else than a function: as Python does."""

import copy
import functools
import math
import operator
from collections.abc import Callable
from typing import Any, cast

import pytest
import torch

import supple
from supple.base.config import config

# What torch says of numbers that are no tensors and override its functions.
pytestmark = pytest.mark.filterwarnings("ignore")


class Plain:
    def __init__(self, v: int) -> None:
        self.v = v

    def __lt__(self, other: Any) -> Any:
        return self.v < other.v

    def __len__(self) -> int:
        return 2

    def __contains__(self, item: object) -> bool:
        return True

    def __eq__(self, other: object) -> Any:
        return True

    def __hash__(self) -> int:
        return 1

    def __iter__(self) -> Any:
        return iter([1])

    def __repr__(self) -> str:
        return "Plain"

    def __call__(self) -> int:
        return 4

    def __getitem__(self, key: int) -> int:
        if key > 2:
            raise IndexError(key)
        return key * 10

    def __index__(self) -> int:
        return 1

    def __neg__(self) -> int:
        return 5

    def __add__(self, other: object) -> int:
        return 5


USES: dict[str, Callable[[torch.Tensor, Any], Any]] = {
    "__lt__": lambda x, a: a < a,
    "__len__": lambda x, a: len(a),
    "__len__ of bool": lambda x, a: bool(a),
    "__bool__": lambda x, a: 1 if a else 2,
    "__contains__": lambda x, a: 3 in a,
    "__eq__": lambda x, a: a == 3,
    "__ne__": lambda x, a: a != 3,
    "__hash__": lambda x, a: {a: 1},
    "__iter__": lambda x, a: list(a),
    "__iter__ of in": lambda x, a: 1 in a,
    "__reversed__": lambda x, a: list(reversed(a)),
    "__next__": lambda x, a: next(a),
    "__repr__": lambda x, a: str(a),
    "__str__": lambda x, a: f"{a}",
    "__format__": lambda x, a: f"{a}",
    "__call__": lambda x, a: a(),
    "__getitem__": lambda x, a: a[2],
    "__setitem__": lambda x, a: operator.setitem(a, 1, 1),
    "__index__": lambda x, a: [1, 2][a],
    "__int__": lambda x, a: int(a),
    "__float__": lambda x, a: float(a),
    "__round__": lambda x, a: round(a),
    "__floor__": lambda x, a: math.floor(a),
    "__abs__": lambda x, a: abs(a),
    "__neg__": lambda x, a: -a,
    "__invert__": lambda x, a: ~a,
    "__add__": lambda x, a: a + a,
    "__sub__": lambda x, a: a - a,
    "__iadd__": lambda x, a: operator.iadd(a, 1),
    "__rmul__": lambda x, a: 3 * a,
    "__rmul__ of a tensor": lambda x, a: x * a,
    "__matmul__": lambda x, a: a @ a,
    "__divmod__": lambda x, a: divmod(a, a),
    "__setattr__": lambda x, a: setattr(a, "q", 1),
    "__delattr__": lambda x, a: delattr(a, "q"),
    "__getattr__": lambda x, a: a.missing,
    "__getattribute__": lambda x, a: a.v,
    "__init__": lambda x, a: type(a)(3).v,
    "__copy__": lambda x, a: copy.copy(a).v,
    "__deepcopy__": lambda x, a: copy.deepcopy(a).v,
    "__class_getitem__": lambda x, a: cast("Any", type(a))[3],
    "__bytes__": lambda x, a: bytes(a),
}
ODD: dict[str, Any] = {
    "None": None,
    "a number": 5,
    "a function": lambda *args: 1,
    "a function of text": lambda *args: "text",
    "a function that does not know": lambda *args: NotImplemented,
    "a partial": functools.partial(lambda *args: 1),
    "a staticmethod": staticmethod(lambda *args: 1),
    "a classmethod": classmethod(lambda *args: 1),
    "a property": property(lambda self: lambda *args: 1),
}


def outcome(run: Callable[..., Any], given: object) -> tuple[Any, ...]:
    try:
        return "returned", repr(run(torch.ones(2), given))
    except Exception as error:
        return type(error), str(error)


def follows(function: Callable[..., Any], given: Any, name: str, odd: object) -> None:
    compiled = supple.compile(function, backend="eager")
    with config.patch(suppress_errors=False):
        assert outcome(compiled, given) == outcome(function, given)
        setattr(type(given), name, odd)
        wanted = outcome(function, given)
        assert outcome(compiled, given) == wanted
        delattr(type(given), name)
        assert outcome(compiled, given) == outcome(function, given)


@pytest.mark.sweep
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("use", USES)
def test_of_objects(use: str, odd: str) -> None:
    follows(USES[use], type("Plain", (Plain,), {})(1), use.split()[0], ODD[odd])


NUMBERS: dict[str, Callable[[torch.Tensor, Any], Any]] = {
    "__mul__": lambda x, m: m * 2,
    "__mul__ of a tensor": lambda x, m: m * x,
    "__rmul__": lambda x, m: 2 * m,
    "__rmul__ of a tensor": lambda x, m: x * m,
    "__radd__ in place": lambda x, m: operator.iadd(x.clone(), m),
    "__pow__": lambda x, m: m**x,
    "__float__": lambda x, m: x * float(m),
    "__float__ of an operator": lambda x, m: x.clamp(max=m),
    "__int__": lambda x, m: x * int(m),
    "__index__": lambda x, m: [10, 20, 30][int(m)],
    "__index__ of a float": lambda x, m: float(m),
    "__index__ of an int": lambda x, m: int(m),
    "__trunc__ of an int": lambda x, m: int(m),
    "__abs__": lambda x, m: abs(m),
    "__bool__": lambda x, m: 1 if m else 2,
    "__neg__": lambda x, m: -m,
    "__eq__": lambda x, m: m == 1,
    "__eq__ of a tensor": lambda x, m: x == m,
    "__gt__ of a tensor": lambda x, m: x < m,
    "__lt__ of a tensor": lambda x, m: m < x,
    "__round__": lambda x, m: round(m),
    "__str__": lambda x, m: f"{m}",
    "__format__": lambda x, m: f"{m}",
    "__format__ with a spec": lambda x, m: f"{m:3}",
    "__hash__": lambda x, m: {1: 2}.get(m),
    "__torch_function__": lambda x, m: x * m,
    "__torch_function__ of a dim": lambda x, m: x.sum(int(m) - 1),
}


@pytest.mark.sweep
@pytest.mark.parametrize("odd", ["a function", "a function of text", "a function that does not know"])
@pytest.mark.parametrize("base", [int, float])
@pytest.mark.parametrize("use", NUMBERS)
def test_of_numbers(use: str, base: type, odd: str) -> None:
    follows(NUMBERS[use], type("Number", (base,), {})(1), use.split()[0], ODD[odd])


class Number(int):
    """An int with attributes."""


@pytest.mark.parametrize(
    "use",
    [lambda x, m: [10, 20, 30][m], lambda x, m: x[m], lambda x, m: list(range(m)), lambda x, m: x.sum(m - 1)],
)
def test_an_int_of_another_class_is_the_index_itself(use: Callable[..., Any]) -> None:
    follows(use, type("Number", (Number,), {})(1), "__index__", lambda self: 0)


class Items:
    """A sequence by the old protocol."""

    def __getitem__(self, key: int) -> int:
        return [0, 10, 20][key]

    def __len__(self) -> int:
        return 3


class Backwards(list[int]):
    """A list with an order of its own backwards."""

    def __reversed__(self) -> Any:
        return iter([7])


@pytest.mark.parametrize(
    "given", [Items(), Backwards([1, 2]), [1, 2], {1: 2, 3: 4}, "abc", range(3), {1}, object()]
)
def test_reversed(given: Any) -> None:
    def program(x: torch.Tensor, given: Any) -> Any:
        return [x * 2, list(reversed(given))]

    assert outcome(supple.compile(program, backend="eager"), given) == outcome(program, given)


class Like:
    """An object that is a key like another one's."""

    def __init__(self, other: object) -> None:
        self.other = other

    def __hash__(self) -> int:
        return hash(self.other)

    def __eq__(self, other: object) -> bool:
        return self.other == (other.other if isinstance(other, Like) else other)


@pytest.mark.parametrize("given", [Like("a"), Like(1), Like(None), Like(2.5)])
def test_an_object_that_equals_a_constant_is_the_same_key(given: Any) -> None:
    def program(x: torch.Tensor, given: Any) -> Any:
        table = {"a": 1, 1: 2, None: 3, given: 4}
        return (
            x * 2,
            table.get(given),
            table.get("a"),
            list(table.values()),
            given in {"a", 1},
            {given, "a", 1},
        )

    assert outcome(supple.compile(program, backend="eager"), given)[0] == "returned"
    first, second = (run(torch.ones(2), given)[1:-1] for run in (supple.compile(program), program))
    assert first == second


CONTENTS: dict[type, Any] = {
    list: [1, 2], tuple: (1, 2), dict: {1: 2}, set: {1}, frozenset: {1}, str: "ab", int: 3, float: 2.0
}  # fmt: skip
OF_CONTAINERS: dict[str, Callable[[torch.Tensor, Any], Any]] = {
    "__len__": lambda x, a: len(a),
    "__iter__": lambda x, a: list(a),
    "__iter__ of a star": lambda x, a: [*a],
    "__iter__ of zip": lambda x, a: list(zip(a, a, strict=True)),
    "__iter__ of sum": lambda x, a: sum(a),
    "__iter__ of max": lambda x, a: max(a),
    "__iter__ of sorted": lambda x, a: sorted(a),
    "__iter__ of a tensor": lambda x, a: torch.tensor(a),
    "__contains__": lambda x, a: 1 in a,
    "__getitem__": lambda x, a: a[1],
    "__missing__": lambda x, a: a[55],
    "__bool__": lambda x, a: 1 if a else 2,
    "__eq__": lambda x, a: a == CONTENTS[type(a).__mro__[1]],
    "__ne__": lambda x, a: a != CONTENTS[type(a).__mro__[1]],
    "__lt__": lambda x, a: a < a,
    "__add__": lambda x, a: a + a,
    "__radd__": lambda x, a: CONTENTS[type(a).__mro__[1]] + a,
    "__mul__": lambda x, a: a * 2,
    "__rmul__": lambda x, a: 2 * a,
    "__or__": lambda x, a: a | a,
    "__ror__": lambda x, a: CONTENTS[type(a).__mro__[1]] | a,
    "__and__": lambda x, a: a & a,
    "__sub__": lambda x, a: a - a,
    "__neg__": lambda x, a: -a,
    "__repr__": lambda x, a: repr(a),
    "__str__": lambda x, a: str(a),
    "__format__": lambda x, a: f"{a}",
    "__hash__": lambda x, a: {a: 1},
    "__reversed__": lambda x, a: list(reversed(a)),
    "__getattribute__": lambda x, a: a.missing,
    "__getattr__": lambda x, a: a.missing,
    "__call__": lambda x, a: a(),
    "__index__": lambda x, a: [5, 6, 7, 8][a],
    "__int__": lambda x, a: int(a),
    "__float__": lambda x, a: float(a),
    "__round__": lambda x, a: round(a),
    "__copy__": lambda x, a: copy.copy(a),
    "__deepcopy__": lambda x, a: copy.deepcopy(a),
    "__init__": lambda x, a: list(type(a)(a)),
    "keys": lambda x, a: {**a},
    "items": lambda x, a: list(a.items()),
    "get": lambda x, a: a.get(1),
    "index": lambda x, a: a.index(1),
    "upper": lambda x, a: a.upper(),
}


@pytest.mark.sweep
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("base", CONTENTS)
@pytest.mark.parametrize("use", OF_CONTAINERS)
def test_of_subclasses_of_builtins(use: str, base: type, odd: str) -> None:
    follows(OF_CONTAINERS[use], type("Sub", (base,), {})(CONTENTS[base]), use.split()[0], ODD[odd])


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("method", ["__instancecheck__", "__subclasscheck__"])
def test_of_metaclasses(method: str, odd: str) -> None:
    meta = type("Meta", (type,), {})
    made: Any = meta("Made", (), {})

    def program(x: torch.Tensor, given: object) -> Any:
        return isinstance(3, made) if method == "__instancecheck__" else issubclass(int, made)

    compiled = supple.compile(program, backend="eager")
    with config.patch(suppress_errors=False):
        assert outcome(compiled, None) == outcome(program, None)
        setattr(meta, method, ODD[odd])
        assert outcome(compiled, None) == outcome(program, None)
        delattr(meta, method)
        assert outcome(compiled, None) == outcome(program, None)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("is_of_data", [False, True])
@pytest.mark.parametrize("method", ["__get__", "__set__"])
def test_of_descriptors(method: str, is_of_data: bool, odd: str) -> None:
    def get(self: object, owner: object, kind: object = None) -> int:
        return 5

    names: dict[str, Any] = {"__get__": get}
    if is_of_data:
        names["__set__"] = lambda self, owner, value: None
    descriptor = type("Descriptor", (), names)
    holder = type("Holder", (), {"d": descriptor()})
    given = holder()

    def program(x: torch.Tensor, given: Any) -> Any:
        given.d = 3
        return given.d

    def of_class(x: torch.Tensor, given: Any) -> Any:
        return type(given).d

    def check(function: Callable[..., Any], compiled: Callable[..., Any]) -> None:
        vars(given).clear()
        wanted = outcome(function, given)
        vars(given).clear()
        assert outcome(compiled, given) == wanted

    for function in (program, of_class):
        compiled = supple.compile(function, backend="eager")
        with config.patch(suppress_errors=False):
            check(function, compiled)
            setattr(descriptor, method, ODD[odd])
            check(function, compiled)
            delattr(descriptor, method)
            check(function, compiled)
        if method in names:
            setattr(descriptor, method, names[method])


class Failure(Exception):
    """An exception with a constructor of its own."""

    def __init__(self, value: int, times: int = 1) -> None:
        super().__init__(value, times)
        self.times = times


class ByNew:
    """An object made by `__new__`."""

    def __new__(cls, times: int = 1) -> Any:
        made: Any = object.__new__(cls)
        made.times = times
        return made


class ByInit:
    """An object made by `__init__`."""

    def __init__(self, times: int = 1) -> None:
        self.times = times


def _raising(x: torch.Tensor, given: Any) -> Any:
    try:
        raise Failure(1)  # noqa: TRY301
    except Failure as error:
        return x * error.times, error.args


CONSTRUCTORS: tuple[tuple[Callable[..., Any], type, str], ...] = (
    (_raising, Failure, "__init__"),
    (lambda x, given: ByNew().times, ByNew, "__new__"),
    (lambda x, given: ByInit().times, ByInit, "__init__"),
)


@pytest.mark.parametrize(("program", "cls", "method"), CONSTRUCTORS)
def test_constructors(program: Callable[..., Any], cls: type, method: str) -> None:
    function = getattr(cls, method)
    kept, defaults = vars(cls)[method], function.__defaults__
    compiled = supple.compile(program, backend="eager")
    with config.patch(suppress_errors=False):
        try:
            for other in (defaults, (7,), None, (8,)):
                function.__defaults__ = other
                assert outcome(compiled, None) == outcome(program, None), other
            function.__defaults__ = defaults
            for odd in (
                None,
                functools.partial(lambda *args: None),
                lambda *args: None,
                lambda *args: 5,
                kept,
            ):
                setattr(cls, method, odd)
                assert outcome(compiled, None) == outcome(program, None), odd
        finally:
            function.__defaults__ = defaults
            setattr(cls, method, kept)


@pytest.mark.parametrize("symbol", ["*", "+", "-", "/", "@", "**", "&", "<<", "//"])
@pytest.mark.parametrize("is_left", [False, True])
def test_what_torch_asks_of_an_operand_is_seen(symbol: str, is_left: bool) -> None:
    asked: list[str] = []
    names = "mul add sub truediv matmul pow and lshift floordiv".split()
    methods = {f"__{side}{name}__": lambda self, other: 5 for name in names for side in ("", "r")}

    def noting(self: object, name: str) -> object:
        asked.append(name)
        return object.__getattribute__(self, name)

    plain = type("Plain", (), dict(methods))
    run = eval(f"lambda x, o: (x + 1, {'o' if is_left else 'x'} {symbol} {'x' if is_left else 'o'})")
    compiled, found = supple.compile(run), []
    for is_noting in (False, True):
        if is_noting:
            plain.__getattribute__ = noting
        for function in (run, compiled):
            asked.clear()
            found.append((function(torch.ones(2), plain())[1], list(asked)))
    assert found[0] == found[1]
    assert found[2] == found[3]
