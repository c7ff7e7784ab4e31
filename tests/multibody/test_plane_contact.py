"""Surfaces of revolution that slide on a plane, leave it, and roll over their ends."""

import math

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad

import daesolve as ds
from daesolve.errors import PosingError
from daesolve.multibody.bodies import Body
from daesolve.multibody.friction_laws import RegularisedCoulomb
from daesolve.multibody.mechanism import Mechanism
from daesolve.multibody.places import GROUND, quaternion
from daesolve.multibody.plane_contact import PlaneContact
from daesolve.multibody.surfaces import Sphere, Spindle

GRAVITY = 9.81
WEIGHT = (0.0, 0.0, -GRAVITY)
RADIUS, MASS = 0.1, 2.0
INERTIA = 0.4 * MASS * RADIUS**2
RUB = RegularisedCoulomb(0.3, 1e-2, smooth=True)
SPINDLES = {"pointed": Spindle(0.05, 0.03), "truncated": Spindle(0.05, 0.03, 0.03)}


def ball(**start: tuple[float, float, float]) -> Body:
    return Body("ball", MASS, (INERTIA, INERTIA, INERTIA), **{"position": (0, 0, RADIUS)} | start)


@pytest.mark.slow
@pytest.mark.slow_rows("truncated")
@pytest.mark.parametrize("kind", SPINDLES)
def test_a_smooth_spindle_falls_over_its_end_as_its_energy_says(kind: str) -> None:
    """Its middle goes up and down by the support h, and nothing pushes it aside.

    (m h'^2 + A) angle'^2 / 2 + m g h is constant.
    """
    spindle, mass, across, rate = SPINDLES[kind], 0.2, 1e-4, -9.0
    ends = spindle.ends
    length, edge, rim = (float(e) for e in (ends.half_length, ends.edge, ends.radius))
    turn = math.asin(edge)
    first = turn + 0.3

    def height(angle: float) -> tuple[float, float]:
        size, side = abs(angle), math.copysign(1.0, angle)
        if size > turn:
            found = length * math.sin(size) + rim * math.cos(size)
            return found, side * (length * math.cos(size) - rim * math.sin(size))
        return 0.05 - 0.03 * math.cos(angle), 0.03 * math.sin(angle)

    def inertia(angle: float) -> float:
        return mass * height(angle)[1] ** 2 + across

    energy = inertia(first) * rate**2 / 2 + mass * GRAVITY * height(first)[0]

    def slowness(angle: float) -> float:
        return math.sqrt(inertia(angle) / 2 / (energy - mass * GRAVITY * height(angle)[0]))

    tight = {"epsabs": 1e-15, "epsrel": 1e-13}
    times = [
        quad(slowness, turn, first, **tight)[0],
        quad(slowness, turn, first, **tight)[0] + quad(slowness, -turn, turn, **tight)[0],
    ]
    # The axis leans back from straight up, so that its lower end is the one against it.
    body = Body(
        "roller",
        mass,
        (across, across, 1e-5),
        position=(0.0, 0.0, height(first)[0]),
        rotation=quaternion((0, 1, 0), math.pi / 2 - first),
        velocity=(0.0, 0.0, height(first)[1] * rate),
        angular_velocity=(0.0, -rate, 0.0),
    )
    contact = PlaneContact("floor", body.frame(), spindle, end=-1.0)
    rolling = Mechanism([body], [contact], gravity=WEIGHT)
    last = times[1] + times[0]
    run = ds.solve(rolling.system(), until=last, initial=rolling.start)
    assert [event.name for event in run.events] == ["floor_edge", "floor_edge"]
    assert [event.time for event in run.events] == pytest.approx(times, abs=1e-12)
    assert run["roller_z"][-1] == pytest.approx(height(first)[0], abs=1e-12)
    assert np.max(np.abs(run["roller_x"])) < 1e-15
    assert run.drift["floor"].max_relative < 1e-13
    assert np.min(run.reactions["floor"]) > 0.0


def test_a_run_ends_where_a_plane_that_holds_both_ways_would_have_to_pull() -> None:
    body = ball()
    lifted = Mechanism(
        [body], [PlaneContact("floor", body.frame(), Sphere(RADIUS))], gravity=WEIGHT
    )
    run = ds.solve(
        lifted.system(force={"ball_z_dot": 10.0 * ds.time}), until=5.0, initial=lifted.start
    )
    assert run.outcome is ds.Outcome.DEGENERATE
    assert "make it unilateral" in run.message
    assert run.events[-1].name == "floor_lost"
    assert run.events[-1].time == pytest.approx(MASS * GRAVITY / 10.0, abs=1e-12)


def test_a_ball_bounces_on_a_slope() -> None:
    slope, restitution = 0.4, 0.5
    normal = np.array([math.sin(slope), 0.0, math.cos(slope)])
    body = ball(position=(RADIUS + 0.2) * normal)
    contact = PlaneContact(
        "hill",
        body.frame(),
        Sphere(RADIUS),
        unilateral=True,
        plane=GROUND.frame((0, 0, 0), axes=normal),
        restitution=restitution,
        closed=False,
    )
    falling = Mechanism([body], [contact], gravity=WEIGHT)
    fall = math.sqrt(2 * 0.2 / (GRAVITY * math.cos(slope)))
    run = ds.solve(falling.system(), until=2.4 * fall, initial=falling.start)
    assert [event.name for event in run.events] == ["hill_closed", "hill_closed"]
    assert [e.time for e in run.events] == pytest.approx(
        [fall, fall + 2 * restitution * fall], abs=1e-12
    )
    assert run["hill_gap"].min() > -1e-13


