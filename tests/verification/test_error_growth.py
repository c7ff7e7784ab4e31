"""Growth is measured with changes whose growth is known; the Lyapunov time of known motions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import daesolve as ds
from daesolve.verification.error_growth import lyapunov_time, measured_growth, sizes_of_states
from tests.billiards import circular_billiard, sinai_billiard
from tests.hybrid_systems import bouncing_ball, peg_pendulum
from tests.reference import sinai_billiard as billiard
from tests.systems import chain, pendulum, prepared_run, wheel, wheel_state

BILLIARD = dict(zip(("x", "y", "x_dot", "y_dot"), billiard.START, strict=True))


class Known:
    """Changes that grow like exp(rate t) from 0 to `until`, and by `jump` wherever they stop."""

    def __init__(self, rates, until, jump=None):
        self.rates, self.until, self.jump = np.array(rates), until, jump
        self.time = self.ahead = 0.0

    def following(self, piece):
        return min(self.time + piece, self.until) if self.time < self.until else None

    def stretched(self, ahead):
        self.ahead = ahead
        return np.exp(self.rates * (ahead - self.time))

    def renew(self):
        self.time = self.ahead
        return None if self.jump is None else np.array(self.jump)


def test_growth_adds_up_to_that_of_the_whole_motion():
    growth = measured_growth(Known([0.7, -0.3], 10.0), 0.3)
    assert growth.times[-1] == 10.0
    assert np.sum(growth.logarithms, axis=0) == pytest.approx([7.0, -3.0])
    assert len(growth.pieces) == len(growth.times) - 1 == 34


def test_what_happens_at_events_counts_too():
    growth = measured_growth(Known([0.5], 4.0, jump=[2.0]), 1.0)
    assert np.sum(growth.logarithms) == pytest.approx(2.0 + 4.0 * math.log(2.0))


def test_pieces_are_halved_until_changes_stay_small():
    """exp(40 t) exceeds 1e6 after 0.35 s: pieces of 1 s become 0.25 s, and nothing is lost."""
    growth = measured_growth(Known([40.0], 3.0), 1.0, 0.1)
    assert set(growth.pieces) == {0.25}
    assert np.sum(growth.logarithms) == pytest.approx(120.0)
    assert measured_growth(Known([40.0], 3.0), 1.0, 0.3) is None


def test_without_shorter_pieces_growth_that_is_too_fast_is_refused():
    assert measured_growth(Known([40.0], 3.0), 1.0) is None
    # so is one change that all but vanishes beside another
    assert measured_growth(Known([5.0, -20.0], 3.0), 1.0) is None
    assert measured_growth(Known([5.0, -20.0], 3.0), 0.5) is not None


@pytest.mark.parametrize("rate", [math.inf, -math.inf, math.nan])
def test_a_change_that_vanishes_or_has_no_size_is_refused(rate):
    assert measured_growth(Known([rate], 1.0), 0.5, 0.0) is None


def test_no_state_is_smaller_than_a_thousandth_and_angles_are_radians():
    assert sizes_of_states(np.array([50.0, 1e-9, 200.0]), (2,)) == pytest.approx([50.0, 0.05, 1.0])
    assert sizes_of_states(np.zeros(2), ()) == pytest.approx([1.0, 1.0])


@pytest.mark.slow
def test_regular_motion_has_no_lyapunov_time():
    run = ds.solve(pendulum(), 100.0, {"x": -1.0}, verify=True)
    assert run.verification.lyapunov_time is None
    assert run.verification.difference["x"] <= 1e-11


@pytest.mark.long
def test_the_chaotic_wheel_with_pendulum_has_the_known_lyapunov_time():
    """Benettin over 300 s: 0.96 to 1.0 per second from (0.2, phi = 2.9)."""
    start = wheel_state(0.2, 0.0, phi=2.9, phi_dot=0.0)
    run = ds.solve(wheel(with_pendulum=True), 100.0, start, verify=True)
    # over 100 s and not 300, with a few seconds between the restarts of the shadow: a factor of two
    assert 0.5 < run.verification.lyapunov_time < 2.0


@pytest.mark.parametrize("until", [30.0, -30.0])
def test_errors_on_a_saddle_grow_with_its_rate_in_either_direction_of_time(until):
    """x'' = x: from rest at x = 1e-3 it is 1e-3 cosh t, and so are errors."""
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=-(q.x**2) / 2)
    run = ds.solve(system, until, {"x": 1e-3, "x_dot": 0.0}, verify=True)
    assert run.verification.lyapunov_time == pytest.approx(1.0, rel=0.05)


def test_a_system_that_rests_at_zero_has_no_lyapunov_time():
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=q.x**2 / 2)
    run = ds.solve(system, 30.0, {"x": 0.0, "x_dot": 0.0}, verify=True)
    assert run.verification.lyapunov_time is None


@pytest.mark.slow_rows("formulation3", "formulation0", "formulation2")
@pytest.mark.parametrize("formulation", [ds.Feedback(), ds.Index1(), ds.Index2(), ds.GGL()])
def test_chaos_is_seen_in_every_formulation(formulation):
    """A double pendulum from far up: about 0.7 s, by feedback with Taylor's method."""
    start = {"theta_1": 2.0, "theta_2": 2.5, "theta_dot_1": 0.0, "theta_dot_2": 0.0}
    prepared = prepared_run(chain(2), 20.0, start, formulation=formulation)
    assert lyapunov_time(prepared) == pytest.approx(0.7, rel=0.15)


