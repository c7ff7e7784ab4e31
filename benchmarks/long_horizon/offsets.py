"""Where feedback holds a pendulum, and how that changes its period.

In every step, rounding of the rates pushes the constraint and the energy off a little; the offset
grows until feedback balances the push. A rod that is longer by dl and an energy higher by dE change
the frequency of a swing with an amplitude of a right angle by -dl / 2l - (d ln K / dm) dE / 2gl,
where K is the quarter period of the elliptic functions and m = 1/2 is their parameter. The program
measures the Cartesian pendulum of `benchmarks.long_horizon` with the kernel, for several rates: the
mean of both offsets over samples, the error of the phase that follows from them, and the error of
the phase at the end against elliptic functions.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

import daesolve as ds
from benchmarks.common.conditions import conditions
from benchmarks.common.ending import end
from benchmarks.common.options import above_zero, add_json, add_until, add_update, options
from benchmarks.common.tables import markdown
from tests.reference.pendulum import pendulum_states

from .measuring import GRAVITY, LAST, moments, pendulum

MARK = "offsets"
RATES = (1.0, 3.0, 10.0, 30.0)
SAMPLES = 10
"""A second."""


@dataclass(frozen=True)
class Offset:
    """A run.

    Parameters
    ----------
    rate
        Rate of the feedback, 1/s.
    length, energy
        The mean of l - 1, m, and of E, J.
    expected, found
        The relative error of the phase: from the offsets, and from the positions at the end.
    """

    rate: float
    length: float
    energy: float
    expected: float
    found: float


def offset(rate: float, until: float) -> Offset:
    """Swing for a time, s, with a feedback rate, 1/s."""
    start = {"x": 1.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0}
    run = ds.solve(
        pendulum(),
        until,
        start,
        formulation=ds.Feedback(rate=rate),
        solver=ds.Taylor(engine="kernel"),
        at=np.append(np.arange(0.0, until - 1.0, 1 / SAMPLES), moments(until)),
    )
    x, y, u, v = (np.asarray(run[name], np.longdouble) for name in ("x", "y", "x_dot", "y_dot"))
    length = float(np.mean(x * x + y * y - 1)) / 2
    energy = float(np.mean((u * u + v * v) / 2 + np.longdouble(GRAVITY) * y))
    quarter, other = float(special.ellipk(0.5)), float(special.ellipe(0.5))
    slope = 2 * (other - quarter / 2) / quarter  # d ln K / dm at m = 1/2
    expected = -length / 2 - slope * energy / (2 * GRAVITY)
    last = np.array([run[name][-LAST:] for name in ("x", "y")])
    known = pendulum_states(moments(until), 1.0, 0.0)
    place, velocity = (np.array([known[f"{axis}{dot}"] for axis in "xy"]) for dot in ("", "_dot"))
    ahead = np.sum((last - place) * velocity, axis=0) / np.sum(velocity**2, axis=0)
    return Offset(rate, length, energy, expected, float(np.median(ahead)) / until)


def table(found: Sequence[Offset]) -> str:
    """Return a row for each rate."""
    return markdown(
        ["rate, 1/s", "length, m", "energy, J", "phase expected", "phase found"],
        [
            [
                f"{one.rate:g}",
                *(f"{v:+.1e}" for v in (one.length, one.energy, one.expected, one.found)),
            ]
            for one in found
        ],
    )


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.long_horizon.offsets", __doc__)
    help_text = f"1/s; repeatable ({', '.join(f'{rate:g}' for rate in RATES)})"
    parser.add_argument("--rate", type=above_zero, action="append", metavar="RATE", help=help_text)
    add_until(parser, 2e4)
    add_json(parser)
    add_update(parser, MARK, "docs/benchmarks/long-horizon.md")
    return parser


def main() -> None:
    """Measure, print the results, and write the requested files."""
    given = parser().parse_args()
    known = conditions("numba")
    found = [offset(rate, given.until) for rate in given.rate or RATES]
    end(given, known, found, table(found), MARK)


if __name__ == "__main__":
    main()
