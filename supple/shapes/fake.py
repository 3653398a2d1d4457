"""FakeTensor: a tensor that knows its metadata and has no data; operators on it compute metadata only.

A fake is made for a device ("cpu") and has that device's dispatch keys, so autograd, autocast, views and
composite operators behave as for real tensors; what arrives here are the ATen overloads that eager would
run. Each is answered by a shape rule, or by torch's meta kernel.

Run programs on fakes inside `with faking():`. Then operators without tensor arguments (`torch.zeros`) give
fakes too,
and torch's own dispatch of tensor subclasses stays out (it loads torch.distributed on first use).
"""

import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any, Final, NoReturn, cast

import torch

from supple import torch_private
from supple.expr import Expr, either, equal, less_equal
from supple.expr.real import Real
from supple.ir.arguments import map_leaves
from supple.ir.dtypes import Unrepresented, from_torch, is_represented
from supple.ir.meta import TensorMeta
from supple.ir.ops import aten_op, is_random
from supple.shapes import meta_kernels
from supple.shapes.decide import all_must_equal, decide
from supple.shapes.env import active
from supple.shapes.errors import DataDependent, Misfit, NoMeta, NoShapeRule, Undecided
from supple.shapes.overlap import SHARED, TWICE, clash
from supple.shapes.refusal import refusal, refused
from supple.shapes.rules import ShapeRule, require
from supple.shapes.symnode import expr_of, plain, sym, symint
from supple.shapes.table import shape_rules
from supple.shapes.writes import Write, completed, is_writer, write_of

#: Bytes that the storage of a fake claims to have, so that views within it pass torch's bounds checks.
_UNBOUNDED: Final = 2**62
Number = int | torch.SymInt


