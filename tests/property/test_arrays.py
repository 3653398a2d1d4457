"""NumPy in compiled code: the numbers, the types and the breaks are eager's. X-ESC09"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import supple

EXPRESSIONS = """
a + b | a - b | a * b | a / b | a @ b.T | -a | a == b | a != b | a < b | a <= b | a > 2 | a >= b | a + 1
2.5 * a | a - np.float64(2) | np.float32(2) * a | np.add(a, b) | np.subtract(2, a) | np.multiply(a, b)
np.divide(a, 2) | np.negative(a) | np.abs(a) | np.sqrt(a) | np.square(a) | np.exp(a) | np.exp2(a)
np.expm1(a) | np.log(a) | np.log2(a) | np.log10(a) | np.log1p(a) | np.sin(a) | np.cos(a) | np.tan(a)
np.arcsin(a) | np.arccos(a) | np.arctan(a) | np.sinh(a) | np.cosh(a) | np.tanh(a) | np.floor(a) | np.ceil(a)
np.trunc(a) | np.rint(a) | np.maximum(a, b) | np.minimum(a, 1) | np.isnan(a) | np.isinf(a) | np.isfinite(a)
np.logical_not(a) | np.logical_and(a, b) | np.logical_or(a, b) | np.where(a > b, a, b)
np.where(a > 1, 1.0, b) | np.matmul(a, b.T) | a.sum() | a.sum(0) | a.sum(axis=1, keepdims=True) | a.mean()
np.mean(a, axis=-1) | a.prod() | a.all() | np.any(a, axis=0) | a.argmax() | a.argmax(axis=1) | np.argmin(a)
a.max() | a.max(axis=0) | np.min(a, axis=1) | np.concatenate([a, b], axis=1) | np.concatenate((a, b))
np.stack([a, b]) | np.stack([a, b], axis=-1) | a.clip(0, 2) | np.clip(a, 1, 2) | a.ravel() | a.reshape(-1)
a.reshape((3, 2)) | np.reshape(a, (1, 6)) | a.T | a.transpose() | a.transpose(1, 0)
np.transpose(a, (1, 0)) | a.reshape(1, 2, 3).squeeze(0) | np.squeeze(a) | a.swapaxes(0, 1)
np.moveaxis(a, 0, 1) | np.expand_dims(a, 1) | np.zeros_like(a) | np.ones_like(a) | a.copy() | np.array(a)
a.astype(np.float64) | a.astype('float32') | a.astype(np.int64) | a[0] | a[0, 1] | a[:, 1:] | a[..., 0]
a[0, ..., 1] | a[None] | a[-1][0] | a[[0, 1]] | a[a > 1] | a[::2, ::-1] | a.shape | a.ndim | a.size
a.dtype | a.dtype == np.float32 | len(a) | a.itemsize | a[0, 1] * 2 | a.sum() / 3 | a.sum() + a
float(a[0, 0]) | type(a.sum()) | type(a[0]) | isinstance(a, np.ndarray) | a.std() | np.var(a, axis=0)
float(a.sum()) | bool(a.all()) | a.max().item() * 2
a // 2 | a % 2 | a ** 2 | a & 1 | ~(a > 1) | a.tolist() | a.sum().item() | np.linalg.norm(a) | np.sort(a)
np.cumsum(a, axis=0) | a.flatten() | np.linspace(0, 1, 3) + a | np.arange(3) * a | list(a[0]) | sum(a[0])
torch.from_numpy(a) | torch.from_numpy(a) + 1 | torch.from_numpy(a.T) | torch.as_tensor(a) | torch.tensor(a)
t.numpy() | t.numpy() + a | (t * 2).numpy().sum(0) | t.detach().cpu().numpy()
torch.from_numpy(np.sin(t.numpy())) | np.sqrt(2.0) * t | t / np.sqrt(16) | np.log(10.0) | np.exp(0)
np.floor(2.5) | np.log(0.0) | np.float64(2) + 1 | a + 300
f'{a.sum():.2f}' | format(a.max(), '') | f'{a.sum()}' | f'{a}' | f'{a:d}'
'%.1f' % a.sum() | '{:.3e}'.format(a.sum())
"""
PROGRAM = """
def program(a, b, t):
    {}
    try:
        return t + 1, {}
    except Exception as error:
        return type(error), str(error)
