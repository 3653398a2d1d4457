"""`verify`: what is planted in the compiler is found and named; what is right is not blamed."""

import copy
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch.nn import functional as F

import supple
from supple import autograd, native
from supple.autograd.lowering import Lowering, decompositions
from supple.base import events
from supple.base.config import from_environment
from supple.codegen.cpu import inline, reduce, scalars, vector
from supple.codegen.cpu.convert import cast
from supple.diagnose import guilty
from supple.diagnose.precision import Double, copied
from supple.errors import VerificationError
from supple.expr import const, substitute
from supple.ir.dtypes import DType
from supple.ir.graph.nodes import Var
from supple.ir.loops.nodes import Load, Loop
from supple.ir.program import Scheduled
from tests.training.test_gradients import CASES

Patch = pytest.MonkeyPatch
X = torch.linspace(-2, 2, 19 * 3).view(19, 3)
Y = torch.linspace(1, 5, 19 * 3).view(19, 3).sin()


def exp(patch: Patch) -> None:
    """A wrong constant: 2 % off in one coefficient of the polynomial of exp."""
    patch.setattr(inline, "EXP", (inline.EXP[0], inline.EXP[1] * 1.02, *inline.EXP[2:]))


def tail(patch: Patch) -> None:
    """Off by one in the mask of a tail: the last element is not written."""
    right = vector._remaining
    patch.setattr(
        vector,
        "_remaining",
        lambda block, base, end, count: right(
            block, base, block.code.op("sub", end, vector.constant(DType.I64, 1)), count
        ),
    )


def scalar(name: str, wrong: Callable[..., Any]) -> Callable[[Patch], None]:
    """A wrong rule of a scalar operation, given (right rule, tools, dtype, operands)."""

    def plant(patch: Patch) -> None:
        right = scalars.scalars[name]
        rule: Any = lambda s, dtype, args: wrong(right, s, dtype, args)  # noqa: E731
        patch.setitem(scalars.scalars._rules, name, rule)

    return plant


def through_bf16(right: Any, s: Any, dtype: DType, args: Any) -> Any:
    return cast(s.code, s.features, cast(s.code, s.features, right(s, dtype, args), DType.BF16), dtype)


def start(patch: Patch) -> None:
    """A maximum that starts with 0."""
    patch.setitem(reduce.KINDS, "max", replace(reduce.KINDS["max"], neutral=lambda dtype: 0))


def stride(patch: Patch) -> None:
    """A load that takes one axis for broadcast."""
    right = native.schedule

    def without(statement: Any, axis: Any) -> Any:
        if isinstance(statement, Load):
            return replace(statement, index=tuple(substitute(e, {axis: const(0)}) for e in statement.index))
        if isinstance(statement, Loop):
            return replace(statement, body=tuple(without(one, axis) for one in statement.body))
        return statement

    def wrong(*args: Any, **kwargs: Any) -> Scheduled:
        made = right(*args, **kwargs)
        nests = [replace(n, body=tuple(without(one, n.axes[0].symbol) for one in n.body)) for n in made.nests]
        return replace(made, nests=tuple(nests))

    patch.setattr(native, "schedule", wrong)


def gradient(patch: Patch) -> None:
    """A wrong gradient rule: tanh' = 1 - y."""
    rules: Any = decompositions._rules

    def wrong(b: Lowering, grad: Var, result: Var) -> Var:
        return b.mul(grad, b.sub(1.0, result))

    patch.setitem(rules, "aten.tanh_backward.default", wrong)


def split_as(change: Callable[[autograd.Split], autograd.Split]) -> Callable[[Patch], None]:
    def plant(patch: Patch) -> None:
        right = autograd.split
        patch.setattr(autograd, "split", lambda *args, **kwargs: change(right(*args, **kwargs)))

    return plant


def not_written(split: autograd.Split) -> autograd.Split:
    return replace(split, convention=replace(split.convention, mutations=()))


def swapped(split: autograd.Split) -> autograd.Split:
    """What is kept for backward, in the wrong order."""
    assert split.backward is not None
    backs = tuple(replace(back, inputs=back.inputs[::-1]) for back in split.backward.parts.backs)
    parts = replace(split.backward.parts, backs=backs)
    return replace(split, backward=replace(split.backward, parts=parts))


@dataclass(frozen=True)
class Planted:
    """A fault, a program that meets it, the output and operator that are to be named, and the stage."""

    plant: Callable[[Patch], None]
    program: Callable[..., Any]
    output: str
    operator: str
    stage: str
    args: tuple[torch.Tensor, ...] = (X, Y)


