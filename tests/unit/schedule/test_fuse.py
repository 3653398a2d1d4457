"""Which kernels a graph becomes, and that they compute what eager does."""

import torch

from supple.ir.host.nodes import Alloc, Check, Extern, Free, Launch, View
from supple.ir.loops.nodes import Access, Load, Loop, Role
from tests.unit.schedule.aten_blocks import (
    gelu,
    gelu_tanh,
    layer_norm,
    linear,
    rms_norm,
    rotary,
    silu,
    softmax,
)
from tests.unit.schedule.aten_graphs import Program, checked, launches


def test_a_pointwise_chain_on_contiguous_tensors_is_one_vector_axis() -> None:
    p = Program()
    x, y = p.input(torch.randn(3, 5, 7)), p.input(torch.randn(3, 5, 7))
    scheduled = checked(p, p("add.Tensor", p("mul.Tensor", p("sin.default", x), y), 1))
    (nest,) = scheduled.nests
    assert [(axis.role, axis.extent.value) for axis in nest.axes] == [(Role.VECTOR, 105)]


def test_softmax_is_three_loops_of_one_kernel_and_keeps_the_exponentials() -> None:
    p = Program()
    scheduled = checked(p, softmax(p, p.input(torch.randn(2, 3, 10))))
    (nest,) = scheduled.nests
    assert sum(isinstance(statement, Loop) for statement in nest.body) == 3
    assert [buffer.access for buffer in nest.buffers] == [Access.READ, Access.WRITE, Access.SCRATCH]


def test_softmax_along_another_dimension_has_its_vectors_along_the_last() -> None:
    p = Program()
    (nest,) = checked(p, softmax(p, p.input(torch.randn(2, 3, 10)), 1)).nests
    assert nest.axes[-1].role is Role.VECTOR
    assert all(axis.role is Role.SERIAL for s in nest.body if isinstance(s, Loop) for axis in s.axes)


def test_residual_add_and_layer_norm_are_one_kernel_that_stores_the_sum_once() -> None:
    p = Program()
    x, y = p.input(torch.randn(2, 4, 16)), p.input(torch.randn(2, 4, 16))
    total = p("add.Tensor", x, y)
    normed = layer_norm(p, total, p.input(torch.randn(16)), p.input(torch.randn(16)), 16)
    scheduled = checked(p, total, normed)
    assert launches(scheduled) == 1
    (nest,) = scheduled.nests
    assert sum(buffer.access is not Access.READ for buffer in nest.buffers) == 2


def test_rms_norm_is_one_kernel() -> None:
    p = Program()
    x, w = p.input(torch.randn(2, 4, 16)), p.input(torch.randn(16))
    assert launches(checked(p, rms_norm(p, x, w, 16))) == 1


def test_rms_norm_in_low_precision_casts_inside_the_kernel() -> None:
    p = Program()
    x, w = p.input(torch.randn(2, 4, 16).bfloat16()), p.input(torch.randn(16).bfloat16())
    wide = p("_to_copy.default", x, dtype=torch.float32)
    squares = p("sum.dim_IntList", p("mul.Tensor", wide, wide), [-1], True)
    scale = p("rsqrt.default", p("add.Tensor", p("div.Tensor", squares, 16), 1e-6))
    narrow = p("_to_copy.default", p("mul.Tensor", wide, scale), dtype=torch.bfloat16)
    assert launches(checked(p, p("mul.Tensor", w, narrow))) == 1


def test_gelu_between_two_products_is_one_kernel_in_place_of_views() -> None:
    p = Program()
    x = p.input(torch.randn(6, 8))
    up = linear(p, x, p.input(torch.randn(12, 8)), p.input(torch.randn(12)))
    shaped = p("view.default", up, [2, 3, 12])
    active = p("view.default", gelu(p, shaped), [6, 12])
    down = linear(p, active, p.input(torch.randn(8, 12)), p.input(torch.randn(8)))
    scheduled = checked(p, p("view.default", down, [2, 3, 8]))
    assert launches(scheduled) == 1
    assert sum(isinstance(step, Extern) for step in scheduled.host.steps) == 2


def test_silu_times_up_is_one_kernel() -> None:
    p = Program()
    gate, up = p.input(torch.randn(6, 8)), p.input(torch.randn(6, 8))
    assert launches(checked(p, p("mul.Tensor", silu(p, gate), up))) == 1


def test_rotary_embedding_is_one_kernel_for_query_and_key() -> None:
    p = Program()
    cos, sin = p.input(torch.randn(1, 1, 5, 8)), p.input(torch.randn(1, 1, 5, 8))
    turned = []
    for _ in range(2):
        x = p("view.default", p.input(torch.randn(10, 24)), [2, 5, 3, 8])
        turned.append(rotary(p, p("permute.default", x, [0, 2, 1, 3]), cos, sin, 8))
    assert launches(checked(p, *turned)) == 1


def test_equal_layers_share_one_kernel() -> None:
    p = Program()
    x = p.input(torch.randn(6, 8))
    for _ in range(4):
        x = gelu_tanh(p, linear(p, x, p.input(torch.randn(8, 8)), p.input(torch.randn(8))))
    scheduled = checked(p, x)
    assert len(scheduled.nests) == 1
    assert launches(scheduled) == 4


