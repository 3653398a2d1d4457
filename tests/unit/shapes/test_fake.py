"""Fake tensors behave as tensors do, without data."""

import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F

from supple.expr import less, symbol
from supple.ir.core_ops import CORE_OPS, Kind
from supple.ir.dtypes import DType
from supple.ir.meta import contiguous
from supple.ir.ops import op_named
from supple.shapes.decide import decide, is_equal
from supple.shapes.env import ShapeEnv, using
from supple.shapes.errors import DataDependent, NoMeta, NoShapeRule, Undecided
from supple.shapes.fake import FakeTensor, fake_from, fake_like, faking, meta_of
from supple.shapes.infer import infer
from supple.shapes.table import shape_rules
from supple.shapes.writes import is_writer, write_of


def test_metadata_goes_in_and_comes_out() -> None:
    meta = contiguous((2, 3), DType.BF16)
    fake = fake_from(meta)
    assert meta_of(fake) == meta
    assert fake.shape == (2, 3)
    assert fake.dtype is torch.bfloat16
    assert fake.device == torch.device("cpu")


def test_a_fake_of_a_real_tensor_has_its_layout() -> None:
    real = torch.randn(4, 6)[1:, ::2].t().requires_grad_()
    fake = fake_like(real)
    assert fake.stride() == real.stride()
    assert fake.storage_offset() == real.storage_offset()
    assert fake.requires_grad
    assert meta_of(fake) == meta_of(real)


def test_a_fake_of_a_parameter_is_a_parameter() -> None:
    assert isinstance(fake_like(torch.nn.Parameter(torch.zeros(2))), torch.nn.Parameter)
    assert not isinstance(fake_like(torch.zeros(2)), torch.nn.Parameter)


def test_gradients_are_propagated_by_the_autograd_engine() -> None:
    weight = fake_like(torch.randn(3, 4, requires_grad=True))
    with faking():
        result = (weight * 2).sum()
        assert result.requires_grad
        assert result.grad_fn is not None
        with torch.no_grad():
            assert not (weight * 2).requires_grad
        assert not weight.detach().requires_grad
        (gradient,) = torch.autograd.grad(result, weight)
    assert isinstance(gradient, FakeTensor)
    assert gradient.shape == (3, 4)


def test_views_know_their_base() -> None:
    base = fake_like(torch.randn(3, 4))
    with faking():
        view = base.view(4, 3)[1:]
    assert view._is_view()
    assert view._base is base


def test_a_write_gives_the_same_object_and_counts() -> None:
    fake = fake_like(torch.randn(3))
    with faking():
        assert fake.add_(1) is fake
    assert fake._version == 1


def test_a_real_tensor_is_an_operand() -> None:
    with faking():
        result = fake_like(torch.randn(3, 4)) + torch.randn(4)
    assert isinstance(result, FakeTensor)


def test_factories_give_fakes_while_faking() -> None:
    with faking():
        assert isinstance(torch.zeros(3), FakeTensor)
        assert isinstance(torch.tensor([1, 2]), FakeTensor)
    assert not isinstance(torch.zeros(3), FakeTensor)


def test_autocast_decides_the_dtype() -> None:
    with faking(), torch.autocast("cpu", dtype=torch.bfloat16):
        result = F.linear(fake_like(torch.randn(2, 4)), fake_like(torch.randn(3, 4)))
    assert result.dtype is torch.bfloat16


def test_inference_mode_runs_composite_operators() -> None:
    with torch.inference_mode(), faking():
        result = F.layer_norm(F.linear(fake_like(torch.randn(2, 4)), fake_like(torch.randn(3, 4))), (3,))
    assert result.shape == (2, 3)


DATA_DEPENDENT = {
    "item": lambda x: x.sum().item(),
    "bool": lambda x: bool(x.sum() > 0),
    "nonzero": lambda x: x.nonzero(),
    "masked_select": lambda x: x.masked_select(x > 0),
    "mask_index": lambda x: x[x > 0],
    "unique": lambda x: x.unique(),
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy(),
    "data_ptr": lambda x: x.data_ptr(),
}


@pytest.mark.parametrize("name", DATA_DEPENDENT)
def test_values_cannot_be_asked_for(name: str) -> None:
    with faking(), pytest.raises(DataDependent):
        DATA_DEPENDENT[name](fake_like(torch.randn(3, 4)))


