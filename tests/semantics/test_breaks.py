"""What is not captured: each program gives up for its own reason, at its line, and runs eager."""

import asyncio
import contextlib
import decimal
import io
import logging
import math
import random
import threading
import time
import warnings
import zlib

import numpy as np
import pytest
import torch

from supple.base.options import Options
from supple.capture import breaks
from supple.capture.frame import capture
from supple.ir.graph.interp import compile_python
from tests.semantics.harness import Case, Corpus

case = Corpus()
X = torch.arange(4.0)
ARRAY = np.arange(3.0)
LOCK = threading.Lock()


class Meta(torch.Tensor):
    pass


class Finalized:
    def __del__(self):
        pass


@torch.compiler.disable
def disabled(x):
    return x + 1


@case(X, breaks="B106", line="print(x)")
def print_of_a_tensor(x):
    print(x)
    return x


@case(X, breaks="B106", line='f"{x')
def format_of_a_tensor(x):
    return f"{x.sum()}"


@case(X, breaks="B104", line="if x.sum() > 0")
def branch_on_a_tensor(x):
    if x.sum() > 0:
        return x
    return -x


@case(X, breaks="B104", line="while x.sum()")
def loop_on_a_tensor(x):
    while x.sum() < 10:
        x = x + 1
    return x


@case(X, b"abc", breaks="B102", line="zlib.crc32")
def c_extension_call(x, data):
    return x * (zlib.crc32(data) % 2)


@case(X, decimal.Decimal(3), breaks="B108", line="float(")
def number_of_a_type_in_c(x, price):
    try:
        return x * float(price)
    except TypeError:
        return x


@case(X, decimal.Decimal(3), breaks="B108", line="price < 4")
def comparison_of_a_type_in_c(x, price):
    try:
        return x * 2 if price < 4 else x
    except TypeError:
        return x


@case(X, breaks="B123", line="torch.save")
def saves_to_a_file(x):
    torch.save(x, "/dev/null")
    return x


@case(X, breaks="B105", line=".tolist()")
def list_of_a_tensor(x):
    return x.tolist()


@case(X, breaks="B105", line=".numpy()")
def numpy_of_a_tensor(x):
    return x.to(torch.bfloat16).numpy()


@case(X, breaks="B119", line="[1, 2][")
def tensor_as_index_of_a_list(x):
    return [1, 2][x[1]]


@case(X, breaks="B124", line="np.cbrt")
def numpy_function(x):
    return x * np.cbrt(4.0)


@case(X, breaks="B124", line="np.array")
def numpy_array_is_made(x):
    return x + torch.from_numpy(np.array([1.0, 2.0, 3.0, 4.0], dtype=np.float32))


@case(X, breaks="B123", line="open(")
def opens_a_file(x):
    with open("/dev/null") as file:
        return x, file.read()


@case(X, breaks="B122", line="time.time()")
def reads_the_clock(x):
    return x * (time.time() > 0)


@case(X, breaks="B122", line="time.perf_counter()")
def reads_the_performance_counter(x):
    start = time.perf_counter()
    return x, time.perf_counter() >= start


@case(X, breaks="B122", line="random.random()")
def random_number(x):
    return x * (random.random() < 2)


@case(X, breaks="B122", line="np.random")
def numpy_random_number(x):
    return x * (np.random.rand() < 2)


@case(X, breaks="B123", line="threading.Thread")
def starts_a_thread(x):
    thread = threading.Thread(target=print)
    thread.start()
    return x


@case(X, breaks="B123", line="with LOCK")
def takes_a_lock(x):
    with LOCK:
        return x + 1


@case(X, breaks="B121", line="class Inner")
def class_statement(x):
    class Inner:
        pass

    return x, Inner.__name__


@case(X, breaks="B120", line="import sndhdr")
def import_of_an_unloaded_module(x):
    import sndhdr

    return x


@case(X, breaks="B126", line="")
def exception_group_block(x):
    try:
        raise ValueError
    except* ValueError:
        return_value = x + 1
    return return_value


