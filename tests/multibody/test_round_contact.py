"""Spheres, circles and points that rub on each other: closed forms, references, turned worlds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq

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
    RegularisedCoulomb,
    RoundContact,
    quaternion,
)
from tests.contact.decisions.cases import agrees, case

from .placing import matrix, quaternion_of

GRAVITY = 9.81


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_two_spheres_collide_as_the_closed_form_says(seed):
    """Normal and friction do not mix: A_NN = 1/m + 1/m', A_TT = that + r^2/J + r'^2/J'."""
    random = np.random.default_rng(seed)
    masses, radii = random.uniform(0.5, 2.0, 2), random.uniform(0.05, 0.2, 2)
    moments = random.choice([0.4, 2 / 3], 2) * masses * radii**2
    friction, restitution = random.uniform(0.05, 0.6), random.uniform()
    # The first two are straight below, where the other end of the axis is turned.
    normal = np.array([0.0, 1e-9, -1.0]) if seed < 2 else random.normal(size=3)
    normal /= np.linalg.norm(normal)
    places = [random.normal(size=3)] * 2
    places[0] = places[1] + (sum(radii) + 0.05) * normal
    speeds, spins = [random.normal(size=3)] * 2, random.normal(size=(2, 3)) * 10.0
    approach = random.uniform(0.5, 2.0)
    speeds[0] = speeds[1] - approach * normal
    first, second = (
        Body(
            name,
            masses[k],
            (moments[k],) * 3,
            position=places[k],
            velocity=speeds[k],
            angular_velocity=spins[k],
        )
        for k, name in enumerate(("first", "second"))
    )
    contact = RoundContact(
        "blow",
        first.frame(),
        second.frame(),
        (radii[0], radii[1]),
        friction=friction,
        unilateral=True,
        restitution=restitution,
        closed=False,
    )
    mechanism = Mechanism([first, second], [contact])
    run = ds.solve(mechanism.system(), until=0.2, initial=mechanism.start)
    (event,) = run.events
    assert event.time == pytest.approx(0.05 / approach, rel=1e-13)
    slip = -np.cross(spins[0], radii[0] * normal) - np.cross(spins[1], radii[1] * normal)
    pressed = (1 + restitution) * approach / np.sum(1 / masses)
    grip = np.linalg.norm(slip) / (np.sum(1 / masses) + np.sum(radii**2 / moments))
    rubbed = -min(grip, friction * pressed) * slip / np.linalg.norm(slip)
    assert event.impact is not None
    assert event.impact.impulses["blow"] == pytest.approx(pressed, rel=1e-13)
    impulse = pressed * normal + rubbed
    for name, sign, k in (("first", 1.0, 0), ("second", -1.0, 1)):
        after = [run[f"{name}_{axis}_dot"][-1] for axis in "xyz"]
        np.testing.assert_allclose(after, speeds[k] + sign * impulse / masses[k], atol=1e-13)
        turned = spins[k] - radii[k] * np.cross(normal, rubbed) / moments[k]
        own = matrix(np.array([run[f"{name}_q{n}"][-1] for n in range(4)]))
        found = own @ [run[f"{name}_w{n}"][-1] for n in (1, 2, 3)]
        np.testing.assert_allclose(found, turned, atol=1e-11)


@pytest.mark.slow
def test_a_hoop_rolls_down_a_hill_slips_leaves_it_lands_and_rolls():
    known = case("wheel_leaves_hill_and_lands")["values"]
    radius, top, angle = 0.1, 1.0, 0.3
    reach = radius + top
    hoop = PlanarBody(
        "hoop", 1.0, radius**2, position=(reach * math.sin(angle), reach * math.cos(angle))
    )
    hill = RoundContact(
        "hill", hoop.frame(), GROUND.frame((0, 0)), (radius, top), friction=0.5, unilateral=True
    )
    floor = PlaneContact(
        "floor", hoop.frame(), Disc(radius), friction=0.05, unilateral=True, closed=False
    )
    mechanism = Mechanism([hoop], [hill, floor], gravity=(0, -GRAVITY))
    run = ds.solve(mechanism.system(), until=1.2, initial=mechanism.start)
    assert [event.name for event in run.events] == [
        "hill_slips",
        "hill_lost",
        "floor_closed",
        "floor_sticks",
    ]
    times = [known[name] for name in ("t_slip", "t_leave", "t_land", "t_rolling")]
    for event, time in zip(run.events, times, strict=True):
        assert agrees(event.time, time)
    assert agrees(run["hoop_x_dot"][-1], known["v_final"])


