"""What an event costs: blows, impacts on constraints, and ticks, compared with a loop around SciPy.

Four motions are interrupted every second or more often: a ball that a change of its speed throws
back; a pendulum on constraints that hits a wall, which is imposed for the instant; a controller
that ticks by a discrete time, and one that ticks by a sine. The table shows processor microseconds
per event, steps included, after preparation. This is the difference between two horizons, the
longer of which has ten times as many events. The loop calls `solve_ivp` (DOP853, rtol 1e-10) with a
terminal event, changes the state and starts again; for the pendulum it integrates the angle.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

import daesolve as ds
from daesolve.core.posing.events import Direction
from daesolve.core.preparation.preparing import prepare
from daesolve.core.preparation.request import Request
from daesolve.core.run.integration.simulation import simulate

from .common.conditions import conditions, from_json
from .common.ending import end
from .common.options import add_json, add_read, add_repeats, add_update, options
from .common.tables import markdown
from .common.timing import processor_seconds

MARK = "events"
GRAVITY, WALL, PERIOD = 9.81, 0.2, 0.1
LONGER = 10
"""Ratio of the longer horizon to the shorter one."""


@dataclass(frozen=True)
class Case:
    """A motion with events.

    Parameters
    ----------
    system, start, until
        The system in daesolve, its start, and the shorter horizon, s.
    by_loop
        (horizon) -> the number of events that the loop around SciPy found.
    """

    system: ds.MechanicalSystem
    start: Mapping[str, float]
    until: float
    by_loop: Callable[[float], int]


@dataclass(frozen=True)
class Measurement:
    """The cost of an event.

    Parameters
    ----------
    case, method
        The motion and the method.
    seconds, steps
        Processor seconds per event, and steps per event (NaN for the loop).
    """

    case: str
    method: str
    seconds: float
    steps: float


def _loop(
    rate: Callable[[float, np.ndarray], Any],
    guard: Callable[[float, np.ndarray], float],
    direction: float,
    change: Callable[[np.ndarray], np.ndarray],
    start: list[float],
) -> Callable[[float], int]:
    """Return a function that integrates up to a guard, changes the state, and starts again."""

    def event(time: float, y: np.ndarray) -> float:
        return guard(time, y)

    event.terminal, event.direction = True, direction  # pyright: ignore[reportFunctionMemberAccess]

    def run(until: float) -> int:
        time, y, count = 0.0, np.array(start), 0
        while True:
            found = solve_ivp(
                rate, (time, until), y, "DOP853", events=event, rtol=1e-10, atol=1e-12
            )
            if found.status != 1:
                return count
            time, y, count = float(found.t[-1]), change(found.y[:, -1]), count + 1

    return run


def _ball() -> Case:
    q = ds.coordinates(y="m")
    blow = ds.Event("blow", q.y, ds.FALLING, ds.Reset({"y_dot": -q.dot.y}))
    system = ds.MechanicalSystem(q, kinetic=q.dot.y**2 / 2, potential=GRAVITY * q.y, events=[blow])
    by_loop = _loop(
        lambda t, y: (y[1], -GRAVITY),
        lambda t, y: y[0],
        -1.0,
        lambda y: np.array([0.0, -y[1]]),
        [1.0, 0.0],
    )
    return Case(system, {"y": 1.0, "y_dot": 0.0}, 20.0, by_loop)


def _wall() -> Case:
    q = ds.coordinates(x="m", y="m")
    wall = ds.Holonomic("wall", q.x + WALL)
    hit = ds.Event("hit", q.x + WALL, ds.FALLING, ds.Reset(impose=[wall], restitution=1.0))
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=GRAVITY * q.y,
        goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - 1.0)],
        events=[hit],
    )
    start = {"x": 0.5, "y": -math.sqrt(0.75), "x_dot": 0.0, "y_dot": 0.0}
    by_loop = _loop(
        lambda t, y: (y[1], -GRAVITY * math.sin(y[0])),
        lambda t, y: math.sin(y[0]) + WALL,
        -1.0,
        lambda y: np.array([y[0], -y[1]]),
        [math.asin(0.5), 0.0],
    )
    return Case(system, start, 20.0, by_loop)


def _controlled(guard: ca.SX, direction: Direction, d: Any, change: dict[str, Any]) -> Case:
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(
        q,
        discrete=d,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        force={"x": d.u},
        events=[ds.Event("tick", guard, direction, ds.Reset({"u": -q.x} | change))],
    )

    def by_loop(until: float) -> int:
        y, count = np.array([1.0, 0.0, 0.0]), 0
        while (count + 1) * PERIOD < until:
            span = (count * PERIOD, (count + 1) * PERIOD)
            found = solve_ivp(
                lambda t, y: (y[1], y[2] - y[0], 0.0), span, y, "DOP853", rtol=1e-10, atol=1e-12
            )
            y, count = found.y[:, -1], count + 1
            y[2] = -y[0]
        return count

    return Case(system, {"x": 1.0, "x_dot": 0.0}, 6.05, by_loop)


def _tick() -> Case:
    d = ds.discrete(u=0.0, following=PERIOD)
    change = {"following": d.following + PERIOD}
    return _controlled(ds.time - d.following, ds.RISING, d, change)


def _sine() -> Case:
    guard = ca.sin(math.pi / PERIOD * ds.time)
    return _controlled(guard, ds.EITHER, ds.discrete(u=0.0), {})


CASES = {"blow": _ball, "wall": _wall, "tick": _tick, "tick of a sine": _sine}


def measured(name: str, repeats: int) -> list[Measurement]:
    """Measure a case by daesolve's engines and by the loop."""
    case = CASES[name]()
    found: list[Measurement] = []
    solvers = {"taylor": ds.Taylor(), "dop853": ds.Dop853(1e-10, 1e-12)}
    for method, solver in solvers.items():
        made = [
            prepare(case.system, Request(until, initial=case.start, solver=solver))
            for until in (case.until, LONGER * case.until)
        ]
        best, runs = [math.inf, math.inf], [simulate(one, [one.until]) for one in made]
        for _ in range(repeats):
            for k, one in enumerate(made):
                taken, runs[k] = processor_seconds(lambda one=one: simulate(one, [one.until]))
                best[k] = min(best[k], taken)
        events = runs[1].event_count - runs[0].event_count
        steps = runs[1].statistics.steps - runs[0].statistics.steps
        found.append(Measurement(name, method, (best[1] - best[0]) / events, steps / events))
    taken, count = processor_seconds(lambda: case.by_loop(case.until))
    found.append(Measurement(name, "loop around SciPy", taken / count, math.nan))
    return found


