"""Compliant contacts: Hertz, Hunt and Crossley, stops; durations, restitutions and loads."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy

import daesolve as ds
from daesolve.errors import OutOfRangeError, PosingError
from daesolve.multibody.bodies import Body, PlanarBody
from daesolve.multibody.compliance import HuntCrossley, KelvinVoigt
from daesolve.multibody.elements import ElastoGap
from daesolve.multibody.friction_laws import Coulomb, RegularisedCoulomb
from daesolve.multibody.mechanism import Mechanism
from daesolve.multibody.places import GROUND
from daesolve.multibody.plane_contact import PlaneContact
from daesolve.multibody.round_contact import RoundContact
from daesolve.multibody.surfaces import Disc, Sphere

MASS, SPEED = 2.0, 1.5


def struck(part, body, until=2.0, solver=None, **further):
    mechanism = Mechanism([body], [part], **further)
    return ds.solve(mechanism.system(), until, guess=mechanism.start, solver=solver)


def point(x=1.5, speed=SPEED):
    return PlanarBody("b", MASS, 1.0, position=(x, 0.0), velocity=(-speed, 0.0))


def times_of(run):
    return {event.name: event.time for event in run.events}


def test_a_stop_without_damping_throws_back_after_half_a_swing():
    body = point()
    run = struck(ElastoGap("stop", GROUND.point(0, 0), body.centre, 800.0, 0.0, 1.0), body)
    times = times_of(run)
    # The way of 0.5 m at 1.5 m/s, and half a period: to some roundings.
    assert times["stop_closed"] == pytest.approx(0.5 / SPEED, rel=1e-14)
    half = math.pi * math.sqrt(MASS / 800.0)
    assert times["stop_lost"] - times["stop_closed"] == pytest.approx(half, rel=1e-13)
    assert run["b_x_dot"][-1] == pytest.approx(SPEED, rel=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("damping", [3.0, 60.0])
def test_a_damped_stop_pushes_as_its_law_says(damping):
    """Against the law written out, integrated by an independent solver from the first touch."""
    body, stiffness = point(), 800.0
    run = struck(ElastoGap("stop", GROUND.point(0, 0), body.centre, stiffness, damping, 1.0), body)

    def motion(_, state):
        depth, rate = state
        spring = stiffness * max(depth, 0.0)
        return [rate, -(spring + min(max(damping * rate, -spring), spring)) / MASS]

    last = 2.0 - 0.5 / SPEED
    found = scipy.integrate.solve_ivp(
        motion, (0.0, last), [0.0, SPEED], method="DOP853", rtol=1e-12, atol=1e-13, max_step=1e-3
    )
    # The other takes kinks within steps of 1e-3 s.
    assert run["b_x_dot"][-1] == pytest.approx(-found.y[1, -1], abs=1e-6)
    assert run["b_x"][-1] == pytest.approx(1.0 - found.y[0, -1], abs=1e-6)
    assert np.min(run["stop_force"]) == 0.0
    lost = MASS * (run["b_x_dot"][-1] ** 2 - SPEED**2) / 2
    assert run["stop_work"][-1] == pytest.approx(lost, abs=1e-12)


@pytest.mark.slow
def test_a_blow_of_hertz_lasts_as_long_as_in_closed_form():
    """2.94 d / v with the depth d = (5 m v^2 / 4 k)^(2/5), where all energy is in the contact."""
    ball = PlanarBody("b", MASS, 1.0, position=(0.0, 0.2), velocity=(0.0, -SPEED))
    floor = PlaneContact("floor", ball.frame(), Disc(0.1), compliance=HuntCrossley(1e5))
    run = struck(
        floor,
        ball,
        0.2,
        ds.Dop853(),
    )
    times = times_of(run)
    depth = (5 * MASS * SPEED**2 / (4 * 1e5)) ** 0.4
    factor = 0.8 * math.sqrt(math.pi) * scipy.special.gamma(0.4) / scipy.special.gamma(0.9)
    lasted = times["floor_lost"] - times["floor_closed"]
    # Of dop853 at 1e-11.
    assert lasted == pytest.approx(factor * depth / SPEED, rel=1e-8)
    assert run["b_y_dot"][-1] == pytest.approx(SPEED, rel=1e-9)


def thrown_back(speed, dissipation):
    """w from v - ln(1 + m v) / m = -w - ln(1 - m w) / m with m = 3/2 a, whatever k and n are."""
    m = 1.5 * dissipation
    taken = speed - math.log1p(m * speed) / m
    return scipy.optimize.brentq(
        lambda w: -w - math.log1p(-m * w) / m - taken, 0.0, min(speed, (1 - 1e-12) / m), xtol=1e-15
    )


@pytest.mark.default_rows(1)
@pytest.mark.parametrize(("exponent", "dissipation"), [(1.5, 0.2), (2.0, 0.2), (1.0, 1.5)])
def test_a_blow_of_hunt_and_crossley_is_thrown_back_as_in_closed_form(exponent, dissipation):
    ball = PlanarBody("b", MASS, 1.0, position=(0.0, 0.2), velocity=(0.0, -SPEED))
    law = HuntCrossley(1e5, exponent, dissipation)
    floor = PlaneContact("floor", ball.frame(), Disc(0.1), compliance=law)
    run = struck(floor, ball, 0.3, ds.Dop853())
    assert run["b_y_dot"][-1] == pytest.approx(thrown_back(SPEED, dissipation), rel=1e-8)
    assert np.min(run["floor_force"]) >= 0.0


@pytest.mark.slow
def test_two_spheres_in_space_strike_with_their_reduced_mass_and_keep_their_momentum():
    """Off centre, without friction: along the line of centres as in closed form."""
    one = Body("one", 1.0, (0.1,) * 3, position=(-0.5, 0.03, 0.04), velocity=(2.0, 0, 0))
    other = Body("other", 3.0, (0.1,) * 3, position=(0.0, 0.0, 0.0))
    law = HuntCrossley(1e7, 1.5, 0.1)
    touch = RoundContact("touch", one.frame(), other.frame(), (0.1, 0.2), compliance=law)
    mechanism = Mechanism([one, other], [touch])
    run = ds.solve(mechanism.system(), 0.4, guess=mechanism.start, solver=ds.Dop853())
    moved = np.array([run[f"one_{c}_dot"][-1] + 3 * run[f"other_{c}_dot"][-1] for c in "xyz"])
    np.testing.assert_allclose(moved, [2.0, 0.0, 0.0], atol=1e-10)
    # Stiff, the blow is short; the normal turns by 2 m/s over its 0.6 ms on the way of 0.3 m.
    normal = np.array([-math.sqrt(0.3**2 - 0.05**2), 0.03, 0.04]) / 0.3
    speed = -2.0 * normal[0]
    gone = np.array([run[f"one_{c}_dot"][-1] - run[f"other_{c}_dot"][-1] for c in "xyz"]) @ normal
    assert gone == pytest.approx(thrown_back(speed, 0.1), rel=5e-3)
    assert run["one_w1"][-1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.long
def test_a_ball_that_lies_on_a_compliant_floor_slides_to_rolling_as_on_a_rigid_one():
    """5/7 of its speed is left, after 2 v / 7 mu g, and the floor gives in by (m g / k)^(2/3)."""
    friction, gravity, radius = 0.2, 9.81, 0.1
    depth = (MASS * gravity / 1e4) ** (2 / 3)
    moment = 0.4 * MASS * radius**2
    ball = Body("b", MASS, (moment,) * 3, position=(0, 0, radius - depth), velocity=(1.0, 0, 0))
    law = RegularisedCoulomb(friction, 1e-4)
    floor = PlaneContact(
        "floor", ball.frame(), Sphere(radius), friction=law, compliance=HuntCrossley(1e4)
    )
    run = struck(floor, ball, 0.2, ds.Dop853(), gravity=(0, 0, -gravity))
    # The slip velocity of the law is left.
    assert run["b_x_dot"][-1] == pytest.approx(5 / 7, abs=2e-4)
    early = run.at(0.05)
    assert early["b_x_dot"] == pytest.approx(1.0 - friction * gravity * 0.05, abs=1e-6)
    assert run["floor_force"] == pytest.approx(MASS * gravity, rel=1e-6)


def moment_of(run, bodies):
    """Moment of momentum about the origin, of bodies in the plane, at the start and the end."""
    found = np.zeros(2)
    for name, mass, moment in bodies:
        x, y, turn = (run[f"{name}_{c}"][[0, -1]] for c in ("x", "y", "angle_dot"))
        across = x * run[f"{name}_y_dot"][[0, -1]] - y * run[f"{name}_x_dot"][[0, -1]]
        found += mass * across + moment * turn
    return found


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["circles", "point", "inside"])
def test_friction_of_a_compliant_contact_keeps_the_moment_of_momentum(shape):
    """Deeply pressed in, it acts on both bodies at one place, whatever the depth is."""
    one = PlanarBody("one", 1.0, 0.02, position=(-0.5, 0.05), velocity=(2.0, 0), rate=30.0)
    other = PlanarBody("other", 2.0, 0.05, rate=-5.0)
    places, radii = (one.frame(), other.frame()), (0.1, 0.2)
    if shape == "point":
        places, radii = (other.frame(), one.centre), (0.2, 0.0)
    elif shape == "inside":
        radii = (0.1, 0.65)
    touch = RoundContact(
        "touch", *places, radii, friction=RegularisedCoulomb(0.4, 1e-2),
        compliance=HuntCrossley(2e3, 1.5, 0.1), inside=shape == "inside",
    )  # fmt: skip
    mechanism = Mechanism([one, other], [touch])
    run = ds.solve(mechanism.system(), 0.7, guess=mechanism.start, solver=ds.Dop853())
    assert np.min(run["touch_gap"]) < -1e-3
    assert abs(run["other_angle_dot"][-1] + 5.0) > 0.1
    first, last = moment_of(run, [("one", 1.0, 0.02), ("other", 2.0, 0.05)])
    assert last == pytest.approx(first, abs=1e-9)  # of dop853 at 1e-11, over some hundred steps


BALL, FLAT = Body("ball", 1.0, (1, 1, 1)), PlanarBody("flat", 1.0, 1.0)
LAW = HuntCrossley(1.0)


def on_floor(**further):
    return PlaneContact("floor", BALL.frame(), Sphere(0.1), **further)


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: on_floor(compliance=1e5), PosingError, "a law such as HuntCrossley"),
        (lambda: on_floor(compliance=LAW, unilateral=True), PosingError, "only to rigid contacts"),
        (lambda: on_floor(compliance=LAW, restitution=0.5), PosingError, "only to rigid contacts"),
        (lambda: on_floor(compliance=LAW, closed=False), PosingError, "only to rigid contacts"),
        (lambda: on_floor(compliance=LAW, friction=0.3), PosingError, "or RegularisedCoulomb"),
        (lambda: on_floor(compliance=LAW, friction=Coulomb(0.3)), PosingError, "make it stick"),
        (lambda: HuntCrossley(0.0), OutOfRangeError, "stiffness of a compliant contact is 0.0"),
        (lambda: HuntCrossley(1.0, 0.5), OutOfRangeError, "exponent .* is 0.5, but must be"),
        (lambda: HuntCrossley(1.0, 1.5, -1.0), OutOfRangeError, "dissipation .* is -1.0"),
        (lambda: KelvinVoigt(1.0, -1.0), OutOfRangeError, "damping .* is -1.0"),
        (
            lambda: ElastoGap("s", GROUND.point(0, 0), FLAT.centre, 1.0, 0.0, 0.0),
            OutOfRangeError,
            "length of the ElastoGap 's' is 0.0",
        ),
        (lambda: ElastoGap("s", BALL.centre, FLAT.centre, 1.0, 0.0, 1.0), PosingError, "in space"),
    ],
)
def test_compliant_contacts_that_have_no_meaning_are_refused(make, error, sentence):
    with pytest.raises(error, match=sentence):
        make()
