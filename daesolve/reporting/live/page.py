"""Makes the page of a live run: its unit, its data, and what was checked."""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from daesolve.core.results.storage.files import located
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.errors import OutOfRangeError, StorageError, Tell, is_number
from daesolve.reporting.content import template

from daesolve.reporting.facts import short, title
from daesolve.reporting.filming import beginning_of
from daesolve.reporting.live.compiling import check_compiler, compiled
from daesolve.reporting.live.drawings import LiveDrawing, live_drawing
from daesolve.reporting.live.posing import LiveRun, Slider, live_run
from daesolve.reporting.live.running import Machine

TOLERANCE = 1e-14
"""Of a step, relative to the size of each state."""
SECONDS = 60.0
"""s, the longest motion that a page computes by default."""
RATE = 25.0
"""Rows a second, where time is short."""
FEWEST, MOST = 400, 6000
"""Rows of a motion."""
TRUSTED = 1e-11
"""How far the end may be from the stored run, relative to the largest value of each state."""


@dataclass(frozen=True, eq=False)
class LivePage:
    """A page that computes.

    Parameters
    ----------
    text
        The page, HTML.
    name
        Of what it shows.
    difference
        The end of its motion against the stored run, relative to the largest value of each state
        (at least 1).
    until
        The time to which it computes by default, s.
    notes
        What a reader should know.
    """

    text: str
    name: str
    difference: float
    until: float
    notes: tuple[str, ...]

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


def live_page(
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
    live = live_run(run, source, tell)
    begin, last = live.prepared.start_time, live.run.end_time
    if until is not None and not (is_number(until) and begin < until <= last):
        raise OutOfRangeError(
            f"until is {until!r}, but the run goes from {begin:g} s to {last:g} s: choose a time "
            "between them"
        )
    end = _followed(live, begin) if until is None else float(until)
    drawing = live_drawing(live)
    module = compiled(live.unit, live.drift, drawing.function)
    check = _checked(live, module, end)
    stored = live.origin.identity
    name = title({"problem": None, "case": None, "model": None, **stored}) or "Live run"
    data = _data(live, drawing, module, end, check)
    text = template("daesolve.reporting.live", "live.html.jinja").render(
        title=name,
        in_space=drawing.axes is not None,
        data=Markup(
            json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
        ),
        check=check,
        notes=data["notes"],
        drawn=drawing.stored is not None,
    )
    return LivePage(text, name, check["difference"], end, tuple(data["notes"]))


def _followed(live: LiveRun, begin: float) -> float:
    """Return the end of what can be followed: the run, or its first oscillations."""
    run = live.run
    last = float(run.end_time)
    if last - begin <= SECONDS:
        return last
    count = beginning_of(run.times, list(run.states.values()), SECONDS)
    return min(last, max(begin + SECONDS, float(run.times[min(count, len(run.times)) - 1])))


def _checked(live: LiveRun, module: bytes, end: float) -> dict[str, Any]:
    """Hold the motion of the page against the stored run, at the end of both."""
    begin, last = live.prepared.start_time, live.run.end_time
    names = [state.name for state in live.states]
    largest = np.array(
        [max(1.0, float(np.nanmax(np.abs(live.run.states[name])))) for name in names]
    )
    with Machine(module) as machine:
        rows = machine.rows((begin, last), 1, TOLERANCE)
        reason = machine.reason
        found = rows[-1]
        known = np.array([live.run.end_state[name] for name in names])
        off = np.abs(found[1 : 1 + len(names)] - known) / largest
        early = abs(found[0] - last) > 1e-9 * max(1.0, abs(last))
        at_end = found if end == last else machine.rows((begin, end), 1, TOLERANCE)[-1]
    worst = int(np.argmax(off))
    difference = float(off[worst]) if np.isfinite(off).all() and not early else math.inf
    return {
        "difference": difference,
        "worst": names[worst],
        "last": last,
        "method": f"{live.run.description['formulation']} with {live.run.description['solver']}",
        "trusted": difference <= TRUSTED,
        "reason": reason if early else "",
        "short": short(difference, 2) if math.isfinite(difference) else "",
        "end": at_end[1 : 1 + len(names)].tolist(),
    }


def _data(
    live: LiveRun, drawing: LiveDrawing, module: bytes, end: float, check: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the data for the script of the page."""
    variables, problem = live.unit.sheet.variables, live.prepared.problem
    begin = live.prepared.start_time
    count = int(min(MOST, max(FEWEST, RATE * (end - begin))))
    watched = [{"name": entry.name, "kind": entry.kind} for entry in problem.watched]
    return {
        "module": base64.b64encode(gzip.compress(module, 9, mtime=0)).decode(),
        "tolerance": TOLERANCE,
        "begin": begin,
        "end": end,
        "last": live.run.end_time,
        "count": count,
        "rate": RATE,
        "most": MOST,
        "states": [{"name": state.name, "unit": state.unit} for state in live.states],
        "allStates": len(variables.states),
        "shown": [{"name": n, "unit": u, "kind": k} for n, u, k in variables.shown],
        "drift": watched,
        "columns": list(drawing.columns),
        "values": {value.name: value.default for value in variables.values},
        "sliders": [_slider(slider) for slider in live.sliders],
        "drawing": drawing.stored,
        "fixed": drawing.fixed,
        "axes": None if drawing.axes is None else drawing.axes.tolist(),
        "expected": check["end"],
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
