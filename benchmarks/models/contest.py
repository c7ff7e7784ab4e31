"""One stiff model file and one start, run in several ways."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.attempts import untyped
from benchmarks.common.processes import write
from benchmarks.common.timing import processor_seconds
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.solving.solving import solve
from daesolve.core.solvers import RadauIIA, Solver, Taylor
from daesolve.multibody import read
from daesolve.multibody.model_files import FileMechanism
from daesolve.multibody.referee.engine import CommonStart, Gauge, closed, compiled_with, switch_off
from daesolve.multibody.referee.own_run import Sight

from .measuring import start_values, title

TOLERANCES = (1e-5, 1e-6, 1e-7, 1e-8)
FINEST = 1e-11
STEPS = (2e-3, 1e-3, 5e-4, 2e-4, 1e-4)
LIMIT = 1.25e-5
"""MuJoCo's steps, s."""


@dataclass(frozen=True)
class Precision:
    """A run of a model file.

    Parameters
    ----------
    name, by
        The file, and what ran it.
    steps
        How many steps it took.
    seconds
        Processor seconds.
    error, own_error
        m; None where there is none.
    reason
        Why there is no result; otherwise empty.
    """

    name: str
    by: str = ""
    steps: int = 0
    seconds: float = 0.0
    error: float | None = None
    own_error: float | None = None
    reason: str = ""


class Contest:
    """One file and one start, run in several ways.

    Parameters
    ----------
    file
        The model.
    until
        The horizon, s.
    """

    def __init__(self, file: Path, until: float) -> None:
        self.until, self.mechanism = until, read(file, contacts="none")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of words of the file
            self._model = compiled_with(self.mechanism.path, ())
        switch_off(self._model, self.mechanism.left_out)
        self._gauge = Gauge(self._model)
        self._start = _start(self.mechanism, self._gauge)
        self._system = self.mechanism.system()

    def own(self, solver: Solver | None, rtol: float | None) -> tuple[np.ndarray, int, float, str]:
        """Run twice by daesolve; return the mass centres, steps, seconds and the solver's name."""
        start, mechanism = self._start, self.mechanism
        values = mechanism.values_at(start.qpos, start.qvel)
        chosen: dict[str, Any] = {"solver": solver}
        if rtol is not None:
            chosen |= {"rtol": rtol, "atol": rtol}

        def run() -> Trajectory:
            return solve(
                self._system,
                self.until,
                guess=mechanism.start_from(start.qpos, start.qvel),
                parameters=mechanism.discrete_values_with(values),
                at=[self.until],
                redundant="minimum-norm",
                **chosen,
            )

        run()
        seconds, found = processor_seconds(run)
        places = Sight(mechanism, self._gauge, found).positions[-1]
        return places, found.statistics.steps, seconds, str(found.description["solver"])

    def mujoco(self, step: float) -> tuple[np.ndarray, int, float]:
        """Run by MuJoCo; return the mass centres, steps and seconds."""
        mj, model = untyped("mujoco"), self._model
        model.opt.integrator, model.opt.timestep = mj.mjtIntegrator.mjINT_IMPLICITFAST, step
        data, count = mj.MjData(model), round(self.until / step)
        data.qpos[:], data.qvel[:] = self._start.qpos, self._start.qvel
        seconds, _ = processor_seconds(lambda: mj.mj_step(model, data, count))
        self._gauge.look(data.qpos, data.qvel)
        return self._gauge.positions, count, seconds


def _start(mechanism: FileMechanism, gauge: Gauge) -> CommonStart:
    """Return a pose within limits with random speeds, as in the other table."""
    values = {**mechanism.start_values, **start_values(mechanism)}
    qpos, qvel = np.zeros(int(gauge.model.nq)), np.zeros(int(gauge.model.nv))
    for freedom in mechanism.freedoms.values():
        freedom.put(values, qpos, qvel)
    return closed(gauge, qpos, qvel)


def measured(file: Path, until: float, *, explicit: bool) -> Iterator[Precision]:
    """Run a file in all ways."""
    contest, name = Contest(file, until), title(file)

    def apart(places: np.ndarray, others: np.ndarray) -> float:
        return float(np.max(np.linalg.norm(places - others, axis=1)))

    exact = contest.own(RadauIIA(rtol=FINEST, atol=FINEST), None)[0]
    ways: list[tuple[Solver | None, float | None]] = [(None, rtol) for rtol in TOLERANCES]
    if explicit:
        ways = [(Taylor(), None), *ways]
    for solver, rtol in ways:
        places, steps, seconds, by = contest.own(solver, rtol)
        by = by if rtol is None else f"{by}, {rtol:.0e}"
        yield Precision(name, by, steps, seconds, apart(places, exact))
    limit = contest.mujoco(LIMIT)[0]
    for step in STEPS:
        places, count, seconds = contest.mujoco(step)
        by = f"MuJoCo, {1e3 * step:g} ms"
        yield Precision(name, by, count, seconds, apart(places, exact), apart(places, limit))


if __name__ == "__main__":
    write(
        Path(sys.argv[1]),
        measured(Path(sys.argv[2]), float(sys.argv[3]), explicit="explicit" in sys.argv[4:]),
    )