class FakeTensor(torch.Tensor):
    """A tensor without data. Made by `fake_from` and `fake_like` only.

    `known_meta` is its metadata, as of when `requires_grad` was what it says; None when it must be read anew.
    `memory` is the address of the storage that it stands for, where that is known; else 0.
    `is_fresh` tells that an operator made it, with as much memory as its elements take.
    """

    known_meta: TensorMeta | None = None
    memory: int = 0
    is_fresh: bool = False
    __torch_function__ = torch_private.no_torch_function

    @classmethod
    def __torch_dispatch__(
        cls,
        func: torch_private.OpOverload,
        types: Sequence[type],
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        """Return fake results of an ATen overload."""
        return run_fake(func, args, kwargs or {})

    def __repr__(self, *, tensor_contents: object = None) -> str:
        return f"FakeTensor({meta_of(self)})"

    def mark_parameter(self) -> None:
        """Make this an instance of nn.Parameter: what its metaclass asks for."""
        self._is_param = True

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise DataDependent("Tensor data")

    data_ptr = _refuse
    tolist = _refuse
    numpy = _refuse
    storage = _refuse
    untyped_storage = _refuse
    __array__ = _refuse
    __dlpack__ = _refuse
    __reduce_ex__ = _refuse


class Faking(torch_private.OperatorMode):
    """While active, every ATen operator of this thread computes metadata only; see `faking`.

    `is_random` tells whether one would have drawn random numbers.
    """

    is_random = False

    def on_operator(
        self, func: torch_private.OpOverload, args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> object:
        """Return fake results of an ATen overload."""
        self.is_random = self.is_random or is_random(aten_op(func))
        return run_fake(func, args, kwargs)


def faking() -> Faking:
    """Return a context manager in which every torch operator of this thread gives fake tensors."""
    return Faking()


def fake_from(meta: TensorMeta, *, is_parameter: bool = False) -> FakeTensor:
    """Return a fake tensor with this metadata; `is_parameter` makes it an instance of nn.Parameter."""
    fake = _wrapped(meta, requires_grad=meta.requires_grad)
    if is_parameter:
        fake.mark_parameter()
    return fake


class _Given(torch.autograd.Function):
    """The identity, whose result is not a view."""

    @staticmethod
    def forward(ctx: Any, leaf: torch.Tensor) -> torch.Tensor:
        """Return a fake with the metadata of another."""
        ctx.set_materialize_grads(False)  # where nothing flows, nothing flows on
        return _wrapped(replace(meta_of(leaf), requires_grad=False))

    @staticmethod
    def backward(ctx: object, *grads: torch.Tensor | None) -> torch.Tensor | None:
        """Return the gradient as it is."""
        return grads[0]


def non_leaf(leaf: FakeTensor) -> FakeTensor:
    """Return a fake that depends on another with the same metadata; in inference mode that itself."""
    if torch.is_inference_mode_enabled():
        return leaf
    with torch.enable_grad():
        return cast("FakeTensor", _Given.apply(leaf))  # pyright: ignore[reportUnknownMemberType]  # untyped in torch


def fake_like(tensor: torch.Tensor) -> FakeTensor:
    """Return a fake tensor with the metadata of a real one.

    Raises:
        NoMeta: a tensor that TensorMeta cannot describe.
    """
    return fake_from(meta_of(tensor), is_parameter=isinstance(tensor, torch.nn.Parameter))


def meta_of(fake: torch.Tensor) -> TensorMeta:
    """Return the metadata of a fake or real tensor, `requires_grad` as it is now.

    Raises:
        NoMeta: a tensor that TensorMeta cannot describe.
    """
    known = fake.known_meta if type(fake) is FakeTensor else None
    requires_grad = fake.requires_grad
    if known is not None and known.requires_grad is requires_grad:
        return known if known.is_static else current(known)
    if not is_describable(fake):
        raise NoMeta(f"a tensor of layout {fake.layout} and dtype {fake.dtype} is not represented")
    return TensorMeta(
        tuple(map(expr_of, fake.shape)),
        tuple(map(expr_of, fake.stride())),
        from_torch(fake.dtype),
        str(fake.device),
        expr_of(fake.storage_offset()),
        requires_grad,
    )


def current(meta: TensorMeta) -> TensorMeta:
    """Return metadata with sizes in the simplest form that the facts of the active compilation give."""
    env = active()
    if env is None or not env.version:
        return meta
    sizes, strides = tuple(map(env.current, meta.sizes)), tuple(map(env.current, meta.strides))
    offset = env.current(meta.offset)
    if (sizes, strides, offset) == (meta.sizes, meta.strides, meta.offset):
        return meta
    return replace(meta, sizes=sizes, strides=strides, offset=offset)


def is_describable(tensor: torch.Tensor) -> bool:
    """Tell whether sizes, strides, offset, dtype and device say all about how a tensor's elements lie in
    memory."""
    return (
        tensor.layout is torch.strided
        and is_represented(tensor.dtype)
        and not tensor.is_nested
        and not (tensor.is_complex() and tensor.is_conj())
        and not tensor.is_neg()
        and not tensor._is_zerotensor()
        and not tensor.is_quantized
    )


def _wrapped(meta: TensorMeta, *, requires_grad: bool = False) -> FakeTensor:
    sizes, strides, offset = _for_torch(meta)
    fake = torch_private.make_wrapper_subclass(
        FakeTensor,
        sizes,
        strides=strides,
        storage_offset=offset,
        dtype=meta.dtype.torch,
        device=torch.device(meta.device),
        requires_grad=requires_grad,
        storage_size=_UNBOUNDED,
    )
    fake.known_meta = meta
    return fake


def _for_torch(meta: TensorMeta) -> tuple[list[Number], list[Number], Number]:
    """Return sizes, strides and offset as numbers of torch.

    Raises:
        Undecided: they are symbolic, and no compilation is active.
    """
    if meta.is_static:
        return [size.value for size in meta.sizes], [step.value for step in meta.strides], meta.offset.value
    env = active()
    if env is None:
        raise Undecided(meta)
    return (
        [symint(size, env) for size in meta.sizes],
        [symint(step, env) for step in meta.strides],
        symint(meta.offset, env),
    )


def run_fake(
    func: torch_private.OpOverload, args: tuple[object, ...], kwargs: Mapping[str, object]
) -> object:
    """Return what an ATen overload gives for fake (or real) arguments: fakes, or arguments that it writes.

    Raises:
        DataDependent: the result or its shape depends on data.
        NoShapeRule: torch's meta kernel does not know the operator.
        RuntimeError, IndexError, ...: what eager raises for these arguments.
    """
    error = refused(func, args, kwargs)
    if error is not None:
        try:
            raise error
        finally:
            del error  # whose traceback holds this frame
    if is_writer(func):
        _require_apart(func, args, kwargs)
    try:
        with _mode_of_views(func, args):
            return _answered(func, args, kwargs)
    except Misfit as misfit:
        raise refusal(func, args, kwargs, misfit) from None
    except Unrepresented as dtype:
        raise NoShapeRule(str(func), f"the compiler does not represent {dtype}") from None
    except AssertionError as failure:  # of torch's own decompositions
        raise refusal(func, args, kwargs, failure) from None


class _Read(threading.local):
    def __init__(self) -> None:
        self.numbers: list[tuple[torch.Tensor, object]] = []


_read = _Read()


@contextmanager
def numbers_read() -> Generator[list[tuple[torch.Tensor, object]]]:
    """Collect the tensors whose only element is read as a number, each with the number."""
    before, _read.numbers = _read.numbers, []
    try:
        yield _read.numbers
    finally:
        _read.numbers = before


def _require_apart(
    func: torch_private.OpOverload, args: Sequence[object], kwargs: Mapping[str, object]
) -> None:
    """Raise what eager does where an operator writes an element twice, or one of another operand."""
    write = write_of(func)
    if write is None:
        return
    target = cast("torch.Tensor", {**dict(enumerate(args)), **kwargs}[write.written])
    memory = _memory_of(target)
    operands = (
        one for one in (*args, *kwargs.values()) if isinstance(one, torch.Tensor) and one is not target
    )
    message = clash(meta_of(target), (meta_of(one) for one in operands if _memory_of(one) == memory))
    if message is SHARED and write.pure.overloadpacket in _REDUCTIONS:
        return
    if message is TWICE and func.overloadpacket in _FILLS | _REDUCTIONS:
        raise NoShapeRule(str(func), "it writes an element twice, which eager lets it do")
    if message is not None:
        raise RuntimeError(message)


_FILLS: Final = frozenset(
    getattr(torch.ops.aten, name)
    for name in "fill_ zero_ masked_fill_ index_fill_ index_put_ tril_ triu_".split()
)
"""Operators that eager lets write to a tensor which shows an element twice."""
_REDUCTIONS: Final = frozenset(
    getattr(torch.ops.aten, name)
    for name in "all amax amin any argmax argmin logsumexp mean nansum norm prod std sum var".split()
)
"""Operators that eager lets write to what they read (`out=`)."""


def _memory_of(tensor: torch.Tensor) -> int:
    """Return a number that is the same for tensors which are known to show the same memory."""
    base = tensor if tensor._base is None else tensor._base
    return (base.memory if isinstance(base, FakeTensor) else 0) or id(base)


def _mode_of_views(func: torch_private.OpOverload, args: Sequence[object]) -> AbstractContextManager[object]:
    """Return inference mode as it was where the tensor was made that the result shows, if it is a view."""
    base = args[0] if func.is_view else None
    if not isinstance(base, torch.Tensor) or base.is_inference() == torch.is_inference_mode_enabled():
        return nullcontext()
    return torch.inference_mode(base.is_inference())


def _answered(
    func: torch_private.OpOverload, args: tuple[object, ...], kwargs: Mapping[str, object]
) -> object:
    rule = shape_rules.find(func)
    if rule is not None:
        found = rule(*map(_to_meta, args), **{name: _to_meta(arg) for name, arg in kwargs.items()})
        if func is torch.ops.aten.as_strided.default:
            _require_within(cast("torch.Tensor", args[0]), cast("TensorMeta", found))
        made = map_leaves(_faked if func.is_view else _fresh, found)
        if func is torch_private.local_scalar_dense:
            _read.numbers.append((cast("torch.Tensor", args[0]), made))
        return made
    write = write_of(func) if is_writer(func) else None
    pure = None if write is None else shape_rules.find(write.pure)
    if write is not None and pure is not None:
        return _written(func, write, pure, completed(func, args), kwargs)
    return meta_kernels.run(func, args, kwargs, fake_from, Faking)


def _require_within(tensor: torch.Tensor, shown: TensorMeta) -> None:
    """Raise Misfit where a view goes beyond the memory of what an operator made; others are checked later."""
    base = tensor if tensor._base is None else tensor._base
    if isinstance(base, FakeTensor) and base.is_fresh:
        require(either(equal(shown.numel, 0), less_equal(shown.offset + shown.reach, meta_of(base).span)))


def _written(
    func: torch_private.OpOverload,
    write: Write,
    rule: ShapeRule,
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
) -> object:
    """Return the argument that an overload writes, after checking that the result fits it."""
    named = dict(kwargs)
    target = args[write.written] if isinstance(write.written, int) else named.pop(write.written)
    assert isinstance(target, torch.Tensor), f"{func} writes {target}"
    found = rule(*map(_to_meta, args), **{name: _to_meta(arg) for name, arg in named.items()})
    mine = meta_of(target)
    if isinstance(found, TensorMeta) and torch.Tag.inplace_view in func.tags:
        return _reshaped(target, found)
    if not isinstance(found, TensorMeta):
        raise NoShapeRule(str(func), "it has several results")
    if isinstance(write.written, str):  # eager resizes it
        is_fitting = found.rank == mine.rank and all(map(decide, map(equal, found.sizes, mine.sizes)))
        if not is_fitting:
            raise NoShapeRule(str(func), "the out argument would be resized")
    else:
        is_fitting = all_must_equal(found.sizes, mine.sizes)
    require(is_fitting, torch.can_cast(found.dtype.torch, target.dtype))
    return target


def _reshaped(target: torch.Tensor, meta: TensorMeta) -> torch.Tensor:
    """Return a fake after an operator that changes its own sizes and strides (`squeeze_`).

    Whether it is a tensor of inference mode stays as it was, whichever mode it is in by now.
    """
    with torch_private.no_torch_dispatch(), torch.inference_mode(target.is_inference()):
        target.data = _wrapped(meta)
    if isinstance(target, FakeTensor):
        target.known_meta = None
    return target


def _to_meta(arg: object) -> object:
    """Return an argument with its tensors replaced by their metadata."""
    return map_leaves(_described, arg)


def _described(leaf: object) -> object:
    return meta_of(leaf) if isinstance(leaf, torch.Tensor) else plain(leaf)


def _fresh(leaf: object) -> object:
    made = _faked(leaf)
    if isinstance(made, FakeTensor):
        made.is_fresh = True
    return made


def _faked(leaf: object) -> object:
    if isinstance(leaf, TensorMeta):
        return _wrapped(leaf)
    if isinstance(leaf, Expr | Real):
        env = active()
        assert env is not None, f"{leaf} without a compilation"
        return sym(leaf, env)
    return leaf
