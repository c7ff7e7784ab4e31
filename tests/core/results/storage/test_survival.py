"""What is committed stays whole, whatever ends the process or fills the disk."""

from __future__ import annotations

import errno
import itertools
import os
import subprocess
from pathlib import Path

import pytest

from daesolve import errors
from daesolve.core.results.storage import Stored, Writer
from tests.core.results.storage.parts import (
    ROWS,
    contents,
    events,
    expected,
    same_bits,
    samples,
    write,
    write_for_ever,
)


class Killed(BaseException):
    """The process ends here: nothing that it had in mind happens any more."""


class Death:
    """Ends the process at the so-many-th call that changes the disk."""

    def __init__(self, monkeypatch, moment):
        self.moment, self.calls = moment, 0
        for name in ("replace", "fsync", "unlink"):
            monkeypatch.setattr(os, name, self.before(getattr(os, name)))
        monkeypatch.setattr(Path, "unlink", self.before(Path.unlink))

    def before(self, call):
        def wrapped(*arguments, **options):
            self.calls += 1
            if self.calls >= self.moment:
                raise Killed
            return call(*arguments, **options)

        return wrapped


def killed_at(monkeypatch, moment, directory, action):
    """Do something in a process that is killed; tell whether it was."""
    writer = Writer.open(directory)
    with monkeypatch.context() as patched:
        Death(patched, moment)
        try:
            action(writer)
        except Killed:
            writer._lock.release()  # as the system does
            return True
    writer.close()
    return False


@pytest.mark.slow
def test_whenever_the_process_is_killed_what_is_committed_is_whole(tmp_path, monkeypatch):
    with Writer.create(tmp_path / "whole", {}) as writer:
        for number in (1, 2):
            write(writer, number)
    whole = contents(tmp_path / "whole")
    for moment in itertools.count(1):
        directory = tmp_path / str(moment)
        with Writer.create(directory, {}) as writer:
            write(writer, 1)
            writer.write_partial(2, samples(2, 4), events(2, 1))
        killed = killed_at(monkeypatch, moment, directory, lambda writer: write(writer, 2))
        stored = Stored(directory)
        assert stored.damaged() == []
        assert stored.locked is False
        rows = {1: ROWS + 4, 2: 2 * ROWS}[stored.last]
        assert same_bits(stored.column("t"), expected("t", 1, 2)[:rows])
        assert len(stored.events()) == {1: 4, 2: 6}[stored.last]
        with Writer.open(directory) as writer:
            assert (writer.taken_over is not None) == killed
            if stored.last == 1:
                write(writer, 2)
        assert contents(directory) == whole
        if not killed:
            break
    assert moment > 10


def test_whenever_a_cut_is_killed_the_part_is_whole_or_not_committed(tmp_path, monkeypatch):
    seen = set()
    for moment in itertools.count(1):
        directory = tmp_path / str(moment)
        with Writer.create(directory, {}) as writer:
            for number in (1, 2):
                write(writer, number)
        killed = killed_at(monkeypatch, moment, directory, lambda writer: writer.cut(2, 5, 0, {}))
        stored = Stored(directory)
        assert stored.damaged() == []
        seen.add(stored.rows)
        assert same_bits(stored.column("t"), expected("t", 1, 2)[: stored.rows])
        if not killed:
            break
    assert seen == {2 * ROWS, ROWS, ROWS + 5}


def test_whenever_the_beginning_is_killed_the_run_can_begin_again(tmp_path, monkeypatch):
    (tmp_path / "report.html").write_text("an earlier report")
    for moment in itertools.count(1):
        with monkeypatch.context() as patched:
            Death(patched, moment)
            try:
                Writer.create(tmp_path, {"moment": moment}).close()
                break
            except Killed:
                pass
        if (tmp_path / "manifest.json").exists():
            assert Stored(tmp_path).manifest["moment"] == moment
            Writer.open(tmp_path).close()
            (tmp_path / "manifest.json").unlink()
            for folder in ("samples", "events", "checkpoints"):
                (tmp_path / folder).rmdir()
    assert moment > 5


