"""functools, itertools, operator, copy, typing, inspect, re: as programs use them."""

import copy
import functools
import inspect
import itertools
import math
import operator
import re
import sys
import typing

import pytest
import torch

from tests.semantics.harness import Corpus

case = Corpus()
X = torch.arange(4.0)


def scale(x, factor=2, *, shift=0):
    """Scale."""
    return x * factor + shift


@case(X)
def partial_of_a_partial(x):
    once = functools.partial(scale, factor=3)
    again = functools.partial(once, shift=1)
    return again(x), again(x, shift=5), once.keywords, once.func is scale, once.args


@case(X)
def partial_of_a_class_and_a_method(x):
    make = functools.partial(dict, a=1)
    join = functools.partial("-".join)
    return make(b=2), join(["a", "b"]), functools.partial(int, base=2)("101"), x


class Cell:
    def __init__(self):
        self.alive = False
        self.log = []

    def set_state(self, state, *, note=""):
        self.alive = state
        self.log.append(note)

    set_alive = functools.partialmethod(set_state, True, note="alive")
    set_dead = functools.partialmethod(set_state, False)

    @functools.cached_property
    def costly(self):
        self.log.append("computed")
        return len(self.log)

    @functools.singledispatchmethod
    def show(self, value):
        return "other"

    @show.register
    def _(self, value: int):
        return f"int {value}"

    @show.register
    def _(self, value: str):
        return f"str {value}"


@case(X)
def partialmethod_binds(x):
    cell = Cell()
    cell.set_alive()
    alive = cell.alive
    cell.set_dead(note="dead")
    return alive, cell.alive, cell.log, x


@case(X, Cell())
def partialmethod_of_an_argument(x, cell):
    cell.set_alive()
    return x + cell.alive


@case(X)
def cached_property_computes_once(x):
    cell = Cell()
    return cell.costly, cell.costly, cell.log, "costly" in cell.__dict__, x


@case(X)
def cached_property_is_forgotten_by_del(x):
    cell = Cell()
    first = cell.costly
    del cell.costly
    return first, cell.costly, cell.log, x


# From 3.13 on, a singledispatchmethod keeps what it gives in a table by weak references.
IN_TABLE = "B102" if sys.version_info >= (3, 13) else None


@case(X, breaks=IN_TABLE)
def singledispatchmethod_picks_by_type(x):
    cell = Cell()
    return cell.show(1), cell.show("a"), cell.show(None), cell.show(True), x


@functools.singledispatch
def describe(value):
    return "object"


@describe.register(int)
@describe.register(float)
def _(value):
    return "number"


@describe.register
def _(value: list):
    return [describe(one) for one in value]


@describe.register(torch.Tensor)
def _(value):
    return value + 1


@case(X)
def singledispatch_recurses(x):
    return describe([1, 2.0, "a", [x]]), describe(None), describe.dispatch(bool) is describe.dispatch(int)


@functools.total_ordering
class Version:
    def __init__(self, *parts):
        self.parts = parts

    def __eq__(self, other):
        return self.parts == other.parts

    def __lt__(self, other):
        return self.parts < other.parts


@case(X)
def total_ordering_fills_in(x):
    a, b = Version(1, 2), Version(1, 3)
    return a < b, a <= b, a > b, a >= b, a == b, a != b, max(a, b) is b, x


def traced(log):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            log.append(function.__name__)
            return function(*args, **kwargs)

        return wrapper

    return decorate


@case(X)
def wraps_keeps_the_name(x):
    log = []

    @traced(log)
    @traced(log)
    def work(y):
        """Work."""
        return y + 1

    return work(x), work.__name__, work.__doc__, work.__wrapped__.__wrapped__(x), log


@case(X)
def wraps_copies_attributes(x):
    def inner():
        """Inner."""

    inner.note = 5

    @functools.wraps(inner)
    def outer():
        pass

    @functools.wraps(outer, updated=())
    def last():
        pass

    return outer.note, outer.__doc__, hasattr(last, "note"), sorted(vars(outer)), last.__wrapped__ is outer, x


@functools.cache
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@case(X)
def lru_cache_recurses(x):
    return x * fibonacci(20)


@functools.cache
def table_of(n, kind="a"):
    return tuple(range(n)), kind


@case(X)
def cached_result_is_one_object(x):
    return table_of(3) is table_of(3), table_of(2, kind="b"), x


@case(X, breaks="B102")
def lru_cache_made_inside(x):
    calls = []

    @functools.lru_cache
    def square(n):
        calls.append(n)
        return n * n

    return square(3), square(3), square(4), calls, x


