"""Special values through chains of operators at every dtype: bits where eager rounds exactly.

Which zero is the larger one depends on how long eager's loop is: 0 is added to what compares.
Where a CPU can fuse them, eager's loops round a product and its sum once: such operators are not exact.
"""

from typing import Final

from tests.fuzz.grammar import Grammar

CHAIN: Final = ("$=T = $T",) * 8 + ("$.T = $T", "$=T = $T\n$=T2 = $T", "$@T[1:] = $@T[:-1].clone()")
BOOLS: Final = (
    "($T > $T)", "($T == $T)", "($T != $T)", "($T <= $T)", "torch.logical_and($T, $T)", "torch.logical_not($T)",
    "torch.eq($T, 0)", "($T < $I)",
)  # fmt: skip
ANY: Final = (
    "($T + $T)", "($T - $T)", "($T * $T)", "($T + $I)", "($I - $T)", "($T * $I)", "(torch.maximum($T, $T) + 0)",
    "(torch.minimum($T, $T) + 0)", "torch.where($Mask, $T, $T)", "(torch.clamp($T, $I, $I) + 0)", "(torch.clamp($T, min=$T) + 0)",
    "torch.abs($T)", "torch.neg($T)", "torch.sign($T)", "torch.square($T)", "(torch.clamp_max($T, $I) + 0)",
    "torch.where($Mask, $T, $I)", "$T.masked_fill($Mask, $I)", "(torch.relu($T) + 0)", "torch.flip($T, [0])",
    "torch.add($T, $T, alpha=2)", "(torch.fmax($T, $T) + 0)", "(torch.fmin($T, $T) + 0)", "torch.sgn($T)", "$T[:]",
    "torch.positive($T)", "$T.to($T.dtype)", "(torch.amax($T) + 0)", "(torch.amin($T, 0, keepdim=True) + 0)",
)  # fmt: skip
FLOATS: Final = (
    "($T / $T)", "($T / $F)", "($F / $T)", "($T + $F)", "($T * $F)",
    "torch.floor($T)", "torch.ceil($T)", "torch.round($T)", "torch.trunc($T)", "torch.frac($T)",
    "torch.reciprocal($T)", "torch.copysign($T, torch.nan_to_num($T))", "torch.nan_to_num($T)", "torch.nan_to_num($T, nan=$F)",
    "torch.fmod($T, $F)", "torch.remainder($T, $F)", "torch.div($T, $T, rounding_mode='floor')",
    "torch.div($T, $F, rounding_mode='trunc')", "($T // $F)", "(F.hardtanh($T, -2.0, 2.0) + 0)", "(F.relu6($T) + 0)",
    "F.leaky_relu($T, $F)", "F.threshold($T, $F, $F)", "F.hardshrink($T, abs($F))", "F.softshrink($T, abs($F))",
    "torch.heaviside($T, $T)", "torch.isnan($T).to($T.dtype)", "torch.isinf($T).to($T.dtype)",
    "torch.signbit(torch.nan_to_num($T)).to($T.dtype)", "($T ** 2)", "($T ** 1)", "($T ** -1)",
    "($T ** 0)", "torch.hypot($T, $T) * 0", "torch.clamp($T, $F, $F)", "torch.nextafter($T.float(), $T.float())",
    "torch.ldexp($T.float(), torch.tensor(3))", "torch.deg2rad($T)", "torch.round($T, decimals=1)",
    "torch.float_power($T, 2)", "$T.to(torch.float64)", "$T.to(torch.float32)", "$T.to(torch.bfloat16)",
    "$T.to(torch.float16)", "F.hardsigmoid($T)",
    "F.hardswish($T)", "torch.isclose($T, $T).to($T.dtype)", "torch.where($T > 0, $T, -0.0)",
)  # fmt: skip
INTS: Final = (
    "($T // 3)", "($T % 3)", "($T // -2)", "($T % -3)", "torch.fmod($T, 3)", "torch.fmod($T, -2)",
    "torch.remainder($T, 5)", "torch.div($T, 3, rounding_mode='trunc')", "torch.div($T, -3, rounding_mode='floor')",
    "($T / 3)", "($T & $T)", "($T | $T)", "($T ^ $T)", "(~$T)", "($T << 1)", "($T >> 1)", "($T << 3)", "($T ** 2)",
    "($T ** 3)", "torch.bitwise_not($T)", "torch.gcd($T, $T)", "$T.to(torch.int64)", "$T.to(torch.int32)",
    "$T.to(torch.int8)", "$T.to(torch.uint8)", "$T.to(torch.int16)", "$T.to(torch.bool)", "$T.to(torch.float64)",
    "($T * 0.5)", "($T + 2**31)",
    "($T * 2**33)", "torch.where($Mask, $T, 2**40)", "torch.full_like($T, 100)", "torch.bitwise_left_shift($T, 2)",
    "torch.mul($T, True)", "torch.add($T, $T, alpha=3)",
)  # fmt: skip
SUMS: Final = tuple(
    template.format(f"$T.to(torch.{dtype})", dtype)
    for dtype in "int8 int32 int64 uint8 bool".split()
    for template in (
        "{0}.sum()",
        "torch.sum({0}, 0, keepdim=True)",
        "torch.sum({0}, dtype=torch.{1})",
        "{0}.prod()",
        "{0}.prod(dtype=torch.{1})",
        "{0}.cumsum(0)",
        "{0}.cumsum(0, dtype=torch.{1})",
    )
)
"""Sums of integers, in any order the same; those of floats are not."""
ROUNDED: Final = tuple(
    f"torch.{name}($T)"
    for name in (
        "exp sqrt sin cos tan tanh sigmoid log log2 log10 log1p expm1 exp2 rsqrt erf erfc atan asin acos asinh acosh "
        "atanh sinh cosh lgamma digamma i0 sinc logit erfinv"
    ).split()
) + (
    "torch.add($T, $T, alpha=$I)", "torch.addcmul($T, $T, $T)", "torch.lerp($T, $T, 0.5)",
    "torch.addmm($T[:, None], $T[:, None].expand(-1, 2), $T[:2, None], beta=$F, alpha=$F)[:, 0]",
    "torch.addmv($T, $T[:, None].expand(-1, 2), $T[:2], alpha=$F)", "torch.addr($T[:, None], $T, $T[:1], alpha=$F)[:, 0]",
    "F.elu($T, $F)", "F.celu($T, $F)", "F.gelu($T.clamp(-1e30, 1e30))", "F.silu($T)", "F.softplus($T)",
    "F.elu($T)", "F.selu($T)", "F.mish($T)", "F.logsigmoid($T)",
    "($T ** 0.5)", "($T ** -0.5)", "($T ** 3)", "($T ** 1.5)", "torch.pow(2.0, $T)", "torch.atan2($T, $T)",
    "torch.hypot($T, $T)", "torch.logaddexp($T, $T)", "torch.xlogy($T, $T)", "torch.pow($T, $T)",
    "F.softmax($T, 0)", "F.log_softmax($T, 0)", "torch.logsumexp($T, 0)", "$T.mean()", "$T.norm()",
    "torch.special.entr($T)", "torch.special.log_ndtr($T)", "torch.special.xlog1py($T, $T)", "torch.polar($T, $T).abs()",
)  # fmt: skip
COMPLEX: Final = (
    "($T + $T)", "($T * $T)", "($T - $T)", "($T * $I)", "torch.neg($T)", "$T.conj()", "torch.real($T) * $T",
    "torch.where($Mask, $T, $T)", "($T / $T)", "torch.abs($T)", "torch.view_as_real($T)[..., 0] + $T", "$T.imag",
    "torch.exp($T)", "torch.sqrt($T)", "torch.angle($T)", "($T ** 2)", "torch.square($T)", "torch.sgn($T)",
    "torch.reciprocal($T)", "torch.isnan($T)", "torch.isinf($T) * $T", "torch.complex($T.real, $T.imag)",
)  # fmt: skip


