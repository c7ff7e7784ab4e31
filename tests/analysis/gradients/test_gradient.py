"""Gradients of objectives, carried back along a run, against closed forms and derivatives."""

from __future__ import annotations

import math

import casadi as ca
import mpmath as mp
import numpy as np
import pytest
import scipy

import daesolve as ds
from daesolve.errors import OutOfRangeError, UnknownNameError
from tests.derivatives import ROUNDING, ball, exact
from tests.systems import pendulum, projectile

# -- a mechanism ---------------------------------------------------------------------------------

CRANK = 0.5


def slider_crank() -> ds.MechanicalSystem:
    """A crank, a rod and a slider, with a spring and a damper between the middles of crank and rod.

    The example idasSlCrank of SUNDIALS.
    """
    q = ds.coordinates(crank="rad", x="m", rod="rad")
    p = ds.parameters(k=(1.0, "N/m"), c=(1.0, "N s/m"))
    crank = CRANK * ca.vertcat(ca.cos(q.crank), ca.sin(q.crank))
    rod = ca.vertcat(ca.cos(q.rod), ca.sin(q.rod))
    span = ca.norm_2(ca.vertcat(q.x, 0) - rod / 2 - crank / 2)
    pull = p.k * (span - 1.0) + p.c * ca.jtimes(span, q.vector, q.dot.vector)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.crank**2 + q.dot.x**2 + 2 * q.dot.rod**2) / 2,
        force=-pull * ca.gradient(span, q.vector) + ca.vertcat(0, 1, -ca.sin(q.rod)),
        goals=[
            ds.Holonomic("along", q.x - rod[0] - crank[0]),
            ds.Holonomic("across", rod[1] + crank[1]),
        ],
    )


def by_crank_angle(k: float, c: float) -> float:
    """The integral of the kinetic energy over 10 s, with the crank's angle as the only unknown.

    With s = sin(crank), the rod has sin(rod) = -a s and the slider x = cos(rod) + a cos(crank).
    """
    a, angle, speed, t = CRANK, ca.SX.sym("q"), ca.SX.sym("v"), ca.SX.sym("t")
    rod = -ca.asin(a * ca.sin(angle))
    x = ca.cos(rod) + a * ca.cos(angle)
    slopes = ca.jacobian(ca.vertcat(angle, x, rod), angle)
    inertia = slopes[0] ** 2 + slopes[1] ** 2 + 2 * slopes[2] ** 2
    span = ca.hypot(
        x - ca.cos(rod) / 2 - a * ca.cos(angle) / 2, -ca.sin(rod) / 2 - a * ca.sin(angle) / 2
    )
    pull = k * (span - 1.0) + c * ca.jacobian(span, angle) * speed
    push = slopes[1] - ca.sin(rod) * slopes[2] - pull * ca.jacobian(span, angle)
    rate = (push - ca.jacobian(inertia, angle) * speed**2 / 2) / inertia
    state = ca.vertcat(angle, speed, ca.SX.sym("G"))
    rates = ca.Function("f", [t, state], [ca.vertcat(speed, rate, inertia * speed**2 / 2)])
    found = scipy.integrate.solve_ivp(
        lambda now, y: np.asarray(rates(now, y)).ravel(),
        (0.0, 10.0),
        [math.pi / 2, 0.0, 0.0],
        method="DOP853",
        rtol=1e-12,
        atol=1e-13,
    )
    return float(found.y[2, -1])


def test_the_slider_crank_of_sundials_has_its_gradient_of_the_mean_energy():
    rod = math.asin(-CRANK)
    energy = ds.analysis.Objective(
        running=lambda now: (
            (now["crank_dot"] ** 2 + now["x_dot"] ** 2 + 2 * now["rod_dot"] ** 2) / 2
        )
    )
    found = ds.analysis.gradient(
        slider_crank(),
        energy,
        10.0,
        {"crank": math.pi / 2, "crank_dot": 0.0},
        guess={"x": math.cos(rod), "rod": rod},
        by=["k", "c"],
    )
    # SUNDIALS prints these, at tolerances of 1e-6.
    assert found.vector == pytest.approx([3.3346e-01, -3.6375e-01], rel=1e-4)
    assert found.value == pytest.approx(by_crank_angle(1.0, 1.0), rel=1e-10)
    step = 1e-3
    by_k = (by_crank_angle(1 + step, 1.0) - by_crank_angle(1 - step, 1.0)) / (2 * step)
    by_c = (by_crank_angle(1.0, 1 + step) - by_crank_angle(1.0, 1 - step)) / (2 * step)
    # Central differences leave a part of step^2.
    assert found.vector == pytest.approx([by_k, by_c], rel=10 * step**2)


# -- impacts -------------------------------------------------------------------------------------