@case(X)
def reduce_of_tensors_and_dicts(x):
    return (
        functools.reduce(operator.add, [x, x, 1]),
        functools.reduce(lambda a, b: {**a, **b}, [{"a": 1}, {"b": 2}], {}),
        functools.reduce(max, [3, 1, 2]),
    )


@case(X)
def reduce_of_nothing_is_a_type_error(x):
    try:
        functools.reduce(operator.add, [])
    except TypeError as error:
        return str(error), x


@case(X)
def cmp_to_key_sorts(x):
    by_length = functools.cmp_to_key(lambda a, b: len(a) - len(b))
    return sorted(["ccc", "a", "bb"], key=by_length), max(["a", "bb"], key=by_length), x


@case(X)
def itertools_with_state(x):
    log = []

    def noted(n):
        log.append(n)
        return n

    counter = itertools.count(1)
    first = [next(counter), next(counter)]
    chained = itertools.chain([noted(1)], map(noted, [2, 3]))
    second = next(chained), next(chained)
    return first, second, log, list(chained), log, x


@case(X)
def tee_gives_independent_iterators(x):
    a, b = itertools.tee(i * 2 for i in range(3))
    return next(a), list(b), list(a), x


@case(X)
def itertools_combinatorics(x):
    return (
        list(itertools.combinations_with_replacement("ab", 2)),
        list(itertools.combinations("abc", 0)),
        list(itertools.permutations([1, 2])),
        list(itertools.product()),
        list(itertools.compress("abcd", [1, 0, 1, 0])),
        [(k, list(g)) for k, g in itertools.groupby("aabca", key=str.upper)],
        list(itertools.accumulate([3, 1, 2], max)),
        list(itertools.accumulate([1, 2, 3], operator.mul, initial=10)),
        x,
    )


@case(X)
def zip_longest_and_islice_of_generators(x):
    return (
        list(itertools.zip_longest((i for i in range(3)), "a", fillvalue=x)),
        list(itertools.islice((i for i in range(10)), 1, 8, 3)),
        list(itertools.islice(itertools.count(), 3)),
        list(itertools.repeat(x, 2)),
        list(itertools.takewhile(lambda n: n < 3, itertools.count())),
    )


@case(X)
def islice_refuses_negatives(x):
    try:
        itertools.islice([1, 2], -1)
    except ValueError as error:
        return str(error)[:30], x


@case(X)
def zip_strict_refuses_other_lengths(x):
    found = []
    for rows in (([1], [1, 2]), ([1, 2], [1]), ([1], [1], [1, 2])):
        try:
            list(zip(*rows, strict=True))
        except ValueError as error:
            found.append(str(error))
    return found, list(zip([1], [2], strict=True)), x


@case(X)
def operator_getters(x):
    rows = [{"k": 2, "v": "b"}, {"k": 1, "v": "a"}]
    return (
        sorted(rows, key=operator.itemgetter("k")),
        list(map(operator.itemgetter("v", "k"), rows)),
        operator.attrgetter("shape", "dtype")(x),
        operator.methodcaller("sum", 0)(x),
        operator.methodcaller("split", "-", maxsplit=1)("a-b-c"),
    )


@case(X)
def operator_functions_in_place(x):
    items = [1]
    same = operator.iadd(items, [2])
    operator.setitem(items, 0, 5)
    operator.delitem(items, 1)
    return (
        same is items,
        items,
        operator.concat([1], [2]),
        operator.countOf([1, 1], 1),
        operator.indexOf([3, 4], 4),
        x,
    )


@case(X)
def length_hint_and_index(x):
    return operator.length_hint([1, 2]), operator.index(True), operator.truth([]), operator.not_(0), x


class Node:
    def __init__(self, value, next_=None):
        self.value = value
        self.next = next_

    def __copy__(self):
        return Node(("copied", self.value), self.next)


class Tree:
    def __init__(self, parts):
        self.parts = parts
        self.parent = None

    def __deepcopy__(self, memo):
        made = Tree(copy.deepcopy(self.parts, memo))
        made.parent = self.parent
        memo[id(self)] = made
        return made


@case(X)
def shallow_copies_share_their_parts(x):
    inner = [1]
    whole = {"a": inner, "b": (inner,)}
    twin = copy.copy(whole)
    inner.append(2)
    return twin, twin["a"] is inner, copy.copy(Node(1)).value, x


@case(X)
def deep_copies_keep_cycles(x):
    items = [1, {"k": (2, [3])}]
    items.append(items)
    twin = copy.deepcopy(items)
    return twin[2] is twin, twin[1] is items[1], twin[1], x