def test_a_dead_temporary_lends_its_memory() -> None:
    p = Program()
    x = p.input(torch.randn(6, 8))
    w = p.input(torch.randn(8, 8))
    for _ in range(4):
        x = p("mm.default", p("abs.default", x), w)
    scheduled = checked(p, x)
    assert sum(isinstance(step, Alloc) for step in scheduled.host.steps) == 1


def test_an_exponential_that_is_broadcast_is_computed_once() -> None:
    p = Program()
    x, y = p.input(torch.randn(8)), p.input(torch.randn(6, 8))
    scheduled = checked(p, p("mul.Tensor", y, p("exp.default", x)))
    assert launches(scheduled) == 2


def test_a_reduction_of_the_first_dimension_runs_vectors_along_the_last() -> None:
    p = Program()
    (nest,) = checked(p, p("sum.dim_IntList", p.input(torch.randn(9, 20)), [0])).nests
    assert nest.axes[-1].role is Role.VECTOR


def test_attention_with_a_mask_fuses_scale_mask_and_softmax() -> None:
    p = Program()
    q, k, v = (p.input(torch.randn(6, 4, 8)) for _ in range(3))
    mask = p.input(torch.randn(1, 1, 4, 4))
    scores = p("bmm.default", q, p("permute.default", k, [0, 2, 1]))
    shaped = p("view.default", scores, [2, 3, 4, 4])
    weights = softmax(p, p("add.Tensor", p("mul.Tensor", shaped, 0.35), mask))
    result = p("bmm.default", p("view.default", weights, [6, 4, 4]), v)
    assert launches(checked(p, result)) == 1


def test_without_fusion_every_op_has_a_kernel() -> None:
    p = Program()
    scheduled = checked(p, softmax(p, p.input(torch.randn(2, 3, 10))), fusion=False)
    assert launches(scheduled) == 5


def test_an_output_that_is_a_view_of_another_shares_its_storage() -> None:
    p = Program()
    y = p("exp.default", p.input(torch.randn(4, 6)))
    scheduled = checked(p, y, p("permute.default", y, [1, 0]), y)
    others = [step for step in scheduled.host.steps if not isinstance(step, Alloc | Check | Launch | Free)]
    assert isinstance(others[0], View)


def test_group_norm_reduces_a_reshaped_input_in_one_kernel() -> None:
    p = Program()
    x = p.input(torch.randn(2, 6, 4, 4))
    grouped = p("view.default", x, [2, 3, 32])
    mean = p("div.Tensor", p("sum.dim_IntList", grouped, [2], True), 32)
    centred = p("sub.Tensor", grouped, mean)
    squares = p("sum.dim_IntList", p("mul.Tensor", centred, centred), [2], True)
    scale = p("rsqrt.default", p("add.Tensor", p("div.Tensor", squares, 32), 1e-5))
    back = p("view.default", p("mul.Tensor", centred, scale), [2, 6, 4, 4])
    weight = p("view.default", p.input(torch.randn(6)), [1, 6, 1, 1])
    assert launches(checked(p, p("mul.Tensor", back, weight))) == 1


def test_memory_that_an_unknown_library_call_may_share_is_not_lent() -> None:
    p = Program()
    x = p("abs.default", p.input(torch.randn(6, 8)))
    same_memory = p("_unsafe_view.default", x, [48])
    y = p("exp.default", p("cumsum.default", p.input(torch.randn(6, 8)), 0))
    z = p("cumsum.default", y, 0)
    checked(p, p("cumsum.default", same_memory, 0), z)


def test_a_bias_is_added_by_the_kernel_that_reads_the_product() -> None:
    p = Program()
    x, w, bias = p.input(torch.randn(6, 4)), p.input(torch.randn(8, 4)), p.input(torch.randn(8))
    scheduled = checked(p, gelu(p, linear(p, x, w, bias)))
    assert [step.op for step in scheduled.host.steps if isinstance(step, Extern)] == ["aten.mm.default"]
    assert len(scheduled.nests) == 1


def test_a_bias_of_a_product_that_is_in_memory_is_added_by_the_library() -> None:
    p = Program()
    x, w, bias = p.input(torch.randn(6, 4)), p.input(torch.randn(8, 4)), p.input(torch.randn(8))
    hidden = linear(p, x, w, bias)
    heads = p("permute.default", p("view.default", hidden, [6, 2, 4]), [1, 0, 2])
    result = p("bmm.default", heads, p.input(torch.randn(2, 4, 3)))
    scheduled = checked(p, p("add.Tensor", result, 1))
    externs = [step.op for step in scheduled.host.steps if isinstance(step, Extern)]
    assert externs == ["aten.addmm.default", "aten.bmm.default"]


def test_code_of_pieces_of_pieces_does_not_double_with_each_of_them() -> None:
    lengths: list[int] = []
    for count in (8, 16):
        p = Program()
        x = p.input(torch.randn(5))
        for _ in range(count):
            joined = p("cat.default", [x, p("slice.Tensor", x, 0, 0, 1)])
            x = p("slice.Tensor", joined, 0, 1, 6)
        scheduled = checked(p, x)
        lengths.append(sum(isinstance(one, Load) for nest in scheduled.nests for one in nest.body))
    assert lengths[1] <= 2 * lengths[0] <= 100, lengths


def test_many_pieces_are_joined_by_the_library() -> None:
    p = Program()
    scheduled = checked(p, p("cat.default", [p.input(torch.randn(2)) for _ in range(300)]))
    assert [step.op for step in scheduled.host.steps if isinstance(step, Extern)] == ["aten.cat.default"]