def table(found: list[Measurement]) -> str:
    """Return a row for each case: a column for each method, and the loop over Taylor's method."""
    names = list(dict.fromkeys(one.method for one in found))
    rows: list[list[str]] = []
    for case in dict.fromkeys(one.case for one in found):
        here = {one.method: one for one in found if one.case == case}
        costs = [f"{1e6 * here[name].seconds:.0f}" for name in names]
        ratio = here[names[-1]].seconds / here[names[0]].seconds
        rows.append([case, f"{here[names[0]].steps:.1f}", *costs, f"{ratio:.0f}"])
    costs = [f"{name}, µs" for name in names]
    return markdown(["case", "steps of taylor", *costs, "the loop over taylor"], rows)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = options("benchmarks.events", __doc__)
    parser.add_argument("--case", choices=CASES, action="append", help="repeatable (all)")
    add_repeats(parser, 5, "runs of daesolve; the shortest time counts")
    add_read(parser)
    add_json(parser)
    add_update(parser, MARK, "docs/how-to/events.md")
    return parser


def main() -> None:
    """Measure or read the results, print them, and write the requested files."""
    given = parser().parse_args()
    if given.read:
        known, found = from_json(given.read.read_text(), Measurement)
    else:
        known = conditions("scipy", "numba")
        chosen = [case for case in CASES if not given.case or case in given.case]
        found = [one for case in chosen for one in measured(case, given.repeats)]
    end(given, known, found, table(found), MARK)


if __name__ == "__main__":
    main()
