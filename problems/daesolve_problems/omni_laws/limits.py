"""How the three laws pass into each other, measured: two small parameters, two limits.

`impacts` to `inertialess` as the moment of inertia B of a roller goes to zero, all masses and
other moments kept. `friction` to `impacts` as friction gets strong: its measure is mu g, and since
the coefficient mu may not pass R / h (Painleve), g is raised, with the pull along the slope kept.

A roller that comes to the floor slips for t_s = B |u| / (rho_e^2 mu N). Imposing its constraints at
once is right if t_s is small compared with the time to the next change: the impulses of friction
are then in the range of J^T, like those of the impact, and both lead to the same unique velocity
without slip, whatever the law of friction is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.typing import BoundCase
from daesolve_problems.omni_laws.description import (
    FRICTION,
    IMPACTS,
    INERTIALESS,
    Description,
    described,
)
from daesolve_problems.omni_laws.starting import start
from daesolve_problems.orders import slope

LEAST = 3
"""The least number of differences to which an order is fitted."""
MARGIN = 30.0
"""Differences below so many times the error of the runs are left out of a fit."""
HORIZON = 0.5
"""s; until when motions are compared, unless the case ends before."""
SAMPLES = 101
SHARES = (1.0, 1e-1, 1e-2, 1e-3)
"""Factors of the rollers' moment of inertia."""
STRENGTHS = (1.0, 10.0, 30.0, 100.0)
"""Factors of gravity."""
FINE, COARSE = (ds.RadauIIA(rtol=r, atol=1e-2 * r) for r in (1e-9, 1e-8))
GROUPS = {"place": ("x", "y"), "angle": ("theta",)}
UNITS = {"place": "m", "angle": "rad"}


@dataclass(frozen=True)
class Convergence:
    """Differences of two laws against a small parameter.

    Parameters
    ----------
    small
        The values of the small parameter, falling.
    differences
        The largest over the samples, at each of them: of the place, m, and of the angle, rad.
    floors
        The error of the runs in each.
    """

    small: tuple[float, ...]
    differences: Mapping[str, tuple[float, ...]]
    floors: Mapping[str, float]

    def above(self, name: str) -> list[int]:
        """Return where a difference is more than the error of the runs."""
        least = MARGIN * self.floors[name]
        return [k for k, value in enumerate(self.differences[name]) if value > least]

    def order(self, name: str) -> float | None:
        """Return the order of a difference, None if too few of them are more than errors."""
        kept = self.above(name)[-LEAST:]
        if len(kept) < LEAST:
            return None
        values = self.differences[name]
        return slope([self.small[k] for k in kept], [values[k] for k in kept])

    def rate(self, name: str) -> float | None:
        """Return the difference over the small parameter at its least value that counts."""
        kept = self.above(name)
        return self.differences[name][kept[-1]] / self.small[kept[-1]] if kept else None


def under(case: BoundCase, law: str, **changes: Any) -> BoundCase:
    """Return the same vehicle and start under another law.

    Values that the law does not use are left out: friction if nothing slips, the rollers' inertia
    and rates if they have none, and the order of impositions if nothing is imposed.
    """
    assert isinstance(case.problem, ds.Problem)
    structure = dict(case.structure)
    if law == FRICTION:
        structure.pop("imposition", None)
    named = case.problem.case(case.case.name, model=law, **structure)
    known = named.system.dynamics.posed_ranges
    numbers = {name: value for name, value in case.parameters.items() if name in known}
    given = {**case.start, **case.initial}
    states = named.system.dynamics.labels.states
    open_names = case.problem.start_names(named.full_structure)
    begun = {
        name: value
        for name, value in given.items()
        if name in states or (name in open_names and not name.startswith("spin_"))
    }
    return named.changed({**numbers, **changes}).starting(begun)


def solved(case: BoundCase, times: np.ndarray, **options: Any) -> ds.Trajectory:
    """Run a case with samples at these times.

    Raises
    ------
    OutOfRangeError
        The run does not reach its end.
    """
    run = case.solve(float(times[-1]), at=times, **options)
    if run.outcome is not ds.Outcome.COMPLETED:
        raise OutOfRangeError(
            f"the law '{case.model}' does not reach t = {times[-1]:g} s: {run.message}"
        )
    return run


def apart(run: ds.Trajectory, other: ds.Trajectory) -> dict[str, float]:
    """Return the largest difference of two runs at their samples: of place, m, and angle, rad."""
    across = [run[name] - other[name] for name in GROUPS["place"]]
    return {
        "place": float(np.max(np.hypot(*across))),
        "angle": float(np.max(np.abs(run["theta"] - other["theta"]))),
    }


