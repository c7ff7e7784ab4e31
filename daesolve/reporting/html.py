"""The report as one page of HTML: no scripts, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import BaseLoader, Environment, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from daesolve.reporting import facts, figures
from daesolve.reporting.document import Document
from daesolve.reporting.sampling import resolved
from daesolve.reporting.style import style, svg

Drawing = Callable[[dict[str, Any]], Figure | None]
"""A figure of a problem's own; None where it has nothing to show of a run."""

UNTRUSTED = 1e-2
SPARSE = (
    "The samples are too sparse to show the motion between them, so they are not joined: on the "
    "left the range of the samples in equal spans of time, on the right the first samples as they "
    "are. Ask for closer samples to see the motion."
)
EVENTS_SHOWN = 50


@dataclass(frozen=True)
class Card:
    """A fact of the headline; `tone` is good, plain, warn or bad."""

    label: str
    value: str
    detail: str
    tone: str = "plain"


@dataclass(frozen=True)
class Drawn:
    """A figure in the page."""

    title: str
    caption: str
    svg: Markup


@dataclass(frozen=True)
class Row:
    """A line of a table with one cell for each run; `differs` where they are not the same."""

    name: str
    cells: tuple[str, ...]
    unit: str = ""

    @property
    def differs(self) -> bool:
        """Whether the runs differ here."""
        return len(set(self.cells)) > 1