@case(X, breaks="B102")
def deep_copy_by_the_class(x):
    tree = Tree([[1], [2]])
    tree.parent = [0]
    twin = copy.deepcopy(tree)
    return twin.parts, twin.parts[0] is tree.parts[0], twin.parent is tree.parent, x


@case(X, breaks="B102")
def deep_copy_of_a_tensor(x):
    y = copy.deepcopy(x)
    y += 1
    return x, y


@case(X, breaks="B102")
def copy_of_a_tensor_shares_its_storage(x):
    y = copy.copy(x)
    y += 1
    return x, y


@case(torch.nn.Linear(4, 4), X, breaks="B102")
def deep_copy_of_a_module(module, x):
    twin = copy.deepcopy(module)
    return twin(x) - module(x)


@case(X)
def signature_of_a_function(x):
    signature = inspect.signature(scale)
    parameters = signature.parameters
    return list(parameters), parameters["factor"].default, str(parameters["shift"].kind), x


@case(X)
def signature_binds(x):
    bound = inspect.signature(scale).bind(x, shift=3)
    bound.apply_defaults()
    return scale(*bound.args, **bound.kwargs), dict(bound.arguments)


@case(X, breaks=IN_TABLE)
def inspect_predicates(x):
    return (
        inspect.isfunction(scale),
        inspect.isclass(Cell),
        inspect.ismethod(Cell().show),
        inspect.isgeneratorfunction(scale),
        inspect.getdoc(scale),
        x,
    )


@typing.runtime_checkable
class Runs(typing.Protocol):
    def run(self): ...


class Runner:
    def run(self):
        return 1


T = typing.TypeVar("T")


class Box(typing.Generic[T]):
    def __init__(self, value: T):
        self.value = value

    def map(self, function: typing.Callable[[T], T]) -> "Box[T]":
        return Box(function(self.value))


@case(X, breaks="B102" if sys.version_info >= (3, 12) else None)  # typing looks into the dicts of classes
def protocol_isinstance(x):
    return isinstance(Runner(), Runs), isinstance(Cell(), Runs), issubclass(Runner, Runs), x


@case(X)
def generic_box(x):
    box = Box[int](1).map(lambda v: v + 1)
    return box.value, isinstance(box, Box), Box[float](x).value


@case(X)
def typing_runtime_functions(x):
    y = typing.cast("torch.Tensor", x)
    typing.assert_type(y, torch.Tensor)
    return y + 1, typing.get_origin(list[int]), typing.get_args(dict[str, int])


class Hinted:
    a: int
    b: "list[str]"


@case(X)
def type_hints_are_read(x):
    return typing.get_type_hints(Hinted), Hinted.__annotations__["a"], x


@case(X)
def typed_dict_is_a_dict(x):
    class_of = Movie(name="a", year=1)
    return class_of, type(class_of) is dict, x


class Movie(typing.TypedDict):
    name: str
    year: int


@case(X)
def new_type_is_transparent(x):
    return UserId(5) + 1, x


UserId = typing.NewType("UserId", int)


@case(X)
def regular_expression_matches(x):
    match = re.match(r"(?P<name>\w+)\.(\d+)", "layer.12.weight")
    return (
        match.group("name"),
        match.groups(),
        match.span(2),
        match["name"],
        re.sub(r"\d+", lambda m: str(int(m.group()) + 1), "a1b2"),
        [m.group() for m in re.finditer(r"[a-z]", "a1b")],
        re.match("z", "a") is None,
        x,
    )


@case(X)
def compiled_pattern_made_inside(x):
    pattern = re.compile(r"(\d+)-(\d+)", re.IGNORECASE)
    return pattern.search("x 1-2").groups(), pattern.split("a1-2b"), bool(pattern.fullmatch("a")), x


@case(X)
def math_on_numbers(x):
    return (
        math.hypot(3, 4),
        math.comb(5, 2),
        math.factorial(5),
        math.fsum([0.1] * 3),
        math.isqrt(17),
        math.copysign(1, -0.0),
        math.frexp(8.0),
        math.isnan(math.nan),
        math.dist((0, 0), (3, 4)),
        math.perm(4, 2),
        math.lcm(4, 6),
        math.trunc(-1.5),
        math.degrees(math.pi),
        x * math.tau,
    )


@case(X)
def math_domain_error(x):
    try:
        math.sqrt(-1)
    except ValueError as error:
        return str(error), x


@case(X)
def partial_of_a_partial_is_flat(x):
    once = functools.partial(scale, 1, shift=2)
    again = functools.partial(once, 3, shift=4)
    return again.func is scale, again.args, again.keywords, again(), x


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()