def written(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    x.mul_(y)
    return y + 1, y[0]


def weight(values: torch.Tensor = X) -> torch.Tensor:
    return values.clone().requires_grad_()


PLANTED = {
    "wrong constant in exp": Planted(
        exp, lambda x, y: (x + y).exp() * y, "output 0", "`exp`", "in code generation"
    ),
    "mask tail": Planted(tail, lambda x, y: x.sin() * y, "output 0", "`sin`", "in code generation"),
    "dropped term": Planted(
        scalar("add", lambda right, s, dtype, args: args[0]),
        lambda x, y: (x * y, (x + y).cos()),
        "output 0 (`cos`)",
        "`add`",
        "in code generation",
    ),
    "swapped operands": Planted(
        scalar("sub", lambda right, s, dtype, args: right(s, dtype, args[::-1])),
        lambda x, y: (x - y) * x,
        "output 0",
        "`sub`",
        "in code generation",
    ),
    "initial value": Planted(
        start, lambda x, y: (x - 9).amax(-1).exp(), "output 0", "`amax`", "in code generation"
    ),
    "stride of a load": Planted(stride, lambda x, y: x * y, "output 0", "`mul`", "in schedule"),
    "gradient rule": Planted(
        gradient,
        lambda x, y: (x * y).tanh(),
        "the gradient of L['x']",
        "`tanh`",
        "in decompositions",
        (weight(), Y),
    ),
    "write left out": Planted(
        split_as(not_written),
        written,
        "L['x'] after the call",
        "Tensor.mul_",
        "when forward and backward are traced",
    ),
    "rounding": Planted(
        scalar("mul", through_bf16), lambda x, y: (x + y) * y, "output 0", "`mul`", "in code generation"
    ),
    "kept for backward": Planted(
        split_as(swapped),
        lambda x, y: x * y,
        "the gradient of L['x']",
        "`mul`",
        "when forward and backward are traced",
        (weight(), weight(Y)),
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found_and_named(name: str, monkeypatch: Patch, tmp_path: Path) -> None:  # DBG10
    case = PLANTED[name]
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    compiled = supple.compile(case.program, fullgraph=True, verify="first")
    compiled(*case.args)
    supple.reset()
    case.plant(monkeypatch)
    before = [arg.detach().clone() for arg in case.args]
    with pytest.raises(VerificationError) as caught:
        supple.compile(case.program, fullgraph=True, verify="first")(*case.args)
    error = caught.value
    assert error.what.startswith(f"Compiled code differs from eager in {case.output}"), error
    assert case.operator in error.why, error
    assert case.stage in error.why, error
    assert error.stack[-1].filename == __file__
    assert all(map(torch.equal, before, case.args)), "nothing was changed"
    [script] = tmp_path.glob("supple-verify-*/*.py")
    with pytest.raises(VerificationError):  # DBG09
        runpy.run_path(str(script))
    monkeypatch.undo()
    supple.reset()
    runpy.run_path(str(script))


def notes_of(run: Callable[[], object]) -> list[str]:
    """Return what verification says during a run."""
    notes: list[str] = []

    def listen(event: events.Event) -> None:
        if isinstance(event, events.GraphVerified):
            notes.append(event.text)

    stop = events.listen(listen, reads_texts=False)
    try:
        run()
    finally:
        stop()
    return notes


def in_place(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x.add_(y)
    x[1:3] = y[2:4]
    return x.view(-1)[3:]


def modes(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    with torch.no_grad():
        scale = (x * y).abs().mean()
    with torch.autocast("cpu"):
        z = x @ y.t()
    return z.float() / scale, scale


def cancelling(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x - x.mean()).sum() + ((x + 1000) - 1000 - x).sum()


def unrolled(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    for _ in range(30):
        x = torch.tanh(x * 1.5 + y) - 0.1 * x
    return x


def statistics(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return x.var(0), x.std(), x.mean(1), x.norm(), torch.logsumexp(x, 0), F.layer_norm(x, (3,), y[0], y[1])


def aliases(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    z = x * 2
    return z, z[0], x.t(), y, z.detach()


def halves(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return x.half().float(), x.to(torch.bfloat16) + y.to(torch.bfloat16), (x * 3).int(), x.double() / 3


PROGRAMS: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "pointwise": lambda x, y: (x.sin() * y + 1).sigmoid(),
    "activations": lambda x, y: F.gelu(x) + F.silu(y) + F.elu(x) + F.softplus(y) + F.mish(x),
    "softmax": lambda x, y: F.softmax(x, -1) * F.log_softmax(y, 0),
    "statistics": statistics,
    "cancellation": cancelling,
    "chaos": unrolled,
    "matrices": lambda x, y: F.linear(x, y[:4]) @ F.linear(y, x[:4]).t(),
    "attention": lambda x, y: F.scaled_dot_product_attention(x[None, None], y[None, None], y[None, None]),
    "convolution": lambda x, y: F.conv1d(x.t()[None], y[:9].view(3, 3, 3)),
    "pooling": lambda x, y: F.max_pool1d(x.t(), 3) + F.avg_pool1d(y.t(), 3),
    "embedding": lambda x, y: F.embedding((x.abs() * 4).long(), y),
    "loss": lambda x, y: F.cross_entropy(x, torch.arange(19) % 3) + F.mse_loss(x, y),
    "sorting": lambda x, y: (x.topk(2).values, y.argmax(-1), x.sort(0).values, y.cumsum(0)),
    "integers": lambda x, y: ((x * 9).long() // 2, x > y, (x > 0) & (y > 0), (y * 9).int() % 5),
    "not numbers": lambda x, y: (x.log(), 1 / (x - x), (y - 2).sqrt() + 1, x / 0),
    "views": lambda x, y: (x.t(), x[::2], x.unflatten(0, (1, 19)), y.expand(2, 19, 3), x.flip(0)),
    "writes": in_place,
    "aliases": aliases,
    "types": halves,
    "modes": modes,
    "masks": lambda x, y: torch.where(x > y, x, y).masked_fill(y > 0.5, float("-inf")).amax(0),
    "indices": lambda x, y: x[torch.arange(19).flip(0)] + y.index_select(0, torch.arange(19)),
    "joined": lambda x, y: torch.cat([x, y]).chunk(2, 1)[0] + torch.stack([x, y]).sum(),
    "powers": lambda x, y: x.abs() ** 1.7 + y**3 + torch.rsqrt(x.abs() + 1) + x.exp2(),
    "padding": lambda x, y: F.pad(x, (1, 2), value=3.0).cumsum(-1),
    "random": lambda x, y: F.dropout(x) + torch.randn_like(y) * torch.rand(3),
    "fresh memory": lambda x, y: (torch.empty_like(x).fill_(2).mul_(x), y.new_empty(3, 3).copy_(y[:3])),
    "uninitialised": lambda x, y: (torch.empty_like(x), x + y, torch.empty(3, dtype=torch.long)),
    "ties": lambda x, y: ((x * y * 3).round().argmax(0), (x / 3 * 3).floor(), (x + 0.1 - 0.1).ceil().int()),
    "no data": lambda x, y: torch.empty_like(x, device="meta") + 1,
    "momentum": lambda x, y: (x.detach().clone().mul_(0.9).add_(y, alpha=0.1).sub_(x * 0.9),),
    "overflow": lambda x, y: ((x * 1000).exp(), (y * 300) ** 2 - (y * 300) ** 2),
    "complex": lambda x, y: torch.view_as_real(torch.fft.rfft(x.float(), dim=0) * 2),
    "numbers": lambda x, y: (x.sum().item() / 3, y * x.detach().mean().item(), x.shape[0] / 7),
    "nothing but a view": lambda x, y: x[1:],
}
"""With the models and the types below, more than 40 programs that are right."""


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_right_programs_are_not_blamed(name: str, dtype: torch.dtype) -> None:
    program = PROGRAMS[name]
    needs_grad = name != "writes"
    x, y = (item.clone().to(dtype).requires_grad_(needs_grad) for item in (X, Y))
    compiled = supple.compile(program, verify="always")
    for grad in (True, False):
        with torch.set_grad_enabled(grad):
            notes = notes_of(lambda: compiled(x, y))
        assert notes
        assert all(note.startswith("compared") for note in notes), notes


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_right_models_are_not_blamed(name: str, dtype: torch.dtype) -> None:
    make, args = CASES[name]
    model = make().to(dtype)
    given = [arg.to(dtype) if arg.is_floating_point() else arg for arg in args]
    compiled = supple.compile(model, fullgraph=True, verify="always", dynamic=name == "perceptron")
    notes = notes_of(lambda: [compiled(*given).sum().backward() for _ in range(2)])
    assert len(notes) == 2
    assert all(note.startswith("compared") for note in notes), notes
    assert any(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize("is_training", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_right_transformers_are_not_blamed(name: str, dtype: torch.dtype, is_training: bool) -> None:
    model, batch = tiny(name)
    model = model.to(dtype).train(is_training)
    compiled = supple.compile(model, fullgraph=True, verify="always")
    with torch.set_grad_enabled(is_training):
        [note] = notes_of(lambda: compiled(**batch))
    assert note.startswith("compared"), note


def tiny(name: str) -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    ids = torch.randint(0, 50, (2, 8))
    if name == "gpt2":
        config = transformers.GPT2Config(
            vocab_size=50, n_positions=8, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=1
        )
        return transformers.GPT2LMHeadModel(config), {"input_ids": ids, "labels": ids}
    sizes: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2}
    sizes |= {"num_attention_heads": 2, "vocab_size": 50}
    made = transformers.BertForSequenceClassification(transformers.BertConfig(**sizes))
    return made, {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": torch.tensor([0, 1])}


def off_by_one(graph: torch.fx.GraphModule, examples: list[Any]) -> Callable[..., Any]:
    """A backend that is wrong from its third call on."""
    calls = [0]

    def run(*args: Any) -> list[Any]:
        calls[0] += 1
        return [result + (calls[0] > 2) for result in graph(*args)]

    return run


def test_each_call_is_verified_or_the_first_or_a_part() -> None:
    x = torch.ones(3)
    assert calls_verified("first", 5) == [0]
    assert calls_verified("always", 5) == [0, 1, 2, 3, 4]
    some = calls_verified(0.25, 100)
    assert 10 < len(some) < 45
    assert calls_verified(0.25, 100) == some
    first = supple.compile(lambda x: x.sin(), backend=off_by_one, verify="first")
    for _ in range(4):
        first(x)
    always = supple.compile(lambda x: x.sin(), backend=off_by_one, verify="always")
    always(x)
    with pytest.raises(VerificationError, match="output 0"):
        always(x)


def calls_verified(verify: str | float, count: int) -> list[int]:
    """Return which of some calls are verified."""
    supple.reset()
    compiled = supple.compile(lambda x: x + 1, backend="aot_eager", verify=verify)
    return [number for number in range(count) if notes_of(lambda: compiled(X))]


def test_nothing_is_loaded_where_nobody_asks() -> None:
    program = "import torch, supple, sys; supple.compile(torch.nn.SiLU())(torch.ones(3)); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "supple.native" in ran.stdout.split()
    assert "supple.diagnose.verify" not in ran.stdout.split()


def test_the_configuration_asks_for_it() -> None:
    with supple.config.patch(verify="first"):
        assert len(notes_of(lambda: supple.compile(lambda x: x.sin())(X))) == 1
    assert from_environment({"SUPPLE_VERIFY": "0.01"}).verify == "0.01"


@pytest.mark.parametrize("wrong", ["second", "0", 1.5, -0.5, "nan"])
def test_what_is_no_share_is_refused(wrong: str | float) -> None:
    with pytest.raises(supple.errors.OptionsError, match="verify is 'first', 'always' or a part"):
        supple.compile(torch.sin, verify=wrong)
    with pytest.raises(supple.errors.OptionsError, match="verify_action is 'raise' or 'log'"):
        supple.compile(torch.sin, options={"verify_action": "cry"})


def test_a_difference_can_be_logged_and_the_graph_runs_eager(
    caplog: pytest.LogCaptureFixture, monkeypatch: Patch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    gradient(monkeypatch)
    x = torch.ones(3, requires_grad=True)
    compiled = supple.compile(lambda x: x.tanh(), verify="first", options={"verify_action": "log"})
    for _ in range(2):
        x.grad = None
        compiled(x).sum().backward()
        assert x.grad is not None
        torch.testing.assert_close(x.grad, 1 - x.tanh() ** 2)
    [record] = caplog.records
    assert "the gradient of" in record.getMessage()
    assert "runs eager from now on" in record.getMessage()


def test_the_smallest_part_of_a_model_is_named(monkeypatch: Patch, tmp_path: Path) -> None:  # DBG06, DBG10
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    model, batch = tiny("gpt2")
    gradient(monkeypatch)
    with pytest.raises(VerificationError) as caught:
        supple.compile(model.eval(), fullgraph=True, verify="first")(**batch)
    assert "It begins at `tanh` = torch.tanh. The fault is in decompositions." in caught.value.why
    assert caught.value.stack[-1].filename.endswith("activations.py")
    [script] = tmp_path.rglob("*.py")
    assert script.read_text(encoding="utf-8").count(" = torch.") == 2  # the operator, and torch.load
    [inputs] = tmp_path.rglob("*.pt")
    assert len(torch.load(inputs)) == 1


def test_a_written_script_ends_in_the_same_error(tmp_path: Path, monkeypatch: Patch) -> None:  # DBG09
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(VerificationError):
        supple.compile(lambda x: x.sin() + 1, backend=rounded, verify="first")(X)
    [script] = tmp_path.rglob("*.py")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    ran = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, env=environment, cwd=tmp_path
    )
    assert ran.returncode == 1
    assert "VerificationError: Compiled code differs from eager in output 0 (`sin`)" in ran.stderr


def rounded(graph: torch.fx.GraphModule, examples: list[Any]) -> Callable[..., Any]:
    """A backend that rounds results to bfloat16."""
    return lambda *args: [result.bfloat16().float() for result in graph(*args)]


def test_verification_leaves_nothing_behind() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3), torch.nn.Dropout())
    seen: list[int] = []
    for parameter in model.parameters():
        parameter.register_hook(lambda grad: seen.append(1))
    plain = copy.deepcopy(model)
    compiled = supple.compile(model, verify="always")
    results: list[torch.Tensor] = []
    for one in (plain, compiled):
        torch.manual_seed(0)
        results.append(one(X))
        results.append(torch.rand(2))
    assert torch.equal(results[1], results[3])
    torch.testing.assert_close(results[0], results[2])
    assert all(parameter.grad is None for parameter in model.parameters())
    for left, right in zip(plain.buffers(), model.buffers(), strict=True):
        torch.testing.assert_close(left, right)
    assert seen == []


def test_a_difference_is_told_also_where_its_cause_is_not_found(monkeypatch: Patch) -> None:
    def fails(*_: object) -> None:
        msg = "no disk"
        raise OSError(msg)

    for name in ("write_script", "smallest"):
        monkeypatch.setattr(guilty, name, fails)
        with pytest.raises(VerificationError) as caught:
            supple.compile(lambda x: x.sin(), backend=rounded, verify="first")(X)
        assert caught.value.do.startswith("Run the program again")
    assert "Its cause was not found (OSError('no disk'))." in caught.value.why


def test_other_random_numbers_are_not_compared() -> None:
    def drawing(graph: torch.fx.GraphModule, examples: list[Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            torch.rand(1)
            return graph(*args)

        return run

    compiled = supple.compile(F.dropout, backend=drawing, verify="always")
    notes = notes_of(lambda: [compiled(X) for _ in range(2)])
    assert notes == ["not compared: compiled code draws other random numbers than eager"]


def test_a_view_that_may_not_be_written_is_no_obstacle() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        row = x[1]
        row.mul_(2)
        return row

    x = torch.ones(3, 3, requires_grad=True)
    compiled = supple.compile(program, verify="always")
    with torch.no_grad():
        [note] = notes_of(lambda: compiled(x))
    assert note.startswith("compared")


def test_sizes_that_vary_are_verified(monkeypatch: Patch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    compiled = supple.compile(lambda x: (x.exp() + x.shape[0]).sum(0), dynamic=True, verify="always")
    for n in (3, 19, 1, 0):
        [note] = notes_of(lambda: compiled(X[:n]))  # noqa: B023
        assert note.startswith("compared")
    supple.reset()
    exp(monkeypatch)
    with pytest.raises(VerificationError) as caught:
        compiled(X)
    assert "It begins at `exp` = Tensor.exp. The fault is in code generation." in caught.value.why


def test_copies_keep_strides_offsets_and_what_shares_memory() -> None:
    base = torch.arange(12.0)
    inputs = [base[2:8].view(2, 3).t(), base[4:], 3, base.view(torch.int32), torch.nn.Parameter(base)]
    items = copied(inputs).items
    for left, right in zip(inputs, items, strict=True):
        assert type(left) is type(right)
        if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
            assert torch.equal(left, right)
            assert left.stride() == right.stride()
            assert left.storage_offset() == right.storage_offset()
            assert left.data_ptr() != right.data_ptr()
    first, second = items[:2]
    assert isinstance(first, torch.Tensor)
    assert isinstance(second, torch.Tensor)
    first.fill_(7)
    assert second[:4].tolist() == [7.0] * 4
    assert base[4] == 4


def test_numbers_in_double_are_those_of_a_program_in_double() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return (x.bfloat16().float() @ x.t()).softmax(-1) + torch.zeros(19, dtype=torch.float32)

    with Double(torch.float32):
        torch.testing.assert_close(program(X.double()), (X.double() @ X.double().t()).softmax(-1))
    with Double(torch.float32):
        torch.manual_seed(3)
        drawn = torch.rand(4), F.dropout(X.double())
    torch.manual_seed(3)
    torch.testing.assert_close(drawn, (torch.rand(4).double(), F.dropout(X).double()))
