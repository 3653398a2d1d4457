"""torch's own samples of its operators: the metadata that each call gets, and native code, as in eager."""

import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

import supple
from supple.base.config import config
from supple.ir.meta import TensorMeta
from supple.shapes.errors import DataDependent, NoMeta, NoShapeRule
from supple.shapes.fake import fake_like, faking, meta_of

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.sweep]


def described_operators() -> list[Any]:
    """Return torch's descriptions of its operators; what importing them changes in torch is undone."""
    changed = (torch._C.ScriptFunction, torch._C.ScriptMethod)
    calls = [vars(kind)["__call__"] for kind in changed]
    found = importlib.import_module("torch.testing._internal.common_methods_invocations").op_db
    for kind, call in zip(changed, calls, strict=True):
        kind.__call__ = call
    return found


OPERATORS: Final = {
    f"{one.name}.{one.variant_test_name}".rstrip("."): one
    for one in described_operators()
    if torch.float32 in one.supported_dtypes("cpu") and not one.name.startswith("jiterator")  # CUDA's
}
META_KERNELS: Final = {
    "aten._fft_c2r.default": "the order of its dimensions",
    "aten._fft_r2c.default": "the order of its dimensions",
    "aten.linalg_eig.default": "vectors lie by columns",
    "aten.max_unpool2d.default": "it is channels-last where its operand is",
    "aten.unsafe_split.Tensor": "views that its schema hides are copies in a graph",
    "aten.unsafe_split_with_sizes.default": "views that its schema hides are copies in a graph",
}
"""What metadata, most of torch's meta kernels, say otherwise than eager does it.

Native code lays these results out again."""
NOT_COMPILED: Final = {
    "index_fill": "the gradient of its value asks for the number of different indices",
    "cumprod": "the gradient of no elements asks for a maximum",
}
"""Operators with samples for which native code is not made: eager runs them."""


def samples(name: str, count: int) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield the arguments of some of an operator's samples, far from each other."""
    operator = OPERATORS[name]
    has_gradient = operator.supports_autograd and torch.float32 in operator.supported_backward_dtypes("cpu")
    torch.manual_seed(0)
    found = list(operator.sample_inputs("cpu", torch.float32, requires_grad=has_gradient))
    for sample in found[:: max(len(found) // count, 1)][:count]:
        yield (sample.input, *sample.args), sample.kwargs


def tensors(tree: object) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def differentiate(outputs: Sequence[torch.Tensor]) -> None:
    """Run backward from the sum of all outputs."""
    sums = [one.abs().sum() if one.is_complex() else one.sum() for one in outputs if one.requires_grad]
    if sums:
        torch.autograd.backward(sums)


class Checked(TorchDispatchMode):
    """Says of each ATen call in which ways the fakes' results differ from its results."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func._schema.is_mutable or not all(map(is_plain, tensors((args, kwargs, result)))):
            return result
        try:
            fakes, named = tree_map(
                lambda leaf: fake_like(leaf) if isinstance(leaf, torch.Tensor) else leaf, (args, kwargs)
            )
            with faking():
                said = func(*fakes, **named)
        except (DataDependent, NoMeta, NoShapeRule):
            return result
        for real, fake in zip(tensors(result), tensors(said), strict=True):
            if not is_described(meta_of(fake), real):
                self.found.append(f"{func}: {meta_of(fake)}, eager {real.shape} {real.stride()} {real.dtype}")
        return result


def is_plain(tensor: torch.Tensor) -> bool:
    is_complex = tensor.is_complex()  # its conjugate bit is not represented
    return tensor.layout is torch.strided and not (tensor.is_quantized or is_complex) and not tensor.is_nested


def is_described(meta: TensorMeta, real: torch.Tensor) -> bool:
    """Tell whether metadata are a tensor's; steps along dimensions of at most one element do not count."""
    if (meta.dtype.torch, [size.value for size in meta.sizes]) != (real.dtype, list(real.shape)):
        return False
    steps = zip(real.shape, [step.value for step in meta.strides], real.stride(), strict=True)
    return not real.numel() or all(said == is_so for size, said, is_so in steps if size > 1)


@pytest.mark.parametrize("name", OPERATORS)
def test_each_call_has_the_metadata_of_eager(name: str) -> None:
    with Checked() as checked:
        for args, kwargs in samples(name, 3):
            differentiate(tensors(OPERATORS[name](*args, **kwargs)))
    assert not [one for one in checked.found if one.partition(":")[0] not in META_KERNELS]


def outcome(function: Callable[..., Any], args: Any, kwargs: Any) -> list[torch.Tensor | None] | Exception:
    """Return results and gradients, or what is raised."""
    args, kwargs = tree_map(
        lambda leaf: (
            leaf.detach().clone().requires_grad_(leaf.requires_grad)
            if isinstance(leaf, torch.Tensor)
            else leaf
        ),
        (args, kwargs),
    )
    torch.manual_seed(0)
    try:
        results = tensors(function(*args, **kwargs))
        differentiate(results)
    except Exception as error:
        return error
    return [*results, *(one.grad for one in tensors((args, kwargs)))]


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", [name for name in OPERATORS if "empty" not in name])
def test_native_code_gives_what_eager_gives(name: str, dynamic: bool | None) -> None:
    def program(*args: Any, **kwargs: Any) -> Any:
        return OPERATORS[name].op(*args, **kwargs)

    for args, kwargs in list(samples(name, 2))[-1 if dynamic else 0 :]:
        wanted = outcome(program, args, kwargs)
        with config.patch(suppress_errors=name in NOT_COMPILED):
            got = outcome(supple.compile(program, backend="native", dynamic=dynamic), args, kwargs)
        if isinstance(wanted, Exception):
            assert (type(got), str(got)) == (type(wanted), str(wanted))
        else:
            assert isinstance(got, list), got
            for one, other in zip(got, wanted, strict=True):
                assert (one is None) == (other is None)
                if one is not None:
                    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4, equal_nan=True)
        supple.reset()
