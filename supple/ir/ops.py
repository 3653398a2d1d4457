"""The operator vocabulary of the graph language: what a node calls, as data with a stable name.

Three kinds: a torch function (`torch.nn.functional.gelu`), a tensor method (`Tensor.view`), and an ATen
overload (`aten.add.Tensor`). Capture records the first two; the ATen graph holds only the third.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, cast

import torch

from supple.ir import products
from supple.ir.key import UNKEYED
from supple.torch_private import OpOverload, schema_of


class OpKind(Enum):
    """What an op calls."""

    FUNCTION = "function"
    METHOD = "method"
    ATEN = "aten"


@dataclass(frozen=True, slots=True)
class Op:
    """One operator. Equal names are equal ops.

    Attributes:
        name: stable and printable: "torch.add", "Tensor.view", "aten.add.Tensor".
        kind: which of the three it is.
        call: the callable; for a method a function of the tensor and the arguments.
        is_pure: no argument is written, no global state read or changed (random numbers included), and
            nothing is checked.
        is_view: the result shares the storage of an argument.
    """

    name: str
    kind: OpKind
    call: Callable[..., object] = field(compare=False, repr=False, metadata=UNKEYED)
    is_pure: bool = field(default=True, compare=False)
    is_view: bool = field(default=False, compare=False)

    @property
    def is_own(self) -> bool:
        """Whether torch itself defines what it calls, so that the name says what that does."""
        namespace, _, rest = self.name.partition(".")
        if self.kind is OpKind.ATEN:
            return namespace in ("aten", "prims")
        is_custom = namespace == "torch" and rest.startswith("ops.")
        return namespace in ("Tensor", "torch", "operator", "builtins") and not is_custom

    @property
    def traced(self) -> Callable[..., object]:
        """What takes symbolic sizes: the callable itself, but for products before torch 2.13."""
        of_sizes = products.OWN.get(self.name if self.kind is OpKind.METHOD else self.call)
        return self.call if of_sizes is None else of_sizes(cast("products.Product", self.call))

    @property
    def function(self) -> type[torch.autograd.Function] | None:
        """The class of the program whose `apply` it calls: its results are new, its arguments stay."""
        owner: Any = getattr(self.call, "__self__", None)
        is_function = isinstance(owner, type) and issubclass(owner, torch.autograd.Function)
        return cast("type[torch.autograd.Function]", owner) if is_function else None


_BY_NAME: Final[dict[str, Op]] = {}


def function_op(name: str, call: Callable[..., object], *, is_pure: bool = True) -> Op:
    """Return the op of a torch function; `name` is its public dotted path."""
    return _BY_NAME.setdefault(name, Op(name, OpKind.FUNCTION, call, is_pure))


def op_on(op: Op, device: torch.device) -> Op:
    """Return an op that calls a torch function in the context of a device; others do not look at it."""
    if op.kind is not OpKind.FUNCTION:
        return op

    def call(*args: object, **kwargs: object) -> object:
        with device:
            return op.call(*args, **kwargs)

    return function_op(f"on_{device}.{op.name}", call, is_pure=op.is_pure)


def method_op(method: str, *, is_pure: bool = True) -> Op:
    """Return the op of a tensor method; it takes the tensor first."""

    def call(tensor: object, *args: object, **kwargs: object) -> object:
        return getattr(tensor, method)(*args, **kwargs)

    name = f"Tensor.{method}"
    return _BY_NAME.setdefault(name, Op(name, OpKind.METHOD, _CALLS.get(method, call), is_pure))


def _item(tensor: torch.Tensor, key: Any) -> object:
    """Return `tensor[key]`, for which torch asks where a symbolic integer lies; `select` does not ask."""
    return tensor.select(0, key) if type(key) is torch.SymInt and tensor.ndim else tensor[key]


_CALLS: Final[dict[str, Callable[..., object]]] = {"__getitem__": _item}
"""What methods do that takes other ways to be traced."""


_WITHOUT_DROPOUT: Final = "aten._scaled_dot_product_flash_attention_for_cpu.default"
"""Attention that refuses to drop, though it says that it draws random numbers."""


def aten_op(overload: OpOverload) -> Op:
    """Return the op of an ATen overload (or of any overload of another namespace)."""
    name = f"{overload.namespace}.{overload.name().split('::')[1]}"
    if name.count(".") <= 1:
        name = f"{name}.default"
    known = _BY_NAME.get(name)
    if known is not None:
        return known
    schema = schema_of(overload)
    writes = any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)
    shares = any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
    random = torch.Tag.nondeterministic_seeded in overload.tags and name != _WITHOUT_DROPOUT
    is_pure = not writes and not random and bool(schema.returns)
    made = Op(name, OpKind.ATEN, cast("Callable[..., object]", overload), is_pure, shares)
    return _BY_NAME.setdefault(name, made)


def is_random(op: Op) -> bool:
    """Tell whether an ATen operator draws random numbers."""
    return not op.is_pure and torch.Tag.nondeterministic_seeded in getattr(op.call, "tags", ())


_PARTIAL: Final = frozenset(
    f"aten.{name}"
    for name in "floor_divide remainder fmod celu softshrink huber_loss binary_cross_entropy mvlgamma "
    "as_strided".split()
)
"""Pointwise operators and views that raise for zeros among integers, or for numbers out of their range."""
_DIVISIONS: Final = frozenset(("aten.div.Tensor_mode", "aten.div.Scalar_mode"))
_TOTAL: Final = frozenset(
    f"aten.{name}"
    for name in "clone _to_copy copy fill zero cat stack constant_pad_nd flip repeat roll tril triu "
    "slice_scatter select_scatter diagonal_scatter arange zeros ones full empty eye scalar_tensor zeros_like "
    "ones_like full_like empty_like new_zeros new_ones new_full new_empty sum mean prod any all amax amin "
    "max min argmax argmin cumsum sort topk var std var_mean mm bmm addmm baddbmm mv dot "
    "_softmax _log_softmax native_layer_norm "
    "_scaled_dot_product_flash_attention_for_cpu".split()
)
"""Other operators that compute for all that tensors hold, and of which capture asks all that eager asks."""


def may_raise(op: Op) -> bool:
    """Tell whether a pure operator may raise in a run though its capture did not.

    Some raise for what tensors hold, or for numbers. Of many, capture asks less than eager does, where
    torch's own rules for metadata leave it to the kernel what sizes and numbers it takes.
    """
    name = op.name.rpartition(".")[0]
    is_elementwise = op.is_view or torch.Tag.pointwise in getattr(op.call, "tags", ())
    if is_elementwise:
        return name in _PARTIAL or op.name in _DIVISIONS
    return name not in _TOTAL


def op_named(name: str) -> Op:
    """Return the op of a name met before, or an ATen overload by its dotted name.

    Raises:
        KeyError: for a name that is neither.
    """
    known = _BY_NAME.get(name)
    if known is not None:
        return known
    if name.startswith("Tensor."):
        return method_op(name.removeprefix("Tensor."))
    namespace, _, rest = name.partition(".")
    base, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, namespace), base, None)
    if packet is None:
        raise KeyError(f"no operator is named {name}")
    return aten_op(getattr(packet, overload or "default"))