"""
ARGUMENTS = {
    "arrays": "",
    "scalars": "a, b = a[0, 1], b[0, 1]",
    "sums": "a = a[1].sum()",
    "no dimensions": "a, b = a[0, 1, ...], b[1, 1, ...]",
    "one dimension": "a, b = a[0], b[0]",
}
METHODS = "item copy astype sum mean tolist reshape transpose clip round squeeze ravel all any".split()
KINDS = ("float32", "float64", "int64", "int32", "uint8", "bool")
VALUES: Any = np.array([[0, 1, 2], [3, -1, 5]])
SPECIAL = np.array([[np.nan, np.inf, -np.inf], [0.0, -0.0, 2.5]])


def expressions() -> Iterator[str]:
    for line in EXPRESSIONS.strip().splitlines():
        yield from line.split(" | ")


def same(want: Any, got: Any) -> bool:
    if type(want) is not type(got):
        return False
    if isinstance(want, tuple | list):
        return len(want) == len(got) and all(map(same, want, got))
    if isinstance(want, np.ndarray | np.generic):
        close = want.dtype == got.dtype and want.shape == got.shape
        return close and np.allclose(
            want, got, rtol=1e-6 if want.dtype == "float32" else 1e-12, equal_nan=True
        )
    if isinstance(want, torch.Tensor):
        return want.dtype == got.dtype and torch.allclose(want, got, equal_nan=True)
    return bool(want == got or want != want)


def program_of(expression: str, arguments: str) -> Any:
    names: dict[str, Any] = {"np": np, "torch": torch, "supple": supple}
    exec(PROGRAM.format(ARGUMENTS[arguments], expression), names)
    return names["program"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("expression", [*expressions()])
def test_as_eager(expression: str, backend: str) -> None:
    check(program_of(expression, "arrays"), backend, KINDS)


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("arguments", [*ARGUMENTS][1:])
@pytest.mark.parametrize("expression", [*expressions()])
def test_fewer_dimensions(expression: str, arguments: str) -> None:
    check(program_of(expression, arguments), "eager", ("float32", "bool"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", [*expressions()])
def test_errors_of_numpy_are_what_its_state_says(expression: str) -> None:
    program = program_of(expression, "arrays")
    compiled = supple.compile(program, backend="eager")
    arguments = (SPECIAL.astype("float32"), np.zeros((2, 3), "float32"), torch.zeros(2, 3))
    for mode in ("ignore", "raise", "ignore"):
        with np.errstate(all=mode):
            assert same(program(*arguments), compiled(*arguments)), mode


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("arguments", ARGUMENTS)
@pytest.mark.parametrize("method", METHODS)
def test_a_break_between_a_method_and_its_call(method: str, arguments: str) -> None:
    expression = f"a.{method}(*(supple.graph_break() or ()))"
    check(program_of(expression, arguments), "eager", ("float32", "int64"))


def check(program: Any, backend: str, kinds: tuple[str, ...]) -> None:
    for kind in kinds:
        supple.reset()
        compiled = supple.compile(program, backend=backend)
        for values in (VALUES, VALUES + 1) + ((SPECIAL,) if kind.startswith("float") else ()):
            with warnings.catch_warnings():
                a = values.astype(kind)
                arguments = (a, (values * 2 - 1).astype(kind), torch.from_numpy(values.astype("float32")))
                assert same(program(*arguments), compiled(*arguments)), kind


WRITES = {
    "through a tensor": "torch.from_numpy(a).add_(1); return a, a.sum()",
    "through the array": "b = t.numpy(); t.mul_(2); return b, b[0, 1], t",
    "after a number was read": "b = a[0, 1]; torch.from_numpy(a).add_(1); return b, a",
    "in place": "a += 1; return a * 2",
    "of an item": "c = a * 2; c[0] = 5; return c, a",
    "into out": "np.add(a, a, a); return a * 2",
    "into a named out": "np.add(a, a, out=a); return a * 2",
    "of a view": "c = a.T; torch.from_numpy(c).zero_(); return c, a",
    "of a copy": "c = a.copy(); torch.from_numpy(c).zero_(); return c, a",
    "places": "return np.where(a > 1)",
    "objects": "b = t.numpy(); return b is b, t.numpy() is b, torch.from_numpy(b) is t, a.T is a",
    "shapes": "return a.reshape(a.shape[1], -1) @ t.numpy().astype(a.dtype).reshape(a.shape[0], a.shape[1])",
}
BODY = """
def program(a, t):
    {}
