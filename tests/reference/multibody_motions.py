"""Mechanisms in minimal coordinates: their motions, independent of constraints and quaternions.

Bodies are placed by products of rotations from a few angles; Lagrange's equations in these,

    M(q) q'' = dT/dq - (d/dt M) q' - dV/dq,   M = d2T/dq'2,

are integrated by DOP853 with tolerances of 1e-13. SI units, angles in rad.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

GRAVITY = 9.81

Placed = tuple[float, tuple[float, ...], ca.SX, ca.SX]
"""A body in space: mass, moments about its axes, mass centre (3, 1), its axes (3, 3) in space."""


def turned(axis: int, angle: ca.SX | float) -> ca.SX:
    """The rotation about a coordinate axis."""
    one, two = (axis + 1) % 3, (axis + 2) % 3
    matrix = ca.SX.eye(3)
    matrix[one, one] = matrix[two, two] = ca.cos(angle)
    matrix[two, one], matrix[one, two] = ca.sin(angle), -ca.sin(angle)
    return matrix


class Minimal:
    """A system in coordinates without constraints.

    Parameters
    ----------
    count
        How many coordinates.
    bodies
        q -> the bodies, placed. Gravity acts against the axis `up`.
    """

    def __init__(
        self, count: int, bodies: Callable[[ca.SX], Sequence[Placed]], up: int = 2
    ) -> None:
        q, v = ca.SX.sym("q", count), ca.SX.sym("v", count)
        kinetic = potential = ca.SX(0)
        for mass, moments, centre, axes in bodies(q):
            kinetic += mass * ca.sumsqr(ca.jtimes(centre, q, v)) / 2
            moving = axes.T @ ca.reshape(ca.jtimes(ca.vec(axes), q, v), 3, 3)
            turning = ca.vertcat(moving[2, 1], moving[0, 2], moving[1, 0])
            kinetic += ca.dot(ca.SX(list(moments)), turning**2) / 2
            potential += mass * GRAVITY * centre[up]
        momentum = ca.gradient(kinetic, v)
        mass_matrix = ca.jacobian(momentum, v)
        force = ca.gradient(kinetic - potential, q) - ca.jtimes(momentum, q, v)
        self._equations = ca.Function("equations", [q, v], [mass_matrix, force])

    def accelerations(self, q: Sequence[float], v: Sequence[float]) -> np.ndarray:
        """q''."""
        mass, force = (np.asarray(part) for part in self._equations(q, v))
        return np.linalg.solve(mass, force).ravel()

    def at(self, time: float, q: Sequence[float], v: Sequence[float]) -> np.ndarray:
        """q and q' after a time, (2 n,)."""
        count = len(q)

        def rate(_: float, x: np.ndarray) -> np.ndarray:
            return np.concatenate([x[count:], self.accelerations(x[:count], x[count:])])

        found = solve_ivp(rate, (0.0, time), [*q, *v], method="DOP853", rtol=1e-13, atol=1e-14)
        return found.y[:, -1]


def spherical_pendulum(length: float) -> Minimal:
    """A point of 1 kg; the angle from the downward vertical in the x, z plane, then out of it."""

    def bodies(q: ca.SX) -> list[Placed]:
        axes = turned(1, q[0]) @ turned(0, q[1])
        return [(1.0, (0.0, 0.0, 0.0), axes @ ca.SX([0, 0, -length]), axes)]

    return Minimal(2, bodies)


def double_pendulum(lengths: Sequence[float], masses: Sequence[float]) -> Minimal:
    """Two thin rods in the plane z = 0, y upwards; their angles from the x axis."""

    def bodies(q: ca.SX) -> list[Placed]:
        joint, placed = ca.SX(3, 1), []
        for k in range(2):
            axes = turned(2, q[k])
            moment = masses[k] * lengths[k] ** 2 / 12
            centre = joint + axes @ ca.SX([lengths[k] / 2, 0, 0])
            placed.append((masses[k], (0.0, 0.0, moment), centre, axes))
            joint = joint + axes @ ca.SX([lengths[k], 0, 0])
        return placed

    return Minimal(2, bodies, up=1)


def crossed_pendulum(
    masses: Sequence[float], moments: Sequence[tuple[float, float, float]], length: float
) -> Minimal:
    """Two bodies in space, z upwards: a hinge about x, and a hinge about the first one's y axis.

    Mass centres are half a length below the hinges, the second hinge a length below the first.
    """

    def bodies(q: ca.SX) -> list[Placed]:
        first = turned(0, q[0])
        second = first @ turned(1, q[1])
        half = ca.SX([0, 0, -length / 2])
        return [
            (masses[0], moments[0], first @ half, first),
            (masses[1], moments[1], first @ (2 * half) + second @ half, second),
        ]

    return Minimal(2, bodies)


def hooke(bend: float, angle: float, rate: float) -> tuple[float, float, float]:
    """The driven shaft of a universal joint: angle, rate and acceleration at a constant rate.

    tan(driven) = tan(angle) cos(bend), where at angle = 0 the first arm lies along the axis about
    which the shafts are bent, normal to both.
    """
    cosine, sine = np.cos(bend), np.sin(bend)
    below = 1 - (sine * np.sin(angle)) ** 2
    return (
        float(np.arctan2(np.sin(angle) * cosine, np.cos(angle))),
        float(rate * cosine / below),
        float(rate**2 * cosine * sine**2 * np.sin(2 * angle) / below**2),
    )
