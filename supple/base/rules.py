"""Rule tables: the one dispatch mechanism of the package.

A table maps a key (an op, a class, a callable) to a function. Rules sit beside what they are about and are
registered by decorator; a second rule for the same key is an error at import.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

F = TypeVar("F", bound=Callable[..., object])


class Rules(Generic[F]):
    """A named table from keys to functions.

    `on(*keys)` registers; `find(key)` returns the function or None; `table[key]` raises KeyError with the
    table's name.
    """

    __slots__ = ("_rules", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._rules: dict[Hashable, F] = {}

    def on(self, *keys: Hashable) -> Callable[[F], F]:
        """Return a decorator that registers one function for each of `keys`.

        Raises:
            ValueError: when a key has a rule already.
        """

        def register(function: F) -> F:
            for key in dict.fromkeys(keys):
                if key in self._rules:
                    raise ValueError(f"{self.name}: two rules for {key!r}")
                self._rules[key] = function
            return function

        return register

    def find(self, key: Hashable) -> F | None:
        """Return the rule for `key`, or None."""
        return self._rules.get(key)

    def __getitem__(self, key: Hashable) -> F:
        rule = self._rules.get(key)
        if rule is None:
            raise KeyError(f"{self.name}: no rule for {key!r}")
        return rule

    def __contains__(self, key: object) -> bool:
        return key in self._rules

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    def unclaimed(self, keys: Iterable[Hashable]) -> set[Hashable]:
        """Return those of `keys` that have no rule."""
        return {key for key in keys if key not in self._rules}
