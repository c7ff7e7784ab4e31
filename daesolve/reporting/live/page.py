"""Makes the page of a live run: its unit, its data, and what was checked."""

from __future__ import annotations

import base64
import gzip
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from daesolve.core.results.storage.files import located
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.errors import OutOfRangeError, StorageError, Tell, is_number
from daesolve.reporting.content import template
from daesolve.reporting.facts import title
from daesolve.reporting.filming import beginning_of
from daesolve.reporting.live.checking import TOLERANCE, Check, checked
from daesolve.reporting.live.compiling import check_compiler, compiled
from daesolve.reporting.live.drawings import LiveDrawing, live_drawing
from daesolve.reporting.live.posing import LiveRun, Slider, live_run
from daesolve.reporting.sampling import visible_turns

SECONDS = 60.0
"""s, the longest motion that a page computes by default."""
RATE = 25.0
"""Rows a second, where time is short."""
TURNS = 12
"""Rows from one turning point of the fastest state to the next."""
FEWEST, MOST = 400, 6000
"""Rows of a motion."""


@dataclass(frozen=True, eq=False)
class LivePage:
    """A page that computes.

    Parameters
    ----------
    text
        The page, HTML.
    name
        Of what it shows.
    checks
        Its motion against the stored run, at its end and at that of a longer run.
    until
        The time to which it computes by default, s.
    notes
        What a reader should know.
    """

    text: str
    name: str
    checks: tuple[Check, ...]
    until: float
    notes: tuple[str, ...]

    @property
    def difference(self) -> float:
        """The end against the stored run, relative to the largest value of a state, at least 1."""
        return self.checks[0].difference

    def __repr__(self) -> str:
        return (
            f"LivePage of {self.name}, {len(self.text) / 1e3:.0f} kB; page.save(FILE) writes it as "
            ".html"
        )

    def _repr_html_(self) -> str:
        frame = Markup(
            '<iframe srcdoc="{}" title="{}" style="width: 100%; height: 900px; border: 0"></iframe>'
        )
        return frame.format(self.text, self.name)

    def save(self, file: Path | str) -> Path:
        """Write the page; return its file.

        Raises
        ------
        StorageError
            It cannot be written there.
        """
        path = located(file)
        try:
            path.write_text(self.text, encoding="utf-8", newline="\n")
        except OSError as error:
            raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error
        return path


def live(
    run: Trajectory | Path | str,
    *,
    until: float | None = None,
    source: Path | str | None = None,
    tell: Tell | None = None,
) -> LivePage:
    """Return a page on which the motion of a run is computed again, with other values.

    The page is one HTML file that needs neither Python nor a network. It contains the FMI unit of
    the run, compiled to WebAssembly; see `daesolve.export.fmu.to_fmu` for what a unit can do.

    Parameters
    ----------
    run
        A run of this process, or the directory of a stored one.
    until
        The time to which it computes at first, s; by default the end of the run, or the part of it
        that can be followed.
    source, tell
        As in `daesolve.reporting.animate`.

    Raises
    ------
    MissingPackageError
        The compiler is not installed; the message says how to install it.
    UnsupportedError
        A unit cannot compute the motion; the message names the cause.
    OutOfRangeError
        The run does not go until then.
    """
    check_compiler()
    live_ = live_run(run, source, tell)
    begin, last = live_.prepared.start_time, live_.run.end_time
    if until is not None and not (is_number(until) and begin < until <= last):
        raise OutOfRangeError(
            f"until is {until!r}, but the run goes from {begin:g} s to {last:g} s: choose a time "
            "between them"
        )
    end = _followed(live_, begin) if until is None else float(until)
    drawing = live_drawing(live_)
    module = compiled(live_, drawing)
    checks, expected = checked(live_, module, end, _rows(live_, end)[1])
    stored, run_ = live_.origin.identity, live_.run
    name = title({"problem": None, "case": None, "model": None, **stored}) or "Live run"
    data = _data(live_, drawing, module, end, expected)
    text = template("daesolve.reporting.live", "live.html.jinja").render(
        title=name,
        in_space=drawing.axes is not None,
        data=Markup(
            json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
        ),
        checks=checks,
        method=f"{run_.description['formulation']} with {run_.description['solver']}",
        notes=data["notes"],
        drawn=drawing.stored is not None,
    )
    return LivePage(text, name, tuple(checks), end, tuple(data["notes"]))


def _followed(live: LiveRun, begin: float) -> float:
    """Return the end of what can be followed: the run, or its first oscillations."""
    run = live.run
    last = float(run.end_time)
    if last - begin <= SECONDS:
        return last
    count = beginning_of(run.times, list(run.states.values()), SECONDS)
    return min(last, max(begin + SECONDS, float(run.times[min(count, len(run.times)) - 1])))


def _rows(live: LiveRun, end: float) -> tuple[float, int]:
    """Return the rows a second of a page, and all of them until an end."""
    begin = live.prepared.start_time
    turns = max((visible_turns(column) for column in live.run.states.values()), default=0)
    rate = max(RATE, TURNS * turns / (live.run.end_time - begin))
    return rate, int(min(MOST, max(FEWEST, rate * (end - begin))))


def _data(
    live: LiveRun, drawing: LiveDrawing, module: bytes, end: float, expected: np.ndarray
) -> dict[str, Any]:
    """Return the data for the script of the page."""
    variables, problem = live.unit.sheet.variables, live.prepared.problem
    begin, (rate, count) = live.prepared.start_time, _rows(live, end)
    watched = [{"name": entry.name, "kind": entry.kind} for entry in problem.watched]
    return {
        "module": base64.b64encode(gzip.compress(module, 9, mtime=0)).decode(),
        "tolerance": TOLERANCE,
        "begin": begin,
        "end": end,
        "last": live.run.end_time,
        "count": count,
        "rate": rate,
        "most": MOST,
        "states": [{"name": state.name, "unit": state.unit} for state in live.states],
        "allStates": len(variables.states),
        "positions": live.prepared.dynamics.position_count,
        "kept": live.kept,
        "titles": live.titles,
        "shown": [{"name": n, "unit": u, "kind": k} for n, u, k in variables.shown],
        "drift": watched,
        "columns": list(drawing.columns),
        "periods": dict(drawing.periods),
        "values": {value.name: value.default for value in variables.values},
        "given": live.given.words,
        "sliders": [_slider(slider) for slider in live.sliders],
        "drawing": drawing.stored,
        "fixed": drawing.fixed,
        "axes": None if drawing.axes is None else drawing.axes.tolist(),
        "expected": expected.tolist(),
        "notes": [*drawing.notes],
    }


def _slider(slider: Slider) -> dict[str, Any]:
    declared = slider.declared
    low = high = None
    beyond = ""
    if declared is not None:
        low = declared.low if math.isfinite(declared.low) else None
        high = declared.high if math.isfinite(declared.high) else None
        beyond = f"but must be {declared}"
    return {
        "name": slider.name,
        "label": slider.label or slider.name,
        "unit": slider.unit,
        "kind": slider.kind,
        "reference": slider.reference,
        "value": slider.value,
        "from": slider.low,
        "to": slider.high,
        "low": low,
        "high": high,
        "openLow": bool(declared and declared.open_low),
        "beyond": beyond,
        "locked": slider.locked,
    }
