"""Every private name of torch that the package touches, one commented line each. A test lists them.

A name that this version of torch has not is no error here: what stands for it raises `MissingInTorch` when it
is called, and no object is of a class that is missing. `python -m supple env` lists them. Without the names
that `_needed` asks for nothing is compiled, as `unusable` says.
"""

# pyright: reportPrivateUsage=false

import pkgutil
import sys
import types
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

import torch
from torch import Tensor

if TYPE_CHECKING:
    from torch._C import FunctionSchema as FunctionSchema  # the signature of an ATen overload
    from torch._C import ScriptMethod as ScriptMethod  # what `forward` of a scripted module is
    from torch._ops import OpOverload as OpOverload  # the class of torch.ops.aten.add.Tensor
    from torch._ops import OpOverloadPacket as OpOverloadPacket  # the class of torch.ops.aten.add
    from torch.utils._python_dispatch import TorchDispatchMode  # sees operators instead of their kernels

KNOWN: Final = ((2, 11), (2, 12), (2, 13), (2, 14))
"""The versions of torch for which supple is made."""


class MissingInTorch(RuntimeError):
    """This version of torch has not a private name that a feature needs."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A private name that this version of torch has not.

    Attributes:
        feature: what is lost without it; empty where nothing can be compiled.
    """

    name: str
    feature: str

    def __str__(self) -> str:
        return f"{self.name.replace(':', '.')}: {self.feature or 'needed to compile anything'}"

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        """Say what is missing, in place of what would be called."""
        raise MissingInTorch(f"torch {torch.__version__} has no {self}")


MISSING: Final[list[Missing]] = []
"""The names that were asked for and are not there."""


def _optional(name: str, feature: str) -> Any:
    """Return what a private name, `module:attributes`, stands for, or what raises in its place.

    Args:
        feature: what is lost without it.
    """
    try:
        return pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        MISSING.append(Missing(name, feature))
        return MISSING[-1]


def _needed(name: str) -> Any:
    """Return the same of a name without which nothing is compiled."""
    return _optional(name, "")


def _function(name: str, feature: str = "") -> Callable[..., object]:
    """Return the same of a function without types in torch."""
    return cast("Callable[..., object]", _optional(name, feature))


def _class(name: str, feature: str = "") -> Any:
    """Return the same of a class; of one that is missing there are no objects."""
    found = _optional(name, feature)
    return type(name, (), {}) if isinstance(found, Missing) else found


def unusable() -> str | None:
    """Return why nothing can be compiled with this version of torch, None where it can."""
    needed = [str(one) for one in MISSING if not one.feature]
    return f"torch {torch.__version__} has no {'; no '.join(needed)}" if needed else None


VERSION: Final = tuple(map(int, torch.__version__.split(".")[:2]))
"""The first two numbers of torch's version."""


def is_newer() -> bool:
    """Tell whether torch is newer than any version that is known."""
    return VERSION > KNOWN[-1]


if not TYPE_CHECKING:  # the classes above, where this torch has them
    OpOverload = _class("torch._ops:OpOverload")
    OpOverloadPacket = _class("torch._ops:OpOverloadPacket")
    ScriptMethod = _class("torch._C:ScriptMethod", "scripted modules")
    TorchDispatchMode = _class("torch.utils._python_dispatch:TorchDispatchMode")

# A scan over a dimension by an associative function; what takes apart what it goes over, and joins it again.
associative_scan = _function("torch._higher_order_ops:associative_scan", "scans")
tree_flatten = cast(
    "Callable[[object], tuple[list[Any], object]]", _optional("torch.utils._pytree:tree_flatten", "scans")
)
tree_unflatten = _function("torch.utils._pytree:tree_unflatten", "scans")

# Keeps a tensor subclass out of the __torch_function__ protocol.
no_torch_function: Final = _function("torch._C:_disabled_torch_function_impl")

# Makes a tensor with sizes, strides, dtype and device but no memory.
make_wrapper_subclass = cast("Callable[..., Any]", _needed("torch:Tensor._make_wrapper_subclass"))

