"""The circle map of the two bogies: their direction after each half turn of delta.

As the absolute rates C_1 and C_2 are conserved, delta = theta_2 - theta_1 grows at the constant
rate D = C_2 - C_1, so one angle describes the motion: theta_1 after each T = 2 pi / |D|, modulo pi.
Time can be scaled, so only C_k / V count. The four degenerate points lie at delta = 0 and pi, two
at each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

import daesolve as ds
from daesolve.errors import OutOfRangeError
from daesolve.typing import BoundCase
from daesolve_problems.bogies.theory import LocalTheory
from daesolve_problems.bogies.tongues import ReducedMotion

NEAR = 1e-3
"""s before and after a degenerate point where motions are taken from its local theory."""


def circle_of(case: BoundCase, difference: float, first: float = 3.0) -> ds.analysis.CircleMap:
    """Return the circle map at D = C_2 - C_1; its value is `C1`.

    Raises
    ------
    OutOfRangeError
        D is zero, so that the angle between the bogies does not change.
    """
    if not difference:
        raise OutOfRangeError("C_2 - C_1 is 0, so the angle between the bogies never returns")

    def start(theta: float, C1: float) -> dict[str, float]:  # noqa: N803
        turning = {"integral_1": C1, "integral_2": C1 + difference}
        return {"theta_1": theta, "theta_2": theta, **turning}

    return ds.analysis.circle_map(
        case,
        start,
        "theta_1",
        modulo=math.pi,
        period=2.0 * math.pi / abs(difference),
        values={"C1": first},
    )


@dataclass(frozen=True)
class Shift:
    """The displacement of a locked motion after a period.

    Parameters
    ----------
    along
        How far its place moved, m.
    turned
        The turn of its frame, rad.
    speed
        Of the drift of its place, m/s; where the frame turns it goes around instead.
    """

    along: float
    turned: float
    speed: float


def drift(case: BoundCase, circle: ds.analysis.CircleMap, ratio: tuple[int, int]) -> Shift:
    """Return how the place of the stable locked motion drifts.

    Raises
    ------
    OutOfRangeError
        No motion is locked stably at this ratio.
    """
    stable = [point for point in circle.fixed_points(ratio) if point.stable]
    if not stable:
        raise OutOfRangeError(f"no motion is locked stably at {ratio[0]}/{ratio[1]}")
    period = circle.seconds * ratio[1]
    run = case.solve(period, initial=dict(circle.start(stable[0].angle, **circle.values)))
    end, begin = run.end_state, {name: run[name][0] for name in ("x", "y", "psi")}
    along = math.hypot(end["x"] - begin["x"], end["y"] - begin["y"])
    return Shift(along, end["psi"] - begin["psi"], along / period)


@dataclass(frozen=True, eq=False)
class Separatrix:
    """A motion that runs into a degenerate point, or leaves it.

    Parameters
    ----------
    point
        (theta_1, theta_2), rad, modulo 2 pi.
    into
        Whether it runs into it, or leaves it.
    theta
        (k, 2): both angles along it, rad.
    """

    point: tuple[float, float]
    into: bool
    theta: np.ndarray


def separatrices(case: BoundCase, first: float, difference: float) -> list[Separatrix]:
    """Return the motions through the four degenerate points, from one section to the next.

    They begin along the roots of the local theory, of which the error is of the order of `NEAR`
    squared, and continue with the equations without multipliers.
    """
    given = {**case.full_start, "integral_1": first, "integral_2": first + difference}
    theory = LocalTheory.of(given, case.full_parameters)
    parameters = case.full_parameters
    arms = parameters["front"], parameters["rear"]
    found: list[Separatrix] = []
    span = 2.0 * math.pi / abs(difference)
    for one in (0.5, 1.5):
        for two in (0.5, 1.5):
            product = 1.0 if one == two else -1.0
            for into in (True, False):
                tau = -NEAR if into else NEAR
                side = theory.sign * product * math.copysign(1.0, tau)
                for root in theory.roots(side):
                    # Of three roots the outer ones are met by one motion each; see `theory`.
                    if root.slope > 0.0:
                        continue
                    theta = _beside(root.x * tau, difference * tau, arms)
                    angles = one * math.pi + theta[0], two * math.pi + theta[1]
                    path = _followed(case, given, angles, -span if into else span)
                    found.append(Separatrix((one * math.pi, two * math.pi), into, path))
    return found


def _beside(s: float, delta: float, arms: tuple[float, float]) -> tuple[float, float]:
    """Return e_1 and e_2 with b_1 e_1 + b_2 e_2 = s, e_2 - e_1 = delta."""
    front, rear = arms
    return (s - rear * delta) / (front + rear), (s + front * delta) / (front + rear)


def _followed(
    case: BoundCase, given: Mapping[str, float], angles: tuple[float, float], span: float
) -> np.ndarray:
    turning = {name: given[name] for name in ("integral_1", "integral_2")}
    start = {"theta_1": angles[0], "theta_2": angles[1], **turning}
    run = case.solve(
        case.case.start_time + span,
        initial=start,
        at=case.case.start_time + np.linspace(0.0, span, 241),
    )
    return np.column_stack([run["theta_1"], run["theta_2"]])


def advances(
    case: BoundCase, first: np.ndarray, difference: np.ndarray, periods: int, steps: int = 240
) -> np.ndarray:
    """Return mean advances of theta_1 over a plane of C_1 and D, in pi a period.

    For a picture: Runge and Kutta's method with even steps, all lanes at once, half as many periods
    left out at first. `circle_of` has the digits.

    Parameters
    ----------
    case
        Its level, sign and parameters.
    first, difference
        (n,) and (m,) rad/s; no D is zero.
    periods, steps
        How many, and how many steps each.

    Returns
    -------
    numpy.ndarray
        (m, n)
    """
    motion = ReducedMotion.of(case)
    C1, D = np.meshgrid(first, difference)
    span = 2.0 * np.pi / np.abs(D)
    h, theta = span / steps, np.full(C1.shape, 0.3)
    begun = theta
    for period in range(-(periods // 2), periods):
        if period == 0:
            begun = theta
        for k in range(steps):
            delta = D * h * k

            def slope(at: np.ndarray, share: float, delta: np.ndarray = delta) -> np.ndarray:
                return C1 - motion.turning(at, delta + share * D * h)[0]

            k1 = slope(theta, 0.0)
            k2 = slope(theta + h / 2 * k1, 0.5)
            k3 = slope(theta + h / 2 * k2, 0.5)
            theta = theta + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(theta + h * k3, 1.0))
    return (theta - begun) / (np.pi * periods)