def page(documents: Sequence[dict[str, Any]], figures: Mapping[str, Drawing] | None = None) -> str:
    """Return the report of one run, or of several side by side.

    Parameters
    ----------
    documents
        What `document` returned or `load` read.
    figures
        Title -> the problem's own figure of a document; shown before the others.
    """
    source = files("daesolve.reporting").joinpath("report.html.jinja").read_text("utf-8")
    environment = Environment(
        loader=BaseLoader(),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(short=facts.short, exact=facts.exact, correction=facts.correction)
    labels = facts.labels(documents)
    titles = list(dict.fromkeys(facts.title(document) for document in documents))
    return environment.from_string(source).render(
        title=titles[0] if len(titles) == 1 else " | ".join(titles),
        runs=list(zip(labels, documents, strict=True)),
        several=len(documents) > 1,
        subtitle=_subtitle(documents),
        cards=[_cards(document) for document in documents],
        goals=list(dict.fromkeys(name for d in documents for name in d["drift"])),
        remarks=_remarks(documents),
        own=_own(documents, labels, figures or {}),
        drawn=_standard(documents),
        parameters=_parameters(documents),
        repeat=_repeat(documents),
        differences=[_differences(document) for document in documents],
        changes=[facts.changes(document) for document in documents],
        events_shown=EVENTS_SHOWN,
        unverified=facts.UNVERIFIED,
    )


def _subtitle(documents: Sequence[Document]) -> str:
    if len(documents) > 1:
        return f"{len(documents)} runs side by side"
    run = documents[0]
    model = f"model {run['model']}, " if run["model"] else ""
    start, until = run.get("start_time", 0.0), run.get("until", run["end_time"])
    return (
        f"{model}{run['formulation']} + {run['solver']}, from {facts.short(start, 6)} s "
        f"to {facts.short(until, 6)} s"
    )


def _cards(run: Document) -> list[Card]:
    statistics = run["statistics"]
    pace = facts.pace(run)
    speed = "" if pace is None else f", {facts.short(pace)} simulated s/s"
    return [
        Card(
            "Outcome",
            facts.OUTCOMES.get(run["outcome"]) or run["outcome"],
            run["message"] or f"at t = {facts.short(run['end_time'], 10)} s",
            "good" if run["outcome"] in facts.GOOD else "bad",
        ),
        _drift_card(run),
        _energy_card(run),
        _verification_card(run),
        Card(
            "Cost",
            f"{facts.seconds(statistics['wall_seconds'])}",
            f"{statistics['steps']:,} steps{speed}; compiled in "
            f"{facts.seconds(statistics['compile_seconds'])}"
            f"{' (cached)' if statistics['compile_cached'] else ''}",
        ),
    ]


def _drift_card(run: Document) -> Card:
    worst = facts.drift_worst(run, driven=True)
    if worst is None:
        return Card("Largest driven residual", facts.NOTHING, "nothing was driven")
    if worst.size is None or worst.size > UNTRUSTED:
        detail = f"{worst.name}: not to be trusted"
        value = "not finite" if worst.size is None else facts.short(worst.size)
        return Card("Largest driven residual", value, detail, "bad")
    return Card(
        "Largest driven residual",
        facts.short(worst.size),
        f"{worst.name}, over its scale; fed back, so no proof of accuracy",
    )


def _energy_card(run: Document) -> Card:
    entry = run["drift"].get("energy")
    if entry is None:
        return Card("Energy error", facts.NOTHING, "energy is not a goal of this system")
    size = entry["max_relative"]
    told = "driven, so no proof of accuracy" if entry["driven"] else "measured, not driven"
    growth = entry["growth_exponent"]
    if growth is not None:
        told += f"; grows like t^{growth:.2f}"
    value = "not finite" if size is None else facts.short(size)
    return Card("Energy error", value, told, "bad" if size is None or size > UNTRUSTED else "plain")


def _verification_card(run: Document) -> Card:
    verification = run["verification"]
    if not verification:
        return Card("Verification", "not verified", "repeat the run with --verify", "warn")
    digits, worst = facts.agreement(run), facts.difference_worst(run)
    if digits is None or worst is None:
        return Card("Verification", "not finite", f"against {verification['against']}", "bad")
    unit = run.get("units", {}).get(worst.name, "")
    size = f"{facts.short(worst.size)} {unit}".rstrip()
    return Card(
        "Verification",
        f"{digits:.0f} digits agree",
        f"{worst.name} differs by {size}, against {verification['against']}",
        "good" if digits >= 6 else "warn",
    )


def _remarks(documents: Sequence[Document]) -> list[tuple[str, str]]:
    found = {
        (name, entry["note"])
        for document in documents
        for name, entry in document["drift"].items()
        if entry["note"]
    }
    return sorted(found)


def _standard(documents: Sequence[Document]) -> list[Drawn]:
    names = {kind: [n for d in documents for n in d[kind]] for kind in ("outputs", "reactions")}
    sampled = [document for document in documents if len(document["times"]) > 1]
    motion = SPARSE if any(not resolved(document) for document in sampled) else ""
    plan: list[tuple[str, str, Callable[[Sequence[Document]], Figure], bool]] = [
        ("Positions", motion, figures.positions, bool(sampled)),
        ("Velocities", motion and "As above.", figures.velocities, bool(sampled)),
        ("Path", "", figures.path, bool(sampled) and figures.plane(documents) is not None),
        (
            "Drift",
            "Residuals over their scales, root mean square over all accepted steps in each tenth "
            "of a decade. Solid: driven. Dashed: measured. Zeros cannot be shown.",
            figures.drift,
            any(entry["times"] for d in documents for entry in d.get("drift_history", {}).values()),
        ),
        (
            "Energy",
            "Above the energy, below its distance from the first sample, work taken off where "
            "work is done.",
            figures.energy,
            "energy" in names["outputs"] and bool(sampled),
        ),
        ("Reactions", motion and "As above.", figures.reactions, bool(names["reactions"])),
        (
            "Outputs",
            motion and "As above.",
            figures.outputs,
            any(name not in figures.ENERGIES for name in names["outputs"]),
        ),
    ]
    return [
        Drawn(title, caption, Markup(svg(draw(documents), f"own-{title}")))
        for title, caption, draw, wanted in plan
        if wanted
    ]


def _own(
    documents: Sequence[dict[str, Any]], labels: Sequence[str], figures: Mapping[str, Drawing]
) -> list[Drawn]:
    """Draw the problem's figures; one that fails must not cost the report of a long run."""
    found: list[Drawn] = []
    for number, (name, draw) in enumerate(figures.items()):
        for run, (document, label) in enumerate(zip(documents, labels, strict=True)):
            title = name.replace("_", " ").replace("-", " ")
            caption = label if len(documents) > 1 else ""
            try:
                with style():
                    figure = draw(document)
                    if figure is None:
                        continue
                    text = svg(figure, f"problem-{number}-{run}")
            except Exception as error:
                caption = f"could not be drawn: {type(error).__name__}: {error}"
                text = ""
            found.append(Drawn(title[:1].upper() + title[1:], caption, Markup(text)))
    return found


def _rows(documents: Sequence[Document], key: str) -> list[Row]:
    names = dict.fromkeys(name for document in documents for name in document[key])
    return [
        Row(
            name,
            tuple(facts.exact(document[key].get(name)) for document in documents),
            next((u for d in documents if (u := d.get("parameter_units", {}).get(name))), ""),
        )
        for name in names
    ]


def _parameters(documents: Sequence[Document]) -> list[Row]:
    return [*_rows(documents, "structure"), *_rows(documents, "parameters")]


def _repeat(documents: Sequence[Document]) -> list[tuple[str, list[Row]]]:
    """List what is needed to repeat the runs, in groups."""
    plain = [
        Row(name.replace("_", " "), tuple(facts.exact(d.get(name)) for d in documents), unit)
        for name, unit in (
            ("problem", ""),
            ("case", ""),
            ("model", ""),
            ("formulation", ""),
            ("solver", ""),
            ("start_time", "s"),
            ("until", "s"),
        )
    ]
    rates = [
        Row(row.name, tuple("off" if cell == facts.NOTHING else cell for cell in row.cells), "1/s")
        for row in _rows(documents, "rates")
    ]
    starts = [facts.start_state(document) for document in documents]
    units = {k: v for d in documents for k, v in d.get("units", {}).items()}
    start = [
        Row(name, tuple(facts.exact(s.get(name)) for s in starts), units.get(name, ""))
        for name in dict.fromkeys(name for state in starts for name in state)
    ]
    groups = [
        ("Run", [row for row in plain if set(row.cells) != {facts.NOTHING}]),
        ("Rates", rates),
        ("Tolerances", _rows(documents, "tolerances")),
        ("Start", start),
        ("Versions", _rows(documents, "versions")),
    ]
    return [(title, rows) for title, rows in groups if rows]


def _differences(run: Document) -> list[tuple[str, str, str]]:
    verification = run["verification"] or {"difference": {}}
    units = run.get("units", {})
    return [
        (name, facts.short(value), units.get(name, ""))
        for name, value in verification["difference"].items()
    ]
