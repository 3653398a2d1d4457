"""What random programs showed to be wrong once: as eager, and with a break before any instruction."""

import pytest
import torch

from tests.breaks.everywhere import difference
from tests.fuzz import running
from tests.semantics.harness import Case, Corpus

case = Corpus()
X = torch.arange(6.0).reshape(2, 3)


@case(torch.ones(3))
def out_that_is_resized(x):
    torch.add(2.0, torch.zeros(2), out=x)
    return x * 2


@case(X.clone())
def rows_that_do_not_fit(x):
    items = []
    try:
        items.append(0)
        x[[0]] = torch.ones(2, 3)
    except RuntimeError as error:
        items.append(str(error))
    return items


class Base:
    def __init__(self, n):
        self.a = n

    def go(self):
        return self.a


class Derived(Base):
    def __init__(self, n):
        super().__init__(n)
        self.b = self.a + super().go()


@case(X)
def super_that_is_made_before_a_break(x):
    made = Derived(2)
    return x * made.b, made


@case(X)
def locals_of_a_function_whose_callee_breaks(x):
    y = [x, Derived(2)]
    print(x, sorted(locals()))
    return y


@case()
def reverse_that_is_no_number():
    try:
        return sorted([], reverse="a"), sorted([1, 3, 2], reverse=2)
    except TypeError as error:
        return str(error)


@case([2], X)
def list_that_grows_while_it_is_iterated(items, x):
    for item in items:
        items.append(item + 1)
        if len(items) == 4:
            print(x)
        if len(items) > 6:
            break
    return items


@case()
def attribute_that_a_new_module_lacks():
    try:
        return torch.nn.Identity().weight
    except AttributeError as error:
        return str(error)


class Coded(ValueError):
    def __init__(self, code):
        super().__init__(code, "coded")
        self.code = code


@case()
def exception_with_an_init_of_its_own():
    error = Coded(3)
    seen = error.args
    error.args = [1, "changed"]
    return error, str(error), seen, error.args


@case(X)
def locals_of_a_generator_behind_a_break(x):
    def given(t):
        yield t.sum().item()
        print(sorted(locals()))

    return list(given(x))


@case(X)
def least_of_numbers_of_two_types(x):
    return min(x.sum().item(), 0), max(0, -x.sum().item()), min(x.sum().item(), 3.0)


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_as_eager_wherever_it_breaks(one: Case) -> None:
    position, is_forced = 0, True
    while is_forced or not position:
        is_forced, found = difference(one, position)
        assert found is None, f"break before instruction {position}: {found}"
        position += 1


AUTOCAST = """
def program(x, n):
    with torch.autocast('cpu', enabled=1 > n):
        x[0] = 2
    return x

def arguments_0():
    return (tensor(2).requires_grad_(), -1)
"""


def test_a_graph_that_native_code_cannot_take_leaves_autocast_as_it_was() -> None:
    assert running.difference(AUTOCAST, "native", break_at=1) is None


REFUSED = """
def program(t2, t3, t4):
    try:
        t3.copy_(t4.movedim(0, 1))
        t6, t7 = t2
        t6.add_(1)
    except Exception as error:
        pass

def arguments_0():
    t2 = tensor(2)
    t3 = t2.expand(2, 3)
    t4 = tensor(2).requires_grad_().t()
    return (t2, t3, t4)
"""


def test_a_write_that_autograd_refuses_for_what_another_input_became_is_caught() -> None:
    assert running.difference(REFUSED, "eager") is None


STACK = """
def program(x):
    return torch.stack([x])

def arguments_0():
    return (torch.zeros(0, 3),)
"""


def test_strides_of_one_stacked_tensor_without_elements() -> None:
    assert running.difference(STACK, "native") is None


WRITES = """
def program(rows, counts):
    counts['a'] = counts.get('a', 0) + 1
    rows[-1].add_(-1)

def arguments_0():
    return list(tensor(2).requires_grad_()), {'a': 3}
"""


def test_effects_before_the_error_of_a_graph_that_had_written_nothing() -> None:
    assert running.difference(WRITES) is None


CONTEXT = """
def program(x):
    try:
        raise ValueError
    except ValueError:
        with guarded(x):
            try:
                raise StopIteration
            except Exception as error:
                raise Oops(3) from error

def arguments_0():
    return (torch.ones(3),)
"""


def test_context_of_an_exception_that_is_raised_behind_a_break() -> None:
    assert running.difference(CONTEXT) is None


DRAWS = """
def program(x, n):
    y = F.dropout(torch.zeros(3))
    return x.index_select(0, torch.tensor(n)) + y

def arguments_0():
    return (torch.ones(3), 5)
"""


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_random_numbers_that_a_graph_draws_before_it_raises(backend: str) -> None:
    assert running.difference(DRAWS, backend) is None


