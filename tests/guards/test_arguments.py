"""What is baked in of arguments is guarded: a changed argument gives the eager result."""

import collections
import dataclasses
import enum
import math

import pytest
import torch

import supple
from tests.guards.change import Pair, settled, settled_pair


def scaled(x: torch.Tensor, n: object) -> object:
    return x * n, type(n) is bool, isinstance(n, float)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("before", "after"),
    [(1, 2), (1, True), (1, 1.0), (True, 1), (0.0, -0.0), (1.0, math.nan), (2, 2**40), (True, False)],
)
def test_a_changed_number_is_noticed(before: object, after: object) -> None:
    pair = settled(scaled, torch.ones(3), before)
    reason = pair.agree_anew(torch.ones(3), after)
    assert "L['n']" in reason
    pair.agree_again(torch.ones(3), before)


def test_negative_zero_is_another_number() -> None:
    pair = settled(lambda x, n: torch.copysign(x, torch.full_like(x, n)), torch.ones(3), 0.0)
    pair.agree_anew(torch.ones(3), -0.0)


def test_nan_equals_itself() -> None:
    pair = settled(scaled, torch.ones(3), math.nan)
    pair.agree_again(torch.ones(3), float("nan"))


@pytest.mark.parametrize(("before", "after"), [("sum", "mean"), ("sum", None), (None, "sum"), ("a", "b")])
def test_a_changed_string_is_noticed(before: str | None, after: str | None) -> None:
    def reduced(x: torch.Tensor, how: str | None) -> object:
        if how is None:
            return x
        return x.sum() if how == "sum" else x.mean()

    settled(reduced, torch.ones(3), before).agree_anew(torch.ones(3), after)


class Kind(enum.Enum):
    PLUS = 1
    MINUS = 2


def test_a_changed_enum_member_is_noticed() -> None:
    def signed(x: torch.Tensor, kind: Kind) -> torch.Tensor:
        return x if kind is Kind.PLUS else -x

    settled(signed, torch.ones(3), Kind.PLUS).agree_anew(torch.ones(3), Kind.MINUS)


