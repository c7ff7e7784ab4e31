"""Derivatives of the final state, and of the times of events, through what contacts decide."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import NoDerivativeError
from tests.derivatives import check, differences

DIFFERENCES = 1e-10
"""What extrapolated differences of decisions and of runs leave of a derivative."""

# -- in closed form ---------------------------------------------------------------------------


def falling(**more) -> ds.MechanicalSystem:
    """A ball over a floor, in which contact forces act."""
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(gravity=(9.81, "m/s^2"), restitution=(0.6, ""), friction=(0.2, ""))
    floor = ds.Contact("floor", q.y, restitution=p.restitution, closed=False, **more)
    if "slip" in more:
        floor = ds.Contact(
            "floor", q.y, slip=q.dot.x, friction=p.friction, restitution=p.restitution, closed=False
        )
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    return ds.MechanicalSystem(q, p, kinetic=kinetic, potential=p.gravity * q.y, goals=[floor])


START = {"x": 0.0, "y": 1.0, "x_dot": 3.0, "y_dot": 0.0}


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"slip": True}], ids=["smooth", "rubs"])
def test_ball_on_a_contact_has_the_derivatives_of_its_closed_form(more):
    by = ["y", "gravity", "restitution"]
    found = ds.analysis.sensitivity(falling(**more), 1.3, START, by=by)
    height, gravity, restitution = 1.0, 9.81, 0.6
    fall = math.sqrt(2 * height / gravity)
    assert found.run.event_count == 2
    share = 1 + 2 * restitution
    assert found.event_times[1] == pytest.approx(
        [share * fall / (2 * height), -share * fall / (2 * gravity), 2 * fall], rel=1e-11
    )
    # y' = e^2 g T - g (t - (1 + 2 e) T), with T^2 = 2 h / g.
    by_fall = gravity * (restitution**2 + share)
    assert [found["y_dot", name] for name in by] == pytest.approx(
        [
            by_fall * fall / (2 * height),
            (restitution**2 + share) * fall / 2 - 1.3,
            2 * gravity * fall * (restitution + 1),
        ],
        rel=1e-11,
    )


@pytest.mark.slow
def test_friction_at_impacts_takes_its_share_of_the_speed_along():
    found = ds.analysis.sensitivity(falling(slip=True), 1.3, START, by=["friction", "x_dot"])
    # It slides through both impacts: each takes mu (1 + e) times the speed of approach.
    approach = 9.81 * math.sqrt(2 / 9.81)
    assert found["x_dot", "friction"] == pytest.approx(-(1.6 + 1.6 * 0.6) * approach, rel=1e-11)
    assert found["x_dot", "x_dot"] == pytest.approx(1.0, rel=1e-12)


@pytest.mark.long
def test_time_of_rest_after_infinitely_many_bounces_has_a_derivative():
    by = ["y", "restitution", "gravity"]
    found = ds.analysis.sensitivity(falling(slip=True), 2.5, START, by=by)
    place = [event.name for event in found.run.events].index("accumulated")
    fall, e = math.sqrt(2 / 9.81), 0.6
    total = fall * (1 + e) / (1 - e)
    assert found.run.events[place].time == pytest.approx(total, abs=1e-12)
    assert found.event_times[place] == pytest.approx(
        [total / 2, fall * 2 / (1 - e) ** 2, -total / (2 * 9.81)], rel=1e-9
    )


@pytest.mark.slow
def test_block_that_slides_to_rest_has_the_derivatives_of_its_closed_form():
    case = ds.problem("block").case("slides")
    found = case.sensitivity(["x_dot", "gravity"], 0.9, parameters={"incline": 0.0})
    # Both feet rub alike: it comes v^2 / (2 mu g) far, and rests after v / (mu g).
    pull = 0.3 * 9.81
    assert found["x", "x_dot"] == pytest.approx(1.0 / pull, rel=1e-11)
    assert found["x", "gravity"] == pytest.approx(-0.5 / pull / 9.81, rel=1e-11)
    last = len(found.run.events) - 1
    assert found.event_times[last] == pytest.approx([1 / pull, -1 / pull / 9.81], rel=1e-11)


@pytest.mark.long
def test_rocking_block_rests_later_as_time_scales_with_gravity():
    found = ds.problem("rocking-block").case("housner").sensitivity(["gravity"], 2.9)
    place = [event.name for event in found.run.events].index("rest")
    time = found.run.events[place].time
    assert found.event_times[place] == pytest.approx([-time / (2 * 9.81)], rel=1e-9)


@pytest.mark.long
def test_events_of_the_woodpecker_follow_each_other_with_its_multiplier():
    found = ds.problem("woodpecker").case("cycle").sensitivity(["phi_B_dot"], 1.0)
    pecks = [k for k, event in enumerate(found.run.events) if event.name == "beak_closed"]
    periods = np.diff(found.event_times[pecks, 0])
    # A change of the period goes on from one to the next by the multiplier of the cycle; times of
    # runs from 1e-4 and 5e-5 aside, extrapolated, give -0.8391556530.
    assert periods[1:] / periods[:-1] == pytest.approx(-0.839155653, abs=1e-9)


# -- by differences of runs ----------------------------------------------------------------------


@pytest.mark.long_rows(
    "block-on-belt-one-limit-1.1-values3",
    "bouncing-ball-3d-tennis-2.0-values5",
    "newtons-cradle-one-1.0-values6",
    "slider-crank-clearance-clearance-0.31-values4",
    "thrown-rod-thrown-1.5-values0",
)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "case", "until", "values"),
    [
        ("thrown-rod", "thrown", 1.5, {"restitution": 0.6, "half_length": 0.5}),
        ("thrown-rod", "poisson", 1.0, {"restitution": 0.6, "friction": 0.3}),
        ("thrown-rod", "routh", 1.0, {"restitution": 0.6, "friction": 0.3}),
        ("block-on-belt", "one-limit", 1.1, {"stiffness": 40.0, "belt_speed": 0.3}),
        ("slider-crank-clearance", "clearance", 0.31, {"friction": 0.2, "clearance": 0.001}),
        ("bouncing-ball-3d", "tennis", 2.0, {"friction": 0.5, "restitution": 0.75}),
        ("newtons-cradle", "one", 1.0, {"length": 0.3}),
    ],
)
def test_contacts_of_a_problem_have_the_derivatives_of_its_runs(problem, case, until, values):
    bound = ds.problem(problem).case(case)

    def end(**changed):
        return bound.solve(until, parameters=changed).end_state

    found = bound.sensitivity(list(values), until)
    expected = differences(end, values, part=4e-4)
    named = {key: value for key, value in expected.items() if key[0] in found.states}
    check(found, named, 100 * DIFFERENCES)


@pytest.mark.long
def test_slip_in_space_that_ends_leaves_six_digits():
    bound = ds.problem("tripod").case("spins")
    found = bound.sensitivity(["friction"], 0.2637)

    def end(friction):
        return bound.solve(0.2637, parameters={"friction": friction}).end_state

    expected = differences(end, {"friction": 0.3}, part=4e-4)
    # The direction of a slip of 1e-13 m/s is known to three digits, and enters by its square.
    check(found, {k: v for k, v in expected.items() if k[0] in found.states}, 3e-6)


def test_an_impact_where_every_position_is_zero_has_its_derivatives():
    q, p = ds.coordinates(y="m"), ds.parameters(restitution=(0.5, ""), swing=(1.2, "m"))
    gap = q.y - p.swing * ca.sin(ds.time)
    table = ds.Contact("table", gap, restitution=p.restitution, closed=False)
    ball = ds.MechanicalSystem(q, p, kinetic=q.dot.y**2 / 2, potential=q.y, goals=[table])
    start = {"y": 0.0, "y_dot": math.pi}
    found = ds.analysis.sensitivity(ball, 2.0 * math.pi + 1.0, start, by=["y", "y_dot"])
    assert found.run.events[0].time == pytest.approx(2.0 * math.pi, abs=1e-13)
    # The ball comes with -pi to a table that rises with 1.2: it leaves with e pi + (1 + e) 1.2.
    closing, gained = -math.pi - 1.2, 1.5 * (math.pi + 1.2)
    impact = np.array([[-0.5, 0.0], [1.0 / closing * (-0.5 - 1.0), -0.5]])
    assert 1.0 + gained / closing == pytest.approx(-0.5)
    flight = np.array([[1.0, 2.0 * math.pi], [0.0, 1.0]])
    expected = np.array([[1.0, 1.0], [0.0, 1.0]]) @ impact @ flight
    assert found.matrix == pytest.approx(expected, abs=1e-9)


# -- where there is none ---------------------------------------------------------------------------


def box(mu: float = 0.5) -> ds.MechanicalSystem:
    """A box over a floor, on which both of its lower corners rub."""
    q = ds.coordinates(x="m", y="m", theta="rad")
    p = ds.parameters(restitution=(0.4, ""))
    goals: list[ds.Contact] = []
    for name, side in (("left", -0.1), ("right", 0.1)):
        x = q.x + side * ca.cos(q.theta) + 0.3 * ca.sin(q.theta)
        y = q.y + side * ca.sin(q.theta) - 0.3 * ca.cos(q.theta)
        slip = ca.jtimes(
            x, ca.vertcat(q.x, q.y, q.theta), ca.vertcat(q.dot.x, q.dot.y, q.dot.theta)
        )
        friction = {"slip": slip, "friction": mu, "restitution": p.restitution}
        goals.append(ds.Contact(name, y, closed=False, **friction))
    kinetic = (q.dot.x**2 + q.dot.y**2 + 0.02 * q.dot.theta**2) / 2
    return ds.MechanicalSystem(q, p, kinetic=kinetic, potential=9.81 * q.y, goals=goals)


DROPPED = {"x": 0.0, "y": 0.5, "theta": 0.0, "x_dot": 0.3, "y_dot": 0.0, "theta_dot": 0.0}


@pytest.mark.long
def test_corners_that_land_together_have_derivatives_by_what_keeps_them_together():
    found = ds.analysis.sensitivity(box(), 0.35, DROPPED, by=["y", "restitution"])
    fall = math.sqrt(2 * 0.2 / 9.81)
    assert found["y_dot", "restitution"] == pytest.approx(9.81 * fall, rel=1e-11)
    assert not any("pass together" in note for note in found.notes)


@pytest.mark.slow
@pytest.mark.parametrize("by", ["theta", "theta_dot"])
def test_corners_that_land_together_have_none_by_what_parts_them(by):
    with pytest.raises(NoDerivativeError, match=rf"has no derivative by '{by}': its order matters"):
        ds.analysis.sensitivity(box(), 0.35, DROPPED, by=[by])


@pytest.mark.slow
def test_touching_balls_have_none_where_other_impacts_follow():
    with pytest.raises(NoDerivativeError, match="by 'mass_2': other events follow"):
        ds.problem("newtons-cradle").case("two").sensitivity(["mass_2"], 1.0)


@pytest.mark.slow
def test_a_flange_that_touches_at_the_start_lets_derivatives_pass():
    """The gap rests at zero whatever changes: the time at which it closes is fixed."""
    pytest.importorskip("daesolve_problems")
    case, by, until = ds.problem("wheelset-flanges").case(), ["eps", "moment_mean"], 0.2
    forward = case.sensitivity(by, until)
    assert forward.run.events[0].time == 0.0
    assert forward.event_times[0].tolist() == [0.0, 0.0]
    angle = ds.analysis.Objective(end=lambda now: now["psi"])
    found = case.gradient(angle, by, until)
    for name, part in zip(by, (1e-4, 1e-4), strict=True):
        value = case.full_parameters[name]
        ends = [
            case.with_values({name: value * (1 + way * part)}).solve(until=until)
            for way in (1.0, -1.0)
        ]
        slope = (ends[0].end_state["psi"] - ends[1].end_state["psi"]) / (2 * value * part)
        # The angle is linear in both to a part of 1e-5, so differences leave less than its square.
        assert forward["psi", name] == pytest.approx(slope, rel=1e-8)
        assert found[name] == pytest.approx(slope, rel=1e-8)
