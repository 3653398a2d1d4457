"""What reaches outside of a function: logging, warnings, printing, random numbers, time, the environment."""

import contextlib
import io
import logging
import os
import random
import sys
import time
import uuid
import warnings
import weakref

import pytest
import torch

from tests.semantics.harness import Corpus

case = Corpus()
X = torch.arange(4.0)
quiet = logging.getLogger("tests.semantics.quiet")
quiet.setLevel(logging.CRITICAL)
loud = logging.getLogger("tests.semantics.loud")
loud.setLevel(logging.DEBUG)
loud.propagate = False


class Kept(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        print("log:", record.getMessage())


loud.addHandler(Kept())


@case(X)
def quiet_logger_says_nothing(x):
    quiet.debug("value %s", 1)
    quiet.info("info")
    return x + 1


@case(X, breaks="B128")
def loud_logger_is_heard_in_order(x):
    print("before")
    loud.info("message %d", 5)
    print("after")
    return x + 1


quiet.isEnabledFor(logging.INFO)  # is in the cache of the logger from now on: the first time takes a lock


@case(X)
def logger_is_asked_for_its_level(x):
    if quiet.isEnabledFor(logging.INFO):
        x = x + 1
    return x * 2, quiet.level, quiet.name


@case(X, breaks="B128")
def warning_is_given(x):
    warnings.warn("careful", UserWarning, stacklevel=1)
    return x


@case(X, breaks="B128")
def warnings_are_ignored_in_a_block(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("hidden")
        y = x + 1
    return y


@case(X)
def print_with_separators(x):
    print(1, "a", [2], sep="-", end="|")
    print()
    print(f"{x.shape}", flush=True)
    return x


@case(X)
def print_between_tensor_operations(x):
    y = x + 1
    print("first")
    y.add_(1)
    print("second", y.shape[0])
    return y * 2


@case(X)
def print_in_a_finally(x):
    try:
        print("body")
        raise ValueError("v")
    except ValueError as error:
        print("caught", error)
    finally:
        print("finally")
    return x


@case(X)
def print_in_a_generator(x):
    def gen():
        for i in range(2):
            print("yield", i)
            yield i

    for i in gen():
        print("got", i)
    return x


@case(X, breaks="B123")
def output_is_redirected(x):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        print("inside")
    return text.getvalue(), x


@case(X, breaks="B123")
def written_to_standard_output(x):
    sys.stdout.write("text\n")
    return x


@case(X, breaks="B122")
def seeded_random_number(x):
    random.seed(3)
    return x * random.random()


@case(X, breaks="B122")
def random_generator_of_its_own(x):
    generator = random.Random(5)
    return x * generator.random(), generator.randint(1, 10)


@case(X, breaks="B122")
def random_choice_of_a_list(x):
    random.seed(0)
    return random.choice([1, 2, 3]), x


@case(X, breaks="B122")
def time_is_measured(x):
    start = time.perf_counter()
    y = x + 1
    return y, time.perf_counter() >= start


@case(X, breaks="B122")
def sleeping_is_left_to_python(x):
    time.sleep(0)
    return x + 1


@case(X)
def environment_is_read(x):
    return x, os.environ.get("A_NAME_THAT_IS_NOT_SET", "none")


@case(X, breaks="B123")
def process_is_asked(x):
    return x, os.getpid() > 0


@case(X)
def path_functions(x):
    return os.path.basename("/a/b.txt"), os.path.splitext("b.txt"), os.sep, x


@case(X)
def version_is_compared(x):
    if sys.version_info >= (3, 12):
        x = x + 1
    return x, sys.platform in ("linux", "darwin", "win32"), sys.maxsize > 0


@case(X)
def torch_version_is_compared(x):
    major = int(torch.__version__.split(".")[0])
    return x + major


@case(X, breaks="B123")
def unique_identifier(x):
    return x, len(str(uuid.uuid4()))


@case(X, breaks="B123")
def weak_reference_is_made(x):
    class_of = Kept()
    ref = weakref.ref(class_of)
    return ref() is class_of, x


@case(X, breaks="B102")
def weak_dictionary(x):
    table = weakref.WeakKeyDictionary()
    key = Kept()
    table[key] = 1
    return table[key], len(table), type(key) is Kept, x


@case(X, breaks="B123")
def locals_are_read(x):
    y = 2
    return sorted(locals()), x


@case(X, breaks="B123")
def globals_are_read(x):
    return "X" in globals(), x


@case(X, breaks="B123")
def code_is_evaluated(x):
    return eval("1 + 1"), x


@case(X)
def object_without_attributes(x):
    mark = object()
    return mark is mark, mark == object(), x


@case(X, breaks="B123")
def text_of_an_open_file(x):
    with open(os.devnull) as file:
        return file.read(), x


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()
