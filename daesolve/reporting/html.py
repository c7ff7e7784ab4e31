"""The report as one page of HTML: no scripts, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup
from matplotlib.figure import Figure

from daesolve.reporting import facts, figures, repeating, sparklines, tables
from daesolve.reporting.balance import largest_unaccounted, terms
from daesolve.reporting.cards import banner, cards
from daesolve.reporting.document import Document
from daesolve.reporting.event_statistics import happened
from daesolve.reporting.sampling import beginnings, resolved
from daesolve.reporting.scene import scene
from daesolve.reporting.style import style, svg

FigureRule = Callable[[dict[str, Any]], Figure | None]
"""A figure of a problem's own; None where it has nothing to show of a run."""

SPARSE = (
    "The samples are too sparse to be joined: bands show their range in equal spans of time, and "
    "beside them is every sample, its rate over its value. Ask for closer samples (--every, or "
    "at=ds.every(...)) to see the motion between them."
)
AS_ABOVE = "As above: too sparse to be joined."
DRIFT = (
    "Residuals over their scales, root mean square over all accepted steps in each tenth of a "
    "decade. Solid: driven. Dashed: measured. Dotted, for comparison: one rounding error, and what "
    "becomes of one a step where nothing is fed back: √t where they are random (Brouwer's law), t "
    "where they have a bias. Zeros cannot be shown."
)
EVENTS_SHOWN = 10
LINES = 14
"""Lines of a long table that stand below each other, where there is room beside them."""


@dataclass(frozen=True)
class Drawn:
    """A figure in the page, or several that belong together."""

    title: str
    caption: str
    svgs: tuple[Markup, ...]


def page(
    documents: Sequence[dict[str, Any]], figures: Mapping[str, FigureRule] | None = None
) -> str:
    """Return the report of one run, or of several side by side.

    Parameters
    ----------
    documents
        What `document` returned or `load` read.
    figures
        Title -> the problem's own figure of a document; shown before the coordinates.
    """
    labels = facts.labels(documents)
    titles = list(dict.fromkeys(facts.title(document) for document in documents))
    return template("daesolve.reporting", "report.html.jinja").render(
        title=titles[0] if len(titles) == 1 else " | ".join(titles),
        runs=list(zip(labels, documents, strict=True)),
        several=len(documents) > 1,
        subtitle=_subtitle(documents),
        banners=[banner(document) for document in documents],
        cards=list(zip(*map(cards, documents), strict=True)),
        commands=[repeating.command(document) for document in documents],
        verifying=[repeating.command(document, "--verify") for document in documents],
        lines=[repeating.python(document) for document in documents],
        versions=[_versions(document) for document in documents],
        goals=list(dict.fromkeys(name for d in documents for name in d["drift"])),
        sparks=sparklines.residuals(documents),
        remarks=_remarks(documents),
        scenes=_own(documents, labels, {"scene": scene}),
        own=_own(documents, labels, figures or {}),
        drawn=_standard(documents),
        balances=[largest_unaccounted(document) for document in documents],
        happened=[happened(document) for document in documents],
        numbers=tables.numbers(documents),
        costs=tables.costs(documents),
        agreements=[tables.agreements(document) for document in documents],
        separations=[
            facts.separation(document) if document["verification"] else "" for document in documents
        ],
        digits=[facts.agreement(document) for document in documents],
        grips=[tables.grips(document) for document in documents],
        peaks=[tables.peaks(document) for document in documents],
        changes=[facts.changes(document) for document in documents],
        events_shown=EVENTS_SHOWN,
        lines_shown=LINES,
        unverified=facts.UNVERIFIED,
    )


def _included(name: str) -> str:
    """Return what templates share."""
    return files("daesolve.reporting").joinpath(name).read_text("utf-8")


@cache
def template(package: str, name: str) -> Template:
    """Return a page's template, with the filters that write numbers."""
    source = files(package).joinpath(name).read_text("utf-8")
    environment = Environment(
        loader=FunctionLoader(_included),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(
        short=facts.short, exact=facts.exact, correction=facts.correction, bounded=facts.bounded
    )
    return environment.from_string(source)


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


def _versions(document: Document) -> str:
    told = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    machine = document.get("machine")
    return f"{told}; {machine}" if machine else told


def _remarks(documents: Sequence[Document]) -> list[tuple[str, str]]:
    found = {
        (name, entry["note"])
        for document in documents
        for name, entry in document["drift"].items()
        if entry["note"]
    }
    return sorted(found)


def _standard(documents: Sequence[Document]) -> dict[str, Drawn]:
    """Draw the figures that every report has, as far as there is something to show."""
    sampled = [document for document in documents if len(document["times"]) > 1]
    sparse = any(not resolved(d) and not beginnings(d, "states") for d in sampled)
    told, again = (SPARSE, AS_ABOVE) if sparse else ("", "")
    plan: list[tuple[str, Callable[..., Figure | list[Figure]], str, object]] = [
        ("Residuals", figures.drift, DRIFT, [d for d in documents if any(_histories(d))]),
        ("Energy", figures.energy, "", any(terms(document) for document in sampled)),
        ("Positions", figures.positions, told, figures.position_names(sampled)),
        ("Velocities", figures.velocities, again, figures.velocity_names(sampled)),
        ("Path", figures.path, "", sampled and figures.plane(documents)),
        ("Outputs", figures.outputs, again, figures.output_names(sampled)),
        ("Reactions", figures.reactions, again, figures.reaction_names(sampled)),
        ("Events", figures.events, "", max(d["event_count"] for d in documents) > 1),
    ]
    found: dict[str, Drawn] = {}
    for title, draw, caption, wanted in plan:
        if wanted:
            made = draw(documents)
            sheets = made if isinstance(made, list) else [made]
            names = [f"{title.lower()}-{number}" for number in range(len(sheets))]
            svgs = tuple(Markup(svg(*entry)) for entry in zip(sheets, names, strict=True))
            found[title.lower()] = Drawn(title, caption, svgs)
    return found


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
                    text = svg(figure, f"{'scene' if draw is scene else 'problem'}-{number}-{run}")
            except Exception as error:
                caption = f"could not be drawn: {type(error).__name__}: {error}"
                text = ""
            found.append(Drawn(title[:1].upper() + title[1:], caption, (Markup(text),)))
    return found
