"""Measures one package on one chain, in a process of its own; prints a line of JSON a setting."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from .motion import BrokeDownError, Setting, judged, seconds_of

ROOT = Path(__file__).parents[2]
PACKAGES = ("daesolve", "exudyn", "mujoco")
ENOUGH = 1.0
"""Seconds of repetitions, of which the best counts."""
REPEATS = 5


@dataclass(frozen=True)
class Measurement:
    """One setting of a package on a chain.

    Parameters
    ----------
    package, rods, method, accuracy
        What was measured.
    per_step
        Whether it stands for the cost of a step.
    setup_seconds, seconds
        Processor time of building and compiling, and of the integration.
    steps
        How many it took.
    error, gap, energy
        The largest error of a mass centre and gap of a joint at the end, m, and the energy error
        over the kinetic energy.
    reason
        Why it has no result; empty where it has one.
    """

    package: str
    rods: int
    method: str = ""
    accuracy: str = ""
    per_step: bool = False
    setup_seconds: float = 0.0
    seconds: float = 0.0
    steps: int = 0
    error: float = float("nan")
    gap: float = float("nan")
    energy: float = float("nan")
    reason: str = ""

    @property
    def step_seconds(self) -> float:
        """What one step costs."""
        return self.seconds / self.steps


def measure(package: str, rods: int, until: float, patience: float) -> list[Measurement]:
    """Measure a package in a process of its own, on one thread."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "benchmarks.chain.measuring", package]
    with tempfile.TemporaryDirectory() as folder:
        ended = subprocess.run(
            [*command, str(rods), str(until), str(patience)],
            cwd=folder,  # some write logs to where they run
            env={**os.environ, **threads, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
        )
    lines = [line for line in ended.stdout.splitlines() if line.startswith("{")]
    found = [Measurement(**json.loads(line)) for line in lines]
    if ended.returncode != 0:
        last = (ended.stderr.strip().splitlines() or ["no message"])[-1]
        found.append(Measurement(package, rods, reason=f"ended with {ended.returncode}: {last}"))
    return found


def _measured(package: str, rods: int, until: float, patience: float) -> Iterator[Measurement]:
    try:
        module = importlib.import_module(f"benchmarks.chain.{package}")
    except ModuleNotFoundError as missing:
        yield Measurement(package, rods, reason=f"not installed: no module {missing.name!r}")
        return
    slow: set[str] = set()
    for setting in module.settings():
        known = Measurement(package, rods, setting.method, setting.accuracy, setting.per_step)
        if setting.method in slow:
            reason = f"left out for time: a coarser one took over {patience:g} s"
            yield Measurement(**{**asdict(known), "reason": reason})
            continue
        try:
            figures = _figures(setting, rods, until)
        except Exception as error:  # whatever a package raises is its result here
            words = (str(error).strip() or type(error).__name__).splitlines()[0]
            yield Measurement(**{**asdict(known), "reason": words})
            continue
        found = Measurement(**{**asdict(known), **figures})
        if found.seconds > patience:
            slow.add(setting.method)
        yield found


def _figures(setting: Setting, rods: int, until: float) -> dict[str, float]:
    setup, ready = seconds_of(lambda: setting.prepare(rods, until))
    seconds, result = seconds_of(ready.integrate)
    bodies, steps = ready.end(result)
    if steps == 0:
        raise BrokeDownError("it took no step")
    for _ in range(min(REPEATS - 1, int(ENOUGH / max(seconds, 1e-3)))):
        seconds = min(seconds, seconds_of(ready.integrate)[0])
    found = {"setup_seconds": setup, "seconds": seconds, "steps": steps}
    return {**found, **judged(bodies, until)}


def main() -> None:
    """Measure what the command line names."""
    package, rods, until, patience = sys.argv[1:]
    for found in _measured(package, int(rods), float(until), float(patience)):
        print(json.dumps(asdict(found)), flush=True)


if __name__ == "__main__":
    main()
