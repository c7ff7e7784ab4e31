"""Runs that cannot be gone on with, directories that cannot be, are refused by name."""

import json
import os

import pytest

import daesolve as ds
from daesolve.core.results.storage import Writer
from daesolve.core.results.trajectory.results import Outcome
from daesolve.errors import (
    ArchiveError,
    FormatError,
    LockedRunError,
    NotARunError,
    NotResumableError,
    OutOfRangeError,
    OutputExistsError,
    UnsupportedError,
)
from tests.core.run.solving.stored_runs.runs import interrupting, swing
from tests.systems import pendulum


def changed(directory, **entries):
    file = directory / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **entries}))


@pytest.mark.slow
def test_a_run_of_other_versions_is_gone_on_with_only_when_allowed(tmp_path):
    swing(tmp_path / "run", interrupting(3.0))
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    changed(tmp_path / "run", versions={**manifest["versions"], "casadi": "3.0.0"})
    with pytest.raises(NotResumableError, match=r"casadi 3\.0\.0 \(here .*--any-version"):
        ds.resume(tmp_path / "run", source=pendulum())
    assert ds.resume(tmp_path / "run", source=pendulum(), any_version=True).end_time == 10.0


@pytest.mark.slow
def test_a_run_of_other_equations_is_not_gone_on_with(tmp_path):
    swing(tmp_path / "run", interrupting(3.0))
    other = pendulum(events=lambda q, p: [ds.Event("bottom", q.x, ds.EITHER)])
    with pytest.raises(NotResumableError, match="the equations differ from those"):
        ds.resume(tmp_path / "run", source=other)
    with pytest.raises(NotResumableError, match="source=system"):
        ds.resume(tmp_path / "run")


def test_what_is_no_run_or_has_another_format_is_named(tmp_path):
    with pytest.raises(NotARunError, match="nowhere"):
        ds.resume(tmp_path / "nowhere")
    swing(tmp_path / "run", until=1.0)
    changed(tmp_path / "run", format=99)
    with pytest.raises(ds.DaesolveError, match="99"):
        ds.resume(tmp_path / "run", source=pendulum())


@pytest.mark.parametrize("name", ["manifest.json", "result.json"])
def test_a_file_of_something_else_is_named(tmp_path, name):
    swing(tmp_path / "run", until=1.0)
    (tmp_path / "run" / name).write_text('{"format": 1}')
    for use in (ds.Trajectory.from_run, lambda run: ds.resume(run, source=pendulum())):
        with pytest.raises(FormatError, match=f"{name}' is not the file of a run"):
            use(tmp_path / "run")
    (tmp_path / "run" / name).write_text("[" * 100_000)
    with pytest.raises(ArchiveError, match="nested too deeply"):
        ds.Trajectory.from_run(tmp_path / "run")


@pytest.mark.parametrize("place", [123, b"run", "", True, [], "a\0b"])
def test_a_directory_that_is_no_path_is_refused(place):
    for use in (swing, ds.resume, ds.Trajectory.from_run):
        with pytest.raises(ArchiveError, match="must be a path like"):
            use(place)


def test_more_samples_than_a_segment_can_hold_are_refused(tmp_path):
    with pytest.raises(OutOfRangeError, match=r"more than 1e.08 samples in a segment"):
        swing(tmp_path / "run", at=ds.every(1e-300))
    assert not (tmp_path / "run").exists()


def test_a_directory_that_cannot_be_is_refused(tmp_path):
    with pytest.raises(OutputExistsError, match="cannot be created: File name too long"):
        swing(tmp_path / ("x" * 300))


@pytest.mark.slow
def test_a_directory_in_use_is_refused(tmp_path):
    swing(tmp_path / "run", until=1.0)
    with pytest.raises(OutputExistsError, match="daesolve resume"):
        swing(tmp_path / "run", until=1.0)
    with Writer.open(tmp_path / "run"), pytest.raises(LockedRunError, match=str(os.getpid())):
        ds.resume(tmp_path / "run", source=pendulum())


def test_a_solver_that_cannot_be_had_again_is_refused(tmp_path):
    class Mine(ds.Dop853):
        pass

    with pytest.raises(UnsupportedError, match="a run with Mine cannot be stored"):
        swing(tmp_path / "run", solver=Mine())


def test_a_run_under_way_can_be_read(tmp_path):
    seen = []

    def look(time, monitor, events):
        if time == 5.0:
            run = ds.Trajectory.from_run(tmp_path / "run")
            seen.append((run.outcome, run.message, run.times[-1], run.end_time))

    swing(tmp_path / "run", look)
    assert seen == [(Outcome.INTERRUPTED, "running, at t = 4 s so far", 4.0, 4.0)]