"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("body", WRITES)
def test_writes_and_objects_are_as_eager(body: str, backend: str) -> None:
    names: dict[str, Any] = {"np": np, "torch": torch}
    exec(BODY.format(WRITES[body]), names)
    program = names["program"]
    compiled = supple.compile(program, backend=backend)
    for rows in (2, 3, 5, 2):
        seen: list[Any] = []
        for run in (program, compiled):
            a, t = np.arange(rows * 3.0).reshape(rows, 3), torch.arange(rows * 3.0).reshape(rows, 3)
            seen.append((run(a, t), a, t))
        assert same(*seen)


PARTS = (
    ": | 1:3 | ::-1 | ::2 | 0 | -1 | t | None | ... | I | L | [0, 2] | [t, 0] | I2 | I8 | z | s | True | B"
    " | b0 | [] | [[0, 1], [1, 2]] | [True, False, True, False] | (0, 1) | 1.0 | I + 1 | places.numpy()"
    " | mask.numpy() | small.numpy() | one.numpy()"
).split(" | ")
"""What an index of an array may have: NumPy has arrays of integers of any type, and integers beside them."""
CONSTANTS = {
    "np": np,
    "I": np.array([1, 2]),
    "L": [0, 2],
    "I2": np.array([[0], [1]]),
    "I8": np.array([1, 0], dtype=np.int8),
    "z": np.array(1),
    "s": np.int64(2),
    "B": np.array([True, False, True, False]),
    "b0": np.array(True),
}
INDEXED = """
def program(x, t, places, mask, small, one):
    a = x.numpy() * 2
    {}
"""
USES = {
    "read": "return a[{}] + 1",
    "written": "a[{0}] = 7; a[{0}] += 1; return a",
    "viewed": "b = a[{}]; b += 1; return a",
}


def indexed(key: str, use: str) -> Any:
    names: dict[str, Any] = dict(CONSTANTS)
    exec(INDEXED.format(USES[use].format(key)), names)
    return names["program"]


def told(run: Any, t: int) -> Any:
    """Return what a program gives for the array and an integer, or the class of what it raises."""
    x = torch.arange(4 * 5 * 6.0).reshape(4, 5, 6)
    others = torch.tensor([1, 0]), torch.tensor([True, False, False, True])
    try:
        return run(x, t, *others, torch.tensor([1, 0], dtype=torch.uint8), torch.tensor(1)), x
    except Exception as error:  # its class is eager's
        return type(error)


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("first", PARTS)
def test_an_index_is_numpys(first: str, use: str) -> None:
    keys = [first, f"{first},", *(f"{first}, {second}" for second in PARTS)]
    keys += [
        f"{first}, {second}, {third}" for second in (":", "...", "0") for third in ("I", "[]", "0", "None")
    ]
    for key in keys:
        supple.reset()
        program = indexed(key, use)
        compiled = supple.compile(program, backend="eager")
        for t in (2, 1, 3):
            assert same(told(program, t), told(compiled, t)), (key, t)