def group(
    name: str, dtypes: str, expressions: tuple[str, ...], preamble: str = "is_exact = True\n"
) -> Grammar:
    """Return the grammar of chains at some dtypes."""
    return Grammar(
        name,
        parameters=("T", "T", "T", "Mask"),
        leaves={
            "T": ("torch.ones(11)", "torch.zeros(11)", "-torch.zeros(11)"),
            "Mask": ("(torch.arange(11) % 2 == 0)",),
            "I": ("0", "1", "2", "3", "-1", "100"),
            "F": ("0.5", "2.0", "-1.0", "-0.0", "0.1", "-3.0", "float('inf')", "float('nan')"),
            "B": ("True",),
        },
        expressions={"T": expressions, "Mask": BOOLS},
        statements=CHAIN,
        compound=("if $B:\n    $body", "supple.graph_break()"),
        arguments={
            "T": tuple(
                f"extremes(torch.{dtype}, {start})" for dtype in dtypes.split() for start in (0, 7, 23)
            ),
            "Mask": ("(torch.arange(11) % 3 == 0)", "torch.zeros(11, dtype=torch.bool)"),
        },
        preamble=preamble,
    )


SPECIAL: Final = (
    group("special floats", "float32 float16 bfloat16 float64", ANY + FLOATS),
    group("special integers", "int8 int16 int32 int64 uint8 bool", ANY + INTS + SUMS),
    group("special functions", "float32 float16 bfloat16 float64", FLOATS + ROUNDED * 2, ""),
    group("special complex", "complex64 complex64 float32", COMPLEX, ""),
)
