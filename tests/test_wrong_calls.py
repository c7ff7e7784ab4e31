# ruff: noqa: E501
"""Calls of the public interface with an argument that is wrong, at random: errors of its own only."""

from __future__ import annotations

import random
from contextlib import chdir
from decimal import Decimal

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.errors import DaesolveError

from .systems import pendulum

SEED, CALLS = 11, 300
WRONG = [
    *(True, 0, -1, 2, 1e300, -1e-300, float("nan"), float("inf"), 10**400, 1j, Decimal("1.5")),
    *("", "x", "nan", "x" * 1000, "\0", "\ud800", b"x", [], {}, (), set(), [1.0], ["x"], [None]),
    *({"x": None}, {"x": "1"}, {"x": np.nan}, {1: 1.0}, {"nobody": 1.0}, {"x": [1.0]}, object()),
    *(np.ones(3), np.array(1.0), np.array([np.nan]), np.empty(0), np.array("x"), ca.SX.sym("z")),
    *(ca.SX(1), ca.SX.sym("z", 2), ca.MX.sym("z"), ca.DM(1), int, ds.Taylor, ds.Holonomic, range(3)),
    *(ds.time, ds.POSITIVE, ds.RISING, ds.Outcome.FAILED, ds.Taylor(), ds.Index3(), ds.every(0.1)),
]  # fmt: skip
SHORT = {"until": 0.01, "initial": {"x": -1.0}}
RUN = {
    "start_time": 0.0, "guess": {"y": -0.1}, "parameters": {"mass": 1.0}, "formulation": "feedback",
    "solver": "dop853", "at": [0.0, 0.01], "default_rate": 10.0, "scales": {"energy": 1.0},
    "redundant": "error", "redundant_weights": {}, "rank_loss": "stop", "max_evaluations": 10_000,
    "variant_policy": "continuity",
}  # fmt: skip


def point():
    q = ds.coordinates(x="m", y="m")
    return q, {"coordinates": q, "parameters": ds.parameters(mass=1.0), "potential": q.y, "goals": [],
               "kinetic": (q.dot.x**2 + q.dot.y**2) / 2, "force": {"x": -q.dot.x}, "events": [],
               "outputs": {"height": q.y}, "gyroscopic": {}, "peaks": ["height"]}  # fmt: skip


