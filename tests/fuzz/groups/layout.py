"""Memory: offsets, strides, views of one base, overlap, conjugate and negative bits, sizes of 0 and 1."""

from typing import Final

from tests.fuzz.grammar import Grammar

LAYOUT: Final = Grammar(
    "layout",
    parameters=("T", "T", "Im", "I"),
    leaves={"Im": ("torch.complex(torch.ones(3), torch.ones(3))",)},
    expressions={
        "T": (
            "($T * $T.storage_offset())",
            "$T.as_strided((2,), (1,), $I % 3)",
            "$T.as_strided((2,), (1,))",
            "$T.as_strided((2, 2), (1, 1), 1)",
            "$T.as_strided((3,), (0,))",
            "torch.empty_strided(($T.shape[0], 3), (0, 1)).fill_($I)",
            "($T.as_strided(($T.shape[0], $T.shape[-1]), (1, 1)) * 2)",
            "(base.as_strided(($T.shape[-1], $T.shape[0]), (1, 1)) * 2)",
            "moved_to($T)",
            "moved_to(base[1:4])",
            "torch.as_strided_copy($T, (2,), (1,), 1)",
            "$T.contiguous()",
            "$T.flatten()",
            "$T.reshape(-1)",
            "$T.reshape(-1, 1)",
            "$T.reshape(-1, $@T.size(-1)).contiguous()",
            "$T.reshape($@T.size(0), -1).contiguous()",
            "$T.reshape(-1, $I).contiguous()",
            "$T[..., ::2].reshape(-1, $@T.size(0)).contiguous()",
            "$T.t()",
            "$T.mT",
            "$T.flip(0)",
            "$T.roll(1, 0)",
            "$T.movedim(0, -1)",
            "$T.squeeze()",
            "$T.squeeze(0)",
            "$T.unsqueeze(-1)",
            "$T.unfold(-1, 1, 1)",
            "($T.unfold(-1, 2, 1) * 2)",
            "$T.expand(2, *$T.shape)",
            "$T.broadcast_to((2, 3))",
            "$T.diagonal(0, -1, 0)",
            "$T.narrow(0, 0, 1)",
            "$T.select(0, 0)",
            "$T[None]",
            "$T[::2]",
            "$T[..., -1]",
            "$T.chunk(2)[-1]",
            "$T.unbind(0)[-1]",
            "torch.empty_like($T).copy_($T)",
            "torch.zeros_like($T)",
            "torch.ones_like($T, memory_format=torch.contiguous_format)",
            "$T.clone(memory_format=torch.contiguous_format)",
            "$T.clone(memory_format=torch.preserve_format)",
            "$T.to(torch.float64)",
            "$T.to(memory_format=torch.channels_last)",
            "$T.view(torch.int32).view(torch.float32)",
            "$T.view_as($T)",
            "$T.resolve_neg()",
            "$Im.real",
            "$Im.imag",
            "$Im.abs()",
            "torch.view_as_real($Im.resolve_conj())[..., 0]",
            "torch.real($Im * $Im)",
            "torch.cat([$T, $T])",
            "torch.stack([$T.sum(), $T.mean()])",
            "$T.sum(0)",
            "$T.sum(-1, keepdim=True)",
            "$T.cumsum(0)",
            "$T.amax(-1)",
            "torch.tensor($T.stride())",
            "torch.tensor($T.storage_offset())",
        ),
        "Im": (
            "$Im.conj()",
            "($Im * $F)",
            "($Im + $Im)",
            "torch.complex($T, $T)",
            "$Im.conj().clone()",
            "$Im.resolve_conj()",
            "torch.conj_physical($Im)",
            "$Im.t()",
            "$Im[:1]",
            "torch.view_as_complex(torch.stack([$T, $T], -1))",
            "$Im.mH",
        ),
        "I": (
            "$T.storage_offset()",
            "$T.stride(0)",
            "$T.stride(-1)",
            "$T.untyped_storage().size()",
            "$T.untyped_storage().nbytes()",
            "$T.numel()",
            "len($T)",
            "$T.element_size()",
        ),
        "B": (
            "$T.is_contiguous()",
            "$T.is_contiguous(memory_format=torch.channels_last)",
            "$T.is_neg()",
            "$Im.is_conj()",
            "$T.stride() == $T.stride()",
            "torch.is_same_size($T, $T)",
        ),
    },
    statements=(
        "$@T.add_($T)",
        "$@T.copy_($T)",
        "$@T[1:] = $T[:1]",
        "$@T.view(-1)[0] = $F",
        "$@T.t().mul_(2)",
        "$@T.as_strided((2,), (1,), 1).add_(1)",
        "$@T[..., ::2] *= 2",
        "$@T.select(0, 0).zero_()",
        "$@Im.mul_(2)",
        "$@Im.real.add_(1)",
        "$@Im.imag.neg_()",
        "$@T.transpose_(0, -1)",
        "$@T.unsqueeze_(0)",
        "$@T.squeeze_()",
        "torch.add($T, 1, out=$@T)",
        "$@T.set_($T)",
        "$@T.set_($T)\n$=T = $@T * $@T.storage_offset()",
        "$@T.set_($T[1:])\n$=I = $@T.storage_offset()",
        "$@T.data = $T",
        "$=T = $@T.detach()\n$=T.add_(1)",
        "$=T, $=T2 = $@T.view(-1)[:2].unbind(0)\n$=T.add_(1)",
        "$@T.index_add_(0, torch.tensor([0]), $T[:1])",
        "$@T.scatter_(0, torch.zeros(1, 1, dtype=torch.int64), 2.0)",
        "$@T.masked_fill_($T > 0, 1)",
    ),
    compound=(
        "try:\n    $@T[0].add_(1)\n    $=T = $T[torch.tensor([$I])]\nexcept IndexError:\n    pass",
        "try:\n    $@T[:1].mul_(2)\n    $=T = $T.view(-1)[torch.tensor([7])]\nexcept IndexError:\n    pass",
    ),
    preamble="""
base = torch.arange(24.0)
grid = torch.arange(24.0).reshape(4, 6)
waves = torch.complex(torch.arange(6.0), torch.arange(6.0) - 2)


def moved_to(x):
    made = torch.ones(x.shape)
    made.set_(x.detach().float())
    return made * (made.storage_offset() + 1)
""",
    arguments={
        "T": (
            "base[0:3]", "base[3:6]", "base[4:7]", "base[1:4]", "base[::2][:3]", "base[::4][:3]", "base[5:8]",
            "grid[:3, :3]", "grid[1:, 2:5]", "grid.t()[:2, :3]", "grid.t()[2:4, 1:4]", "grid[:1, :3]",
            "grid[:, :1].expand(4, 3)", "base[:1].expand(3)", "base[:3].expand(2, 3)", "grid[0, :3]",
            "base.as_strided((2, 3), (1, 1), 2)", "base.as_strided((3, 2), (1, 1), 2)", "base.as_strided((3, 3), (0, 1))",
            "base.as_strided((4, 2), (1, 1))", "base.as_strided((2, 4), (1, 1))", "grid[:3, 1:3]", "grid[1:3, :4]", "waves.conj().imag[:3]",
            "waves.imag[:3]", "waves.real[1:4]", "torch.zeros(0, 3)", "torch.zeros(3, 0)", "torch.ones(1, 3)",
            "torch.ones(1, 1)", "torch.ones(3, 1)", "tensor(3).t()", "tensor(2)[:, :1]",
            "torch.arange(24.0).reshape(2, 3, 2, 2).to(memory_format=torch.channels_last)",
            "torch.arange(12.0).reshape(2, 2, 3).transpose(0, 2)", "torch.tensor(3.0)", "grid", "base[:3].clone()",
            "torch.ones(2, 3).as_strided((1, 3), (17, 1))", "tensor(2).requires_grad_().t()",
        ),
        "Im": (
            "waves[:3]", "waves[3:]", "waves.conj()[:3]", "waves[::2]", "waves[:3].clone()",
            "torch.view_as_complex(grid[:3, :2])", "torch.zeros(0, dtype=torch.complex64)", "waves[:1].expand(3)",
        ),
    },
    aliases={
        "T": (
            "$@T", "$@T", "$@T.view(-1)", "$@T[1:]", "$@T.t()", "$@T.detach()", "$@T.expand(2, 3)", "$@T[..., :1]",
            "$@T.as_strided((3,), (1,))",
        ),
        "Im": ("torch.view_as_complex($@T.reshape(-1)[:2])", "torch.complex($@T, $@T)"),
    },
    before=("base.add_(1)",),
    calls=(
        "return trained(program, args)", "return watched(program, args)", "return separately(program, args)",
    ),
    most_calls=5,
)  # fmt: skip

VIEWS: Final = Grammar(
    "views",
    expressions={
        "B": ("$T._is_view()", "$T._base is None")
    },  # what leaves native code has no base that does not
    is_known=True,
)
