import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.ensembles import Sweep, normal, resume_sweep, sweep, uniform
from daesolve.ensembles.sweeping import restored, saved
from daesolve.errors import (
    NotResumableError,
    OutOfRangeError,
    OutputExistsError,
    UnsupportedError,
)
from tests.ensembles.problem_file import PLUGIN, Stop, alike

OVER = {"mass": [1.0, 2.0], "stiffness": uniform(0.5, 2.0)}


def test_an_interrupted_sweep_runs_only_what_is_missing(case, tmp_path):
    whole = sweep(case, OVER, samples=3, at=[1.0], workers=0, out=tmp_path / "whole")
    out = tmp_path / "out"
    first = sweep(case, OVER, samples=3, at=[1.0], workers=0, out=out, progress=Stop(2))
    assert (first.done, first.interrupted) == (2, True)
    assert Sweep.from_directory(out) == first
    again = Stop(None)
    rest = sweep(case, OVER, samples=3, at=[1.0], workers=0, out=out, progress=again)
    assert [state.before for state in again.seen] == [2] * len(again.seen)
    assert again.seen[0].done > 2
    assert (rest.done, rest.interrupted) == (6, False)
    assert alike(rest.to_pandas(), whole.to_pandas())
    pd.testing.assert_frame_equal(rest.samples_to_pandas(), whole.samples_to_pandas())
    untouched = Stop(0)
    sweep(case, OVER, samples=3, at=[1.0], workers=0, out=out, progress=untouched)
    assert untouched.seen == []


@pytest.mark.parametrize("solver", [ds.Taylor(tolerance=1e-12), ds.Dop853(rtol=1e-12)])
def test_a_sweep_goes_on_from_its_manifest_alone(case, tmp_path, solver):
    settings = {"formulation": ds.Feedback(rate=20.0), "solver": solver}
    settings |= {"until": 2.0, "samples": 3, "workers": 0, "at": ds.every(0.5)}
    heavy = case.changed({"stiffness": 2.0})
    over = {"mass": normal(3.0, 0.2), "amplitude": [0.1]}
    whole = sweep(heavy, over, out=tmp_path / "whole", **settings)
    sweep(heavy, over, out=tmp_path / "out", progress=Stop(1), **settings)
    with pytest.raises(NotResumableError, match=r"daesolve resume .*out --source .*mine\.py"):
        resume_sweep(tmp_path / "out", workers=0)
    rest = resume_sweep(tmp_path / "out", workers=0, source=case.problem.path)
    assert alike(rest.to_pandas(), whole.to_pandas())
    pd.testing.assert_frame_equal(rest.samples_to_pandas(), whole.samples_to_pandas())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"over": {"mass": [1.0, 3.0], "stiffness": uniform(0.5, 2.0)}},
            r"over\.mass is \[1.0, 2.0",
        ),
        ({"over": dict(reversed(OVER.items()))}, "over is"),
        ({"seed": 1}, "seed is 0 there, but 1"),
        ({"samples": 4}, "samples is 3 there, but 4"),
        ({"until": 3.0}, "until is 1.0 there, but 3.0"),
        ({"solver": ds.Dop853(rtol=1e-10)}, r"options\.solver is None"),
    ],
)
def test_another_sweep_is_not_gone_on_with(case, begun, change, sentence):
    request = {"over": OVER, "samples": 3, "workers": 0, **change}
    with pytest.raises(NotResumableError, match=sentence):
        sweep(case, out=begun, **request)


@pytest.fixture(scope="module")
def begun(case, tmp_path_factory):
    out = tmp_path_factory.mktemp("begun") / "out"
    sweep(case, OVER, samples=3, workers=0, out=out, progress=Stop(1))
    return out


def test_a_sweep_of_other_versions_is_gone_on_with_only_when_asked(case, tmp_path):
    sweep(case, OVER, samples=1, workers=0, out=tmp_path, progress=Stop(1))
    file = tmp_path / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["versions"]["casadi"] = "1.2.3"
    file.write_text(json.dumps(manifest))
    with pytest.raises(NotResumableError, match=r"computed with casadi 1\.2\.3"):
        resume_sweep(tmp_path, workers=0, source=case)
    assert resume_sweep(tmp_path, workers=0, any_version=True, source=case).done == 2


def test_a_changed_problem_is_not_gone_on_with(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN, encoding="utf-8")
    sweep(ds.problem(str(file)).case(), OVER, samples=1, workers=0, out=tmp_path / "out",
          progress=Stop(1))  # fmt: skip
    file.write_text(PLUGIN.replace("/ 2", "/ 3"), encoding="utf-8")
    with pytest.raises(NotResumableError, match="with another"):
        resume_sweep(tmp_path / "out", workers=0)
    with pytest.raises(NotResumableError, match=r"identity\.digest"):
        sweep(ds.problem(str(file)).case(), OVER, samples=1, workers=0, out=tmp_path / "out")


