"""Runs of the net on disk: in one go, interrupted, killed, extended; and sweeps."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import daesolve as ds
from tools.net import names, systems
from tools.net.fingerprints import COSTS, Fingerprint, digest, of_run
from tools.net.registry import named
from tools.net.surroundings import environment

SAME = ("times", "states", "reactions", "outputs", "events", "end_state_bits", "drift")
"""What an interrupted run shares with an uninterrupted one."""
UNTIL = 600.0

KILLED = """
import os, signal, sys
import daesolve as ds

def progress(time, monitor, events):
    if time >= 250.0:
        os.kill(os.getpid(), signal.SIGKILL)

case = ds.problem("rolling-wheel").case("hoop")
case.solve(600.0, at=ds.every(0.5), store=sys.argv[1], progress=progress)
"""


def _interrupting(after: float) -> Callable[..., None]:
    """Return a progress callback that presses Ctrl-C at a given time."""
    pressed: list[float] = []

    def progress(time: float, *_: Any) -> None:
        if time >= after and not pressed:
            pressed.append(time)
            signal.raise_signal(signal.SIGINT)

    return progress


def _alike(one: Fingerprint, other: Fingerprint) -> bool:
    return all(one[name] == other[name] for name in SAME)


def _hoop(store: Path, until: float = UNTIL, **options: Any) -> ds.Trajectory:
    case = ds.problem("rolling-wheel").case("hoop")
    return case.solve(until, at=ds.every(0.5), store=store, **options)


@named("stored in one go")
def in_one_go(scratch: Path) -> Fingerprint:
    """Store a run, read it from disk, and compare it with the same run in memory."""
    stored = of_run(_hoop(scratch / "whole"))
    read = of_run(ds.Trajectory.from_run(scratch / "whole"))
    memory = of_run(ds.problem("rolling-wheel").case("hoop").solve(UNTIL, at=ds.every(0.5)))
    thin = of_run(ds.Trajectory.from_run(scratch / "whole").thinned(50))
    return {
        "stored": stored,
        "thinned": thin,
        "read is alike": _alike(read, stored),
        "memory is alike": _alike(memory, stored),
    }


@named("stored, interrupted and resumed")
def interrupted(scratch: Path) -> Fingerprint:
    """Interrupt a stored run by Ctrl-C, and go on."""
    broken = of_run(_hoop(scratch / "broken", progress=_interrupting(200.0)))
    resumed = of_run(ds.resume(scratch / "broken"))
    whole = of_run(_hoop(scratch / "whole"))
    return {"broken": broken, "resumed": resumed, "alike": _alike(resumed, whole)}


@named("stored, killed and resumed")
def killed(scratch: Path) -> Fingerprint:
    """Kill a process that stores a run, and continue in this process."""
    command = [sys.executable, "-c", KILLED, str(scratch / "killed")]
    ended = subprocess.run(command, env=environment(), check=False).returncode
    resumed = of_run(ds.resume(scratch / "killed"))
    whole = of_run(_hoop(scratch / "whole"))
    return {
        "status": ended,
        "resumed": resumed,
        "alike": _alike(resumed, whole),
    }


@named("stored and extended")
def extended(scratch: Path) -> Fingerprint:
    """Extend a finished run, and one that was interrupted before its first end."""
    first = of_run(_hoop(scratch / "short", 300.0))
    longer = of_run(ds.resume(scratch / "short", UNTIL))
    _hoop(scratch / "broken", 300.0, progress=_interrupting(100.0))
    mended = of_run(ds.resume(scratch / "broken", UNTIL))
    return {"first": first, "longer": longer, "alike": _alike(mended, longer)}


@named("stored with events and resets")
def stored_impacts(scratch: Path) -> Fingerprint:
    """Interrupt a run with resets, whose system belongs to no installed problem, and continue."""
    system, start = systems.rimless_wheel(), {"x": -0.3826834323650898, "x_dot": 1.4}
    options: dict[str, Any] = {"at": ds.every(0.05), "verify": True}
    store = scratch / "broken"
    broken = ds.solve(system, 60.0, start, store=store, progress=_interrupting(20.0), **options)
    resumed = of_run(ds.resume(store, source=system))
    whole = of_run(ds.solve(system, 60.0, start, store=scratch / "whole", **options))
    return {"broken": of_run(broken), "resumed": resumed, "alike": _alike(resumed, whole)}


@named("at any time")
def at_any_time(scratch: Path) -> Fingerprint:
    """Ask runs for points between their samples."""
    problems = {"slider-crank": 7.0, "omni-rolling": 20.0, "rolling-wheel": 50.0}
    found: Fingerprint = {}
    for name, until in problems.items():
        run = ds.problem(name).case().solve(until)
        points = [run.at(part * until) for part in (0.0, 0.123, 0.5, 0.987, 1.0)]
        found[name] = digest(points)
    return found


# -- sweeps ---------------------------------------------------------------------------------------

OVER = {"mass": [0.8, 1.0, 1.2], "gravity": names.uniform(1.0, 10.0)}


def _of_sweep(sweep: ds.ensembles.Sweep) -> Fingerprint:
    table = sweep.to_pandas().drop(columns=[*COSTS], errors="ignore")
    samples = sweep.samples_to_pandas()
    return {
        "count": sweep.count,
        "done": sweep.done,
        "failed": sweep.failed,
        "outcomes": table["outcome"].tolist(),
        "columns": list(table.columns),
        "members": digest({name: table[name].tolist() for name in table.columns}),
        "samples": digest({name: samples[name].tolist() for name in samples.columns}),
    }


def _sweep(out: Path, **options: Any) -> Fingerprint:
    case = ds.problem("pendulum").case()
    settings: dict[str, Any] = {"samples": 3, "seed": 7, "until": 5.0, "at": [2.5, 5.0]}
    return _of_sweep(names.sweep(case, OVER, out=out, **{**settings, **options}))


@named("sweep serial")
def sweep_serial(scratch: Path) -> Fingerprint:
    """Sweep in this process."""
    return _sweep(scratch / "sweep", workers=0)


@named("sweep by processes")
def sweep_by_processes(scratch: Path) -> Fingerprint:
    """Sweep in one additional process."""
    return _sweep(scratch / "sweep", workers=1)


@named("sweep in a batch")
def sweep_in_a_batch(scratch: Path) -> Fingerprint:
    """Sweep with the members side by side."""
    return _sweep(scratch / "sweep", workers=0, batch=True)


@named("sweep with another solver")
def sweep_with_another_solver(scratch: Path) -> Fingerprint:
    """Sweep with a given formulation and solver."""
    return _sweep(scratch / "sweep", workers=0, formulation="ggl", solver="idas", until=1.0, at=[1])


@named("sweep interrupted and resumed")
def sweep_resumed(scratch: Path) -> Fingerprint:
    """Interrupt a sweep after some members, and continue from its directory."""
    case = ds.problem("pendulum").case()

    def progress(state: Any) -> None:
        if state.done == 4:
            raise KeyboardInterrupt

    out = scratch / "sweep"
    first = names.sweep(
        case, OVER, out=out, samples=3, seed=7, until=5.0, at=[2.5, 5.0], workers=0,
        progress=progress,
    )  # fmt: skip
    return {"first": first.interrupted, **_of_sweep(names.resume_sweep(out, workers=0))}
