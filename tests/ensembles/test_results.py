import json
import math

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import daesolve as ds
from daesolve.ensembles import Sweep, sweep, uniform
from daesolve.errors import (
    OutOfRangeError,
)
from tests.ensembles.problem_file import Stop, alike


@pytest.mark.parametrize(
    ("solver", "accuracy"),
    [(ds.Taylor(), 1e-14), (ds.Dop853(rtol=1e-12, atol=1e-14), 1e-10)],
    ids=["taylor", "dop853"],
)
def test_each_result_is_that_of_a_run_of_its_own(case, tmp_path, solver, accuracy):
    over = {"mass": [1.0, 2.5], "amplitude": uniform(0.1, 1.0), "x_dot": [0.25]}
    found = sweep(case, over, samples=2, at=[0.5, 2.0], workers=0, out=tmp_path, solver=solver)
    assert (found.count, found.done, found.failed, found.interrupted) == (4, 4, 0, False)
    table, samples = found.to_pandas(), found.samples_to_pandas()
    assert list(table.index) == [0, 1, 2, 3]
    for number, row in table.iterrows():
        run = case.changed({"mass": row.mass}).solve(
            2.0,
            initial={"amplitude": row.amplitude, "x_dot": row.x_dot},
            at=[0.5, 2.0],
            solver=solver,
        )
        assert (row.outcome, row.end_time, row.event_count) == ("completed", 2.0, 0)
        assert row.steps == run.statistics.steps
        assert row.end_x == run.end_state["x"]
        assert row.end_x_dot == run.end_state["x_dot"]
        assert row.end_energy == run.at(2.0)["energy"]
        assert row.max_relative_energy == run.drift["energy"].max_relative
        assert row.final_relative_energy == run.drift["energy"].final_relative
        assert list(samples.loc[number].t) == [0.5, 2.0]
        assert list(samples.loc[number].x) == list(run["x"])
        assert list(samples.loc[number].energy) == list(run["energy"])
        # The motion is x = a cos(w t) + b sin(w t) / w.
        w = math.sqrt(1.0 / row.mass)
        exact = row.amplitude * math.cos(2 * w) + 0.25 * math.sin(2 * w) / w
        assert row.end_x == pytest.approx(exact, abs=accuracy)
    assert found.member(3)["end_x"] == table.end_x[3]
    assert Sweep.from_directory(tmp_path) == found
    with pytest.raises(OutOfRangeError, match="no results for the member 4"):
        found.member(4)


def test_a_member_that_fails_does_not_stop_the_others(case, tmp_path):
    told = []
    over = {"mass": [13.0, 1.0]}
    found = sweep(case, over, workers=0, out=tmp_path, progress=told.append)
    assert (found.done, found.failed) == (2, 1)
    assert [(state.done, state.failed) for state in told] == [(1, 1), (2, 1)]
    table = found.to_pandas()
    assert list(table.outcome) == ["failed", "completed"]
    assert table.message[0] == "ZeroDivisionError: thirteen"
    assert table.message[1] == ""
    assert np.isnan(table.end_x[0])


def test_members_of_different_structure_share_one_table(case, tmp_path):
    found = sweep(case, {"damped": [False, True]}, workers=0, out=tmp_path)
    table = found.to_pandas()
    assert list(table.damped) == [False, True]
    assert np.isnan(table.end_loss[0])
    assert table.end_loss[1] == 0.0


def test_parts_have_the_same_columns_whatever_came_first(case, tmp_path):
    over = {"mass": [13.0, 1.0]}
    progress = Stop(after=1)
    assert sweep(case, over, workers=0, out=tmp_path, progress=progress).interrupted
    assert "end_x" not in pd.read_parquet(tmp_path / "members")
    sweep(case, over, workers=0, out=tmp_path)
    parts = sorted((tmp_path / "members").glob("*.parquet"))
    assert len(parts) == 2
    assert pq.read_schema(parts[0]) == pq.read_schema(parts[1])
    other = pd.read_parquet(tmp_path / "members").set_index("member")
    assert alike(other, Sweep.from_directory(tmp_path).to_pandas())


def test_a_varied_name_that_results_have_too_gets_another_column(case, tmp_path):
    found = sweep(case, {"steps": [0.0, 1.0]}, workers=0, out=tmp_path)
    assert list(found.to_pandas().over_steps) == [0.0, 1.0]
    assert found.to_pandas().steps.min() > 1
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["columns"]["over"] == {"steps": "over_steps"}
