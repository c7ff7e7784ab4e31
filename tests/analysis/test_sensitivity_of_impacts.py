"""Derivatives of the final state through bounces, and through impacts with constraints."""

from __future__ import annotations

import casadi as ca
import mpmath as mp
import numpy as np
import pytest

import daesolve as ds
from tests.derivatives import ROUNDING, ball, check, differences, exact
from tests.systems import pendulum

# -- bounces -------------------------------------------------------------------------------------


def after_bounces(count: int, height, gravity, restitution, time):
    """y, y' and the last bounce of a dropped ball, in closed form."""
    fall = mp.sqrt(2 * height / gravity)
    moment = fall * (1 + 2 * sum(restitution**k for k in range(1, count)))
    speed = restitution**count * gravity * fall
    since = time - moment
    return speed * since - gravity * since**2 / 2, speed - gravity * since, moment


@pytest.mark.default_rows(1)
@pytest.mark.parametrize("count", [1, 2, 5, 9])
def test_bouncing_ball_has_its_exact_derivatives_after_many_bounces(count):
    values = {"y": 1.0, "gravity": 9.81, "restitution": 0.8}
    last = after_bounces(count, 1.0, 9.81, 0.8, 0)[2]
    speed = after_bounces(count, 1.0, 9.81, 0.8, last)[1]
    until = float(last + 0.4 * 2 * speed / 9.81)
    found = ds.analysis.sensitivity(ball(), until, {"y": 1.0, "y_dot": 0.0}, by=list(values))
    assert found.run.event_count == count
    for row, got in enumerate((*found.matrix, found.event_times[-1])):
        expected = exact(
            lambda *numbers, row=row: after_bounces(count, *numbers, until)[row],
            [*values.values()],
        )
        assert got == pytest.approx(expected, rel=1e-11, abs=1e-12)


def test_floor_that_moves_enters_by_its_time():
    values = {"y": 0.4, "gravity": 9.81, "restitution": 0.8, "amplitude": 0.05, "frequency": 7.0}
    found = ds.analysis.sensitivity(
        ball(floor="moving"), 1.2, {"y": 0.4, "y_dot": 0.0}, by=list(values), solver=ds.Taylor()
    )
    moments = [event.time for event in found.run.events]
    assert len(moments) >= 3

    def end(height, gravity, restitution, amplitude, frequency):
        y, v, now = height, mp.mpf(0), mp.mpf(0)
        for guess in moments:

            def gap(t, y=y, v=v, now=now):
                flown = y + v * (t - now) - gravity * (t - now) ** 2 / 2
                return flown - amplitude * mp.sin(frequency * t)

            moment = mp.findroot(gap, guess)
            y, v = amplitude * mp.sin(frequency * moment), v - gravity * (moment - now)
            floor = amplitude * frequency * mp.cos(frequency * moment)
            v, now = floor - restitution * (v - floor), moment
        left = mp.mpf(1.2) - now
        return y + v * left - gravity * left**2 / 2

    assert found.matrix[0] == pytest.approx(exact(end, [*values.values()]), rel=1e-10)


# -- impacts with constraints --------------------------------------------------------------------


def handover() -> ds.MechanicalSystem:
    """A load on the first of two sprung carts is latched to the other where they meet."""
    q = ds.coordinates(first="m", second="m", load="m")
    p = ds.parameters(
        first_mass=(1.0, "kg"), second_mass=(2.0, "kg"), load_mass=(0.7, "kg"), stiffness=(5.0, "")
    )
    d = ds.discrete(latched=0.0)
    grip = q.dot.load - (1 - d.latched) * q.dot.first - d.latched * q.dot.second
    springs = p.stiffness * (q.first**2 + (q.second - 1) ** 2 + (q.second - 1) ** 4) / 2
    masses = ca.vertcat(p.first_mass, p.second_mass, p.load_mass)
    return ds.MechanicalSystem(
        q,
        p,
        discrete=d,
        kinetic=ca.dot(masses, q.dot.vector**2) / 2,
        potential=springs,
        goals=[ds.Nonholonomic("grip", grip)],
        events=[
            ds.Event(
                "meeting",
                q.second - q.first + 100 * d.latched,
                ds.FALLING,
                ds.Reset({"latched": 1.0}, impose=["grip"]),
            )
        ],
    )


