"""Measures one package on one chain, in a separate process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.common.attempts import BrokeDownError, attempts, installed
from benchmarks.common.figures import Figures
from benchmarks.common.processes import ONE_THREAD, run_module, write
from benchmarks.common.timing import least, processor_seconds

from .motion import Setting, judged

PACKAGES = ("daesolve", "exudyn", "mujoco")
ENOUGH = 1.0
"""Seconds of repetitions; the best counts."""
REPEATS = 5


@dataclass(frozen=True)
class Measurement:
    """One setting of a package on a chain.

    Parameters
    ----------
    package, rods, until, method, accuracy
        What was measured, and the seconds of motion.
    per_step
        Whether this setting represents the cost of a step.
    setup_seconds, seconds
        Processor time of building and compiling, and of the integration.
    steps
        Number of steps.
    error, gap, energy
        The largest error of a mass centre and gap of a joint at the end, m, and the energy error
        over the kinetic energy.
    reason
        Why there is no result; empty if there is one.
    """

    package: str
    rods: int
    until: float
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
        """The cost of one step."""
        return self.seconds / self.steps


def measure(package: str, rods: int, until: float, patience: float) -> list[Measurement]:
    """Measure a package in a separate process, on one thread."""
    arguments = [package, str(rods), str(until), str(patience)]
    lines, crash = run_module("benchmarks.chain.measuring", arguments, ONE_THREAD)
    found = [Measurement(**fields) for fields in lines]
    return [*found, Measurement(package, rods, until, reason=crash)] if crash else found


def _measured(package: str, rods: int, until: float, patience: float) -> Iterator[Measurement]:
    try:
        module = installed(f"benchmarks.chain.{package}")
    except BrokeDownError as missing:
        yield Measurement(package, rods, until, reason=str(missing))
        return
    settings: list[Setting] = module.settings()
    for attempt in attempts(settings, lambda one: _figures(one, rods, until), patience):
        one, figures = attempt.setting, attempt.figures
        known = Measurement(
            package, rods, until, one.method, one.accuracy, one.per_step, reason=attempt.reason
        )
        yield replace(known, **asdict(figures)) if figures else known


def _figures(setting: Setting, rods: int, until: float) -> Figures:
    setup, ready = processor_seconds(lambda: setting.prepare(rods, until))
    seconds, result = processor_seconds(ready.integrate)
    bodies, steps = ready.end(result)
    if steps == 0:
        raise BrokeDownError("it took no step")
    seconds = least(seconds, lambda: processor_seconds(ready.integrate)[0], REPEATS, ENOUGH)
    error, gap, energy = judged(bodies, until)
    return Figures(setup, seconds, steps, error, gap, energy)


def main() -> None:
    """Measure the package and chain named on the command line."""
    results, package, rods, until, patience = sys.argv[1:]
    write(Path(results), _measured(package, int(rods), float(until), float(patience)))


if __name__ == "__main__":
    main()
