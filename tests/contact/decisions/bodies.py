"""Bodies that touch, as rows of gaps and slips, written down by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from daesolve.contact.decisions import Contacts

GRAVITY = 9.81


@dataclass(frozen=True, eq=False)
class Touching:
    """M, rows of gaps and slips, the force h, and which contacts: all at one position.

    Attributes
    ----------
    mass, normal, tangent, force
        (nv, nv), (n, nv), (n, nv) or (2 n, nv), (nv,).
    friction
        mu (n,) or for all.
    """

    mass: np.ndarray
    normal: np.ndarray
    tangent: np.ndarray
    force: np.ndarray
    friction: object = 0.0

    @property
    def contacts(self) -> Contacts:
        return Contacts.of_rows(self.mass, self.normal, self.tangent, self.friction)

    @property
    def rows(self) -> np.ndarray:
        return np.vstack([self.normal, self.tangent])

    @property
    def free(self) -> np.ndarray:
        """Accelerations of gaps and slips without reactions; the rows do not change."""
        return self.rows @ np.linalg.solve(self.mass, self.force)

    def rates(self, velocities) -> np.ndarray:
        return self.rows @ np.asarray(velocities, dtype=float)

    def moved(self, reactions) -> np.ndarray:
        """What reactions change of the velocities, or add to the accelerations."""
        return np.linalg.solve(self.mass, self.rows.T @ reactions)


def block(b, h, mu, incline=0.0, m=1.0) -> Touching:
    """A block on its two feet (-b, b), its centre at the height h."""
    inertia = m * ((2 * b) ** 2 + (2 * h) ** 2) / 12.0
    return Touching(
        mass=np.diag([m, m, inertia]),
        normal=np.array([[0.0, 1.0, -b], [0.0, 1.0, b]]),
        tangent=np.array([[1.0, 0.0, h], [1.0, 0.0, h]]),
        force=m * GRAVITY * np.array([math.sin(incline), -math.cos(incline), 0.0]),
        friction=mu,
    )


def rod(phi, mu, m=1.0, half=0.5, rate=0.0) -> Touching:
    """A uniform rod whose lower end, at centre - half (cos phi, sin phi), is on the floor."""
    inertia = m * half**2 / 3.0
    # The part of the acceleration of the end that comes of the turning goes with the forces.
    turning = half * rate**2 * np.array([math.cos(phi), math.sin(phi)])
    return Touching(
        mass=np.diag([m, m, inertia]),
        normal=np.array([[0.0, 1.0, -half * math.cos(phi)]]),
        tangent=np.array([[1.0, 0.0, half * math.sin(phi)]]),
        force=m * np.array([turning[0], turning[1] - GRAVITY, 0.0]),
        friction=mu,
    )


def double_pendulum(q1, q2, mu, m=1.0, length=1.0) -> Touching:
    """Two uniform rods that hang from a pin, angles from the vertical, the lower end on a floor."""
    c = math.cos(q1 - q2)
    mass = m * length**2 * np.array([[4.0 / 3.0, c / 2.0], [c / 2.0, 1.0 / 3.0]])
    # The end is at length (sin q1 + sin q2, -cos q1 - cos q2).
    return Touching(
        mass=mass,
        normal=length * np.array([[math.sin(q1), math.sin(q2)]]),
        tangent=length * np.array([[math.cos(q1), math.cos(q2)]]),
        force=np.zeros(2),
        friction=mu,
    )


def balls(masses) -> Touching:
    """Balls in a row that touch, without friction."""
    count = len(masses)
    normal = np.zeros((count - 1, count))
    for place in range(count - 1):
        normal[place, place : place + 2] = -1.0, 1.0
    return Touching(
        mass=np.diag(np.asarray(masses, dtype=float)),
        normal=normal,
        tangent=np.zeros_like(normal),
        force=np.zeros(count),
    )


def across(place) -> np.ndarray:
    """Return the velocity of a point of a body, rows by linear and angular velocity: (3, 6)."""
    x, y, z = place
    turning = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
    return np.hstack([np.eye(3), turning])


def standing(places, mu, m, inertia) -> Touching:
    """A body in space on feet at places from its centre."""
    points = [across(place) for place in places]
    force = np.zeros(6)
    force[2] = -m * GRAVITY
    mass = np.zeros((6, 6))
    mass[:3, :3], mass[3:, 3:] = m * np.eye(3), inertia
    return Touching(
        mass=mass,
        normal=np.array([point[2] for point in points]),
        tangent=np.vstack([point[:2] for point in points]),
        force=force,
        friction=mu,
    )


def ball(m, r, k, mu) -> Touching:
    """A ball of radius r on the floor, J = k m r^2."""
    return standing([(0.0, 0.0, -r)], mu, m, k * m * r**2 * np.eye(3))


def brick(params) -> Touching:
    """A brick on its lowest corner."""
    a, b, c = params["sides"]
    rotation = np.eye(3)
    for axis, angle in enumerate(params["euler_xyz_extrinsic"]):
        first, second = (axis + 1) % 3, (axis + 2) % 3
        turn = np.eye(3)
        turn[first, first] = turn[second, second] = math.cos(angle)
        turn[first, second], turn[second, first] = -math.sin(angle), math.sin(angle)
        rotation = turn @ rotation
    m = params["m"]
    own = np.diag([b**2 + c**2, a**2 + c**2, a**2 + b**2]) * m / 12.0
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1)
    corners = rotation @ (signs * np.array([[a], [b], [c]]) / 2.0)
    lowest = corners[:, np.argmin(corners[2])]
    return standing([lowest], params["mu"], m, rotation @ own @ rotation.T)


def reactions_of(contacts, free, slips):
    """Return the reactions of closed contacts, by their equations alone.

    They slide where their slips (n, directions) are not zero, and stick elsewhere.
    """
    size, rows, columns = len(free), [], []
    for k, slip in enumerate(np.reshape(slips, (contacts.count, -1))):
        own = range(size)[contacts.tangents(k)]
        column = np.eye(size)[k]
        if slip.any():
            column[own] = -contacts.friction[k] * slip / np.linalg.norm(slip)
        rows += [k] if slip.any() else [k, *own]
        columns += [column] if slip.any() else [column, *np.eye(size)[own]]
    pulls = np.column_stack(columns)
    return pulls @ np.linalg.solve((contacts.matrix @ pulls)[rows], -free[rows])


def heap(random, count, directions=2, friction=0.8, level=None) -> Touching:
    """Bodies at random that lie on the ground and on each other, by contacts of random normals."""
    bodies = int(random.integers(1, max(2, count // 3) + 1))
    level = bool(random.integers(2)) if level is None else level
    size = 3 * directions
    normal, tangent = np.zeros((count, size * bodies)), []
    for contact in range(count):
        body, other = contact % bodies, int(random.integers(-1, bodies))
        upwards = np.eye(3)[2] + (0.0 if level else 0.7) * random.normal(size=3)
        if directions == 1:
            upwards[1] = 0.0
        upwards /= np.linalg.norm(upwards)
        first = np.cross(np.eye(3)[1], upwards)
        axes = np.array([upwards, first / np.linalg.norm(first), np.cross(upwards, first)])
        rows = np.zeros((3, size * bodies))
        for sign, which in ((1.0, body), (-1.0, other)):
            if which >= 0 and (which != body or sign > 0.0):
                place = 0.1 * random.normal(size=3)
                place[2] = -0.1 * sign if level else place[2]
                moved = axes @ across(place * [1.0, directions - 1.0, 1.0])
                own = moved if directions == 2 else moved[:, [0, 2, 4]]
                rows[:, size * which : size * (which + 1)] += sign * own
        normal[contact] = rows[0]
        tangent += [*rows[1 : 1 + directions]]
    masses = random.uniform(0.5, 3.0, bodies)
    each = [1.0] * 3 + [0.006] * 3 if directions == 2 else [1.0, 1.0, 0.006]
    force = np.zeros(size * bodies)
    down = 2 if directions == 2 else 1
    force[down::size] = -GRAVITY * masses
    if random.integers(2):
        force += np.outer(masses, each).ravel() * random.normal(scale=3.0, size=len(force))
    return Touching(
        mass=np.diag(np.outer(masses, each).ravel()),
        normal=normal,
        tangent=np.array(tangent),
        force=force,
        friction=random.uniform(0.05, friction, count),
    )
