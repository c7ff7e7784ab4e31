"""Second derivatives of objectives, against closed forms in forty digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import mpmath as mp
import numpy as np
import pytest
from daesolve_problems.contacts import free_body

import daesolve as ds
from daesolve.errors import OutOfRangeError, UnknownNameError
from tests.analysis.gradients.test_gradient import bounces, everything
from tests.derivatives import ball
from tests.systems import pendulum, projectile


def exact_hessian(function: Callable, values: Sequence[float]) -> np.ndarray:
    """The second derivatives of a function."""
    count = len(values)
    found = np.zeros((count, count))
    with mp.workdps(40):
        numbers = tuple(map(mp.mpf, values))
        for one in range(count):
            for other in range(count):
                order = [int(k == one) + int(k == other) for k in range(count)]
                found[one, other] = float(mp.diff(function, numbers, tuple(order)))
    return found


def products(source, objective, until, start, by, **options) -> np.ndarray:
    """The Hessian, a column for each direction."""
    columns = [
        ds.analysis.hessian_product(
            source, objective, until, start, by=by, along={name: 1.0}, **options
        ).vector
        for name in by
    ]
    return np.array(columns).T


def check(found: np.ndarray, expected: np.ndarray, within: float) -> None:
    """Compare with a closed form and with the transpose, relative to the largest."""
    largest = np.max(np.abs(expected))
    assert found == pytest.approx(expected, abs=within * largest)
    assert found == pytest.approx(found.T, abs=within * largest)


SMOOTH = 1e-11
"""Rounding, through the equations of a derivative and back."""
CURVED = 1e-9
"""What differences of a curved start leave: rounding over the square of their step, 1e-3."""


@pytest.mark.slow
def test_a_pendulum_has_the_hessian_of_elliptic_functions():
    until, start = 3.0, -0.9

    def squared(x, gravity, length):
        k = mp.sin(mp.asin(x / length) / 2)
        phase = mp.sqrt(gravity / length) * until + mp.ellipk(k**2)
        return (length * mp.sin(2 * mp.asin(k * mp.ellipfun("sn", phase, m=k**2)))) ** 2

    objective = ds.analysis.Objective(end=lambda now: now["x"] ** 2)
    by, options = ["x", "gravity", "length"], {"guess": {"y": -0.1}}
    found = products(pendulum(), objective, until, {"x": start}, by, **options)
    check(found, exact_hessian(squared, [start, 9.81, 1.0]), CURVED)


def test_a_bouncing_ball_has_the_hessian_of_its_closed_form_for_terms_of_every_kind():
    values, until, moments = {"y": 1.0, "gravity": 9.81, "restitution": 0.8}, 2.0, (0.3, 1.1)

    def closed(height, gravity, restitution):
        # Without its terms of the times of bounces, which have no second derivatives.
        _, second, third = bounces(height, gravity, restitution)
        return everything(height, gravity, restitution, until, moments) - 3 * second + third

    objective = ds.analysis.Objective(
        end=lambda now: now["y"] * now["y_dot"] + now["gravity"] * now["y"],
        running=lambda now: now["y_dot"] ** 2,
        at={
            0.6: lambda now: now["y_dot"] ** 2,
            moments[0]: lambda now: now["y"] ** 2,
            moments[1]: lambda now: 2 * now["y"] ** 2,
        },
    )
    start = {"y": 1.0, "y_dot": 0.0}
    found = products(ball(), objective, until, start, list(values))
    check(found, exact_hessian(closed, [*values.values()]), SMOOTH)


def test_an_end_that_an_event_sets_varies_to_the_second_order():
    def closed(height, speed, gravity):
        until = (speed + mp.sqrt(speed**2 + 2 * gravity * height)) / gravity
        fallen = speed - gravity * until
        squares = (speed**3 - fallen**3) / (3 * gravity)
        return until * fallen + squares + until

    objective = ds.analysis.Objective(
        end=lambda now: now["t"] * now["y_dot"], running=lambda now: now["y_dot"] ** 2 + 1.0
    )
    stops = projectile(events=lambda q: [ds.Event("ground", q.y, ds.FALLING, ds.Stop())])
    values = {"y": 0.5, "y_dot": 3.0, "gravity": 9.81}
    start = {name: values[name] for name in ("y", "y_dot")}
    found = products(stops, objective, 10.0, start, list(values))
    check(found, exact_hessian(closed, [*values.values()]), CURVED)


def three_balls() -> ds.MechanicalSystem:
    """Three balls in a row, of unequal masses; the last two touch when the first arrives."""
    q = ds.coordinates(a="m", b="m", c="m")
    p = ds.parameters(first=(2.0, "kg"), restitution=(0.7, ""), gap=(0.2, "m"))
    events = []
    for one, other in (("a", "b"), ("b", "c")):
        gap = q[other] - q[one] - p.gap
        touch = ds.Holonomic(f"{one}{other}", gap)
        reset = ds.Reset(impose=[touch], restitution=p.restitution)
        events.append(ds.Event(f"hit_{one}{other}", gap, ds.FALLING, reset))
    kinetic = (p.first * q.dot.a**2 + q.dot.b**2 + 3 * q.dot.c**2) / 2
    return ds.MechanicalSystem(q, p, kinetic=kinetic, events=events)


def test_balls_that_strike_one_after_the_other_have_the_hessian_of_their_closed_form():
    until = 3.0
    values = {"a_dot": 1.0, "b": 0.7, "first": 2.0, "restitution": 0.7, "gap": 0.2}

    def closed(speed, b, first, e, gap):
        struck = (1 + e) * first * speed / (first + 1)
        late = (b - gap) / speed
        again = late + (mp.mpf("1.5") - b - gap) / struck
        last = (1 + e) * struck / 4
        return (mp.mpf("1.5") + last * (until - again)) ** 2

    objective = ds.analysis.Objective(end=lambda now: now["c"] ** 2)
    start = {"a": 0.0, "b": 0.7, "c": 1.5, "a_dot": 1.0, "b_dot": 0.0, "c_dot": 0.0}
    found = products(three_balls(), objective, until, start, list(values))
    check(found, exact_hessian(closed, [*values.values()]), SMOOTH)


@pytest.mark.slow
def test_where_laws_decide_gradients_are_differenced():
    q = ds.coordinates(y="m")
    p = ds.parameters(gravity=(9.81, "m/s^2"), restitution=(0.6, ""))
    floor = ds.Contact("floor", q.y, restitution=p.restitution, closed=False)
    falls = ds.MechanicalSystem(
        q, p, kinetic=q.dot.y**2 / 2, potential=p.gravity * q.y, goals=[floor]
    )
    values, until = {"y": 1.0, "gravity": 9.81, "restitution": 0.6}, 0.8

    def closed(height, gravity, restitution):
        fall = mp.sqrt(2 * height / gravity)
        return restitution * gravity * fall * (until - fall) - gravity * (until - fall) ** 2 / 2

    height = ds.analysis.Objective(end=lambda now: now["y"])
    start = {"y": 1.0, "y_dot": 0.0}
    found = ds.analysis.hessian_product(
        falls, height, until, start, by=list(values), along=[1.0, 0.0, 0.0]
    )
    assert "differences of gradients" in " ".join(found.notes)
    expected = exact_hessian(closed, [*values.values()])[0]
    # Decisions are extrapolated differences themselves, and leave some 1e-12 of each gradient.
    assert found.vector == pytest.approx(expected, abs=1e-8 * np.max(np.abs(expected)))


def test_what_has_no_second_derivatives_is_refused():
    height = ds.analysis.Objective(end=lambda now: now["y"])
    sampled = ds.analysis.Objective(samples=lambda run: (0.0, {}))
    start, by = {"y": 1.0, "y_dot": 0.0}, ["y", "gravity"]
    for objective, along, error, words in (
        (sampled, [1.0, 0.0], OutOfRangeError, "first derivatives alone"),
        (height, [1.0], OutOfRangeError, "one number for each of y, gravity"),
        (height, [0.0, 0.0], OutOfRangeError, "not zero"),
        (height, {"mass": 1.0}, UnknownNameError, "mass"),
    ):
        with pytest.raises(error, match=words):
            ds.analysis.hessian_product(ball(), objective, 0.3, start, by=by, along=along)


def spinning_ball() -> ds.MechanicalSystem:
    """A homogeneous ball by its unit quaternion, which slides on a rough floor."""
    q, v = free_body.coordinates()
    p = ds.parameters(
        friction=(0.2, "", ds.NON_NEGATIVE),
        gravity=(9.81, "m/s^2"),
        radius=(0.1, "m"),
    )
    turning = free_body.rotated(free_body.orientation(q), v.vector[3:])
    slip = v.vector[:3] + ca.cross(turning, ca.vertcat(0, 0, -p.radius))
    floor = ds.Contact(
        "floor",
        q.z - p.radius,
        slip=(slip[0], slip[1]),
        friction=p.friction,
    )
    inertia = 0.4 * p.radius**2
    return ds.MechanicalSystem(
        q,
        p,
        velocities=v,
        kinematics=free_body.kinematics(q, v),
        kinetic=(ca.sumsqr(v.vector[:3]) + inertia * ca.sumsqr(v.vector[3:])) / 2,
        potential=p.gravity * q.z,
        goals=[floor, free_body.unit(q)],
    )


SPIN = {"x_dot": 1.0, "y_dot": 0.5, "omega_x": 3.0, "omega_y": -5.0}
THROWN = {
    "x": 0.0,
    "y": 0.0,
    "z_dot": 0.0,
    "omega_z": 2.0,
    **free_body.turned_about_vertical(0.0),
    **SPIN,
}
ALONG = [1.0, 0.3, 0.2, -1.0, 0.1, 2.0]


def slip_of(vx, vy, wx, wy):
    """Return the velocity with which the lowest point of the ball slips, and its size."""
    radius = mp.mpf("0.1")
    slip = vx - radius * wy, vy + radius * wx
    return slip, mp.sqrt(slip[0] ** 2 + slip[1] ** 2)


@pytest.mark.slow
def test_a_ball_that_slides_and_spins_in_space_has_the_hessian_of_its_closed_form():
    until = 0.15

    def closed(vx, vy, wx, wy, friction, gravity):
        # Friction acts against the slip, whose direction stays the same.
        slip, size = slip_of(vx, vy, wx, wy)
        x, y = (
            speed * until - friction * gravity * part / size * until**2 / 2
            for speed, part in zip((vx, vy), slip, strict=True)
        )
        return x * y

    objective = ds.analysis.Objective(end=lambda now: now["x"] * now["y"])
    by, start = [*SPIN, "friction", "gravity"], {**THROWN, "z": 0.1}
    found = ds.analysis.hessian_product(
        spinning_ball(), objective, until, start, by=by, along=ALONG
    )
    expected = exact_hessian(closed, [*SPIN.values(), 0.2, 9.81]) @ ALONG
    assert found.vector == pytest.approx(expected, abs=SMOOTH * np.max(np.abs(expected)))
