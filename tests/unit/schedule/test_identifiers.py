"""Names of values in the text of a host program: identifiers of Python, each of one value."""

from keyword import iskeyword

from supple.schedule.host import RESERVED, identifiers


def test_no_name_is_a_word_of_python() -> None:
    names = ["and", "or", "not", "and_", "is", "x.y", "x_y", "3"]
    found = identifiers(names, {"s0"})
    assert list(found) == names
    assert len({*found.values()}) == len(names)
    assert all(one.isidentifier() and not iskeyword(one) for one in found.values())


def test_numbers_keep_their_names() -> None:
    assert identifiers(["s0", "s1"], {"s0"}) == {"s0": "s0_", "s1": "s1"}


def test_no_value_has_the_name_of_what_the_text_calls() -> None:
    assert not RESERVED.intersection(identifiers(sorted(RESERVED), set()).values())
