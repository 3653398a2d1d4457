"""Mathematical functions of vectors: SLEEF from libtorch_cpu; lane by lane through libm where it has none."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from supple.codegen.cpu import inline, x86
from supple.codegen.cpu.code import Code
from supple.codegen.cpu.registers import Reg, constant
from supple.codegen.cpu.scalars import Scalars, scalars
from supple.codegen.cpu.split import joined, part
from supple.codegen.cpu.target import Features
from supple.ir.dtypes import DType

_FUNCTIONS: Final = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh atanh erf lgamma pow atan2"
).split()
ACCURACY: Final = {**dict.fromkeys(_FUNCTIONS, "u10"), "erfc": "u15", "hypot": "u05"}
"""SLEEF's name for the error bound of each function, in tenths of a unit in the last place."""

BY_LANE: Final = ("asinh", "acosh")
"""Functions for which SLEEF fails on large arguments."""


def sleef_name(function: str, dtype: DType, features: Features) -> str:
    """Return the symbol of SLEEF's function for whole vectors of the machine: Sleef_expf16_u10avx512f."""
    kind = f"{'f' if dtype is DType.F32 else 'd'}{features.register_bytes // dtype.size}"
    return f"Sleef_{function}{kind}_{ACCURACY[function]}{x86.SLEEF.get(features.register_bytes, 'none')}"


def call(code: Code, features: Features, function: str, args: Sequence[Reg]) -> Reg:
    """Return a function of f32 or f64 values with any lanes."""
    dtype, lanes = args[0].dtype, args[0].lanes
    name = "" if function in BY_LANE else sleef_name(function, dtype, features)
    if not name or not features.has_function(name):
        return by_lane(code, function, args)
    width = features.register_bytes // dtype.size
    if lanes == 1:
        whole = [_in_lane_0(code, arg, width) for arg in args]
        return code.extract(_call(code, name, whole), 0)
    if lanes == width:
        return _call(code, name, args)
    parts = [
        _call(code, name, [part(code, arg, start, width) for arg in args]) for start in range(0, lanes, width)
    ]
    return joined(code, parts)


def _call(code: Code, name: str, args: Sequence[Reg]) -> Reg:
    result = args[0]
    code.declare(name, result.type, [arg.type for arg in args])
    text = f"call {result.type} @{name}({', '.join(arg.typed for arg in args)})"
    # Cheaper not to call than to hoist: the call stays behind the condition it is under.
    return code.trapping(text, result.dtype, result.lanes, args)


def _in_lane_0(code: Code, value: Reg, lanes: int) -> Reg:
    """Return a vector with `value` in lane 0 and a harmless 1 in the others."""
    ones = constant(value.dtype, 1, lanes)
    return code.pure(f"insertelement {ones.typed}, {value.typed}, i64 0", value.dtype, lanes, (value,))


def by_lane(code: Code, function: str, args: Sequence[Reg]) -> Reg:
    """Return libm's function of each lane."""
    dtype, lanes = args[0].dtype, args[0].lanes
    name = function + ("f" if dtype is DType.F32 else "")
    if lanes == 1:
        return _call(code, name, args)
    result = Reg("poison", dtype, lanes)
    for lane in range(lanes):
        one = _call(code, name, [code.extract(arg, lane) for arg in args])
        text = f"insertelement {result.typed}, {one.typed}, i64 {lane}"
        result = code.pure(text, dtype, lanes, (result, one))
    return result


def _library(function: str, s: Scalars, dtype: DType, args: tuple[Reg, ...]) -> Reg:
    """Return the library's function."""
    return call(s.code, s.features, function, args)


def _inline(function: str, s: Scalars, dtype: DType, args: tuple[Reg, ...]) -> Reg:
    """Return a function as instructions where there are some for the dtype, else the library's."""
    if not inline.has_code(s.features, dtype):
        return call(s.code, s.features, function, args)
    if function in INLINE:
        return INLINE[function](s.code, s.features, *args)
    return INLINE_NEAR[function](s.code, args[0], lambda x: call(s.code, s.features, function, (x,)))


INLINE: Final = {"exp": inline.exp, "tanh": inline.tanh, "erf": inline.erf}
INLINE_NEAR: Final = {"sin": inline.sin, "cos": inline.cos}

for _name in {*ACCURACY, *BY_LANE} - {*INLINE, *INLINE_NEAR, "pow"}:
    scalars.on(_name)(partial(_library, _name))
for _name in (*INLINE, *INLINE_NEAR):
    scalars.on(_name)(partial(_inline, _name))
