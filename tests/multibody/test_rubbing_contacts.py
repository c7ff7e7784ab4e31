"""Bodies that rub and bounce on planes: closed forms, systems posed by hand, planar equations."""

import math
from typing import Any

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import OutOfRangeError, PosingError
from daesolve.multibody import (
    GROUND,
    Body,
    Coulomb,
    Disc,
    Mechanism,
    PlanarBody,
    PlaneContact,
    Rolling,
    Sphere,
    Spindle,
    corners,
    feet,
    quaternion,
)
from tests.contact.decisions.cases import agrees, cases
from tests.rubbing import block as block_by_hand
from tests.rubbing import standing
from tests.sliding_tripods import random_tripod

from .placing import matrix

GRAVITY = 9.81
WEIGHT = (0.0, 0.0, -GRAVITY)


def vector(state: dict[str, float], name: str, what: str) -> np.ndarray:
    return np.array([state[f"{name}_{axis}{what}"] for axis in "xyz"])


def impacts(run: ds.Trajectory) -> list[Any]:
    return [event for event in run.events if event.impact is not None]


@pytest.mark.slow
def test_the_tennis_ball_is_that_of_the_reference():
    known = cases("ball_with_spin_three_bounces")[0]["values"]
    mass, radius = 0.058, 0.033
    moment = 2.0 / 3.0 * mass * radius**2
    ball = Body(
        "ball",
        mass,
        (moment, moment, moment),
        position=(0, 0, radius),
        velocity=(8, 3, -5),
        angular_velocity=(20, -150, 40),
    )
    floor = PlaneContact(
        "floor",
        ball.frame(),
        Sphere(radius),
        friction=0.5,
        unilateral=True,
        restitution=0.75,
        closed=False,
    )
    mechanism = Mechanism([ball], [floor], gravity=WEIGHT)
    run = ds.solve(mechanism.system(), until=1.8, initial=mechanism.start)
    last = impacts(run)[3].detail
    assert agrees(last["ball_x"], known["x_before_4th"], 12)
    assert agrees(last["ball_y"], known["y_before_4th"], 12)
    assert [float(event.time) for event in impacts(run)[:1]] == [0.0]


def tilted_ball(share: float, tangential: float) -> tuple[Mechanism, np.ndarray]:
    """A ball over a plane that is tilted and turns no corner: its friction is a parameter."""
    p = ds.parameters(friction=(0.3, ""), restitution=(0.5, ""))
    mass, radius = 0.7, 0.11
    moment = share * mass * radius**2
    ball = Body("ball", mass, (moment, moment, moment), position=(0.1, 0.2, 1.0))
    plane = GROUND.frame((0.2, 0.0, 0.1), axes=(0.3, -0.4, 1.0))
    contact = PlaneContact(
        "hill",
        ball.frame(),
        Sphere(radius),
        friction=p.friction,
        unilateral=True,
        plane=plane,
        restitution=p.restitution,
        closed=False,
        tangential_restitution=tangential,
    )
    normal = np.array([0.3, -0.4, 1.0]) / math.sqrt(1.25)
    return Mechanism([ball], [contact], p, gravity=WEIGHT), normal