@case(X, breaks="B114", line="double(x)")
def async_function_is_called(x):
    async def double(y):
        return y * 2

    return asyncio.run(double(x))


@case(X, breaks="B128", line="logging.warning")
def logging_call(x):
    logging.warning("shape %s", x.shape)
    return x


@case(X, breaks="B128", line="with warnings")
def warning_call(x):
    with warnings.catch_warnings():
        warnings.warn("careful", stacklevel=1)
    return x


@case(X, breaks="B103", line="disabled(x)")
def disabled_function(x):
    return disabled(x)


@case(X, breaks="B123", line="eval(")
def evaluates_code(x):
    return eval("x + 1", {"x": x})


@case(X, breaks="B123", line="locals()")
def reads_locals(x):
    return x, sorted(locals())


@case(X, breaks="B109", line="Finalized()")
def object_with_a_finalizer(x):
    Finalized()
    return x


@case(X, breaks="B111", line="return forever(n + 1)")
def endless_recursion(x):
    def forever(n):
        return forever(n + 1)

    try:
        forever(0)
    except RecursionError:
        return x


@case(X, breaks="B113", line="raise ValueError")
def exception_leaves_the_function(x):
    raise ValueError("for the caller")


@case(X, [1], breaks="B113", line="items[3]")
def index_error_leaves_the_function(x, items):
    items.append(2)
    return x * items[3]


@case(X, breaks="B112", line="x @ torch.ones(3)")
def operation_that_fails(x):
    return x @ torch.ones(3)


@case(X, breaks="B115", line="math.changed")
def attribute_of_a_module_is_written(x):
    math.changed = 1
    return x


@case(X, breaks="B115", line="Finalized.changed")
def attribute_of_a_class_is_written(x):
    Finalized.changed = 1
    return x


@case(torch.ones(3, requires_grad=True), breaks="B129", line="backward")
def backward_inside(w):
    (w * 2).sum().backward()
    return w.grad


@case(X, breaks="B122", line="shuffle")
def shuffles_a_list(x):
    items = [1, 2, 3]
    random.shuffle(items)
    return x, len(items)


@case(X, breaks="B123", line="io.StringIO")
def redirects_output(x):
    with contextlib.redirect_stdout(io.StringIO()):
        return x + 1


@case(ARRAY, breaks="B132", line="second =")
def writes_memory_of_two_tensors(a):
    first = torch.from_numpy(a)
    second = torch.from_numpy(a)
    return first.mul_(second), a


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_gives_up_for_its_reason(one):
    one.check()


def test_a_reason_says_what_where_why_and_what_to_do():
    reason = Case(branch_on_a_tensor, (X,)).captured((X,)).reason
    lines = str(reason).splitlines()
    assert lines[0].endswith("[B104]")
    assert "test_breaks.py" in lines[1]
    assert lines[2].strip() == "if x.sum() > 0:"
    assert lines[-2].startswith("  why: ")
    assert lines[-1].startswith("  do:  ")


def test_codes_are_unique_and_texts_complete():
    for reason in breaks.catalogue():
        assert reason.what.endswith(".")
        assert reason.why.endswith(".")
        assert reason.do.endswith(".")


@pytest.mark.parametrize(
    "x", [torch.eye(3).to_sparse(), torch.ones(2).as_subclass(Meta)], ids=["sparse", "subclass"]
)
def test_other_kinds_of_tensors_are_left_to_eager(x):
    def doubled(x):
        return x * 2

    captured = capture(doubled, (x,), {}, lambda graph, _: compile_python(graph), Options())
    assert captured.reason is not None
    assert captured.reason.reason is breaks.OBJECT


def test_a_function_compiled_by_torch_jit_is_left_alone():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(lambda x: x * 2, (X,))

    def calls_it(x):
        return traced(x)

    Case(calls_it, (X,), breaks="B127", line="traced(x)").check()
