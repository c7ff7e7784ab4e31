"""The measurements of the chain as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.common.figures import cheapest_as_exact
from benchmarks.common.tables import folded, markdown

from .measuring import PACKAGES, Measurement

OWN = PACKAGES[0]


def exponent(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """Return the slope of the costs over the sizes, log-log, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def _growth(
    found: Sequence[Measurement], cost: Callable[[Measurement], float], unit: str, factor: float
) -> str:
    """Tabulate a cost by the number of rods, with its exponents."""
    useful = [one for one in found if one.per_step and not one.reason]
    sizes = sorted({one.rods for one in useful})
    rows: list[list[str]] = []
    for key in dict.fromkeys((one.package, one.method, one.accuracy) for one in useful):
        own = {one.rods: cost(one) for one in useful
               if (one.package, one.method, one.accuracy) == key}  # fmt: skip
        cells = [f"{factor * own[n]:.3g}" if n in own else "-" for n in sizes]
        slope = f"{exponent([*own], [*own.values()]):.2f}" if len(own) > 1 else "-"
        rows.append([key[0], f"{key[1]}, {key[2]}", *cells, slope])
    return markdown(["package", "method", *[f"N = {n}, {unit}" for n in sizes], "exponent"], rows)


def _accuracy(found: Sequence[Measurement], rods: int) -> str:
    """Tabulate error and cost of each setting on one chain, the most accurate first."""
    useful = [one for one in found if one.rods == rods and not one.reason]
    own = [one for one in useful if one.package == OWN]
    rows: list[list[str]] = []
    for one in sorted(useful, key=lambda one: (PACKAGES.index(one.package), one.error)):
        cheapest = cheapest_as_exact(own, one.error)
        ratio = f"{one.seconds / cheapest.seconds:.3g}" if cheapest else "none as exact"
        figures = [f"{number:.1e}" for number in (one.error, one.gap, one.energy)]
        cost = [str(one.steps), f"{one.seconds:.3g}", ratio, f"{one.setup_seconds:.3g}"]
        rows.append([one.package, f"{one.method}, {one.accuracy}", *figures, *cost])
    heads = ["package", "method", "error, m", "gap, m", "energy", "steps", "s", "s / daesolve"]
    return folded(f"The table: {len(rows)} settings", markdown([*heads, "setup, s"], rows))


def _failures(found: Sequence[Measurement]) -> list[str]:
    return [
        f"- {one.package}, N = {one.rods}: {' '.join((one.method, one.accuracy)).strip()}"
        f"{': ' if one.method else ''}{one.reason}"
        for one in found
        if one.reason
    ]


def tables(found: Sequence[Measurement]) -> str:
    """Return cost by size, and accuracy on some chains."""
    sizes = sorted({one.rods for one in found})
    chosen = sorted({sizes[0], sizes[len(sizes) // 2], sizes[-1]})
    parts = ["### Cost of a step", _growth(found, lambda m: m.step_seconds, "ms", 1e3)]
    parts += ["### Setup", _growth(found, lambda m: m.setup_seconds, "s", 1.0)]
    for rods in chosen:
        parts += [f"### Accuracy, {rods} rods", _accuracy(found, rods)]
    failures = _failures(found)
    if failures:
        parts += ["Without a result:", "\n".join(failures)]
    return "\n\n".join(parts)
