"""What powers of reactions have come to: meters and the work of friction."""

from __future__ import annotations

import math

import pytest

import daesolve as ds
from daesolve.errors import PosingError
from tests.sliding_bodies import BLOCK


def test_the_work_of_friction_is_what_the_energy_loses():
    start = {"x": 0.0, "x_dot": 3.0}
    run = ds.solve(BLOCK(), 1.0, start, parameters={"slope": 0.0}, at=[0.1, 0.3])
    for x, work, energy in zip(run["x"], run["friction_work"], run["energy"], strict=True):
        assert work == pytest.approx(-0.4 * 2.0 * 9.81 * x, rel=1e-13)
        assert energy == pytest.approx(9.0 + work, rel=1e-13)


def test_a_meter_integrates_the_power_of_a_reaction():
    """The rod's tension times a rate: over a swing from rest, 3 m g cos - 2 m g cos_0 in closed
    form where the rate is that of the angle."""
    q = ds.coordinates(x="m", y="m")
    rod = ds.Holonomic("rod", (q.x**2 + q.y**2 - 1.0) / 2.0)
    turn = q.x * q.dot.y - q.y * q.dot.x
    pendulum = ds.MechanicalSystem(
        q,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=10.0 * q.y,
        goals=[rod],
        meters={"pull": (-rod.reaction * turn, "J"), "way": turn},
    )
    start = {"x": math.sin(1.0), "y": -math.cos(1.0), "x_dot": 0.0, "y_dot": 0.0}
    run = ds.solve(pendulum, 1.3, start, at=[0.2, 1.3])
    for x, y, pull, way in zip(run["x"], run["y"], run["pull"], run["way"], strict=True):
        angle = math.atan2(x, -y)
        assert way == pytest.approx(angle - 1.0, abs=1e-12)
        turned = 30.0 * (math.sin(angle) - math.sin(1.0)) - 20.0 * math.cos(1.0) * (angle - 1.0)
        assert pull == pytest.approx(turned, abs=1e-11)


def test_a_meter_and_an_output_cannot_share_a_name():
    q = ds.coordinates(x="m")
    with pytest.raises(PosingError, match="way"):
        ds.MechanicalSystem(
            q, kinetic=q.dot.x**2 / 2, outputs={"way": q.x}, meters={"way": q.dot.x}
        )
