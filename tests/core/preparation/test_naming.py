"""Formulations and solvers by their names make what their objects make."""

from __future__ import annotations

import numpy as np
import pytest

import daesolve as ds
from daesolve.cli import options
from daesolve.core.formulations import FORMULATIONS
from daesolve.core.preparation.naming import formulation_of, made_by_name, solver_of
from daesolve.errors import DaesolveError, OutOfRangeError, UnknownNameError, UnsupportedError
from tests.systems import pendulum

RELEASE = {"x": -1.0}


@pytest.mark.parametrize("name", FORMULATIONS)
def test_every_formulation_is_made_by_its_name(name):
    assert formulation_of(name) == FORMULATIONS[name]()
    assert formulation_of(name).name == name


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("projected:index-1", ds.Projected(ds.Index1())),
        ("viscous:1e-7", ds.Viscous(1e-7)),
        ("regularised:0.5", ds.Regularised(0.5)),
    ],
)
def test_a_name_takes_what_the_command_line_takes_behind_it(name, made):
    assert formulation_of(name) == made


@pytest.mark.parametrize(
    ("made", "error", "words"),
    [
        (lambda: formulation_of("index-4"), UnknownNameError, "did you mean 'index-3'"),
        (lambda: formulation_of("projected:index-4"), UnknownNameError, "unknown formulation"),
        (lambda: formulation_of("projected:projected"), UnsupportedError, "wraps another"),
        (lambda: formulation_of("viscous:some"), OutOfRangeError, "viscous:MOBILITY needs"),
        (lambda: formulation_of("regularised:some"), OutOfRangeError, "regularised:SPEED needs"),
        (lambda: formulation_of("feedback:3"), UnknownNameError, "unknown formulation"),
        (lambda: formulation_of(""), UnknownNameError, "unknown formulation ''"),
        (lambda: formulation_of(ds.Feedback), UnsupportedError, r"ds.Feedback\(\), or a name"),
        (lambda: solver_of("Taylor"), UnknownNameError, "did you mean 'taylor'"),
        (lambda: solver_of(ds.Taylor), UnsupportedError, r"ds.Taylor\(\), or a name"),
    ],
)
def test_what_is_no_name_is_reported_in_one_sentence(made, error, words):
    with pytest.raises(error, match=words) as caught:
        made()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [*FORMULATIONS, "projected:index-1", "viscous:1e-7"])
def test_python_and_the_command_line_make_the_same_formulation(name):
    assert options.formulation(name, []) == formulation_of(name)


@pytest.mark.parametrize("name", ["index-4", "", "projected:x", "viscous:some", "regularised:x"])
def test_python_and_the_command_line_refuse_a_name_in_the_same_words(name):
    with pytest.raises(DaesolveError) as there:
        options.formulation(name, [])
    with pytest.raises(DaesolveError) as here:
        formulation_of(name)
    assert (type(here.value), str(here.value)) == (type(there.value), str(there.value))


@pytest.mark.slow
def test_everything_that_runs_a_motion_takes_names(tmp_path):
    case = ds.problem("pendulum").case()
    names = {"formulation": "feedback", "solver": "dop853"}
    objects = {"formulation": ds.Feedback(), "solver": ds.Dop853()}
    told = ds.compare(case.system, ["projected:index-1"], ["idas"], 0.2, RELEASE, tolerances=[1e-8])
    assert told.runs[0].trajectory.description["formulation"] == "projected:index-1"
    by = ds.analysis.sensitivity(case.system, 0.2, RELEASE, by=["gravity"], **names)
    same = ds.analysis.sensitivity(case.system, 0.2, RELEASE, by=["gravity"], **objects)
    assert by["x", "gravity"] == same["x", "gravity"]
    q_x = case.system.coordinates.x
    found = ds.analysis.sections(case.system, q_x, 1.0, RELEASE, **names)
    assert np.array_equal(
        found.times, ds.analysis.sections(case.system, q_x, 1.0, RELEASE, **objects).times
    )
    over = {"gravity": [9.0, 9.8]}
    ends = [
        ds.sweep(case, over, out=tmp_path / out, until=0.2, workers=0, **chosen).member(1)
        for out, chosen in (("names", names), ("objects", objects))
    ]
    assert ends[0]["end_x"] == ends[1]["end_x"]
    with pytest.raises(UnknownNameError, match="unknown solver 'dop'"):
        ds.sweep(case, over, out=tmp_path / "wrong", until=0.2, workers=0, solver="dop")


def test_objects_and_nothing_stay_what_they_are():
    solver, formulation = ds.Dop853(rtol=1e-7), ds.Feedback(rate=3.0)
    assert solver_of(solver) is solver
    assert formulation_of(formulation) is formulation
    assert solver_of(None) is None
    assert formulation_of(None) is None
    assert made_by_name({"at": 3}) == {"at": 3}
    assert made_by_name({"solver": "dop853", "at": 3}) == {"solver": ds.Dop853(), "at": 3}


@pytest.mark.slow_rows("feedback-dop853-objects0")
@pytest.mark.parametrize(
    ("formulation", "solver", "objects"),
    [
        ("feedback", "dop853", (ds.Feedback(), ds.Dop853())),
        ("index-2", "idas", (ds.Index2(), ds.Idas())),
        ("projected:index-1", "idas", (ds.Projected(ds.Index1()), ds.Idas())),
    ],
)
def test_a_run_by_names_is_that_of_the_objects_bit_for_bit(formulation, solver, objects):
    system = pendulum()
    named = ds.solve(system, 0.3, RELEASE, formulation=formulation, solver=solver)
    given = ds.solve(system, 0.3, RELEASE, formulation=objects[0], solver=objects[1])
    assert named.description["solver"] == solver
    assert named.drift == given.drift
    for name in ("x", "y_dot", "rod"):
        assert np.array_equal(named[name], given[name])


@pytest.mark.slow
def test_a_run_is_repeated_with_a_solver_by_its_name():
    run = ds.solve(pendulum(), 0.3, RELEASE, verify="dop853")
    assert run.verification is not None
    assert run.verification.against.startswith("dop853, ")


@pytest.mark.slow
def test_a_case_takes_names_where_it_is_solved_and_differentiated(tmp_path):
    case = ds.problem("pendulum").case()
    run = case.solve(0.2, formulation="null-space", solver="dop853", store=tmp_path / "run")
    assert "dop853" in str(run)
    assert run.description["formulation"].startswith("null-space")
    assert ds.resume(tmp_path / "run", 0.3).description["solver"] == "dop853"
    by_name = case.sensitivity(["gravity"], 0.2, solver="dop853")
    by_object = case.sensitivity(["gravity"], 0.2, solver=ds.Dop853())
    assert by_name["x", "gravity"] == by_object["x", "gravity"]
