"""A branch keeps no motions: its memory is that of its points, however long it is."""

import gc
import math

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.analysis.orbits.branch import BranchPoint
from daesolve.analysis.orbits.nodes import Flight
from daesolve.analysis.orbits.shooting import Shot
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.solvers.lanes import Batch
from tests.analysis.orbits import systems
from tests.analysis.orbits.test_orbit_search import start

MOTIONS = (Flight, Shot, Trajectory, Batch)


def kept(kinds: tuple[type, ...] = MOTIONS) -> int:
    """How many motions there are in memory, without a search for circles."""
    return sum(isinstance(thing, kinds) for thing in gc.get_objects())


@pytest.mark.long
def test_no_motion_of_a_point_is_left_when_the_next_is_found() -> None:
    orbit = ds.analysis.periodic_orbit(
        systems.walker(), start(0.2, -0.2), section="strike", verify=False
    )
    counts: list[int] = []
    gc.collect()
    gc.disable()  # what only a search for circles would free counts as kept
    try:
        before = kept((BranchPoint,))
        branch = ds.analysis.continue_orbit(
            orbit,
            {"slope": (0.009, 0.011)},
            step=0.05,
            progress=lambda count, value: counts.append(kept()),
        )
        assert kept((BranchPoint,)) - before == len(branch)
    finally:
        gc.enable()
    assert len(counts) > 20
    # Those of the last step are at hand; a point that kept one would add to all counts after it.
    assert np.median(counts[-10:]) <= max(counts[:10])


@pytest.mark.slow
def test_no_motion_of_a_row_of_a_map_is_left_when_the_next_is_found() -> None:
    q, p = ds.coordinates(x="m"), ds.parameters(stiffness=(2.0, "1/s^2"), damping=(0.2, "1/s"))
    force = ca.cos(ds.time) - p.stiffness * q.x - p.damping * q.dot.x
    system = ds.MechanicalSystem(q, p, kinetic=q.dot.x**2 / 2, force={"x": force})
    orbit = ds.analysis.periodic_orbit(system, {"x": 1.0, "x_dot": 0.0}, 2 * math.pi, verify=False)
    over = {"stiffness": (1.9, 2.1), "damping": (0.1, 0.3)}
    counts: list[int] = []
    gc.collect()
    gc.disable()
    try:
        ds.analysis.stability_map(
            orbit, over, cells=(3, 9), progress=lambda count, total: counts.append(kept())
        )
    finally:
        gc.enable()
    assert len(counts) == 9
    assert max(counts[3:]) <= max(counts[:3])