# Within it, operators on tensor subclasses run the kernels of their backend.
no_torch_dispatch = cast("type[AbstractContextManager[object]]", _needed("torch._C:_DisableTorchDispatch"))
DispatchMode: Final = TorchDispatchMode

# Sets how often tensors were written, after writes that are undone; the public API can only add to it.
set_versions = cast(
    "Callable[[Sequence[Tensor], Sequence[int]], None]",
    _needed("torch._C:_autograd._unsafe_set_version_counter"),
)

# Number of active `__torch_function__` modes; the public API can only walk them.
function_mode_count = cast("Callable[[], int]", _needed("torch._C:_len_torch_function_stack"))

# Whether `torch.jit.trace` records; `torch.jit.is_tracing` asks whether anybody compiles first.
is_tracing = cast("Callable[[], bool]", _needed("torch._C:_is_tracing"))

# Number of active `__torch_dispatch__` modes.
dispatch_mode_count = cast("Callable[[], int]", _needed("torch._C:_len_torch_dispatch_stack"))

# The innermost active functorch transform, None outside of vmap, grad and jvp.
functorch_level = cast("Callable[[], object]", _needed("torch._C:_functorch.peek_interpreter_stack"))


# Whether a tensor stands for a batch of gradients.
_is_batch = cast("Callable[[Tensor], bool]", _needed("torch._C:_functorch.is_legacy_batchedtensor"))


def are_batched(gradients: Iterable[Tensor | None]) -> bool:
    """Tell whether gradients stand for batches: of `is_grads_batched`, or of a transform that is active."""
    return functorch_level() is not None or any(_is_batch(grad) for grad in gradients if grad is not None)


@contextmanager
def outside_of_batches() -> Generator[None]:
    """Run a block as if no batch of gradients flowed: random numbers are drawn as outside of it."""
    nesting = _begin_batch()
    for _ in range(nesting):
        _end_batch()
    try:
        yield
    finally:
        for _ in range(nesting - 1):
            _begin_batch()


# How many transforms with batches are active: one more, and one less.
_begin_batch = cast("Callable[[], int]", _needed("torch._C:_vmapmode_increment_nesting"))
_end_batch = cast("Callable[[], int]", _needed("torch._C:_vmapmode_decrement_nesting"))


# Whether autocast is on for any device: one call in place of one per device.
any_autocast = cast("Callable[[], bool]", _needed("torch._C:_is_any_autocast_enabled"))

# Within it autocast is off for every device; `torch.autocast` knows one device and costs ten times as much.
DisableAutocast = cast("type[AbstractContextManager[object]]", _needed("torch._C:_DisableAutocast"))

# Functions without a public name that take the arguments of an ATen overload; a call of the overload itself
# takes five to ten microseconds longer.
FUNCTIONS: Final = {
    f"aten.{name}.default": f"torch.{name}"
    for name in ("_embedding_bag", "_scaled_dot_product_flash_attention_for_cpu", "_adaptive_avg_pool2d")
    if hasattr(torch, name)
}

# Where torch keeps its functions in C, by the part of ATen that they are of.
OPERATOR_NAMESPACES: Final[tuple[object, ...]] = tuple(
    _optional(f"torch._C:{name}", "functions without a name in torch, as operators")
    for name in ("_VariableFunctions", "_nn", "_linalg", "_fft", "_special", "_sparse", "_nested")
)

# (): the names of all operators, with that of their library.
_all_names = cast("Callable[[], list[str]]", _needed("torch._C:_dispatch_get_all_op_names"))

# The names of ATen's operators, each once for all its overloads.
ATEN_NAMES: Final = frozenset(
    name.removeprefix("aten::").partition(".")[0]
    for name in ([] if isinstance(_all_names, Missing) else _all_names())
    if name.startswith("aten::")
)

# Within it neither modes nor subclasses see calls of torch functions.
DisableTorchFunction = cast("type[AbstractContextManager[object]]", _needed("torch._C:DisableTorchFunction"))