# -- through resets -------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_billiard_about_a_disc_is_as_chaotic_as_sinais_formula_says():
    """The exponent over 400 s varies from start to start; it is among those of the exact map."""
    x, y, *velocity = billiard.START
    near = [billiard.exponent((x, y + 1e-3 * k, *velocity), 400.0) for k in range(8)]
    time = lyapunov_time(prepared_run(sinai_billiard(billiard.RADIUS), 400.0, BILLIARD))
    assert abs(1.0 / time - np.mean(near)) < 3.0 * np.std(near)
    assert np.std(near) < 0.1 * np.mean(near)


def test_the_tripling_map_has_the_exponent_ln_3():
    """x grows by e^(t ln 3), and whole numbers are taken from it where a clock strikes.

    Doubling is exact in binary numbers, and would come to zero.
    """
    s = ds.states(x="", clock="s")
    strike = ds.Reset({"clock": s.clock - 1.0, "x": s.x - (s.x >= 1.0) - (s.x >= 2.0)})
    system = ds.ControlSystem(
        s,
        {"x": np.log(3.0) * s.x, "clock": 1.0},
        events=[ds.Event("strike", s.clock - 1.0, ds.RISING, strike)],
    )
    prepared = prepared_run(system, 200.0, {"x": 0.3, "clock": 0.0})
    assert lyapunov_time(prepared) == pytest.approx(1.0 / np.log(3.0), rel=1e-3)


@pytest.mark.slow
@pytest.mark.slow_rows("dop853")
@pytest.mark.parametrize("solver", [ds.Taylor(), ds.Dop853()], ids=["taylor", "dop853"])
def test_chaos_through_resets_is_seen_with_solvers_that_pass_over_events_too(solver):
    prepared = prepared_run(sinai_billiard(billiard.RADIUS), 100.0, BILLIARD, solver=solver)
    assert 0.5 < 1.0 / lyapunov_time(prepared) < 1.2


@pytest.mark.long_rows("bouncing ball")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("pose", "start", "until"),
    [
        (bouncing_ball, {"y": 1.0, "y_dot": 0.0}, 100.0),
        (circular_billiard, {"x": 0.1, "y": 0.3, "x_dot": 1.0, "y_dot": 0.37}, 100.0),
        (peg_pendulum, {"x": np.sin(0.7), "y": -np.cos(0.7)}, 60.0),
    ],
    ids=["bouncing ball", "circular billiard", "pendulum with a peg"],
)
def test_regular_motion_with_resets_has_no_lyapunov_time(pose, start, until):
    system = pose()
    numbers = {"restitution": 1.0} if "restitution" in system.dynamics.values else {}
    run = ds.solve(system, until, start, parameters=numbers, verify=True)
    assert run.event_count > 50
    assert run.verification.lyapunov_time is None


def test_a_motion_without_all_of_its_velocities_is_followed_in_all_of_them():
    """Its chart covers no shadow beside the constraints; that regular motion is found is known."""
    start = {"x": np.sin(0.7), "y": -np.cos(0.7)}
    prepared = prepared_run(peg_pendulum(), 60.0, start, formulation=ds.NullSpace())
    assert prepared.problem.chart is not None
    assert lyapunov_time(prepared) is None


def test_a_motion_that_stops_soon_leaves_the_question_open():
    """Not to be taken for regular motion: nobody has seen how errors grow."""
    x = ds.states(x="")
    system = ds.ControlSystem(x, {"x": -x.x}, events=[ds.Event("half", x.x - 0.5, then=ds.Stop())])
    run = ds.solve(system, 50.0, {"x": 1.0}, verify=True)
    assert np.isnan(run.verification.lyapunov_time)


@pytest.mark.slow
def test_a_shadow_beside_its_motion_in_a_lane_grows_as_the_one_that_follows_it():
    """The kernel that is asked for by name integrates the shadow after the motion."""
    q = ds.coordinates(x="m")
    system = ds.MechanicalSystem(q, kinetic=q.dot.x**2 / 2, potential=-(q.x**2) / 2)
    beside, after = (
        ds.solve(system, 20.0, {"x": 1e-3, "x_dot": 0.0}, verify=True, solver=solver)
        for solver in (None, ds.Taylor(engine="kernel"))
    )
    # What is 1e-9 of the size has 1e-7 of its digits.
    found, expected = (run.verification.lyapunov_time for run in (beside, after))
    assert found == pytest.approx(expected, rel=1e-6)