@pytest.mark.long_beyond(3)
@pytest.mark.parametrize(
    ("formulation", "solver", "within"),
    [
        (ds.Feedback(), ds.Taylor(), 1e-9),
        (ds.NullSpace(), ds.Taylor(), 1e-9),
        (ds.Projected(), ds.Taylor(), 1e-9),
        (ds.Feedback(), ds.Dop853(rtol=1e-12, atol=1e-13), 1e-8),
        (ds.Feedback(), ds.Cvodes(rtol=1e-11, atol=1e-12), 1e-7),
    ],
    ids=lambda option: getattr(option, "name", None),
)
@pytest.mark.slow
def test_masses_that_are_latched_together_follow_their_differences(formulation, solver, within):
    system = handover()
    start = {"first": 0.2, "second": 1.0, "load": 0.2, "first_dot": 4.0, "second_dot": 0.0}
    by = {"first_mass": 1.0, "second_mass": 2.0, "load_mass": 0.7, "stiffness": 5.0,
          "first_dot": 4.0}  # fmt: skip

    def end(**changed):
        numbers = {name: value for name, value in changed.items() if name not in start}
        starts = start | {name: value for name, value in changed.items() if name in start}
        run = ds.solve(system, 1.5, starts, parameters=numbers, at=[1.5], solver=ds.Taylor())
        assert run.event_count == 1
        return run.end_state

    found = ds.analysis.sensitivity(
        system, 1.5, start, by=list(by), formulation=formulation, solver=solver
    )
    assert found.run.events[0].impact is not None
    assert found.run.events[0].impact.kinetic_after < found.run.events[0].impact.kinetic_before
    check(found, differences(end, by), within)


@pytest.mark.slow
def test_wall_hit_by_a_pendulum_throws_it_back_within_its_constraint():
    def wall(q, p):
        plane = ds.Nonholonomic("wall", q.dot.x)
        hit = ds.Reset(impose=[plane], restitution=0.6)
        return [ds.Event("hit", q.x - 0.3 * p.length, ds.RISING, hit)]

    system = pendulum(events=wall)

    def end(**changed):
        run = ds.solve(system, 4.0, {"x": -0.5}, guess={"y": -0.8}, parameters=changed, at=[4.0])
        assert run.event_count == 2
        return run.end_state

    values = {"length": 1.0, "gravity": 9.81}
    found = {
        form.name: ds.analysis.sensitivity(
            system, 4.0, {"x": -0.5}, guess={"y": -0.8}, by=[*values], formulation=form
        )
        for form in (ds.Feedback(), ds.NullSpace(), ds.Projected())
    }
    check(found["feedback"], differences(end, values), 1e-9)
    for other in ("null-space", "projected"):
        assert found[other].matrix == pytest.approx(found["feedback"].matrix, rel=1e-10, abs=1e-11)


def test_resets_that_follow_at_the_same_instant_are_composed():
    d = ds.discrete(stage=0.0)
    q = ds.coordinates(x="m")
    p = ds.parameters(first=(2.0, ""), second=(3.0, ""), wall=(1.0, "m"))
    faster = ds.Reset({"stage": 1.0, "x_dot": p.first * q.dot.x})
    slower = ds.Reset({"stage": 2.0, "x_dot": q.dot.x / p.second + q.x})
    system = ds.MechanicalSystem(
        q,
        p,
        discrete=d,
        kinetic=q.dot.x**2 / 2,
        events=[
            ds.Event("faster", q.x - p.wall - 1e3 * d.stage, ds.RISING, faster),
            ds.Event("slower", q.x + 10 - 1e3 * (d.stage != 1), ds.RISING, slower),
        ],
    )
    by = ["x_dot", "wall", "first", "second"]
    found = ds.analysis.sensitivity(system, 2.0, {"x": 0.0, "x_dot": 1.0}, by=by)
    assert [event.name for event in found.run.events] == ["faster", "slower"]
    # x = w + (2 - w / v) (v a / b + w), with v = 1, w = 1, a = 2, b = 3.
    speed = 2.0 / 3.0 + 1.0
    expected = [speed + 2.0 / 3.0, 1.0 - speed + 1.0, 1.0 / 3.0, -2.0 / 9.0]
    assert found.matrix[0] == pytest.approx(expected, rel=ROUNDING)
    assert found.event_times == pytest.approx(np.array([[-1.0, 1.0, 0.0, 0.0]] * 2), abs=ROUNDING)
