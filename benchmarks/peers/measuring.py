"""Measures one package on one task, in a process of its own.

A package that hangs or crashes takes nobody with it, and imports are paid for one at a time.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .contestant import BrokeDownError, Contestant, Motion
from .tasks import TASKS, Task

ROOT = Path(__file__).parents[2]
PEERS = ("daesolve", "scipy", "solve_dae", "sksundae", "exudyn", "mujoco", "pinocchio")
USELESS = 0.1
"""An error at which not one digit is right."""
ENOUGH = 2.0
"""Seconds of repetitions."""


@dataclass(frozen=True)
class Effort:
    """How much is measured.

    Parameters
    ----------
    repeats
        Integrations of which the best counts, as far as `ENOUGH` allows.
    patience
        s; where one setting of a method took longer, the finer ones are left out.
    """

    repeats: int
    patience: float

    @property
    def limit(self) -> float:
        """The seconds after which a setting is given up."""
        return 10 + 3 * self.patience


@dataclass(frozen=True)
class Measurement:
    """One setting of a package on a task.

    Parameters
    ----------
    peer, task, method, setting
        What was measured.
    import_seconds, setup_seconds, seconds
        Of the import, of building and compiling the model (what the first integration took
        longer), of the integration (the best).
    steps
        Accepted.
    error
        Of the first point at the end.
    gap
        The largest constraint residual, as a length, m.
    energy
        The largest energy error over E0 - V_min.
    reason
        Why it has no result; empty where it has one.
    """

    peer: str
    task: str
    method: str = ""
    setting: str = ""
    import_seconds: float = 0.0
    setup_seconds: float = 0.0
    seconds: float = 0.0
    steps: int = 0
    error: float = float("nan")
    gap: float = float("nan")
    energy: float = float("nan")
    reason: str = ""

    @property
    def useful(self) -> bool:
        """Whether it ended, and near the right place."""
        return not self.reason and self.error < USELESS


def measure(peer: str, task: str, effort: Effort) -> list[Measurement]:
    """Measure a package in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.jsonl"
        command = [sys.executable, "-m", "benchmarks.peers.measuring", peer, task, str(results)]
        ended = subprocess.run(
            [*command, json.dumps(asdict(effort))],
            cwd=folder,  # some write logs to where they run
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        lines = results.read_text().splitlines() if results.exists() else []
    found = [Measurement(**json.loads(line)) for line in lines]
    if ended.returncode != 0:
        last = (ended.stderr.strip().splitlines() or ["no message"])[-1]
        crash = f"the process ended with status {ended.returncode}: {last}"
        found.append(Measurement(peer, task, reason=crash))
    return found


def _measured(peer: str, task: Task, effort: Effort) -> Iterator[Measurement]:
    begin = time.perf_counter()
    try:
        module = importlib.import_module(f"benchmarks.peers.{peer}")
    except ModuleNotFoundError as missing:
        yield Measurement(peer, task.name, reason=f"not installed: no module {missing.name!r}")
        return
    imported = time.perf_counter() - begin
    left_out: set[str] = set()
    for contestant in module.contestants(task):
        base = {
            "peer": peer,
            "task": task.name,
            "method": contestant.method,
            "setting": contestant.setting,
            "import_seconds": imported,
        }
        if contestant.method in left_out:
            reason = f"left out for time: a coarser one took over {effort.patience:g} s"
            yield Measurement(**base, reason=reason)
            continue
        begin = time.perf_counter()
        try:
            found = Measurement(**base, **_figures(contestant, task, effort))
        # whatever a package raises is its result here
        except Exception as error:
            found = Measurement(**base, reason=_words(error))
        took = time.perf_counter() - begin if found.reason else found.seconds
        if took > effort.patience:
            left_out.add(contestant.method)
        yield found


def _words(error: BaseException) -> str:
    """Return what went wrong, below what a package made of it."""
    cause = error
    while cause and not isinstance(cause, BrokeDownError):
        cause = cause.__cause__ or cause.__context__
    words = str(cause or error).strip() or type(error).__name__
    return words.splitlines()[0]


def _figures(contestant: Contestant, task: Task, effort: Effort) -> dict[str, Any]:
    with _given_up_after(effort.limit):
        begin = time.perf_counter()
        ready = contestant.prepare()
        seconds, result = ready.integrate()
        first = time.perf_counter() - begin
    with _given_up_after(effort.limit):
        motion = ready.motion(result)
        for _ in range(min(effort.repeats - 1, int(ENOUGH / seconds))):
            seconds = min(seconds, ready.integrate()[0])
    return {
        "seconds": seconds,
        "setup_seconds": first - seconds,
        "steps": motion.steps,
        **_drift(motion, task),
    }


def _drift(motion: Motion, task: Task) -> dict[str, float]:
    mechanism = task.mechanism
    positions, velocities = motion.positions, motion.velocities
    error = task.error(positions[-1], velocities[-1])
    if not np.isfinite(error):
        raise BrokeDownError("the state became infinite")
    gap = float(np.max(np.abs(mechanism.gaps(positions))))
    if motion.gaps is not None:
        gap = max(gap, float(np.max(motion.gaps)))
    first = mechanism.energy(mechanism.start[None], mechanism.start_rate[None])
    change = np.abs(mechanism.energy(positions, velocities) - first)
    return {"error": error, "gap": gap, "energy": float(np.max(change)) / task.height}


@contextmanager
def _given_up_after(seconds: float) -> Iterator[None]:
    """Raise in the midst of a solver that calls Python and does not come to an end."""

    def give_up(*_: object) -> None:
        raise BrokeDownError(f"no end in sight after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def main() -> None:
    """Measure what the command line names, a line of JSON for each setting."""
    peer, task, results, effort = sys.argv[1:]
    with Path(results).open("w") as file:
        for found in _measured(peer, TASKS[task], Effort(**json.loads(effort))):
            print(json.dumps(asdict(found)), file=file, flush=True)


if __name__ == "__main__":
    main()
