"""Motions with contacts that open and close, in minimal coordinates and switched by hand.

Each phase has its own equations, written down anew; guards are found by Newton's method on the time
of a fresh integration, impacts by solving the few lines of Newton's law. Nothing of the library is
used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from scipy.integrate import quad, solve_ivp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    Rates = Callable[[float, Vector], Sequence[float] | Vector]
    Guard = Callable[[float, Vector], float]

TOLERANCE = 3e-14


def flown(rates: Rates, start: Vector, began: float, until: float) -> Vector:
    """Return the state at a time."""
    if until == began:
        return start
    found = solve_ivp(
        rates, (began, until), start, method="DOP853", rtol=TOLERANCE, atol=TOLERANCE * 0.1
    )
    return found.y[:, -1]


def until_zero(
    rates: Rates, guard: Guard, start: Vector, began: float, latest: float
) -> tuple[float, Vector]:
    """Return when a guard first falls through zero, and the state there."""

    def event(time: float, state: Vector) -> float:
        return guard(time, state)

    event.terminal, event.direction = True, -1.0  # pyright: ignore[reportFunctionMemberAccess]
    found = solve_ivp(
        rates, (began, latest), start, method="DOP853", rtol=TOLERANCE, atol=TOLERANCE * 0.1,
        events=event,
    )  # fmt: skip
    moment = float(found.t_events[0][0])
    for _ in range(3):
        state, step = flown(rates, start, began, moment), 1e-6
        before, after = (flown(rates, start, began, moment + s) for s in (-step, step))
        slope = (guard(moment + step, after) - guard(moment - step, before)) / (2.0 * step)
        moment -= guard(moment, state) / slope
    return moment, flown(rates, start, began, moment)


# -- a bead on a sphere ----------------------------------------------------------------------------


def sliding_time(start: float, radius: float, gravity: float) -> float:
    """Return when a bead, at rest at an angle from the top, leaves a smooth sphere, s.

    It leaves where cos is two thirds of cos(start). With u = sqrt(cos(start) - cos(angle)) the
    time, the integral of d angle / sqrt(2 g (cos start - cos angle) / R), has no singularity.
    """
    top = math.cos(start)

    def slope(u: float) -> float:
        return 2.0 / math.sqrt((1.0 - (top - u * u)) * (1.0 + (top - u * u)))

    whole = quad(slope, 0.0, math.sqrt(top / 3.0), epsabs=0.0, epsrel=1e-13)[0]
    return whole / math.sqrt(2.0 * gravity / radius)


def rough_release(start: float, speed: float, friction: float) -> tuple[float, Vector]:
    """Return when a bead leaves a rough sphere (R = g = m = 1), and its angle and rate there."""

    def rates(_: float, x: Vector) -> Sequence[float]:
        pressing = math.cos(x[0]) - x[1] ** 2
        return [x[1], math.sin(x[0]) - friction * pressing]

    return until_zero(
        rates, lambda _, x: math.cos(x[0]) - x[1] ** 2, np.array([start, speed]), 0.0, 10.0
    )


# -- a block that rocks ----------------------------------------------------------------------------


def rocking_block(
    half: float, height: float, radius_squared: float, gravity: float, tilt: float, until: float
) -> tuple[list[float], Vector]:
    """Follow a block (m = 1) on a smooth floor, from rest, tilted about its right corner (< 0).

    Parameters
    ----------
    half, height
        Of its base and of its centre over it, m.
    radius_squared
        Of gyration, m^2.
    gravity, tilt, until
        m/s^2, rad, s.

    Returns
    -------
    times, state
        Of the impacts, at each of which the other corner comes down without restitution and the
        first one is let go; the angle and its rate at the end.
    """

    def rates(side: float) -> Rates:
        # Height of the centre y(angle) = height cos + side half sin, with the corner at rest in y.
        def found(_: float, x: Vector) -> Sequence[float]:
            s, c = math.sin(x[0]), math.cos(x[0])
            slope = -height * s + side * half * c
            curve = -height * c - side * half * s
            inertia = radius_squared + slope**2
            return [x[1], -(slope * curve * x[1] ** 2 + gravity * slope) / inertia]

        return found

    side = -1.0
    state, time, times = np.array([tilt, 0.0]), 0.0, []
    while True:

        def guard(_: float, x: Vector, side: float = side) -> float:
            return side * x[0]

        end = flown(rates(side), state, time, until)
        try:
            moment, hit = until_zero(rates(side), guard, state, time, until)
        except IndexError:
            return times, end
        times.append(moment)
        # v = (y', angle'): y' = side half angle' before; the impulse P at the other corner lets
        # the gap there, y' + side half angle', stand still: y' changes by P, angle' by
        # side half P / r^2.
        rate = hit[1]
        impulse = -2.0 * side * half * rate / (1.0 + half**2 / radius_squared)
        state = np.array([0.0, rate + side * half * impulse / radius_squared])
        side, time = -side, moment


# -- a double pendulum and a stop ------------------------------------------------------------------


def double_pendulum_rates(gravity: float) -> Rates:
    """Return the rates of (a, b, a', b'), angles from below, of unit masses on unit rods."""

    def found(_: float, x: Vector) -> Sequence[float]:
        a, b, da, db = x
        c, s = math.cos(a - b), math.sin(a - b)
        mass = np.array([[2.0, c], [c, 1.0]])
        force = [-s * db**2 - 2.0 * gravity * math.sin(a), s * da**2 - gravity * math.sin(b)]
        return [da, db, *np.linalg.solve(mass, force)]

    return found


def stopped_rates(gravity: float) -> Rates:
    """Return the same where the first rod rests at its stop."""

    def found(_: float, x: Vector) -> Sequence[float]:
        return [0.0, x[3], 0.0, math.sin(x[0] - x[1]) * x[2] ** 2 - gravity * math.sin(x[1])]

    return found


def stop_reaction(gravity: float, x: Vector) -> float:
    """Return the moment with which a stop below holds the first rod up where it rests there."""
    a, b, _, db = x
    c, s = math.cos(a - b), math.sin(a - b)
    return c * (-gravity * math.sin(b)) + s * db**2 + 2.0 * gravity * math.sin(a)


def thrown_at_stop(x: Vector, restitution: float) -> Vector:
    """Return the state after the first rod met its stop: an impulse on a alone."""
    a, b, da, db = x
    c = math.cos(a - b)
    return np.array([a, b, -restitution * da, db + c * (1.0 + restitution) * da])


# -- a rod on two supports -------------------------------------------------------------------------


def open_ends(mass: float, inertia: float, half: float, force: float, moment: float) -> set[int]:
    """Return which ends of a rod at rest on two supports open, by trying all four ways.

    `force` acts upwards in the middle (weight included), `moment` turns it to the left.
    """
    lever = np.array([-half, half])
    response = 1.0 / mass + np.outer(lever, lever) / inertia
    free = force / mass + lever * moment / inertia
    answers: list[set[int]] = []
    for closed in product([True, False], repeat=2):
        chosen = np.flatnonzero(closed)
        push = np.zeros(2)
        if chosen.size:
            push[chosen] = np.linalg.solve(response[np.ix_(chosen, chosen)], -free[chosen])
        gaps = response @ push + free
        if np.all(push >= -1e-12) and np.all(gaps >= -1e-12):
            answers.append({k for k in (0, 1) if not closed[k]})
    assert len(answers) == 1
    return answers[0]
