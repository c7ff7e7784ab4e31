"""One process writes a run, any number read it meanwhile."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest

from daesolve import errors
from daesolve.core.results.storage import Stored, Writer
from tests.core.results.storage.parts import ROWS, expected, same_bits, samples, shorten, write

WRITE_FOR_EVER = """
import sys
from daesolve.core.results.storage import Writer

print({"pyarrow", "filelock"} & {*sys.modules}, flush=True)
from tests.core.results.storage.parts import write_for_ever

write_for_ever(Writer.create(sys.argv[1], {}))
"""


@pytest.mark.slow
def test_a_run_is_read_while_another_process_writes_it_and_taken_over_when_that_is_killed(
    directory,
):
    root = Path(__file__).parents[4]
    command = [sys.executable, "-c", WRITE_FOR_EVER, str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "set()\n"  # importing the library stays quick
            assert process.stdout.readline() == "under way\n"
            with pytest.raises(errors.LockedRunError, match=f"process {process.pid} .*wait until"):
                Writer.open(directory)
            # The disk sets the writer's pace: fifteen readings may all see the same part.
            lengths: list[int] = []
            deadline = time.monotonic() + 60.0
            while len(lengths) < 15 or lengths[-1] == lengths[0]:
                assert time.monotonic() < deadline, "the writer does not get on"
                stored = Stored(directory)
                assert stored.locked
                lengths.append(len(stored.column("x")))
                assert lengths[-1] == stored.rows == len(stored.table(["t"]))
                assert len(stored.events()) >= 3 * stored.last
            assert lengths == sorted(lengths)
        finally:
            process.kill()
    stored = Stored(directory)
    assert not stored.locked
    assert stored.damaged() == []
    with Writer.open(directory) as writer:
        assert writer.taken_over is not None
        assert f"process {process.pid} " in writer.taken_over
        assert not list(directory.rglob(".*.tmp"))
        write(writer, stored.last + 1)
    assert same_bits(Stored(directory).column("t"), expected("t", *range(1, stored.last + 2)))
    assert not (directory / "writer.json").exists()


def test_a_run_is_written_once_at_a_time_in_one_process_too(run):
    with Writer.open(run) as writer:
        assert writer.taken_over is None
        assert Stored(run).locked
        with pytest.raises(errors.LockedRunError, match=f"process {os.getpid()} "):
            Writer.open(run)
    Writer.open(run).close()
    with pytest.raises(errors.ArchiveError, match="closed"):
        write(writer, 4)
    assert Stored(run).last == 3


def test_a_process_on_another_host_is_believed_to_write(run):
    told = {"process": 77, "host": "far-away", "user": "anna", "since": "2026-01-01T00:00:00"}
    (run / "writer.json").write_text(json.dumps(told))
    assert Stored(run).locked
    with pytest.raises(errors.LockedRunError, match=r"process 77 of anna on far-away.*delete"):
        Writer.open(run)
    (run / "writer.json").unlink()
    with Writer.open(run) as writer:
        assert writer.taken_over is None


@pytest.mark.parametrize(("refusal", "locked"), [(errno.EROFS, False), (errno.EACCES, True)])
def test_who_may_not_lock_believes_what_is_written(run, monkeypatch, refusal, locked):
    def refuse(*_, **__):
        raise OSError(refusal, os.strerror(refusal))

    told = {"process": 77, "host": socket.gethostname(), "user": "anna"}
    (run / "writer.json").write_text(json.dumps(told))
    monkeypatch.setattr("filelock.FileLock.acquire", refuse)
    assert Stored(run).locked is locked
    with pytest.raises(errors.StorageError, match=r"lock' could not.*permission to write there"):
        Writer.open(run)


def test_the_writer_is_reported_even_where_the_user_has_no_name(run, monkeypatch):
    def nameless():
        raise KeyError("getpwuid(): uid not found")

    monkeypatch.setattr("getpass.getuser", nameless)
    with Writer.open(run):
        told = json.loads((run / "writer.json").read_text())
        user = f"user {os.getuid()}" if hasattr(os, "getuid") else "unknown"
        assert (told["process"], told["user"]) == (os.getpid(), user)
        if Path("/proc/self/stat").exists():
            age = time.time() - datetime.fromisoformat(told["process_started"]).timestamp()
            assert 0.0 < age < 24 * 3600.0


def test_an_unreadable_note_of_the_writer_is_a_leftover(run):
    (run / "writer.json").write_text("")
    assert not Stored(run).locked
    with Writer.open(run) as writer:
        assert writer.taken_over == "another process ended without closing the run"


def test_pandas_reads_the_directory_while_it_grows(run):
    pandas = pytest.importorskip("pandas")
    with Writer.open(run) as writer:
        shorten(run / "samples" / "000003.parquet")
        writer.set_aside(3)
        (run / "samples" / ".000004.parquet.tmp").write_bytes(b"PAR1")
        assert same_bits(pandas.read_parquet(run / "samples")["x"], expected("x", 1, 2))
        writer.write_partial(3, samples(3, 5), None)
        found = pandas.read_parquet(run / "samples")
        assert same_bits(found["x"], expected("x", 1, 2, 3)[: 2 * ROWS + 5])
        assert list(found) == ["t", "x", "reaction_rod.1"]
    frame = Stored(run).table().to_pandas()
    assert frame.equals(found)
