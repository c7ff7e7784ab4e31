"""Velocities as speed and direction: the time in which a stopping body never stops.

If all supports slide, friction depends only on the direction of the velocities v. Near the stop,
the right-hand side of v' = A(t, x, v) therefore changes by order one however small v is. With

    v = s u,   dt = s d(tau),
    u' = A - g u,   (ln s)' = g,   t' = s,   g = (u . A) / (u . u)

(products in the metric of the mass matrix) nothing is singular. The stop is reached as tau grows
without bound: u tends to a direction with A = -kappa u, and the speed falls as exp(-kappa tau). The
time of the stop is t + s / kappa. The equations give v' = A for every g; this g conserves the
length of u, and an error in that length does not affect the motion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

LEAST = 1e-40
"""The fraction of the first speed below which friction is evaluated at this speed: squares of
lower speeds would leave the range of numbers, and friction does not depend on the speed."""

ROUNDED = 1e-6
"""The fraction of a state's largest size below which a difference counts as rounding."""

Rate = Callable[[float, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class SlidingMotion:
    """A motion in which all supports slide, between switches of the loaded supports.

    Parameters
    ----------
    rate
        (time, state, values) -> state'; power integrals among the states are integrated too.
    guards
        (time, state, values) -> (k,), positive while the values hold.
    switch
        (time, state, values, number of the guard) -> the values after that guard passed zero; it
        raises a `VariantError` if the motion cannot continue.
    velocities
        The indices of the velocities in the state, which all end together.
    metric
        (nv, nv), symmetric and positive definite: the mass matrix at the start. It defines the
        speed, s^2 = v . metric v, which gives metres and radians a common unit; the motion does not
        depend on it.
    project
        (time, state, values) -> the state with consistent velocities; None if they are free.
        Rounding errors of a constraint on velocities would grow with 1 / s.
    """

    rate: Rate
    guards: Rate
    switch: Callable[[float, np.ndarray, np.ndarray, int], np.ndarray]
    velocities: slice
    metric: np.ndarray
    project: Rate | None = None


class ScaledTime:
    """The motion from a given instant, in scaled time.

    A scaled state contains the states of the motion, with velocities replaced by the direction u
    (of length one at the start, after scaling the metric), then ln s, then the time since the
    start.

    Parameters
    ----------
    motion
        The motion.
    time, state
        The start; s, (nx,).
    """

    def __init__(self, motion: SlidingMotion, time: float, state: np.ndarray) -> None:
        self.motion, self.start_time = motion, time
        self.factor = scipy.linalg.cholesky(motion.metric)
        self.inverse = scipy.linalg.solve_triangular(self.factor, np.eye(len(self.factor)))
        self.start_speed = float(np.linalg.norm(self.factor @ state[motion.velocities]))
        self.start = self.scaled(time, state)

    def scaled(self, time: float, state: np.ndarray) -> np.ndarray:
        """Return the scaled state."""
        velocities = self.factor @ state[self.motion.velocities]
        speed = float(np.linalg.norm(velocities))
        scaled = np.concatenate([state, [np.log(speed), time - self.start_time]])
        scaled[self.motion.velocities] = velocities / speed
        return scaled

    def time(self, scaled: np.ndarray) -> float:
        """Return the time, s."""
        return self.start_time + float(scaled[-1])

    def speed(self, scaled: np.ndarray) -> float:
        """Return s."""
        return float(np.exp(scaled[-2]))

    def direction(self, scaled: np.ndarray) -> np.ndarray:
        """Return the velocities over the speed, (nv,), in their own units."""
        return self.inverse @ scaled[self.motion.velocities]

    def state(self, scaled: np.ndarray) -> np.ndarray:
        """Return the state, with at least the smallest speed."""
        state = scaled[:-2].copy()
        speed = max(self.speed(scaled), LEAST * self.start_speed)
        state[self.motion.velocities] = speed * self.direction(scaled)
        return state

    def rate(self, scaled: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the derivative of the scaled state by tau."""
        velocities, speed = self.motion.velocities, self.speed(scaled)
        rate = self.motion.rate(self.time(scaled), self.state(scaled), values)
        direction, acceleration = scaled[velocities], self.factor @ rate[velocities]
        growth = float(direction @ acceleration / (direction @ direction))
        derivative = np.concatenate([speed * rate, [growth, speed]])
        derivative[velocities] = acceleration - growth * direction
        return derivative

    def guards(self, scaled: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the guards, (k,)."""
        return self.motion.guards(self.time(scaled), self.state(scaled), values)

    def projected(self, scaled: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the scaled state with consistent velocities."""
        if self.motion.project is None:
            return scaled
        time, velocities = self.time(scaled), self.motion.velocities
        state = self.state(scaled)
        speed = np.linalg.norm(self.factor @ state[velocities])
        consistent = self.motion.project(time, state, values)
        projected = np.concatenate([consistent, scaled[-2:]])
        projected[velocities] = self.factor @ consistent[velocities] / speed
        return projected

    def sizes(self, values: np.ndarray) -> np.ndarray:
        """Return the size of each entry of the scaled state, from its value and its motion."""
        derivative = self.rate(self.start, values)
        turning = np.linalg.norm(derivative[self.motion.velocities]) + abs(derivative[-2])
        sizes = np.maximum(np.abs(self.start), np.abs(derivative) / turning)
        sizes[self.motion.velocities] = sizes[-2] = 0.0
        # A quantity that a constraint holds at zero contains only rounding, which is not a typical
        # size.
        sizes = np.maximum(sizes, ROUNDED * max(float(np.max(sizes[:-2])), sizes[-1]))
        sizes[self.motion.velocities] = sizes[-2] = 1.0
        return sizes
