"""The verdict on a model file as a JSON object, in a terminal, and as a page with figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from daesolve.core.run.solving.descriptions import versions
from daesolve.multibody.referee.barriers import Barrier
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
SLIGHTLY = 0.1
"""The smaller distance at which motions part, over the tolerance."""
MOST = 8
"""First touches that are listed."""
ROUNDED = 1e-9
"""Growths of the energy that are mentioned, over the largest kinetic energy."""
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
        entry = _side(side, series=series) | {"touches": _touches(side, verdict.barriers)}
        if side.step is not None:
            found = apart[side.step]
            entry |= {f"apart_{how}": found.leaves(part * verdict.tolerance)
                      for how, part in (("slightly_at", SLIGHTLY), ("at", 1.0))}  # fmt: skip
            entry |= {"apart_at_the_end": found.distances[-1]}
            entry |= {"distances": found.distances} if series else {}
        runs.append(entry)
    return plain(
        {
            "file": verdict.name,
            **fields_of(verdict, "until tolerance bodies joints conserved start_moved contacts"),
            "rows_of_equalities": verdict.loops,
            "runs": runs,
            "orders": order(verdict.divergences),
            "orders_at_the_end": order(verdict.divergences, at_end=True),
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
        "energy_growth": side.growth,
        "energy_grows": side.grows,
        "end_time": motion.times[-1],
        "message": motion.message,
    }
    if series:
        entry |= fields_of(motion, "times gaps energy work")
    return entry


def _touches(side: Side, barriers: Sequence[Barrier]) -> dict[str, dict[str, Any]]:
    """Return how far a run was beyond contacts and limits, and when it first was at each."""
    touches = side.motion.touches
    return {
        barrier.name: {"unit": barrier.unit, "depth": _finite(depth), "first": _finite(first)}
        for barrier, depth, first in zip(barriers, touches.depths, touches.first, strict=True)
    }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def runs_table(document: Document) -> ContentTable:
    """Return a row for each run, in words."""
    runs: list[dict[str, Any]] = document["runs"]
    columns: dict[str, list[str]] = {"run": [_title(entry) for entry in runs]}
    if any(entry[name] is not None for entry in runs for name in ("gap", "turn")):
        columns["loop gap"] = [_gap(entry) for entry in runs]
    if first_touches(document):
        columns["passes by"] = [_depth(entry) for entry in runs]
        columns["energy grows by"] = [short(entry["energy_growth"]) for entry in runs]
    columns["energy drift"] = [short(entry["energy_drift"]) for entry in runs]
    for name, part in (("apart_slightly_at", SLIGHTLY), ("apart_at", 1.0)):
        head = f"{short(part * document['tolerance'])} m apart at"
        columns[head] = [_time(entry, name) for entry in runs]
    columns["end apart"] = [
        f"{short(entry['apart_at_the_end'])} m" if "apart_at_the_end" in entry else ""
        for entry in runs
    ]
    columns["seconds"] = [seconds(entry["seconds"]) for entry in runs]
    return ContentTable(tuple(columns), list(zip(*columns.values(), strict=True)))


def _title(entry: Mapping[str, Any]) -> str:
    step = "" if entry["step"] is None else f" {short(entry['step'], 6)} s"
    return f"{entry['package']} {entry['method']}{step}"


def _time(entry: Mapping[str, Any], name: str) -> str:
    if name not in entry:
        return ""
    return "never" if entry[name] is None else f"{short(entry[name], 4)} s"


def first_touches(document: Document) -> list[str]:
    """Return what bodies touched in any run, in the order in which they first did."""
    times: dict[str, float] = {}
    for entry in document["runs"]:
        for name, touch in entry["touches"].items():
            if touch["first"] is not None:
                times.setdefault(name, touch["first"])
    return sorted(times, key=lambda name: times[name])


def touches_table(document: Document) -> ContentTable | None:
    """Return when what touched first did so, in each run; None if nothing touched."""
    names, runs = first_touches(document), document["runs"]
    if not names:
        return None

    def said(touch: Mapping[str, Any]) -> str:
        return "never" if touch["first"] is None else f"{short(touch['first'], 6)} s"

    rows = [(name, *(said(entry["touches"][name]) for entry in runs)) for name in names[:MOST]]
    return ContentTable(("first touch", *(_title(entry) for entry in runs)), rows)


def _depth(entry: Mapping[str, Any]) -> str:
    """Return how far a run was beyond contacts and limits at most."""
    deepest: dict[str, float] = {}
    for touch in entry["touches"].values():
        if touch["first"] is not None:
            depth = max(0.0, touch["depth"])
            deepest[touch["unit"]] = max(deepest.get(touch["unit"], 0.0), depth)
    return ", ".join(f"{short(depth)} {unit}".rstrip() for unit, depth in deepest.items())


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
    touching = bool(first_touches(document))
    orders = [value for value in document["orders"] if value is not None]
    if touching:
        found += _of_touches(document)
    elif orders and max(orders) < CONVERGES:
        found.append(
            "Halving MuJoCo's step does not bring it closer to daesolve: the step does not "
            "cause the difference."
            + (" Its equalities are soft; see --hard." if document["rows_of_equalities"] else "")
        )
    elif orders:
        found.append(
            "Halving MuJoCo's step brings it closer to daesolve; the observed orders are "
            f"{_listed(orders)}."
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


def _of_touches(document: Document) -> list[str]:
    """Return what is said of contacts and limits."""
    found = [
        f"The energy of {_title(entry)} grows by {short(entry['energy_growth'])} of the largest "
        f"kinetic energy from {short(entry['energy_grows'][0], 4)} s to "
        f"{short(entry['energy_grows'][1], 4)} s."
        for entry in document["runs"]
        if entry["energy_growth"] > ROUNDED
    ]
    orders = [value for value in document["orders_at_the_end"] if value is not None]
    if orders:
        found.append(
            "At the end halving MuJoCo's step changes its distance from daesolve by the powers "
            f"{_listed(orders)}."
        )
    kind = document["contacts"]
    found.append(
        "MuJoCo's contacts and limits are soft, with parameters in seconds: as its step goes to "
        f"zero its motion need not become that of {kind} contacts; --hard scales them with the "
        "step."
    )
    return found


def _listed(orders: Sequence[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in orders)


def subtitle(document: Document) -> str:
    """Return a line that describes the runs."""
    return (
        f"{document['bodies']} bodies, {document['joints']} speeds of joints, "
        f"{document['rows_of_equalities']} rows of equalities; to {short(document['until'], 6)} s; "
        f"contacts: {document['contacts']}"
    )


def referee_text(document: Document) -> RenderableType:
    """Return a verdict for Rich's console."""
    tables = [runs_table(document), touches_table(document)]
    shown = [part for table in tables if table for part in (table.in_terminal((1,)), Text())]
    lines = [Indented(Text(sentence)) for sentence in sentences(document)]
    title = WrappedText(Text(document["file"], style="bold"))
    return Group(title, WrappedText(Text(subtitle(document))), Text(), *shown, *lines)


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
            *(
                ContentPart("", table.in_page())
                for table in (runs_table(document), touches_table(document))
                if table
            ),
            *(ContentPart("", sentence(words)) for words in sentences(document)),
            *figure_parts(figures, "referee"),
            ContentPart("Residuals of daesolve, over every accepted step", residuals.in_page())
            if goals
            else None,
        ],
        with_versions=True,
    )
    return replace_file(directory / "report.html", page)
