"""Time steps of systems with contacts: they tend to the motions that events lead to."""

from __future__ import annotations

import math
from fractions import Fraction

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.contact.friction import moreau
from daesolve.errors import PosingError, UnsupportedError
from tests.contact.decisions.cases import case, cases


def stepped(name, case_, until, step, **changed):
    bound = ds.problem(name).case(case_, **changed)
    guess, initial = bound.guess()
    return moreau(bound.system, {**guess, **initial}, until, step, bound.values)


def misses(name, case_, until, steps, state):
    """Return by how much a state at the end differs from that of events, step by step."""
    known = ds.problem(name).case(case_).solve(until=until)[state][-1]
    return [abs(stepped(name, case_, until, step)[state][-1] - known) for step in steps]


@pytest.mark.long
def test_steps_of_a_block_that_is_shaken_are_of_order_one():
    """It sticks and slips; half the step is half the error, to the next order."""
    first, second = misses("block", "shaken", 0.5, (4e-4, 2e-4), "x")
    assert second / first == pytest.approx(0.5, abs=0.05)
    assert first <= 4e-4 * 0.2  # a step at the speed of the table


@pytest.mark.long
def test_steps_of_a_slider_in_clearance_are_of_order_one():
    first, second = misses("slider-crank-clearance", "clearance", 0.3, (2e-4, 1e-4), "theta")
    assert second / first == pytest.approx(0.5, abs=0.05)


@pytest.mark.long
def test_steps_of_a_tripod_in_space_are_of_order_one():
    """It slides and spins, one foot sticks before the others, and all rest after 0.26457 s."""
    first, second = misses("tripod", "spins", 0.3, (1e-3, 5e-4), "x")
    assert second / first == pytest.approx(0.5, abs=0.05)
    run = stepped("tripod", "spins", 0.3, 1e-3)
    assert run.rest_time == pytest.approx(0.26457094, abs=1e-3)
    # Each step turns a quaternion by w h, and lengthens it by (w h)^2 / 8 at most.
    assert run.violation <= 265 * (6.0 * 1e-3) ** 2 / 4
    # Its weight is borne, and friction is against the slip of the end of each step.
    np.testing.assert_allclose(sum(run.reactions.values()), 9.81, atol=1e-10)
    assert run.frictions["foot_1"].shape == (300, 2)
    assert np.all(np.diff(run.friction_work) <= 1e-16)


@pytest.mark.long
def test_a_block_tips_and_comes_to_rest_where_events_say_the_nearer_the_shorter_steps_are():
    """As prototypes had it: 2.2e-6, 1.1e-6 and 5.7e-7 m, and 14, 8 and 4 ms too early."""
    known = case("tips_and_rocks_to_rest")["values"]
    place, late = known["x_rest"]["value"], known["t_rest"]["value"]
    for step, off, early in ((1e-4, 2.2e-6, 0.014), (5e-5, 1.1e-6, 0.008), (2.5e-5, 5.7e-7, 0.004)):
        run = stepped("block", "tips", 1.65, step)
        assert place - run["x"][-1] == pytest.approx(off, rel=0.05)
        assert late - run.rest_time == pytest.approx(early, abs=7e-4)


@pytest.mark.long
def test_steps_of_the_woodpecker_fall_as_far_as_the_toy_the_nearer_the_shorter_they_are():
    """Ten times in a period it changes what it does, each up to a step late, at up to 0.5 m/s."""
    steps = (1e-4, 2.5e-5, 6.25e-6)
    off = misses("woodpecker", "cycle", 0.14, steps, "y")
    assert off[0] > off[1] > off[2]
    assert all(miss <= 10 * 0.5 * step for miss, step in zip(off, steps, strict=True))


@pytest.mark.long
def test_steps_of_a_slider_tend_to_the_angle_that_another_program_extrapolated():
    """1.8 s; steps of 2e-5 and 1e-5 s are -1.3e-2 and -5.8e-3 off there: twice the one less."""
    known = case("slider_crank_clearance")["values"]["theta_at_t_end"]["value"]
    ends = [
        stepped("slider-crank-clearance", "clearance", 1.8, step)["theta"][-1]
        for step in (8e-5, 4e-5)
    ]
    assert abs(2.0 * ends[1] - ends[0] - known) < 0.3 * abs(ends[1] - known)