@pytest.mark.slow
def test_a_ball_that_rolls_round_inside_a_hollow_sphere_has_directions_of_slip_all_the_way():
    """(1 + k) (R - r) angle'' = -g sin angle; it passes the top, where axes are turned anew."""
    radius, hollow, share, times = 0.1, 1.0, 0.4, np.linspace(0.0, 1.5, 7)
    arm = hollow - radius
    ball = Body(
        "ball",
        1.0,
        (share * radius**2,) * 3,
        position=(0, 0, -arm),
        velocity=(8, 0, 0),
        angular_velocity=(0, 8 / radius, 0),
    )
    bowl = RoundContact(
        "bowl",
        ball.frame(),
        GROUND.frame(),
        (radius, hollow),
        friction=1.0,
        unilateral=True,
        inside=True,
    )
    mechanism = Mechanism([ball], [bowl], gravity=(0, 0, -GRAVITY))
    run = ds.solve(mechanism.system(), until=1.5, initial=mechanism.start, at=times)
    swing = solve_ivp(
        lambda _, y: [y[1], -GRAVITY / arm / (1 + share) * math.sin(y[0])],
        (0.0, 1.5),
        [0.0, 8.0 / arm],
        method="DOP853",
        rtol=1e-13,
        atol=1e-13,
        t_eval=times,
    )
    assert swing.y[0, -1] > 3 * math.pi
    assert run.events == ()
    np.testing.assert_allclose(run["ball_x"], arm * np.sin(swing.y[0]), atol=1e-10)
    np.testing.assert_allclose(run["ball_z"], -arm * np.cos(swing.y[0]), atol=1e-10)


THROWN = {
    "place": (0.4, 0.1, 0.3),
    "speed": (3.0, 2.0, 1.0),
    "spin": (5.0, -30.0, 20.0),
    "friction": 0.15,
}
SWINGS = {
    "place": (0.0, 0.0, -0.9),
    "speed": (9.0, 0.3, 0.0),
    "spin": (0.0, 0.0, 30.0),
    "friction": 0.02,
}


LAWS = {"coulomb": Coulomb(0.02), "regularised": RegularisedCoulomb(0.02, 1e-3)}


def in_bowl(turn: np.ndarray, given: dict[str, Any]) -> tuple[ds.Trajectory, np.ndarray]:
    """A ball that rubs inside a hollow sphere, in a world that is turned; and its way there."""
    start = {name: np.array(given[name]) for name in ("place", "speed", "spin")}
    ball = Body(
        "ball",
        1.0,
        (0.004, 0.004, 0.004),
        position=turn @ start["place"],
        rotation=quaternion_of(turn) if turn[0, 0] + turn[1, 1] < 2.0 else (1, 0, 0, 0),
        velocity=turn @ start["speed"],
        angular_velocity=start["spin"],
    )
    bowl = RoundContact(
        "bowl",
        ball.frame(),
        GROUND.frame(),
        (0.1, 1.0),
        friction=given["friction"],
        unilateral=isinstance(given["friction"], float),
        closed=given is not THROWN,
        inside=True,
    )
    mechanism = Mechanism([ball], [bowl], gravity=turn @ [0.0, 0.0, -GRAVITY])
    run = ds.solve(mechanism.system(), until=1.2, initial=mechanism.start)
    place = np.array([run[f"ball_{axis}"] for axis in "xyz"])
    return run, turn.T @ place


@pytest.mark.long_rows("thrown")
@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [THROWN, SWINGS, *[SWINGS | {"friction": law} for law in LAWS.values()]],
    ids=["thrown", "swings", *LAWS],
)
def test_what_happens_in_a_bowl_does_not_depend_on_how_the_world_is_turned(given):
    """Though directions of slip are other ones, and are turned anew elsewhere."""
    run, place = in_bowl(np.eye(3), given)
    if given is not THROWN:
        # It slides past the top, where the normal is against the axis, and never sticks.
        assert np.max(place[2]) > 0.85
        assert np.min(np.hypot(run["bowl_slip_1"], run["bowl_slip_2"])) > 1.0
    else:
        assert {"bowl_closed", "bowl_sticks"} <= {event.name for event in run.events}
    for axis, angle in (((1, 0, 0), math.pi / 2), ((1, 1, 0), 1.2)):
        turn = matrix(np.array([float(part) for part in quaternion(axis, angle)]))
        other, elsewhere = in_bowl(turn, given)
        # The regularised law records how its slip has turned; its directions show this.
        told = [
            [event for event in each.events if not event.name.endswith("_saturation")]
            for each in (other, run)
        ]
        assert [event.name for event in told[0]] == [event.name for event in told[1]]
        np.testing.assert_allclose(
            [event.time for event in told[0]], [event.time for event in told[1]], atol=1e-11
        )
        np.testing.assert_allclose(elsewhere[:, -1], place[:, -1], atol=1e-10)


