"""Residuals after a kick obey their laws, whatever the motion is."""

from __future__ import annotations

import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import UnknownNameError, UnsupportedError


def pendulum():
    q = ds.coordinates(x="m", y="m")
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=9.81 * q.y,
        goals=[ds.Holonomic("rod", (q.x**2 + q.y**2 - 1) / 2)],
    )


KICK = {"x": 0.1, "y_dot": 0.3}
TIGHT = ds.Dop853(1e-12, 1e-14)


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("until", [1.0, -1.0])
def test_a_double_rate_is_a_line_times_an_exponential(until):
    found = ds.analysis.disturbance(
        pendulum(),
        KICK,
        until,
        {"x": 1.0, "y": 0.0},
        formulation=ds.Feedback(rate=5.0, rates={"energy": None}),
        solver=TIGHT,
    )
    t = np.abs(found.times)
    start, rate = found.residuals["rod"][0], np.sign(until) * found.residuals["rod_dot"][0]
    assert (start, rate) == pytest.approx((0.105, 0.0), abs=1e-12)
    wanted = (start + (rate + 5.0 * start) * t) * np.exp(-5.0 * t)
    assert found.closed["rod"] == pytest.approx(wanted, abs=1e-14)
    assert found.residuals["rod"] == pytest.approx(wanted, abs=1e-11)
    assert found.error < 1e-10
    assert found.laws["rod"].startswith("rod'' + 10 rod' + 25 rod = 0")


def test_a_law_of_ones_own_and_a_driven_energy_beside_it():
    found = ds.analysis.disturbance(
        pendulum(), KICK, 1.0, {"x": 1.0, "y": 0.0}, formulation=ds.Feedback(laws={"rod": (2, 26)})
    )
    assert found.error < 1e-10
    w = np.exp(-found.times)
    start = found.residuals["rod"][0]
    spiral = w * (np.cos(5 * found.times) + np.sin(5 * found.times) / 5) * start
    assert found.closed["rod"] == pytest.approx(spiral, abs=1e-14)
    assert set(found.closed) == {"rod", "rod_dot"}
    assert "energy" in found.residuals


@pytest.mark.slow
def test_what_has_no_law_is_refused():
    system, start = pendulum(), {"x": 1.0, "y": 0.0}
    with pytest.raises(UnsupportedError, match="a disturbance needs Feedback"):
        ds.analysis.disturbance(system, KICK, 1.0, start, formulation=ds.NullSpace())
    with pytest.raises(UnknownNameError, match="state"):
        ds.analysis.disturbance(system, {"z": 1.0}, 1.0, start)
    ball = ds.problem("bouncing-ball-3d").case()
    with pytest.raises(UnsupportedError, match="needs a smooth motion"):
        ds.analysis.disturbance(ball, {"x": 0.1}, 0.1)
