"""Changes of objects that existed before the call, replayed."""

from supple.runtime.rebuild import replace_mapping


class Key:
    """A key that sees how many entries a dict has whenever it is looked up."""

    def __init__(self, name: str, watched: dict[object, int], seen: list[int]) -> None:
        self.name, self.watched, self.seen = name, watched, seen

    def __hash__(self) -> int:
        self.seen.append(len(self.watched))
        return hash(self.name)


def test_a_dict_is_never_without_the_entries_that_stay() -> None:
    target: dict[object, int] = {}
    seen: list[int] = []
    gone, first, second = (Key(name, target, seen) for name in ("gone", "first", "second"))
    target.update({gone: 0, first: 1, second: 2})
    wanted: dict[object, int] = {first: 1, second: 3}
    seen.clear()
    replace_mapping(target, wanted)
    assert list(target.items()) == [(first, 1), (second, 3)]
    assert min(seen) == 2


def test_entries_that_move_are_in_their_order() -> None:
    target: dict[object, int] = {"a": 1, "b": 2, "c": 3}
    wanted: dict[object, object] = {"c": 3, "a": 1, "d": 4}
    replace_mapping(target, wanted)
    assert list(target.items()) == [("c", 3), ("a", 1), ("d", 4)]