def test_a_point_slides_down_a_rough_hill_until_it_flies():
    """With z = v^2, z' = 2 g R (sin - mu cos) + 2 mu z by the angle; it flies at z = g R cos."""
    friction, first, speed = 0.2, 0.3, 0.5
    grain = PlanarBody(
        "grain",
        1.0,
        1.0,
        position=(math.sin(first), math.cos(first)),
        velocity=(speed * math.cos(first), -speed * math.sin(first)),
    )
    hill = RoundContact(
        "hill", grain.centre, GROUND.frame((0, 0)), (0.0, 1.0), friction=friction, unilateral=True
    )
    mechanism = Mechanism([grain], [hill], gravity=(0, -GRAVITY))
    run = ds.solve(mechanism.system(), until=1.0, initial=mechanism.start)
    steady = GRAVITY / (1 + 4 * friction**2)
    cosine, sine = (4 * friction**2 - 2) * steady, -6 * friction * steady

    def squared(angle: float) -> float:
        def part(psi: float) -> float:
            return cosine * math.cos(psi) + sine * math.sin(psi)

        return part(angle) + (speed**2 - part(first)) * math.exp(2 * friction * (angle - first))

    leaves = brentq(lambda psi: squared(psi) - GRAVITY * math.cos(psi), first, 1.5, xtol=1e-15)
    last = quad(lambda psi: squared(psi) ** -0.5, first, leaves, epsabs=1e-14, epsrel=1e-13)[0]
    (event,) = run.events
    assert event.name == "hill_lost"
    assert event.time == pytest.approx(last, abs=1e-11)
    assert math.atan2(event.detail["grain_x"], event.detail["grain_y"]) == pytest.approx(
        leaves, abs=1e-11
    )
    # Friction's work is what the energy is short of.
    energy = (squared(leaves) - speed**2) / 2 + GRAVITY * (math.cos(leaves) - math.cos(first))
    assert run["hill_friction_work"][-1] == pytest.approx(energy, abs=1e-12)


@pytest.mark.slow
def test_a_corner_strikes_a_ball_that_is_fixed():
    """A point of a body against a sphere: impulses by the mass matrix of the point."""
    place, mass, moments = np.array([0.1, -0.05, -0.2]), 1.3, np.array([0.01, 0.02, 0.015])
    turn = quaternion((1.0, 0.2, 0.1), 0.4)
    body = Body(
        "body",
        mass,
        moments,
        position=(0.05, 0.1, 0.75),
        rotation=turn,
        velocity=(0.3, -0.2, -1.5),
        angular_velocity=(1.0, 2.0, -1.0),
    )
    knob = RoundContact(
        "knob",
        body.point(*place),
        GROUND.frame((0.1, 0.05, 0.0)),
        (0.0, 0.5),
        friction=1.2,
        unilateral=True,
        restitution=0.3,
        closed=False,
    )
    mechanism = Mechanism([body], [knob])
    run = ds.solve(mechanism.system(), until=0.4, initial=mechanism.start)
    event, before = run.events[0], run.events[0].detail
    rotation = matrix(np.array([before[f"body_q{k}"] for k in range(4)]))
    omega = rotation @ np.array([before[f"body_w{k}"] for k in (1, 2, 3)])
    arm = rotation @ place
    point = np.array([before[f"body_{axis}"] for axis in "xyz"]) + arm
    normal = (point - [0.1, 0.05, 0.0]) / 0.5
    assert np.linalg.norm(normal) == pytest.approx(1.0, abs=1e-13)
    speed = np.array([before[f"body_{axis}_dot"] for axis in "xyz"]) + np.cross(omega, arm)
    skew = np.cross(np.eye(3), arm)
    inertia = rotation @ np.diag(moments) @ rotation.T
    mobility = np.eye(3) / mass - skew @ np.linalg.solve(inertia, skew)
    held = np.linalg.solve(mobility, -speed - 0.3 * (speed @ normal) * normal)
    pressed = held @ normal
    # So much friction that it holds: the slip is gone after the blow.
    assert np.linalg.norm(held - pressed * normal) < 1.2 * pressed
    assert event.impact is not None
    found = event.impact.impulses
    assert found["knob"] == pytest.approx(pressed, rel=1e-11)
    rubbed = math.hypot(found["knob_stuck_1"], found["knob_stuck_2"])
    assert rubbed == pytest.approx(np.linalg.norm(held - pressed * normal), rel=1e-11)


def test_what_cannot_touch_is_refused():
    ball, wheel = Body("ball", 1.0, (1.0, 1.0, 1.0)), PlanarBody("wheel", 1.0, 1.0)
    with pytest.raises(PosingError, match="between two bodies in space, or two in the plane"):
        RoundContact("c", ball.frame(), wheel.frame(), (0.1, 0.1))
    with pytest.raises(PosingError, match="has no orientation"):
        RoundContact("c", ball.centre, GROUND.frame(), (0.1, 0.1))
    with pytest.raises(OutOfRangeError, match="two points do not meet"):
        RoundContact("c", ball.centre, GROUND.frame(), (0.0, 0.0))
    with pytest.raises(OutOfRangeError, match="the first does not fit in"):
        RoundContact("c", ball.frame(), GROUND.frame(), (0.2, 0.1), inside=True)
    with pytest.raises(OutOfRangeError, match="must be >= 0"):
        RoundContact("c", ball.frame(), GROUND.frame(), (-0.2, 0.1))
    with pytest.raises(PosingError, match="needs two radii"):
        RoundContact("c", ball.frame(), GROUND.frame(), (0.2,))  # pyright: ignore[reportArgumentType]
