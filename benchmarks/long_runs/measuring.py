"""One run of the hoop in a separate process, whose peak memory is that of the run."""

from __future__ import annotations

import math
import resource
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import daesolve as ds
from benchmarks.common.figures import errors_of
from benchmarks.common.processes import run_module, write
from benchmarks.common.timing import in_turn, processor_seconds, wall_seconds
from tests.reference.rolling_wheel import hoop_states

INTERVAL = 0.1
STRETCHES = 100
"""Number of parts of a run whose energy changes are compared."""
SAMPLES = 1001
MEASURED = ds.Feedback(rates={"energy": None})
FASTER = ds.Feedback(rate=30.0, rates={"energy": None})
FORMULATIONS: dict[str, dict[str, Any]] = {
    "driven": {},
    "measured": {"formulation": MEASURED},
    "measured-30": {"formulation": FASTER},
    "kernel": {"formulation": MEASURED, "solver": ds.Taylor(engine="kernel")},
    "kernel-30": {"formulation": FASTER, "solver": ds.Taylor(engine="kernel")},
    "unfused": {
        "formulation": MEASURED,
        "solver": ds.Taylor(code="unrolled", optimisation=0),
    },
}
"""By name: all but "driven" only measure the energy; "30" drives the constraints at 30/s, not 10/s;
"kernel" uses that engine, and "unfused" uses code that LLVM has not optimised."""


@dataclass(frozen=True)
class Measurement:
    """One run.

    Parameters
    ----------
    part, name, until
        The part it belongs to, the kind of run, and its horizon in s.
    outcome, steps
        How it ended, and the number of steps.
    seconds, processor_seconds
        From the posed problem to the trajectory, without compilation (whose wall-clock seconds are
        subtracted from both): wall-clock seconds, and processor seconds, which mean more on a busy
        machine.
    peak_megabytes
        Peak memory of the process.
    energy_error, energy_exponent
        The largest over all steps, relative to E0 - V_min; its growth exponent.
    residual, residual_exponent
        The largest residual of all other goals over its scale, and the largest exponent.
    bias, bias_error, walk
        The mean amount that a step adds to the relative error of the energy, with its standard
        error; and the standard deviation of the random part.
    state_error
        The largest error of a final state, relative to its size (at least 1).
    """

    part: str
    name: str
    until: float
    outcome: str
    steps: int
    seconds: float
    processor_seconds: float
    peak_megabytes: float
    energy_error: float
    energy_exponent: float | None
    residual: float
    residual_exponent: float | None
    bias: float
    bias_error: float
    walk: float
    state_error: float


def measured(part: str, name: str, until: float, **options: Any) -> Measurement:
    """Run the hoop once, in this process."""
    case = ds.problem("rolling-wheel").case("hoop")
    seconds, (worked, run) = wall_seconds(
        lambda: processor_seconds(lambda: case.solve(until, **options))
    )
    compilation = run.statistics.compile_seconds
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    energy = run.drift["energy"]
    others = [drift for goal, drift in run.drift.items() if goal != "energy"]
    bias, bias_error, walk = _energy_of_a_step(run, energy.scale)
    return Measurement(
        part=part,
        name=name,
        until=until,
        outcome=run.outcome.value,
        steps=run.statistics.steps,
        seconds=seconds - compilation,
        processor_seconds=worked - compilation,
        peak_megabytes=peak,
        energy_error=energy.max_relative,
        energy_exponent=energy.growth_exponent,
        residual=max(drift.max_relative for drift in others),
        residual_exponent=max(
            (drift.growth_exponent for drift in others if drift.growth_exponent is not None),
            default=None,
        ),
        bias=bias,
        bias_error=bias_error,
        walk=walk,
        state_error=_error(case.full_start, run.end_state, run.end_time),
    )


def _energy_of_a_step(run: ds.Trajectory, scale: float) -> tuple[float, float, float]:
    """Return the mean change of the relative energy per step, its error, and its spread."""
    places = np.linspace(0, len(run.times) - 1, STRETCHES + 1).astype(int)
    changes = np.diff(run.outputs["energy"][places]) / scale
    steps = run.statistics.steps / STRETCHES
    spread = float(np.std(changes, ddof=1))
    bias = float(np.mean(changes)) / steps
    return bias, spread / math.sqrt(STRETCHES) / steps, spread / math.sqrt(steps)


def _error(start: Mapping[str, float], end: Mapping[str, float], moment: float) -> float:
    exact = hoop_states([moment], start["contact_x"], start["speed"])
    known = {name: float(exact[name][0]) for name in end}
    return max(errors_of(end, known).values())


def apart(part: str, name: str, until: float, store: Path | None = None) -> Measurement:
    """Run the hoop in a separate process, in memory or into a directory.

    Raises
    ------
    RuntimeError
        The process failed; the message says how.
    """
    kept = [] if store is None else [str(store)]
    lines, crash = run_module("benchmarks.long_runs.measuring", [part, name, repr(until), *kept])
    if crash:
        raise RuntimeError(f"{part}, {name}, {until:g} s: {crash}")
    return Measurement(**lines[0])


def _asked_for(part: str, name: str, until: float, store: str | None) -> Measurement:
    """Run what the parent process asked for."""
    if name in FORMULATIONS:
        at = np.linspace(0.0, until, SAMPLES)
        return measured(part, name, until, at=at, **FORMULATIONS[name])
    options = {} if store is None else {"store": store}
    return measured(part, name, until, at=ds.every(INTERVAL), **options)


def on_disk(until: float, repeats: int) -> list[Measurement]:
    """Alternate runs in memory and on disk; return the median of each by processor seconds."""

    def stored() -> Measurement:
        with tempfile.TemporaryDirectory() as directory:
            return apart("store", "on disk", until, Path(directory) / "run")

    runs = {"in memory": lambda: apart("store", "in memory", until), "on disk": stored}
    found = in_turn(runs, repeats).values()
    median = (repeats - 1) // 2
    return [sorted(again, key=lambda run: run.processor_seconds)[median] for again in found]


def main() -> None:
    """Measure the run named on the command line."""
    results, part, name, until, *store = sys.argv[1:]
    write(Path(results), [_asked_for(part, name, float(until), store[0] if store else None)])


if __name__ == "__main__":
    main()