@pytest.mark.slow
@pytest.mark.parametrize(("share", "tangential"), [(0.4, 0.0), (2 / 3, 0.0), (0.4, 0.8)])
def test_a_ball_with_spin_bounces_on_a_slope_as_the_closed_form_says(share, tangential):
    mechanism, normal = tilted_ball(share, tangential)
    system, random = mechanism.system(), np.random.default_rng(7)
    mass, radius, gripped = 0.7, 0.11, 0
    for _ in range(4):
        friction, restitution = random.uniform(0.05, 0.9), random.uniform(0.0, 1.0)
        spin = random.normal(size=3) * 20.0
        start = mechanism.start | {f"ball_w{k + 1}": spin[k] for k in range(3)}
        velocity = random.normal(size=3) - 2.0 * normal
        start |= {f"ball_{axis}_dot": velocity[k] for k, axis in enumerate("xyz")}
        run = ds.solve(
            system,
            until=0.5,
            initial=start,
            parameters={"friction": friction, "restitution": restitution},
        )
        (event, *_), before = impacts(run), impacts(run)[0].detail
        # The spin is constant in space, and the quaternion turned meanwhile.
        velocity = vector(before, "ball", "_dot")
        turn = matrix(np.array([before[f"ball_q{k}"] for k in range(4)]))
        omega = turn @ np.array([before[f"ball_w{k + 1}"] for k in range(3)])
        approach = -velocity @ normal
        slip = velocity + np.cross(omega, -radius * normal)
        slip -= (slip @ normal) * normal
        pressed = mass * (1 + restitution) * approach
        grip = mass * np.linalg.norm(slip) * (1 + tangential) / (1 + 1 / share)
        gripped += grip < friction * pressed
        rubbed = min(grip, friction * pressed)
        impulses = event.impact.impulses
        assert impulses["hill"] == pytest.approx(pressed, rel=1e-12)
        along = math.hypot(impulses["hill_stuck_1"], impulses["hill_stuck_2"])
        assert along == pytest.approx(rubbed, rel=1e-12)
        lost = event.impact.kinetic_before - event.impact.kinetic_after
        size = np.linalg.norm(slip)
        after = size - rubbed / mass * (1 + 1 / share)
        work = (1 - restitution) * approach * pressed / 2 + rubbed * (size + after) / 2
        assert lost == pytest.approx(work, rel=1e-11)
    assert 0 < gripped < 4


def assert_same_events(run: ds.Trajectory, other: ds.Trajectory, abs_: float) -> None:
    own = [event.name.removeprefix("foot_") for event in run.events]
    assert own == [event.name for event in other.events]
    found = [event.time for event in run.events]
    np.testing.assert_allclose(found, [event.time for event in other.events], atol=abs_, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("friction", "speed", "shaking"),
    [(0.7, 1.0, 0.0), (0.3, 1.0, 0.0), ((0.2, 0.4), 0.0, 0.2), ((0.2, 0.4), 0.0, 1.0)],
)
def test_a_block_on_its_corners_moves_as_the_one_that_is_posed_by_hand(friction, speed, shaking):
    """It tips and rocks, slides to rest, or stands on a table that shakes."""
    half, height = (0.2, 0.1) if shaking else (0.1, 0.2)
    sides = (2 * half, 2 * height)
    block = PlanarBody(
        "block",
        1.0,
        (sides[0] ** 2 + sides[1] ** 2) / 12,
        position=(0, height),
        velocity=(speed, 0),
    )
    low, right = corners(block, sides)[:2]
    table = GROUND.frame((-shaking / 20.0 * ca.cos(20.0 * ds.time), 0.0))
    both = friction if isinstance(friction, tuple) else (friction, friction)
    parts = [
        *feet("foot", {"rear": low}, both[0], plane=table),
        *feet("foot", {"front": right}, both[1], plane=table),
    ]
    mechanism = Mechanism([block], parts, gravity=(0, -GRAVITY))
    until = 1.7 if speed else 1.0
    run = ds.solve(mechanism.system(), until=until, initial=mechanism.start)
    floor = shaking * ca.sin(20.0 * ds.time) if shaking else 0.0
    by_hand = ds.solve(
        block_by_hand(half, height, friction, floor=floor), until, standing(height, speed)
    )
    assert len(run.events) >= 2
    # Later impacts of the block that rocks have the errors of those before, magnified.
    assert_same_events(run, by_hand, 1e-10)
    assert run["block_x"][-1] == pytest.approx(by_hand["x"][-1], abs=1e-11)
    assert run["block_angle"][-1] == pytest.approx(by_hand["theta"][-1], abs=1e-11)


