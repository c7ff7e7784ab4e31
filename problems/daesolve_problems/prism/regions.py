"""The number of answers to each load: a map, and its check."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daesolve.contact.complementarity.enumeration import enumerate_variants
from daesolve_problems.prism.guide import Guide, Sector
from daesolve_problems.prism.loads import Loads

ACROSS = 24
"""Loads along each side of the raster; an even number leaves the axes out."""
AROUND = math.sqrt(1.7)
"""How much farther than the rays and the load of the case the raster goes: irrational, so that no
load of it lies on a ray where the numbers of the prism are round."""
NEAR = 1e-9
"""rad; so near to a ray rounding decides how many answers there are."""


@dataclass(frozen=True, eq=False)
class Raster:
    """How many answers there are to the loads of a grid, by enumeration.

    Parameters
    ----------
    forces, moments
        (n,) N and N m.
    answers, physical
        (n, n) how many there are, and how many of them are physical, by moment and force.
    """

    forces: np.ndarray
    moments: np.ndarray
    answers: np.ndarray
    physical: np.ndarray


def extent(prism: Guide, load: tuple[float, float]) -> tuple[float, float]:
    """Return the largest force and the largest moment of the raster, N and N m."""
    arm = AROUND * max(map(abs, prism.levers.values()))
    if arm == 0.0:
        arm = 1.0
    force = AROUND * max(abs(load[0]), abs(load[1]) / arm)
    return (force, arm * force) if force > 0.0 else (1.0, arm)


def rasterised(problems: Loads, reaches: tuple[float, float]) -> Raster:
    """Count the answers to each load of a grid up to a force (N) and a moment (N m)."""
    forces, moments = (np.linspace(-reach, reach, ACROSS) for reach in reaches)
    counts = np.zeros((2, ACROSS, ACROSS), dtype=int)
    for row, moment in enumerate(moments):
        for column, force in enumerate(forces):
            found = enumerate_variants(problems.at(force, moment))
            counts[:, row, column] = len(found), sum(answer.physical for answer in found)
    return Raster(forces, moments, *counts)


def compared(raster: Raster, sectors: Sequence[Sector]) -> dict[str, int]:
    """Count the loads of a raster that are off the rays, and those at which the sectors differ."""
    first = sectors[0].start
    angles = np.arctan2(raster.moments[:, None], raster.forces[None, :])
    angles = first + np.mod(angles - first, math.tau)
    ends = np.array([*(sector.start for sector in sectors), first + math.tau])
    away = np.min(np.abs(angles[..., None] - ends), axis=-1) > NEAR
    place = np.clip(np.searchsorted(ends, angles, side="right") - 1, 0, len(sectors) - 1)
    answers = np.array([len(sector.variants) for sector in sectors])[place]
    physical = np.array([len(sector.physical) for sector in sectors])[place]
    differ = (answers != raster.answers) | (physical != raster.physical)
    return {"loads": int(away.sum()), "differences": int((differ & away).sum())}
