"""Long runs of the kernel: what rounding leaves has no mean."""

import math

import numpy as np
import pytest

import daesolve as ds
from tests.reference.pendulum import pendulum_states

ROUNDING = np.finfo(float).eps / 2
UNTIL = 1e5


@pytest.mark.long
def test_the_energy_of_the_hoop_that_nothing_drives_walks_without_a_bias():
    run = (
        ds.problem("rolling-wheel")
        .case("hoop")
        .solve(
            UNTIL,
            formulation=ds.Feedback(rates={"energy": None}),
            solver=ds.Taylor(engine="kernel"),
            at=[UNTIL],
        )
    )
    # Steps that are each off by a rounding of the scale, without a mean, add up to this; no walk
    # goes farther than four times that. Fused sums of terms had a mean of 6.9e-19: 1.8e-12.
    walk = ROUNDING * math.sqrt(run.statistics.steps)
    assert run.drift["energy"].max_relative < 4 * walk


@pytest.mark.long
def test_the_phase_of_the_pendulum_is_off_by_less_than_a_rounding_of_its_energy():
    q = ds.coordinates(x="m", y="m")
    gravity = 9.81
    rod = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=gravity * q.y,
        goals=[ds.Holonomic("rod", q.x**2 + q.y**2 - 1)],
    )
    times = UNTIL - np.arange(4)[::-1] / 4
    start = {"x": 1.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0}
    run = ds.solve(rod, UNTIL, start, at=times, solver=ds.Taylor(engine="kernel"))
    exact = pendulum_states(times, 1.0, 0.0)
    off = np.hypot(run["x"][-4:] - exact["x"], run["y"][-4:] - exact["y"])
    # d(log frequency)/d(E/g) = -0.228 at a right angle; the place changes by sqrt(2) of the phase
    phase = 0.228 * ROUNDING * math.sqrt(gravity) * UNTIL
    assert np.max(off) < math.sqrt(2) * phase
