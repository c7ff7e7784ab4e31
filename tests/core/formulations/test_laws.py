"""Laws of one's own: residuals obey any stable polynomial, against its closed solution."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy

import daesolve as ds
from daesolve.core.formulations.laws import formula, shape_of
from daesolve.core.preparation.preparing import prepare
from daesolve.core.preparation.request import Request
from daesolve.errors import OutOfRangeError, UnknownNameError


def pendulum():
    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(mass=(1.0, "kg"), length=(1.0, "m"), gravity=(9.81, "m/s^2"))
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * (q.dot.x**2 + q.dot.y**2) / 2,
        potential=p.mass * p.gravity * q.y,
        goals=[ds.Holonomic("rod", (q.x**2 + q.y**2 - p.length**2) / 2)],
    )


def residual(formulation, until=1.0):
    """Return delta and its rate at the end of a motion that starts off the circle."""
    request = Request(until=until, initial={"x": 1.0, "y": 0.0}, formulation=formulation)
    problem = prepare(pendulum(), request)
    x = np.array([1.1, 0.05, 0.2, -0.3])
    start = np.array([(x[0] ** 2 + x[1] ** 2 - 1) / 2, x[0] * x[2] + x[1] * x[3]])
    p = problem.values
    found = scipy.integrate.solve_ivp(
        lambda t, y: np.asarray(problem.problem.rhs(t, y, p)).ravel(),
        (0.0, until),
        x,
        "DOP853",
        rtol=1e-12,
        atol=1e-14,
    ).y[:, -1]
    end = [(found[0] ** 2 + found[1] ** 2 - 1) / 2, found[0] * found[2] + found[1] * found[3]]
    return start, np.array(end)


OFF = {"energy": None}


@pytest.mark.default_rows(3)
@pytest.mark.parametrize(
    "law",
    [
        tuple(np.poly([-2.0, -7.0])[1:]),
        tuple(np.poly([-1.0 + 6.0j, -1.0 - 6.0j])[1:].real),
        (20.0, 100.0),
    ],
    ids=["two rates", "a spiral", "a double rate"],
)
@pytest.mark.parametrize("until", [0.6, -0.6])
def test_the_residual_obeys_the_polynomial_forwards_and_its_mirror_backwards(law, until):
    start, end = residual(ds.Feedback(rates=OFF, laws={"rod": law}), until)
    companion = np.array([[0.0, 1.0], [-law[1], -law[0]]])
    if until < 0.0:
        companion[1, 1] *= -1.0  # roots change their signs
    wanted = scipy.linalg.expm(until * companion) @ start
    # Errors of steps at 1e-12 of states of 1 grow by no more than the norm of the flow.
    assert end == pytest.approx(wanted, abs=1e-10)


def test_a_power_of_one_factor_is_the_law_of_that_rate():
    assert shape_of((20.0, 100.0)) == (1.0, 2.0)
    _, by_rate = residual(ds.Feedback(rate=10.0, rates=OFF))
    _, by_law = residual(ds.Feedback(rates=OFF, laws={"rod": [20.0, 100.0]}))
    assert by_law == pytest.approx(by_rate, rel=1e-12)


@pytest.mark.slow
def test_a_run_with_a_law_is_stored_and_resumed_with_it(tmp_path):
    law = {"rod": (30.0, 200.0)}
    whole = ds.solve(pendulum(), 4.0, {"x": -1.0}, formulation=ds.Feedback(laws=law))
    stored = tmp_path / "run"
    ds.solve(pendulum(), 2.0, {"x": -1.0}, formulation=ds.Feedback(laws=law), store=stored)
    saved = json.loads((stored / "manifest.json").read_text())["request"]["formulation"]
    assert saved["settings"]["laws"]["rod"] == [30.0, 200.0]
    gone_on = ds.resume(stored, until=4.0, source=pendulum())
    assert gone_on.end_state["x"] == whole.end_state["x"]
    assert whole.description["rates"]["rod"] == pytest.approx(200.0**0.5)
    told = [note for note in whole.description["notes"] if note.startswith("feedback ")]
    assert told == ["feedback rod'' + 30 rod' + 200 rod = 0, roots -10, -20 1/s"]


def test_laws_are_written_as_formulas_with_their_roots():
    assert formula("a", (1.0,)) == "a' + a = 0, roots -1 1/s"
    told = formula("a", (2.0, 37.0))
    assert told == "a'' + 2 a' + 37 a = 0, roots -1-6j, -1+6j 1/s"


@pytest.mark.parametrize(
    ("laws", "sentence"),
    [
        ({"rod": (0.0, 100.0)}, "not stable: its polynomial has the root"),
        ({"rod": (-1.0, 2.0)}, "whose real part must be negative"),
        ({"rod": (10.0,)}, "has 1 coefficients, but the relative degree of the goal is 2"),
        ({"rod": ()}, "must be the coefficients"),
        ({"rod": "ab"}, "must be the coefficients"),
        ({"rod": (np.nan, 1.0)}, "must be the coefficients"),
        ([1.0], "laws must map goals to coefficients"),
    ],
)
def test_what_is_no_stable_law_is_refused_in_a_sentence(laws, sentence):
    with pytest.raises(OutOfRangeError, match=sentence):
        ds.solve(pendulum(), 0.1, {"x": -1.0}, formulation=ds.Feedback(laws=laws))


def test_goals_of_laws_are_checked():
    with pytest.raises(UnknownNameError, match="did you mean 'rod'"):
        ds.solve(pendulum(), 0.1, {"x": -1.0}, formulation=ds.Feedback(laws={"rodd": (2.0, 1.0)}))
    with pytest.raises(OutOfRangeError, match="has a law and a rate"):
        ds.Feedback(rates={"rod": 3.0}, laws={"rod": (2.0, 1.0)})
