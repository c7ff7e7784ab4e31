"""A run in a notebook: its verdict at a glance, its series, its drift, its animation.

`plot`, `plot_drift` and `animate` are methods of runs; see `daesolve.core.features`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from daesolve.core.results.trajectory.samples import StoredSamples
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.errors import is_one_of, unknown_name
from daesolve.plugins.bound_case import BoundCase
from daesolve.reporting import facts
from daesolve.reporting.content import ContentPart, ContentTable, drift_table, paragraph
from daesolve.reporting.document import ROWS, document, load
from daesolve.reporting.figures import drift, position_names, velocity_names
from daesolve.reporting.figures.panels import arrange, draw
from daesolve.reporting.filming import filmed
from daesolve.reporting.html import sparklines
from daesolve.reporting.notebook.blocks import block
from daesolve.reporting.notebook.pictures import Animation, Plot
from daesolve.reporting.opening import with_kept_opening, with_opening

KINDS = ("states", "outputs", "reactions")
"""The order in which names are looked up, as in `Trajectory`."""
NO_SAMPLES = "there are no samples to show"


def run_block(run: Trajectory) -> str:
    """Return the notebook block of a run: verdict, drift, notes."""
    record = _record_of(run)
    cards = [card for card in facts.cards(record) if card.value != facts.NOTHING]
    start, until = record.get("start_time", 0.0), record["until"]
    pair = f"{record['formulation']} + {record['solver']}"
    span = f"{facts.short(start, 6)} s to {facts.short(until, 6)} s"
    named = facts.title(record) if record["problem"] else "Trajectory"
    ended = facts.banner(record)
    why = None if ended is None else ContentPart("", paragraph(ended.detail))
    return block(named, f"{pair}, {span}", cards, [why, _drift(record), _notes(record)])


def _drift(record: Mapping[str, Any]) -> ContentPart | None:
    sparks, plain = sparklines([record])[0], drift_table(record)
    rows = [(name, sparks.get(name, Markup("")), *rest) for name, *rest in plain.rows]
    table = ContentTable((plain.heads[0], "over time", *plain.heads[1:]), rows, (0, 1, 2))
    return ContentPart("Drift", table.in_notebook()) if rows else None


def _notes(record: Mapping[str, Any]) -> ContentPart | None:
    count = record["event_count"]
    lines = [f"The start was made consistent: {change}" for change in facts.changes(record)]
    lines += [f"{count:,} events"] if count else []
    lines += facts.notes(record)
    body = Markup("").join(map(paragraph, lines))
    return ContentPart("Start, events, notes", body, folded=True) if lines else None


def plot(run: Trajectory, *names: str) -> Plot:
    """Draw series against time; long motions get a second panel with the first oscillations.

    Parameters
    ----------
    *names
        Of states, reactions and outputs; by default all states.

    Returns
    -------
    Plot
        A notebook shows it; `plot.save("x.png")` writes it, and `plot.figures` are Matplotlib
        figures.

    Raises
    ------
    UnknownNameError
        A name is unknown.

    Examples
    --------
    `run.plot("x", "rod")`
    """
    record = _record_of(run)
    kinds = {name: _kind_of(record, name) for name in names}
    chosen = {kind: [n for n, its in kinds.items() if its == kind] for kind in KINDS}
    if names:
        panels = [arrange([record], kind, of_kind) for kind, of_kind in chosen.items() if of_kind]
    else:
        groups = position_names([record]), velocity_names([record])
        panels = [arrange([record], "states", group) for group in groups if group]
    figures = [figure for each in panels for figure in draw(each, NO_SAMPLES)]
    return Plot(tuple(figures or draw([], NO_SAMPLES)))


def _kind_of(record: Mapping[str, Any], name: str) -> str:
    for kind in KINDS:
        if is_one_of(name, record[kind]):
            return kind
    known = [n for kind in KINDS for n in record[kind]]
    raise unknown_name("state, reaction or output", name, known)


def plot_drift(run: Trajectory) -> Plot:
    """Draw the residuals over time, with the growth of rounding errors for comparison.

    Returns
    -------
    Plot
        As in `plot`.
    """
    return Plot((drift([_record_of(run)]),))


def animate(run: Trajectory, **options: Any) -> Animation:
    """Return the animation of the run, which a notebook plays.

    Parameters
    ----------
    **options
        `seconds` of playing time, `rate` in pictures per second, `begin` and `end` of the part
        to show, and `drawing`: see `daesolve.reporting.animate`.

    Returns
    -------
    Animation
        `animation.save("run.gif")` writes it, also as .html or .mp4.

    Raises
    ------
    ReportError
        Nothing can be drawn, or there are fewer than two samples.
    """
    return Animation(run, options, filmed(run, **options))


def _record_of(run: Trajectory) -> dict[str, Any]:
    """Return the document of a run, with as many samples as figures need, and its beginning."""
    if isinstance(run.samples, StoredSamples):
        directory = run.samples.stored.directory
        return with_opening(with_kept_opening(load(directory), directory), run)
    identity = run.origin.identity() if isinstance(run.origin, BoundCase) else {}
    return with_opening(document(run.thinned(ROWS), identity), run)
