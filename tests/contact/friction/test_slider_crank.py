"""A crank that drives a slider between two guides: at each dead centre its slip turns round.

The slider stands on two pairs of supports, and at a dead centre nothing of it slides for an instant
though the crank turns on: friction does not hold it, and turns with the slip.
"""

from __future__ import annotations

import itertools

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import daesolve as ds
from daesolve.core.results.trajectory.results import Outcome

CRANK, LENGTH, FLYWHEEL, MASS, FRICTION = 0.1, 0.3, 0.05, 1.0, 0.3
HALF, HEIGHT, GRAVITY, DAMPING, SPEED = 0.05, 0.02, 9.81, 0.5, 10.0
SIDES, ENDS = (-1, 1), (1.0, -1.0)
"""Normals of upper and lower supports; ends of the slider."""


def slider_crank():
    q = ds.coordinates(theta=ds.ANGLE, x="m", y="m", phi="rad")

    def support(side, end):
        along, up = end * HALF, -side * HEIGHT
        cosine, sine = ca.cos(q.phi), ca.sin(q.phi)
        point = (q.x + along * cosine - up * sine, q.y + along * sine + up * cosine)
        return ds.friction.Support(point=point, normal=(0.0, float(side)), friction=FRICTION)

    across, up = q.x - CRANK * ca.cos(q.theta), q.y - CRANK * ca.sin(q.theta)
    return ds.MechanicalSystem(
        q,
        kinetic=(FLYWHEEL * q.dot.theta**2 + MASS * (q.dot.x**2 + q.dot.y**2) + 1e-3 * q.dot.phi**2)
        / 2,
        potential=MASS * GRAVITY * q.y,
        force={"theta": DAMPING * (SPEED - q.dot.theta)},
        goals=[
            ds.Holonomic("rod", (across**2 + up**2 - LENGTH**2) / (2 * LENGTH)),
            ds.Holonomic("height", q.y, ideal=False, scale=1.0),
            ds.Holonomic("turn", q.phi, ideal=False, scale=1.0),
        ],
        pairs=[
            ds.friction.VariantPair(name, [support(side, end) for side in SIDES])
            for name, end in zip(("front", "back"), ENDS, strict=True)
        ],
    )


def solved(until, **options):
    start = {"theta": 1.0, "theta_dot": 10.0}
    return ds.solve(slider_crank(), until, start, guess={"x": 0.35}, **options)


# -- by hand: two coordinates, a rod's force, two reactions, and every variant tried ---------------


def accelerations(theta, rate, sense):
    """theta'' and x'' of the only variant whose reactions have the signs of its supports."""
    x = CRANK * np.cos(theta) + np.sqrt(LENGTH**2 - (CRANK * np.sin(theta)) ** 2)
    by_theta, by_x = x * CRANK * np.sin(theta), x - CRANK * np.cos(theta)
    speed = -by_theta * rate / by_x
    bias = (
        2.0 * speed * CRANK * np.sin(theta) * rate + x * CRANK * np.cos(theta) * rate**2 + speed**2
    )
    found = []
    for variant in itertools.product(SIDES, SIDES):  # +1: the lower support bears
        arms = [
            e * HALF - s * FRICTION * s * HEIGHT * sense for e, s in zip(ENDS, variant, strict=True)
        ]
        rub = [-FRICTION * s * sense for s in variant]
        matrix = np.array(
            [
                [FLYWHEEL, 0.0, -by_theta, 0.0, 0.0],
                [0.0, MASS, -by_x, -rub[0], -rub[1]],
                [0.0, 0.0, -CRANK * np.sin(theta), 1.0, 1.0],
                [0.0, 0.0, 0.0, *arms],
                [by_theta, by_x, 0.0, 0.0, 0.0],
            ]
        )
        right = [DAMPING * (SPEED - rate), 0.0, MASS * GRAVITY, 0.0, -bias]
        solution = np.linalg.solve(matrix, right)
        if all(s * n >= 0.0 for s, n in zip(variant, solution[3:], strict=True)):
            found.append(solution)
    (only,) = found
    return only[0], speed


def by_hand(until):
    """Integrate from dead centre to dead centre, theta a multiple of pi."""
    time, state = 0.0, np.array([1.0, 10.0])

    def dead_centre(_, y):
        return np.sin(y[0])

    dead_centre.terminal = True
    while time < until:
        # The slip is -sin(theta) times something positive, while the crank turns ahead.
        sense = -np.sign(np.sin(state[0] + 1e-6))
        piece = solve_ivp(
            lambda _, y, sense=sense: [y[1], accelerations(y[0], y[1], sense)[0]],
            (time, until),
            state,
            "DOP853",
            rtol=1e-12,
            atol=1e-13,
            events=dead_centre if time == 0.0 else _after(dead_centre, time),
        )
        time, state = piece.t[-1], piece.y[:, -1]
    return state


def _after(event, begin):
    """Return an event that does not see the zero from which a piece starts."""

    def later(t, y):
        return event(t, y) if t > begin + 1e-3 else np.sign(np.sin(y[0] + 1e-2))

    later.terminal = True
    return later


@pytest.mark.slow
def test_the_slip_turns_round_at_each_dead_centre_as_in_an_integration_by_hand():
    until = 4.0
    run = solved(until)
    assert run.outcome is Outcome.COMPLETED
    theta, rate = by_hand(until)
    # Steps at 1e-12 over 4 s of a motion that damping makes forget; some ten dead centres.
    assert run.end_state["theta"] == pytest.approx(theta, abs=1e-9)
    assert run.end_state["theta_dot"] == pytest.approx(rate, abs=1e-8)
    reversals = [event.time for event in run.events if event.name == "at_rest"]
    assert len(reversals) == int(theta // np.pi)
    for time in reversals[:3]:
        assert np.sin(run.at(time)["theta"]) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.slow
def test_friction_takes_energy_at_both_ways_and_the_balance_holds():
    run = solved(2.0)
    taken = np.diff(run["friction_work"])
    assert taken.max() <= 0.0
    assert not run.drift["energy"].driven
    assert run.drift["energy"].max_relative < 1e-13


@pytest.mark.long
def test_a_thousand_turns_keep_the_balance_of_energy():
    run = solved(1000 * 2 * np.pi / 9.0, at=ds.every(1.0))
    assert run.outcome is Outcome.COMPLETED
    turns = run.end_state["theta"] / (2 * np.pi)
    assert turns > 1000.0
    assert sum(event.name == "at_rest" for event in run.events) == int(2 * turns)
    assert not run.drift["energy"].driven
    # Rounding of some 4e5 steps, were all of one sign: 4e5 * 1e-16.
    assert run.drift["energy"].max_relative < 1e-10
