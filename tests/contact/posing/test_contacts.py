"""Contacts that open and close: against closed forms and motions switched by hand."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.contact.complementarity.answers import VariantSolution
from daesolve.contact.complementarity.horizontal import HorizontalComplementarity
from daesolve.contact.complementarity.policies import solve
from daesolve.core.preparation.prepared import Prepared
from daesolve.errors import (
    NoValidVariant,
)
from tests.contact_systems import ball, beam
from tests.reference import contacts as reference
from tests.systems import numbers, prepared_run

GRAVITY = 9.81
SWITCHED = 1e-10
"""To what motions that are switched by hand are known, after a few impacts."""


def happened(run: ds.Trajectory) -> list[str]:
    return [event.name for event in run.events]


# -- a bead that leaves a sphere -------------------------------------------------------------------


@cache
def bead() -> ds.MechanicalSystem:
    """A bead on a sphere of 1 m over a floor, all of it smooth."""
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(gravity=(GRAVITY, "m/s^2"), restitution=0.0)
    sphere = ds.Contact("sphere", ca.sqrt(q.x**2 + q.y**2) - 1.0)
    floor = ds.Contact("floor", q.y + 1.0, restitution=p.restitution, closed=False)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=p.gravity * q.y,
        goals=[sphere, floor],
    )


TOP = math.cos(0.3)
AT_REST = {"x": math.sin(0.3), "y": TOP, "x_dot": 0.0, "y_dot": 0.0}


def landing() -> tuple[float, float, float, float]:
    """When a bead from rest lands, s, where, m, and its velocity there, m/s."""
    cosine = 2.0 * TOP / 3.0
    sine, speed = math.sqrt(1.0 - cosine**2), math.sqrt(GRAVITY * cosine)
    falling = speed * sine
    flight = (-falling + math.sqrt(falling**2 + 2.0 * GRAVITY * (cosine + 1.0))) / GRAVITY
    time = reference.sliding_time(0.3, 1.0, GRAVITY) + flight
    return time, sine + speed * cosine * flight, speed * cosine, -falling - GRAVITY * flight


@pytest.mark.core
def test_a_bead_leaves_a_sphere_at_two_thirds_of_its_height_flies_and_lands():
    run = ds.solve(bead(), until=2.0, initial=AT_REST, at=[0.3, 0.7, 2.0])
    assert happened(run) == ["sphere_lost", "floor_closed"]
    lost, closed = run.events
    assert lost.detail["y"] == pytest.approx(2.0 * TOP / 3.0, abs=1e-14)
    assert lost.time == pytest.approx(reference.sliding_time(0.3, 1.0, GRAVITY), abs=1e-13)
    time, place, along, down = landing()
    assert closed.time == pytest.approx(time, abs=1e-13)
    assert closed.detail["x"] == pytest.approx(place, abs=1e-13)
    assert closed.impact is not None
    assert closed.impact.impulses["floor"] == pytest.approx(-down, rel=1e-13)
    assert closed.impact.kinetic_after == pytest.approx(along**2 / 2, rel=1e-13)
    assert run["x"][-1] == pytest.approx(place + along * (2.0 - time), abs=1e-12)
    assert run["y"][-1] == pytest.approx(-1.0, abs=1e-14)
    assert run["sphere"][1:].tolist() == [0.0, 0.0]
    assert run["floor"].tolist() == pytest.approx([0.0, 0.0, GRAVITY], rel=1e-13)
    assert max(drift.max_relative for drift in run.drift.values()) < 1e-14


def test_while_it_is_closed_a_contact_is_a_constraint():
    posed = bead()
    q = posed.coordinates
    held = ds.MechanicalSystem(
        q,
        posed.parameters,
        kinetic=posed.kinetic,
        potential=posed.potential,
        goals=[ds.Holonomic("sphere", ca.sqrt(q.x**2 + q.y**2) - 1.0)],
    )
    until = 0.99 * reference.sliding_time(0.3, 1.0, GRAVITY)
    contact = ds.solve(posed, until=until, initial=AT_REST)
    constraint = ds.solve(held, until=until, initial=AT_REST)
    for name in ("x", "y", "x_dot", "y_dot", "sphere"):
        assert np.max(np.abs(contact[name] - constraint[name])) < 1e-13 * GRAVITY


@pytest.mark.parametrize("solver", [ds.Dop853(), ds.Cvodes()], ids=lambda solver: solver.name)
def test_other_solvers_find_the_same_release_and_landing(solver: Any):
    run = ds.solve(bead(), until=1.5, initial=AT_REST, solver=solver)
    assert happened(run) == ["sphere_lost", "floor_closed"]
    assert run.events[1].time == pytest.approx(landing()[0], abs=1e-8)


def test_friction_enters_the_force_by_the_reaction_and_goes_with_it():
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(friction=(0.3, ""))
    sphere = ds.Contact("sphere", ca.sqrt(q.x**2 + q.y**2) - 1.0)
    rubbing = -p.friction * sphere.reaction
    rough = ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=q.y,
        goals=[sphere],
        force={"x": rubbing * q.y, "y": -rubbing * q.x},
    )
    start = {"x": 0.0, "y": 1.0, "x_dot": 0.7, "y_dot": 0.0}
    run = ds.solve(rough, until=4.0, initial=start)
    time, (angle, rate) = reference.rough_release(0.0, 0.7, 0.3)
    assert happened(run) == ["sphere_lost"]
    assert run.events[0].time == pytest.approx(time, abs=SWITCHED)
    flight = 4.0 - time
    assert run["x"][-1] == pytest.approx(
        math.sin(angle) + rate * math.cos(angle) * flight, abs=10 * SWITCHED
    )
    assert run["y"][-1] == pytest.approx(
        math.cos(angle) - rate * math.sin(angle) * flight - flight**2 / 2, abs=10 * SWITCHED
    )


# -- what is let go of with a contact --------------------------------------------------------------


def test_a_disc_that_rolls_off_a_cylinder_lets_go_of_rolling_too():
    """It leaves where cos is 4/7 of that at the start (J = m r^2 / 2), and spins on."""
    q = ds.coordinates(x="m", y="m", turn="rad")
    radius = 0.25
    reach = ca.sqrt(q.x**2 + q.y**2)
    cylinder = ds.Contact("cylinder", reach - 1.0 - radius)
    along = (q.y * q.dot.x - q.x * q.dot.y) / reach
    rolling = ds.Nonholonomic("rolling", along - radius * q.dot.turn, held_by="contact_cylinder")
    disc = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2 + radius**2 * q.dot.turn**2 / 4,
        potential=GRAVITY * q.y,
        goals=[cylinder, rolling],
    )
    start = {"x": 1.25 * math.sin(0.2), "y": 1.25 * math.cos(0.2), "turn": 0.0, "turn_dot": 0.0}
    run = ds.solve(disc, until=2.5, initial=start)
    assert happened(run) == ["cylinder_lost"]
    height = 4.0 / 7.0 * math.cos(0.2)
    assert run.events[0].detail["y"] == pytest.approx(1.25 * height, abs=1e-13)
    spin = math.sqrt(GRAVITY * 1.25 * height) / radius
    assert run["turn_dot"][-1] == pytest.approx(spin, rel=1e-13)
    assert run["rolling"][-1] == run["cylinder"][-1] == 0.0
    assert run.drift["rolling"].max_relative < 1e-14


def test_a_string_goes_slack_and_pulls_taut_again():
    """Slack at an angle a over the level where v^2 = g L sin a; taut again 4 v cos a / g later."""
    q = ds.coordinates(x="m", y="m")
    string = ds.Contact("string", 1.0 - ca.sqrt(q.x**2 + q.y**2))
    pendulum = ds.MechanicalSystem(
        q, kinetic=(q.dot.x**2 + q.dot.y**2) / 2, potential=GRAVITY * q.y, goals=[string]
    )
    speed = math.sqrt(3.5 * GRAVITY)
    start = {"x": 0.0, "y": -1.0, "x_dot": speed, "y_dot": 0.0}
    run = ds.solve(pendulum, until=1.5, initial=start)
    slack, taut = run.events[:2]
    sine, cosine = 0.5, math.sqrt(0.75)
    assert [slack.name, taut.name] == ["string_lost", "string_closed"]
    assert slack.detail["y"] == pytest.approx(sine, abs=1e-14)
    flight = 4.0 * math.sqrt(GRAVITY * sine) * cosine / GRAVITY
    assert taut.time - slack.time == pytest.approx(flight, abs=1e-13)
    assert taut.after is not None
    left = taut.after["x"] * taut.after["x_dot"] + taut.after["y"] * taut.after["y_dot"]
    assert abs(left) < 1e-14 * speed


def test_a_constraint_is_let_go_of_by_an_event_of_the_user():
    q, d = ds.coordinates(y="m"), ds.discrete(held=1.0)
    latch = ds.Holonomic("latch", q.y - 1.0, held_by="held")
    opens = ds.Event("opens", ds.time - 0.5, ds.RISING, ds.Reset({"held": 0.0}))
    weight = ds.MechanicalSystem(
        q,
        kinetic=q.dot.y**2 / 2,
        potential=10.0 * q.y,
        goals=[latch],
        discrete=d,
        events=[opens],
    )
    run = ds.solve(weight, until=1.0, initial={"y": 1.0}, at=[0.25, 1.0])
    assert run["y"].tolist() == pytest.approx([1.0, 1.0 - 5.0 * 0.25], abs=1e-14)
    assert run["latch"].tolist() == pytest.approx([10.0, 0.0], abs=1e-13)


def test_a_load_that_is_switched_on_lifts_at_once():
    q, d = ds.coordinates(y="m"), ds.discrete(lift=0.0)
    floor = ds.Contact("floor", q.y)
    on = ds.Event("on", ds.time - 0.5, ds.RISING, ds.Reset({"lift": 1.0}))
    weight = ds.MechanicalSystem(
        q,
        kinetic=q.dot.y**2 / 2,
        potential=10.0 * q.y,
        force={"y": 14.0 * d.lift},
        goals=[floor],
        discrete=d,
        events=[on],
    )
    run = ds.solve(weight, until=1.0, initial={"y": 0.0}, at=[1.0])
    assert [(event.name, event.time) for event in run.events] == [("on", 0.5), ("floor_lost", 0.5)]
    assert run["y"][0] == pytest.approx(4.0 * 0.5**2 / 2.0, rel=1e-13)


# -- several contacts ------------------------------------------------------------------------------


@cache
def resting() -> Prepared:
    """A rod at rest on both of its ends."""
    return prepared_run(beam(), 1.0, {"y": 0.0, "angle": 0.0})


@settings(derandomize=True, max_examples=60, deadline=None)
@given(force=st.floats(-2.0, 2.0), moment=st.floats(-2.0, 2.0))
def test_which_ends_of_a_rod_open_is_decided_for_both_together(force: float, moment: float):
    ends = np.array([-0.5, 0.5])
    edges = [force + 2.0 * end * moment * 2.0 for end in ends]
    edges += [force + 12.0 * end * moment for end in ends]
    assume(min(map(abs, edges)) > 1e-6)
    prepared = resting()
    values = numbers(prepared, force=force, moment=moment)
    assert prepared.transitions is not None
    transitions, place = prepared.transitions.fresh(), (0.0, prepared.initial, values)
    jumps = [*transitions.jumps(*place, transitions.due(*place))]
    for jump in jumps:
        values = jump.p
    places = [[*prepared.dynamics.values].index(f"contact_{name}") for name in ("left", "right")]
    opened = reference.open_ends(1.0, 1.0 / 12.0, 0.5, force, moment)
    assert {k for k, place in enumerate(places) if values[place] == 0.0} == opened
    assert len(jumps) == (1 if opened else 0)


def test_both_reactions_pull_but_one_end_stays_closed():
    """-0.4 N and -1.0 N at the ends of a rod that is turned more than it is lifted."""
    loads = {"force": 1.4, "moment": 0.3}
    shares = np.linalg.solve([[1.0, 1.0], [-0.5, 0.5]], [-1.4, -0.3])
    assert np.all(shares < 0.0)
    run = ds.solve(beam(), until=0.1, initial={"y": 0.0, "angle": 0.0}, parameters=loads)
    assert happened(run) == ["right_lost"]
    assert run["left"][-1] > 0.0


def test_what_opens_at_one_instant_opens_together():
    loads = {"force": -1.0, "fading": 2.0}
    run = ds.solve(beam(), until=1.0, initial={"y": 0.0, "angle": 0.0}, parameters=loads, at=[1.0])
    assert happened(run) == ["left_lost", "right_lost"]
    assert [event.time for event in run.events] == pytest.approx([0.5, 0.5], abs=1e-14)
    assert run["y"][0] == pytest.approx(0.5**3 / 3.0, rel=1e-12)


def test_an_end_that_strikes_loads_the_end_that_rests():
    """J M^-1 J^T = [[4, -2], [-2, 4]] 1/kg: the ends get a sixth and a third of 1 kg w."""
    loads = {"force": -1.0, "contact_right": 0.0}
    run = ds.solve(beam(), until=2.0, initial={"angle": 0.3, "angle_dot": 0.0}, parameters=loads)
    assert happened(run) == ["right_closed"]
    met = run.events[0]
    speed = -met.detail["angle_dot"]
    assert speed**2 == pytest.approx(2.0 * 0.5 * math.sin(0.3) * 3.0, rel=1e-12)
    assert met.impact is not None
    found = [met.impact.impulses[name] for name in ("left", "right")]
    assert found == pytest.approx([speed / 6.0, speed / 3.0], rel=1e-12)
    assert met.impact.kinetic_after < 1e-28


def block() -> ds.MechanicalSystem:
    """A block, 0.4 m wide, its centre 0.3 m over its base, r^2 = 0.5 m^2, on a smooth floor."""
    q = ds.coordinates(x="m", y="m", angle="rad")
    c, s = ca.cos(q.angle), ca.sin(q.angle)
    corners = [
        ds.Contact(name, q.y - 0.3 * c + side * s, closed=name == "right")
        for name, side in (("left", -0.2), ("right", 0.2))
    ]
    kinetic = (q.dot.x**2 + q.dot.y**2 + 0.5 * q.dot.angle**2) / 2
    return ds.MechanicalSystem(q, kinetic=kinetic, potential=GRAVITY * q.y, goals=corners)


def test_a_block_rocks_from_corner_to_corner():
    run = ds.solve(block(), until=1.5, initial={"x": 0.0, "angle": -0.1, "x_dot": 0.1,
                                                "angle_dot": 0.0})  # fmt: skip
    times, (angle, rate) = reference.rocking_block(0.2, 0.3, 0.5, GRAVITY, -0.1, 1.5)
    assert len(times) >= 3
    names = ["left_closed", "right_lost", "right_closed", "left_lost"] * len(times)
    paired = [{*names[k : k + 2]} for k in range(0, 2 * len(times), 2)]
    found = [{*happened(run)[k : k + 2]} for k in range(0, run.event_count, 2)]
    assert found == paired
    assert [event.time for event in run.events[::2]] == pytest.approx(times, abs=SWITCHED)
    assert run["angle"][-1] == pytest.approx(angle, abs=SWITCHED)
    assert run["angle_dot"][-1] == pytest.approx(rate, abs=10 * SWITCHED)
    assert run["x"][-1] == pytest.approx(0.15, abs=1e-13)
    assert run.drift["energy"].max_relative < 1e-13


@pytest.mark.slow
def test_a_double_pendulum_falls_on_a_stop_rests_and_is_lifted_off():
    q = ds.coordinates(a="rad", b="rad")
    mixed = q.dot.a * q.dot.b * ca.cos(q.a - q.b)
    stop = ds.Contact("stop", q.a - 0.1, closed=False)
    pendulum = ds.MechanicalSystem(
        q,
        kinetic=q.dot.a**2 + q.dot.b**2 / 2 + mixed,
        potential=-GRAVITY * (2.0 * ca.cos(q.a) + ca.cos(q.b)),
        goals=[stop],
    )
    start = np.array([0.5, 0.9, 0.0, 0.0])
    free, resting = reference.double_pendulum_rates(GRAVITY), reference.stopped_rates(GRAVITY)
    hit, state = reference.until_zero(free, lambda _, x: x[0] - 0.1, start, 0.0, 3.0)
    state = reference.thrown_at_stop(state, 0.0)
    lifted, state = reference.until_zero(
        resting, lambda _, x: reference.stop_reaction(GRAVITY, x), state, hit, 3.0
    )
    until = lifted + 0.2
    expected = reference.flown(free, state, lifted, until)
    run = ds.solve(pendulum, until=until, initial=dict(zip(["a", "b", "a_dot", "b_dot"], start,
                                                           strict=True)))  # fmt: skip
    assert happened(run) == ["stop_closed", "stop_lost"]
    assert [event.time for event in run.events] == pytest.approx([hit, lifted], abs=SWITCHED)
    found = [run[name][-1] for name in ("a", "b", "a_dot", "b_dot")]
    assert found == pytest.approx(expected, abs=SWITCHED)
    assert run.drift["energy"].max_relative < 1e-14


# -- coming to rest --------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_block_that_rocks_comes_to_rest_on_both_corners():
    start = {"x": 0.0, "angle": -0.02, "x_dot": 0.0, "angle_dot": 0.0}
    run = ds.solve(block(), until=3.0, initial=start)
    assert run.events[-1].time < 2.0
    assert abs(run["angle"][-1]) < 1e-15
    assert [run["left"][-1], run["right"][-1]] == pytest.approx([GRAVITY / 2] * 2, rel=1e-12)
    assert run.drift["energy"].max_relative < 1e-12


def test_a_bouncing_ball_comes_to_rest():
    """The last bounce is that from which it would not rise by what counts as a gap of zero."""
    run = ds.solve(ball(closed=False), until=2.0, initial={"y": 1.25})
    assert run.outcome is ds.Outcome.COMPLETED
    speeds = [-event.detail["y_dot"] for event in run.events]
    assert speeds == pytest.approx([5.0 * 0.5**k for k in range(len(speeds))], rel=1e-9)
    # The gap's largest value is 1.25 m, of which 1e-12 counts as zero.
    rising = math.sqrt(2.0 * 10.0 * 1.25e-12)
    assert 0.5 * speeds[-1] <= rising < 0.5 * speeds[-2]
    assert 1.5 - run.events[-1].time == pytest.approx(0.2 * speeds[-1], rel=1e-6)
    assert run["y"][-1] == pytest.approx(0.0, abs=1e-15)
    assert run["floor"][-1] == pytest.approx(10.0, rel=1e-14)
    impacts = [event.impact for event in run.events]
    assert sum(impact.kinetic_before - impact.kinetic_after for impact in impacts if impact) == (
        pytest.approx(12.5, rel=1e-12)
    )


def test_a_ball_that_rests_at_the_start_stays():
    run = ds.solve(ball(), until=1.0, initial={"y": 0.0})
    assert run.event_count == 0
    assert run["floor"][-1] == pytest.approx(10.0, rel=1e-14)


def test_a_ball_on_the_floor_is_held_though_it_was_said_to_be_open():
    run = ds.solve(ball(closed=False), until=1.0, initial={"y": 0.0, "y_dot": 0.0})
    assert [(event.name, event.time) for event in run.events] == [("floor_closed", 0.0)]
    assert run["floor"][-1] == pytest.approx(10.0, rel=1e-14)


# -- Painleve's paradox ----------------------------------------------------------------------------


def rod_answers(rate: float, friction: float) -> VariantSolution:
    """How a rod (m = 1 kg, 2 m long, at 60 degrees) that slides on its end may answer: m = 1."""
    angle, inertia = math.pi / 3.0, 1.0 / 3.0
    s, c = math.sin(angle), math.cos(angle)
    smooth = 1.0 + c * c / inertia
    rough = smooth - friction * s * c / inertia
    free = s * rate**2 - GRAVITY
    problem = HorizontalComplementarity(
        first=np.array([[-1.0]]),
        second=np.array([[rough]]),
        load=np.array([-free]),
        first_normal=np.array([[-1.0]]),
        second_normal=np.array([[smooth]]),
        names=("end",),
    )
    return solve(problem)


def test_painleves_rod_is_named():
    """1 + 3 c^2 - 3 mu s c is negative from mu = 1.347: pressing down has then no answer."""
    assert rod_answers(0.0, 1.3).chosen is not None
    with pytest.raises(NoValidVariant):
        rod_answers(0.0, 1.4)
    lifted = rod_answers(4.0, 1.4)
    assert lifted.chosen is not None
    assert lifted.chosen.variant == (1,)
    assert [answer.variant for answer in lifted.unphysical] == [(2,)]


def test_a_run_into_painleves_paradox_ends_with_its_name():
    q = ds.coordinates(x="m", y="m", angle="rad")
    p = ds.parameters(friction=1.4)
    s = ca.sin(q.angle)
    end = ds.Contact("end", q.y - s)
    rubbing = -p.friction * end.reaction
    rod = ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2 + q.dot.angle**2 / 3.0) / 2,
        potential=GRAVITY * q.y,
        goals=[end],
        force={"x": -rubbing, "angle": -rubbing * s},
    )
    start = {"x": 0.0, "x_dot": -1.0, "angle": math.pi / 3.0, "angle_dot": 0.0}
    run = ds.solve(rod, until=1.0, initial=start)
    assert run.outcome is ds.Outcome.FAILED
    assert "it is not determined which of the contacts 'end' open" in run.message


# -- edges under a contact -------------------------------------------------------------------------


def over_an_edge(until: float, gap: Any, restitution: float = 0.0, *further: Any) -> ds.Trajectory:
    """A mass of 1 kg in a gravity of 1 m/s^2 comes along a plane with 1 m/s: at x = 0 after 1 s."""
    q = ds.coordinates(x="m", y="m", z="m")
    kinetic = (q.dot.x**2 + q.dot.y**2 + q.dot.z**2) / 2
    goals = [*[goal(q) for goal in further], ds.Contact("floor", gap(q), restitution=restitution)]
    system = ds.MechanicalSystem(q, kinetic=kinetic, potential=q.y, goals=goals)
    return ds.solve(system, until, {"x": -1.0, "x_dot": 1.0})


def test_a_contact_lifts_off_at_a_convex_edge_and_lands_on_the_slope_behind_it():
    """It falls by s^2 / 2 while the slope falls by s: for 2 s, to (2, -2) with (1, -2). The slope
    leaves (3/2, -3/2), and adds (1/2, -1/2) a second."""
    run = over_an_edge(4.0, lambda q: q.y + ca.fmax(q.x, 0.0))
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert happened(run) == ["floor_switch_1", "floor_lost", "floor_closed"]
    assert [event.time for event in run.events] == pytest.approx([1.0, 1.0, 3.0], abs=1e-13)
    ends = [run.end_state[name] for name in ("x", "y", "x_dot", "y_dot")]
    assert ends == pytest.approx([3.75, -3.75, 2.0, -2.0], abs=1e-12)


def test_a_contact_meets_a_concave_edge_with_an_impact():
    """A slope of 45 degrees turns (1, 0) into (1/2, 1/2), which falls by (1/4, 1/4) in 1/2 s; an
    elastic one throws it straight up."""
    run = over_an_edge(1.5, lambda q: q.y - ca.fmax(q.x, 0.0))
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    ends = [run.end_state[name] for name in ("x", "y", "x_dot", "y_dot")]
    assert ends == pytest.approx([0.1875, 0.1875, 0.25, 0.25], abs=1e-13)
    (impact,) = [event.impact for event in run.events if event.impact is not None]
    assert impact.impulses["floor"] == pytest.approx(0.5, abs=1e-13)
    thrown = over_an_edge(1.5, lambda q: q.y - ca.fmax(q.x, 0.0), 1.0)
    ends = [thrown.end_state[name] for name in ("x", "y", "x_dot", "y_dot")]
    assert ends == pytest.approx([0.0, 0.5 - 0.125, 0.0, 0.5], abs=1e-13)


def test_a_contact_is_left_by_a_floor_that_begins_to_fall():
    run = over_an_edge(2.0, lambda q: q.y + ca.fmax(ds.time - 1.0, 0.0))
    assert happened(run) == ["floor_switch_1", "floor_lost"]
    assert run.end_state["y"] == pytest.approx(-0.5, abs=1e-13)


@pytest.mark.parametrize("factor", [1.0, 2.0], ids=["one switch", "two at once"])
def test_an_impact_elsewhere_opens_a_contact_that_would_have_to_pull_in_it(factor: float):
    """A rail turns up where the floor falls off: it halves the speed, and the body falls."""
    run = over_an_edge(
        1.5,
        lambda q: q.y + ca.fmax(factor * q.x, 0.0),
        0.0,
        lambda q: ds.Holonomic("rail", q.z - ca.fmax(q.x, 0.0)),
    )
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert "floor_lost" in happened(run)
    ends = [run.end_state[name] for name in ("x", "y", "z", "x_dot", "y_dot", "z_dot")]
    assert ends == pytest.approx([0.25, -0.125, 0.25, 0.5, -0.5, 0.5], abs=1e-12)
