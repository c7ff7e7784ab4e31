"""The report as one page of HTML: no scripts, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import BaseLoader, Environment, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from daesolve.reporting import facts, figures, tables
from daesolve.reporting.cards import cards
from daesolve.reporting.document import Document
from daesolve.reporting.sampling import resolved
from daesolve.reporting.scene import scene
from daesolve.reporting.style import style, svg

FigureRule = Callable[[dict[str, Any]], Figure | None]
"""A figure of a problem's own; None where it has nothing to show of a run."""

SPARSE = (
    "The samples are too sparse to show the motion between them, so they are not joined. Of "
    "many, the range in equal spans of time is drawn, and the first ones beside it. Ask for "
    "closer samples (--at) to see the motion."
)
AS_ABOVE = "As above: too sparse to be joined."
DRIFT = (
    "Residuals over their scales, root mean square over all accepted steps in each tenth of a "
    "decade. Solid: driven. Dashed: measured. Zeros cannot be shown."
)
ENERGY = (
    "Above the energy, below its distance from the first sample, without the work done since then."
)
EVENTS_SHOWN = 10


@dataclass(frozen=True)
class Drawn:
    """A figure in the page."""

    title: str
    caption: str
    svg: Markup


def page(
    documents: Sequence[dict[str, Any]], figures: Mapping[str, FigureRule] | None = None
) -> str:
    """Return the report of one run, or of several side by side.

    Parameters
    ----------
    documents
        What `document` returned or `load` read.
    figures
        Title -> the problem's own figure of a document; shown after the scene, before the others.
    """
    source = files("daesolve.reporting").joinpath("report.html.jinja").read_text("utf-8")
    environment = Environment(
        loader=BaseLoader(),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(
        short=facts.short, exact=facts.exact, correction=facts.correction, bounded=facts.bounded
    )
    labels = facts.labels(documents)
    titles = list(dict.fromkeys(facts.title(document) for document in documents))
    return environment.from_string(source).render(
        title=titles[0] if len(titles) == 1 else " | ".join(titles),
        runs=list(zip(labels, documents, strict=True)),
        several=len(documents) > 1,
        subtitle=_subtitle(documents),
        cards=list(zip(*map(cards, documents), strict=True)),
        goals=list(dict.fromkeys(name for d in documents for name in d["drift"])),
        remarks=_remarks(documents),
        own=_own(documents, labels, {"scene": scene, **(figures or {})}),
        drawn=_standard(documents),
        parameters=tables.parameters(documents),
        repeat=tables.repeat(documents),
        differences=[tables.differences(document) for document in documents],
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


def _remarks(documents: Sequence[Document]) -> list[tuple[str, str]]:
    found = {
        (name, entry["note"])
        for document in documents
        for name, entry in document["drift"].items()
        if entry["note"]
    }
    return sorted(found)


def _standard(documents: Sequence[Document]) -> list[Drawn]:
    sampled = [document for document in documents if len(document["times"]) > 1]
    sparse = any(not resolved(document) for document in sampled)
    plan = [
        ("Positions", figures.positions, SPARSE * sparse, figures.position_names(sampled)),
        ("Velocities", figures.velocities, AS_ABOVE * sparse, figures.velocity_names(sampled)),
        ("Path", figures.path, "", sampled and figures.plane(documents)),
        ("Drift", figures.drift, DRIFT, [d for d in documents if any(_histories(d))]),
        ("Energy", figures.energy, ENERGY, [d for d in sampled if "energy" in d["outputs"]]),
        ("Reactions", figures.reactions, AS_ABOVE * sparse, figures.reaction_names(sampled)),
        ("Outputs", figures.outputs, AS_ABOVE * sparse, figures.output_names(sampled)),
        ("Events", figures.events, "", max(d["event_count"] for d in documents) > 1),
    ]
    return [
        Drawn(title, caption, Markup(svg(draw(documents), title.lower())))
        for title, draw, caption, wanted in plan
        if wanted
    ]


def _histories(document: Document) -> list[Any]:
    return [entry["times"] for entry in document.get("drift_history", {}).values()]


def _own(
    documents: Sequence[dict[str, Any]], labels: Sequence[str], figures: Mapping[str, FigureRule]
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
