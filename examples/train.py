"""Train a small Hugging Face GPT-2 beside eager: how many graphs, the losses, and what each step took.

    python examples/train.py --steps 40 --layers 2

Exits with 1 when a loss differs from eager's by more than 1e-4 of it, or when there were more than 3 graphs.
"""

import argparse
import sys
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from transformers import GPT2Config, GPT2LMHeadModel, logging

import supple

TOLERANCE = 1e-4


@dataclass
class Trained:
    """What training gave."""

    losses: list[float]
    seconds: list[float]


def arguments() -> argparse.Namespace:
    """Return the parsed command line."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=64)
    return parser.parse_args()


def trained(given: argparse.Namespace, *, is_compiled: bool) -> Trained:
    """Train a model from the same weights on the same batches: AdamW, a warm-up, clipped gradients."""
    torch.manual_seed(0)
    config = GPT2Config(
        n_layer=given.layers, n_embd=128, n_head=2, vocab_size=500, bos_token_id=0, eos_token_id=1,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip
    model: Any = GPT2LMHeadModel(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    warm_up = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10))
    batches = torch.randint(0, 500, (4, given.batch, given.tokens))
    run, update = model, optimizer.step
    if is_compiled:
        run, update = supple.compile(model), supple.compile(optimizer.step)
    result = Trained([], [])
    for place in range(given.steps):
        start = perf_counter()
        loss = run(input_ids=batches[place % 4], labels=batches[place % 4]).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        update()
        optimizer.zero_grad()
        warm_up.step()
        result.losses.append(loss.item())
        result.seconds.append(perf_counter() - start)
    return result


def main() -> int:
    """Train both ways; return 0 when the losses are eager's and three graphs were enough."""
    given = arguments()
    logging.set_verbosity_error()
    eager, compiled = trained(given, is_compiled=False), trained(given, is_compiled=True)
    graphs = supple.stats()["graphs"]
    table = Table(title=f"GPT-2 of {given.layers} layers, {graphs} graphs")
    for column in ("step", "loss", "eager's", "ms", "eager's ms"):
        table.add_column(column, justify="right")
    for place in sorted({0, 1, 2, given.steps // 2, given.steps - 1} & set(range(given.steps))):
        row = (compiled.losses[place], eager.losses[place])
        times = (compiled.seconds[place] * 1e3, eager.seconds[place] * 1e3)
        table.add_row(str(place), *(f"{value:.4f}" for value in row), *(f"{value:.1f}" for value in times))
    Console().print(table)
    pairs = zip(compiled.losses, eager.losses, strict=True)
    is_same = all(abs(mine - theirs) <= TOLERANCE * abs(theirs) for mine, theirs in pairs)
    return 0 if is_same and isinstance(graphs, int) and graphs <= 3 else 1


if __name__ == "__main__":
    sys.exit(main())
