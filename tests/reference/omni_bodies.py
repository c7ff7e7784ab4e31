"""The omni-wheel vehicle as rigid bodies in space, with multipliers at the contacts.

Platform, hubs and rollers have rotation matrices and centres as functions of the coordinates; all
velocities are derivatives of these. A constraint says that the material point of a roller that is
at the contact has no horizontal velocity. Nothing is summed, reduced or simplified.

q = (x, y, theta, chi_1 ... chi_N, phi_1_1 ... phi_N_n). The axes of wheel i, P Rz(alpha_i)
Rx(chi_i), begin with its axle; roller j has Rx(chi_i + (2 pi / n) (j - contact_i)) in place of
Rx(chi_i), its centre at (0, 0, -r) and its own axis second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

DOWN = ca.DM([0.0, 0.0, -1.0])


@dataclass(frozen=True)
class Vehicle:
    """Lengths in m, masses in kg; inertias of rollers in kg m^2, along their axes and across."""

    wheels: int = 3
    rollers: int = 5
    contacts: tuple[int, ...] = (1, 1, 1)
    platform_radius: float = 0.15
    roller_axis_radius: float = 0.05
    wheel_radius: float = 0.05 / math.cos(math.pi / 4)
    platform_mass: float = 1.0
    hub_mass: float = 0.15
    roller_mass: float = 0.05
    hub_width: float = 0.01

    @property
    def along(self) -> float:
        mean = (self.wheel_radius - self.roller_axis_radius) / 2
        return self.roller_mass * mean**2 / 2

    @property
    def across(self) -> float:
        """Of a cylinder with the mean radius, as long as the sector is wide."""
        length = 2 * self.wheel_radius * math.sin(math.pi / self.rollers)
        return self.along / 2 + self.roller_mass * length**2 / 12

    @property
    def coordinates(self) -> int:
        return 3 + self.wheels * (self.rollers + 1)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Every wheel with each of its rollers, from 0."""
        return [(i, j) for i in range(self.wheels) for j in range(self.rollers)]

    @cached_property
    def matrices(self) -> ca.Function:
        """(q, q') -> M, h of M q'' = h + J^T u, J, J' q', T, velocities upwards at contacts."""
        q, rates = ca.SX.sym("q", self.coordinates), ca.SX.sym("rates", self.coordinates)
        bodies = Bodies(self, q)
        kinetic = bodies.kinetic(rates)
        momentum = ca.gradient(kinetic, rates)
        force = ca.gradient(kinetic, q) - ca.jtimes(momentum, q, rates)
        rows = [bodies.contact_rows(i) for i in range(self.wheels)]
        horizontal = ca.vertcat(*[row[:2, :] for row in rows])
        vertical = ca.vertcat(*[row[2, :] for row in rows])
        bias = ca.jtimes(horizontal @ rates, q, rates)
        return ca.Function(
            "matrices",
            [q, rates],
            [ca.jacobian(momentum, rates), force, horizontal, bias, kinetic, vertical @ rates],
        )

    def accelerations(self, q: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return q'' and the forces (along the axle, across) at each wheel in turn."""
        mass, force, rows, bias = (np.asarray(part) for part in self.matrices(q, rates)[:4])
        size, count = len(mass), len(rows)
        saddle = np.block([[mass, -rows.T], [rows, np.zeros((count, count))]])
        found = np.linalg.solve(saddle, np.concatenate([force.ravel(), -bias.ravel()]))
        return found[:size], found[size:]

    def rolling(self, q: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return q' with those of wheels and contact rollers for which nothing slips."""
        rows = np.asarray(self.matrices(q, rates)[2])
        met = [number - 1 + i * self.rollers for i, number in enumerate(self.contacts)]
        held = [*range(3, 3 + self.wheels), *(3 + self.wheels + index for index in met)]
        found = np.where(np.isin(np.arange(len(q)), held), 0.0, rates)
        found[held] = -np.linalg.solve(rows[:, held], rows @ found)
        return found

    def stopped(self, q: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return q' after the contacts are there at once: M (q' - q'-) = J^T impulses, J q' = 0."""
        mass, _, rows = (np.asarray(part) for part in self.matrices(q, rates)[:3])
        size, count = len(mass), len(rows)
        saddle = np.block([[mass, -rows.T], [rows, np.zeros((count, count))]])
        return np.linalg.solve(saddle, np.concatenate([mass @ rates, np.zeros(count)]))[:size]


@dataclass(frozen=True)
class Bodies:
    """Where the bodies of a vehicle are, as expressions of q."""

    vehicle: Vehicle
    q: ca.SX

    def axes(self, i: int) -> ca.SX:
        """Return the axes of wheel i before it turns about its axle."""
        return _about(2, self.q[2] + 2 * math.pi * i / self.vehicle.wheels)

    def centre(self, i: int) -> ca.SX:
        centre = ca.vertcat(self.q[0], self.q[1], 0)
        return centre + self.axes(i) @ ca.DM([self.vehicle.platform_radius, 0.0, 0.0])

    def roller(self, i: int, j: int) -> tuple[ca.SX, ca.SX]:
        """Return the centre and the rotation of a roller."""
        car = self.vehicle
        ahead = 2 * math.pi / car.rollers * (j + 1 - car.contacts[i])
        turned = self.axes(i) @ _about(0, self.q[3 + i] + ahead)
        spin = self.q[3 + car.wheels + i * car.rollers + j]
        centre = self.centre(i) + turned @ (car.roller_axis_radius * DOWN)
        return centre, turned @ _about(1, spin)

    def all(self) -> list[tuple[float, Sequence[float], ca.SX, ca.SX]]:
        """Return mass, principal moments, centre and rotation of each."""
        car = self.vehicle
        platform = car.platform_mass * car.platform_radius**2
        moments = [platform / 4, platform / 4, platform / 2]
        rotation = _about(2, self.q[2])
        found = [(car.platform_mass, moments, ca.vertcat(self.q[0], self.q[1], 0), rotation)]
        axle = car.hub_mass * car.roller_axis_radius**2 / 2
        across = axle / 2 + car.hub_mass * car.hub_width**2 / 12
        for i in range(car.wheels):
            rotation = self.axes(i) @ _about(0, self.q[3 + i])
            found.append((car.hub_mass, [axle, across, across], self.centre(i), rotation))
        moments = [car.across, car.along, car.across]
        return found + [(car.roller_mass, moments, *self.roller(i, j)) for i, j in car.pairs]

    def kinetic(self, rates: ca.SX) -> ca.SX:
        """Return T of all bodies, their angular velocities from R^T R'."""
        total = ca.SX(0)
        for mass, moments, centre, rotation in self.all():
            velocity = ca.jtimes(centre, self.q, rates)
            change = ca.reshape(ca.jtimes(ca.vec(rotation), self.q, rates), 3, 3)
            omega = ca.inv_skew(rotation.T @ change)
            total += mass * ca.sumsqr(velocity) / 2 + ca.dot(ca.DM(moments), omega**2) / 2
        return total

    def contact_rows(self, i: int) -> ca.SX:
        """Return what q' does to the material point at the contact: along the axle, across, up."""
        car = self.vehicle
        centre, rotation = self.roller(i, car.contacts[i] - 1)
        contact = self.centre(i) + car.wheel_radius * DOWN
        place = ca.SX.sym("place", 3)
        rows = ca.jacobian(centre + rotation @ place, self.q)
        rows = ca.substitute(rows, place, rotation.T @ (contact - centre))
        return self.axes(i).T @ rows


def _about(axis: int, angle: ca.SX) -> ca.SX:
    """Return the rotation about one of the axes."""
    cosine, sine = ca.cos(angle), ca.sin(angle)
    matrix = ca.SX.eye(3)
    first, second = (axis + 1) % 3, (axis + 2) % 3
    matrix[first, first] = matrix[second, second] = cosine
    matrix[first, second], matrix[second, first] = -sine, sine
    return matrix
