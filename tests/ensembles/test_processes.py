import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from daesolve.ensembles import Sweep, log_uniform, normal, resume_sweep, sweep, uniform
from daesolve.ensembles import workers as running
from daesolve.errors import (
    DaesolveError,
    OutOfRangeError,
)
from tests.ensembles.problem_file import alike


@pytest.mark.slow
def test_worker_processes_give_what_this_process_gives(file, case, tmp_path):
    """The script that asks has no guard, and its worker must not run it again."""
    out = tmp_path / "out"
    script = tmp_path / "script.py"
    script.write_text(
        "import daesolve as ds\n"
        "from daesolve.ensembles import sweep, uniform\n"
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
    assert table.message[2] == f"{killed}, and again when it ran alone"


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
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_a_sweep_that_is_ended_from_outside_leaves_nothing_running_and_goes_on(
    file, case, tmp_path, name
):
    psutil = pytest.importorskip("psutil")
    out = tmp_path / "out"
    # Long enough that the first results are on disk before the last member begins.
    words = [
        file,
        "--over",
        "mass=linspace(1,3,40)",
        "--until",
        20_000,
        "--workers",
        2,
        "--no-batch",
    ]
    process = begin([*words, "--out", out, "--quiet"])
    with process:
        until_some_are_done(process, out, 1)
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(getattr(signal, name))
        stderr = process.stderr.read()
        process.wait(30)
    gone, alive = psutil.wait_procs(children, 30)
    assert len(gone) >= 2
    assert not alive
    before = Sweep.from_directory(out)
    assert 0 < before.done < 40
    assert before.interrupted
    if name != "SIGKILL":
        assert process.returncode == 3
        assert f"interrupted after {before.done} of 40 members" in stderr
    rest = resume_sweep(out, source=file, workers=2)
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
    found = sweep(
        case, over, samples=500, seed=5, scheduler=address, batch=False, out=out, progress=progress
    )
    assert killed
    assert killed[0] < 450
    assert workers[0].wait(10) == -signal.SIGKILL
    assert (found.done, found.failed) == (500, 0)
    here = sweep(case, over, samples=500, seed=5, workers=2, batch=False, out=tmp_path / "here")
    assert alike(found.to_pandas(), here.to_pandas())
    for row in here.to_pandas().iloc[::50].itertuples():
        run = case.changed({"mass": row.mass}).solve(1.0, initial={"amplitude": row.amplitude})
        assert row.end_x == run.end_state["x"]


@pytest.mark.slow
def test_an_answer_that_is_lost_with_its_worker_is_computed_again(
    cluster, case, tmp_path, monkeypatch
):
    """The worker dies when its answer has been announced, and has not been fetched."""
    address, workers = cluster
    fetch, killed = running.Cluster.finished, []

    def finished(self, patience):
        if not killed:
            future = self._ended.get(timeout=60)
            (holder,) = self._client.who_has([future])[future.key]
            killed.append(self._client.run(os.getpid, workers=[holder])[holder])
            os.kill(killed[0], signal.SIGKILL)
            (worker,) = [worker for worker in workers if worker.pid == killed[0]]
            worker.wait(10)
            self._ended.put(future)
        return fetch(self, patience)

    monkeypatch.setattr(running.Cluster, "finished", finished)
    found = sweep(case, {"mass": [1.0, 2.0, 3.0]}, scheduler=address, out=tmp_path / "cluster")
    assert killed
    assert (found.done, found.failed) == (3, 0)


@pytest.mark.slow
def test_a_sweep_whose_scheduler_dies_ends_by_name_and_goes_on_without_it(cluster, case, tmp_path):
    distributed = pytest.importorskip("distributed")
    address, _ = cluster
    with distributed.Client(address, set_as_default=False) as client:
        scheduler = client.run_on_scheduler(os.getpid)
    killed = []

    def progress(state):
        if state.done >= 20 and not killed:
            os.kill(scheduler, signal.SIGKILL)
            killed.append(state.done)

    out = tmp_path / "cluster"
    over = {"mass": log_uniform(0.5, 5.0)}
    with pytest.raises(DaesolveError, match=f"the Dask scheduler at {address} is gone"):
        sweep(case, over, samples=300, scheduler=address, batch=False, out=out, progress=progress)
    assert 20 <= killed[0] <= Sweep.from_directory(out).done < 300
    rest = resume_sweep(out, source=case, workers=0)
    assert (rest.done, rest.failed) == (300, 0)


@pytest.mark.slow
def test_an_address_at_which_nobody_answers_is_refused(case, tmp_path, monkeypatch):
    monkeypatch.setattr(running, "ANSWERS_WITHIN", 0.5)
    with pytest.raises(OutOfRangeError, match="no Dask scheduler answers at 'tcp://127"):
        sweep(case, {"mass": [1.0]}, scheduler="tcp://127.0.0.1:9", out=tmp_path)


def test_without_distributed_the_command_that_adds_it_is_named(case, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(DaesolveError, match=r"pip install 'daesolve\[sweep\]'"):
        sweep(case, {"mass": [1.0]}, scheduler="tcp://127.0.0.1:9", out=tmp_path)