@pytest.mark.long
def test_a_rectangle_that_is_thrown_on_its_corners_comes_to_rest_as_the_one_posed_by_hand():
    """Four corners, bounces of each, a tumble over its side, and rest on two of them."""
    half, height, friction, restitution = 0.1, 0.06, 0.4, 0.4
    inertia = (half**2 + height**2) / 3
    start = {"x": 0.0, "y": 0.4, "theta": 0.3, "x_dot": 1.2, "y_dot": 0.0, "theta_dot": 9.0}
    body = PlanarBody(
        "body", 1.0, inertia, position=(0, 0.4), angle=0.3, velocity=(1.2, 0), rate=9.0
    )
    tips = feet(
        "foot",
        corners(body, (2 * half, 2 * height)),
        friction,
        restitution=restitution,
        closed=False,
    )
    mechanism = Mechanism([body], tips, gravity=(0, -GRAVITY))
    run = ds.solve(mechanism.system(), until=1.5, initial=mechanism.start)
    q = ds.coordinates(x="m", y="m", theta="rad")
    contacts: list[ds.Contact] = []
    signs = ((-1, -1), (1, -1), (-1, 1), (1, 1))
    for number, (side, up) in enumerate(signs, 1):
        x = q.x + side * half * ca.cos(q.theta) - up * height * ca.sin(q.theta)
        y = q.y + side * half * ca.sin(q.theta) + up * height * ca.cos(q.theta)
        slip = ca.jacobian(x, q.vector) @ q.dot.vector
        contacts.append(
            ds.Contact(
                "abcd"[number - 1],
                y,
                slip=slip,
                friction=friction,
                restitution=restitution,
                closed=False,
            )
        )
    by_hand = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2 + inertia * q.dot.theta**2) / 2,
        potential=GRAVITY * q.y,
        goals=contacts,
    )
    other = ds.solve(by_hand, 1.5, start)
    named = [event.name for event in other.events]
    for letter, number in zip("abcd", "1234", strict=True):
        named = [name.replace(f"{letter}_", f"{number}_", 1) for name in named]
    assert [event.name.removeprefix("foot_") for event in run.events] == named
    assert len(named) > 10
    last = {"x": "body_x", "y": "body_y", "theta": "body_angle"}
    for name, own in last.items():
        # Each of a hundred bounces magnifies what is left of rounding.
        assert run[own][-1] == pytest.approx(other[name][-1], abs=1e-9)
    assert abs(run["body_x_dot"][-1]) < 1e-12


