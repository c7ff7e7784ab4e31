"""A million seconds of the rolling hoop: drift, error at the end, memory, and runs on disk.

Three parts, each run in a process of its own, whose peak memory is its own:

    drift    26 million steps with the energy as a goal and with it only measured, the latter in
             optimised code and in code as it was written: errors against the exact quadrature,
             residuals, how fast the energy's error grows, and what it is made of: a bias of each
             step, and the random walk of rounding
    memory   runs in memory of 1e4 s and 1e5 s with 1001 samples
    store    runs of 1e4 s and 1e5 s with samples every 0.1 s, in memory and on disk

    python -m benchmarks.long_runs [--part drift|memory|store]... [--until S]
        [--formulation driven|measured|unfused]... [--repeats N] [--to FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import daesolve as ds
from tests.reference.rolling_wheel import hoop_states

UNTIL = 1e6
HORIZONS = (1e4, 1e5)
INTERVAL = 0.1
STRETCHES = 100
"""Parts of a run whose changes of energy are compared."""
SAMPLES = 1001
MEASURED = ds.Feedback(rates={"energy": None})
FORMULATIONS: dict[str, dict[str, Any]] = {
    "driven": {},
    "measured": {"formulation": MEASURED},
    "unfused": {
        "formulation": MEASURED,
        "solver": ds.Taylor(code="unrolled", optimisation=0),
    },
}
"""By name: "unfused" measures the energy in code that LLVM has not optimised."""
PARTS = ("drift", "memory", "store")


@dataclass(frozen=True)
class Measurement:
    """One run.

    Parameters
    ----------
    name, until
        What it was, and its horizon in s.
    outcome, steps
        How it ended, after how many steps.
    seconds, processor_seconds
        From the posed problem to the trajectory, without compilation: by the clock, and those that
        processors worked, which say more on a machine that is busy.
    peak_megabytes
        The most memory that its process held.
    energy_error, energy_exponent
        The largest over all steps, relative to E0 - V_min; its growth exponent.
    residual, residual_exponent
        The largest residual of all other goals over its scale, and the largest exponent.
    bias, walk
        What each step adds to the relative error of the energy, on the average, with its
        standard error; and the standard deviation of what it adds at random.
    state_error
        At the end, the largest over the states, relative to the size of each (at least 1).
    """

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
    bias: tuple[float, float]
    walk: float
    state_error: float


def measured(name: str, until: float, **options: Any) -> Measurement:
    """Run the hoop once, in this process."""
    case = ds.problem("rolling-wheel").case("hoop")
    begin, worked = time.perf_counter(), time.process_time()
    run = case.solve(until, **options)
    seconds = time.perf_counter() - begin - run.statistics.compile_seconds
    worked = time.process_time() - worked - run.statistics.compile_seconds
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    energy = run.drift["energy"]
    others = [drift for goal, drift in run.drift.items() if goal != "energy"]
    bias, walk = _energy_of_a_step(run, energy.scale)
    return Measurement(
        name=name,
        until=until,
        outcome=run.outcome.value,
        steps=run.statistics.steps,
        seconds=seconds,
        processor_seconds=worked,
        peak_megabytes=peak,
        energy_error=energy.max_relative,
        energy_exponent=energy.growth_exponent,
        residual=max(drift.max_relative for drift in others),
        residual_exponent=max(
            (drift.growth_exponent for drift in others if drift.growth_exponent is not None),
            default=None,
        ),
        bias=bias,
        walk=walk,
        state_error=_error(case.full_start, run.end_state, run.end_time),
    )


def _energy_of_a_step(run: ds.Trajectory, scale: float) -> tuple[tuple[float, float], float]:
    """Return the mean change of the relative energy in a step, its error, and its spread."""
    places = np.linspace(0, len(run.times) - 1, STRETCHES + 1).astype(int)
    changes = np.diff(run.outputs["energy"][places]) / scale
    steps = run.statistics.steps / STRETCHES
    spread = float(np.std(changes, ddof=1))
    bias = float(np.mean(changes)) / steps, spread / math.sqrt(STRETCHES) / steps
    return bias, spread / math.sqrt(steps)


def _error(start: Mapping[str, float], end: Mapping[str, float], moment: float) -> float:
    exact = hoop_states([moment], start["contact_x"], start["speed"])
    return max(
        abs(value - float(exact[name][0])) / max(1.0, abs(float(exact[name][0])))
        for name, value in end.items()
    )


def apart(name: str, until: float, arguments: Sequence[str] = ()) -> Measurement:
    """Run the hoop in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.long_runs",
        "--child",
        name,
        "--until",
        repr(until),
    ]
    found = subprocess.run([*command, *arguments], check=True, capture_output=True, text=True)
    fields = json.loads(found.stdout)
    return Measurement(**{**fields, "bias": tuple(fields["bias"])})