def calls(run):
    """By name, a function with arguments that are right."""
    q, system = point()
    case = ds.problem("pendulum").case()
    return {
        "solve": (ds.solve, {"system": pendulum(), **SHORT, **RUN, "verify": False, "store": None}),
        "tolerances": (ds.solve, {"system": pendulum(), **SHORT, "rtol": 1e-8, "atol": 1e-8}),
        "case.solve": (case.solve, {"until": 0.01, **RUN, "initial": {}}),
        "problem": (ds.problem, {"name": "pendulum"}),
        "problem.case": (ds.problem("pendulum").case, {"name": None, "model": None, "length": 1.0}),
        "case.changed": (case.changed, {"overrides": {"length": 1.0}}),
        "case.starting": (case.starting, {"values": {}}),
        "MechanicalSystem": (ds.MechanicalSystem, system),
        "Holonomic": (ds.Holonomic, {"name": "c", "residual": q.x, "rate": 1.0, "scale": 1.0}),
        "Contact": (ds.Contact, {"name": "c", "residual": q.x, "restitution": 0.5, "closed": True}),
        "Invariant": (ds.Invariant, {"name": "i", "value": q.x, "drive": False, "on": "velocities"}),
        "Event": (ds.Event, {"name": "e", "guard": q.x, "direction": ds.RISING, "then": ds.Record()}),
        "coordinates": (ds.coordinates, {"x": "m"}),
        "parameters": (ds.parameters, {"m": (1.0, "kg", ds.POSITIVE)}),
        "Interval": (ds.Interval, {"low": 0.0, "high": 1.0}),
        "Taylor": (ds.Taylor, {"tolerance": 1e-12, "code": "auto"}),
        "Dop853": (ds.Dop853, {"rtol": 1e-8, "atol": 1e-8, "fixed_step": None}),
        "Cvodes": (ds.Cvodes, {"rtol": 1e-8, "atol": 1e-8, "method": "adams"}),
        "RadauIIA": (ds.RadauIIA, {"rtol": 1e-8, "atol": 1e-8, "stages": None}),
        "Feedback": (ds.Feedback, {"rate": 10.0, "rates": {}}),
        "Viscous": (ds.Viscous, {"mobility": 1e-6}),
        "Projected": (ds.Projected, {"inner": ds.Index1()}),
        "Case": (ds.Case, {"name": "c", "until": 1.0, "start": {}, "parameters": {}}),
        "every": (ds.every, {"interval": 0.1}),
        "consistent_state": (ds.consistent_state, {"system": pendulum(), "guess": {"x": -1.0},
                             "fixed": ["x"], "parameters": {}, "time": 0.0}),
        "resume": (ds.resume, {"directory": "absent", "until": 1.0, "source": pendulum()}),
        "from_run": (ds.Trajectory.from_run, {"directory": "absent"}),
        "run.at": (run.at, {"time": 0.005}),
        "run[]": (run.__getitem__, {"name": "x"}),
        "run.thinned": (run.thinned, {"rows": 3}),
        "sweep": (ds.sweep, {"case": case, "over": {"length": [1.0]}, "out": "sweep", "workers": 0,
                  "samples": None, "seed": 0, "until": 0.01, "batch": False}),
        "resume_sweep": (ds.ensembles.resume_sweep, {"directory": "absent", "workers": 0}),
        "uniform": (ds.ensembles.uniform, {"low": 0.0, "high": 1.0}),
        "compare": (ds.compare, {"system": pendulum(), "formulations": ["feedback"],
                    "solvers": ["dop853"], **SHORT, "tolerances": None, "reference": None}),
        "sensitivity": (ds.analysis.sensitivity, {"system": pendulum(), **SHORT, "by": ["mass"]}),
        "linearize": (ds.analysis.linearize, {"system": pendulum(), "tolerance": 1e-8,
                      "state": {"x": 0.0, "y": -1.0, "x_dot": 0.0, "y_dot": 0.0}}),
    }  # fmt: skip


def called(chance, known):
    """Make a call with one argument wrong, or two; in words which, and what came out of it."""
    name = chance.choice(sorted(known))
    function, right = known[name]
    wrong = {key: chance.choice(WRONG) for key in chance.sample(sorted(right), min(2, len(right)))}
    if chance.random() < 0.6:
        wrong = dict([wrong.popitem()])
    given = {**right, **wrong}
    if name in ("case.changed", "case.starting", "run[]"):
        (value,) = given.values()
        return f"{name}({value!r:.60})", lambda: function(value)
    return f"{name}({ {key: repr(value)[:60] for key, value in wrong.items()} })", (
        lambda: function(**given)
    )


@pytest.fixture(scope="module")
def run():
    return ds.solve(pendulum(), **SHORT, solver=ds.Dop853())


@pytest.mark.slow
@pytest.mark.parametrize(
    "numbers", [range(60), pytest.param(range(60, CALLS), marks=pytest.mark.slow)]
)
def test_a_wrong_call_is_refused_with_an_error_of_the_library(run, tmp_path, numbers):
    known = calls(run)
    for number in numbers:
        words, call = called(random.Random(SEED * 1000 + number), known)
        (tmp_path / str(number)).mkdir()
        with chdir(tmp_path / str(number)):
            try:
                call()
            except DaesolveError as error:
                said = str(error)
                assert said.strip(), words
                assert "\n" not in said, words
            except Exception as error:
                pytest.fail(f"{number}: {words}: {type(error).__name__}: {error}")
