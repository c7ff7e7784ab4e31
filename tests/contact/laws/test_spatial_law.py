"""Contacts with two directions of slip, through the library's own interface, on the reference."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import daesolve as ds
from tests.contact.decisions.cases import agrees, case, cases
from tests.sliding_tripods import random_tripod
from tests.standing import GRAVITY, ball, brick, sliding, standing, tripod, turned

SHAKES = 0.25, 11.0, 17.0
"""Of a floor: speed in m/s, and rates along x and y in 1/s."""


def spinning(params, height):
    """Where a ball starts."""
    names = ("x_dot", "y_dot", "z_dot", "a_dot", "b_dot", "c_dot")
    rates = dict(zip(names, (*params["v"], *params["omega"]), strict=True))
    return dict.fromkeys(("x", "y", "a", "b", "c"), 0.0) | {"z": height} | rates


@pytest.mark.slow_rows("known0")
@pytest.mark.parametrize("known", cases("ball_with_spin_three_bounces"))
def test_a_ball_with_spin_bounces_three_times(known):
    p, values = known["params"], known["values"]
    system = ball(p["m"], p["r"], p["J_over_mr2"], p["mu"], p["e"])
    fallen = sum(2.0 * -p["v"][2] * p["e"] ** k / p["g"] for k in (1, 2, 3))
    run = ds.solve(system, fallen + 1e-3, spinning(p, p["r"]))
    impacts = [event for event in run.events if event.impact is not None]
    assert len(impacts) == 4
    for number, event in enumerate(impacts[:3], start=1):
        impulses = event.impact.impulses
        assert agrees(impulses["floor"], values[f"b{number}_Ln"], 12)
        assert abs(impulses["floor_stuck_1"] - values[f"b{number}_Lx"]["value"]) <= 1e-13
        assert abs(impulses["floor_stuck_2"] - values[f"b{number}_Ly"]["value"]) <= 1e-13
        assert event.impact.carnot <= 1e-12
    last = impacts[3].detail
    for name, value in (("x", "x_before_4th"), ("y", "y_before_4th"), ("x_dot", "vx")):
        assert agrees(last[name], values[value], 12)
    assert agrees(last["a_dot"], values["wx"], 12)
    assert agrees(last["b_dot"], values["wy"], 12)


@pytest.mark.slow
def test_a_superball_returns_its_slip():
    known = case("superball")
    p, values = known["params"], known["values"]
    system = ball(p["m"], p["r"], p["J_over_mr2"], 0.5, p["eN"], p["eT"])
    run = ds.solve(system, 1e-3, spinning(p, p["r"]))
    (impact,) = run.events
    for name, value in (("x_dot", "v0"), ("z_dot", "v2"), ("a_dot", "w0"), ("b_dot", "w1")):
        assert abs(impact.after[name] - values[value]["value"]) <= 1e-10
    assert impact.impact.kinetic_after == pytest.approx(impact.impact.kinetic_before, rel=1e-13)


@pytest.mark.long
@pytest.mark.parametrize("known", cases("brick_corner_impact"))
def test_a_brick_falls_on_a_corner(known):
    """Its slip turns in the impact; the other corners are in the air."""
    p, values = known["params"], known["values"]
    rolled, pitched, yawed = p["euler_xyz_extrinsic"]
    rotation = np.array(ca.DM(turned(ca.SX(rolled), ca.SX(pitched), ca.SX(yawed))))
    halves = np.array(p["sides"]) / 2
    depth = float(np.abs(rotation[2]) @ halves)
    # w of the body by the rates of its angles: w = E (roll, pitch, yaw)'.
    axes = np.array(
        [
            [math.cos(pitched) * math.cos(yawed), -math.sin(yawed), 0.0],
            [math.cos(pitched) * math.sin(yawed), math.cos(yawed), 0.0],
            [-math.sin(pitched), 0.0, 1.0],
        ]
    )
    rates = np.linalg.solve(axes, p["omega"])
    start = dict(zip(("x_dot", "y_dot", "z_dot"), p["v"], strict=True))
    start |= dict(zip(("roll_dot", "pitch_dot", "yaw_dot"), rates, strict=True))
    start |= {"x": 0.0, "y": 0.0, "z": depth, "roll": rolled, "pitch": pitched, "yaw": yawed}
    run = ds.solve(brick(p), 1e-4, start)
    (event,) = run.events
    corner = event.name.removesuffix("_closed")
    impulses = event.impact.impulses
    assert agrees(impulses[corner], values["Ln"], 11)
    assert agrees(impulses[f"{corner}_stuck_1"], values["Lx"], 11)
    assert agrees(impulses[f"{corner}_stuck_2"], values["Ly"], 11)
    gain = event.impact.kinetic_after - event.impact.kinetic_before
    assert agrees(gain, values["dE"], 10)


@pytest.mark.long
def test_a_tripod_slides_and_spins_until_it_turns_about_one_foot_and_rests():
    known = case("tripod_slides_and_spins_to_rest")["values"]
    run = ds.solve(tripod(), 0.4, sliding(), solver=ds.Taylor())
    names = [event.name for event in run.events]
    assert names == ["foot0_sticks", "foot1_sticks", "foot2_sticks", "rest"]
    # The reference stopped a foot where it still moved; without that it has these numbers.
    assert run.events[0].time == pytest.approx(0.2628506662753, abs=1e-12)
    assert run.events[1].time == run.events[2].time
    assert run.events[1].time == pytest.approx(0.2645709666587, abs=1e-12)
    assert agrees(run["x"][-1], known["x"])
    assert agrees(run["y"][-1], known["y"])
    assert agrees(run["yaw"][-1], known["angle"])
    place = [run[name][-1] for name in ("x", "y", "yaw")]
    np.testing.assert_allclose(place, known["xy_angle_program_1"]["value"], atol=1e-8)
    # It rests on all three, with no friction where nothing pulls.
    for foot in ("foot0", "foot1", "foot2"):
        assert run[foot][-1] == pytest.approx(GRAVITY / 3, rel=1e-12)
    assert run.drift["foot0"].max_relative <= 1e-13


def shaken_point(until, mu):
    """Return when a point on a floor that shakes sticks and slips, and its last slip velocity.

    Its slip obeys c' = -a - mu g c / |c|, the floor's acceleration a. From rest it is followed by
    an implicit method.
    """
    size, first, second = SHAKES

    def push(t):
        return -size * np.array([first * np.cos(first * t), 0.8 * second * np.sin(second * t)])

    def jerk(t):
        rates = first**2 * np.sin(first * t), -0.8 * second**2 * np.cos(second * t)
        return size * np.array(rates)

    def slope(t, c):
        return push(t) - mu * GRAVITY * c / np.linalg.norm(c)

    def spare(t):
        return mu * GRAVITY - np.linalg.norm(push(t))

    def stops(t, c):
        return np.linalg.norm(c) - 1e-9

    stops.terminal = True
    time, happened = 0.0, []
    while True:
        times = np.linspace(time + 1e-6, until, 20001)
        over = np.flatnonzero([spare(t) < 0.0 for t in times])
        if not over.size:
            return happened, np.zeros(2)
        time = brentq(spare, times[over[0] - 1], times[over[0]], xtol=1e-15)
        happened.append(time)
        unit = push(time) / np.linalg.norm(push(time))
        across = np.array([-unit[1], unit[0]])
        step, grows = 2e-5, jerk(time) @ unit
        turn = jerk(time) @ across / (mu * GRAVITY)
        slip = 0.5 * grows * step**2 * (unit + turn * step * across)
        own = {"method": "Radau", "rtol": 1e-12, "atol": 1e-16}
        run = solve_ivp(slope, (time + step, time + step + 1e-3), slip, **own)
        own = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-14, "events": stops}
        run = solve_ivp(slope, (run.t[-1], until), run.y[:, -1], **own)
        time, slip = run.t[-1], run.y[:, -1]
        if not run.t_events[0].size:
            return happened, slip
        time += 1e-9 / -(slope(time, slip) @ slip / np.linalg.norm(slip))
        happened.append(time)


def shaking():
    size, first, second = SHAKES
    return size * ca.sin(first * ds.time), 0.8 * size * (1 - ca.cos(second * ds.time))


@pytest.mark.slow
def test_a_point_on_a_floor_that_shakes_sticks_and_slips_in_every_direction():
    """It begins to slip where friction comes to its limit, in a direction that turns at once."""
    q = ds.coordinates(x="m", y="m", z="m")
    slip = (q.dot.x - shaking()[0], q.dot.y - shaking()[1])
    floor = ds.Contact("floor", q.z, slip=slip, friction=0.3)
    point = ds.MechanicalSystem(
        q, kinetic=ca.sumsqr(q.dot.vector) / 2, potential=GRAVITY * q.z, goals=[floor]
    )
    still = {"x": 0.0, "y": 0.0, "x_dot": 0.0, "y_dot": 0.0}
    run = ds.solve(point, 1.0, still)
    happened, last = shaken_point(1.0, 0.3)
    assert len(run.events) == len(happened) >= 5
    # The reference ends its slips at 1e-9 m/s, in a straight line.
    np.testing.assert_allclose([event.time for event in run.events], happened, atol=1e-11)
    size, first, second = SHAKES
    moving = size * math.sin(first), 0.8 * size * (1 - math.cos(second))
    slips = run["x_dot"][-1] - moving[0], run["y_dot"][-1] - moving[1]
    np.testing.assert_allclose(slips, last, atol=1e-11)


@pytest.mark.slow
def test_a_tripod_on_a_floor_that_shakes_shares_friction_up_to_the_limit_of_all_feet():
    """It moves as a point does: which friction each foot has is not determined meanwhile."""
    run = ds.solve(tripod(floor=lambda _: shaking()), 1.0, sliding(speed=(0.0, 0.0), spin=0.0))
    happened, _ = shaken_point(1.0, 0.3)
    times = [event.time for event in run.events]
    assert len(times) == 3 * len(happened)
    for place in range(3):
        np.testing.assert_allclose(times[place::3], happened, atol=1e-11)
    assert abs(run["yaw"][-1]) <= 1e-12


@pytest.mark.long
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 9))]
)
def test_any_tripod_on_a_slope_rests_where_its_planar_equations_say(seed):
    body, start = random_tripod(np.random.default_rng(seed))
    known = body.stopped(start, 3.0)
    assert known is not None
    feet = {f"foot{k}": (*foot, -body.h) for k, foot in enumerate(body.feet)}
    inertia = (body.inertia / 2 + 1e-3, body.inertia / 2 + 2e-3, body.inertia)
    system = standing(feet, body.friction, inertia, incline=body.incline)
    begin = sliding(h=body.h, speed=start[3:5], spin=start[5])
    run = ds.solve(system, known.times[1] + 0.02, begin)
    stops = [event for event in run.events if event.name.endswith("_sticks")]
    assert len(stops) == 3
    assert [event.name for event in run.events[3:]] == ["rest"]
    # The reference goes straight on from 1e-9 m/s.
    assert stops[0].time == pytest.approx(known.times[0], abs=1e-10)
    assert stops[2].time == pytest.approx(known.times[1], abs=1e-10)
    np.testing.assert_allclose([run[n][-1] for n in ("x", "y", "yaw")], known.place, atol=1e-10)


def four_feet(friction, **more):
    known = case("four_feet_initial_acceleration")["params"]
    half, h = known["half_side"], known["h"]
    corners = ((1, 1), (-1, 1), (-1, -1), (1, -1))
    feet = {f"foot{k}": (a * half, b * half, -h) for k, (a, b) in enumerate(corners)}
    return standing(feet, friction, (0.005, 0.005, known["Jz"]), **more)


def test_four_feet_that_slide_and_spin_are_refused_with_all_that_is_possible():
    """The loads at the ends of the family are those of the reference."""
    known = case("four_feet_initial_acceleration")
    p, values = known["params"], known["values"]
    begin = sliding(h=p["h"], speed=p["v0"][:2], spin=p["v0"][2])
    with pytest.raises(ds.errors.UndeterminedContact, match="minimum-norm") as raised:
        ds.solve(four_feet(p["mu"]), 0.1, begin)
    for end in ("end_A", "end_B"):
        for load in values[end]["value"]["N"]:
            assert load < 1e-12 or f"{load:.6g}" in str(raised.value)


@pytest.mark.slow
def test_four_feet_slide_and_spin_as_if_on_equal_springs_if_that_is_asked_for():
    known = case("four_feet_initial_acceleration")
    p, values = known["params"], known["values"]["equal_springs"]["value"]
    begin = sliding(h=p["h"], speed=p["v0"][:2], spin=p["v0"][2])
    step = 1e-5
    run = ds.solve(
        four_feet(p["mu"]), 0.1, begin, redundant="minimum-norm", at=[0.0, step, 2 * step]
    )
    for k, load in enumerate(values["N"]):
        # The share is of minimum norm to a part 1e-9, the shift of the elimination.
        assert run[f"foot{k}"][0] == pytest.approx(load, rel=1e-8)
    for name, rate in zip(("x_dot", "y_dot", "yaw_dot"), values["a"], strict=True):
        first, second, third = run[name]
        assert (-3 * first + 4 * second - third) / (2 * step) == pytest.approx(rate, rel=1e-7)


def notes_on_loads(run):
    return [
        note for note in run.description["notes"] if "share loads that are not determined" in note
    ]


@pytest.mark.slow
@pytest.mark.parametrize("fall", [0.0, 0.05])
def test_four_feet_without_a_spin_come_to_rest_as_a_point_does(fall):
    """Their motion is determined, whatever the loads: v^2 / (2 mu g) in the time v / (mu g).

    From a fall the impact takes as much of the slip as friction would have during it.
    """
    begin = sliding(speed=(0.6, 0.2), spin=0.0)
    begin["z"] += fall
    run = ds.solve(four_feet(0.3, closed=not fall), 0.4, begin)
    assert len(notes_on_loads(run)) == 1
    speed, brake = math.hypot(0.6, 0.2), 0.3 * GRAVITY
    lands = math.sqrt(2.0 * fall / GRAVITY)
    met = 4 if fall else 0
    stops = [*(f"foot{k}_sticks" for k in range(4)), "rest"]
    assert [event.name for event in run.events[met:]] == stops
    assert run.events[met].time == pytest.approx(speed / brake, abs=1e-11)
    way = speed * lands + (speed - brake * lands) ** 2 / (2 * brake)
    assert run["x"][-1] == pytest.approx(way * 0.6 / speed, abs=1e-12)
    assert run["y"][-1] == pytest.approx(way * 0.2 / speed, abs=1e-12)
    assert abs(run["yaw"][-1]) <= 1e-12


@pytest.mark.slow
def test_four_feet_that_stick_let_go_where_all_of_them_come_to_their_limit():
    """A push through the mass centre, in the plane of the feet, is borne by all loads alike."""
    push = {"x": 4.0 * ca.sin(2.0 * ds.time)}
    still = sliding(speed=(0.0, 0.0), spin=0.0)
    run = ds.solve(four_feet(0.3, force=lambda _: push), 0.6, still)
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    assert len(notes_on_loads(run)) == 1
    slips = math.asin(0.3 * GRAVITY / 4.0) / 2.0
    times = [event.time for event in run.events if event.name.endswith("_slips")]
    assert times == pytest.approx([slips] * 4, abs=1e-10)
    last = 0.6 - slips
    way = math.sin(2.0 * slips) - math.sin(1.2) + 2.0 * math.cos(2.0 * slips) * last
    assert run["x"][-1] == pytest.approx(way - 0.15 * GRAVITY * last**2, abs=1e-10)


@pytest.mark.slow
def test_four_feet_that_begin_to_spin_are_stopped_where_loads_decide():
    """A torque that sets in later turns them: the loads decide how friction brakes the turning."""
    late = ca.fmax(ds.time - 0.05, 0.0)
    begin = sliding(speed=(0.6, 0.2), spin=0.0)
    run = ds.solve(four_feet(0.3, force=lambda _: {"yaw": 0.3 * late**2}), 0.4, begin)
    assert run.outcome is ds.Outcome.DEGENERATE
    assert run.events[-1].name == "undetermined_contact"
    assert 0.05 < run.events[-1].time < 0.1
    assert "'foot0', 'foot1', 'foot2', 'foot3' begin to slide in different" in run.message
    assert "redundant = 'minimum-norm'" in run.message
    assert abs(run["yaw"][-1]) <= 1e-4


@pytest.mark.long_beyond(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 9))]
)
def test_a_tripod_that_is_thrown_never_gains_energy(seed):
    random = np.random.default_rng(seed)
    body, start = random_tripod(random)
    feet = {f"foot{k}": (*foot, -body.h) for k, foot in enumerate(body.feet)}
    inertia = (body.inertia / 2 + 1e-3, body.inertia / 2 + 2e-3, body.inertia)
    system = standing(
        feet, body.friction, inertia, restitution=random.choice([0.0, 0.3, 0.6]), closed=False
    )
    begin = sliding(h=body.h + random.uniform(0.05, 0.2), speed=start[3:5], spin=start[5])
    begin |= {"roll_dot": random.uniform(-3, 3), "pitch_dot": random.uniform(-3, 3)}
    run = ds.solve(system, 0.5, begin, impact="poisson")
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    impacts = [event.impact for event in run.events if event.impact is not None]
    assert len(impacts) >= 2
    for impact in impacts:
        assert impact.kinetic_after <= impact.kinetic_before * (1.0 + 1e-12)
        assert impact.carnot <= 1e-10
    # Nor does friction give any in between.
    assert np.all(np.diff(run["energy"]) <= 1e-12 * run["energy"][0])


def test_feet_that_shared_friction_have_none_once_they_are_lifted_off():
    q = ds.coordinates(x="m", y="m", z="m", pitch="rad")
    feet = []
    for name, side in (("rear", -0.1), ("front", 0.1)):
        gap = q.z - side * ca.sin(q.pitch)
        feet.append(ds.Contact(name, gap, slip=(q.dot.x, q.dot.y), friction=0.3))
    kick = ds.Event("kick", ds.time - 0.1, ds.RISING, ds.Reset({"z_dot": 1.0}))
    bar = ds.MechanicalSystem(
        q,
        kinetic=(ca.sumsqr(q.dot.vector[:3]) + 0.01 * q.dot.pitch**2) / 2,
        potential=GRAVITY * q.z,
        force={"x": 1.0 + ds.time},
        goals=feet,
        events=[kick],
    )
    still = dict.fromkeys(("x", "y", "z", "pitch"), 0.0)
    run = ds.solve(bar, 0.15, still, at=[0.05, 0.15])
    assert run.outcome is ds.Outcome.COMPLETED, run.message
    rear, front = run["rear_friction_1"], run["front_friction_1"]
    assert rear[0] + front[0] == pytest.approx(-1.05, abs=1e-12)
    assert rear[1] == front[1] == 0.0


@pytest.mark.slow
def test_a_rod_in_space_that_may_fly_or_slide_on_does_what_it_did_where_that_is_asked_for():
    """In the plane of its motion it is Painlevé's rod."""
    angle, rate, slip, half = 1.1, 6.0, -3.0, 0.5
    q = ds.coordinates(x="m", y="m", z="m", angle="rad")
    along = ca.jacobian(q.x - half * ca.cos(q.angle), q.vector) @ q.dot.vector
    tip = ds.Contact("tip", q.y - half * ca.sin(q.angle), slip=(along, q.dot.z), friction=1.8)
    rod = ds.MechanicalSystem(
        q,
        kinetic=(ca.sumsqr(q.dot.vector[:3]) + half**2 / 3 * q.dot.angle**2) / 2,
        potential=GRAVITY * q.y,
        goals=[tip],
    )
    start = dict.fromkeys(("x", "z", "z_dot"), 0.0) | {"angle": angle, "angle_dot": rate}
    start |= {"y": half * math.sin(angle), "y_dot": half * math.cos(angle) * rate}
    start["x_dot"] = slip - half * math.sin(angle) * rate
    with pytest.raises(ds.errors.AmbiguousMotion, match='on_ambiguous = "keep" continues'):
        ds.solve(rod, 0.05, start)
    run = ds.solve(rod, 0.05, start, on_ambiguous="keep")
    plane = ds.problem("painleve-rod").case("ambiguous").solve(0.05, on_ambiguous="keep")
    assert [event.name for event in run.events] == ["tip_lost"]
    assert run.events[0].time == pytest.approx(plane.events[0].time, abs=1e-14)
    assert run["angle"][-1] == pytest.approx(plane["angle"][-1], abs=1e-12)


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("radau", "lsoda")]