def test_two_balls_that_exchange_their_speeds_have_whole_numbers():
    """The second goes on where the first would have: x = a + v t + 2 r, wherever it was."""
    q = ds.coordinates(a="m", b="m")
    touch = ds.Holonomic("touch", q.b - q.a - 0.2)
    hit = ds.Event("hit", q.b - q.a - 0.2, ds.FALLING, ds.Reset(impose=[touch], restitution=1.0))
    balls = ds.MechanicalSystem(q, kinetic=ca.sumsqr(q.dot.vector) / 2, events=[hit])
    start = {"a": 0.0, "b": 0.7, "a_dot": 1.0, "b_dot": 0.0}
    place = ds.analysis.Objective(end=lambda now: now["b"])
    found = ds.analysis.gradient(balls, place, 1.0, start, by=["a", "b", "a_dot", "b_dot"])
    assert found.value == pytest.approx(1.2, abs=1e-14)
    assert found.vector == pytest.approx([1.0, 0.0, 1.0, 0.0], abs=1e-14)


def bounces(height, gravity, restitution):
    """Times of the first three bounces of a dropped ball."""
    fall = mp.sqrt(2 * height / gravity)
    return [fall * (1 + 2 * sum(restitution**k for k in range(1, n))) for n in (1, 2, 3)]


def everything(height, gravity, restitution, until, moments):
    """The objective of the test below, in closed form."""
    hits = bounces(height, gravity, restitution)
    fall = hits[0]

    def motion(time):
        count = sum(1 for hit in hits if hit < time)
        if not count:
            return height - gravity * time**2 / 2, -gravity * time
        speed, since = restitution**count * gravity * fall, time - hits[count - 1]
        return speed * since - gravity * since**2 / 2, speed - gravity * since

    # The integral of v^2 over a stretch from v0 to v1 is (v0^3 - v1^3) / (3 g).
    speeds = [(restitution**k * gravity * fall, k) for k in range(3)]
    energy = gravity**2 * fall**3 / 3
    energy += sum(2 * speed**3 / (3 * gravity) for speed, k in speeds if k in (1, 2))
    last = restitution**3 * gravity * fall
    energy += (last**3 - motion(until)[1] ** 3) / (3 * gravity)
    y, v = motion(until)
    terms = sum((k + 1) * motion(time)[0] ** 2 for k, time in enumerate(moments))
    return y * v + gravity * y + energy + motion(0.6)[1] ** 2 + terms + 3 * hits[1] - hits[2]


def test_terms_of_every_kind_add_up_through_bounces():
    values = {"y": 1.0, "gravity": 9.81, "restitution": 0.8}
    moments = [0.2, 0.9, 1.5]

    def samples(run):
        y, weights = run["y"], np.array([1.0, 2.0, 3.0, 0.0])
        hits = [event.time for event in run.events]
        partials = {"y": 2 * weights * y, "event_times": [0.0, 3.0, -1.0]}
        return float(weights @ y**2) + 3 * hits[1] - hits[2], partials

    objective = ds.analysis.Objective(
        end=lambda now: now["y"] * now["y_dot"] + now["gravity"] * now["y"],
        running=lambda now: now["y_dot"] ** 2,
        at={0.6: lambda now: now["y_dot"] ** 2},
        samples=samples,
    )
    until = 2.0
    found = ds.analysis.gradient(
        ball(), objective, until, {"y": 1.0, "y_dot": 0.0}, by=[*values], at=moments
    )
    assert found.run.event_count == 3
    numbers = tuple(map(mp.mpf, values.values()))
    assert found.value == pytest.approx(float(everything(*numbers, until, moments)), rel=ROUNDING)
    expected = exact(lambda *given: everything(*given, until, moments), [*values.values()])
    assert found.vector == pytest.approx(expected, rel=1e-11)


def test_an_end_that_an_event_sets_moves_with_its_guard():
    system = projectile(events=lambda q: [ds.Event("ground", q.y, ds.FALLING, ds.Stop())])
    objective = ds.analysis.Objective(
        end=lambda now: now["t"] * now["y_dot"], running=lambda now: now["y_dot"] + 1.0
    )
    by = ["y", "y_dot", "gravity"]
    found = ds.analysis.gradient(system, objective, 10.0, {"y": 0.5, "y_dot": 3.0}, by=by)

    def closed(height, speed, gravity):
        last = mp.sqrt(speed**2 + 2 * gravity * height)
        time = (speed + last) / gravity
        return -time * last - height + time

    assert found.value == pytest.approx(float(closed(0.5, 3.0, 9.81)), rel=ROUNDING)
    assert found.vector == pytest.approx(exact(closed, [0.5, 3.0, 9.81]), rel=ROUNDING)


def test_samples_at_events_move_with_them():
    def samples(run):
        return float(np.sum(run["y_dot"] ** 2)), {"y_dot": 2 * run["y_dot"]}

    objective = ds.analysis.Objective(samples=samples)
    found = ds.analysis.gradient(
        ball(), objective, 1.0, {"y": 1.0, "y_dot": 0.0}, by=["y", "gravity"], at=ds.every_event()
    )

    def closed(height, gravity):
        fall = mp.sqrt(2 * height / gravity)
        last = mp.mpf(0.8) * gravity * fall - gravity * (1 - fall)
        return 2 * gravity * height + last**2

    assert found.vector == pytest.approx(exact(closed, [1.0, 9.81]), rel=ROUNDING)


