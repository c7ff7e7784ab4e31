"""What a trajectory tells of itself in a terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest

import daesolve as ds
from daesolve.results import Drift, Verification


def told(size, last=0.0, *, driven=True):
    return Drift(driven, size, size, last, 1.0, 0.0, None)


@pytest.fixture(scope="module")
def run():
    q = ds.coordinates(x="m", y="m")
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - 1.0)
    kinetic = (q.dot.x**2 + q.dot.y**2) / 2
    pendulum = ds.MechanicalSystem(q, kinetic=kinetic, potential=9.81 * q.y, goals=[rod])
    return ds.solve(pendulum, until=0.1, initial={"x": 1.0}, guess={"y": 0.0})


def test_printed_it_tells_how_it_ended_and_the_residuals_farthest_first(run):
    run = replace(
        run,
        message="why",
        event_count=3,
        drift={"a": told(1e-16), "long": told(2e-9, 1e-12, driven=False), "b": told(float("nan"))},
    )
    assert str(run).splitlines() == [
        f"feedback with {run.description['solver']}: completed at t = 0.1 s",
        "why",
        "      largest     last  residual over its scale",
        "b         nan  0.0e+00  driven",
        "long  2.0e-09  1.0e-12  measured",
        "a     1.0e-16  0.0e+00  driven",
        "events: 3",
    ]


def test_of_many_residuals_thirty_are_printed_and_the_rest_counted(run):
    many = {f"goal_{number}": told(number * 1e-16) for number in range(400)}
    lines = str(replace(run, drift=many)).splitlines()
    assert [line.split()[0] for line in lines[2:-1]] == [f"goal_{399 - k}" for k in range(30)]
    assert lines[-1] == "and 370 more"
    assert len(repr(replace(run, drift=many))) < 100


def test_printed_it_tells_the_largest_difference_of_a_repeated_run_in_each_unit(run):
    found = Verification("taylor", {"x": 1e-12, "y": 3e-12, "x_dot": 2e-11, "y_dot": 1e-11}, None)
    verified = replace(run, verification=found)
    last = str(verified).splitlines()[-1]
    assert last == "against taylor: largest difference 3.0e-12 m, 2.0e-11 m/s"
    lost = replace(found, difference={"x": float("nan"), "y": 1e-12})
    assert str(replace(run, verification=lost)).endswith("nan m")
    stopped = replace(run, verification=replace(found, interrupted=True))
    assert str(stopped).endswith("against taylor: interrupted")
