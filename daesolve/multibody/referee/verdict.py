"""The comparison of two motions from the same start: gaps, energy drift, divergence, seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from daesolve.multibody.referee.barriers import Barrier
from daesolve.multibody.referee.engine import EqualityRows
from daesolve.multibody.referee.mujoco_run import Motion

MOST_OF_RISE = 0.99


@dataclass(frozen=True, eq=False)
class Side:
    """One run of the file.

    Parameters
    ----------
    package
        "daesolve" or "MuJoCo".
    method
        The integrator.
    step
        s; None if the solver chooses it.
    gap, turn
        The largest gap of the loops at the samples, m and rad; None if nothing is held so.
    drift
        The largest change of the energy that no work accounts for, over the largest kinetic energy
        of daesolve's run; None of MuJoCo's where contacts or limits, which do work, touch.
    growth, grows
        The largest rise of the energy that no work of dampers, actuators and friction in joints
        accounts for, over the same, and from when to when.
    seconds
        Of the integration.
    motion
        What was seen.
    """

    package: str
    method: str
    step: float | None
    gap: float | None
    turn: float | None
    drift: float | None
    growth: float
    grows: tuple[float, float]
    seconds: float
    motion: Motion

    @property
    def title(self) -> str:
        """Its name in tables and legends."""
        return self.package if self.step is None else f"{self.package}, {self.step:g} s"


@dataclass(frozen=True, eq=False)
class Divergence:
    """How far MuJoCo's bodies are from daesolve's.

    Parameters
    ----------
    step
        MuJoCo's, s.
    distances
        (n,) at the samples, the largest of any body, m.
    times
        (n,) the samples, s.
    """

    step: float
    distances: np.ndarray
    times: np.ndarray

    def leaves(self, tolerance: float) -> float | None:
        """Return the first sample time at which it exceeds a tolerance, s; None if none is."""
        beyond = np.flatnonzero(self.distances > tolerance)
        return float(self.times[beyond[0]]) if beyond.size else None


@dataclass(frozen=True, eq=False)
class RefereeVerdict:
    """The same file from the same start, by daesolve and by MuJoCo.

    Parameters
    ----------
    name
        Of the file.
    until, tolerance
        The requested horizon, s, and the distance at which motions count as apart, m.
    bodies, joints, loops
        How many bodies, speeds of joints and rows of equalities MuJoCo sees.
    own
        daesolve's run.
    others
        MuJoCo's, the longest step first.
    divergences
        Of each of `others`.
    conserved
        Whether nothing but weights and springs acts.
    start_moved
        How far closing the loops moved the joints of the start at most.
    goals
        daesolve's largest residual over every accepted step, by goal, and its unit.
    contacts
        "rigid", "compliant" or "none".
    barriers
        The contacts and limits that were watched.
    preparation
        Seconds that reading and preparing took, by stage.
    notes
        Notes for the reader: what daesolve leaves out of the file and was therefore switched off in
        MuJoCo, and how the runs ended.
    """

    name: str
    until: float
    tolerance: float
    bodies: int
    joints: int
    loops: int
    own: Side
    others: tuple[Side, ...]
    divergences: tuple[Divergence, ...]
    conserved: bool
    start_moved: float
    goals: Mapping[str, tuple[float, str]]
    preparation: Mapping[str, float]
    contacts: str = "none"
    barriers: Sequence[Barrier] = ()
    notes: tuple[str, ...] = ()


def side(
    package: str,
    method: str,
    step: float | None,
    motion: Motion,
    rows: Sequence[EqualityRows],
    kinetic: float,
) -> Side:
    """Return how far a motion can be trusted.

    Parameters
    ----------
    package, method, step
        See `Side`.
    motion
        What was seen.
    rows
        What its gaps are of.
    kinetic
        What counts as one of the energy, J.
    """
    lost = motion.energy - motion.energy[0] - motion.work
    rise = lost - np.minimum.accumulate(lost)
    # Most of a rise is over long before its last digits.
    last = int(np.flatnonzero(rise >= MOST_OF_RISE * np.max(rise))[0])
    unit = kinetic if kinetic > 0.0 else 1.0
    return Side(
        package=package,
        method=method,
        step=step,
        gap=_largest(motion, rows, "m"),
        turn=_largest(motion, rows, "rad"),
        drift=None if motion.touches.any else float(np.max(np.abs(lost))) / unit,
        growth=float(np.max(rise)) / unit,
        grows=(float(motion.times[np.argmin(lost[: last + 1])]), float(motion.times[last])),
        seconds=motion.seconds,
        motion=motion,
    )


def _largest(motion: Motion, rows: Sequence[EqualityRows], unit: str) -> float | None:
    columns = [place for place, row in enumerate(rows) if row.unit == unit]
    return float(np.max(motion.gaps[:, columns])) if columns else None


def divergence(own: Motion, other: Motion, step: float) -> Divergence:
    """Return how far apart two motions go, over the samples that both have."""
    common = min(len(own.times), len(other.times))
    apart = np.linalg.norm(own.positions[:common] - other.positions[:common], axis=2)
    return Divergence(step, np.max(apart, axis=1, initial=0.0), own.times[:common])


def order(divergences: Sequence[Divergence], *, at_end: bool = False) -> list[float | None]:
    """Return by which power of the step MuJoCo comes nearer, from each step to the next.

    It is measured at the last sample at which even the longest step is within a thousandth of the
    largest distance, or the first after the start where none is; None if nothing is left to
    compare: what does not fall with the step is softness of its constraints.

    Parameters
    ----------
    divergences
        Of MuJoCo's runs, the longest step first.
    at_end
        Whether it is measured at the last sample that all have.
    """
    common = min((len(one.distances) for one in divergences), default=0)
    if len(divergences) < 2 or common < 2:
        return [None for _ in divergences[1:]]
    first = divergences[0].distances
    small = np.flatnonzero(first[1:] <= 1e-3 * np.max(first))
    place = common - 1 if at_end else 1 + (int(small[-1]) if small.size else 0)
    orders: list[float | None] = []
    for coarse, fine in pairwise(divergences):
        far, near = coarse.distances[place], fine.distances[place]
        halved = np.log2(coarse.step / fine.step)
        orders.append(float(np.log2(far / near) / halved) if far > 0.0 and near > 0.0 else None)
    return orders
