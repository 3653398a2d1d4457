"""Subclasses of str, float, int, set and tuple."""

import pytest
import torch

from tests.semantics.harness import Corpus

case = Corpus()
X = torch.arange(4.0)


class Name(str):
    def shout(self):
        return self.upper() + "!"


@case(X)
def str_subclass(x):
    name = Name("ab")
    return name.shout(), name + "c", name == "ab", {"ab": 1}[name], isinstance(name, str), len(name), x


class Meters(float):
    def __add__(self, other):
        return Meters(float(self) + other)

    def __repr__(self):
        return f"{float(self)}m"


@case(X)
def float_subclass(x):
    a = Meters(1.5)
    return repr(a + 1), a * 2, a > 1, x * a, f"{a:.2f}", type(a + 1).__name__


class Index(int):
    @property
    def next(self):
        return Index(self + 1)


@case(X)
def int_subclass(x):
    i = Index(2)
    return i.next + 1, [1, 2, 3][i], x[i], i == 2, isinstance(i, int), range(i), type(i.next) is Index


class Fruits(set):
    def twice(self):
        return [*sorted(self), *sorted(self)]


@case(X)
def set_subclass(x):
    fruits = Fruits({"b", "a"})
    fruits.add("c")
    return fruits.twice(), "a" in fruits, len(fruits), x


@case(X)
def set_subclass_is_returned(x):
    fruits = Fruits("ab")
    fruits.note = x
    return fruits


@case(X, Fruits("ab"))
def set_subclass_argument_is_changed(x, fruits):
    fruits.add("c")
    fruits.discard("a")
    return x, fruits.twice()


@case(X)
def set_subclass_operators(x):
    fruits = Fruits("ab")
    same = fruits
    fruits |= {"c"}
    both = fruits | {"d"}
    return same is fruits, type(both), sorted(both), fruits - {"a"} == {"b", "c"}, Loud("a") | {"b"}, x


class Loud(set):
    def __or__(self, other):
        return "or"


class Frozen(frozenset):
    pass


@case(X)
def frozenset_subclass(x):
    return len(Frozen([1, 2])), 1 in Frozen([1]), {Frozen([1]): 2}[Frozen([1])], Frozen([1]) | {3}, x


class Pair(tuple):
    def __new__(cls, a, b):
        return super().__new__(cls, (a, b))

    @property
    def total(self):
        return self[0] + self[1]


@case(X)
def tuple_subclass_with_new(x):
    pair = Pair(x, 1)
    a, b = pair
    return pair.total, len(pair), a is x, b, pair[1]


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()
