"""One task in this process, from its start: processor seconds by part, and what is compiled."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.common.processes import write


@dataclass(frozen=True)
class Measurement:
    """Processor seconds of a task, by part; no part includes what another one does.

    Parameters
    ----------
    start
        The interpreter, and the imports by which the task begins.
    compiled
        Seconds by function that numba compiled.
    rest
        What none of these parts does.
    """

    task: str
    cold: bool
    total: float
    start: float
    compile: float
    prepare: float
    integrate: float
    report: float
    rest: float
    compiled: dict[str, float]


class Clock:
    """Seconds of parts, each without those within it."""

    def __init__(self) -> None:
        self.found: dict[str, float] = {}
        self._within: list[float] = []

    @contextmanager
    def of(self, part: str) -> Generator[None]:
        """Count what is done here for a part."""
        begin = time.process_time()
        self._within.append(0.0)
        try:
            yield
        finally:
            passed = time.process_time() - begin
            self.found[part] = self.found.get(part, 0.0) + passed - self._within.pop()
            if self._within:
                self._within[-1] += passed

    def patched(self, part: str, owner: object, name: str) -> Any:
        """Count what a function does for a part."""
        function = getattr(owner, name)

        def timed(*arguments: Any, **named: Any) -> Any:
            with self.of(part):
                return function(*arguments, **named)

        return patch.object(owner, name, timed)


def hoop(until: float) -> None:
    """Run the README's command."""
    from daesolve.cli.app import app

    with tempfile.TemporaryDirectory() as out:
        words = ["run", "rolling-wheel", "--case", "hoop", "--until", str(until)]
        app([*words, "--out", f"{out}/hoop", "--quiet"], standalone_mode=False)


def _pendulum() -> Any:
    import daesolve as ds

    q = ds.coordinates(x="m", y="m")
    p = ds.parameters(length=(1.0, "m"), gravity=(9.81, "m/s^2"))
    rod = ds.Holonomic("rod", q.x**2 + q.y**2 - p.length**2)
    return ds.MechanicalSystem(
        q,
        p,
        kinetic=(q.dot.x**2 + q.dot.y**2) / 2,
        potential=p.gravity * q.y,
        goals=[rod],
    )


def pendulum(until: float) -> None:
    """Solve the pendulum of the documentation."""
    import daesolve as ds

    ds.solve(_pendulum(), until=until, initial={"x": -1.0})


def sensitivity(until: float) -> None:
    """Differentiate the end of the pendulum's run by gravity."""
    import daesolve as ds

    ds.analysis.sensitivity(_pendulum(), until, {"x": -1.0}, by=["gravity"])


def batch(until: float) -> None:
    """Sweep sixteen hoops in lanes."""
    import daesolve as ds

    case = ds.problem("rolling-wheel").case("hoop")
    members = [{"speed": 1.5 - 0.01 * number} for number in range(16)]
    with tempfile.TemporaryDirectory() as out:
        ds.sweep(case, members, until=until, workers=0, out=out)


TASKS: dict[str, tuple[Callable[[float], None], float]] = {
    "hoop": (hoop, 1800.0),
    "pendulum": (pendulum, 10.0),
    "sensitivity": (sensitivity, 10.0),
    "batch": (batch, 60.0),
}
"""What runs, and until when, s."""


def measured(task: str, until: float, cold: bool) -> Measurement:
    """Run a task, and return the seconds of this process since it began."""
    from numba.core import event

    from daesolve import reporting
    from daesolve.core.preparation import lately
    from daesolve.core.solvers.scaling import Scaling

    clock, compiled = Clock(), dict[str, float]()
    start = time.process_time()

    class Compilations(event.Listener):
        """Counts outermost compilations."""

        def __init__(self) -> None:
            self.open: list[tuple[Any, float]] = []

        def on_start(self, event: Any) -> None:
            part = clock.of("compile")
            part.__enter__()
            self.open.append((part, time.process_time()))

        def on_end(self, event: Any) -> None:
            part, begin = self.open.pop()
            part.__exit__(None, None, None)
            if not self.open:
                name = event.data["dispatcher"].py_func.__name__
                compiled[name] = compiled.get(name, 0.0) + time.process_time() - begin

    with ExitStack() as stack:
        listen: Any = event.install_listener  # pyright: ignore[reportUnknownVariableType]
        stack.enter_context(listen("numba:compile", Compilations()))
        stack.enter_context(clock.patched("prepare", lately, "prepare"))
        stack.enter_context(clock.patched("integrate", Scaling, "segment"))
        stack.enter_context(clock.patched("report", reporting, "rebuild"))
        TASKS[task][0](until)
    total = time.process_time()
    names = ("compile", "prepare", "integrate", "report")
    parts = {name: clock.found.get(name, 0.0) for name in names}
    rest = total - start - sum(parts.values())
    return Measurement(task, cold, total, start, **parts, rest=rest, compiled=compiled)


def main() -> None:
    """Measure what the arguments say, and write it."""
    results, task, until, cold = sys.argv[1:]
    write(Path(results), [measured(task, float(until), cold == "cold")])


if __name__ == "__main__":
    main()