@pytest.mark.slow
def test_a_ball_on_a_turntable_goes_round_with_two_sevenths_of_its_rate():
    """Where it sticks to a table that turns: v' = k / (1 + k) omega x v, circles of any size."""
    rate, radius, share = 3.0, 0.1, 0.4
    angle = rate * ds.time
    turned = ca.vertcat(
        ca.horzcat(ca.cos(angle), -ca.sin(angle), 0),
        ca.horzcat(ca.sin(angle), ca.cos(angle), 0),
        ca.horzcat(0, 0, 1),
    )
    velocity, place = np.array([0.3, 0.1]), np.array([0.2, -0.1])
    # The slip v + radius * (w_y, -w_x) * (-1) is that of the table, rate * (-y, x).
    table = rate * np.array([-place[1], place[0]])
    ball = Body(
        "ball",
        1.0,
        (share * radius**2,) * 3,
        position=(*place, radius),
        velocity=(*velocity, 0),
        angular_velocity=((table - velocity)[1] / radius, (velocity - table)[0] / radius, 1.0),
    )
    contact = PlaneContact(
        "table",
        ball.frame(),
        Sphere(radius),
        friction=0.8,
        unilateral=True,
        plane=GROUND.frame((0, 0, 0), axes=turned),
    )
    mechanism = Mechanism([ball], [contact], gravity=WEIGHT)
    times = np.linspace(0.0, 4.0, 9)
    run = ds.solve(mechanism.system(), until=4.0, guess=mechanism.start, at=times)
    assert run.events == ()
    own = share / (1 + share) * rate
    centre = place + np.array([-velocity[1], velocity[0]]) / own
    c, s = np.cos(own * times), np.sin(own * times)
    out = place - centre
    np.testing.assert_allclose(run["ball_x"], centre[0] + c * out[0] - s * out[1], atol=1e-11)
    np.testing.assert_allclose(run["ball_y"], centre[1] + s * out[0] + c * out[1], atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(("friction", "grips"), [(0.1, False), (1.5, True)])
def test_a_disc_strikes_the_floor_with_its_rim(friction, grips):
    """Impulses by the mass matrix of the rim's lowest point, which is found by hand."""
    random, mass, radius = np.random.default_rng(11), 0.8, 0.2
    moments = np.array([0.01, 0.01, 0.02])
    turn = quaternion((1.0, 0.5, 0.2), 1.1)
    velocity, spin = np.array([0.7, -0.4, -1.0]), random.normal(size=3) * 4.0
    disc = Body(
        "disc",
        mass,
        moments,
        position=(0, 0, 0.25),
        rotation=turn,
        velocity=velocity,
        angular_velocity=spin,
    )
    contact = PlaneContact(
        "floor",
        disc.frame(),
        Disc(radius),
        friction=friction,
        unilateral=True,
        restitution=0.6,
        closed=False,
    )
    mechanism = Mechanism([disc], [contact], gravity=WEIGHT)
    run = ds.solve(mechanism.system(), until=0.3, initial=mechanism.start)
    event = impacts(run)[0]
    before = event.detail
    rotation = matrix(np.array([before[f"disc_q{k}"] for k in range(4)]))
    velocity = vector(before, "disc", "_dot")
    omega = rotation @ np.array([before[f"disc_w{k + 1}"] for k in range(3)])
    axis = rotation[:, 2]
    arm = -np.array([0.0, 0.0, 1.0]) + axis[2] * axis
    arm *= radius / np.linalg.norm(arm)
    assert before["disc_z"] + arm[2] == pytest.approx(0.0, abs=1e-13)
    inertia = rotation @ np.diag(moments) @ rotation.T
    skew = np.cross(np.eye(3), arm)
    mobility = np.eye(3) / mass - skew @ np.linalg.solve(inertia, skew)
    speed = velocity + np.cross(omega, arm)
    held = np.linalg.solve(mobility, [-speed[0], -speed[1], -1.6 * speed[2]])
    found = np.array([event.impact.impulses[f"floor{end}"] for end in ("_stuck_1", "_stuck_2", "")])
    assert bool(np.linalg.norm(held[:2]) <= friction * held[2]) is grips
    if grips:
        np.testing.assert_allclose(found, held, rtol=1e-11)
        return
    # It slips: the impulse is on the edge of the cone, against the slip with which it leaves.
    left = speed + mobility @ found
    assert np.linalg.norm(found[:2]) == pytest.approx(friction * found[2], rel=1e-12)
    assert left[2] == pytest.approx(-0.6 * speed[2], rel=1e-11)
    against = -found[:2] / np.linalg.norm(found[:2])
    np.testing.assert_allclose(left[:2], np.linalg.norm(left[:2]) * against, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("axisymmetric", [False, True])
def test_a_disc_that_sticks_rolls_as_rolling_does(axisymmetric):
    """Friction is enough everywhere, so that it never slips: the same motion without contacts."""
    moments = (0.004, 0.004, 0.008)
    lean = quaternion((1, 0, 0), -math.pi / 2 + 0.3)
    turn = matrix(np.array([float(part) for part in lean]))
    axis, spin = turn[:, 2], np.array([0.0, 1.0, 12.0])
    arm = -np.array([0.0, 0.0, 1.0]) + axis[2] * axis
    arm *= 0.1 / np.linalg.norm(arm)
    disc = Body(
        "disc",
        0.8,
        moments,
        axisymmetric=axisymmetric,
        position=-arm,
        rotation=lean,
        velocity=-np.cross(turn @ spin, arm),
        angular_velocity=spin,
    )
    rubs = PlaneContact("floor", disc.frame(), Disc(0.1), friction=2.0, unilateral=True)
    rolls = Rolling("floor", disc.frame(), Disc(0.1))
    ends: list[dict[str, float]] = []
    for part in (rubs, rolls):
        mechanism = Mechanism([disc], [part], gravity=WEIGHT)
        run = ds.solve(mechanism.system(), until=0.7, guess=mechanism.start)
        assert run.events == ()
        ends.append(run.end_state)
    for name, value in ends[1].items():
        assert ends[0][name] == pytest.approx(value, abs=1e-10)


@pytest.mark.slow
def test_a_ball_sticks_to_the_plate_that_it_takes_along_when_its_slip_is_spent():
    """The slip falls by mu g m (1/m + 1/M + r^2/J) a second, and the plate slides freely."""
    mass, radius, heavy, friction = 2.0, 0.1, 3.0, 0.3
    moment = 0.4 * mass * radius**2
    plate = Body("plate", heavy, (1.0, 1.0, 1.0))
    ball = Body(
        "ball", mass, (moment, moment, moment), position=(0, 0, radius), velocity=(1.0, 0.5, 0.0)
    )
    rails = [
        ds.Holonomic(name, plate.coordinates.vector[place])
        for name, place in (("height", 2), ("roll", 4), ("pitch", 5), ("yaw", 6))
    ]
    contact = PlaneContact(
        "top", ball.frame(), Sphere(radius), friction, unilateral=True, plane=plate.frame()
    )
    mechanism = Mechanism([ball, plate], [contact], gravity=WEIGHT)
    run = ds.solve(mechanism.system(goals=rails), until=1.0, initial=mechanism.start)
    light = 1 / mass + 1 / heavy + radius**2 / moment
    slip = math.hypot(1.0, 0.5)
    (event,) = run.events
    assert event.name == "top_sticks"
    assert event.time == pytest.approx(slip / (friction * GRAVITY * mass * light), rel=1e-11)
    for name, speed in (("x", 1.0), ("y", 0.5)):
        assert run[f"plate_{name}_dot"][-1] == pytest.approx(speed / light / heavy, rel=1e-11)
    assert run["top_friction_work"][-1] == pytest.approx(-(slip**2) / (2 * light), rel=1e-11)


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1])
def test_a_tripod_on_feet_stops_where_its_planar_equations_say(seed):
    body, start = random_tripod(np.random.default_rng(seed))
    stool = Body(
        "stool",
        1.0,
        (0.01, 0.01, body.inertia),
        position=(0, 0, body.h),
        velocity=(start[3], start[4], 0),
        angular_velocity=(0, 0, start[5]),
    )
    points = [stool.point(*place, -body.h) for place in body.feet]
    push = (GRAVITY * math.sin(body.incline), 0.0, -GRAVITY * math.cos(body.incline))
    mechanism = Mechanism([stool], feet("foot", points, body.friction), gravity=push)
    stopped = body.stopped(start, 1.0)
    assert stopped is not None
    until = stopped.times[1] + 0.05
    run = ds.solve(mechanism.system(), until=until, guess=mechanism.start)
    stops = [event for event in run.events if event.name.endswith("_sticks")]
    assert stops[0].name == f"foot_{stopped.first + 1}_sticks"
    # SLOW over what friction brakes it with, and the steps of the other solver.
    assert stops[0].time == pytest.approx(stopped.times[0], abs=1e-9)
    assert stops[-1].time == pytest.approx(stopped.times[1], abs=1e-9)
    assert run["stool_x"][-1] == pytest.approx(stopped.place[0], abs=1e-9)
    assert run["stool_y"][-1] == pytest.approx(stopped.place[1], abs=1e-9)