def child(name: str, until: float, store: str | None) -> Measurement:
    """Do what a process of its own was started for."""
    if name in FORMULATIONS:
        at = np.linspace(0.0, until, SAMPLES)
        return measured(name, until, at=at, **FORMULATIONS[name])
    options = {} if store is None else {"store": store}
    return measured(name, until, at=ds.every(INTERVAL), **options)


def on_disk(until: float, repeats: int) -> list[Measurement]:
    """Run in memory and on disk in turn; return the median of each by the work of processors."""
    found: dict[str, list[Measurement]] = {"in memory": [], "on disk": []}
    for _ in range(repeats):
        found["in memory"].append(apart("in memory", until))
        with tempfile.TemporaryDirectory() as directory:
            kept = ["--store", str(Path(directory) / "run")]
            found["on disk"].append(apart("on disk", until, kept))
    median = (repeats - 1) // 2
    return [sorted(runs, key=lambda run: run.processor_seconds)[median] for runs in found.values()]


def show(entries: Sequence[Measurement]) -> None:
    """Print a table."""
    print(
        f"{'run':10} {'until':>8} {'steps':>9} {'s':>7} {'cpu s':>7} {'MB':>6} {'energy':>8} "
        f"{'exp.':>5} {'residual':>8} {'exp.':>5} {'bias/step':>18} {'walk/step':>9} {'state':>8}"
    )
    for entry in entries:
        bias = f"{entry.bias[0]:+.1e} ± {entry.bias[1]:.0e}"
        print(
            f"{entry.name:10} {entry.until:8g} {entry.steps:9d} {entry.seconds:7.1f} "
            f"{entry.processor_seconds:7.1f} {entry.peak_megabytes:6.0f} {entry.energy_error:8.1e} "
            f"{_exponent(entry.energy_exponent):>5} {entry.residual:8.1e} "
            f"{_exponent(entry.residual_exponent):>5} {bias:>18} {entry.walk:9.1e} "
            f"{entry.state_error:8.1e}" + ("" if entry.outcome == "completed" else entry.outcome)
        )


def _exponent(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def main() -> None:
    """Run what was asked for, print tables and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--until", type=float, default=UNTIL, help="of the part drift, s")
    parser.add_argument("--formulation", choices=FORMULATIONS, action="append")
    parser.add_argument("--repeats", type=int, default=3, help="of the part store")
    parser.add_argument("--to", type=Path, default=Path("long_runs.json"))
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--store", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child is not None:
        print(json.dumps(asdict(child(arguments.child, arguments.until, arguments.store))))
        return
    found: dict[str, list[Measurement]] = {}
    for part in arguments.part or PARTS:
        if part == "drift":
            names = arguments.formulation or FORMULATIONS
            found[part] = [apart(name, arguments.until) for name in names]
        elif part == "memory":
            found[part] = [apart("driven", until) for until in HORIZONS]
        else:
            runs = [on_disk(until, arguments.repeats) for until in HORIZONS]
            found[part] = [entry for pair in runs for entry in pair]
        print(part)
        show(found[part])
    stored = found.get("store", [])
    for memory, disk in zip(stored[::2], stored[1::2], strict=True):
        ratio = disk.processor_seconds / memory.processor_seconds - 1.0
        print(f"{memory.until:g} s: on disk {100 * ratio:+.1f} % of the work in memory")
    told = {part: [asdict(entry) for entry in entries] for part, entries in found.items()}
    arguments.to.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
