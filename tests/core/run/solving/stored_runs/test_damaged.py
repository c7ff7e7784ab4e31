"""Parts that are damaged, disks that are full, parts that are taken back."""

import errno
import os

import numpy as np
import pytest

import daesolve as ds
from daesolve.core.results.storage import Stored, Writer, files
from daesolve.core.results.trajectory.results import Outcome
from daesolve.core.run.integration.watches import grip_watch
from daesolve.errors import MissingCheckpointError, StorageError
from tests.core.run.solving.stored_runs.runs import alike, swing, tables
from tests.systems import pendulum


def torn(directory, number):
    file = directory / f"samples/{number:06}.parquet"
    file.write_bytes(file.read_bytes()[:-100])


def missing(directory, number):
    (directory / f"checkpoints/{number:06}.json").unlink()


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [(3, 4), (10,)])
@pytest.mark.parametrize("damage", [torn, missing])
def test_damaged_parts_are_reported_and_computed_again(tmp_path, damage, numbers):
    whole = swing(tmp_path / "run")
    before, told = tables(tmp_path / "run"), []
    for number in numbers:
        damage(tmp_path / "run", number)
    run = ds.resume(tmp_path / "run", source=pendulum(), tell=told.append)
    assert tables(tmp_path / "run") == before
    assert alike(run, whole)
    if damage is torn or numbers != (10,):
        assert [sentence.split()[1] for sentence in told] == [str(n) for n in numbers]
    if damage is torn:
        assert len(list((tmp_path / "run/samples").glob("*.torn"))) == len(numbers)


def full_disk(monkeypatch, after):
    """Let writing fail for want of space after so many files."""
    count = []
    fsync = os.fsync

    def failing(number):
        count.append(number)
        if len(count) > after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(number)

    monkeypatch.setattr(files.os, "fsync", failing)
    return lambda: monkeypatch.setattr(files.os, "fsync", fsync)


@pytest.mark.slow
@pytest.mark.parametrize("after", [9, 31])
def test_a_full_disk_ends_the_run_and_loses_nothing(tmp_path, monkeypatch, after):
    whole = swing(tmp_path / "whole", system=pendulum())
    relieve = full_disk(monkeypatch, after)
    run = swing(tmp_path / "run")
    assert run.outcome is Outcome.INTERRUPTED
    assert "No space left" in run.message
    assert "daesolve resume" in run.message
    relieve()
    run = ds.resume(tmp_path / "run", source=pendulum())
    assert tables(tmp_path / "run") == tables(tmp_path / "whole")
    assert alike(run, whole)


def test_a_disk_that_is_full_from_the_start_is_reported(tmp_path, monkeypatch):
    full_disk(monkeypatch, 0)
    with pytest.raises(StorageError, match="No space left"):
        swing(tmp_path / "run")


def test_what_a_run_takes_back_is_taken_back_on_disk_too(tmp_path):
    """The sleigh's reactions lose their grip: the last steps before are not to be trusted."""
    swing(tmp_path / "run", until=5.0)
    with Writer.open(tmp_path / "run") as writer:
        from daesolve.core.run.integration.checkpoints import Keeper

        keeper = Keeper(writer, 6)
        assert keeper.cut(3.25, 1.0) == 0
    run = Stored(tmp_path / "run")
    assert run.column("t")[-1] == pytest.approx(3.2)
    assert len(run.column("t")) == 33


@pytest.fixture
def lost(monkeypatch):
    """Let a goal lose its grip just before the end of a part, and be seen to just after it."""

    def loss(times, grip, lost):
        return int(np.searchsorted(times, 0.99)) if times[0] < 0.99 and times[-1] > 1.01 else None

    monkeypatch.setattr(grip_watch, "first_loss", loss)
    tick = ds.time - 0.99
    system = pendulum(events=lambda q, p: [ds.Event("tick", tick, ds.RISING)])
    return system, {"solver": ds.Dop853(), "at": ds.every(0.01), "until": 3.0, "system": system}


@pytest.mark.slow
def test_a_part_that_was_cut_is_cut_when_it_is_mended(tmp_path, lost):
    system, options = lost
    run, plain = swing(tmp_path / "run", **options), swing(None, **options)
    before = tables(tmp_path / "run")
    assert run.outcome is Outcome.DEGENERATE
    assert Stored(tmp_path / "run").checkpoint(1)["taken_back"] == run.end_time < 0.99
    assert alike(run, plain)
    torn(tmp_path / "run", 1)
    assert alike(ds.resume(tmp_path / "run", source=system), plain)
    assert tables(tmp_path / "run") == before


def test_a_run_that_is_killed_after_a_cut_counts_its_events_once(tmp_path, lost):
    system, options = lost
    run = swing(tmp_path / "run", **options)
    for name in ("result.json", "checkpoints/000002.json"):
        (tmp_path / "run" / name).unlink()
    again = ds.resume(tmp_path / "run", source=system)
    assert again.event_count == run.event_count == 0
    assert alike(again, run)


@pytest.mark.slow
def test_a_disk_that_is_full_at_a_cut_loses_nothing(tmp_path, monkeypatch, lost):
    def full(*_):
        raise StorageError("No space left on device")

    system, options = lost
    with monkeypatch.context() as disk:
        disk.setattr(Writer, "cut", full)
        run = swing(tmp_path / "run", **options)
    assert run.outcome is Outcome.INTERRUPTED
    assert "daesolve resume" in run.message
    assert alike(ds.resume(tmp_path / "run", source=system), swing(None, **options))


def test_a_finished_run_without_its_last_part_is_not_taken_for_whole(tmp_path):
    swing(tmp_path / "run")
    missing(tmp_path / "run", 10)
    with pytest.raises(MissingCheckpointError, match="part 10"):
        ds.Trajectory.from_run(tmp_path / "run")["x"]