BOOLEANS = """
def program(n, is_more):
    yes = n > 2
    known = [n + True, n - say(is_more), 3 // (n * True), n // True, n % True, n ** True, n < True, n == True]
    known += [divmod(n, True), divmod(yes, 2), pow(n, 2, 5), pow(yes, 2)]
    return [*known, yes + n, n * yes, -yes, yes is True, yes is (n < 9), max(yes, True), min(yes, n)]

def arguments_0():
    return (3, True)

def arguments_1():
    return (5, False)

def arguments_2():
    return (1, True)
"""


def test_booleans_in_arithmetic_with_a_symbolic_number() -> None:
    assert running.difference(BOOLEANS, dynamic=True) is None


NOTHING = """
def program(x):
    few = x[: x.shape[0] // 2].sort()[0]
    return [few.diff(), torch.diff(input=few, n=2), torch.diff(few, prepend=x), *few.chunk(2)]

def arguments_0():
    return (torch.randn(5),)

def arguments_1():
    return (torch.randn(1),)

def arguments_2():
    return (torch.randn(2),)
"""


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_differences_of_nothing_where_the_size_is_computed(backend: str) -> None:
    # DYN09
    assert running.difference(NOTHING, backend, dynamic=True) is None


BEHIND_A_WRITE = """
def program(x):
    x.add_(1)
    return x[x > 0][0]

def arguments_0():
    return (torch.ones(3),)

def arguments_1():
    return (-3 * torch.ones(3),)
"""


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_the_first_of_nothing_behind_a_write(backend: str) -> None:
    # UNB01
    assert running.difference(BEHIND_A_WRITE, backend) is None


DICTS = """
def program(d, counts, x):
    seen = []
    for key, value in d.items():
        d[key] = value + 1
        seen.append((key, value, [*d.values()]))
    try:
        for value in d.values():
            d["more"] = value
    except RuntimeError as error:
        seen.append(str(error))
    try:
        for key, value in d.items():
            say(key)
            d["most"] = value
    except RuntimeError as error:
        seen.append(str(error))
    return [seen, counts.pop("a"), x + 1]

def arguments_0():
    return ({"a": 1, "b": 2}, collections.defaultdict(int, a=4), torch.ones(2))

def arguments_1():
    return ({"a": 1, "b": 2}, collections.defaultdict(int), torch.ones(2))
"""


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_dicts_that_change_while_they_are_iterated_and_defaults_that_a_check_must_not_make(
    backend: str,
) -> None:
    # X-PY02
    assert running.difference(DICTS, backend) is None


HANDED_OVER = """
def program(d, x):
    made = dict(d, b=2)
    for key, value in made.items():
        say(key)
        x = x + value
        made[key] = 5
    d["b"] = 1
    for value in d.values():
        say(value)
        x = x + value
    for key in d:
        say(key)
    return x, made

def arguments_0():
    return ({"a": 1}, torch.ones(1))

def arguments_1():
    return ({"a": 2}, torch.ones(1))
"""


def test_iterators_over_dicts_that_are_handed_over_at_a_break() -> None:
    # X-PY02
    assert running.difference(HANDED_OVER) is None


REBOUND = {
    "attribute": "box.value = box.value + 1",
    "dict": "d['a'] = d['a'] + 1",
    "list": "items[0] = items[0] + 1",
    "deque": "queue[0] = queue[0] + 1",
}
WRITTEN = {
    "attribute": "box.other = box.value * 2",
    "dict": "d['b'] = 1",
    "list": "items.insert(0, 1)",
    "deque": "queue.appendleft(1)",
    "global": "global state; state = queue[-1]",
    "argument": "say(box.value)",
}
SHARED = """
from collections import deque
from types import SimpleNamespace

state = None

def program(box, d, items, queue):
    {}
    return [d]

def arguments_0():
    x = torch.ones(2)
    return (SimpleNamespace(value=x), dict(a=x, c=[x]), [x, 2, x], deque([x]))
"""


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("rebound", REBOUND)
def test_a_tensor_in_two_places_stays_where_it_is_not_rebound(rebound: str, written: str) -> None:
    # X-PY02
    for lines in ((REBOUND[rebound], WRITTEN[written]), (WRITTEN[written], REBOUND[rebound])):
        assert running.difference(SHARED.format("\n    ".join(lines))) is None


BROKEN_OUT_OF = """
def program(x, at):
    for _ in range(2):
        try:
            x.add_(1)
            x = x[at]
        finally:
            break
    return x + 1

def arguments_0():
    return (torch.ones(3), torch.tensor([1]))

def arguments_1():
    return (torch.ones(3), torch.tensor([7]))
"""


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_exceptions_that_a_finally_block_drops(backend: str) -> None:
    # X-PY02
    assert running.difference(BROKEN_OUT_OF, backend) is None


DROPPED_BY_A_BLOCK = """
def program(x, at, log):
    with torch.no_grad(), Trace("a", Exception), torch.enable_grad():
        log.append(1)
        x.add_(1)
        x = x[at]
        log.append(2)
    return x

def arguments_0():
    return (torch.ones(3), torch.tensor([1]), [])

def arguments_1():
    return (torch.ones(3), torch.tensor([7]), [])
"""


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_exceptions_that_a_block_drops(backend: str) -> None:
    # X-PY02
    assert running.difference(DROPPED_BY_A_BLOCK, backend) is None


