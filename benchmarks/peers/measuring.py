"""Measures one package on one task in a separate process, so that its import counts."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.common.attempts import BrokeDownError, attempts, installed
from benchmarks.common.figures import Figures
from benchmarks.common.processes import run_module, write
from benchmarks.common.timing import least

from .contestant import Contestant, Motion
from .tasks import TASKS, Task

PEERS = ("daesolve", "scipy", "solve_dae", "sksundae", "exudyn", "mujoco", "pinocchio")
USELESS = 0.1
"""An error this large means that not one digit is right."""
ENOUGH = 2.0
"""Seconds of repetitions after the first run."""


@dataclass(frozen=True)
class Effort:
    """How much to measure.

    Parameters
    ----------
    repeats
        Number of integrations, as far as `ENOUGH` allows; the best counts.
    patience
        s; after a setting that takes longer, the finer ones of its method are skipped.
    """

    repeats: int
    patience: float

    @property
    def limit(self) -> float:
        """Seconds after which a setting is abandoned."""
        return 10 + 3 * self.patience


@dataclass(frozen=True)
class Measurement:
    """One setting of a package on a task.

    Parameters
    ----------
    peer, task, method, setting
        What was measured.
    import_seconds, setup_seconds, seconds
        For the import, for building and compiling the model (the extra time of the first
        integration), and for the integration (the best).
    steps
        Accepted steps.
    error
        Error of the first point at the end.
    gap
        The largest constraint residual, as a length, m.
    energy
        The largest energy error over E0 - V_min.
    reason
        Why there is no result; empty if there is one.
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
        """Whether the run finished near the right position."""
        return not self.reason and self.error < USELESS


def measure(peer: str, task: str, effort: Effort) -> list[Measurement]:
    """Measure a package in a separate process."""
    arguments = [peer, task, json.dumps(asdict(effort))]
    lines, crash = run_module("benchmarks.peers.measuring", arguments)
    found = [Measurement(**fields) for fields in lines]
    return [*found, Measurement(peer, task, reason=crash)] if crash else found


def _measured(peer: str, task: Task, effort: Effort) -> Iterator[Measurement]:
    begin = time.perf_counter()
    try:
        module = installed(f"benchmarks.peers.{peer}")
    except BrokeDownError as missing:
        yield Measurement(peer, task.name, reason=str(missing))
        return
    imported = time.perf_counter() - begin
    settings: list[Contestant] = module.contestants(task)
    for attempt in attempts(settings, lambda one: _figures(one, task, effort), effort.patience):
        one, figures = attempt.setting, attempt.figures
        known = Measurement(
            peer, task.name, one.method, one.setting, imported, reason=attempt.reason
        )
        yield replace(known, **asdict(figures)) if figures else known


def _figures(contestant: Contestant, task: Task, effort: Effort) -> Figures:
    with _given_up_after(effort.limit):
        begin = time.perf_counter()
        ready = contestant.prepare()
        seconds, result = ready.integrate()
        first = time.perf_counter() - begin
    with _given_up_after(effort.limit):
        motion = ready.motion(result)
        seconds = least(seconds, lambda: ready.integrate()[0], effort.repeats, ENOUGH)
    error, gap, energy = _drift(motion, task)
    return Figures(first - seconds, seconds, motion.steps, error, gap, energy)


def _drift(motion: Motion, task: Task) -> tuple[float, float, float]:
    """Return the error at the end, the largest gap, m, and the largest energy error."""
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
    return error, gap, float(np.max(change)) / task.height


@contextmanager
def _given_up_after(seconds: float) -> Generator[None]:
    """Interrupt a solver that calls Python and does not finish in time."""

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
    """Measure the package and task named on the command line, with one line of JSON per setting."""
    results, peer, task, effort = sys.argv[1:]
    write(Path(results), _measured(peer, TASKS[task], Effort(**json.loads(effort))))


if __name__ == "__main__":
    main()