@pytest.mark.slow
def test_a_thousand_impacts_leave_the_digits_of_the_closed_form():
    """After n bounces without loss, y = v s - g s^2 / 2 with s = t - (2 n - 1) (2 h / g)^(1/2)."""
    start, until = {"y": 1.0, "y_dot": 0.0}, 903.5
    objective = ds.analysis.Objective(end=lambda now: now["y"])
    found = ds.analysis.gradient(
        ball(), objective, until, start, by=["y", "gravity"], parameters={"restitution": 1.0}
    )
    count = found.run.event_count
    assert count >= 1000

    def closed(height, gravity):
        fall = mp.sqrt(2 * height / gravity)
        since = until - (2 * count - 1) * fall
        return gravity * fall * since - gravity * since**2 / 2

    # Each impact is known to a rounding of its time, 900 s.
    limit = 1000 * np.spacing(900.0) * 10
    assert found.vector == pytest.approx(exact(closed, [1.0, 9.81]), rel=limit)


# -- against forward derivatives -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("solver", "within"),
    [
        (None, 1e-12),
        pytest.param(ds.Dop853(rtol=1e-12, atol=1e-13), 1e-9, marks=pytest.mark.slow),
    ],
    ids=["taylor", "dop853"],
)
def test_a_pendulum_has_the_gradient_of_its_forward_derivatives(solver, within):
    start, by = {"x": -0.6}, ["x", "length", "gravity", "mass"]
    options = {"guess": {"y": -0.8}, "solver": solver}
    times = [0.5, 1.0, 3.0]

    def samples(run):
        (rod,) = run.reactions
        value = float(np.sum(run["x"] ** 2) + np.sum(run.reactions[rod] * [1.0, -2.0, 0.5]))
        return value, {"x": 2 * run["x"], rod: [1.0, -2.0, 0.5]}

    forward = ds.analysis.sensitivity(pendulum(), 3.0, start, by=by, at=times, **options)
    found = ds.analysis.gradient(
        pendulum(), ds.analysis.Objective(samples=samples), 3.0, start, by=by, at=times, **options
    )
    along = forward.along
    assert along is not None
    (rod,) = forward.run.reactions
    expected = 2 * forward.run["x"] @ along["x"] + np.array([1.0, -2.0, 0.5]) @ along[rod]
    assert found.vector == pytest.approx(expected, abs=within * np.max(np.abs(expected)))


def test_a_case_is_differentiated_through_its_own_names():
    pytest.importorskip("daesolve_problems")
    case = ds.problem("pendulum").case()
    found = case.gradient(ds.analysis.Objective(end=lambda now: now["x"]), ["gravity"], until=2.0)
    run = found.run
    expected = run.end_state["x_dot"] * 2.0 / (2 * case.full_parameters["gravity"])
    assert found["gravity"] == pytest.approx(expected, rel=1e-12)
    assert "gravity" in str(found)


# -- bad input -----------------------------------------------------------------------------------


def test_what_is_no_objective_is_refused_in_one_sentence():
    system, start = projectile(), {"y": 0.5, "y_dot": 3.0}

    def refused(error, words, objective, **options):
        with pytest.raises(error, match=words):
            ds.analysis.gradient(system, objective, 0.1, start, by=["y"], **options)

    with pytest.raises(OutOfRangeError, match="at least one of end, running, at and samples"):
        ds.analysis.Objective()
    end = ds.analysis.Objective(end=lambda now: now["yy"])
    refused(UnknownNameError, "did you mean 'y'", end)
    two = ds.analysis.Objective(end=lambda now: ca.vertcat(now["y"], now["y"]))
    refused(OutOfRangeError, "one number, not 2 x 1", two)
    foreign = ds.analysis.Objective(running=lambda now: ca.SX.sym("z"))
    refused(OutOfRangeError, "contains 'z' as a symbol", foreign)
    few = ds.analysis.Objective(samples=lambda run: (0.0, {"y": [1.0]}))
    refused(OutOfRangeError, "1 derivatives by 'y', but the run has 2", few, at=[0.05, 0.1])
    refused(OutOfRangeError, "at is not given", few)
    other = ds.analysis.Objective(samples=lambda run: (0.0, {"z": [1.0, 0.0]}))
    refused(UnknownNameError, "unknown state, reaction or output 'z'", other, at=[0.05, 0.1])
    refused(OutOfRangeError, "must be an Objective", lambda now: now["y"])
    timed = ds.analysis.Objective(at={0.05: lambda now: now["y"]})
    refused(OutOfRangeError, "must be a list of numbers", timed, at=ds.every(0.01))
