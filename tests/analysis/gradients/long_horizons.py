"""What derivatives of a pendulum take over horizons that grow a thousandfold.

python -m tests.analysis.gradients.long_horizons [--update docs/benchmarks/gradients.md]

For each horizon it prints the processor time of a run, of derivatives carried forwards, of a
gradient, and of a Hessian times a direction, by gravity, and the largest memory that each of them
had at once beside what was there before. Each is measured in a second call, which builds nothing.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable

import daesolve as ds
from benchmarks.common.conditions import conditions
from benchmarks.common.options import add_update
from benchmarks.common.tables import aligned, markdown, update
from tests.systems import pendulum

MARK = "long horizons"
HORIZONS = (2.0, 20.0, 200.0, 2000.0)
PLACE = ds.analysis.Objective(end=lambda now: now["x"])


def measured(call: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds of processor time of a call, and its largest memory in MB."""
    call()
    begun = time.process_time()
    call()
    seconds = time.process_time() - begun
    tracemalloc.start()
    try:
        call()
        return seconds, tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def row_of(until: float) -> list[str]:
    """Return the row of a horizon."""
    system, start, by = pendulum(), {"x": -0.9}, ["gravity"]
    options = {"guess": {"y": -0.1}}
    calls: list[Callable[[], object]] = [
        lambda: ds.solve(system, until, start, **options),
        lambda: ds.analysis.sensitivity(system, until, start, by=by, **options),
        lambda: ds.analysis.gradient(system, PLACE, until, start, by=by, **options),
        lambda: ds.analysis.hessian_product(
            system, PLACE, until, start, by=by, along=[1.0], **options
        ),
    ]
    figures = [f"{seconds:.3g} s, {memory:.2g} MB" for seconds, memory in map(measured, calls)]
    return [f"{until:g} s", *figures]


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    asked = argparse.ArgumentParser()
    add_update(asked, MARK, "docs/benchmarks/gradients.md")
    return asked


def main() -> None:
    """Print the table."""
    asked = parser().parse_args()
    heads = ["horizon", "run", "sensitivity", "gradient", "Hessian times a direction"]
    rows = [row_of(until) for until in HORIZONS]
    print(aligned(heads, rows))
    if asked.update:
        update(asked.update, MARK, f"{conditions('casadi')}\n\n{markdown(heads, rows)}")


if __name__ == "__main__":
    main()