def test_arrays_of_any_size_are_one_graph() -> None:
    compiled = supple.compile(lambda a: np.sin(a).sum(axis=0) * a.shape[0], fullgraph=True, dynamic=True)
    for rows in (3, 5, 1, 7):
        a = np.linspace(0, 1, rows * 2).reshape(rows, 2)
        assert np.allclose(compiled(a), np.sin(a).sum(axis=0) * rows)
    stats: Any = supple.stats()
    assert stats["graphs"] == 1


@pytest.mark.parametrize("dynamic", [None, True, False])
def test_the_memory_of_no_elements_has_no_strides(dynamic: bool | None) -> None:
    compiled = supple.compile(lambda t: torch.from_numpy(t.numpy()), fullgraph=True, dynamic=dynamic)
    for rows in (0, 4, 2, 0, 3):
        t = torch.ones(rows, 3)
        assert compiled(t).stride() == torch.from_numpy(t.numpy()).stride()


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("outside", [True, False])
def test_the_mode_of_inference_is_that_of_the_tensor_that_is_made(
    outside: bool, inside: bool, backend: str
) -> None:
    def program(t: torch.Tensor, a: Any) -> Any:
        b = (t + 1).numpy()
        with torch.inference_mode(inside):
            made = [torch.from_numpy(t.numpy()), torch.from_numpy(a), torch.from_numpy(b + 1)]
        return [*made, torch.from_numpy(b)]

    compiled = supple.compile(program, backend=backend)
    for is_inference in (True, False, True):
        with torch.inference_mode(is_inference):
            t = torch.ones(3)
        with torch.inference_mode(outside):
            expected, found = program(t, np.ones(3)), compiled(t, np.ones(3))
        assert same(expected, found)
        assert [one.is_inference() for one in found] == [one.is_inference() for one in expected]


SHARED = {
    "a tensor's": "u, v = t, torch.from_numpy(t.numpy())",
    "an array's": "u, v = torch.from_numpy(a), torch.from_numpy(a)",
    "a view's": "u, v = torch.from_numpy(a), torch.from_numpy(a.reshape(-1))",
    "a new array's": "b = a * 2; u, v = torch.from_numpy(b), torch.from_numpy(b)",
    "one tensor's": "u = torch.from_numpy(a); v = u",
    "another array's": "u, v = torch.from_numpy(a * 2), torch.from_numpy(a * 2)",
}
OVERLAPS = """
def program(a, t):
    {}
    try:
        torch.add(u[1:], 1, out=v[:-1])
        v[1:].mul_(u[1:])
    except RuntimeError as error:
        return str(error)
    return u, v, u * 2
"""


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("body", SHARED)
def test_tensors_of_one_memory_have_storages_of_their_own(body: str, backend: str) -> None:
    names: dict[str, Any] = {"np": np, "torch": torch}
    exec(OVERLAPS.format(SHARED[body]), names)
    program = names["program"]
    compiled = supple.compile(program, backend=backend)
    for count in (4, 3, 5):
        expected, found = (
            (run(a, t), a, t)
            for run in (program, compiled)
            for a, t in [(np.arange(float(count)), torch.arange(float(count)))]
        )
        assert same(expected, found)


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_memory_that_an_array_has_seen_keeps_its_size(backend: str) -> None:
    def program(t: torch.Tensor) -> Any:
        doubled = t.numpy() * 2
        try:
            torch.add(torch.ones(4), 1, out=t)
        except RuntimeError as error:
            return doubled, str(error)
        return doubled, t

    compiled = supple.compile(program, backend=backend)
    for _ in range(2):
        assert same(program(torch.ones(1)), compiled(torch.ones(1)))


def test_numbers_that_are_arguments_are_no_constants() -> None:
    compiled = supple.compile(lambda x, scale: x * scale, backend="eager")
    for number in range(12):
        x, scale = torch.ones(3), np.float32(number)
        assert torch.equal(compiled(x, scale), x * scale)
    stats: Any = supple.stats()
    assert stats["graphs"] <= 1
