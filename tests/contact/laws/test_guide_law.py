"""Bodies that come to rest in space, turn round there, stick, or begin to move from rest."""

from __future__ import annotations

import math

import casadi as ca
import pytest

import daesolve as ds
from daesolve.errors import SupportSticks
from tests.sliding_bodies import DISC, FRICTION, GRAVITY, INERTIA, RADIUS, disc

GRIP = FRICTION * GRAVITY
"""N, of the disc of 1 kg."""


def happened(run):
    return [event.name for event in run.events]


# -- a disc comes to rest --------------------------------------------------------------------------


@pytest.mark.slow
def test_a_disc_that_only_slides_stops_as_a_block():
    run = ds.solve(DISC(), 2.0, {"x_dot": 0.6, "y_dot": 0.8}, at=[0.1, 2.0])
    assert happened(run) == ["at_rest"]
    assert run.end_time == pytest.approx(1.0 / GRIP, rel=1e-14)
    assert run.end_state["x"] == pytest.approx(0.6 / (2 * GRIP), rel=1e-14)
    assert run["friction_work"][0] == pytest.approx(-GRIP * (0.1 - GRIP * 0.005), rel=1e-13)


@pytest.mark.slow
def test_a_disc_that_only_spins_is_not_at_rest():
    """The moment of even pressure is 2/3 f N r."""
    run = ds.solve(DISC(), 2.0, {"phi_dot": 5.0}, at=[0.1])
    assert happened(run) == ["at_rest"]
    assert run.end_time == pytest.approx(5.0 * INERTIA / (2.0 / 3.0 * GRIP * RADIUS), rel=1e-13)


