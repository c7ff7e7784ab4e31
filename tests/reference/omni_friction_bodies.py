"""The omni vehicle with friction as rigid bodies: Newton-Euler by Jourdain's principle.

Nothing is taken from the problem: neither its equations nor its inertias. The platform may rise and
tilt here; that its accelerations do not is asked of the normal reactions. Speeds are the velocity
of O (3), the platform's rate of turn (3), the rates of the wheels and those of the rollers in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad

UP = np.array([0.0, 0.0, 1.0])
Values = Mapping[str, float]


def spindle(l: float, rollers: int, end: float) -> tuple[float, float]:  # noqa: E741
    """Return B/m and A/m of a homogeneous roller, m^2, by slices along its axis."""
    largest = np.pi / rollers
    axis = l * np.cos(largest) - end

    def radius(x: float) -> float:
        return np.sqrt(l**2 - x**2) - axis

    half = l * np.sin(largest)
    volume, along, across = (
        quad(slice_, -half, half, epsabs=0.0, epsrel=1e-13)[0]
        for slice_ in (
            lambda x: radius(x) ** 2,
            lambda x: radius(x) ** 4 / 2.0,
            lambda x: radius(x) ** 4 / 4.0 + radius(x) ** 2 * x**2,
        )
    )
    return along / volume, across / volume


@dataclass(frozen=True)
class Body:
    """A body: mass, inertia tensor, place from O, and its velocities linear in the speeds.

    `own_velocity` and `own_turning` are its accelerations where the speeds have none.
    """

    mass: float
    inertia: np.ndarray
    place: np.ndarray
    velocity: np.ndarray
    turning: np.ndarray
    own_velocity: np.ndarray
    own_turning: np.ndarray


@dataclass(frozen=True)
class Found:
    """Accelerations by the names of the velocities, normal reactions, energy, power of friction."""

    accelerations: dict[str, float]
    normals: np.ndarray
    slips: np.ndarray
    energy: float
    power: float


class Vehicle:
    """The vehicle at a state.

    Parameters
    ----------
    p
        Parameters by name.
    state
        States by name.
    wheels, rollers
        N and n.
    """

    def __init__(self, p: Values, state: Values, wheels: int, rollers: int) -> None:
        self.p, self.s, self.wheels, self.rollers = p, state, wheels, rollers
        self.count = 6 + wheels + wheels * rollers
        self.speeds = np.zeros(self.count)
        self.speeds[:3] = state["x_dot"], state["y_dot"], 0.0
        self.speeds[5] = state["omega"]
        for i in range(wheels):
            self.speeds[6 + i] = state[f"chi_dot_{i + 1}"]
            for j in range(rollers):
                sine = np.sin(self.angle(i, j))
                spin = state[f"spin_{i + 1}_{j + 1}"]
                self.speeds[self.column(i, j)] = spin - state["omega"] * sine
        self.bodies = [self._platform()]
        self.contacts: list[np.ndarray] = []
        for i in range(wheels):
            self._wheel(i)

    def angle(self, i: int, j: int) -> float:
        return self.s[f"chi_{i + 1}"] + 2.0 * np.pi / self.rollers * j

    def column(self, i: int, j: int) -> int:
        return 6 + self.wheels + self.rollers * i + j

    def turned(self, angle: float) -> np.ndarray:
        whole = self.s["theta"] + angle
        return np.array([np.cos(whole), np.sin(whole), 0.0])

    def _fixed(self, place: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return what a point of the platform does: velocity, turning, and both accelerations."""
        velocity, turning = np.zeros((3, self.count)), np.zeros((3, self.count))
        velocity[:, :3] = turning[:, 3:6] = np.eye(3)
        velocity[:, 3:6] = np.cross(np.eye(3), place).T
        rate = self.speeds[3:6]
        return velocity, turning, np.cross(rate, np.cross(rate, place)), np.zeros(3)

    def _platform(self) -> Body:
        mass, radius = self.p["platform_mass"], self.p["platform_radius"]
        across = np.array([-np.sin(self.s["theta"]), np.cos(self.s["theta"]), 0.0])
        place = self.p["platform_centre_x"] * self.turned(0.0)
        place = place + self.p["platform_centre_y"] * across
        inertia = mass * radius**2 / 4.0 * np.diag([1.0, 1.0, 2.0])
        return Body(mass, inertia, place, *self._fixed(place))

    def _wheel(self, i: int) -> None:
        p, l = self.p, self.p["wheel_radius"]  # noqa: E741
        outwards = self.turned(2.0 * np.pi * i / self.wheels)
        ahead = np.cross(UP, outwards)
        middle = p["platform_radius"] * outwards
        velocity, turning, own, _ = self._fixed(middle)
        turning[:, 6 + i] = outwards
        rate = self.speeds[6 + i]
        own_turning = np.cross(self.speeds[3:6], outwards) * rate
        disc = p["wheel_mass"] * (1.0 - p["roller_share"])
        rim = l * np.cos(np.pi / self.rollers)
        inertia = disc * rim**2 / 4.0 * (np.eye(3) + np.outer(outwards, outwards))
        self.bodies.append(Body(disc, inertia, middle, velocity, turning, own, own_turning))
        psi = [self.angle(i, j) for j in range(self.rollers)]
        lowest = int(np.argmax(np.cos(psi)))
        along, across = spindle(l, self.rollers, p["roller_end_radius"])
        mass = p["wheel_mass"] * p["roller_share"] / self.rollers
        distance = rim - p["roller_end_radius"]
        carried = turning @ self.speeds
        for j, angle in enumerate(psi):
            axis = np.cos(angle) * ahead + np.sin(angle) * UP
            arm = distance * (np.sin(angle) * ahead - np.cos(angle) * UP)
            roller_velocity = velocity + np.cross(turning.T, arm).T
            roller_turning = turning.copy()
            roller_turning[:, self.column(i, j)] = axis
            spin = self.speeds[self.column(i, j)]
            moments = mass * (across * np.eye(3) + (along - across) * np.outer(axis, axis))
            body = Body(
                mass,
                moments,
                middle + arm,
                roller_velocity,
                roller_turning,
                own + np.cross(own_turning, arm) + np.cross(carried, np.cross(carried, arm)),
                own_turning + np.cross(carried, axis) * spin,
            )
            self.bodies.append(body)
            if j == lowest:
                reach = -l * UP - arm
                self.contacts.append(roller_velocity + np.cross(roller_turning.T, reach).T)

    def solve(self, shares: np.ndarray | None = None) -> Found:
        """Solve for accelerations and normal reactions together.

        Parameters
        ----------
        shares
            Further equations for the normal reactions, (k, wheels), that make zero.
        """
        p, n = self.p, self.count
        mass, known, energy = np.zeros((n, n)), np.zeros(n), 0.0
        for body in self.bodies:
            turning = body.turning @ self.speeds
            momentum = body.inertia @ turning
            mass += body.mass * body.velocity.T @ body.velocity
            mass += body.turning.T @ body.inertia @ body.turning
            force = -body.mass * (p["gravity"] * UP + body.own_velocity)
            moment = -body.inertia @ body.own_turning - np.cross(turning, momentum)
            known += body.velocity.T @ force + body.turning.T @ moment
            speed = body.velocity @ self.speeds
            energy += (body.mass * speed @ speed + turning @ momentum) / 2.0
        slips = np.array([contact @ self.speeds for contact in self.contacts])
        pulls = []
        for slip in slips:
            size = max(np.linalg.norm(slip), p["slip_velocity"])
            pulls.append(UP - p["friction"] * slip / size)
        loads = np.array([c.T @ f for c, f in zip(self.contacts, pulls, strict=True)]).T
        held = np.zeros((3, n))
        held[0, 2] = held[1, 3] = held[2, 4] = 1.0
        extra = np.zeros((0, self.wheels)) if shares is None else shares
        matrix = np.block(
            [
                [mass, -loads],
                [held, np.zeros((3, self.wheels))],
                [np.zeros((len(extra), n)), extra],
            ]
        )
        right = np.concatenate([known, np.zeros(3 + len(extra))])
        solution = np.linalg.solve(matrix, right)
        rates, normals = solution[:n], solution[n:]
        friction = np.array([(f - UP) * k for f, k in zip(pulls, normals, strict=True)])
        return Found(
            self._named(rates), normals, slips, float(energy), float(np.sum(friction * slips))
        )

    def _named(self, rates: np.ndarray) -> dict[str, float]:
        omega = self.s["omega"]
        found = {"x_dot": rates[0], "y_dot": rates[1], "omega": rates[5]}
        found |= {f"chi_dot_{i + 1}": rates[6 + i] for i in range(self.wheels)}
        for i in range(self.wheels):
            for j in range(self.rollers):
                psi, rate = self.angle(i, j), self.s[f"chi_dot_{i + 1}"]
                carried = rates[5] * np.sin(psi) + omega * np.cos(psi) * rate
                found[f"spin_{i + 1}_{j + 1}"] = rates[self.column(i, j)] + carried
        return {name: float(value) for name, value in found.items()}