def schema_of(overload: OpOverload) -> "FunctionSchema":
    """Return the signature of an ATen overload."""
    return overload._schema  # no public accessor


def dispatch_keys(tensor: Tensor) -> int:
    """Return a tensor's dispatch keys as a number: inference, conjugate and functorch bits show in it."""
    return key_set(tensor).raw_repr()


# (tensor) -> its dispatch keys, of which `raw_repr()` is the number; no public reader.
key_set = cast("Callable[[Tensor], Any]", _needed("torch._C:_dispatch_keys"))


def default_device() -> torch.device | None:
    """Return the device that `torch.set_default_device` or a device context chose, None for neither."""
    return cast("torch.device | None", _device.CURRENT_DEVICE)  # torch.get_default_device is 50 times slower


# Where the default device lives.
_device: Final = _needed("torch.utils._device")
_needed("torch.utils._device:CURRENT_DEVICE")


def forward_mode_level() -> int:
    """Return the level of forward-mode differentiation, -1 outside of it."""
    return cast("int", _forward._current_level)


# The module that counts the levels in a variable of this name.
_forward: Final = _needed("torch.autograd.forward_ad")
_needed("torch.autograd.forward_ad:_current_level")


# The tracing state of torch.jit; None outside of torch.jit.trace.
get_tracing_state = _function("torch._C:_get_tracing_state", "questions about tracing")

# Counts the uses of an API inside Meta; without effect elsewhere.
log_api_usage_once = _function("torch._C:_log_api_usage_once", "notes of usage")

# What `module(...)` runs, hooks included: the wrapper and the work.
module_call = _function("torch.nn:Module._call_impl")
module_call_wrapper = _function("torch.nn:Module._wrapped_call_impl")

# The code of what torch wraps around its own functions that are not to be compiled; it loads the compiler.
_disable = _optional("torch:_disable_dynamo", "functions that torch leaves to Python")
disabled_by_torch: Final = (
    None if isinstance(_disable, Missing) else cast("types.CodeType", _disable(len).__code__)
)

# Where what torch.compile wraps keeps the original.
WRAPPED: Final = "_torchdynamo_orig_callable"

# What a function names for `torch.compile` to capture in its place where it is called, and the object that
# these attributes are of: a copy of them is no wrapper.
INLINED: Final = "_torchdynamo_inline"
WRAPPER: Final = "_torchdynamo_wrapper_id"


def is_patched(function: types.FunctionType) -> bool:
    """Tell whether torch.compile wrapped an internal function of an optimizer, as it does once loaded."""
    is_own = str(function.__module__).startswith("torch.optim.") and function.__name__.startswith("_")
    return is_own and WRAPPED in function.__dict__


# Operators on lists of tensors, by the name of the operator on one that they repeat.
FOREACH: Final = {
    name.removeprefix("_foreach_"): cast("Callable[..., object]", function)
    for name, function in vars(torch).items()
    if name.startswith("_foreach_") and name != "_foreach_powsum"
}
# What reads the only element of a tensor as a number.
local_scalar_dense = cast("OpOverload", _needed("torch:ops.aten._local_scalar_dense.default"))
# What a range of the profiler begins with.
begin_range: Final = _function("torch:ops.profiler._record_function_enter_new", "ranges of the profiler")
# How optimizers read the number of a step.
get_step = _function("torch.optim.optimizer:_get_value", "optimizers of torch")

# Sorts lists of tensors by device and dtype.
group_tensors = _function("torch._C:_group_tensors_by_device_and_dtype", "optimizers that update lists")

# What scalers of gradients do to the gradients, and to the scale.
amp_unscale = _function("torch:_amp_foreach_non_finite_check_and_unscale_", "scalers of gradients")
amp_update_scale = _function("torch:_amp_update_scale_", "scalers of gradients")

# Sine and cosine of numbers, symbolic ones included.
sym_sin = _function("torch:_sym_sin", "sines of numbers")
sym_cos = _function("torch:_sym_cos", "cosines of numbers")

