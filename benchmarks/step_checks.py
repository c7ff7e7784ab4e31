"""What it costs to check steps against the equations, and to glance at a run.

Each case alternates between runs with and without the checks, and without the glance that holds
each run against what was posed, with no samples on the way. The shortest processor time of the
repeats counts and includes preparation; the ratios compare the run with the others.
Equations with terms that a step may not see (roots, tanh) are checked within each step; for all
others the checks cost only the derivative at the ends of Taylor's steps.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from unittest.mock import patch

import casadi as ca

import daesolve as ds
from daesolve.core.run.integration import simulation
from daesolve.core.solvers.step_checks import StepChecks

from .common.conditions import as_json, conditions
from .common.options import above_zero, add_json, add_repeats, options
from .common.tables import aligned
from .common.timing import in_turn, processor_seconds

HORIZONS = {
    "hoop": ("rolling-wheel", "hoop", 2000.0),
    "wheel with pendulum": ("rolling-wheel", "pendulum", 1000.0),
    "omni-wheel vehicle": ("omni-rolling", "twist", 1000.0),
    "chain of pendulums": ("pendulum-chain", "swing", 200.0),
    "rattleback": ("rattleback", "reversal", 50.0),
    "pads with friction": ("three-supports", "reference", 10.0),
}
"""The cases: the problem, its case, and s."""
FRICTION, FRICTION_UNTIL = "friction of tanh", 2000.0


@dataclass(frozen=True)
class Measurement:
    """A case with and without the checks.

    Parameters
    ----------
    name, steps
        The case, and its number of steps.
    checked, unchecked, unglanced
        Processor seconds: with all, without checks of steps, and without a glance at the run.
    """

    name: str
    steps: int
    checked: float
    unchecked: float
    unglanced: float


def friction(until: float) -> ds.Trajectory:
    """Run an oscillator with smooth friction."""
    q = ds.coordinates(x="m")
    dragged = {"x": -0.01 * ca.tanh(q.dot.x / 0.3) + 0.1 * ca.sin(ds.time)}
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2, force=dragged)
    return ds.solve(system, until, {"x": 1.0}, at=[until])


def run_of(name: str, until: float | None) -> Callable[[], ds.Trajectory]:
    """Return a function that runs a case."""
    if name == FRICTION:
        return lambda: friction(until or FRICTION_UNTIL)
    problem, case, usual = HORIZONS[name]
    bound, end = ds.problem(problem).case(case), until or usual
    return lambda: bound.solve(end, at=[end])


def measured(name: str, run: Callable[[], ds.Trajectory], repeats: int) -> Measurement:
    """Alternate runs of a case with and without the checks."""

    def unchecked() -> ds.Trajectory:
        with patch.object(StepChecks, "doubt", return_value=None):
            return run()

    def unglanced() -> ds.Trajectory:
        with patch.object(simulation, "contradicted", return_value=None):
            return run()

    steps = run().statistics.steps
    ways = {
        "checked": lambda: processor_seconds(run)[0],
        "unchecked": lambda: processor_seconds(unchecked)[0],
        "unglanced": lambda: processor_seconds(unglanced)[0],
    }
    least = {way: min(spent) for way, spent in in_turn(ways, repeats).items()}
    return Measurement(name, steps, **least)


def table(found: list[Measurement]) -> str:
    """Return all measurements."""
    rows = [
        [
            one.name,
            str(one.steps),
            f"{one.checked:.3f}",
            f"{one.unchecked:.3f}",
            f"{one.checked / one.unchecked:.3f}",
            f"{one.unglanced:.3f}",
            f"{one.checked / one.unglanced:.3f}",
        ]
        for one in found
    ]
    head = ["case", "steps", "checked, s", "unchecked, s", "ratio", "no glance, s", "ratio"]
    return aligned(head, rows)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.step_checks", __doc__)
    names = [FRICTION, *HORIZONS]
    parser.add_argument("--case", choices=names, action="append", help="repeatable (all)")
    help_text = "simulated time, s (default: that of each case)"
    parser.add_argument("--until", type=above_zero, metavar="S", help=help_text)
    add_repeats(parser, 5, "runs of each case, in turn")
    add_json(parser)
    return parser


def main() -> None:
    """Measure and print."""
    given = parser().parse_args()
    known = conditions("heyoka")
    chosen = [name for name in (FRICTION, *HORIZONS) if not given.case or name in given.case]
    found = [measured(name, run_of(name, given.until), given.repeats) for name in chosen]
    print(f"{known}\n\n{table(found)}")
    if given.json:
        given.json.write_text(as_json(known, found))


if __name__ == "__main__":
    main()
