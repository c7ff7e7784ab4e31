"""daesolve: planar bodies in maximal coordinates, 3 N of them with 2 N reactions.

The timing covers a whole run after preparation; every step is monitored for drift and rank loss.
"""

from __future__ import annotations

import math

import heyoka
import numpy as np
from daesolve_problems.mechanisms.pendulum_chain import chain, posed

import daesolve as ds
from benchmarks.common.attempts import BrokeDownError
from daesolve.core.preparation.preparing import prepare
from daesolve.core.preparation.request import Request
from daesolve.core.run.integration.simulation import simulate

from .motion import Bodies, Ready, Setting


def _ready(solver: ds.Solver, rods: int, until: float) -> Ready:
    heyoka.llvm_state.set_diskcache_enabled(False)  # so that compilation counts
    system = posed(rods)
    start = chain(rods, math.pi / 2).start_at(chain(rods).parameters.defaults)
    prepared = prepare(system, Request(until=until, initial=start, solver=solver))

    def end(run: ds.Trajectory) -> tuple[Bodies, int]:
        if run.outcome is not ds.Outcome.COMPLETED:
            raise BrokeDownError(run.message)
        names = [[f"rod_{i}_{part}" for part in ("x", "y", "angle")] for i in range(1, rods + 1)]
        places = np.array([[run[name][-1] for name in row] for row in names])
        rates = np.array([[run[f"{name}_dot"][-1] for name in row] for row in names])
        places[:, 2] -= math.pi / 2  # the angle is measured from the downward vertical
        return Bodies(places, rates), run.statistics.steps

    return Ready(lambda: simulate(prepared, [until]), end)


def settings() -> list[Setting]:
    """Return Taylor's method at two tolerances, and a method that needs no compilation."""
    solvers = {
        ("taylor", "1e-09"): (ds.Taylor(tolerance=1e-9), False),
        ("taylor", "2e-16"): (ds.Taylor(), True),
        ("dop853", "1e-08"): (ds.Dop853(rtol=1e-8), True),
    }
    return [
        Setting(
            method,
            accuracy,
            lambda rods, until, solver=solver: _ready(solver, rods, until),
            per_step,
        )
        for (method, accuracy), (solver, per_step) in solvers.items()
    ]
