"""How reactions, acting on rounding residuals, change the energy of a hoop that is only measured.

The curve exerts a force along its normal, which acts on the gap velocity, and along its tangent,
which acts on the slip. With exact constraints it does no work, but the constraints hold only to
rounding. With N and T along n and t,

    E' = N (v . n) + T (v . t + r theta'),

apart from other rounding on the way. The program measures `rolling-wheel hoop` with the kernel, for
several feedback rates: the power of the energy, found from its values, and the power of the
reactions on the residuals. Both come from samples evaluated in extended precision. Means are taken
over 50 equal parts of the run, with their standard errors; "rest" is the mean of the difference in
each part, and "together" the correlation of the two over the parts.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import daesolve as ds
from benchmarks.common.conditions import conditions
from benchmarks.common.ending import end
from benchmarks.common.options import above_zero, add_json, add_until, add_update, options
from benchmarks.common.tables import markdown

MARK = "work"
RATES = (3.0, 10.0, 30.0)
INTERVAL = 0.02
"""s between samples."""
PARTS = 50


@dataclass(frozen=True)
class Power:
    """Powers in a run, W: their means over its parts, and the standard errors.

    Parameters
    ----------
    rate
        Rate of the feedback, 1/s.
    energy, reactions, rest
        From the energy, from the reactions on the residuals, and the difference.
    together
        The correlation of the first two.
    """

    rate: float
    energy: tuple[float, float]
    reactions: tuple[float, float]
    rest: tuple[float, float]
    together: float


def power(rate: float, until: float) -> Power:
    """Roll for a time, s, with a feedback rate, 1/s."""
    case = ds.problem("rolling-wheel").case("hoop")
    run = case.solve(
        until,
        formulation=ds.Feedback(rate=rate, rates={"energy": None}),
        solver=ds.Taylor(engine="kernel"),
        at=ds.every(INTERVAL),
    )
    names = ("alpha", "x_dot", "z_dot", "theta_dot", "z", "reaction_x", "reaction_z")
    alpha, v_x, v_z, spin, height, r_x, r_z = (np.asarray(run[n], np.longdouble) for n in names)
    cos, sin = np.cos(alpha), np.sin(alpha)
    mass, radius, gravity = (
        np.longdouble(case.values[name]) for name in ("wheel_mass", "radius", "gravity")
    )
    along = (r_x * cos + r_z * sin) * (v_x * cos + v_z * sin)
    across = (r_z * cos - r_x * sin) * (v_z * cos - v_x * sin + radius * spin)
    energy = mass * ((v_x**2 + v_z**2 + (radius * spin) ** 2) / 2 + gravity * height)
    gained = _means(np.diff(energy) / np.diff(np.asarray(run.times, np.longdouble)))
    worked = _means((along + across)[1:])
    return Power(
        rate,
        _with_error(gained),
        _with_error(worked),
        _with_error(gained - worked),
        float(np.corrcoef(gained, worked)[0, 1]),
    )


def _means(values: np.ndarray) -> np.ndarray:
    return np.array([float(part.mean()) for part in np.array_split(values, PARTS)])


def _with_error(values: np.ndarray) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(len(values))


def table(found: Sequence[Power]) -> str:
    """Return a row for each rate."""
    return markdown(
        ["rate, 1/s", "from the energy, W", "of the reactions, W", "rest, W", "together"],
        [
            [
                f"{one.rate:g}",
                *(f"({m:+.1e}) ± {e:.1e}" for m, e in (one.energy, one.reactions, one.rest)),
                f"{one.together:.2f}",
            ]
            for one in found
        ],
    )


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.long_horizon.work", __doc__)
    help_text = f"1/s; repeatable ({', '.join(f'{rate:g}' for rate in RATES)})"
    parser.add_argument("--rate", type=above_zero, action="append", metavar="RATE", help=help_text)
    add_until(parser, 1e5)
    add_json(parser)
    add_update(parser, MARK, "docs/benchmarks/long-horizon.md")
    return parser


def main() -> None:
    """Measure, print the results, and write the requested files."""
    given = parser().parse_args()
    known = conditions("numba")
    found = [power(rate, given.until) for rate in given.rate or RATES]
    end(given, known, found, table(found), MARK)


if __name__ == "__main__":
    main()
