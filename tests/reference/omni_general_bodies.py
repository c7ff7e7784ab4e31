"""An omni-wheel vehicle as rigid bodies in space: rotation matrices, numbers, the complex step.

Nothing here is summed or eliminated by hand: each roller is a body of its own, its velocity and
angular velocity are derivatives of its centre and its rotation matrix by the complex step (exact to
rounding), its momenta are differentiated in time by central differences of eighth order.

q = (x, y, theta, chi_1 .. chi_N, phi_1_1 .. phi_N_n), with the axes

    platform  Rz(theta)
    wheel i   platform Rz(heading_i), its first axis the wheel's; turned by Rx(chi)
    roller    wheel Rx(chi_i + 2 pi (j - contact_i) / n) Rz(-angle_i) Ry(phi_i_j), its second axis
              the roller's; its centre (0, 0, -r) in the axes turned by chi
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

TINY = 1e-30
STENCIL = (4 / 5, -1 / 5, 4 / 105, -1 / 280)


@dataclass(frozen=True)
class Vehicle:
    """Lengths in m, masses in kg, moments of inertia in kg m^2, angles in rad.

    Parameters
    ----------
    wheels
        (x, y, heading, roller angle) of each.
    rollers
        Of each wheel.
    contact
        The roller in contact of each wheel, counted from 1; None takes the first of each.
    """

    wheels: Sequence[tuple[float, float, float, float]]
    rollers: int = 5
    contact: Sequence[int] | None = None
    platform_radius: float = 0.15
    platform_mass: float = 1.0
    platform_centre: tuple[float, float] = (0.0, 0.0)
    roller_axis_radius: float = 0.05
    wheel_radius: float = 0.05 * math.sqrt(2.0)
    hub_mass: float = 0.15
    hub_width: float = 0.01
    roller_mass: float = 0.05
    roller_inertia: float | None = None
    roller_transverse_inertia: float | None = None

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return 3 + len(self.wheels) * (1 + self.rollers)

    @property
    def touching(self) -> list[int]:
        """The roller in contact of each wheel, from 0."""
        return [k - 1 for k in self.contact or [1] * len(self.wheels)]

    @property
    def roller_moments(self) -> tuple[float, float]:
        """About the roller's own axis, and across: a cylinder as long as a side of the polygon."""
        thick = (self.wheel_radius - self.roller_axis_radius) / 2
        length = 2 * self.wheel_radius * math.sin(math.pi / self.rollers)
        along, across = self.roller_inertia, self.roller_transverse_inertia
        if along is None:
            along = self.roller_mass * thick**2 / 2
        if across is None:
            across = along / 2 + self.roller_mass * length**2 / 12
        return along, across