@pytest.mark.long
def test_a_box_slides_on_four_corners_to_where_its_friction_stops_it():
    """Whatever the loads of its corners are, of which equal springs share: v^2 / (2 mu g)."""
    box = Body("box", 1.0, (1e-3, 2e-3, 3e-3), position=(0, 0, 0.05), velocity=(0.5, 0.1, 0))
    stands = feet("corner", corners(box, (0.2, 0.3, 0.1))[:4], 0.3)
    mechanism = Mechanism([box], stands, gravity=WEIGHT)
    run = ds.solve(mechanism.system(), until=0.3, initial=mechanism.start, redundant="minimum-norm")
    speed = math.hypot(0.5, 0.1)
    sticks = {f"corner_{k}_sticks" for k in range(1, 5)}
    assert {event.name for event in run.events} == sticks | {"rest"}
    for event in run.events:
        assert event.time == pytest.approx(speed / (0.3 * GRAVITY), rel=1e-10)
    assert run["box_x"][-1] == pytest.approx(0.5 * speed / (0.6 * GRAVITY), rel=1e-10)
    assert run["box_y"][-1] == pytest.approx(0.1 * speed / (0.6 * GRAVITY), rel=1e-10)
    # At rest each corner bears a quarter.
    for k in range(1, 5):
        assert run[f"corner_{k}"][-1] == pytest.approx(GRAVITY / 4, rel=1e-10)