@pytest.mark.slow
def test_slide_and_spin_of_a_disc_end_together():
    """Farkas, Bartels, Unger, Wolf (2003): a uniform disc stops both at once, v / (r w) = 0.653."""
    run = ds.solve(DISC(), 2.0, {"x_dot": 1.0, "phi_dot": 5.0}, at=[0.1])
    assert happened(run) == ["at_rest"]
    last = run.end_state
    assert last["x_dot"] / (RADIUS * last["phi_dot"]) == pytest.approx(0.653, abs=5e-4)


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("0.15-dop853", "0.25-dop853")
@pytest.mark.parametrize("solver", ["taylor", "dop853", "radau"])
@pytest.mark.parametrize("off", [0.15, 0.25])
def test_supports_that_stop_at_one_instant_are_reported_together(solver, off):
    """A drawer of 0.5 m stops at x = 2 f e ln(0.5 / (0.5 - x)); its supports slide at one speed."""
    q = ds.coordinates(x="m", y="m", turn="rad")

    def pair(name, along):
        def side(across, push):
            speed = (q.dot.x - across * q.dot.turn, q.dot.y + along * q.dot.turn)
            return ds.friction.Support(velocity=speed, normal=(0.0, push), friction=0.4)

        return ds.friction.VariantPair(name, [side(0.3, -1.0), side(-0.3, 1.0)])

    drawer = ds.MechanicalSystem(
        q,
        kinetic=q.dot.x**2 + q.dot.y**2 + 0.04 * q.dot.turn**2,
        force={"x": 10.0, "turn": -10.0 * off},
        goals=[ds.Holonomic("side", q.y, ideal=False), ds.Holonomic("level", q.turn, ideal=False)],
        pairs=[pair("edge", 0.25 - q.x), pair("back", -0.25)],
    )
    run = ds.solve(drawer, 5.0, {"x": 0.0}, solver=solver)
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT, run.message
    assert happened(run) == ["at_rest"]
    x = run.end_state["x"]
    assert x == pytest.approx(2 * 0.4 * off * math.log(0.5 / (0.5 - x)), abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("pad", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_disc_that_is_pulled_back_turns_round_and_slides_on(pad):
    run = ds.solve(disc(pad=pad), 2.0, {"x_dot": 1.0}, parameters={"push": -4.0}, at=[2.0])
    stop, back = 1.0 / (4.0 + GRIP), 4.0 - GRIP
    assert run.outcome is ds.Outcome.COMPLETED
    assert happened(run) == ["at_rest"]
    assert run.events[0].time == pytest.approx(stop, rel=1e-13)
    assert run["x_dot"][0] == pytest.approx(-back * (2.0 - stop), rel=1e-8)
    held = ds.solve(disc(pad=pad), 2.0, {"x_dot": 1.0}, parameters={"push": -2.0}, at=[0.1])
    assert held.end_time == pytest.approx(1.0 / (2.0 + GRIP), rel=1e-13)
    assert "dry friction holds it" in held.message


@pytest.mark.slow
def test_a_disc_on_a_spring_swings_until_friction_holds_it():
    """Each half swing of pi / w loses 2 f m g / k, until it ends within f m g / k."""
    loss = 2.0 * GRIP / 100.0
    start = {"x": 5.3 * loss}
    run = ds.solve(DISC(), 1000.0, start, parameters={"spring": 100.0}, at=[0.1])
    swings = 5
    assert run.outcome is ds.Outcome.STOPPED_BY_EVENT
    assert happened(run)[-1] == "at_rest"
    assert run.end_state["x"] == pytest.approx(-(5.3 - swings) * loss, abs=1e-8)
    assert run.end_time == pytest.approx(swings * math.pi / 10.0, abs=1e-7)


# -- from rest -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_disc_sets_out_where_the_load_exceeds_friction():
    run = ds.solve(DISC(), 1.0, {}, parameters={"push": 4.0}, at=[1.0])
    assert run["x_dot"][0] == pytest.approx(4.0 - GRIP, rel=1e-9)
    assert run["x"][0] == pytest.approx((4.0 - GRIP) / 2, rel=1e-9)
    held = ds.solve(DISC(), 1.0, {}, parameters={"push": 2.9})
    assert (held.end_time, happened(held)) == (0.0, ["at_rest"])
    assert "from the start on" in held.message


@pytest.mark.slow
def test_a_disc_that_has_stopped_is_set_in_motion_by_a_load_that_grows():
    """By 2 t N: v' = 2 t - grip, so v = (t - t_0)^2 and x grows by (t - t_0)^3 / 3."""
    held = ds.solve(DISC(), 4.0, {"x_dot": 0.1}, parameters={"rate": 2.0}, at=[0.1, 4.0])
    assert happened(held) == ["at_rest", "breaks_loose"]
    begin = held.events[-1].time
    assert begin == pytest.approx(GRIP / 2.0, abs=1e-13)
    assert held["x_dot"][-1] == pytest.approx((4.0 - begin) ** 2, abs=1e-11)
    assert held["x"][-1] - held["x"][0] == pytest.approx((4.0 - begin) ** 3 / 3, abs=1e-11)


@pytest.mark.parametrize("speed", [1e-6, 1.234567e-6, 1e-3])
def test_a_motion_that_starts_slow_speeds_up(speed):
    """Along a straight line, where most terms of a Taylor series are zero or rounding."""
    run = ds.solve(DISC(), 1.0, {"x_dot": speed}, parameters={"push": 4.0}, at=[1.0])
    assert run.outcome is ds.Outcome.COMPLETED
    assert run["x_dot"][0] == pytest.approx(speed + 4.0 - GRIP, abs=1e-9)
    assert run["x"][0] == pytest.approx(speed + (4.0 - GRIP) / 2, abs=1e-9)


# -- supports that stick ---------------------------------------------------------------------------


@pytest.mark.slow
def test_a_point_that_stops_under_a_body_that_spins_sticks():
    start = {"x_dot": 0.6, "y_dot": 0.8, "phi_dot": 3.0}
    run = ds.solve(disc(pad=False), 2.0, start, at=[0.1])
    assert run.outcome is ds.Outcome.DEGENERATE
    assert happened(run) == ["support_sticks"]
    assert run.end_time == pytest.approx(1.0 / GRIP, rel=1e-13)
    assert run.end_state["x"] == pytest.approx(0.3 / GRIP, rel=1e-13)
    assert run.end_state["phi_dot"] == 3.0
    with pytest.raises(SupportSticks) as stuck:
        ds.solve(disc(pad=False), 2.0, start, rank_loss="raise")
    assert isinstance(stuck.value.run, ds.Trajectory)
    assert stuck.value.run.end_time == run.end_time


def test_a_ball_slides_until_it_rolls_at_five_sevenths_of_its_speed():
    q = ds.coordinates(x="m", y="m", z="m", a="rad", b="rad")
    contact = (q.dot.x - 0.1 * q.dot.b, q.dot.y + 0.1 * q.dot.a, q.dot.z)
    support = ds.friction.Support(normal=(0.0, 0.0, 1.0), velocity=contact, friction=FRICTION)
    ball = ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector[:3]) / 2 + 0.004 * ca.sumsqr(q.dot.vector[3:]) / 2,
        force={"z": -GRAVITY},
        goals=[ds.Holonomic("table", q.z, ideal=False, scale=1.0)],
        pairs=[ds.friction.VariantPair("normal", [support], kind="unilateral")],
    )
    run = ds.solve(ball, 2.0, {"x_dot": 0.6, "y_dot": 0.8}, at=[0.05])
    assert happened(run) == ["support_sticks"]
    assert run.end_time == pytest.approx(2.0 / 7.0 / GRIP, rel=1e-13)
    assert run.end_state["x_dot"] == pytest.approx(5.0 / 7.0 * 0.6, rel=1e-13)


@pytest.mark.parametrize("pad", [True, False])
def test_on_a_belt_a_disc_passes_rest_and_ends_where_the_belt_carries_it(pad):
    system = disc(pad=pad, carried=True)
    run = ds.solve(system, 2.0, {"x_dot": 1.0}, parameters={"belt": -1.0}, at=[0.1])
    assert happened(run) == ["support_sticks"]
    assert run.end_time == pytest.approx(2.0 / GRIP, rel=1e-13)
    assert run.end_state["x_dot"] == pytest.approx(-1.0, abs=1e-13)
    assert run.end_state["x"] == pytest.approx(0.0, abs=1e-13)


