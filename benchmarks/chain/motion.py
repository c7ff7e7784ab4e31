"""The chain that every package integrates, and the errors of its motion.

N thin rods of 1 m and 1 kg hang from a fixed end, joined by hinges without friction. They start
horizontal and at rest. The reference is an integration in the rods' angles, with the dense mass
matrix of Lagrange's equations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.common.attempts import BrokeDownError
from tests.reference.mechanisms_chain import chain_angles

GRAVITY = 9.81
INERTIA = 1.0 / 12.0


@dataclass(frozen=True)
class Bodies:
    """All rods at the end: mass centre x, y and angle from the x-axis, (n, 3), and their rates."""

    places: np.ndarray
    rates: np.ndarray


@dataclass(frozen=True)
class Ready:
    """A chain that can be integrated repeatedly.

    Parameters
    ----------
    integrate
        Integrates from the start to the end; `end` receives the result.
    end
        Reads the rods at the end, and the number of steps.
    """

    integrate: Callable[[], Any]
    end: Callable[[Any], tuple[Bodies, int]]


@dataclass(frozen=True)
class Setting:
    """One method of a package at one accuracy; `prepare` takes the rods and the end in s.

    The coarsest setting of a method comes first. A setting with `per_step` is inaccurate
    but represents the cost of a step.
    """

    method: str
    accuracy: str
    prepare: Callable[[int, float], Ready]
    per_step: bool = False


def jointed(angles: np.ndarray, rates: np.ndarray) -> Bodies:
    """Return the rods from their angles from the x-axis, (n,); every joint is closed."""
    arms = 0.5 * np.column_stack([np.cos(angles), np.sin(angles)])
    speeds = 0.5 * rates[:, None] * np.column_stack([-np.sin(angles), np.cos(angles)])
    centres, velocities = (
        2.0 * np.cumsum(part, axis=0) - part for part in (arms, speeds)
    )  # both halves of all rods before it, and one half of the rod itself
    return Bodies(np.column_stack([centres, angles]), np.column_stack([velocities, rates]))


@lru_cache
def _true_centres(rods: int, until: float) -> np.ndarray:
    hanging = chain_angles(rods, np.array([until]), np.pi / 2)[:, -1]
    return jointed(hanging - np.pi / 2, np.zeros(rods)).places[:, :2]


def judged(bodies: Bodies, until: float) -> tuple[float, float, float]:
    """Return the largest error of a mass centre and gap of a joint, m, and the energy error.

    The energy is zero at first; its error is relative to the kinetic energy.
    """
    places, rates = bodies.places, bodies.rates
    if not (np.all(np.isfinite(places)) and np.all(np.isfinite(rates))):
        raise BrokeDownError("the state became infinite")
    arms = 0.5 * np.column_stack([np.cos(places[:, 2]), np.sin(places[:, 2])])
    feet, heads = places[:, :2] - arms, places[:, :2] + arms
    bases = np.vstack([np.zeros((1, 2)), heads[:-1]])
    kinetic = 0.5 * float(np.sum(rates[:, :2] ** 2) + INERTIA * np.sum(rates[:, 2] ** 2))
    energy = kinetic + GRAVITY * float(np.sum(places[:, 1]))
    apart = places[:, :2] - _true_centres(len(places), until)
    return (
        float(np.max(np.linalg.norm(apart, axis=1))),
        float(np.max(np.linalg.norm(feet - bases, axis=1))),
        abs(energy) / kinetic,
    )