def test_balls_that_touch_part_with_the_rational_speeds_of_newton():
    run = stepped("newtons-cradle", "line-newton", 0.01, 1e-3)
    wanted = [float(Fraction(n)) for n in cases("three_touching_balls")[0]["exact_newton"]]
    ends = [run[f"x_dot_{k}"][-1] for k in (1, 2, 3)]
    assert ends == pytest.approx(wanted, abs=1e-14)
    assert run.frictions == {}


def test_energy_less_the_work_of_friction_is_kept_to_rounding():
    """Sliding on both feet: forces are constant, so that steps take their work exactly."""
    run = stepped("block", "slides", 0.5, 1e-2)
    assert np.ptp(run.energy - run.friction_work) <= 1e-13
    assert np.all(np.diff(run.friction_work) < 0.0)
    assert np.all(run.slipping["rear"] & run.slipping["front"])
    pushed = run.reactions["rear"] + run.reactions["front"]
    np.testing.assert_allclose(pushed, 9.81 * math.cos(0.1), atol=1e-12)
    rubs = (run.frictions["rear"] + run.frictions["front"]) / np.diff(run.times)
    np.testing.assert_allclose(rubs, -0.3 * pushed, atol=1e-12)


@pytest.mark.slow
def test_what_friction_holds_stays_where_it_is():
    run = stepped("block", "slides", 1.0, 1e-2, incline=0.2)
    assert run.rest_time is None or run.rest_time < 1.0
    still = moreau(
        ds.problem("block").case("slides", incline=0.2).system,
        {"x": 0.0, "y": 0.2, "theta": 0.0, "x_dot": 0.0, "y_dot": 0.0, "theta_dot": 0.0},
        1.0,
        1e-2,
        {"incline": 0.2},
    )
    # 0.2 rad are less than mu = 0.3; a hundred steps, each of which rounds h g.
    assert abs(still["x"][-1]) <= 100 * 1e-2 * 1e-16 * 9.81 * 1e-2
    assert not np.any(still.slipping["rear"])


@pytest.mark.long
def test_restitution_throws_back_what_falls():
    q = ds.coordinates(x="m", y="m")
    floor = ds.Contact(
        "floor", q.y, slip=q.dot.x, friction=0.0, restitution=0.5,
        tangential_restitution=0.0, closed=False,
    )  # fmt: skip
    ball = ds.MechanicalSystem(
        q, kinetic=(q.dot.x**2 + q.dot.y**2) / 2, potential=9.81 * q.y, goals=[floor]
    )
    run = moreau(ball, {"x": 0.0, "y": 1.25, "x_dot": 1.0, "y_dot": 0.0}, 0.6, 1e-4)
    hit = int(np.flatnonzero(run.loaded["floor"])[0])
    # In the step of the impact gravity acts beside it.
    up = 0.5 * abs(run["y_dot"][hit])
    assert run["y_dot"][hit + 1] == pytest.approx(up, abs=9.81 * 1e-4)
    assert run["x_dot"][-1] == 1.0


def test_what_time_steps_cannot_do_is_refused():
    q = ds.coordinates(x="m", y="m")
    floor = ds.Contact("floor", q.y, slip=q.dot.x, friction=0.3)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    start = {"x": 0.0, "y": 0.0}
    watched = ds.MechanicalSystem(
        q,
        kinetic=kinetic,
        goals=[floor],
        events=[ds.Event("far", q.x - 1.0, ds.RISING, ds.Record())],
    )
    with pytest.raises(UnsupportedError, match="the event 'far' cannot be watched"):
        moreau(watched, start, 1.0, 0.1)
    smooth = ds.Contact("floor", q.y)
    dragged = ds.MechanicalSystem(
        q, kinetic=kinetic, goals=[smooth], force={"x": -0.1 * smooth.reaction}
    )
    with pytest.raises(UnsupportedError, match="'floor' appears in a force"):
        moreau(dragged, start, 1.0, 0.1)
    held = ds.discrete(held=1.0)
    latched = ds.MechanicalSystem(
        q,
        kinetic=kinetic,
        discrete=held,
        goals=[floor, ds.Holonomic("latch", q.x, held_by="held")],
    )
    with pytest.raises(UnsupportedError, match="'latch' is released at events"):
        moreau(latched, start, 1.0, 0.1)
    free = ds.MechanicalSystem(q, kinetic=kinetic, potential=ca.SX(0))
    with pytest.raises(PosingError, match="with contacts, or with"):
        moreau(free, start, 1.0, 0.1)