# What `Function.apply(...)` of a subclass runs: a function, in torch 2.14 a descriptor in C.
_apply = cast("types.MethodType", vars(torch.autograd.Function)["apply"])
autograd_function_apply = cast("Callable[..., object]", getattr(_apply, "__func__", _apply))

# Where it is on, fresh memory is filled with NaN. The public function loads torch's compiler.
set_deterministic = _function("torch._C:_set_deterministic_algorithms", "the verify mode")

# Module and name of the function by which torch's own compiler, once loaded, takes note of new modules.
TAGS_MODULES: Final = ("torch._dynamo.mutation_guard", "GenerationTracker.tag")

# Hooks that apply to all modules.
GLOBAL_MODULE_HOOKS: Final = (
    "_global_backward_hooks",
    "_global_backward_pre_hooks",
    "_global_forward_hooks",
    "_global_forward_pre_hooks",
)

# Raised by a hook on saved tensors when enough of a checkpointed region was computed again.
StopRecomputation = cast(
    "type[Exception]", _class("torch.utils.checkpoint:_StopRecomputationError", "checkpoints")
)


@contextmanager
def without_saved_tensor_hooks() -> Generator[None]:
    """Let hooks on saved tensors not see what is saved meanwhile."""
    before = _hide_from_hooks(True)
    try:
        yield
    finally:
        _hide_from_hooks(before)


# Sets whether hooks on saved tensors are left out, and returns whether they were.
_hide_from_hooks = cast(
    "Callable[[bool], bool]", _needed("torch._C:_autograd._saved_tensors_hooks_set_tracing")
)


# Whether the backward that runs was told to retain the graph; true where none runs.
retains_graph = cast("Callable[[], bool]", _needed("torch._C:_autograd._get_current_graph_task_keep_graph"))


# Questions whose answer inside captured code is True, and those whose answer is False.
TRUE_WHILE_COMPILING: Final = (torch.compiler.is_compiling, torch.compiler.is_dynamo_compiling)
FALSE_WHILE_COMPILING: Final[tuple[object, ...]] = (
    torch.compiler.is_exporting,
    _optional("torch.jit:is_scripting", "questions about tracing"),
    _optional("torch.jit:is_tracing", "questions about tracing"),
    is_tracing,
    _optional("torch._C:_are_functorch_transforms_active", "questions about tracing"),
    torch.cuda.is_current_stream_capturing,
)

# What functions of torch in Python ask about their arguments.
ARE_OVERRIDDEN: Final[tuple[object, ...]] = (
    torch.overrides.has_torch_function,
    _optional("torch.overrides:has_torch_function_unary", "questions about overrides"),
    torch.overrides.has_torch_function_variadic,
)

# What `torch.backends.cudnn.enabled` asks, without the module around it.
is_cudnn_enabled = cast("Callable[[], bool]", _needed("torch._C:_get_cudnn_enabled"))
# The name that a backend outside of torch has, on which autocast depends.
private_backend = cast("Callable[[], str]", _needed("torch._C:_get_privateuse1_backend_name"))

# Questions about thread state, and the part of the state that the answer comes from where it is not guarded
# in every call.
STATE_QUERIES: Final[dict[Callable[..., object], str]] = {
    torch.is_grad_enabled: "",
    torch.is_inference_mode_enabled: "",
    torch.is_autocast_enabled: "",
    torch.is_autocast_cpu_enabled: "",
    torch.get_autocast_dtype: "autocast_defaults",
    torch.get_autocast_gpu_dtype: "autocast_defaults",
    torch.get_autocast_cpu_dtype: "autocast_defaults",
    torch.is_autocast_cache_enabled: "autocast_defaults",
    torch.get_default_dtype: "",
    torch.is_anomaly_enabled: "anomaly",
    is_cudnn_enabled: "cudnn",
    any_autocast: "",
    _optional("torch._C:_is_torch_function_mode_enabled", "questions about modes"): "",
    private_backend: "private_backend",
    torch.amp.autocast_mode.is_autocast_available: "private_backend",
}

