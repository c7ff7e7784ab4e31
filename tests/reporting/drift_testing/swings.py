"""Drift tests of a pendulum, here and in a project of its own."""

from __future__ import annotations

from typing import Any, NoReturn

import daesolve as ds
from daesolve.reporting.drift_testing import DriftTest
from tests.systems import pendulum

SAMPLE = """
import daesolve as ds

LOOSE = ds.Dop853(rtol=1e-4, atol=1e-4)


def pendulum():
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(length=(1.0, "m"), gravity=(9.81, "m/s^2"))
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=p.gravity * q.y,
        goals=[rod],
    )


def swing(drift, **options):
    options = {"solver": ds.Dop853(rtol=1e-7, atol=1e-7), **options}
    return drift(pendulum(), until=1.0, at=[0.5, 1.0], initial={"x": -1.0}, **options)


def test_swings(drift):
    run = swing(drift, limits={"energy": 1e-5, "rod": 1e-5}, accuracy=1e-4)
    assert not run.drift["energy"].driven
    assert run.drift["rod"].driven


def test_twice(drift):
    swing(drift)
    swing(drift, driven=["energy"])
"""
BROKEN = """

def test_loose(drift):
    swing(drift, limits={"energy": 1e-9}, accuracy=1e-7, solver=LOOSE)


def test_misspelt(drift):
    swing(drift, limits={"energie": 1e-9})


def test_own_assertion(drift):
    assert swing(drift, limits={"energy": 1e-5}).event_count == 3
"""


class FailedError(Exception):
    """What `fail` raises here."""


def fail(message: str) -> NoReturn:
    raise FailedError(message)


def drift_test(**more: Any) -> DriftTest:
    return DriftTest("tests/test_mine.py::test_it", fail, **more)


def let_swing(drift: DriftTest, **options: Any) -> ds.Trajectory:
    """Let a pendulum fall for a second, cheaply."""
    few = {"until": 1.0, "at": [0.5, 1.0], "initial": {"x": -1.0}, "solver": ds.Dop853()}
    options = {**few, **options}
    return drift(pendulum(), **options)