def test_a_directory_that_holds_something_else_is_refused(case, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(OutputExistsError, match="contains no sweep"):
        sweep(case, {"mass": [1.0]}, out=tmp_path, workers=0)
    with pytest.raises(OutputExistsError, match="is a file"):
        sweep(case, {"mass": [1.0]}, out=tmp_path / "thesis.tex", workers=0)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_problem_without_a_name_to_load_it_by_runs_in_this_process(case, tmp_path):
    from dataclasses import replace

    unnamed = replace(case.problem, path=None).case()
    assert sweep(unnamed, {"mass": [1.0]}, out=tmp_path / "out", workers=0).failed == 0


TAYLOR = st.builds(ds.Taylor, tolerance=st.floats(1e-16, 1e-3))
DOP853 = st.builds(ds.Dop853, rtol=st.floats(1e-13, 1e-3))
FEEDBACK = st.builds(
    ds.Feedback,
    rate=st.floats(0.0, 1e3) | st.just("auto"),
    rates=st.dictionaries(st.sampled_from("ab"), st.none() | st.floats(0.0, 1e3)),
)


@pytest.mark.parametrize("options", [TAYLOR, DOP853, FEEDBACK | st.builds(ds.Projected, FEEDBACK)])
@settings(derandomize=True, max_examples=25, deadline=None)
@given(data=st.data())
def test_a_manifest_tells_solvers_and_formulations_whole(options, data):
    option = data.draw(options)
    assert restored(json.loads(json.dumps(saved(option)))) == option


def test_what_a_manifest_tells_in_words_alone_is_asked_for_again():
    with pytest.raises(NotResumableError, match="only in words"):
        restored(json.loads(json.dumps(saved({"solver": object()}))))


# -- batches --------------------------------------------------------------------------------------


def test_members_side_by_side_give_what_they_give_alone(case, tmp_path):
    over = {"mass": [1.0, 13.0, 2.0], "stiffness": [1.0, 2.0]}
    batch = sweep(case, over, at=[0.5, 1.0], workers=0, batch=True, out=tmp_path / "batch")
    single = sweep(case, over, at=[0.5, 1.0], workers=0, out=tmp_path / "single")
    assert (batch.done, batch.failed) == (6, 2)
    one, other = batch.to_pandas(), single.to_pandas()
    assert list(one.outcome) == list(other.outcome)
    assert list(one.message) == list(other.message)
    # Both are right to rounding, of which a run of one second gathers some units.
    assert np.nanmax(abs(one.end_x - other.end_x)) < 1e-15
    assert list(batch.samples_to_pandas().t) == list(single.samples_to_pandas().t)


def test_members_side_by_side_take_the_tolerance_that_is_asked_for(case, tmp_path):
    over = {"mass": [1.0, 2.0]}
    loose = sweep(case, over, workers=0, batch=True, rtol=1e-6, out=tmp_path / "loose")
    given = {"solver": ds.Taylor(tolerance=1e-6)}
    same = sweep(case, over, workers=0, batch=True, out=tmp_path / "same", **given)
    assert loose.failed == 0
    assert list(loose.to_pandas().end_x) == list(same.to_pandas().end_x)
    with pytest.raises(OutOfRangeError, match="tolerance is 5"):
        sweep(case, over, batch=True, rtol=5.0, out=tmp_path / "none")


def test_a_budget_holds_for_every_member(case, tmp_path):
    few = {"solver": ds.Dop853(), "max_evaluations": 30, "until": 100.0}
    found = sweep(case, {"mass": [1.0, 2.0]}, workers=0, out=tmp_path, **few)
    assert found.failed == 2
    assert found.to_pandas().message.str.contains("budget of 30 right-hand sides").all()


@pytest.mark.parametrize(
    ("over", "settings", "why"),
    [
        ({"damped": [False, True]}, {}, "differ in structure"),
        ({"mass": [1.0]}, {"solver": ds.Dop853()}, "the solver is 'dop853'"),
        ({"mass": [1.0]}, {"formulation": ds.Projected()}, "'projected'"),
        ({"mass": [1.0]}, {"rank_loss": "pass"}, "'projected'"),
        ({"mass": [1.0]}, {"rank_loss": "viscous"}, "'viscous'"),
        ({"mass": [1.0]}, {"formulation": ds.Viscous(1e-4)}, "'viscous'"),
        ({"mass": [1.0]}, {"max_evaluations": 100}, "limits a single run"),
        ({"mass": [1.0]}, {"atol": 1e-9}, "atol is given"),
    ],
)
def test_what_no_batch_can_be_made_of_is_refused(case, tmp_path, over, settings, why):
    with pytest.raises(UnsupportedError, match=f"{why}.*leave out batch"):
        sweep(case, over, batch=True, out=tmp_path, **settings)