@dataclass(frozen=True)
class Body:
    """A rigid body: its mass, its moments in its own axes, its centre and axes by q."""

    mass: float
    moments: tuple[float, float, float]
    place: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]] = field(repr=False)

    def motion(self, q: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the velocity of the centre and the angular velocity, in space."""
        moved, turned = self.place(q + 1j * TINY * rates)
        spin = (turned.imag / TINY) @ turned.real.T
        return moved.imag / TINY, np.array([spin[2, 1], spin[0, 2], spin[1, 0]])

    def momenta(self, q: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Return momentum and angular momentum about the centre, (6,), in space."""
        velocity, omega = self.motion(q, rates)
        axes = self.place(q)[1]
        return np.concatenate([self.mass * velocity, axes @ (self.moments * (axes.T @ omega))])


def about_x(angle: complex) -> np.ndarray:
    """Return the rotation matrix about the first axis."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def about_y(angle: complex) -> np.ndarray:
    """Return the rotation matrix about the second axis."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def about_z(angle: complex) -> np.ndarray:
    """Return the rotation matrix about the third axis."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def _on_platform(q: np.ndarray, x: float, y: float) -> tuple[np.ndarray, np.ndarray]:
    axes = about_z(q[2])
    return np.array([q[0], q[1], 0]) + axes @ np.array([x, y, 0.0]), axes


def wheel_place(vehicle: Vehicle, wheel: int, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a wheel's centre and its axes before it is turned: its own, along, up."""
    x, y, heading, _ = vehicle.wheels[wheel]
    centre, axes = _on_platform(q, x, y)
    return centre, axes @ about_z(heading)


def roller_place(
    vehicle: Vehicle, wheel: int, roller: int, q: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return a roller's centre and axes; the second is its axis. Counted from 0."""
    centre, axes = wheel_place(vehicle, wheel, q)
    from_contact = 2 * math.pi * (roller - vehicle.touching[wheel]) / vehicle.rollers
    turned = axes @ about_x(q[3 + wheel] + from_contact)
    spun = q[3 + len(vehicle.wheels) + wheel * vehicle.rollers + roller]
    down = turned @ np.array([0.0, 0.0, -vehicle.roller_axis_radius])
    return centre + down, turned @ about_z(-vehicle.wheels[wheel][3]) @ about_y(spun)


def bodies(vehicle: Vehicle) -> Iterator[Body]:
    """Yield the platform (a disc about its mass centre), the hubs and every roller."""
    radius, mass = vehicle.platform_radius, vehicle.platform_mass
    yield Body(
        mass,
        (mass * radius**2 / 4, mass * radius**2 / 4, mass * radius**2 / 2),
        lambda q: _on_platform(q, *vehicle.platform_centre),
    )
    radius, mass = vehicle.roller_axis_radius, vehicle.hub_mass
    across = mass * (3 * radius**2 + vehicle.hub_width**2) / 12
    along_roller, across_roller = vehicle.roller_moments

    def hub_place(wheel: int) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        def place(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            centre, axes = wheel_place(vehicle, wheel, q)
            return centre, axes @ about_x(q[3 + wheel])

        return place

    for i in range(len(vehicle.wheels)):
        yield Body(mass, (mass * radius**2 / 2, across, across), hub_place(i))
        for j in range(vehicle.rollers):
            yield Body(
                vehicle.roller_mass,
                (across_roller, along_roller, across_roller),
                lambda q, i=i, j=j: roller_place(vehicle, i, j, q),
            )


def kinetic(vehicle: Vehicle, q: np.ndarray, rates: np.ndarray) -> float:
    """Sum the kinetic energy over the bodies, J."""
    total = 0.0
    for body in bodies(vehicle):
        velocity, omega = body.motion(q, rates)
        own = body.place(q)[1].T @ omega
        total += body.mass * velocity @ velocity / 2 + own @ (body.moments * own) / 2
    return total


def mass_matrix(vehicle: Vehicle, q: np.ndarray) -> np.ndarray:
    """Return M(q) of 2 T = q' M q'."""
    unit = np.eye(vehicle.size)
    total = np.zeros((vehicle.size, vehicle.size))
    for body in bodies(vehicle):
        parts = [body.motion(q, e) for e in unit]
        velocities = np.array([velocity for velocity, _ in parts])
        omegas = np.array([omega for _, omega in parts]) @ body.place(q)[1]
        total += body.mass * velocities @ velocities.T + (omegas * body.moments) @ omegas.T
    return total


def contact_point(vehicle: Vehicle, wheel: int, q: np.ndarray) -> np.ndarray:
    """Return where the touching roller meets the ground.

    Its normal there is that of the ground and meets its axis; it meets the wheel's axis as well,
    for rollers touch the cylinder that they wrap from inside.
    """
    centre, axes = wheel_place(vehicle, wheel, q)
    middle, own = roller_place(vehicle, wheel, vehicle.touching[wheel], q)
    offset, along = axes.T @ (middle - centre), axes.T @ own[:, 1]
    meets = offset - along * offset[1] / along[1]
    return centre + axes @ np.array([meets[0], 0.0, -vehicle.wheel_radius])


def contact_jacobian(vehicle: Vehicle, wheel: int, q: np.ndarray) -> np.ndarray:
    """Return the velocity of the roller's material point at the contact by q', (3, nq).

    In the wheel's axes: along its own axis, across it, up.
    """
    touching = vehicle.touching[wheel]
    middle, own = roller_place(vehicle, wheel, touching, q)
    fixed = own.T @ (contact_point(vehicle, wheel, q) - middle)

    def velocity(rates: np.ndarray) -> np.ndarray:
        moved, turned = roller_place(vehicle, wheel, touching, q + 1j * TINY * rates)
        return (moved + turned @ fixed).imag / TINY

    rows = np.array([velocity(e) for e in np.eye(vehicle.size)]).T
    return wheel_place(vehicle, wheel, q)[1].T @ rows


def inertia_forces(
    vehicle: Vehicle, q: np.ndarray, rates: np.ndarray, accelerations: np.ndarray
) -> np.ndarray:
    """Return sum (m a . dv/dq' + L' . dw/dq') over the bodies: the generalised forces, (nq,).

    The momenta are differentiated along q + q' t + q'' t^2 / 2.
    """
    step = 0.02 / max(1.0, float(np.max(np.abs(rates))), float(np.max(np.abs(accelerations))))

    def along(t: float) -> tuple[np.ndarray, np.ndarray]:
        return q + rates * t + accelerations * t**2 / 2, rates + accelerations * t

    total = np.zeros(vehicle.size)
    for body in bodies(vehicle):
        change = sum(
            weight * (body.momenta(*along(k * step)) - body.momenta(*along(-k * step)))
            for k, weight in enumerate(STENCIL, 1)
        )
        partial = np.array([np.concatenate(body.motion(q, e)) for e in np.eye(vehicle.size)])
        total += partial @ (change / step)
    return total


def impact(
    mass: np.ndarray, jacobian: np.ndarray, rates: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return q' after, and the impulses, of M (q'+ - q'-) = J^T I, J q'+ = 0.

    By a saddle system in scaled unknowns, not by a projection.
    """
    scale = 1.0 / np.sqrt(np.diag(mass))
    rows = jacobian * scale
    held = len(rows)
    size = len(mass)
    saddle = np.zeros((size + held, size + held))
    saddle[:size, :size] = mass * np.outer(scale, scale)
    saddle[:size, size:] = -rows.T
    saddle[size:, :size] = rows
    solved = np.linalg.solve(saddle, np.concatenate([np.zeros(size), -jacobian @ rates]))
    return rates + scale * solved[:size], solved[size:]


def inscribed_radius(vehicle: Vehicle, angle: float, along: float) -> float:
    """Return the radius of the circle about a roller's axis that touches the wheel's cylinder.

    Parameters
    ----------
    vehicle
        Its lengths alone count.
    angle
        Of the roller, rad.
    along
        Where on the axis from the roller's centre, m.
    """
    axis = np.array([math.sin(angle), math.cos(angle), 0.0])
    point = np.array([0.0, 0.0, -vehicle.roller_axis_radius]) + along * axis
    level = np.cross(axis, [0.0, 0.0, 1.0])

    def reach(turned: float) -> float:
        """How far from the axis the cylinder is in one direction across it."""
        out = (math.sin(turned) * level - math.cos(turned) * np.array([0.0, 0.0, 1.0]))[1:]
        b, c = out @ point[1:], point[1:] @ point[1:] - vehicle.wheel_radius**2
        return (-b + math.sqrt(b * b - out @ out * c)) / (out @ out)

    turns = np.linspace(-1.2, 1.2, 49)
    best = float(turns[int(np.argmin([reach(t) for t in turns]))])
    width = 0.05
    while width > 1e-9:
        width /= 2
        best = min((best - width, best, best + width), key=reach)
    return reach(best)
