"""Analyses of the prism besides its motion."""

from __future__ import annotations

from typing import Any

import numpy as np

import daesolve as ds
from daesolve.typing import BoundCase
from daesolve_problems.prism import pictures
from daesolve_problems.prism.guide import Sector, kind, sliding
from daesolve_problems.prism.hysteresis import (
    MARGIN,
    Branch,
    Leap,
    branches,
    moments_between,
    swept,
)
from daesolve_problems.prism.loads import loads
from daesolve_problems.prism.models import SIDES
from daesolve_problems.prism.regions import compared, extent, rasterised


def regions(case: BoundCase) -> ds.Answer:
    """Map how many answers there are over P_y and M, and check the map by enumeration.

    The rays between the regions are known in closed form; the raster does not use them.

    Raises
    ------
    FrictionlessIllPosed
        The supports do not hold the prism in every variant, even without friction.
    """
    prism, values = sliding(case), case.values
    sectors = prism.sectors()
    load = (values["force_y"], values["moment"])
    raster = rasterised(loads(case), extent(prism, load))
    found = prism.answers(values["force_x"], *load)
    answer: dict[str, Any] = {
        "slip_sign": prism.slip_sign,
        "at_the_load": kind(len(found), sum(one.physical for one in found)),
        "rays": {
            f"{SIDES[side]}_{pair}": {"lever": prism.levers[pair, side], "angle": angle}
            for (pair, side), angle in prism.rays().items()
        },
        "sectors": [_sector(sector) for sector in sectors],
        "raster": compared(raster, sectors),
    }
    return ds.Answer(answer, {"regions": pictures.regions(sectors, raster, prism.levers, load)})


def hysteresis(case: BoundCase) -> ds.Answer:
    """Sweep the moment up and down, and report where the prism jumps to another branch.

    A sweep stays on its branch as long as a neighbouring variant continues it. Otherwise it jumps
    to the answer that friction reaches as it grows from zero.

    Raises
    ------
    OutOfRangeError
        There is no force across the guide.
    FrictionlessIllPosed
        The supports do not hold the prism in every variant, even without friction.
    """
    prism, values = sliding(case), case.values
    force_y = values["force_y"]
    ends = prism.moments(force_y)
    margin = MARGIN * (ends[-1] - ends[0]) or abs(force_y)
    edges = [ends[0] - margin, *ends, ends[-1] + margin]
    moments = moments_between(edges)
    problems = loads(case)
    sweeps = {
        "up": swept(problems, force_y, moments),
        "down": swept(problems, force_y, moments[::-1]),
    }
    every = np.union1d(moments, edges)
    found = list(branches(prism, values["force_x"], force_y, every))
    answer: dict[str, Any] = {
        "slip_sign": prism.slip_sign,
        "force_y": force_y,
        "from": edges[0],
        "to": edges[-1],
        "branches": [_branch(branch) for branch in found],
    }
    answer |= {name: [_leap(leap) for leap in sweep.leaps] for name, sweep in sweeps.items()}
    return ds.Answer(answer, {"hysteresis": pictures.hysteresis(found, sweeps)})


def _sector(sector: Sector) -> dict[str, Any]:
    return {
        "from": sector.start,
        "to": sector.end,
        "kind": sector.kind,
        "answers": [list(variant) for variant in sector.variants],
        "physical": [list(variant) for variant in sector.physical],
    }


def _branch(branch: Branch) -> dict[str, Any]:
    inside = branch.moments[~np.isnan(branch.accelerations)]
    return {
        "variant": list(branch.variant),
        "physical": branch.physical,
        "from": float(inside[0]),
        "to": float(inside[-1]),
    }


def _leap(leap: Leap) -> dict[str, Any]:
    return {
        "moment": leap.moment,
        "before": list(leap.before),
        "after": None if leap.after is None else list(leap.after),
        "acceleration_before": leap.accelerations[0],
        "acceleration_after": leap.accelerations[1],
        "message": leap.message,
    }