def times_of(case: BoundCase) -> np.ndarray:
    """Return the times at which motions are compared, s."""
    return np.linspace(0.0, min(HORIZON, case.case.until), SAMPLES)


def without_inertia(case: BoundCase, shares: Sequence[float] = SHARES) -> Convergence:
    """Measure how rolling with impacts tends to rollers without inertia, in B, kg m^2."""
    times = times_of(case)
    truth = solved(under(case, INERTIALESS), times)
    own = float(under(case, IMPACTS).values["roller_inertia"])

    def run(share: float) -> ds.Trajectory:
        return solved(under(case, IMPACTS, roller_inertia=share * own), times)

    # Both are integrated to rounding.
    floors = dict.fromkeys(GROUPS, 1e-14 * len(times))
    return _measured(shares, own, lambda share: apart(run(share), truth), floors)


def strong_friction(case: BoundCase, strengths: Sequence[float] = STRENGTHS) -> Convergence:
    """Measure how friction tends to impacts, in 1 / (mu g), s^2/m."""
    times = times_of(case)
    truth = solved(under(case, IMPACTS), times)
    usual = under(case, FRICTION)
    p = usual.values

    def run(share: float, solver: ds.Solver = FINE) -> ds.Trajectory:
        return solved(under(case, FRICTION, **heavier(p, 1.0 / share)), times, solver=solver)

    shares = [1.0 / strength for strength in strengths]
    last = run(shares[-1])
    floors = apart(last, run(shares[-1], COARSE))

    def difference(share: float) -> dict[str, float]:
        return apart(last if share == shares[-1] else run(share), truth)

    return _measured(shares, 1.0 / (p["friction"] * p["gravity"]), difference, floors)


def heavier(p: Mapping[str, float], strength: float) -> dict[str, float]:
    """Return a larger gravity, and the slope on which its pull along the floor is unchanged."""
    gravity = strength * p["gravity"]
    return {"gravity": gravity, "slope": math.asin(math.sin(p["slope"]) / strength)}


def _measured(
    shares: Sequence[float],
    unit: float,
    difference: Callable[[float], dict[str, float]],
    floors: Mapping[str, float],
) -> Convergence:
    found = [difference(share) for share in shares]
    return Convergence(
        tuple(unit * share for share in shares),
        {name: tuple(one[name] for one in found) for name in GROUPS},
        floors,
    )


# -- when is it right to impose at once? -----------------------------------------------------------


@dataclass(frozen=True)
class Slipping:
    """How long a roller that comes to the floor slips, compared with the time between changes.

    Parameters
    ----------
    wheel
        The wheel for which the ratio is largest.
    slip
        |u| when its next roller comes to the floor, at rest in the wheel, m/s.
    lasts, between
        t_s and the time from one change of that wheel to the next, s.
    """

    wheel: int
    slip: float
    lasts: float
    between: float

    @property
    def ratio(self) -> float:
        """t_s over the time between changes."""
        return self.lasts / self.between


def slipping(case: BoundCase) -> Slipping | None:
    """Return this ratio from the motion at the start; None if no wheel turns and slips."""
    bound = under(case, FRICTION)
    structure = bound.problem.meaning(bound.full_structure)
    p = bound.values
    wheels, rollers = structure["wheels"], structure["rollers"]
    car = described(FRICTION, p, wheels, rollers)
    at = start(bound.full_start, p, structure)
    share = car.mass * p["gravity"] * math.cos(p["slope"]) / wheels
    end, half = p["roller_end_radius"], math.pi / rollers
    found: list[Slipping] = []
    for i, wheel in enumerate(car.frame.wheels, start=1):
        along = wheel.middle((at["v_1"], at["v_2"]), at["omega"])[0]
        # The roller rests in the wheel: what it lacks is its own turning alone, across its axis.
        lacks = abs(along) / wheel.tilt[0]
        rate = abs(at[f"chi_dot_{i}"])
        if not (rate > 0.0 and lacks > p["slip_velocity"] and end > 0.0 and p["friction"] > 0.0):
            continue
        lasts = car.frame.along * lacks / (end**2 * p["friction"] * share)
        found.append(Slipping(i, lacks, lasts, 2.0 * half / rate))
    return max(found, key=lambda one: one.ratio, default=None)


def friction_limit(car: Description, p: Mapping[str, float]) -> float:
    """Return R / h, below which no slip of upright rollers leaves the reactions undetermined."""
    height = car.frame.wheel_radius - p["roller_end_radius"] * math.cos(math.pi / car.rollers)
    reach = min(math.hypot(wheel.x, wheel.y) for wheel in car.frame.wheels)
    return float(reach / height)
