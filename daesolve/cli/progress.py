"""The progress bar of a run."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from daesolve.diagnostics.monitor import Monitor
from daesolve.integration.simulation import Progress as Told

LOOKED_AT_EVERY = 0.1
"""s of wall time between two looks at the drift, which cost more than a segment may."""


@contextmanager
def shown(label: str, begin: float, end: float, *, quiet: bool) -> Generator[Told | None]:
    """Show a bar on standard error while a run goes on, where that is a terminal.

    Parameters
    ----------
    label
        What is run.
    begin, end
        s
    quiet
        Show nothing.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        TextColumn("{task.fields[told]}"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        start = _Start()
        task = bar.add_task(label, total=abs(end - begin), told=f"t = {begin:g} s")

        def update(reached: float, monitor: Monitor, events: int) -> None:
            elapsed = start.elapsed(reached)
            if elapsed is None:
                return
            simulated, wall = elapsed
            worst = max((entry.max_relative for entry in monitor.drift().values()), default=0.0)
            words = [f"t = {reached:.6g} s"]
            words += [f"{_speed(abs(simulated) / wall)} s/s"] if wall > 0.0 else []
            words += [f"{events} events"] if events else []
            words += [f"drift {worst:.1e}"]
            bar.update(task, completed=abs(reached - begin), told=" · ".join(words))

        yield update


def _speed(value: float) -> str:
    """Return a number that does not change its width with every picture."""
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.3g}"


class _Start:
    """Where this process began to integrate: a run that goes on has been under way before."""

    def __init__(self) -> None:
        self.time: float | None = None
        self.wall = self.last = time.perf_counter()

    def elapsed(self, reached: float) -> tuple[float, float] | None:
        """Return simulated and wall time since the start; None where that was told just now."""
        now = time.perf_counter()
        if self.time is None:
            self.time, self.wall = reached, now
        elif now - self.last < LOOKED_AT_EVERY:
            return None
        self.last = now
        return reached - self.time, now - self.wall
