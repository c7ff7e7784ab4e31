"""The verdict on a model file as a JSON object, in a terminal, and as a page with figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from daesolve.core.run.solving.descriptions import versions
from daesolve.multibody.referee.refereeing import RefereeReport
from daesolve.multibody.referee.verdict import RefereeVerdict, Side, order
from daesolve.reporting.content import ContentPart, ContentTable, figure_parts, page_of, sentence
from daesolve.reporting.document import DrawingRule, dump, fields_of, plain, replace_file
from daesolve.reporting.facts import seconds, short
from daesolve.reporting.layout import Indented, WrappedText
from daesolve.reporting.sampling import Document

if TYPE_CHECKING:
    from daesolve.reporting.figures.refereeing import Still

NOTHING = "none"
CONVERGES = 0.5
"""The power of the step from which on motions count as coming nearer."""


def referee_document(verdict: RefereeVerdict, *, series: bool = False) -> Document:
    """Return a verdict as an object for JSON.

    Parameters
    ----------
    verdict
        What was found.
    series
        Whether times, gaps, energies and distances come with it.
    """
    apart = {one.step: one for one in verdict.divergences}
    runs: list[dict[str, Any]] = []
    for side in (verdict.own, *verdict.others):
        entry = _side(side, series=series)
        if side.step is not None:
            found = apart[side.step]
            entry |= {"apart_at": found.leaves, "apart_at_the_end": found.distances[-1]}
            entry |= {"distances": found.distances} if series else {}
        runs.append(entry)
    return plain(
        {
            "file": verdict.name,
            **fields_of(verdict, "until tolerance bodies joints conserved start_moved"),
            "rows_of_equalities": verdict.loops,
            "runs": runs,
            "orders": order(verdict.divergences),
            "goals": {
                name: {"largest": size, "unit": unit}
                for name, (size, unit) in verdict.goals.items()
            },
            **fields_of(verdict, "preparation notes"),
            "versions": versions(),
        }
    )


def _side(side: Side, *, series: bool) -> dict[str, Any]:
    motion = side.motion
    entry: dict[str, Any] = {
        **fields_of(side, "package method step gap turn seconds"),
        "energy_drift": side.drift,
        "end_time": motion.times[-1],
        "message": motion.message,
    }
    if series:
        entry |= fields_of(motion, "times gaps energy work")
    return entry


def runs_table(document: Document) -> ContentTable:
    """Return a row for each run, in words."""
    found: list[tuple[str, ...]] = []
    for entry in document["runs"]:
        own = entry["step"] is None
        title = f"{entry['package']} {entry['method']}"
        title += "" if own else f" {short(entry['step'], 6)} s"
        leaves = entry.get("apart_at")
        found.append(
            (
                title,
                _gap(entry),
                short(entry["energy_drift"]),
                "" if own else "never" if leaves is None else f"{short(leaves, 4)} s",
                "" if own else f"{short(entry['apart_at_the_end'])} m",
                seconds(entry["seconds"]),
            )
        )
    heads = ("run", "loop gap", "energy drift", "apart at", "end apart", "seconds")
    return ContentTable(heads, found)


def _gap(entry: Mapping[str, Any]) -> str:
    sizes = [
        f"{short(entry[name])} {unit}"
        for name, unit in (("gap", "m"), ("turn", "rad"))
        if entry[name] is not None
    ]
    return ", ".join(sizes) or NOTHING


def sentences(document: Document) -> list[str]:
    """Return further notes for the reader."""
    found: list[str] = []
    if document["start_moved"] > 0.0:
        found.append(
            f"Closing the loops moved the joints of the start by {short(document['start_moved'])} "
            "at most, for both."
        )
    orders = [value for value in document["orders"] if value is not None]
    if orders and max(orders) < CONVERGES:
        found.append(
            "Halving MuJoCo's step does not bring it closer to daesolve: the step does not "
            "cause the difference."
            + (" Its equalities are soft; see --hard." if document["rows_of_equalities"] else "")
        )
    elif orders:
        listed = ", ".join(f"{value:.2f}" for value in orders)
        found.append(
            f"Halving MuJoCo's step brings it closer to daesolve; the observed orders are {listed}."
        )
    worst = max(document["goals"].items(), key=lambda pair: pair[1]["largest"], default=None)
    if worst is not None:
        found.append(
            "Over every accepted step of daesolve the largest residual of any joint or loop was "
            f"{short(worst[1]['largest'])} {worst[1]['unit']}".rstrip()
            + f" ({worst[0]})."
        )
    stages = ", ".join(f"{name} {seconds(took)}" for name, took in document["preparation"].items())
    if stages:
        found.append(f"Before its run daesolve needed: {stages}.")
    found += [entry["message"] for entry in document["runs"] if entry["message"]]
    return found + list(document["notes"])


def subtitle(document: Document) -> str:
    """Return a line that describes the runs."""
    return (
        f"{document['bodies']} bodies, {document['joints']} speeds of joints, "
        f"{document['rows_of_equalities']} rows of equalities; to {short(document['until'], 6)} s; "
        f"apart means {short(document['tolerance'])} m"
    )


def referee_text(document: Document) -> RenderableType:
    """Return a verdict for Rich's console."""
    table = runs_table(document).in_terminal((1,))
    lines = [Indented(Text(sentence)) for sentence in sentences(document)]
    title = WrappedText(Text(document["file"], style="bold"))
    return Group(title, WrappedText(Text(subtitle(document))), Text(), table, Text(), *lines)