def full_at(monkeypatch, name, moment):
    """Let the so-many-th call fail as it does where the disk is full."""
    calls, call = itertools.count(), getattr(os, name)

    def fail(*arguments):
        if next(calls) == moment:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return call(*arguments)

    monkeypatch.setattr(os, name, fail)


@pytest.mark.parametrize(
    ("name", "moment"), [("fsync", k) for k in range(6)] + [("replace", k) for k in range(3)]
)
def test_a_full_disk_leaves_what_was_committed_and_nothing_half_done(
    run, monkeypatch, name, moment
):
    whole = contents(run)
    with Writer.open(run) as writer:
        with monkeypatch.context() as patched:
            full_at(patched, name, moment)
            with pytest.raises(errors.StorageError, match=r"000004\..*free some space"):
                write(writer, 4)
        assert not list(run.rglob(".*"))
        assert Stored(run).damaged() == []
        assert whole.items() <= contents(run).items()
        write(writer, 4)
    assert same_bits(Stored(run).column("x"), expected("x", 1, 2, 3, 4))


def test_a_full_disk_is_found_before_a_part_is_taken_back(run, monkeypatch):
    with Writer.open(run) as writer, monkeypatch.context() as patched:
        whole = contents(run)
        full_at(patched, "fsync", 2)
        with pytest.raises(errors.StorageError, match="free some space"):
            writer.cut(3, 7, 2, {})
        assert contents(run) == whole


def test_what_may_not_be_written_is_reported(run, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with Writer.open(run) as writer, monkeypatch.context() as patched:
        patched.setattr(os, "replace", refuse)
        with pytest.raises(errors.StorageError, match=r"result\.json.*permission to write"):
            writer.write_result({})


def test_every_file_is_on_the_disk_before_the_checkpoint_names_it(run, monkeypatch):
    """A power cut must not leave a checkpoint without its files: they are flushed, with names."""
    log = []

    def flushed(descriptor):
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        log.append(("flushed", path.name))

    def renamed(source, target, call=os.replace):
        log.append((Path(source).name, Path(target).name))
        call(source, target)

    if not Path("/proc/self/fd").exists():
        pytest.skip("which file is flushed can only be told on Linux")
    with Writer.open(run) as writer:
        monkeypatch.setattr(os, "fsync", flushed)
        monkeypatch.setattr(os, "replace", renamed)
        write(writer, 4)
    table, told = "000004.parquet", "000004.json"
    assert log[: log.index(("flushed", "checkpoints")) + 1] == [
        ("flushed", f".{table}.tmp"),
        ("flushed", f".{table}.tmp"),
        ("flushed", f".{told}.tmp"),
        (f".{table}.tmp", table),
        ("flushed", "samples"),
        (f".{table}.tmp", table),
        ("flushed", "events"),
        (f".{told}.tmp", told),
        ("flushed", "checkpoints"),
    ]


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 128 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    options = ["-t", "tmpfs", "-o", "size=128k", "tmpfs", str(place)]
    try:
        made = subprocess.run(["mount", *options], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no command to mount a disk")
    if made.returncode:
        pytest.skip(f"no small disk can be mounted: {made.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_runs_full_ends_with_a_sentence_and_a_run_to_go_on_from(small_disk):
    (small_disk / "ballast").write_bytes(bytes(20_000))
    with Writer.create(small_disk / "run", {}) as writer:
        with pytest.raises(errors.StorageError, match="free some space") as told:
            write_for_ever(writer)
        assert isinstance(told.value, OSError)
        stored = Stored(small_disk / "run")
        assert stored.last > 2
        assert stored.damaged() == []
        whole = expected("t", *range(1, stored.last + 2))
        assert same_bits(stored.column("t"), whole[: stored.rows])
        assert not list(writer.directory.rglob(".*"))
        (small_disk / "ballast").unlink()
        write(writer, stored.last + 1)
    assert Stored(small_disk / "run").last == stored.last + 1
    assert Stored(small_disk / "run").damaged() == []