@pytest.mark.long_beyond(5)
@pytest.mark.slow
@pytest.mark.slow_rows("taylor-1.7e-07", "taylor-1e-11", "taylor-3e-09", "dop853-1e-11")
@pytest.mark.parametrize("speed", [1e-11, 3e-9, 1.7e-7])
@pytest.mark.parametrize("solver", ["taylor", "dop853", *SLOW])
def test_a_run_that_begins_just_before_a_point_sticks_goes_on_at_the_usual_pace(solver, speed):
    """It sticks after v / (mu g), on a way of v^2 / (2 mu g), and rests for a second."""
    q = ds.coordinates(x="m", y="m", z="m")
    floor = ds.Contact("floor", q.z, slip=(q.dot.x, q.dot.y), friction=0.3)
    point = ds.MechanicalSystem(
        q, kinetic=ca.sumsqr(q.dot.vector) / 2, potential=GRAVITY * q.z, goals=[floor]
    )
    start = dict.fromkeys(("x", "y", "z"), 0.0) | {"x_dot": 0.8 * speed, "y_dot": 0.6 * speed}
    run = ds.solve(point, 1.0, start, solver=solver)
    assert run.outcome is ds.Outcome.COMPLETED
    assert [event.name for event in run.events] == ["floor_sticks", "rest"]
    # What gravity takes in 2e-14 s is no slip any more; dop853 and lsoda have relative errors.
    early, brake = 2e-14 / 0.3, 0.3 * GRAVITY
    stops, way = speed / brake, speed**2 / (2.0 * brake)
    assert abs(run.events[0].time - stops) <= early + 1e-8 * stops
    assert abs(run.end_state["x"] - 0.8 * way) <= speed * early + 1e-8 * way
    # One in which the slip is 1e5 times what counts as none has as many.
    assert run.statistics.steps < 400