@pytest.mark.long
def test_a_thrown_tetrahedron_comes_to_rest_on_three_corners():
    """Each face has three, whose loads are determined. At last one holds still on the floor."""
    tip = 0.1 / math.sqrt(3.0)
    places = [tip * np.array(place) for place in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))]
    moment = 0.4 * 0.5 * (tip**2)
    body = Body(
        "die",
        0.5,
        (moment, moment, moment),
        position=(0, 0, 0.25),
        rotation=quaternion((1, 2, 0.5), 0.8),
        velocity=(0.5, 0.1, 0),
        angular_velocity=(1, 2, 3),
    )
    parts = feet(
        "tip", [body.point(*place) for place in places], 0.4, restitution=0.3, closed=False
    )
    mechanism = Mechanism([body], parts, gravity=WEIGHT)
    run = ds.solve(mechanism.system(), until=1.5, initial=mechanism.start)
    assert run.outcome is ds.Outcome.COMPLETED
    gaps = sorted(run[f"tip_{k}_gap"][-1] for k in range(1, 5))
    assert np.max(np.abs(gaps[:3])) < 1e-12
    # The height of a regular tetrahedron, of its centre's distance from a corner.
    assert gaps[3] == pytest.approx(4 / 3 * 0.1, abs=1e-12)
    loads = sum(run[f"tip_{k}"][-1] for k in range(1, 5))
    assert loads == pytest.approx(0.5 * GRAVITY, rel=1e-10)
    assert max(abs(run[f"die_{axis}_dot"][-1]) for axis in "xyz") < 1e-12
    lost = [e.impact.kinetic_before - e.impact.kinetic_after for e in impacts(run)]
    assert min(lost) > -1e-14


def test_what_is_said_of_friction_goes_with_what_a_contact_is():
    ball = Body("ball", 1.0, (1.0, 1.0, 1.0))
    frame, round_ = ball.frame(), Sphere(0.1)
    with pytest.raises(PosingError, match="its friction must be a law, such as"):
        PlaneContact("floor", frame, round_, friction=0.3)
    with pytest.raises(PosingError, match="a law of friction has its own"):
        PlaneContact(
            "floor", frame, round_, Coulomb(0.3), unilateral=True, tangential_restitution=0.5
        )
    with pytest.raises(PosingError, match="need unilateral=True and a coefficient"):
        PlaneContact("floor", frame, round_, static_friction=0.4)
    with pytest.raises(OutOfRangeError, match="must be at least 0"):
        _ = PlaneContact("floor", frame, round_, -0.3, unilateral=True).goal
    with pytest.raises(PosingError, match="has no orientation"):
        PlaneContact("floor", ball.centre, round_)
    with pytest.raises(PosingError, match="both in space or both in the plane"):
        PlaneContact("floor", frame, round_, plane=GROUND.frame((0, 0)))
    with pytest.raises(PosingError, match="a point has none"):
        PlaneContact("floor", ball.centre, end=1.0)
    with pytest.raises(PosingError, match="has no points to stand on"):
        feet("foot", [])
    with pytest.raises(PosingError, match="has 3 coordinates"):
        corners(ball, (1.0, 2.0))
    # In the plane the axis of a surface is normal to it, and nothing rolls over its ends.
    wheel = PlanarBody("wheel", 1.0, 1.0)
    assert PlaneContact("floor", wheel.frame(), Spindle(0.05, 0.03)).contribution.events[0].name
    with pytest.raises(PosingError, match="has none"):
        PlaneContact("floor", wheel.frame(), Spindle(0.05, 0.03), end=1.0)
