"""Real public models run through the compiler: one graph each, and eager's results."""

import pytest
import torch

import supple
from tests.models.transformers_zoo import MODELS, build, tensors_of

TOLERANCE = 1e-5


def _largest_difference(got: object, want: object) -> float:
    pairs = list(zip(tensors_of(got), tensors_of(want), strict=True))
    assert pairs, "a model gives tensors"
    assert all(a.shape == b.shape and a.dtype is b.dtype for a, b in pairs)
    return max(float((a - b).abs().max()) for a, b in pairs)


def _strides(output: object) -> list[tuple[int, ...]]:
    return [tensor.stride() for tensor in tensors_of(output)]


def _check(name: str, backend: str) -> None:
    case = build(name)
    with torch.no_grad():
        want = case.model(**case.batch)
        compiled = supple.compile(case.model, fullgraph=True, backend=backend)
        first, second = compiled(**case.batch), compiled(**case.batch)
    assert type(first) is type(want)
    assert list(first.keys()) == list(want.keys())
    assert _largest_difference(first, want) <= TOLERANCE
    assert _largest_difference(second, want) <= TOLERANCE
    # torch's inductor chooses the strides of its results itself.
    assert backend == "inductor" or _strides(first) == _strides(want)
    stats = supple.stats()
    assert (stats["graphs"], stats["breaks"], stats["fallbacks"]) == (1, 0, 0)


@pytest.mark.parametrize("name", MODELS)
def test_a_transformer_is_one_native_graph_with_eagers_results(name: str) -> None:
    _check(name, "native")
    assert supple.stats()["kernels"] > 0


@pytest.mark.parametrize("name", MODELS)
def test_a_transformer_is_one_graph_for_the_eager_backend(name: str) -> None:
    _check(name, "eager")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, when its compiler is imported
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_transformer_is_one_graph_for_torchs_inductor(name: str) -> None:
    _check(name, "inductor")


@pytest.mark.parametrize("name", MODELS)
def test_another_model_of_the_same_shape_gets_its_own_numbers(name: str) -> None:
    case, other = build(name), build(name)
    with torch.no_grad():
        for parameter in other.model.parameters():
            parameter.mul_(0.5)
        compiled = supple.compile(lambda model, batch: model(**batch), fullgraph=True)
        for one in (case, other, case):
            assert _largest_difference(compiled(one.model, one.batch), one.model(**one.batch)) <= TOLERANCE
