"""Figures, and the tables that compare them."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from rich.table import Table


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number. The name reads kind/case/target."""

    name: str
    unit: str
    value: float
    commit: str
    machine: str


def by_case(figures: list[Figure], kind: str) -> dict[str, dict[str, float]]:
    """Return {case without its module: {target: value}} for one kind of figure."""
    found: dict[str, dict[str, float]] = {}
    for figure in figures:
        this, case, target = figure.name.split("/")
        if this == kind:
            found.setdefault(case.rpartition(".")[2], {})[target] = figure.value
    return found


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean; 1 for no values."""
    return prod(values) ** (1 / len(values)) if values else 1.0


def start(title: str, columns: list[str]) -> Table:
    """Return an empty table with a column for the case and right-aligned columns for numbers."""
    table = Table(title=title)
    table.add_column("case", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def cold_table(cases: dict[str, dict[str, float]]) -> Table:
    """Return CPU seconds to the first result, and the opponent's as multiples of ours."""
    table = start(
        "Cold, to the first result (CPU seconds, fresh process, empty caches)",
        ["supple", "torch.compile", "ratio", "supple frontend", "torch frontend", "ratio"],
    )
    for case, t in cases.items():
        if len(t) == 4:
            full, front = t["torch"] / t["supple"], t["torch-frontend"] / t["supple-frontend"]
            row = [f"{t['supple']:.2f}", f"{t['torch']:.2f}", f"{full:.1f}x"]
            row += [f"{t['supple-frontend']:.2f}", f"{t['torch-frontend']:.2f}", f"{front:.1f}x"]
            table.add_row(case, *row)
    return table


def steady_table(cases: dict[str, dict[str, float]]) -> Table:
    """Return microseconds per call and speed-ups over eager, with their geometric means."""
    columns = ["eager", "supple", "torch.compile", "supple / eager", "torch / eager", "supple above eager"]
    table = start("Steady state (microseconds per call, medians of turns)", columns)
    for case, t in cases.items():
        speedups = [f"{t['eager'] / t[target]:.2f}x" for target in ("supple", "torch")]
        times = [f"{t[target]:.1f}" for target in ("eager", "supple", "torch")]
        table.add_row(case, *times, *speedups, f"{t['supple'] - t['eager']:+.1f}")
    means = [
        f"{geometric_mean([t['eager'] / t[target] for t in cases.values()]):.2f}x"
        for target in ("supple", "torch")
    ]
    table.add_row("geometric mean", "", "", "", *means, "")
    return table


def bandwidth_table(cases: dict[str, dict[str, float]]) -> Table:
    """Return bytes moved per second, and the share of what `torch.clone` reaches."""
    columns = ["eager", "supple", "torch.compile", "clone", "supple / clone"]
    table = start("Bandwidth (GB/s, counting the bytes a fused kernel moves)", columns)
    for case, t in cases.items():
        values = [f"{t[target]:.1f}" for target in ("eager", "supple", "torch", "clone")]
        table.add_row(case, *values, f"{t['supple'] / t['clone']:.0%}")
    return table


def tables(figures: list[Figure]) -> Iterator[Table]:
    """Yield the tables for which there are figures."""
    makers = {"cold_cpu": cold_table, "steady": steady_table, "bandwidth": bandwidth_table}
    for kind, make in makers.items():
        cases = by_case(figures, kind)
        if cases:
            yield make(cases)
