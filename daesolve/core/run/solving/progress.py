"""Shows the progress of a run: a bar in a terminal or a notebook, otherwise lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from html import escape
from typing import Any

from daesolve.core.run.integration.simulation import Progress
from daesolve.core.run.integration.watches.monitor import Monitor

LOOKED_AT_EVERY = 0.1
"""s of wall time between two looks at the drift, which cost more than a segment may."""
LINES = 10
"""The number of lines if no bar can be drawn."""
BAR = (
    '<div style="font: 13px/1.5 system-ui, sans-serif"><progress max="1" value="{share:.4f}" '
    'style="width: 16rem; vertical-align: middle"></progress> {words}</div>'
)

Draw = Callable[[float, str], None]
"""Shows the completed fraction of the horizon, from 0 to 1, with a short text."""


@contextmanager
def showing(
    progress: Progress | bool | None, begin: float, end: float, label: str = ""
) -> Generator[Progress | None]:
    """Show the progress of a run, if requested.

    Parameters
    ----------
    progress
        True for a bar in a notebook or a terminal, otherwise ten lines on standard error; False or
        None for nothing; or a function that is called after each segment.
    begin, end
        s
    label
        What is run.
    """
    if progress is not True:
        yield progress or None
        return
    drawing = _in_notebook if is_notebook() else _in_terminal if sys.stderr.isatty() else _in_lines
    with drawing(label) as draw:
        yield _following(draw, begin, end)


def is_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def _following(draw: Draw, begin: float, end: float) -> Progress:
    """Return what is called after each segment."""
    start = _Start()

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
        draw(abs(reached - begin) / (abs(end - begin) or 1.0), " · ".join(words))

    return update


@contextmanager
def _in_terminal(label: str) -> Generator[Draw]:
    from rich.console import Console  # which takes long to import
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=16),
        TextColumn("{task.fields[now]}", markup=False),
        TimeRemainingColumn(compact=True),
    )
    console = Console(stderr=True, markup=False, emoji=False)
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=1.0, now="")
        yield lambda share, words: bar.update(task, completed=share, now=words)


@contextmanager
def _in_notebook(label: str) -> Generator[Draw]:
    """Show a bar below the cell; it disappears when the run has ended, like that of a terminal."""
    from IPython.display import HTML, display  # pyright: ignore  # a notebook's kernel has it

    shown: Any = display(HTML(BAR.format(share=0.0, words=escape(label))), display_id=True)

    def draw(share: float, words: str) -> None:
        caption = f"{label} · {words}" if label else words
        shown.update(HTML(BAR.format(share=share, words=escape(caption))))

    try:
        yield draw
    finally:
        shown.update(HTML(""))


@contextmanager
def _in_lines(label: str) -> Generator[Draw]:
    tenth = 0

    def draw(share: float, words: str) -> None:
        nonlocal tenth
        if int(LINES * share) > tenth:
            tenth = int(LINES * share)
            caption = f"{label} · {words}" if label else words
            print(f"daesolve: {100.0 * share:.0f} % · {caption}", file=sys.stderr, flush=True)

    yield draw


def _speed(value: float) -> str:
    """Return a number that does not change its width with every picture."""
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.3g}"


class _Start:
    """Where this process began to integrate: a continued run began earlier."""

    def __init__(self) -> None:
        self.time: float | None = None
        self.wall = self.last = time.perf_counter()

    def elapsed(self, reached: float) -> tuple[float, float] | None:
        """Return simulated and wall time since the start; None if it was asked just now."""
        now = time.perf_counter()
        if self.time is None:
            self.time, self.wall = reached, now
        elif now - self.last < LOOKED_AT_EVERY:
            return None
        self.last = now
        return reached - self.time, now - self.wall