def stills(found: RefereeReport, rule: DrawingRule) -> list[Still]:
    """Return the bodies at the end by each package; nothing where their drawing is none.

    Parameters
    ----------
    found
        The runs; of MuJoCo's the one with the shortest step is drawn.
    rule
        Draws a run of the mechanism.
    """
    from daesolve.reporting.figures.refereeing import Still

    run, last = found.own.trajectory, found.others[-1]
    ends = {
        "daesolve": dict(run.end_state),
        f"MuJoCo, {short(last.step, 6)} s": found.mechanism.start_from(
            last.last, np.zeros(found.verdict.joints)
        ),
    }
    parameters: dict[str, float] = run.description.get("parameters", {})
    drawn: list[Still] = []
    for title, state in ends.items():
        states = {name: np.array([value]) for name, value in state.items()}
        at_the_end = {"times": [0.0], "states": states, "parameters": parameters, "outputs": {}}
        drawing = rule(at_the_end)
        if drawing is None:
            return []
        values = {name: np.asarray(column, dtype=float) for name, column in drawing.series.items()}
        drawn.append(Still(title, drawing, {**states, **values}, parameters))
    return drawn


def write_referee(directory: Path, verdict: RefereeVerdict, drawn: Sequence[Still]) -> Path:
    """Write report.html and report.json, and return the page.

    Parameters
    ----------
    directory
        An existing directory.
    verdict
        What was found.
    drawn
        The bodies at the end, by each package; see `stills`.
    """
    from daesolve.reporting.figures.refereeing import at_the_end, divergence, energy, gaps

    document = referee_document(verdict)
    whole = referee_document(verdict, series=True)
    replace_file(directory / "report.json", dump(whole, indent=1) + "\n")
    figures = {
        "Gaps of the loops": gaps(verdict),
        "Drift of the energy": energy(verdict),
        "Distance between the motions": divergence(verdict),
        "At the end": at_the_end(drawn) if drawn else None,
    }
    goals = [
        (name, short(goal["largest"]), goal["unit"]) for name, goal in document["goals"].items()
    ]
    residuals = ContentTable(("goal", "largest", "unit"), goals, (0, 2))
    page = page_of(
        f"{document['file']}: daesolve beside MuJoCo",
        subtitle(document),
        [
            ContentPart("", runs_table(document).in_page()),
            *(ContentPart("", sentence(words)) for words in sentences(document)),
            *figure_parts(figures, "referee"),
            ContentPart("Residuals of daesolve, over every accepted step", residuals.in_page())
            if goals
            else None,
        ],
        with_versions=True,
    )
    return replace_file(directory / "report.html", page)
