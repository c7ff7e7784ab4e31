"""Runs in processes of their own that are killed, terminated, interrupted, or out of disk."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import daesolve as ds
from daesolve.core.results.storage import Stored
from daesolve.core.results.trajectory.results import Outcome

UNTIL = 2400.0
PARTS = 10
RUN = f"""
import os, signal, sys
import daesolve as ds

def progress(time, monitor, events):
    if time >= float(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

calls = [0]
def counted(own):
    def call(*arguments):
        calls[0] += 1
        if calls[0] == int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
        return own(*arguments)
    return call

os.fsync, os.replace = counted(os.fsync), counted(os.replace)
case = ds.problem("rolling-wheel").case("hoop")
case.solve({UNTIL}, at=ds.every(0.5), store=sys.argv[1], progress=progress)
"""


def started(directory, *, time="inf", call=0):
    """Start the run in a process of its own; it kills itself at a time, or at a call of a file."""
    return subprocess.Popen([sys.executable, "-c", RUN, str(directory), str(time), str(call)])


def tables(directory):
    """Return the content of every finished part, byte by byte."""
    files = sorted(Path(directory).glob("[se]*/[0-9]*.parquet"))
    return {f"{file.parent.name}/{file.name}": file.read_bytes() for file in files}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the run that nothing stopped, and how long it took."""
    directory = tmp_path_factory.mktemp("whole") / "run"
    assert started(directory).wait() == 0
    run = ds.Trajectory.from_run(directory)
    assert run.outcome is Outcome.COMPLETED
    assert len(Stored(directory).numbers) >= PARTS
    return directory, run


def same(directory, whole):
    """Go on with a run, and tell whether it has come to be the one that nothing stopped."""
    reference, expected = whole
    run = ds.resume(directory)
    assert tables(directory) == tables(reference)
    assert run.drift == expected.drift
    assert tuple(run.events) == tuple(expected.events)
    assert run.end_state == expected.end_state
    assert run.statistics.steps == expected.statistics.steps


def begun(directory, process):
    """Wait until the run has come to its first part."""
    while process.poll() is None and not (directory / "checkpoints/000001.json").exists():
        time.sleep(0.005)


@pytest.mark.long_beyond(2)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.slow
def test_a_run_that_is_killed_at_any_instant_goes_on(tmp_path, whole, seed):
    process = started(tmp_path)
    begun(tmp_path, process)
    time.sleep(random.Random(seed).uniform(0.0, 1.2) * whole[1].statistics.wall_seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()
    same(tmp_path, whole)


@pytest.mark.long_beyond(2)
@pytest.mark.parametrize("call", random.Random(7).sample(range(13, 8 * PARTS), 8))
@pytest.mark.slow
def test_a_run_that_is_killed_while_it_writes_goes_on(tmp_path, whole, call):
    """Each part makes three or more calls of fsync and replace; the first dozen begin the run."""
    assert started(tmp_path, call=call).wait() == -signal.SIGKILL
    same(tmp_path, whole)


@pytest.mark.slow
def test_going_on_after_nine_tenths_takes_the_last_tenth(tmp_path, whole):
    assert started(tmp_path / "run", time=0.9 * UNTIL).wait() == -signal.SIGKILL
    stored = Stored(tmp_path / "run")
    done = stored.checkpoint(stored.last)["steps"]
    same(tmp_path / "run", whole)
    assert 1.0 - done / whole[1].statistics.steps <= 0.1 + 1.0 / PARTS


COMMAND = ["run", "rolling-wheel", "--case", "hoop", "--every", "0.5", "--until", str(UNTIL)]


def command(*words):
    return subprocess.Popen(
        [sys.executable, "-m", "daesolve", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.long_beyond(1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.slow
def test_a_command_that_is_interrupted_says_how_to_go_on(tmp_path, whole, number):
    directory = tmp_path / "run"
    process = command(*COMMAND, "--out", directory)
    begun(directory, process)
    process.send_signal(number)
    told = process.communicate()[1]
    assert process.returncode == 3
    assert f"`daesolve resume {directory}`" in told
    assert list(directory.glob("samples/*.partial")) or "part" in told
    process = command("resume", directory, "--json")
    told, _ = process.communicate()
    assert process.returncode == 0
    assert json.loads(told)["outcome"] == "completed"
    assert tables(directory) == tables(whole[0])


@pytest.fixture
def small_disk(tmp_path):
    """Return a disk of its own with room for a third of the run."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", place], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("a small tmpfs cannot be mounted here; an injected error is tested elsewhere")
    yield place
    subprocess.run(["umount", place], check=True)


@pytest.mark.slow
def test_a_full_disk_ends_a_command_and_loses_nothing(small_disk, whole):
    directory = small_disk / "run"
    process = command(*COMMAND, "--out", directory)
    told = process.communicate()[1]
    assert process.returncode == 3
    assert "No space left on device" in told
    assert f"`daesolve resume {directory}`" in told
    assert len(told.strip().splitlines()) == 1
    assert 1 < len(Stored(directory).numbers) < PARTS
    subprocess.run(["mount", "-o", "remount,size=50m", small_disk], check=True)
    same(directory, whole)
