"""Four closed loops for 1000 s, each from one file, by daesolve and by MuJoCo.

The files lie next to this program: a loop in space closed by a `connect`, an arm with a welded
hand, angles geared by polynomials, and a planar linkage in space with one redundant row. None of
them dissipates energy. The gap is that between the two ends (m, or rad if an angle is held):
MuJoCo's at 1000 samples, daesolve's over every accepted step, its other joints included. The drift
of the energy is relative to the largest kinetic energy. MuJoCo uses the step of the file and its
Runge-Kutta method, once with its standard constraints and once with constraints as hard as the step
allows. Seconds are wall-clock seconds of the integration.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common.conditions import conditions, from_json
from benchmarks.common.ending import end
from benchmarks.common.options import add_json, add_read, add_until, add_update, options
from benchmarks.common.tables import markdown
from daesolve.multibody.referee import hardened, refereed

MARK = "referee"
LOOPS = ("connect", "weld", "joint", "redundant")


@dataclass(frozen=True)
class Measurement:
    """One run of a file.

    Parameters
    ----------
    loop, by
        The file, and the program with its setting.
    gap, drift
        The largest gap, m or rad, and the drift of the energy over the largest kinetic energy.
    apart
        Time until a body is a millimetre from its position in daesolve, s; None if it never is.
    seconds
        Seconds of the integration.
    """

    loop: str
    by: str
    gap: float
    drift: float
    apart: float | None
    seconds: float


def measured(loop: str, until: float) -> list[Measurement]:
    """Run a file by both programs."""
    file = Path(__file__).with_name(f"{loop}.xml")
    found = refereed(file, until, halvings=0, samples=1000, contacts="none")
    verdict = found.verdict
    gap = max(size for size, _ in verdict.goals.values())
    energy = found.own.trajectory.drift["energy"].max_relative
    drift = max(size for size in (verdict.own.drift, energy) if size is not None)
    rows = [Measurement(loop, "daesolve", gap, drift, None, verdict.own.seconds)]
    standard = verdict.others[0], verdict.divergences[0]
    for by, (other, apart) in (
        ("MuJoCo", standard), ("MuJoCo, as hard as it goes", hardened(found))
    ):  # fmt: skip
        gap = max(size for size in (other.gap, other.turn) if size is not None)
        lost = math.nan if other.drift is None else other.drift
        rows.append(Measurement(loop, by, gap, lost, apart.leaves(1e-3), other.seconds))
    return rows


def table(found: list[Measurement]) -> str:
    """Return all measurements."""
    rows = [
        [
            one.loop,
            one.by,
            f"{one.gap:.1e}",
            f"{one.drift:.1e}",
            "" if one.apart is None else f"{one.apart:g}",
            f"{one.seconds:.1f}",
        ]
        for one in found
    ]
    heads = ["loop", "by", "gap, m or rad", "energy drift", "1 mm apart after, s", "seconds"]
    return markdown(heads, rows)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.referee", __doc__)
    parser.add_argument("--loop", choices=LOOPS, action="append", help="repeatable (all)")
    add_until(parser, 1000.0)
    add_read(parser)
    add_json(parser)
    add_update(parser, MARK, "docs/benchmarks/models.md")
    return parser


def main() -> None:
    """Measure or read the results, print them, and write the requested files."""
    given = parser().parse_args()
    if given.read:
        known, found = from_json(given.read.read_text(), Measurement)
    else:
        known = conditions("mujoco")
        found = [row for loop in given.loop or LOOPS for row in measured(loop, given.until)]
    end(given, known, found, table(found), MARK)


if __name__ == "__main__":
    main()
