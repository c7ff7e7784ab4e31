"""Feet with and without friction under one body, and smooth contacts whose gaps depend."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import daesolve as ds
from daesolve.multibody import Body, Mechanism, feet

MASS, SPIN, HEIGHT, SIDE, MU, END = 1.0, 0.015, 0.1, 0.1, 0.5, 0.5
PLACES = [(SIDE, SIDE), (SIDE, -SIDE), (-SIDE, SIDE), (-SIDE, -SIDE)]


def box(friction, gravity, start, **options):
    """A flat body on four feet, of which each has a friction, or none."""
    body = Body("b", MASS, (0.01, 0.01, SPIN), position=(0, 0, HEIGHT))
    own = [
        feet(f"f{k}", [body.point(x, y, -HEIGHT)], mu)
        for k, (mu, (x, y)) in enumerate(zip(friction, PLACES, strict=True))
    ]
    mechanism = Mechanism([body], [foot for each in own for foot in each], gravity=gravity)
    run = ds.solve(
        mechanism.system(), END, mechanism.start | start, redundant="minimum-norm", **options
    )
    assert run.audit().holds, str(run.audit())
    return run


def slide(start, gravity):
    """The same by hand: four equal springs bear a plate that one foot's friction turns.

    Their forces are those of a plane, mg / 4 + b X + c Y, whose moments balance that of friction,
    which acts a height below the centre; and the sums of X^2 and Y^2 over the feet are 4 a^2.
    """

    def rates(time, state):
        angle, vx, vy, turn = state[2:]
        c, s = np.cos(angle), np.sin(angle)
        arm = np.array([c * SIDE - s * SIDE, s * SIDE + c * SIDE])
        slip = np.array([vx - turn * arm[1], vy + turn * arm[0]])
        way = slip / np.linalg.norm(slip)
        # N = mg / 4 + (b, c) . arm, with (b, c) = h mu N way / (4 a^2).
        load = -MASS * gravity[2] / 4 / (1 - HEIGHT * MU * (way @ arm) / (4 * SIDE**2))
        force = -MU * load * way
        pull = force / MASS + np.array(gravity[:2])
        return [vx, vy, turn, *pull, (arm[0] * force[1] - arm[1] * force[0]) / SPIN]

    return solve_ivp(rates, (0.0, END), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


@pytest.mark.parametrize("smooth", [0.0, None])
def test_one_rough_foot_turns_a_body_as_equal_springs_load_it(smooth):
    gravity = (0.5, 0.2, -9.81)
    run = box((MU, *3 * [smooth]), gravity, {"b_x_dot": 1.0, "b_w3": 0.5})
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert not run.events
    end = slide([0.0, 0.0, 0.0, 1.0, 0.0, 0.5], gravity)
    found = [run.end_state[name] for name in ("b_x", "b_y", "b_x_dot", "b_y_dot", "b_w3")]
    assert found == pytest.approx([end[0], end[1], end[3], end[4], end[5]], abs=1e-9)
    angle = 2 * np.arctan2(run.end_state["b_q3"], run.end_state["b_q0"])
    assert angle == pytest.approx(end[2], abs=1e-9)


def test_a_body_that_rests_on_two_rough_feet_has_no_friction_at_a_smooth_one():
    run = box((MU, None, 0.2, 0.0), (0.5, 0.0, -9.81), {})
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert np.max(np.abs([run["f3_1_friction_1"], run["f3_1_friction_2"]])) == 0.0
    # Both rough ones hold the pull together.
    held = run["f0_1_friction_1"] + run["f2_1_friction_1"]
    assert held == pytest.approx(np.full(len(run.times), -0.5), abs=1e-12)
    assert run.end_state["b_x"] == pytest.approx(0.0, abs=1e-12)


def test_one_rough_foot_holds_its_place_while_the_body_turns_about_it():
    """The body is a pendulum about the foot, under the pull along x."""
    pull = 0.5
    run = box((MU, 0.0, 0.0, 0.0), (pull, 0.0, -9.81), {})
    about = SPIN + 2 * MASS * SIDE**2

    def rates(time, state):
        # From the foot to the centre, turned by the angle.
        arm = -SIDE * (np.sin(state[0]) + np.cos(state[0]))
        return [state[1], -MASS * pull * arm / about]

    end = solve_ivp(rates, (0.0, END), [0.0, 0.0], method="DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
    angle = 2 * np.arctan2(run.end_state["b_q3"], run.end_state["b_q0"])
    assert [angle, run.end_state["b_w3"]] == pytest.approx(end, abs=1e-10)


def plate(count):
    """A plate on smooth feet that a growing moment tips over the edge y = -1."""
    q = ds.coordinates(z="m", a=ds.ANGLE, b=ds.ANGLE)
    places = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0), (0.0, 0.0)][:count]
    gaps = [q.z + x * ca.sin(q.a) + y * ca.sin(q.b) for x, y in places]
    return ds.MechanicalSystem(
        q,
        kinetic=(q.dot.z**2 + q.dot.a**2 / 3 + q.dot.b**2 / 2) / 2,
        force={"z": -9.81, "b": 8.0 * ds.time},
        goals=[ds.Contact(f"foot{k}", gap) for k, gap in enumerate(gaps)],
    )


@pytest.mark.parametrize("count", [4, 5])
def test_smooth_contacts_whose_gaps_depend_share_the_load_until_they_open(count):
    """The moment comes to that of the weight over half the width at t = 9.81 / 8 s."""
    run = ds.solve(plate(count), 1.5, {})
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert run.audit().holds, str(run.audit())
    lost = {event.name: event.time for event in run.events}
    assert {*lost} == {"foot0_lost", "foot2_lost"} | ({"foot4_lost"} if count == 5 else set())
    assert [*lost.values()] == pytest.approx([9.81 / 8] * len(lost), abs=1e-8)
    before = run.times < 9.81 / 8
    total = sum(run[f"foot{k}"][before] for k in range(count))
    assert total == pytest.approx(np.full(np.sum(before), 9.81), abs=1e-10)


def test_both_limits_of_a_joint_do_not_depend_on_each_other():
    q = ds.coordinates(a=ds.ANGLE)
    limits = [ds.Contact("low", q.a + 1, closed=False), ds.Contact("high", 1 - q.a, closed=False)]
    joint = ds.MechanicalSystem(q, kinetic=q.dot.a**2 / 2, goals=limits)
    run = ds.solve(joint, 3.0, {"a": 0.0, "a_dot": 0.5})
    assert [(event.name, event.time) for event in run.events] == [("high_closed", 2.0)]
