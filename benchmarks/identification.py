"""How often intervals of an identification contain the truth, and what it costs.

Andrews' squeezing mechanism is measured again and again: a hundred rows of two angles, with new
noise each time. Its stiffness and its torque are identified from one segment. Of 95 % intervals,
95 % contain the truth, as far as the number of repetitions tells. Seconds are processor seconds.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

import numpy as np

import daesolve as ds

from .common.conditions import conditions, from_json
from .common.ending import end
from .common.options import add_json, add_read, add_update, options, whole
from .common.tables import markdown
from .common.timing import processor_seconds

MARK = "identification"
TRUTH = {"c0": 4530.0, "mom": 0.033}
NOISE = 1e-3
SEED = 2026


@dataclass(frozen=True)
class Measurement:
    """How often the interval of an unknown contained the truth."""

    unknown: str
    repetitions: int
    inside: int
    seconds: float


def coverage(repetitions: int) -> list[Measurement]:
    """Identify Andrews' mechanism from new noise again and again."""
    case = ds.problem("andrews").case()
    times = np.linspace(3e-4, 0.03, 100)
    run = case.solve(0.03, at=times)
    generator = np.random.default_rng(SEED)
    inside = dict.fromkeys(TRUTH, 0)

    def repeat() -> None:
        for _ in range(repetitions):
            noisy = {
                name: run[name] + NOISE * generator.standard_normal(len(times))
                for name in ("beta", "gamma")
            }
            data = {"time": times, **noisy}
            found = ds.identify(case, data, list(TRUTH), noise=NOISE, segments=1)
            for name, value in TRUTH.items():
                low, high = found.interval(name)
                inside[name] += low <= value <= high

    seconds, _ = processor_seconds(repeat)
    return [Measurement(name, repetitions, count, seconds) for name, count in inside.items()]


def coverage_table(found: list[Measurement]) -> str:
    """Return the results as a table."""
    rows = [
        [
            one.unknown,
            f"{one.inside} of {one.repetitions}",
            f"{100 * one.inside / one.repetitions:.1f} %",
            f"{100 * math.sqrt(0.95 * 0.05 / one.repetitions):.1f} %",
            f"{one.seconds / one.repetitions:.2f}",
        ]
        for one in found
    ]
    heads = ["unknown", "inside", "share", "its standard deviation", "s each"]
    return markdown(heads, rows)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.identification", __doc__)
    parser.add_argument(
        "--repetitions", type=whole, default=1000, metavar="N", help="of the noise (%(default)s)"
    )
    add_read(parser)
    add_json(parser)
    add_update(parser, MARK, "docs/benchmarks/gradients.md")
    return parser


def main() -> None:
    """Measure or read the results, print them, and write the requested files."""
    given = parser().parse_args()
    if given.read:
        known, found = from_json(given.read.read_text(), Measurement)
    else:
        known = conditions("casadi", "scipy")
        found = coverage(given.repetitions)
    end(given, known, found, coverage_table(found), MARK)


if __name__ == "__main__":
    main()
