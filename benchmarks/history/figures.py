"""The ten figures: what each runs, and the loop to which its time is a ratio.

A figure is fixed as its loop is: change none, but add one under a new name. Figures use public
names alone, so that earlier commits can be measured as well. What must be prepared anew is posed
with a constant that no earlier one had, by which it misses every cache.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import daesolve as ds

_anew = count(1)


@dataclass(frozen=True)
class Figure:
    """What is measured.

    Parameters
    ----------
    title
        What it measures, for tables.
    loop
        The loop of `loops.LOOPS` that does similar work.
    ready
        Returns the function to time; the first call of that function prepares and compiles.
    """

    title: str
    loop: str
    ready: Callable[[], Callable[[], object]]


def completed(run: ds.Trajectory) -> None:
    """Check that a run is complete: one that ended early was not faster.

    Raises
    ------
    RuntimeError
        It ended early.
    """
    if run.outcome is not ds.Outcome.COMPLETED:
        raise RuntimeError(f"the run ended early: {run.message}")


def _case(
    problem: str, case: str, until: float, solver: Callable[[], Any] = ds.Taylor, **values: Any
) -> Callable[[], Callable[[], None]]:
    """Return what runs a case; only its end is sampled."""

    def ready() -> Callable[[], None]:
        bound = ds.problem(problem).case(case, **values)
        return lambda: completed(bound.solve(until, at=[until], solver=solver()))

    return ready


def _pendulum(factor: float = 1.0) -> Any:
    """Pose a pendulum on a rod."""
    q = ds.coordinates(x="m", y="m")
    return ds.MechanicalSystem(
        q,
        kinetic=factor * (q.dot.x**2 + q.dot.y**2) / 2,
        potential=factor * 9.81 * q.y,
        goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - 1.0)],
    )


START = {"x": 0.6, "y": -0.8, "x_dot": 0.0, "y_dot": 0.0}


def _ticks() -> Callable[[], None]:
    """Return 600 ticks of a controller."""
    q, d = ds.coordinates(x="m"), ds.discrete(u=0.0, following=0.1)
    change = {"u": -q.x, "following": d.following + 0.1}
    system = ds.MechanicalSystem(
        q,
        discrete=d,
        kinetic=q.dot.x**2 / 2,
        potential=q.x**2 / 2,
        force={"x": d.u},
        events=[ds.Event("tick", ds.time - d.following, ds.RISING, ds.Reset(change))],
    )
    return lambda: completed(ds.solve(system, 60.05, {"x": 1.0, "x_dot": 0.0}, at=[60.05]))


def _posed() -> None:
    """Pose, prepare and hardly run a pendulum that was not met before."""
    system = _pendulum(1.0 + 1e-6 * next(_anew))
    completed(ds.solve(system, 1e-3, START, at=[1e-3]))


def _assembled() -> None:
    """Assemble, prepare and hardly run a chain of six rods that was not met before."""
    mass, ground = 1.0 + 1e-6 * next(_anew), ds.multibody.GROUND
    bodies = [
        ds.multibody.PlanarBody(f"rod_{i}", mass, mass / 12, position=(i + 0.5, 0.0))
        for i in range(6)
    ]
    left = [ground.frame((0.0, 0.0)), *[body.frame((0.5, 0.0)) for body in bodies]]
    hinges = [
        ds.multibody.Revolute(f"hinge_{i}", left[i], body.frame((-0.5, 0.0)))
        for i, body in enumerate(bodies)
    ]
    chain = ds.multibody.Mechanism(bodies, hinges, gravity=(0, -9.81))
    completed(ds.solve(chain.system(), 1e-3, guess=chain.start, at=[1e-3]))


def _sensitivities() -> Callable[[], object]:
    """Return the derivatives of a pendulum's end by its start."""
    system = _pendulum()
    return lambda: ds.analysis.sensitivity(system, 2.0, {"x": 0.6}, by=["x"])


FIRST_RUN = """
import time
import daesolve as ds
q = ds.coordinates(x="m", y="m")
system = ds.MechanicalSystem(
    q, kinetic=(q.dot.x**2 + q.dot.y**2) / 2, potential=9.81 * q.y,
    goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - 1.0)],
)
ds.solve(system, 1.0, {"x": 0.6, "y": -0.8, "x_dot": 0.0, "y_dot": 0.0})
print(time.process_time())
"""


def _first_run() -> float:
    """Run a pendulum in a process of its own; return the processor seconds of that process."""
    ended = subprocess.run(
        [sys.executable, "-c", FIRST_RUN], capture_output=True, text=True, check=True
    )
    return float(ended.stdout)


def _dop853() -> ds.Dop853:
    return ds.Dop853(rtol=1e-10, atol=1e-12)


FIGURES = {
    "hoop": Figure("a hoop in a hollow, 60 s", "compiled", _case("rolling-wheel", "hoop", 60.0)),
    "vehicle": Figure(
        "a vehicle on omni-wheels, 10 s",
        "compiled",
        _case("omni-rolling", "twist", 10.0),
    ),
    "chain": Figure(
        "a chain of 40 rods, 0.2 s", "compiled", _case("pendulum-chain", "swing", 0.2, rods=40)
    ),
    "ticks": Figure("600 ticks of a controller", "interpreted", _ticks),
    "friction": Figure(
        "a block on a belt, 1.15 s", "interpreted", _case("block-on-belt", "one-limit", 1.15)
    ),
    "dop853": Figure(
        "a slider-crank by DOP853, 5 s",
        "compiled",
        _case("slider-crank", "spin", 5.0, _dop853),
    ),
    "sensitivity": Figure("derivatives of a pendulum, 2 s", "interpreted", _sensitivities),
    "mechanism": Figure("preparing a chain of six rods anew", "interpreted", lambda: _assembled),
    "pendulum": Figure("posing and preparing a pendulum anew", "interpreted", lambda: _posed),
    "first-run": Figure("import and run in a new process", "interpreted", lambda: _first_run),
}
"""By name."""