@pytest.mark.long_beyond(3)
@pytest.mark.slow
@pytest.mark.parametrize("solver", ["taylor", "dop853", "lsoda", *SLOW[:1]])
@pytest.mark.parametrize("width", [1e-4, 1e-6])
def test_a_floor_that_jerks_for_an_instant_drags_a_point_along(solver, width):
    """The floor has the velocity V exp(-s^2), s = (t - t0) / w; between, slips are parabolas."""
    at, size, brake = 0.4271, 100.0 * width, 0.3 * GRAVITY
    q = ds.coordinates(x="m", y="m", z="m")
    moves = size * ca.exp(-(((ds.time - at) / width) ** 2))
    slip = (q.dot.x - 0.8 * moves, q.dot.y - 0.6 * moves)
    point = ds.MechanicalSystem(
        q,
        kinetic=ca.sumsqr(q.dot.vector) / 2,
        potential=GRAVITY * q.z,
        goals=[ds.Contact("floor", q.z, slip=slip, friction=0.3)],
    )
    run = ds.solve(point, 1.0, dict.fromkeys("xyz", 0.0), solver=solver)
    assert run.outcome is ds.Outcome.COMPLETED
    # In units of the width, and of what friction gives in it.
    ratio = size / (brake * width)

    def floor(s):
        return ratio * math.exp(-(s**2))

    def covered(s):
        return ratio * math.sqrt(math.pi) / 2.0 * math.erf(s)

    slips = brentq(lambda s: -2.0 * s * floor(s) - 1.0, -6.0, -1.0, xtol=1e-15)
    meets = brentq(lambda s: floor(slips) + s - slips - floor(s), slips + 0.1, 6.0, xtol=1e-15)
    sticks = brentq(lambda s: floor(meets) - s + meets - floor(s), meets + 0.1, 60.0, xtol=1e-15)
    moments = [event.time for event in run.events if event.name != "rest"]
    # Velocities may be off by 1e-9 of themselves and by 1e-11 m/s, ten times a step's tolerance.
    expected = [at + width * s for s in (slips, meets, sticks)]
    assert moments[0] == pytest.approx(expected[0], abs=1e-6 * width)
    late = 1e-6 * width + 1e-11 / brake
    assert moments[-1] == pytest.approx(expected[-1], abs=late)
    first, second = meets - slips, sticks - meets
    way = covered(slips) - covered(-30.0) + floor(slips) * first + first**2 / 2.0
    way += floor(meets) * second - second**2 / 2.0 + covered(30.0) - covered(sticks)
    assert run.end_state["x"] == pytest.approx(0.8 * way * brake * width**2, rel=1e-5)
