"""Analyses of the gyroscope besides its motion."""

from __future__ import annotations

import numpy as np

import daesolve as ds
from daesolve.typing import BoundCase
from daesolve_problems.gyroscope.models import ANGLES, SMALL, full, full_start, reduction
from daesolve_problems.gyroscope.pictures import angles, nutation
from daesolve_problems.limits import limit_answer
from daesolve_problems.orders import judged, measured_orders, of_model

REDUCED = ("dirac", "refined")
EPS = (0.04, 0.02, 0.01, 0.005)
"""The values of eps for which errors are measured."""
LAYER = 0.3
"""s; where there is damping errors count from here on, when nutation has died out."""
SAMPLES = 2001
"""The samples of each compared run: 60 per nutation at the smallest eps."""


def orders(case: BoundCase) -> ds.Answer:
    """Measure the errors of the reduced models against eps: of order 1 and 2 on a slow motion.

    Without damping nutation continues: errors of angles are then of the order 1 in both models, and
    errors of velocities remain.
    """
    until = case.case.until
    since = LAYER if case.full_parameters["damping"] > 0.0 else 0.0
    found = measured_orders(
        case,
        REDUCED,
        {"angles": ANGLES, "velocities": SMALL},
        "eps",
        EPS,
        at=np.linspace(0.0, until, SAMPLES),
        since=lambda eps: since,
    )
    return ds.Answer(
        {"since": since, "until": until} | found.described(), {"orders": found.figure()}
    )


def models(case: BoundCase) -> ds.Answer:
    """Run the three models side by side: where they end, and figures of angles and nutation."""
    moments = np.linspace(0.0, case.case.until, SAMPLES)
    runs = {
        name: of_model(case, name).solve(float(moments[-1]), at=moments)
        for name in case.problem.models
    }
    ends = {
        name: {state: float(run[state][-1]) for state in (*ANGLES, "gamma", *SMALL, "gamma_dot")}
        for name, run in runs.items()
    }
    figures = {"angles": angles(runs), "nutation": nutation(runs)}
    return ds.Answer({"end": ends}, figures)


def validity(case: BoundCase) -> ds.Answer:
    """Report the fast motion at the start, and whether the reduced models are valid."""
    state = full_start(case.full_start, case.full_parameters, case.full_structure)
    return judged(reduction(), state, case.full_parameters)


def limit(case: BoundCase) -> ds.Answer:
    """Report whether the rings stand still in the limit, or precess by Dirac's constraints.

    There is no creep: fast rotation holds the velocities of the rings, which take the place of
    slips.
    """
    system, until = full(), float(case.case.until)
    slips = [
        ds.nonholonomic.Slip(name, system.coordinates.dot[angle])
        for name, angle in zip(SMALL, ANGLES, strict=True)
    ]

    def family(eps: float) -> tuple[dict[str, float], dict[str, float]]:
        own = {**case.full_parameters, "eps": eps}
        return full_start(case.full_start, own, case.full_structure), own

    def motion(eps: float) -> ds.Trajectory:
        state, own = family(eps)
        since = LAYER if own["damping"] > 0.0 else 0.0
        at = np.linspace(since, until, SAMPLES)
        return ds.solve(system, until, state, parameters=own, at=at)

    times = [0.2 * until, 0.5 * until, 0.8 * until]
    return limit_answer(system, slips, family, times, motion, EPS, apart=False)
