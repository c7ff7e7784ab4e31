"""A body on three feet on an inclined plane, by its planar equations: written down by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

GRAVITY = 9.81
SLOW = 1e-9
"""m/s, where a foot is taken to go straight on to its stop."""


class Stopped(NamedTuple):
    """When feet stop (the first, and all), which is the first, and where the body is then."""

    first: int
    times: tuple[float, float]
    place: np.ndarray


@dataclass(frozen=True)
class PlanarTripod:
    """Feet (3, 2) from the mass centre, which is at the height h; unit mass, moment of inertia J.

    The plane falls towards x. The loads are those for which no moment acts about the level axes.
    """

    feet: np.ndarray
    h: float
    inertia: float
    friction: float
    incline: float = 0.0

    def arms(self, angle):
        c, s = np.cos(angle), np.sin(angle)
        return self.feet @ np.array([[c, s], [-s, c]])

    def slips(self, x):
        arms = self.arms(x[2])
        return x[3:5] + x[5] * np.column_stack([-arms[:, 1], arms[:, 0]])

    def reactions(self, x, held=None):
        """Return N (3,) and T (3, 2), with one foot held or none."""
        arms, slips = self.arms(x[2]), self.slips(x)
        push = np.array([GRAVITY * np.sin(self.incline), 0.0])
        weight = GRAVITY * np.cos(self.incline)
        along = np.array(
            [
                np.zeros(2) if k == held else -self.friction * slip / np.linalg.norm(slip)
                for k, slip in enumerate(slips)
            ]
        )
        # Unknown: N (3,), and T (2,) of the foot that is held.
        rows, right = np.zeros((5, 5)), np.zeros(5)
        rows[0, :3], right[0] = 1.0, weight
        # Moments of N and T about the mass centre: sum N r - h T across the plane is zero.
        for axis in (0, 1):
            rows[1 + axis, :3] = arms[:, axis] + self.h * along[:, axis]
            rows[1 + axis, 3 + axis] = self.h
        if held is None:
            found = np.linalg.solve(rows[:3, :3], right[:3])
            return found, found[:, None] * along, push
        # Its foot does not accelerate: a + w' x r - w^2 r = 0.
        arm = arms[held]
        moments = arms[:, 0] * along[:, 1] - arms[:, 1] * along[:, 0]
        for axis, across in ((0, -arm[1]), (1, arm[0])):
            rows[3 + axis, :3] = along[:, axis] + across * moments / self.inertia
            rows[3 + axis, 3] = float(axis == 0) - across * arm[1] / self.inertia
            rows[3 + axis, 4] = float(axis == 1) + across * arm[0] / self.inertia
            right[3 + axis] = x[5] ** 2 * arm[axis] - push[axis]
        found = np.linalg.solve(rows, right)
        traction = found[:3, None] * along
        traction[held] = found[3:]
        return found[:3], traction, push

    def slope(self, x, held=None):
        _, traction, push = self.reactions(x, held)
        arms = self.arms(x[2])
        moment = np.sum(arms[:, 0] * traction[:, 1] - arms[:, 1] * traction[:, 0])
        return np.concatenate([x[3:], push + traction.sum(axis=0), [moment / self.inertia]])

    def until_stop(self, time, x, until, held=None):
        """Return when a further foot stops, which, and where; None where none does."""

        def slow(t, y):
            sizes = np.linalg.norm(self.slips(y), axis=1)
            return np.min(np.delete(sizes, held) if held is not None else sizes) - SLOW

        slow.terminal = True
        run = solve_ivp(
            lambda _, y: self.slope(y, held),
            *((time, until), x),
            method="DOP853",
            rtol=1e-12,
            atol=1e-14,
            events=slow,
        )
        if not run.t_events[0].size:
            return None
        time, x = run.t[-1], run.y[:, -1]
        sizes = np.linalg.norm(self.slips(x), axis=1)
        if held is not None:
            sizes[held] = np.inf
        foot = int(np.argmin(sizes))
        moving, step = self.slope(x, held), 1e-11
        slower = np.linalg.norm(self.slips(x + step * moving)[foot])
        wait = sizes[foot] * step / (sizes[foot] - slower)
        return time + wait, foot, x + wait * moving

    def stopped(self, x, until) -> Stopped | None:
        """Follow it until it rests; None where it does not, or leaves the plane or the model."""
        found = self.until_stop(0.0, np.asarray(x, dtype=float), until)
        if found is None:
            return None
        time, foot, x = found
        # All stop together where the body does not turn.
        if np.max(np.linalg.norm(self.slips(x), axis=1)) < 1e-7:
            return Stopped(foot, (time, time), x[:3])
        normal, traction, _ = self.reactions(x, foot)
        if np.min(normal) <= 0.0 or np.linalg.norm(traction[foot]) > self.friction * normal[foot]:
            return None
        last = self.until_stop(time, x, until, foot)
        return None if last is None else Stopped(foot, (time, last[0]), last[2][:3])


def random_tripod(random) -> tuple[PlanarTripod, np.ndarray]:
    """Return a tripod whose feet are around its mass centre, and where it starts."""
    angles = 2.0 * np.pi * (np.arange(3) + random.uniform(-0.35, 0.35, 3)) / 3.0
    radii = random.uniform(0.05, 0.15, 3)
    feet = radii[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    friction = random.uniform(0.1, 0.5)
    body = PlanarTripod(
        feet,
        random.uniform(0.01, 0.05),
        random.uniform(0.002, 0.02),
        friction,
        random.choice([0.0, random.uniform(0.0, 0.6)]) * friction,
    )
    moving = [*random.uniform(-0.8, 0.8, 2), random.uniform(-10.0, 10.0)]
    return body, np.array([0.0, 0.0, 0.0, *moving])
