import json
import os
import signal
import subprocess
import sys
import time

import casadi as ca
import numpy as np
import pytest

import daesolve as ds
from daesolve.ensembles import Sweep, log_uniform, normal, resume_sweep, sweep, uniform
from daesolve.ensembles import workers as running
from daesolve.ensembles.posed_here import packed, unpacked
from daesolve.errors import (
    DaesolveError,
    MissingPackageError,
    OutOfRangeError,
    PosingError,
)
from tests.ensembles.problem_file import alike


@pytest.mark.long
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


POSED_HERE = """
import sys
import daesolve as ds
from daesolve.ensembles import sweep

q = ds.coordinates(x="m")
p = ds.parameters(stiffness=(4.0, "N/m"), pull=(0.5, "N/s"))
system = ds.MechanicalSystem(
    q, p, kinetic=q.dot.x**2 / 2, potential=p.stiffness * q.x**2 / 2,
    force={"x": p.pull * ds.time - q.dot.x / 10},
)

class Scale:
    by = 2.0

problem = ds.Problem(
    "mine", title="Mine", models={"model": lambda: system},
    cases=[ds.Case("start", start={"x": 1.0}, until=2.0)],
    measures={"twice": ds.Measure(lambda case, run: Scale.by * run.end_state["x"], "")},
)
if len(sys.argv) > 1:
    over = {"stiffness": [1.0, 2.0, 3.0]}
    tables = [
        sweep(problem.case(), over, workers=workers, out=f"{sys.argv[1]}/{workers}").to_pandas()
        for workers in (0, 2)
    ]
    print(*[t[["end_x", "measure_twice"]].to_numpy().tolist() for t in tables], sep="\\n")
"""


@pytest.mark.long
def test_a_problem_that_a_script_poses_is_swept_on_processes(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(POSED_HERE)
    told = subprocess.run(
        [sys.executable, script, tmp_path],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    here, there = told.stdout.splitlines()
    assert here == there
    assert there.count(",") == 5


def _posed():
    names = {"__name__": "__main__"}
    exec(POSED_HERE.replace("len(sys.argv) > 1", "False"), names)
    return names["problem"]


def test_a_problem_that_exists_only_here_is_the_same_after_it_was_sent():
    problem = _posed()
    sent = unpacked(packed(problem))
    assert sent is not problem
    assert ca.depends_on(sent.case().system.force["x"], ds.time)
    digests = [ode.serialize() for ode in (problem, sent) for ode in [_rate(ode.case().system)]]
    assert digests[0] == digests[1]


def _rate(system):
    q, p = system.coordinates, system.parameters
    symbols = [ds.time, q.vector, q.dot.vector, p.vector]
    return ca.Function("rate", symbols, [system.force["x"] - ca.gradient(system.potential, q.x)])


def test_a_problem_that_holds_what_exists_only_here_is_refused_with_what_to_do(tmp_path):
    with open(tmp_path / "open", "w") as file:
        system = _posed().case().system
        problem = ds.Problem(
            "held",
            title="Held",
            models={"model": lambda: (file, system)[1]},
            cases=[ds.Case("start", start={"x": 1.0}, until=2.0)],
        )
        with pytest.raises(PosingError, match=r"'held' cannot be sent .*workers=0"):
            packed(problem)


def test_without_cloudpickle_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(MissingPackageError, match=r"daesolve\[sweep\]"):
        packed(_posed())


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
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