LET_GO = """
def program(xs, x):
    made = None
    for one in xs:
        def walk(n):
            yield n
            with Trace(n):
                yield n + 1
        made = walk(one)
        say("made")
        x = x + next(made)
        x = x + next(made)
        say("begun")
    return x

def arguments_0():
    return ([1, 2, 3], torch.ones(1))
"""


@pytest.mark.parametrize("break_at", [0, 30, 45, 60, 75, 90, 105, 120])
def test_a_generator_that_is_let_go_after_a_break_leaves_its_block_then(break_at: int) -> None:
    # X-PY02
    assert running.difference(LET_GO, break_at=break_at) is None


OUT_OF_ANOTHER_SIZE = """
def program(x, y):
    torch.add(2.0, torch.where(y > 1)[0], out=x)
    return x * 2

def arguments_0():
    return (torch.ones(3), torch.arange(5.0))

def arguments_1():
    return (torch.ones(3), torch.ones(3))
"""


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("dynamic", [None, True])
def test_an_out_argument_may_have_another_size_than_what_the_data_decides(
    backend: str, dynamic: bool | None
) -> None:
    # GB12
    assert running.difference(OUT_OF_ANOTHER_SIZE, backend, dynamic=dynamic) is None


CLOSED_LATE = """
def program():
    for n in [1, 2]:
        def walk():
            try:
                yield n
            finally:
                print("closed", n)
        print("a", n)
        made = walk()
        print("b", n)
        next(made)
        print("c", n)

def arguments_0():
    return ()
"""


@pytest.mark.parametrize("break_at", [*range(19, 40, 2), 60])
def test_a_generator_lives_as_long_as_its_name_wherever_it_breaks(break_at: int) -> None:
    # X-PY02
    assert running.difference(CLOSED_LATE, break_at=break_at) is None


ROW_OF_ONE = """
state = torch.zeros(3)

def program(x):
    x[0] = state[:1]
    return x.reshape(-1, 1), x.reshape(1, -1)

def arguments_0():
    return (torch.ones(1, 3),)

def arguments_1():
    return (torch.ones(2, 3),)
"""


@pytest.mark.parametrize("dynamic", [None, True])
def test_one_number_is_written_into_a_row(dynamic: bool | None) -> None:
    # X-PY02
    assert running.difference(ROW_OF_ONE, "native", dynamic=dynamic) is None


NOTHING_BEHIND_A_WRITE = """
state = torch.zeros(3)

def program(n):
    state.zero_()
    return torch.nonzero(state + n).add_(n)[0]

def arguments_0():
    return (1,)

def arguments_1():
    return (0,)
"""


@pytest.mark.parametrize("dynamic", [None, True])
def test_what_a_line_writes_does_not_change_its_error(dynamic: bool | None) -> None:
    # GB12
    assert running.difference(NOTHING_BEHIND_A_WRITE, dynamic=dynamic) is None


SUPER_OF_ANOTHER_CLASS = """
class Base:
    def go(self, x):
        return x

class Shape(Base):
    def go(self, x):
        return super().go(x) * 2

def program(x, one):
    return [told_of(lambda: Shape.go(one, x)), told_of(lambda: super(3, one).go(x)), x + 1]

def arguments_0():
    return (torch.ones(2), Shape())

def arguments_1():
    return (torch.ones(2), Base())

def arguments_2():
    return (torch.ones(2), 3)
"""


def test_super_of_an_object_of_another_class() -> None:
    # X-PY02
    assert running.difference(SUPER_OF_ANOTHER_CLASS) is None


NUMBERS_TOO_BIG_FOR_C = """
def program(x, n):
    chosen = told_of(lambda: torch.where(x > 0, n, 2))
    return [told_of(lambda: x * n), chosen, told_of(lambda: x.fill_(n)), x + 1]

def arguments_0():
    return (torch.ones(2), 3)

def arguments_1():
    return (torch.ones(2), 2**70)

def arguments_2():
    return (torch.ones(2), -(2**63) - 1)
"""


@pytest.mark.parametrize("dynamic", [None, True])
def test_numbers_that_c_cannot_hold_are_errors_of_the_program(dynamic: bool | None) -> None:
    # X-PY02
    assert running.difference(NUMBERS_TOO_BIG_FOR_C, dynamic=dynamic) is None


ARRAY_IN_INFERENCE_MODE = """
def program(array):
    with torch.inference_mode():
        inside = torch.from_numpy(array)
        return inside, inside.is_inference(), torch.from_numpy(array) + 1

def arguments_0():
    return (np.ones(3),)
"""


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_the_memory_of_an_array_is_an_input_in_inference_mode_too(backend: str) -> None:
    # X-PY02
    assert running.difference(ARRAY_IN_INFERENCE_MODE, backend) is None
