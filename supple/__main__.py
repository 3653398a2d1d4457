"""`python -m supple`: what the compiler can tell without a program."""

import platform
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TextIO

import click
import torch
from rich.console import Console
from rich.markdown import Markdown
from rich.markup import escape
from rich.table import Table

from supple.base.config import config
from supple.codegen.cpu.target import host_cpu
from supple.diagnose.log import CHANNELS
from supple.diagnose.pages import REASONS, page
from supple.diagnose.similar import similar_graphs
from supple.shapes.profile import load, path_of, text
from supple.torch_private import KNOWN, MISSING


@click.group()
@click.version_option(package_name="supple")
def main() -> None:
    """supple, a just-in-time compiler for PyTorch programs.

    In a program: `supple.compile(f)`. To see what it does: SUPPLE_LOGS=graph_breaks,recompiles,guards,fusion.
    """


@main.command()
def codes() -> None:
    """Print each reason for which a function runs eager: code, what, why, what to do."""
    table = Table("code", "what", "why", "do", show_lines=True)
    for reason in REASONS.values():
        table.add_row(*map(escape, (reason.code, reason.what, reason.why, reason.do)))
    Console().print(table)


@main.command()
@click.argument("chosen", metavar="CODE...", nargs=-1, required=True, type=click.Choice(list(REASONS)))
def explain(chosen: tuple[str, ...]) -> None:
    """Print the page of a CODE, such as B104: what it means, where, why, what to do, an example."""
    for code in chosen:
        Console().print(Markdown(page(code)))


@main.command()
def channels() -> None:
    """Print the log channels that SUPPLE_LOGS and `supple.set_logs` take."""
    for name, rules in sorted(CHANNELS.items()):
        told = dict.fromkeys((kind.__doc__ or "").splitlines()[0] for kind, _, _ in rules)
        click.echo(f"{name:18} {' '.join(told)}")


@main.command()
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=False)
def profile(path: Path | None) -> None:
    """Print what varied in earlier runs: of the profile that programs use now, or of a file."""
    found = path or path_of(config.now())
    click.echo(text(load(found)) if found else "no profile: SUPPLE_PROFILE=0")


@main.command()
@click.argument("log", type=click.File())
def similar(log: TextIO) -> None:
    """Print groups of graphs, in a LOG made with SUPPLE_LOGS=graph_code, that differ in sizes alone."""
    for group in similar_graphs(log.read()):
        click.echo(str(group))


@main.command()
def env() -> None:
    """Print the versions and the processor that supple finds, and what this version of torch lacks."""
    first, last = (".".join(map(str, one)) for one in (KNOWN[0], KNOWN[-1]))
    cpu = host_cpu()
    table = Table("what", "found", show_header=False)
    table.add_row("supple", metadata.version("supple"))
    table.add_row("Python", f"{platform.python_implementation()} {platform.python_version()}")
    table.add_row("torch", f"{torch.__version__}; supple is made for {first} to {last}")
    for name in ("llvmlite", "numpy", "triton"):
        table.add_row(name, metadata.version(name) if find_spec(name) else "not installed")
    table.add_row("kernels are for", f"{cpu.name} ({cpu.triple}), vectors of {cpu.vector_bytes} bytes")
    table.add_row("what this torch lacks", escape("\n".join(map(str, MISSING)) or "nothing"))
    Console().print(table)


if __name__ == "__main__":
    main()
