"""Rotations by hand, and mechanisms at their start as numbers."""

from __future__ import annotations

import numpy as np

from daesolve.core.equations.consistency import instantaneous
from daesolve.core.posing.value_names import ValueKind
from daesolve.multibody.places import quaternion


def matrix(q):
    """The rotation of a unit quaternion, by Rodrigues' formula."""
    vector = np.asarray(q[1:])
    cross = np.cross(np.eye(3), vector)
    return np.eye(3) + 2 * (q[0] * cross + cross @ cross)


def about(axis, angle):
    return matrix(quaternion(np.eye(3)[axis], angle))


def quaternion_of(rotation):
    """A unit quaternion of a rotation: the eigenvector of R x = x, and its angle."""
    values, vectors = np.linalg.eig(rotation)
    axis = np.real(vectors[:, np.argmin(abs(values - 1))])
    skew = np.array(
        [rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0],
         rotation[1, 0] - rotation[0, 1]]
    )  # fmt: skip
    return quaternion(axis, np.arctan2(axis @ skew / 2, (np.trace(rotation) - 1) / 2))


def numbers(system, start):
    """The equations, the state that a start gives, and p."""
    dynamics = system.dynamics
    state = np.array([start[name] for name in dynamics.labels.states])
    lengths = {name: 1.0 for name in dynamics.values if ValueKind.REFERENCE.is_a(name)}
    return dynamics, state, dynamics.value_vector(lengths)


def accelerations(mechanism, **further):
    """Accelerations by velocity and reactions by goal at the start, by dense least squares."""
    dynamics, state, p = numbers(mechanism.system(**further), mechanism.start)
    found, reactions = instantaneous(dynamics, 0.0, state, p)
    velocities = dynamics.labels.states[dynamics.position_count :]
    by_velocity = dict(zip(velocities, found, strict=True))
    return by_velocity, dict(zip(dynamics.labels.reactions, reactions, strict=True))