@pytest.mark.parametrize(
    "tensor",
    [
        torch.zeros(3).to_sparse(),
        torch.zeros(3, dtype=torch.float8_e4m3fn),
        torch.zeros(3, dtype=torch.complex64).conj(),
        torch.zeros(3, dtype=torch.complex64).conj().imag,
    ],
    ids=["sparse", "float8", "conjugated", "negated"],
)
def test_tensors_that_metadata_cannot_describe_are_refused(tensor: torch.Tensor) -> None:
    with pytest.raises(NoMeta):
        fake_like(tensor)


def test_an_out_argument_of_another_size_is_refused() -> None:
    with faking(), pytest.raises(NoShapeRule):
        torch.add(fake_like(torch.zeros(3)), 1, out=fake_like(torch.zeros(4)))


def test_a_write_that_does_not_fit_raises_what_eager_raises() -> None:
    with faking(), pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        fake_like(torch.zeros(3)).add_(fake_like(torch.zeros(2, 3)))
    with faking(), pytest.raises(RuntimeError, match="can't be cast"):
        fake_like(torch.zeros(3, dtype=torch.int64)).add_(1.5)


def test_operators_without_a_rule_run_torch_meta_kernels() -> None:
    left, right = fake_like(torch.randn(2, 5)), fake_like(torch.randn(3, 5))
    with faking():
        assert torch.cdist(left, right).shape == (2, 3)


def test_operators_without_a_rule_specialise_symbolic_sizes() -> None:
    env = ShapeEnv()
    size = env.create("n", 3)
    with using(env), faking():
        made = torch.special.zeta(fake_from(contiguous((size, 2), DType.F32)), 2.0)
    assert made.shape == (3, 2)
    assert [str(guard.condition) for guard in env.guards] == ["s0 == 3"]


def test_every_core_operator_has_a_shape_rule() -> None:
    keys = [op_named(name).call for name, op in CORE_OPS.items() if op.kind is not Kind.LIBRARY]
    assert not shape_rules.unclaimed(keys)


def test_rules_work_on_symbolic_sizes() -> None:
    size = symbol("s0", minimum=0)
    rows = contiguous((size, 4), DType.F32)
    add = infer(op_named("aten.add.Tensor"), (rows, contiguous((4,), DType.F32)), {})
    assert add == rows
    turned = infer(op_named("aten.t.default"), (rows,), {})
    assert str(turned) == f"f32[4,{size}](1,4)"
    flat = infer(op_named("aten.view.default"), (rows, [size * 4]), {})
    assert str(flat) == f"f32[{size * 4}](1)"
    total = infer(op_named("aten.sum.dim_IntList"), (rows, [1], False), {})
    assert total == contiguous((size,), DType.F32)


def test_what_symbols_leave_open_is_not_guessed() -> None:
    with pytest.raises(Undecided):
        is_equal(symbol("s0"), symbol("s1"))
    assert decide(less(symbol("s0"), symbol("s0") + 1))


@pytest.mark.parametrize(
    ("name", "pure"),
    [
        ("aten.add_.Tensor", "aten.add.Tensor"),
        ("aten.mm.out", "aten.mm.default"),
        ("aten.normal_.default", "aten.normal_functional.default"),
        ("aten.fill_.Scalar", "aten.fill.Scalar"),
        ("aten.bernoulli_.float", "aten.bernoulli.p"),
    ],
)
def test_written_operators_have_a_pure_form(name: str, pure: str) -> None:
    found = write_of(op_named(name).call)  # pyright: ignore[reportArgumentType]
    assert found is not None
    assert str(found.pure) == pure
    assert not is_writer(found.pure)


SCRIPT = """
import sys, torch
from supple.shapes.fake import faking, fake_like
model = torch.nn.Sequential(
    torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Softmax(-1), torch.nn.Dropout(0.1)
)
layers = (torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2))
conv = torch.nn.Sequential(*layers)
with faking():
    model(fake_like(torch.randn(2, 4)))
    conv.eval()(fake_like(torch.randn(1, 3, 9, 9)))
    x = fake_like(torch.randn(1, 2, 5, 8))
    torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)
banned = ["sympy", "torch._dynamo", "torch._inductor"]
banned += ["torch.fx.experimental.symbolic_shapes", "torch.distributed.tensor"]
print([name for name in banned if name in sys.modules])
"""


def test_common_operators_load_no_other_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
