"""The vehicle with rollers without inertia as bodies with multipliers, in axes fixed in space.

Coordinates are the place of the mass centre, the angle of the platform and those of the wheels;
their masses and moments are constant. The velocity of a contact is that of a point of a body,

    v_Q = v_C + theta' k x (r_i - r_C) + (theta' k + chi_i' n_i) x (-h k),

and its part across the line along which a roller lets it move is zero. The accelerations and the
multipliers are solved from the whole system of equations at every instant, in numbers; the rate of
the constraints' Jacobian is a complex step. Nothing is eliminated and no quasi-velocity is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

TINY = 1e-30
RELATIVE, ABSOLUTE = 3e-14, 1e-15
"""Tolerances of the integration."""


@dataclass(frozen=True)
class Vehicle:
    """Masses in kg, moments in kg m^2, lengths in m, angles in rad.

    Parameters
    ----------
    wheels
        (x, y, heading, roller angle) of each in the platform's axes.
    mass, inertia
        Of the whole; the moment is about the vertical through the platform's own point.
    wheel_inertia, wheel_radius
        Of a wheel; the moment is about its axle.
    centre
        The mass centre in the platform's axes.
    """

    wheels: Sequence[tuple[float, float, float, float]]
    mass: float
    inertia: float
    wheel_inertia: float
    wheel_radius: float
    centre: tuple[float, float] = (0.0, 0.0)

    @property
    def masses(self) -> np.ndarray:
        """The diagonal of the mass matrix."""
        own = self.inertia - self.mass * (self.centre[0] ** 2 + self.centre[1] ** 2)
        return np.array([self.mass, self.mass, own] + [self.wheel_inertia] * len(self.wheels))

    def constraints(self, theta: complex) -> np.ndarray:
        """The constraints' Jacobian (N, 3 + N) at an angle of the platform."""
        x, y, heading, angle = np.array(self.wheels).T
        turned = heading + theta
        n = np.array([np.cos(turned), np.sin(turned)])
        t = np.array([-n[1], n[0]])
        free = np.cos(angle) * t + np.sin(angle) * n
        held = np.array([-free[1], free[0]])
        x, y = x - self.centre[0], y - self.centre[1]
        cosine, sine = np.cos(theta), np.sin(theta)
        arm = np.array([cosine * x - sine * y, sine * x + cosine * y])
        by_turn = held[1] * arm[0] - held[0] * arm[1]
        by_wheel = self.wheel_radius * (held[1] * n[0] - held[0] * n[1])
        return np.column_stack([*held, by_turn, np.diag(by_wheel)])

    def accelerations(self, theta: float, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The accelerations (3 + N) and the multipliers (N)."""
        jacobian = self.constraints(theta)
        turning = np.imag(self.constraints(theta + TINY * 1j)) / TINY * rates[2]
        count = len(rates)
        matrix = np.zeros((count + len(jacobian),) * 2)
        matrix[:count, :count] = np.diag(self.masses)
        matrix[:count, count:] = -jacobian.T
        matrix[count:, :count] = jacobian
        right = np.concatenate([np.zeros(count), -turning @ rates])
        found = np.linalg.solve(matrix, right)
        return found[:count], found[count:]


def motion(
    vehicle: Vehicle, start: Sequence[float], times: Sequence[float]
) -> dict[str, np.ndarray]:
    """Return the motion from x, y, theta, v_1, v_2, omega at t = 0, with wheels at angle zero.

    Returns
    -------
    dict of str to numpy.ndarray
        The states of the platform's own point, chi_i and lambda_i, (k,) each.
    """
    x, y, theta, v_1, v_2, omega = start
    place = _turned(theta, vehicle.centre)
    velocity = _turned(theta, (v_1 - omega * vehicle.centre[1], v_2 + omega * vehicle.centre[0]))
    count = 3 + len(vehicle.wheels)
    jacobian = vehicle.constraints(theta)
    platform = np.array([*velocity, omega])
    wheels = -(jacobian[:, :3] @ platform) / np.diag(jacobian[:, 3:])
    first = [x + place[0], y + place[1], theta, *np.zeros(count - 3), *platform, *wheels]

    def rate(_: float, state: np.ndarray) -> np.ndarray:
        return np.concatenate([state[count:], vehicle.accelerations(state[2], state[count:])[0]])

    run = solve_ivp(
        rate,
        (0.0, max(times)),
        first,
        "DOP853",
        t_eval=times,
        rtol=RELATIVE,
        atol=ABSOLUTE,
    )
    assert run.success, run.message
    return _told(vehicle, run.y)


def _turned(angle: float | np.ndarray, pair: tuple[float, float] | np.ndarray) -> np.ndarray:
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.array([cosine * pair[0] - sine * pair[1], sine * pair[0] + cosine * pair[1]])


def _told(vehicle: Vehicle, states: np.ndarray) -> dict[str, np.ndarray]:
    """Return the reference's states in the names of the problem."""
    count = 3 + len(vehicle.wheels)
    theta, rates = states[2], states[count:]
    x, y = states[:2] - _turned(theta, vehicle.centre)
    v_1, v_2 = _turned(-theta, rates[:2])
    found = {
        "x": x,
        "y": y,
        "theta": theta,
        "v_1": v_1 + rates[2] * vehicle.centre[1],
        "v_2": v_2 - rates[2] * vehicle.centre[0],
        "omega": rates[2],
    }
    multipliers = np.array(
        [vehicle.accelerations(a, r)[1] for a, r in zip(theta, rates.T, strict=True)]
    )
    for i in range(len(vehicle.wheels)):
        found[f"chi_{i + 1}"] = states[3 + i]
        found[f"lambda_{i + 1}"] = multipliers[:, i]
    return found
