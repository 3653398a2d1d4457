"""A name that is there in one call and not in another, in each place where Python looks for names."""

import builtins
import itertools
import types
from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple
from supple.base.config import config

VALUES = (None, 2, 3.5)
"""What a name stands for in a call; None where it is not there."""


class Holder:
    pass


def place(kind: str) -> tuple[Callable[..., Any], Callable[[object], None]]:
    """Return a function that reads a name in a place of its own, and what puts a value there or takes it."""
    space: dict[str, Any] = {"__name__": __name__, "torch": torch}
    owner: Any = Holder()
    base, table = type("Base", (), {}), dict[str, object]()
    holder, module = type("Derived", (base,), {})(), types.ModuleType("given")
    space |= {"holder": holder, "module": module, "table": table}
    texts = {
        "global": "named",
        "builtin": "named",
        "module": "module.named",
        "instance": "holder.named",
        "class": "holder.named",
        "base": "type(holder).named",
        "table": "table['named']",
        "cell": "named",
    }
    owners = {"builtin": builtins, "module": module, "instance": holder, "class": type(holder), "base": base}
    lines = [
        "def run(x):",
        "    try:",
        f"        return x * {texts[kind]}",
        "    except (NameError, AttributeError, KeyError) as error:",
        "        return x + 1, type(error).__name__",
    ]
    if kind == "cell":
        lines = [
            "def make():",
            *(f"    {line}" for line in lines),
            "    named = 1",
            "    del named",
            "    return run",
        ]
    exec("\n".join(lines), space)
    run = space["make"]() if kind == "cell" else space["run"]
    owner = owners.get(kind)

    def change(value: object) -> None:
        if kind == "cell":
            cell = run.__closure__[0]
            if value is not None:
                cell.cell_contents = value
            else:
                cell.cell_contents = 0
                del cell.cell_contents
        elif owner is None:
            names: dict[str, object] = table if kind == "table" else space
            names.pop("named", None)
            names |= {} if value is None else {"named": value}
        else:
            if "named" in vars(owner):
                delattr(owner, "named")
            if value is not None:
                owner.named = value

    return run, change


@pytest.mark.parametrize("order", list(itertools.permutations(VALUES)), ids=str)
@pytest.mark.parametrize(
    "kind", ["global", "builtin", "module", "instance", "class", "base", "table", "cell"]
)
def test_a_name_is_looked_for_in_each_call(kind: str, order: tuple[object, ...]) -> None:
    run, change = place(kind)
    compiled = supple.compile(run)
    try:
        with config.patch(suppress_errors=False):
            for value in (*order, *order):
                change(value)
                want, got = run(torch.ones(1)), compiled(torch.ones(1))
                assert repr(got) == repr(want), value
    finally:
        change(None)
