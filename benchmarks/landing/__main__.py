"""A ball, a hopper and a quadruped that land, against MuJoCo with steps that go to zero.

Each is a model file that both programs read. The ball is thrown, slides and rolls, as a closed form
says. The hopper has springs and dampers in its two joints and moves ahead. The quadruped is the
case `stands` of the problem of this name; in MuJoCo its motors are springs and dampers of the
joints, which act alike. MuJoCo's contacts are as hard as its documentation allows: the time
constant is twice the step, the impedance 0.9999, `impratio` 1e4, with elliptic cones. Errors are
those of the mass centre of the ball, the torso or the trunk, and of the loads of the feet at the
end: of the ball against the closed form, of the others against daesolve, which solves them by
events to rounding. Seconds are processor seconds of a run that repeats one in the same process.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.common.conditions import conditions, from_json
from benchmarks.common.ending import end
from benchmarks.common.options import add_json, add_read, add_update, options
from benchmarks.common.tables import markdown

from .measuring import STEPS, Landing, measured, scenes

MARK = "landing"
NAMES = ("ball", "hopper", "quadruped")
HEADS = (
    "scene", "by", "step, ms", "seconds", "error, m", "at the end, m", "of loads, N", "sinks in, m",
)  # fmt: skip


def table(found: list[Landing]) -> str:
    """Return all measurements."""
    rows = [
        [
            one.scene,
            one.by,
            "" if one.step is None else f"{1e3 * one.step:g}",
            f"{one.seconds:.3f}",
            *(_size(size) for size in (one.error, one.error_at_end, one.error_of_loads)),
            f"{one.sinks_in:.0e}",
        ]
        for one in found
    ]
    return markdown(HEADS, rows)


def _size(value: float) -> str:
    """Return a size; nothing of what is the reference itself."""
    return f"{value:.1e}" if value else ""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.landing", __doc__)
    parser.add_argument("--scene", choices=NAMES, action="append", help="repeatable (all)")
    parser.add_argument(
        "--halvings", type=int, default=len(STEPS) - 1, metavar="N",
        help="how often MuJoCo's step of 1 ms is halved (%(default)s)",
    )  # fmt: skip
    add_read(parser)
    add_json(parser)
    add_update(parser, MARK, "docs/benchmarks/models.md")
    return parser


def main() -> None:
    """Measure or read the results, print them, and write the requested files."""
    given = parser().parse_args()
    if given.read:
        known, found = from_json(given.read.read_text(), Landing)
    else:
        known, found = conditions("mujoco"), list[Landing]()
        steps = tuple(STEPS[0] / 2**halving for halving in range(given.halvings + 1))
        for scene in scenes():
            if scene.name in (given.scene or NAMES):
                found += measured(scene, steps)
                print(f"{scene.name}: measured", file=sys.stderr)
    end(given, known, found, table(found), MARK)


if __name__ == "__main__":
    main()
