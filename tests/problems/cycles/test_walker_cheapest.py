"""The cheapest step in two angles, with its impact from moments of momentum, by SciPy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from daesolve_problems.cycles import walker_cheapest as walker
from numpy.polynomial import chebyshev
from scipy.integrate import solve_ivp

import daesolve as ds
from daesolve.errors import UnknownNameError, UnsupportedError

HIP, LEG, GRAVITY = 10.0, 5.0, 9.81
"""The legs are 1 m long."""


def rates(time: float, state: np.ndarray, torque: Sequence[float]) -> np.ndarray:
    """Return the rates of both angles and of theirs, by Lagrange's equations without reactions."""
    s, w, ds, dw = state
    u = float(chebyshev.chebval(2.0 * time / walker.PERIOD - 1.0, torque))
    near = LEG / 2.0 * math.cos(s - w)
    sine = LEG / 2.0 * math.sin(s - w)
    matrix = np.array([[HIP + 1.25 * LEG, -near], [-near, LEG / 4.0]])
    pull = GRAVITY * (HIP + 1.5 * LEG) * math.sin(s)
    right = [pull - u + sine * dw**2, u - GRAVITY * LEG / 2.0 * math.sin(w) - sine * ds**2]
    return np.array([ds, dw, *np.linalg.solve(matrix, right)])


def _momenta(s: float, w: float, ds: float, dw: float, foot: np.ndarray) -> list[float]:
    """Return the moments of momentum of all about a foot, and of the leg `w` about the hip."""
    hip = np.array([math.sin(s), math.cos(s)])
    speed = ds * np.array([math.cos(s), -math.sin(s)])
    down, turn = np.array([math.sin(w), math.cos(w)]), np.array([math.cos(w), -math.sin(w)])
    bodies = [(HIP, hip, speed), (LEG, hip / 2, speed / 2),
              (LEG, hip - down / 2, speed - dw * turn / 2)]  # fmt: skip

    def moment(mass: float, arm: np.ndarray, v: np.ndarray) -> float:
        return mass * (arm[0] * v[1] - arm[1] * v[0])

    whole = sum(moment(mass, place - foot, v) for mass, place, v in bodies)
    mass, place, v = bodies[2]
    return [whole, moment(mass, place - hip, v)]


def struck(state: np.ndarray) -> np.ndarray:
    """Return the state after the swinging leg has landed and the legs have changed places."""
    s, w, ds, dw = state
    old = np.array([math.sin(s) - math.sin(w), 0.0])
    # The leg that stood is the one that is free about the hip: its own foot is let go.
    hip = np.array([math.sin(s), math.cos(s)])
    speed = ds * np.array([math.cos(s), -math.sin(s)])
    mass, arm, v = LEG, -hip / 2, speed / 2
    kept = [_momenta(s, w, ds, dw, old)[0], mass * (arm[0] * v[1] - arm[1] * v[0])]
    units = [_momenta(w, s, *unit, np.zeros(2)) for unit in ((1.0, 0.0), (0.0, 1.0))]
    return np.array([w, s, *np.linalg.solve(np.array(units).T, kept)])


def missed(numbers: np.ndarray) -> np.ndarray:
    """Return by how much a step with start rates and a torque misses itself."""
    angle = walker.ANGLE
    begun = np.array([-angle, angle, *numbers[:2]])
    found = solve_ivp(
        rates, (0.0, walker.PERIOD), begun, "DOP853", rtol=1e-13, atol=1e-14, args=(numbers[2:],)
    )
    return struck(found.y[:, -1]) - begun


def test_the_case_steps_as_two_angles_do_and_repeats_itself() -> None:
    numbers = np.array([*walker.RATES, *walker.TORQUE])
    # The tolerance of the integration, 1e-13, grows fivefold over a step.
    assert np.max(np.abs(missed(numbers))) < 1e-11
    run = walker.problem.case().solve()
    strike = next(event for event in run.events if event.name == "heel_strike")
    assert strike.time == pytest.approx(walker.PERIOD, abs=1e-12)
    after = strike.after or {}
    for name, begun in zip(
        walker.PERIODIC, (-walker.ANGLE, walker.ANGLE, *walker.RATES), strict=True
    ):
        assert after[name] == pytest.approx(begun, abs=1e-11)
    assert after["place"] == pytest.approx(walker.STEP, abs=1e-12)


def test_no_step_nearby_costs_less() -> None:
    # At the least cost its gradient is a combination of those of the conditions of the period.
    numbers = np.array([*walker.RATES, *walker.TORQUE])
    steps = 1e-5 * np.eye(len(numbers))
    slopes = np.array([(missed(numbers + h) - missed(numbers - h)) / 2e-5 for h in steps])
    points, weights = np.polynomial.legendre.leggauss(40)
    shapes = chebyshev.chebvander(points, len(walker.TORQUE) - 1)
    torques = shapes @ numbers[2:]
    cost = walker.PERIOD / 2 * weights @ torques**2
    gradient = np.append([0.0, 0.0], walker.PERIOD * (weights * torques) @ shapes)
    multipliers, *_ = np.linalg.lstsq(slopes, gradient, rcond=None)
    # A cost that is 9e-10 above the least one leaves 1e-5 of the gradient.
    left = np.linalg.norm(slopes @ multipliers - gradient)
    assert left < 1e-4 * np.linalg.norm(gradient)
    assert cost == pytest.approx(203.605246, abs=5e-7)


@pytest.mark.slow
def test_optimise_finds_the_step() -> None:
    found = walker.cheapest(walker.problem.case())
    assert found.digits >= 8
    assert found.objection == ""
    assert found.cost == pytest.approx(203.605246012, rel=1e-10)
    # The test above shows that 203.6052462 is possible, and nothing nearby is less by 1e-9 of it.
    assert max(found.excesses.values()) < 1e-12
    assert found["stance_dot"][0] == pytest.approx(walker.RATES[0], abs=1e-5)
    strikes = [event for event in found.run.events if event.name == "heel_strike"]
    assert [event.time for event in strikes] == [pytest.approx(walker.PERIOD, abs=1e-12)]


def test_an_event_that_ends_a_motion_needs_a_reset() -> None:
    legs = walker.walker()
    for name, error in (("falls", UnsupportedError), ("fals", UnknownNameError)):
        with pytest.raises(error, match=name):
            ds.optimise(legs, time=1.0, event=name)
    with pytest.raises(UnknownNameError, match="discrete value of the mode 'arm'"):
        ds.optimise(legs, time=1.0, event="heel_strike", mode={"arm": 1.0})
