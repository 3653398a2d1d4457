"""Operations on lists, tuples and dicts of tensors that come from outside: captured whole, and guarded."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch

import supple
from tests.guards.change import Pair, settled

X = torch.linspace(-1.0, 1.0, 6).reshape(2, 3)


def tensors(count: int = 2, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    return [(X + number).to(dtype) for number in range(count)]


def norms(xs: Any) -> torch.Tensor:
    return torch.stack(torch._foreach_norm(xs))


def clipped(xs: Any) -> tuple[torch.Tensor, ...]:
    parts = [torch.nn.Parameter(x) for x in xs]
    for part in parts:
        part.grad = part.detach() * 2
    return torch.nn.utils.clip_grad_norm_(parts, 0.5), *[part.detach() for part in parts]


ON_LISTS: dict[str, Callable[[Any], object]] = {
    "cat": lambda xs: torch.cat(xs),
    "cat by name": lambda xs: torch.cat(tensors=xs, dim=1),
    "concat": lambda xs: torch.concat(xs),
    "stack": lambda xs: torch.stack(xs),
    "hstack": lambda xs: torch.hstack(xs),
    "vstack": lambda xs: torch.vstack(xs),
    "dstack": lambda xs: torch.dstack(xs),
    "column_stack": lambda xs: torch.column_stack(xs),
    "block_diag": lambda xs: torch.block_diag(*xs),
    "einsum": lambda xs: torch.einsum("ij,kj->ik", xs[0], xs[1]),
    "einsum of a list": lambda xs: torch.einsum("ij,kj->ik", xs),
    "meshgrid": lambda xs: torch.meshgrid([x.flatten() for x in xs], indexing="ij"),
    "broadcast_tensors": lambda xs: torch.broadcast_tensors(*xs),
    "cartesian_prod": lambda xs: torch.cartesian_prod(*(x[0] for x in xs)),
    "atleast_3d": lambda xs: torch.atleast_3d(xs),
    "foreach add": lambda xs: torch._foreach_add(xs, 1.0),
    "foreach mul": lambda xs: torch._foreach_mul(xs, xs),
    "foreach norm": norms,
    "chain_matmul": lambda xs: torch.linalg.multi_dot([xs[0], xs[1].T]),
    "parameters of clip_grad_norm_": clipped,
    "operators of ATen": lambda xs: torch.ops.aten.cat.default(xs),
    "packets of ATen": lambda xs: torch.ops.aten.stack(xs, 1),
    "result_type": lambda xs: X.to(torch.result_type(xs[0], xs[1])),
    "read before": lambda xs: torch.cat(xs) * len(xs),
    "copied": lambda xs: torch.cat(list(xs)),
    "sliced": lambda xs: torch.cat(xs[1:]),
    "appended to a copy": lambda xs: torch.cat([*xs, X]),
}


@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize("name", ON_LISTS)
def test_a_list_argument_is_captured_whole(name: str, kind: Callable[[Any], Any]) -> None:
    settled(ON_LISTS[name], kind(tensors()))


def test_meshgrid_takes_a_list_argument() -> None:
    settled(lambda xs: torch.meshgrid(xs, indexing="ij"), [X[0], X[1]])


def test_dimensions_and_sizes_in_lists_are_taken() -> None:
    settled(lambda x, dims: torch.tensordot(x, x, dims), X, [[0, 1], [0, 1]])
    settled(lambda x, dims: x.permute(dims).sum(dims[0]), X, [1, 0])
    settled(lambda x, sizes: x.reshape(sizes), X, [3, 2])


def test_indices_in_lists_are_taken() -> None:
    rows, columns = torch.tensor([0, 1]), torch.tensor([2, 0])
    settled(lambda x, index: x[index], X, (rows, columns))
    settled(lambda x, index: x[tuple(index)], X, [rows, columns])
    settled(lambda x, index: x[index], X, [1, 0])
    settled(lambda x, index: torch.ops.aten.index.Tensor(x, index), X, [None, columns])
    settled(lambda x, index: x.index_put(index, X[0, :2]), X, [rows, columns])


class Holder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = tensors()
        self.nested = [tensors(), {"a": tuple(tensors())}]
        self.named = {"a": X, "b": X + 1}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = self.nested[1]
        assert isinstance(inner, dict)
        both = torch.cat(self.parts) + torch.cat(self.nested[0]) + torch.cat(inner["a"])
        return both + x + torch.cat(tuple(self.named.values()))


def test_lists_in_attributes_are_guarded() -> None:
    module = Holder()
    pair = settled(module, X[:1])
    module.parts[1] = X * 3
    pair.agree_again(X[:1])
    module.parts[1] = module.parts[0]
    pair.agree(X[:1])
    module.parts[1] = torch.cat([X, X])[:2].double()
    assert "dtype" in pair.agree_anew(X[:1]) or module.parts
    module.named["a"] = X * 5
    pair.agree(X[:1])


class Row(NamedTuple):
    a: torch.Tensor
    b: torch.Tensor


CONTAINER = tensors(3)
PAIR = tuple(tensors())


def test_containers_from_everywhere_are_taken() -> None:
    inside = tensors()
    settled(lambda x: torch.cat(inside) + x, X[:1])
    settled(lambda x: torch.cat(CONTAINER) + x, X[:1])
    settled(lambda x, xs=PAIR: torch.cat(xs) + x, X[:1])
    settled(lambda row: torch.cat(row), Row(X, X + 1))
    settled(lambda table: torch.cat(table["a"][1]), {"a": [0, tensors()]})
    settled(
        lambda xs: torch.cat(xs[0] + [torch.cat(one) for one in xs[1]]), [tensors(), [tensors(), tensors(3)]]
    )


def test_a_list_that_grows_is_another() -> None:
    xs = tensors(1)
    pair = settled(torch_cat, xs)
    for count in range(2, 5):
        xs.append(X * count)
        pair.agree(xs)
    del xs[1:]
    pair.agree(xs)


def torch_cat(xs: list[torch.Tensor]) -> torch.Tensor:
    return torch.cat(xs) * 2


def test_what_stands_in_a_list_is_guarded() -> None:
    xs = tensors()
    pair = settled(torch_cat, xs)
    xs[1] = X * 7
    pair.agree(xs)
    xs[1] = xs[0]
    pair.agree(xs)
    xs[1] = X.double()
    pair.agree_anew(xs)
    xs[1] = X.clone().requires_grad_()
    pair.agree_anew(xs)
    xs[1] = torch.nn.Parameter(X)
    pair.agree(xs)
    xs[1] = X[:1]
    pair.agree(xs)
    pair.agree(tuple(tensors()))


@pytest.mark.parametrize("wrong", [None, 3, "text", [X]])
def test_what_is_no_tensor_raises_as_in_eager(wrong: object) -> None:
    pair = Pair(torch_cat, fullgraph=False)
    xs: list[Any] = tensors()
    pair.agree(xs)
    xs[1] = wrong
    with pytest.raises(TypeError) as expected:
        torch_cat(xs)
    with pytest.raises(TypeError) as found:
        pair.compiled(xs)
    assert str(found.value) == str(expected.value)
    xs[1] = X
    pair.agree(xs)


def test_an_empty_list_raises_as_in_eager() -> None:
    with pytest.raises(ValueError, match="non-empty"):
        supple.compile(torch_cat)([])


def test_a_list_that_holds_itself_raises_as_in_eager() -> None:
    xs: list[Any] = tensors()
    xs.append(xs)
    with pytest.raises(TypeError, match="expected Tensor as element 2"):
        supple.compile(torch_cat)(xs)


class Loud(list[torch.Tensor]):
    """A list of which the length is not what its methods say."""

    def __len__(self) -> int:
        raise AssertionError("asked")

    def __iter__(self) -> Any:
        raise AssertionError("asked")


def test_torch_reads_the_storage_of_a_subclass_of_list() -> None:
    Pair(lambda xs: torch.cat(xs) + 1, fullgraph=False).agree(Loud(tensors()))


def written(xs: list[torch.Tensor]) -> torch.Tensor:
    torch._foreach_add_(xs, 1.0)
    torch._foreach_mul_(xs, [2.0] * len(xs))
    return torch.cat(xs)


def test_writes_to_elements_are_those_of_eager() -> None:
    mine, theirs = tensors(), tensors()
    compiled = supple.compile(written, fullgraph=True)
    for _ in range(2):
        assert torch.equal(compiled(mine), written(theirs))
        assert all(map(torch.equal, mine, theirs))
    mine[1], theirs[1] = mine[0], theirs[0]
    assert torch.equal(compiled(mine), written(theirs))
    assert torch.equal(mine[0], theirs[0])


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_gradients_reach_the_elements(backend: str) -> None:
    mine, theirs = ([x.requires_grad_() for x in tensors(3)] for _ in range(2))
    compiled = supple.compile(lambda xs: torch.stack(xs).prod(0).sum(), backend=backend, fullgraph=True)
    compiled(mine).backward()
    torch.stack(theirs).prod(0).sum().backward()
    assert all(torch.allclose(one.grad, other.grad) for one, other in zip(mine, theirs, strict=True))