# Whether this thread asks classes for their `__torch_function__`.
is_torch_function_enabled = cast("Callable[[], bool]", _needed("torch._C:_is_torch_function_enabled"))

# Whether a tensor stands for zeros that are not in memory.
is_zero_tensor = cast("Callable[[Tensor], bool]", _needed("torch:Tensor._is_zerotensor"))

# Checks that a program states itself, and what they raise.
check_holds = _function("torch:_check", "checks of the program's own")
_CHECKS: Final[dict[str, type[Exception]]] = {
    "_check_index": IndexError,
    "_check_value": ValueError,
    "_check_type": TypeError,
    "_check_not_implemented": NotImplementedError,
}
CHECKS: Final[dict[Callable[..., object], type[Exception]]] = {
    check_holds: RuntimeError,
    **{_function(f"torch:{name}", "checks of the program's own"): error for name, error in _CHECKS.items()},
}
check_is_size = _function("torch:_check_is_size", "checks of the program's own")

# The view of a new tensor, which counts as no view.
unsafe_view = cast(
    "Callable[[torch.Tensor, Sequence[int]], torch.Tensor]",
    _optional("torch:ops.aten._unsafe_view.default", "products of symbolic sizes"),
)

# The kernels of attention on the CPU, and of its gradients.
flash_attention_backward = cast(
    "Callable[..., tuple[torch.Tensor, ...]]",
    _optional("torch:ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default", "attention"),
)
flash_attention = cast(
    "Callable[..., tuple[torch.Tensor, torch.Tensor]]",
    _optional("torch:ops.aten._scaled_dot_product_flash_attention_for_cpu.default", "attention"),
)

# Batch norm in training that returns its statistics where the public operator writes them.
batch_norm_with_statistics = cast(
    "Callable[..., tuple[torch.Tensor, ...]]",
    _optional("torch:ops.aten._native_batch_norm_legit_functional.default", "batch norm"),
)

# Attributes of a tensor in which torch's own functions keep marked dimensions; what such a mark means, and
# whether to specialise the dimension is an error.
MARK_ATTRIBUTES: Final = (
    ("_dynamo_unbacked_indices", "unbacked", False),
    ("_dynamo_strict_unbacked_indices", "unbacked", True),
    ("_dynamo_dynamic_indices", "dynamic", True),
    ("_dynamo_weak_dynamic_indices", "maybe", False),
    ("_dynamo_static_indices", "static", False),
)
# The same of bounds: a set of objects with `dim`, `min` and `max`.
MARK_RANGES: Final = "_dynamo_dynamic_range"


# Within it, an operator meets the modes of the caller of the operator that a handler handles.
_AsCalled: Final = cast(
    "type[AbstractContextManager[object]]", _optional("torch._C:_RestorePythonTLSSnapshot", "the verify mode")
)
_COMPOSITE: Final = _needed("torch._C:DispatchKey.CompositeImplicitAutograd")