def test_a_slip_that_turns_without_an_end_goes_on():
    """A point on a disc that turns at a constant rate moves in a circle; its slip turns with it."""
    q = ds.coordinates(x="m", z="m", phi="rad")
    p = ds.parameters(friction=(0.1, ""))
    c, s = ca.cos(q.phi), ca.sin(q.phi)
    support = ds.friction.Support(
        normal=(0.0, 0.0, 1.0), point=(0.5 * c, 0.5 * s, q.z), friction=p.friction
    )
    hub = ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.z**2 + 2.0 * q.dot.phi**2) / 2,
        force={"z": -GRAVITY},
        goals=[ds.Holonomic("table", q.z, ideal=False, scale=1.0)],
        pairs=[ds.friction.VariantPair("normal", [support], kind="unilateral")],
    )
    run = ds.solve(hub, 3.0, {"phi_dot": 9.0, "x_dot": 1.0}, at=[3.0])
    slowing = 0.1 * GRAVITY * 0.5 / 2.0
    assert run.event_count == 0
    assert run["phi_dot"][0] == pytest.approx(9.0 - 3.0 * slowing, rel=1e-13)


@pytest.mark.parametrize("along", ["x", "y"])
def test_a_law_of_friction_acts_beside_a_guide(along):
    """A body with a product of inertia, so that its support is loaded by its acceleration too.

    Along the guide the law brakes: x'' = -(mu L + f N), N = g + c x''. Across, where the guide
    holds the body, the law slides for ever and presses: N = g + mu L + c x''.
    """
    q = ds.coordinates(x="m", y="m")
    slip = q.dot.x if along == "x" else q.dot.y + 0.3
    law = ds.multibody.Coulomb(0.5).act("rubs", slip, ca.SX(4.0))
    supports = [
        ds.friction.Support(velocity=(q.dot.x, q.dot.y), normal=(0.0, way), friction=0.2)
        for way in (-1.0, 1.0)
    ]
    system = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2 + 0.5 * q.dot.x * q.dot.y,
        potential=9.81 * q.y,
        force={along: law.force},
        goals=[ds.Holonomic("side", q.y, ideal=False), *law.goals],
        events=law.events,
        discrete=[law.discrete],
        pairs=[ds.friction.VariantPair("pair", supports)],
    )
    run = ds.solve(system, 0.1, {"x": 0.0, "x_dot": 1.0})
    assert run.outcome.good, run.message
    braked, load = (2.0, 9.81) if along == "x" else (0.0, 9.81 + 2.0)
    normal = (load - 0.5 * braked) / (1.0 + 0.5 * 0.2)
    assert run.reactions["pair"] == pytest.approx(normal, rel=1e-12)
    assert run["x_dot"][-1] == pytest.approx(1.0 - 0.1 * (braked + 0.2 * normal), rel=1e-12)


# -- while friction holds a body -------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("begin", [0.0, 1e6])
def test_a_clock_counts_once_and_in_its_direction_at_each_passage_while_a_body_is_held(begin):
    """It slides for 0.5 / (0.4 g) = 0.13 s; sin(10 t) passes zero at multiples of pi / 10."""
    q, count = ds.coordinates(x="m", y="m"), ds.discrete(up=0.0, down=0.0, either=0.0, push=0.1)
    clock = ca.sin(10.0 * (ds.time - begin))
    directions = {"up": ds.RISING, "down": ds.FALLING, "either": ds.EITHER}
    counters = [
        ds.Event(name, clock, way, ds.Reset({name: count[name] + 1.0}))
        for name, way in directions.items()
    ]
    turned = ds.Event("turned", ds.time - begin - 0.7, ds.EITHER, ds.Reset({"push": -count.push}))
    supports = [
        ds.friction.Support(point=(q.x, q.y), normal=(0.0, side), friction=0.4)
        for side in (-1.0, 1.0)
    ]
    block = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        force={"x": count.push, "y": -GRAVITY},
        goals=[ds.Holonomic("floor", q.y, ideal=False, scale=1.0)],
        pairs=[ds.friction.VariantPair("floor_force", supports)],
        discrete=count,
        events=[*counters, turned, ds.Event("mark", clock, ds.RISING)],
    )
    run = ds.solve(block, begin + 1.0, {"x_dot": 0.5}, start_time=begin)
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    turns = [k * math.pi / 10.0 for k in range(1, 4)]
    wanted = {"up": turns[1::2], "mark": turns[1::2], "down": turns[::2], "either": turns}
    for name, moments in wanted.items():
        # At the start the clock sets out upwards.
        times = [e.time - begin for e in run.events if e.name == name and e.time > begin]
        assert times == pytest.approx(moments, rel=1e-14, abs=4.0 * math.ulp(begin)), name
