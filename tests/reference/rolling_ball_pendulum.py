"""A ball with a pendulum inside, rolling without slip: all forces at a state, by Newton and Euler.

Conventions as in `rolling_ball`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tests.reference.rolling_ball import DEFAULT_PARAMETERS, Place, RollingBallParameters, vector

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NewtonEuler:
    """Accelerations and forces of the ball with a pendulum at one state.

    Attributes
    ----------
    acceleration, angular_acceleration
        v' and omega', (3,).
    phi_ddot
        rad/s^2.
    reaction
        R on the ball at the contact, (3,), N.
    """

    acceleration: Array
    angular_acceleration: Array
    phi_ddot: float
    reaction: Array


def rotation(state: Mapping[str, float]) -> Array:
    """The rotation matrix of the orientation, by Rodrigues' formula with the quaternion's half."""
    scalar, axis = state["orientation_w"], vector(state, "orientation_{}")
    skew = _skew(axis)
    return np.eye(3) + 2.0 * scalar * skew + 2.0 * skew @ skew


def _skew(a: Array) -> Array:
    """The matrix of a x."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def arm_directions(state: Mapping[str, float]) -> tuple[Array, Array]:
    """Unit vectors of the axle e and of the arm d in space."""
    turned = rotation(state)
    sine, cosine = np.sin(state["phi"]), np.cos(state["phi"])
    return turned @ [0.0, 1.0, 0.0], turned @ [-sine, 0.0, -cosine]


def newton_euler(
    state: Mapping[str, float],
    place: Place,
    parameters: RollingBallParameters = DEFAULT_PARAMETERS,
) -> NewtonEuler:
    """Solve Newton's and Euler's equations of ball and bob, every inner force an unknown.

    F is the force on the bob; the massless arm hands -F to the ball at its centre, and the moment
    -l d x F, which has no part along the axle:

        M v' = M g + R - F,   I omega' = -r n x R - l d x F,   m b'' = m g + F,   e . (d x F) = 0,
        b'' = v' + l ((omega' + phi'' e + phi' omega x e) x d + W x (W x d)),  W = omega + phi' e,
        v' = omega' x r n + omega x r n',

    sixteen linear equations. n' = W_n a' follows from the contact's rate, v = a' + r n'.
    """
    length, radius = parameters.pendulum_length, parameters.radius
    velocity, omega = vector(state, "{}_dot"), vector(state, "omega_{}")
    axle, arm = arm_directions(state)
    phi_dot = state["phi_dot"]
    whole = omega + phi_dot * axle
    turning = place.bend @ np.linalg.solve(np.eye(3) + radius * place.bend, velocity)
    gravity = np.array([0.0, 0.0, -parameters.gravity])
    inertia = parameters.inertia_ratio * parameters.ball_mass * radius**2
    one, lever, swing = np.eye(3), radius * _skew(place.normal), length * _skew(arm)
    v, o, b, f, r, i = (slice(0, 3), slice(3, 6), slice(6, 9), slice(9, 12), slice(12, 15), 15)
    matrix, right = np.zeros((16, 16)), np.zeros(16)
    matrix[v, v], matrix[v, r], matrix[v, f] = parameters.ball_mass * one, -one, one
    right[v] = parameters.ball_mass * gravity
    matrix[o, o], matrix[o, r], matrix[o, f] = inertia * one, lever, swing
    matrix[b, b], matrix[b, f] = parameters.bob_mass * one, -one
    right[b] = parameters.bob_mass * gravity
    matrix[f, b], matrix[f, v], matrix[f, o] = one, -one, swing
    matrix[f, i] = -length * np.cross(axle, arm)
    right[f] = length * phi_dot * np.cross(np.cross(omega, axle), arm)
    right[f] += length * np.cross(whole, np.cross(whole, arm))
    matrix[r, v], matrix[r, o] = one, lever
    right[r] = radius * np.cross(omega, turning)
    matrix[i, f] = np.cross(axle, arm)
    solved = np.linalg.solve(matrix, right)
    return NewtonEuler(solved[v], solved[o], float(solved[i]), solved[r])