class OperatorMode(TorchDispatchMode):
    """While active, `on_operator` is called in place of each ATen operator of this thread.

    In inference mode too, what C++ defines by other operators comes as those.
    """

    _is_cast = False
    """Whether the parts of an operator run that autocast knows: it casts these no more."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Keep torch from wrapping the handler in a function that loads torch's own compiler."""
        return False

    def __torch_dispatch__(
        self,
        func: OpOverload,
        types: Sequence[type],
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        """Run an operator."""
        if is_composite(func):  # in inference mode, or within another handler
            return self._run_parts(func, args, kwargs or {})
        return self.on_operator(func, args, kwargs or {})

    def _run_parts(self, func: OpOverload, args: tuple[object, ...], kwargs: Mapping[str, object]) -> object:
        """Run an operator that others define, each of which comes back here.

        Its kernel in C++ tells which: what Python registered for tracing may do otherwise.
        """
        before = self._is_cast
        self._is_cast = before or _has_kernel(func, "AutocastCPU")
        is_as_called = torch.is_inference_mode_enabled() and not self._is_cast
        try:
            with _AsCalled() if is_as_called else nullcontext(), self:
                return func._op_dk(_COMPOSITE, *args, **kwargs)
        finally:
            self._is_cast = before

    def on_operator(self, func: OpOverload, args: tuple[object, ...], kwargs: Mapping[str, object]) -> object:
        """Return what an operator gives."""
        raise NotImplementedError


# What nn.TransformerEncoderLayer calls for inference, and F.bilinear: kernels of several products each.
encoder_layer = _function("torch:_transformer_encoder_layer_fwd", "encoders in inference")
chunk_cat = _function("torch:_chunk_cat", "chunks of lists")
trilinear = _function("torch:_trilinear", "bilinear layers")

# What `torch.no_grad` and `torch.enable_grad` call, without a context manager around it.
set_grad_enabled = cast("Callable[[bool], object]", _needed("torch._C:_set_grad_enabled"))

# The object in C that `torch.inference_mode` holds: a context manager of one bool.
InferenceGuard = cast("Callable[[bool], AbstractContextManager[object]]", _needed("torch._C:_InferenceMode"))

# Changes of thread state, by the name under which a graph node repeats them.
STATE_CHANGES: Final[dict[str, Callable[..., object]]] = {
    "torch._C._set_grad_enabled": set_grad_enabled,
    "torch.set_autocast_enabled": torch.set_autocast_enabled,
    "torch.set_autocast_dtype": torch.set_autocast_dtype,
    "torch.set_autocast_cache_enabled": torch.set_autocast_cache_enabled,
    "torch.autocast_increment_nesting": torch.autocast_increment_nesting,
    "torch.autocast_decrement_nesting": torch.autocast_decrement_nesting,
    "torch.clear_autocast_cache": torch.clear_autocast_cache,
}


@cache
def is_composite(overload: OpOverload) -> bool:
    """Tell whether an ATen overload is defined by other operators for every backend, in C++."""
    if not _has_any_kernel(overload.name()):
        return False  # `aten.size.default`, with which C++ asks for plain numbers
    return _has_kernel(overload, "CompositeImplicitAutograd") and not _has_kernel(overload, "CPU")


def _has_kernel(overload: OpOverload, key: str) -> bool:
    """Tell whether torch's dispatcher has a kernel of an overload's own for a key."""
    return _has_kernel_for(overload.name(), key)


# Whether torch's dispatcher has a kernel of an operator: for any key, and for one.
_has_any_kernel = cast("Callable[[str], bool]", _needed("torch._C:_dispatch_has_kernel"))
_has_kernel_for = cast(
    "Callable[[str, str], bool]", _needed("torch._C:_dispatch_has_kernel_for_dispatch_key")
)


# What custom operators registered.
_registry: Final = _optional("torch._library.simple_registry:singleton", "shape rules of custom operators")


def registered_fake(overload: OpOverload) -> Callable[..., object] | None:
    """Return what `torch.library.register_fake` was given for an operator."""
    kernel = _registry.find(overload.name()).fake_impl.kernel  # torch 2.11 has no `get`
    return None if kernel is None else cast("Callable[..., object]", kernel.func)


def promises_to_torch(function: Callable[..., object]) -> tuple[bool, bool, Callable[..., object] | None]:
    """Return whether a function was given to torch.compiler's allow_in_graph, whether to its
    assume_constant_result, and what substitute_in_graph was given for it."""
    compiler = sys.modules.get("torch._dynamo.trace_rules")  # it keeps what it was told, once it is loaded
    if compiler is None:
        return False, False, None
    ids: set[int] | None = compiler._allowed_callable_ids.function_ids
    handlers = compiler.torch._dynamo.variables.PolyfilledFunctionVariable._get_polyfill_handlers()
    polyfill = getattr(handlers.get(function), "__torch_dynamo_polyfill__", None)
    is_own = str(getattr(polyfill, "__module__", "")).startswith("torch._dynamo")
    is_constant = getattr(function, "_dynamo_marked_constant", False)
    return ids is not None and id(function) in ids, is_constant, None if is_own else polyfill
