"""Short runs of a pendulum, as documents."""

from __future__ import annotations

import copy

import pytest

import daesolve as ds
from daesolve.reporting import document

IDENTITY = {
    "problem": "pendulum",
    "case": "swing",
    "model": "physical",
    "structure": {"rods": 1},
    "parameter_units": {"mass": "kg", "length": "m", "gravity": "m/s^2"},
}


def pendulum():
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(mass=(1.0, "kg"), length=(1.0, "m"), gravity=(9.81, "m/s^2"))
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * (q.dot.x**2 + q.dot.y**2) / 2,
        potential=p.mass * p.gravity * q.y,
        goals=[rod],
    )


def bare(told):
    """A run of which there is nothing to draw, so that its page takes no time."""
    kinds = ("states", "reactions", "outputs")
    empty = {kind: {name: [] for name in told[kind]} for kind in kinds}
    return {**told, "times": [], "drift_history": {}, **empty}


@pytest.fixture(scope="session")
def run():
    return ds.solve(pendulum(), until=3.0, initial={"x": -1.0}, verify=True)


@pytest.fixture(scope="session")
def measured_run():
    return ds.solve(
        pendulum(),
        until=3.0,
        initial={"x": -0.5},
        guess={"y": -1.0},
        solver=ds.Dop853(),
        formulation=ds.Feedback(rates={"energy": None}),
        at=ds.every(0.05),
    )


@pytest.fixture(scope="session")
def stored(tmp_path_factory):
    """The directory of a run with 401 samples."""
    directory = tmp_path_factory.mktemp("runs") / "swing"
    ds.solve(pendulum(), until=4.0, initial={"x": -1.0}, at=ds.every(0.01), store=directory)
    return directory


@pytest.fixture
def told(run):
    return document(run, IDENTITY)


@pytest.fixture
def told_measured(measured_run):
    return document(measured_run, IDENTITY)


@pytest.fixture
def sparse(told):
    """A run whose samples are far too few for its oscillations."""
    thin = copy.deepcopy(told)
    count = len(thin["times"])
    thin["times"] = [100.0 * time for time in thin["times"]]
    thin["until"] = thin["end_time"] = 300.0
    order = [(37 * place) % count for place in range(count)]
    for kind in ("states", "reactions", "outputs"):
        for name, values in thin[kind].items():
            thin[kind][name] = [values[place] for place in order]
    return thin
