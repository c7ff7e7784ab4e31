import json
import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daesolve as ds
from daesolve.errors import (
    DaesolveError,
    NotResumableError,
    OutOfRangeError,
    OutputExistsError,
    UnknownNameError,
    UnsupportedError,
)
from daesolve.sweep import Sweep, log_uniform, normal, resume_sweep, sweep, uniform
from daesolve.sweep import cluster as clusters
from daesolve.sweep.describing import restored, saved
from daesolve.sweep.members import members

COSTS = ["wall_seconds", "compile_seconds"]

PLUGIN = """
import os
import signal

import daesolve as ds


def build(damped):
    q = ds.coordinates(x="m")
    p = ds.parameters(mass=(1.0, "kg", ds.POSITIVE), stiffness=(1.0, "N/m"), steps=(0.0, "kg/s"))
    loss = {"loss": (p.steps * q.dot.x**2, "W")} if damped else {}
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=p.mass * q.dot.x**2 / 2,
        potential=p.stiffness * q.x**2 / 2,
        force={"x": -p.steps * q.dot.x} if damped else {},
        outputs=loss,
    )


def start(values, parameters, structure):
    if parameters["mass"] == 13.0:
        raise ZeroDivisionError("thirteen")
    if parameters["mass"] == 17.0:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"x": values["amplitude"], "x_dot": 0.0}


problem = ds.Problem(
    name="mine",
    title="a mass on a spring",
    models={"linear": build},
    cases=[ds.Case("swing", until=1.0, start={"amplitude": 0.5})],
    structure={"damped": False},
    start=start,
)
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("problem") / "mine.py"
    path.write_text(PLUGIN, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def case(file):
    return ds.problem(str(file)).case()


def alike(one, other):
    """Tell whether two tables of results are equal to the last bit, but for what they cost."""
    pd.testing.assert_frame_equal(
        one.drop(columns=COSTS), other.drop(columns=COSTS), check_exact=True, check_like=True
    )
    return True


def rows_of(table):
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


# -- members --------------------------------------------------------------------------------------


def test_a_grid_is_the_product_with_the_last_name_quickest():
    found = rows_of(members({"mass": [1, 2], "stiffness": np.linspace(0, 1, 3)}))
    assert [tuple(row.values()) for row in found] == [
        (1, 0.0), (1, 0.5), (1, 1.0), (2, 0.0), (2, 0.5), (2, 1.0)
    ]  # fmt: skip


def test_each_point_of_a_grid_has_its_own_samples():
    found = members({"mass": [1.0, 2.0], "stiffness": uniform(0.0, 1.0)}, samples=50, seed=3)
    assert found["mass"] == [1.0] * 50 + [2.0] * 50
    assert len(set(found["stiffness"])) == 100


def test_members_can_be_listed_one_by_one():
    given = [{"mass": 1, "steps": 2.0}, {"mass": 3, "steps": 4.0}]
    assert rows_of(members(given)) == given


def test_the_seed_alone_decides_what_is_drawn():
    over = {"mass": uniform(0.1, 1.0), "stiffness": normal(3.0, 0.5)}
    assert members(over, 20, 7) == members(over, 20, 7)
    assert members(over, 20, 7)["mass"] != members(over, 20, 8)["mass"]
    # More samples go on where fewer ended, and another name has a stream of its own.
    assert members(over, 30, 7)["stiffness"][:20] == members(over, 20, 7)["stiffness"]
    assert members(over, 20, 7)["mass"] != members({"stiffness": uniform(0.1, 1.0)}, 20, 7)


@settings(derandomize=True, max_examples=25, deadline=None)
@given(st.integers(0, 2**64), st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_draws_have_the_moments_of_their_distribution(seed, low, width):
    count = 2000
    drawn = np.array(members({"a": uniform(low, low + width)}, count, seed)["a"])
    assert np.all((low <= drawn) & (drawn <= low + width))
    # Five standard errors of the mean of `count` draws.
    error = width / math.sqrt(12 * count)
    assert abs(drawn.mean() - (low + width / 2)) < 5 * error + 1e-12 * abs(low)
    drawn = np.array(members({"a": normal(low, width)}, count, seed)["a"])
    assert abs(drawn.mean() - low) < 5 * width / math.sqrt(count)
    assert abs(drawn.std() - width) < 5 * width / math.sqrt(2 * count)
    logarithms = np.log(members({"a": log_uniform(width, 10 * width)}, count, seed)["a"])
    error = math.log(10) / math.sqrt(12 * count)
    assert abs(logarithms.mean() - (math.log(width) + math.log(10) / 2)) < 5 * error


@pytest.mark.parametrize(
    ("over", "settings", "sentence"),
    [
        ({}, {}, "nothing to vary"),
        ({"mass": []}, {}, "no value"),
        ({"mass": 1.0}, {}, "must be a list of values or a distribution"),
        ({"mass": "heavy"}, {}, "must be a list of values or a distribution"),
        ({"mass": [[1.0]]}, {}, "must be a number, true, false or a name"),
        ({"mass": uniform(0.1, 1.0)}, {}, "samples are missing"),
        ({"mass": [1.0]}, {"samples": 3}, "nothing is drawn"),
        ({"mass": uniform(0.1, 1.0)}, {"samples": 0}, "samples is 0"),
        ({"mass": uniform(0.1, 1.0)}, {"samples": 2, "seed": -1}, "seed is -1"),
        ([{"mass": 1.0}, {"steps": 1.0}], {}, "give each member the same names"),
        ([], {}, "at least one"),
        (3, {}, "must be a mapping of names to values"),
        ({"mass": [1.0, -1.0]}, {}, "parameter 'mass' is -1.0, but must be > 0"),
        ({"mass": normal(0.5, 1.0)}, {"samples": 40}, "but must be > 0"),
        ({"amplitude": [0.1, math.nan]}, {}, "amplitude"),
        ({"damped": [True, 1]}, {}, "must be true or false"),
        ({"mass": [1.0]}, {"workers": -1}, "workers is -1"),
        ({"mass": [1.0]}, {"workers": 1, "scheduler": "tcp://h:1"}, "leave out one"),
        ({"mass": [1.0]}, {"until": math.inf}, "until is inf"),
        ({"mass": [1.0]}, {"at": [2.0], "until": 1.0}, "lies outside of the run"),
        ({"mass": [1.0]}, {"solver": "taylor"}, "the solver is 'taylor'"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(case, tmp_path, over, settings, sentence):
    with pytest.raises(DaesolveError, match=sentence):
        sweep(case, over, out=tmp_path / "out", **settings)


@pytest.mark.parametrize("over", [{"mas": [1.0]}, [{"mas": 1.0}]])
def test_an_unknown_name_is_refused_with_the_nearest(case, tmp_path, over):
    with pytest.raises(UnknownNameError, match="did you mean 'mass'"):
        sweep(case, over, out=tmp_path)
    with pytest.raises(UnknownNameError, match="option of a sweep 'verify'"):
        sweep(case, {"mass": [1.0]}, out=tmp_path, verify=True)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: uniform(1.0, 1.0), "the lower bound first"),
        (lambda: log_uniform(0.0, 1.0), "above zero"),
        (lambda: normal(0.0, 0.0), "standard deviation"),
        (lambda: uniform("a", 1.0), "it takes numbers"),
    ],
)
def test_a_distribution_that_is_none_is_refused(make, sentence):
    with pytest.raises(OutOfRangeError, match=sentence):
        make()


# -- results --------------------------------------------------------------------------------------


def test_each_result_is_that_of_a_run_of_its_own(case, tmp_path):
    over = {"mass": [1.0, 2.5], "amplitude": uniform(0.1, 1.0), "x_dot": [0.25]}
    found = sweep(case, over, samples=2, at=[0.5, 2.0], workers=0, out=tmp_path)
    assert (found.count, found.done, found.failed, found.interrupted) == (4, 4, 0, False)
    table, samples = found.to_pandas(), found.samples_to_pandas()
    assert list(table.index) == [0, 1, 2, 3]
    for number, row in table.iterrows():
        run = case.changed({"mass": row.mass}).solve(
            2.0, initial={"amplitude": row.amplitude, "x_dot": row.x_dot}, at=[0.5, 2.0]
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
        assert row.end_x == pytest.approx(exact, abs=1e-14)
    assert found.member(3)["end_x"] == table.end_x[3]
    assert Sweep.from_directory(tmp_path) == found
    with pytest.raises(OutOfRangeError, match="no results of the member 4"):
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


# -- going on -------------------------------------------------------------------------------------


class Stop:
    """Interrupts a sweep as Ctrl-C does, after some members."""

    def __init__(self, after):
        self.after = after
        self.seen = []

    def __call__(self, state):
        self.seen.append(state)
        if state.done == self.after:
            raise KeyboardInterrupt


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


def test_a_sweep_goes_on_from_its_manifest_alone(case, tmp_path):
    settings = {"formulation": ds.Feedback(rate=20.0), "solver": ds.Taylor(tolerance=1e-12)}
    settings |= {"until": 2.0, "samples": 3, "workers": 0, "at": ds.every(0.5)}
    heavy = case.changed({"stiffness": 2.0})
    over = {"mass": normal(3.0, 0.2), "amplitude": [0.1]}
    whole = sweep(heavy, over, out=tmp_path / "whole", **settings)
    sweep(heavy, over, out=tmp_path / "out", progress=Stop(1), **settings)
    rest = resume_sweep(tmp_path / "out", workers=0)
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
        ({"solver": ds.Taylor(tolerance=1e-10)}, r"options\.solver is None"),
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
        resume_sweep(tmp_path, workers=0)
    assert resume_sweep(tmp_path, workers=0, any_version=True).done == 2


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
    with pytest.raises(OutputExistsError, match="holds no sweep"):
        sweep(case, {"mass": [1.0]}, out=tmp_path, workers=0)
    with pytest.raises(OutputExistsError, match="is a file"):
        sweep(case, {"mass": [1.0]}, out=tmp_path / "thesis.tex", workers=0)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_problem_without_a_name_to_load_it_by_runs_in_this_process(case, tmp_path):
    from dataclasses import replace

    unnamed = replace(case.problem, path=None).case()
    with pytest.raises(OutOfRangeError, match="workers=0"):
        sweep(unnamed, {"mass": [1.0]}, out=tmp_path / "out")
    assert sweep(unnamed, {"mass": [1.0]}, out=tmp_path / "out", workers=0).failed == 0


SOLVERS = st.builds(ds.Taylor, tolerance=st.floats(1e-16, 1e-3)) | st.builds(
    ds.Dop853, rtol=st.floats(1e-13, 1e-3)
)
FEEDBACK = st.builds(
    ds.Feedback,
    rate=st.floats(0.0, 1e3) | st.just("auto"),
    rates=st.dictionaries(st.sampled_from("ab"), st.none() | st.floats(0.0, 1e3)),
)


@settings(derandomize=True, max_examples=25, deadline=None)
@given(SOLVERS | FEEDBACK | st.builds(ds.Projected, FEEDBACK))
def test_a_manifest_tells_solvers_and_formulations_whole(option):
    assert restored(json.loads(json.dumps(saved(option)))) == option


def test_what_a_manifest_tells_in_words_alone_is_asked_for_again():
    with pytest.raises(NotResumableError, match="in words alone"):
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


def test_a_budget_holds_for_every_member(case, tmp_path):
    found = sweep(case, {"mass": [1.0, 2.0]}, workers=0, out=tmp_path, max_evaluations=30)
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
        ({"mass": [1.0]}, {"max_evaluations": 100}, "a single run costs"),
    ],
)
def test_what_no_batch_can_be_made_of_is_refused(case, tmp_path, over, settings, why):
    with pytest.raises(UnsupportedError, match=f"{why}.*leave out batch"):
        sweep(case, over, batch=True, out=tmp_path, **settings)


# -- processes ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_worker_processes_give_what_this_process_gives(file, case, tmp_path):
    """The script that asks has no guard, and its worker must not run it again."""
    out = tmp_path / "out"
    script = tmp_path / "script.py"
    script.write_text(
        "import daesolve as ds\n"
        "from daesolve.sweep import sweep, uniform\n"
        f"case = ds.problem({str(file)!r}).case()\n"
        "over = {'mass': [1.0, 13.0], 'stiffness': uniform(0.5, 2.0)}\n"
        f"print(sweep(case, over, samples=3, workers=1, out={str(out)!r}).done)\n"
    )
    told = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True, timeout=120
    )
    assert told.stdout == "6\n"
    assert told.stderr == ""
    over = {"mass": [1.0, 13.0], "stiffness": uniform(0.5, 2.0)}
    here = sweep(case, over, samples=3, workers=0, out=tmp_path / "here")
    assert alike(Sweep.from_directory(out).to_pandas(), here.to_pandas())


@pytest.mark.slow
def test_a_member_that_kills_its_worker_twice_is_recorded_and_the_others_are_kept(case, tmp_path):
    masses = [1.0, 2.0, 17.0, *np.linspace(3.0, 8.0, 12)]
    found = sweep(case, {"mass": masses}, workers=2, out=tmp_path)
    table = found.to_pandas()
    assert (found.done, found.failed) == (15, 1)
    assert table.outcome[2] == "failed"
    killed = "the worker process was killed by SIGKILL"
    assert table.message[2] == f"{killed}, and once more when it ran alone"


def begin(words, **settings):
    command = [sys.executable, "-m", "daesolve", "sweep", *map(str, words)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **settings)


def until_some_are_done(process, out, least):
    for _ in range(600):
        assert process.poll() is None, process.stderr.read()
        if (out / "manifest.json").exists() and Sweep.from_directory(out).done >= least:
            return
        time.sleep(0.1)
    raise AssertionError("the sweep does not get on")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_sweep_that_is_ended_from_outside_leaves_nothing_running_and_goes_on(
    file, case, tmp_path, number
):
    psutil = pytest.importorskip("psutil")
    out = tmp_path / "out"
    # Long enough that the first results are on disk before the last member begins.
    words = [file, "--over", "mass=linspace(1,3,40)", "--until", 20_000, "--workers", 2]
    process = begin([*words, "--out", out, "--quiet"])
    with process:
        until_some_are_done(process, out, 1)
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(number)
        stderr = process.stderr.read()
        process.wait(30)
    gone, alive = psutil.wait_procs(children, 30)
    assert len(gone) >= 2
    assert not alive
    before = Sweep.from_directory(out)
    assert 0 < before.done < 40
    assert before.interrupted
    if number != signal.SIGKILL:
        assert process.returncode == 3
        assert f"interrupted after {before.done} of 40 members" in stderr
    rest = resume_sweep(out, workers=2)
    assert (rest.done, rest.failed, rest.interrupted) == (40, 0, False)
    for row in rest.to_pandas().iloc[::10].itertuples():
        run = case.changed({"mass": row.mass}).solve(20_000.0)
        assert row.end_x == run.end_state["x"]
        assert row.max_relative_energy == run.drift["energy"].max_relative


# -- a cluster ------------------------------------------------------------------------------------


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and two workers, each a process; the address, and the workers."""
    pytest.importorskip("distributed")
    note = tmp_path / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    scheduler = [*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    processes = [subprocess.Popen([*scheduler, "--scheduler-file", note], **quiet)]
    try:
        for _ in range(300):
            if note.exists() and note.read_text():
                break
            time.sleep(0.1)
        address = json.loads(note.read_text())["address"]
        worker = [*dask, "worker", address, "--nthreads", "2", "--no-nanny", "--no-dashboard"]
        processes += [subprocess.Popen(worker, **quiet) for _ in range(2)]
        yield address, processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.slow
def test_a_cluster_that_loses_a_worker_completes_a_sweep(cluster, case, tmp_path):
    address, workers = cluster
    over = {"mass": log_uniform(0.5, 5.0), "amplitude": normal(0.5, 0.1)}
    killed = []

    def progress(state):
        if state.done >= 100 and not killed:
            os.kill(workers[0].pid, signal.SIGKILL)
            killed.append(state.done)

    out = tmp_path / "cluster"
    found = sweep(case, over, samples=500, seed=5, scheduler=address, out=out, progress=progress)
    assert killed
    assert killed[0] < 450
    assert workers[0].wait(10) == -signal.SIGKILL
    assert (found.done, found.failed) == (500, 0)
    here = sweep(case, over, samples=500, seed=5, workers=2, out=tmp_path / "here")
    assert alike(found.to_pandas(), here.to_pandas())
    for row in here.to_pandas().iloc[::50].itertuples():
        run = case.changed({"mass": row.mass}).solve(1.0, initial={"amplitude": row.amplitude})
        assert row.end_x == run.end_state["x"]


@pytest.mark.slow
def test_an_address_at_which_nobody_answers_is_refused(case, tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "ANSWERS_WITHIN", 0.5)
    with pytest.raises(OutOfRangeError, match="no Dask scheduler answers at 'tcp://127"):
        sweep(case, {"mass": [1.0]}, scheduler="tcp://127.0.0.1:9", out=tmp_path)


def test_without_distributed_the_command_that_adds_it_is_told(case, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(DaesolveError, match=r"pip install 'daesolve\[sweep\]'"):
        sweep(case, {"mass": [1.0]}, scheduler="tcp://127.0.0.1:9", out=tmp_path)