def test_friction_brings_a_sliding_ball_to_roll_with_five_sevenths_of_its_speed() -> None:
    """Its angular momentum about the contact is conserved, whatever the law."""
    body = ball(velocity=(1.0, 0.0, 0.0))
    contact = PlaneContact("floor", body.frame(), Sphere(RADIUS), friction=RUB)
    sliding = Mechanism([body], [contact], gravity=WEIGHT)
    run = ds.solve(sliding.system(), until=1.0, initial=sliding.start)
    momentum = MASS * RADIUS * run["ball_x_dot"] + INERTIA * run["ball_w2"]
    assert np.max(np.abs(momentum - MASS * RADIUS)) < 1e-13
    assert run["floor_slip_1"][0] == pytest.approx(1.0, abs=1e-15)
    assert run["ball_x_dot"][-1] == pytest.approx(5 / 7, abs=1e-12)
    lost = MASS / 2 * (1.0 - 5 / 7)
    assert run["floor_friction_work"][-1] == pytest.approx(-lost, abs=1e-10)
    assert np.max(np.abs(run.reactions["floor"] - MASS * GRAVITY)) < 1e-11


@pytest.mark.slow
def test_a_ball_takes_along_the_plate_on_which_it_slides() -> None:
    """The plate slides freely: what the ball loses of its momentum, the plate has."""
    plate = Body("plate", 3.0, (1.0, 1.0, 1.0))
    body = ball(velocity=(1.0, 0.5, 0.0))
    rails = [
        ds.Holonomic(name, expression)
        for name, expression in zip(
            ("height", "roll", "pitch", "yaw"),
            ca.vertsplit(plate.coordinates.vector[[2, 4, 5, 6]]),
            strict=True,
        )
    ]
    contact = PlaneContact("top", body.frame(), Sphere(RADIUS), friction=RUB, plane=plate.frame())
    sliding = Mechanism([body, plate], [contact], gravity=WEIGHT)
    run = ds.solve(sliding.system(goals=rails), until=1.0, initial=sliding.start)
    for name, speed in (("x", 1.0), ("y", 0.5)):
        momentum = MASS * run[f"ball_{name}_dot"] + 3.0 * run[f"plate_{name}_dot"]
        assert np.max(np.abs(momentum - MASS * speed)) < 1e-13
        # It rolls at last; its relative speed falls by (1/m + 1/M) / (1/m + 1/M + r^2/I).
        light = 1 / MASS + 1 / 3.0
        rolling = run[f"ball_{name}_dot"][-1] - run[f"plate_{name}_dot"][-1]
        assert rolling == pytest.approx(
            speed * (1 - light / (light + RADIUS**2 / INERTIA)), abs=1e-10
        )
    assert abs(run["top_slip_1"][-1]) < 1e-10


def test_what_cannot_touch_is_refused() -> None:
    frame = ball().frame()
    with pytest.raises(PosingError, match="the name of a contact must be a word"):
        PlaneContact("the floor", frame, Sphere(RADIUS))
    with pytest.raises(PosingError, match="restitution and closed=False need unilateral=True"):
        PlaneContact("floor", frame, Sphere(RADIUS), restitution=0.5)
    with pytest.raises(PosingError, match="the surface Sphere has none"):
        PlaneContact("floor", frame, Sphere(RADIUS), end=1.0)
    with pytest.raises(PosingError, match=r"must touch with the end 0.0, 1.0 or -1.0, not 0.5"):
        PlaneContact("floor", frame, Spindle(0.05, 0.03), end=0.5)


@pytest.mark.slow
def test_a_rim_that_comes_to_lie_flat_ends_the_run_and_flies_through_it_else():
    """A blunt roller tips over its edge onto its end; turned in the air, it passes upright."""
    spindle, tilt = SPINDLES["truncated"], math.pi / 2 - 0.3
    assert spindle.ends is not None
    length, rim = float(spindle.ends.half_length), float(spindle.ends.radius)
    stands = length * math.sin(tilt) + rim * math.cos(tilt)
    # The axis points along x and up: a quarter turn about y takes z to x.
    turn = quaternion((0, 1, 0), math.pi / 2 - tilt)
    for height, until in ((0.0, 1.0), (1.0, 0.2)):
        body = Body(
            "roller",
            0.2,
            (1e-4, 1e-4, 1e-4),
            axisymmetric=True,
            position=(0.0, 0.0, stands + height),
            rotation=turn,
            angular_velocity=(0.0, -4.0 if height else 0.0, 0.0),
        )
        floor = PlaneContact(
            "floor",
            body.frame(),
            spindle,
            friction=1.0,
            unilateral=True,
            closed=height == 0.0,
            end=-1.0,
        )
        mechanism = Mechanism([body], [floor], gravity=(0.0, 0.0, -9.81))
        run = ds.solve(mechanism.system(), until, guess=mechanism.start)
        names = [event.name for event in run.events]
        if height:
            assert run.outcome is ds.Outcome.COMPLETED
            assert "floor_flat" not in names
        else:
            assert names[-1] == "floor_flat"
            assert "comes to lie flat" in run.message