def test_a_changed_type_is_noticed() -> None:
    class Up:
        def step(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1

    class Down:
        def step(self, x: torch.Tensor) -> torch.Tensor:
            return x - 1

    def moved(x: torch.Tensor, by: Up | Down) -> torch.Tensor:
        return by.step(x)

    pair = settled(moved, torch.ones(3), Up())
    assert "Down" in pair.agree_anew(torch.ones(3), Down())
    pair.agree_again(torch.ones(3), Up())


def test_a_changed_dataclass_field_is_noticed() -> None:
    @dataclasses.dataclass
    class Config:
        scale: float
        shift: int = 0

    def applied(x: torch.Tensor, config: Config) -> torch.Tensor:
        return x * config.scale + config.shift

    config = Config(2.0)
    pair = settled(applied, torch.ones(3), config)
    pair.agree_again(torch.ones(3), Config(2.0))
    config.shift = 3
    assert ".__dict__['shift'] was 0, is 3" in pair.agree_anew(torch.ones(3), config)


def test_another_dtype_is_noticed() -> None:
    pair = settled(lambda x: x + 1, torch.ones(3))
    assert "dtype mismatch. expected torch.float32, actual torch.float64" in pair.agree_anew(
        torch.ones(3, dtype=torch.float64)
    )


def test_another_device_is_noticed() -> None:
    pair = settled(lambda x: x + 1, torch.ones(3))
    assert "device mismatch. expected cpu, actual meta" in pair.agree_anew(torch.ones(3, device="meta"))


def test_another_size_is_noticed() -> None:
    pair = settled(lambda x: x + x.shape[0], torch.ones(3))
    assert "tensor 'x' size mismatch at index 0. expected 3, actual 4" in pair.agree_anew(torch.ones(4))


def test_another_number_of_dimensions_is_noticed() -> None:
    pair = settled(lambda x: x + x.ndim, torch.ones(3))
    pair.agree_anew(torch.ones(3, 1))


def test_other_strides_are_noticed() -> None:
    pair = settled(lambda x: x + x.stride(0), torch.ones(4, 4))
    assert "stride mismatch at index 0. expected 4, actual 1" in pair.agree_anew(torch.ones(4, 4).t())


def test_strides_of_size_one_are_noticed() -> None:
    pair = settled(lambda x: x + x.stride(0), torch.ones(1, 4))
    pair.agree_anew(torch.ones(1, 8).as_strided((1, 4), (8, 1)))


def test_requires_grad_is_noticed() -> None:
    pair = settled(lambda x: x * 2 if x.requires_grad else x * 3, torch.ones(3))
    assert "requires_grad mismatch. expected False, actual True" in pair.agree_anew(
        torch.ones(3, requires_grad=True)
    )


def test_an_inference_tensor_is_noticed() -> None:
    pair = settled(lambda x: x * 2, torch.ones(3))
    with torch.inference_mode():
        x = torch.ones(3)
    assert "dispatch keys" in pair.agree_anew(x)


def test_a_conjugate_view_is_noticed() -> None:
    x = torch.complex(torch.ones(3), torch.ones(3))
    pair = settled_pair(Pair(lambda x: x * 2, fullgraph=False), x)
    pair.agree(x.conj())


def test_a_parameter_in_place_of_a_tensor_is_noticed() -> None:
    pair = settled(lambda x: x * 2, torch.ones(3))
    pair.agree_anew(torch.nn.Parameter(torch.ones(3), requires_grad=False))


def test_a_longer_list_is_noticed() -> None:
    def total(xs: list[torch.Tensor]) -> torch.Tensor:
        made = xs[0]
        for x in xs[1:]:
            made = made + x
        return made

    x = torch.ones(3)
    pair = settled(total, [x, x + 1])
    assert "was 2, is 3" in pair.agree_anew([x, x + 1, x + 2])
    pair.agree_again([x + 3, x + 4])


def test_a_tuple_in_place_of_a_list_is_noticed() -> None:
    def kind(xs: object, x: torch.Tensor) -> object:
        return x + isinstance(xs, list)

    settled(kind, [1], torch.ones(3)).agree_anew((1,), torch.ones(3))


def test_the_order_of_dict_keys_is_noticed() -> None:
    def folded(xs: dict[str, torch.Tensor]) -> torch.Tensor:
        made = torch.zeros(3)
        for x in xs.values():
            made = made * 2 + x
        return made

    a, b = torch.ones(3), torch.full((3,), 5.0)
    pair = settled(folded, {"a": a, "b": b})
    assert "keys" in pair.agree_anew({"b": b, "a": a})


def test_another_dict_key_is_noticed() -> None:
    def chosen(x: torch.Tensor, options: dict[str, int]) -> torch.Tensor:
        return x + options["n"] if "n" in options else x

    x = torch.ones(3)
    pair = settled(chosen, x, {"n": 3})
    pair.agree_anew(x, {"m": 3})
    pair.agree_again(x, {"n": 3})


def test_a_default_dict_is_noticed() -> None:
    def chosen(x: torch.Tensor, options: dict[str, int]) -> torch.Tensor:
        return x + options.get("n", 7)

    settled(chosen, torch.ones(3), {"n": 3}).agree_anew(torch.ones(3), collections.OrderedDict(n=3))


def test_more_arguments_are_noticed() -> None:
    def total(*xs: torch.Tensor, **named: torch.Tensor) -> torch.Tensor:
        made = xs[0]
        for x in (*xs[1:], *named.values()):
            made = made + x
        return made

    x = torch.ones(3)
    pair = settled(total, x)
    pair.agree_anew(x, x + 1)
    pair.agree_anew(x, y=x)
    pair.agree_anew(x, z=x)
    pair.agree_again(x)


def test_another_function_as_an_argument_is_noticed() -> None:
    def applied(f: object, x: torch.Tensor) -> torch.Tensor:
        return f(x)  # type: ignore[operator]

    x = torch.ones(3)
    pair = settled(applied, lambda x: x + 1, x)
    pair.agree_anew(lambda x: x - 1, x)
    pair.agree_anew(torch.sin, x)
    pair.agree_anew(torch.cos, x)


def test_arguments_that_are_one_tensor_are_noticed_under_mutation() -> None:
    def written(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return y * 2

    pair = Pair(written)
    for x, y in ((torch.ones(3), torch.ones(3)), (z := torch.ones(3), z)):
        fresh = [t.clone() for t in (x, y)] if x is not y else [x.clone()] * 2
        assert torch.equal(pair.compiled(x, y), written(*fresh))
        assert torch.equal(x, fresh[0])
        assert torch.equal(y, fresh[1])


def test_arguments_that_share_memory_are_noticed_under_mutation() -> None:
    def written(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return y * 2

    pair = Pair(written)
    assert torch.equal(pair.compiled(torch.ones(3), torch.ones(3)), torch.full((3,), 2.0))
    base = torch.ones(4)
    assert torch.equal(pair.compiled(base[:3], base[1:]), torch.tensor([4.0, 4.0, 2.0]))


def test_one_tensor_for_two_arguments_is_noticed() -> None:
    def compared(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + 1 if x is y else x + 2

    x = torch.ones(3)
    pair = settled(compared, x, torch.ones(3))
    pair.agree(x, x)
    pair.agree(x, torch.ones(3))


def test_an_attribute_of_a_tensor_is_noticed() -> None:
    def marked(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if hasattr(x, "mark") else x + 2

    x = torch.ones(3)
    pair = settled(marked, x)
    x.mark = True  # type: ignore[attr-defined]
    pair.agree_anew(x)


def test_a_gradient_is_noticed() -> None:
    def stepped(x: torch.Tensor) -> torch.Tensor:
        return x.detach() + 1 if x.grad is None else x.detach() + x.grad

    x = torch.ones(3, requires_grad=True)
    pair = settled_pair(Pair(stepped, fullgraph=False), x)
    x.sum().backward()
    pair.agree_anew(x)


def test_lists_that_become_one_are_noticed() -> None:
    def grown(xs: list[int], ys: list[int], x: torch.Tensor) -> tuple[torch.Tensor, int]:
        xs.append(5)
        return x + sum(ys), len(ys)

    compiled = supple.compile(grown, backend="eager", fullgraph=True)
    x = torch.ones(3)
    assert compiled([1], [1], x)[1] == 1
    one = [1]
    total, length = compiled(one, one, x)
    assert (one, length) == ([1, 5], 2)
    assert torch.equal(total, x + 6)


def test_a_function_with_other_globals_is_another_function() -> None:
    def made(factor: float) -> object:
        names: dict[str, object] = {"factor": factor}
        exec(CODE_OF_SCALE, names)
        return names["scale"]

    pair = settled(lambda x, f: f(x), torch.ones(3), made(2.0))
    pair.agree_anew(torch.ones(3), made(3.0))


CODE_OF_SCALE = compile("def scale(x):\n    return x * factor\n", "<scale>", "exec")


def test_an_attribute_that_hides_a_tensor_method_is_noticed() -> None:
    pair = settled(lambda x: x.sum(), torch.ones(3))
    hiding = torch.ones(3)
    hiding.sum = lambda: hiding * 2  # type: ignore[method-assign]
    pair.agree_anew(hiding)
