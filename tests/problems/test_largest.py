"""The largest magnitude of an output over a motion, against closed forms, wherever samples are."""

from __future__ import annotations

import numpy as np
import pytest
from daesolve_problems.largest import largest
from scipy.optimize import brentq

import daesolve as ds

GRAVITY, RADIUS, SPEED = 9.81, 0.01, 1.5


def friction_at_rest():
    """Return |T|/N of the hoop where it turns, by statics: tan(slope) / 2, and the place.

    A hoop has as much energy of turning as of its centre, so u^2 = u_0^2 + g (z_0 - z).
    """
    height = np.polynomial.Polynomial([-0.5, -0.13, -0.5, 0.13, 1.0])

    def squared_speed(x):
        over = [height(at) + RADIUS / np.hypot(1.0, height.deriv()(at)) for at in (0.0, x)]
        return SPEED**2 + GRAVITY * (over[0] - over[1])

    ends = [brentq(squared_speed, *where, xtol=1e-15) for where in ((0.8, 1.0), (-1.2, -0.7))]
    return max(abs(height.deriv()(end)) / 2.0 for end in ends)


@pytest.mark.slow
@pytest.mark.parametrize("until", [1.0, 10.0])
def test_the_hoop_needs_as_much_friction_as_statics_say(until):
    """The steps are 40 ms long, and samples are none near the turning point."""
    case = ds.problem("rolling-wheel").case("hoop")
    value, time = largest(case, case.solve(until, at=[0.0, until]), "required_friction")
    assert value == pytest.approx(friction_at_rest(), rel=1e-12)
    assert abs(case.solve(time, at=[time])["speed"][0]) < 1e-6


def problem():
    """A ball thrown up; its energy grows as it is struck."""
    q = ds.coordinates(y="m")
    blow = ds.Event("blow", ds.time - 0.5, ds.RISING, ds.Reset({"y_dot": 30.0}))

    def posed(struck):
        return ds.MechanicalSystem(
            q,
            kinetic=q.dot.y**2 / 2,
            potential=GRAVITY * q.y,
            outputs={"height": (q.y, "m"), "speed": (q.dot.y, "m/s")},
            peaks=["height", "speed"],
            events=[blow] if struck else [],
        )

    start = {"y": 0.0, "y_dot": 10.0}
    return ds.Problem(
        "thrown",
        title="thrown",
        models={"one": posed},
        structure={"struck": False},
        cases=[ds.Case("up", start=start, until=2.0)],
    )


@pytest.mark.parametrize("solver", ["taylor", "dop853"])
def test_a_peak_within_a_step_has_no_error_of_samples(solver):
    case = problem().case("up")
    value, time = largest(case, case.solve(2.0, at=[2.0], solver=solver), "height")
    assert value == pytest.approx(100.0 / (2 * GRAVITY), rel=1e-12)
    assert time == pytest.approx(10.0 / GRAVITY, abs=1e-6)


def test_a_peak_at_a_reset_or_at_an_end_is_that_value():
    case = problem().case("up", struck=True)
    assert largest(case, case.solve(1.0), "speed") == (30.0, 0.5)
    case = problem().case("up")
    value, time = largest(case, case.solve(0.5), "height")
    assert value == pytest.approx(5.0 - GRAVITY / 8, rel=1e-12)
    assert time == 0.5
