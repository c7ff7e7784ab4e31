"""One set of options, by the same names in everything that runs a motion."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.preparation.request import Request
from daesolve.core.run.integration.run_options import RunOptions
from daesolve.core.run.integration.sampling import sample_times
from daesolve.core.run.solving.solving import SolveOptions
from daesolve.ensembles.batches import run_batch
from daesolve.errors import OutOfRangeError, UnknownNameError, UnsupportedError

RELEASE = {"x": 1.0, "x_dot": 0.0}


def oscillator():
    """x'' = -stiffness / mass x."""
    q = ds.coordinates(x="m")
    p = ds.parameters(stiffness=(4.0, "N/m"), mass=(2.0, "kg"))
    return ds.MechanicalSystem(
        q, p, kinetic=p.mass * q.dot.x**2 / 2, potential=p.stiffness * q.x**2 / 2
    )


def case():
    """One case of a problem whose parameter is not the default."""
    problem = ds.Problem(
        name="oscillator",
        title="A mass on a spring",
        models={"cartesian": oscillator},
        cases=[ds.Case("release", until=1.0, start=RELEASE, start_time=0.25)],
    )
    return problem.case()


def runs(tmp_path):
    """Everything that runs a motion, as a function of options."""
    system = oscillator()
    guard = system.coordinates.x
    return {
        "solve": lambda **o: ds.solve(system, 1.0, RELEASE, **o),
        "sensitivity": lambda **o: ds.analysis.sensitivity(system, 1.0, RELEASE, by=["x"], **o),
        "sections": lambda **o: ds.analysis.sections(system, guard, 1.0, RELEASE, **o),
        "lyapunov_exponent": lambda **o: ds.analysis.lyapunov_exponent(system, 1.0, RELEASE, **o),
        "compare": lambda **o: ds.compare(system, ["feedback"], ["dop853"], 1.0, RELEASE, **o),
        "reference_run": lambda **o: ds.analysis.reference_run(system, 1.0, RELEASE, **o),
        "a sweep": lambda **o: ds.sweep(case(), {"x": [1.0]}, out=tmp_path, workers=0, **o),
        "run_batch": lambda **o: run_batch(case(), [{}], **o),
        "case.solve": lambda **o: case().solve(**o),
        "case.compare": lambda **o: case().compare(["feedback"], ["dop853"], **o),
        "case.sensitivity": lambda **o: case().sensitivity(["x"], **o),
        "case.reference_run": lambda **o: case().reference_run(**o),
    }


NAMES = list(runs(None))


def test_solve_takes_the_options_in_their_order_with_the_defaults_of_a_request():
    given = list(inspect.signature(ds.solve).parameters.values())[3:-1]
    assert [entry.name for entry in given] == [*SolveOptions.__annotations__]
    assert [*SolveOptions.__annotations__][: len(RunOptions.__annotations__)] == [
        *RunOptions.__annotations__
    ]
    request = Request(until=1.0)
    own = {entry.name: entry.default for entry in given}
    # The last two come from a run that is given as `initial`.
    others = {"until", "initial", "begun", "continues"}
    for name in Request.__dataclass_fields__.keys() - others:
        assert (own[name] or {}) == (getattr(request, name) or {}), name
    assert {*RunOptions.__annotations__} - {*Request.__dataclass_fields__} == {"at"}


def test_every_option_is_documented_where_they_stand():
    for name in RunOptions.__annotations__:
        assert name in RunOptions.__doc__


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_option_is_refused_with_the_nearest(name, tmp_path):
    with pytest.raises(UnknownNameError, match="'redundent': did you mean 'redundant'") as caught:
        runs(tmp_path)[name](redundent="drop")
    assert "\n" not in str(caught.value)
    assert f"unknown option of {name.removeprefix('case.')}" in str(caught.value)


@pytest.mark.default_rows(1)
@pytest.mark.slow_rows("lyapunov_exponent")
@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_taken_or_refused_in_a_sentence_everywhere(name, tmp_path):
    """Those of which a run of a spring can have the default; the others, in `test_preparing`."""
    values = {
        "start_time": 0.5,
        "guess": {},
        "parameters": {"stiffness": 9.0},
        "default_rate": 5.0,
        "scales": {"energy": 2.0},
        "redundant": "drop",
        "redundant_weights": {},
        "rank_loss": "raise",
        "variant_policy": "continuity",
        "at": [0.75],
    }
    if name == "lyapunov_exponent":
        del values["at"]
    runs(tmp_path / "chosen")[name](**values)
    runs(tmp_path / "left_out")[name](**dict.fromkeys(RunOptions.__annotations__))  # as if left out


@pytest.mark.parametrize(
    ("name", "option", "words"),
    [
        ("lyapunov_exponent", {"at": [0.5]}, "lyapunov_exponent takes no 'at': it does not keep"),
        ("compare", {"solver": "taylor"}, "compare takes no 'solver': give a list of `solvers`"),
        ("case.compare", {"rtol": 1e-3}, "compare takes no 'rtol': give a list of `tolerances`"),
        ("reference_run", {"formulation": "feedback"}, "reference_run takes no 'formulation'"),
        ("case.reference_run", {"max_evaluations": 9}, "reference_run takes no 'max_evaluations'"),
        ("reference_run", {"rtol": 1e-3}, "reference_run takes no 'rtol': give its `tolerance`"),
    ],
)
def test_what_makes_no_sense_is_refused_and_says_what_to_do(name, option, words, tmp_path):
    with pytest.raises(UnsupportedError, match=words):
        runs(tmp_path)[name](**option)


def test_tolerances_of_the_automatic_solver_hold_for_sensitivities_too():
    loose = ds.analysis.sensitivity(oscillator(), 3.0, RELEASE, by=["stiffness"], rtol=1e-4)
    tight = ds.analysis.sensitivity(oscillator(), 3.0, RELEASE, by=["stiffness"])
    assert loose.run.statistics.rhs_evaluations < tight.run.statistics.rhs_evaluations
    assert loose["x", "stiffness"] == pytest.approx(tight["x", "stiffness"], rel=1e-2)


def test_parameters_of_a_run_are_those_of_the_case_with_some_changed(tmp_path):
    """x = cos(w t) from 0.25 s on, w^2 = stiffness / mass."""
    chosen = {"stiffness": 9.0, "mass": 1.0}
    run = case().solve(parameters=chosen)
    assert run.end_state["x"] == pytest.approx(np.cos(3.0 * 0.75), abs=1e-12)
    assert case().changed(chosen).solve().end_state == run.end_state
    swept = ds.sweep(
        case(), {"x": [1.0, 2.0]}, out=tmp_path, workers=0, parameters=chosen, start_time=0.5
    )
    assert swept.member(1)["end_x"] == pytest.approx(2.0 * np.cos(1.5), abs=1e-12)


def test_a_wrong_value_is_refused_in_the_same_words_everywhere(tmp_path):
    for name, run in runs(tmp_path).items():
        if name == "run_batch":  # a member's error is its result
            continue
        with pytest.raises(OutOfRangeError, match="rank_loss is 'bend', but must be one of"):
            run(rank_loss="bend")


@pytest.mark.parametrize(
    ("start", "until", "at", "told"),
    [
        (0.0, 3.0, [5.0, 4.0, 3.0], "must ascend, .* give 3, 4, 5, not 5, 4, 3, .* before 5 s"),
        (9.0, 5.0, [3.0, 4.0, 5.0], "must descend, .* give 5, 4, 3, not 3, 4, 5, .* before 3 s"),
        (0.0, 3.0, [2.0, 4.0, 3.0], "the sample time 4 .* give 2, 3, 4, not 2, 4, 3"),
    ],
)
def test_times_that_do_not_go_along_the_run_are_refused_with_their_order(start, until, at, told):
    with pytest.raises(OutOfRangeError, match=told):
        sample_times(at, start, until)


@pytest.mark.parametrize("at", [[2.0, 4.0], [3.0, -1.0], [2.0, math.inf, 1.0], [2.0, -1.0, 4.0]])
def test_no_order_is_proposed_where_none_would_be_right(at):
    with pytest.raises(OutOfRangeError, match=r"lies outside the run, 0 to 3 s$"):
        sample_times(at, 0.0, 3.0)
