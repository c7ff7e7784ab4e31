"""The report as one page of HTML: no scripts, nothing from elsewhere."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from markupsafe import Markup
from matplotlib.figure import Figure

from daesolve.errors import in_words
from daesolve.reporting import facts, repeating
from daesolve.reporting.audits import audit_headline, audit_rows
from daesolve.reporting.certificates import certificate_headline, certificate_rows
from daesolve.reporting.contacts import impact_lines
from daesolve.reporting.content import ContentPart, ContentTable, figure_of, page_of, template
from daesolve.reporting.facts import banner, cards, short
from daesolve.reporting.figures import standard
from daesolve.reporting.figures.accuracy import largest_unaccounted, measures
from daesolve.reporting.figures.hovering import with_values
from daesolve.reporting.figures.scene import scene
from daesolve.reporting.figures.style import style, svg
from daesolve.reporting.sampling import Document, beginnings, event_statistics, resolved

if TYPE_CHECKING:
    from daesolve.ensembles.sweep_results import MeasuredDependence

FigureRule = Callable[[dict[str, Any]], Figure | None]
"""A problem's own figure; None if it has nothing to show for a run."""
SPARSE = (
    "The samples are too sparse to join: bands show their range over equal time spans, and the "
    "plot beside them shows the rate of every sample over its value. Use closer samples "
    "(--every, or at=ds.every(...)) to see the motion between them."
)
AS_ABOVE = "As above: too sparse to join."
SPARSE_CAPTIONS = {"Positions": SPARSE} | dict.fromkeys(
    ("Velocities", "Inputs", "Outputs", "Reactions"), AS_ABOVE
)
CONTACTS = (
    "The state of each contact: empty where it is open, a line where it sticks, and filled "
    "towards the side to which it slides."
)
EVENTS_SHOWN = 10
ROWS_IN_TABLE = 500
"""Samples at most of which the page holds a table; the directory of a run has all."""
ANIMATION = "animation.html"
"""The file that `daesolve animate DIR` writes."""
IMPACTS_SHOWN = 20
LINES = 14
"""Lines of a long table below each other, where there is room beside them."""
WIDTH, HEIGHT, EDGE = 112, 26, 2
LOWEST, HIGHEST = 1e-17, 1e-14
"""The least range of sparklines of residuals."""
WORST_PIVOT = 1e-12


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
        From `document` or `load`.
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
        commands=[repeating.marked_up(repeating.command(document)) for document in documents],
        verifying=[
            repeating.marked_up(repeating.command(document, "--verify")) for document in documents
        ],
        lines=[repeating.python(document) for document in documents],
        versions=[_versions(document) for document in documents],
        goals=list(dict.fromkeys(name for d in documents for name in d["drift"])),
        sparks=sparklines(documents),
        remarks=_remarks(documents),
        scenes=_own(documents, labels, {"scene": scene}),
        own=_own(documents, labels, figures or {}),
        drawn=_standard(documents),
        balances=[largest_unaccounted(document) for document in documents],
        impacts=[impact_lines(document, IMPACTS_SHOWN) for document in documents],
        happened=[event_statistics(document) for document in documents],
        numbers=numbers(documents),
        costs=costs(documents),
        agreements=[agreements(document) for document in documents],
        separations=[
            facts.separation(document) if document["verification"] else "" for document in documents
        ],
        digits=[facts.agreement(document) for document in documents],
        grips=[grips(document) for document in documents],
        peaks=[peaks(document) for document in documents],
        changes=[facts.changes(document) for document in documents],
        notes=[facts.notes(document) for document in documents],
        tables=[tables(document) for document in documents],
        animations=[_animation(document) for document in documents],
        events_shown=EVENTS_SHOWN,
        lines_shown=LINES,
        unverified=facts.UNVERIFIED,
        audits=[(audit_headline(d), list(audit_rows(d))) for d in documents],
        certified=any(d.get("certificate") for d in documents),
        certificates=[(certificate_headline(d), certificate_rows(d)) for d in documents],
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


def _versions(document: Document) -> str:
    listed = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    machine = document.get("machine")
    return f"{listed}; {machine}" if machine else listed


@dataclass(frozen=True)
class TableLink:
    """A table in the page: its title, the name of its file, and its text as an address."""

    title: str
    file: str
    address: str


def tables(document: Document) -> list[TableLink]:
    """Return the samples and the residuals over time as files of comma-separated values."""
    times: list[float] = document["times"]
    columns: dict[str, Sequence[float | None]] = {}
    for kind in ("states", "outputs", "reactions"):
        for name, values in document[kind].items():
            columns[f"reaction_{name}" if kind == "reactions" else name] = values
    every = -(-len(times) // ROWS_IN_TABLE) or 1
    shown = {name: values[::every] for name, values in columns.items()}
    found: list[TableLink] = []
    if times:
        rows = len(times[::every])
        count = f"{rows:,} of {document.get('samples', len(times)):,} samples"
        found.append(_link(count, "samples.csv", "t", times[::every], shown))
    for name, entry in document.get("drift_history", {}).items():
        if entry["times"]:
            title = f"residuals of {name}"
            found.append(_link(title, f"{name}.csv", "t", entry["times"], {"rms": entry["rms"]}))
    return found


def _link(
    title: str,
    file: str,
    over: str,
    first: Sequence[float],
    columns: Mapping[str, Sequence[float | None]],
) -> TableLink:
    lines = [",".join(map(_quoted, [over, *columns]))]
    lines += [
        ",".join("" if value is None else f"{value:.9g}" for value in row)
        for row in zip(first, *columns.values(), strict=True)
    ]
    return TableLink(title, file, f"data:text/csv;charset=utf-8,{quote(chr(10).join(lines))}")


def _quoted(name: str) -> str:
    return f'"{name}"' if "," in name else name


def _animation(document: Document) -> tuple[str, str] | None:
    """Return the file of the animation beside the page, and the command that makes it."""
    directory = document.get("directory")
    if directory is None or document.get("drawing") is None:
        return None
    there = Path(directory, ANIMATION).is_file()
    return ANIMATION if there else "", f"daesolve animate {shlex.quote(str(directory))}"


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
    captions = {"Residuals": facts.DRIFT, "Contacts": CONTACTS} | (
        SPARSE_CAPTIONS if sparse else {}
    )
    found: dict[str, Drawn] = {}
    for title, draw in standard(documents).items():
        sheets = [
            with_values(sheet, svg(sheet, f"{title.lower()}-{n}")) for n, sheet in enumerate(draw())
        ]
        found[title.lower()] = Drawn(title, captions.get(title, ""), tuple(map(Markup, sheets)))
    return found


def _own(
    documents: Sequence[dict[str, Any]], labels: Sequence[str], figures: Mapping[str, FigureRule]
) -> list[Drawn]:
    """Draw the problem's figures; one that fails must not cost the report of a long run."""
    found: list[Drawn] = []
    for number, (name, draw) in enumerate(figures.items()):
        for run, (document, label) in enumerate(zip(documents, labels, strict=True)):
            caption = label if len(documents) > 1 else ""
            try:
                with style():
                    figure = draw(document)
                    if figure is None:
                        continue
                    text = svg(figure, f"{'scene' if draw is scene else 'problem'}-{number}-{run}")
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                caption = f"could not be drawn: {in_words(error)}"
                text = ""
            found.append(Drawn(facts.heading(name), caption, (Markup(text),)))
    return found


@dataclass(frozen=True)
class ComparisonRow:
    """A line of a table with one cell for each run; `differs` where they are not the same."""

    name: str
    cells: tuple[str, ...]
    unit: str = ""

    @property
    def differs(self) -> bool:
        """Whether the runs differ here."""
        return len(set(self.cells)) > 1


def parameters(documents: Sequence[Document]) -> list[ComparisonRow]:
    """List structure and parameters."""
    return [*_rows(documents, "structure"), *_rows(documents, "parameters")]


def numbers(documents: Sequence[Document]) -> list[tuple[str, list[ComparisonRow]]]:
    """List every number on which a run depends, in groups."""
    rates = [
        ComparisonRow(name, tuple(_rate(document, name) for document in documents), "1/s")
        for name in dict.fromkeys(name for document in documents for name in document["rates"])
    ]
    starts = [facts.start_state(document) for document in documents]
    units = {k: v for d in documents for k, v in d.get("units", {}).items()}
    start = [
        ComparisonRow(name, tuple(facts.exact(s.get(name)) for s in starts), units.get(name, ""))
        for name in dict.fromkeys(name for state in starts for name in state)
    ]
    times = [
        ComparisonRow(words, tuple(facts.exact(d.get(name)) for d in documents), "s")
        for words, name in (("from", "start_time"), ("until", "until"))
    ]
    groups = [
        ("Parameters", parameters(documents)),
        ("Start", start),
        ("Rates", rates),
        ("Time and tolerances", [*times, *_rows(documents, "tolerances")]),
        ("Versions", _rows(documents, "versions")),
    ]
    return [(title, rows) for title, rows in groups if rows]


def costs(documents: Sequence[Document]) -> list[ComparisonRow]:
    """List the costs of the runs."""
    statistics = [document["statistics"] for document in documents]

    def row(name: str, values: Sequence[float | None], unit: str = "") -> ComparisonRow:
        return ComparisonRow(name, tuple(_count(value) for value in values), unit)

    def over(counts: Sequence[float], amounts: Sequence[float]) -> list[float | None]:
        return [n / m if m else None for n, m in zip(counts, amounts, strict=True)]

    steps = [entry["steps"] for entry in statistics]
    evaluations = [entry["rhs_evaluations"] for entry in statistics]
    walls = [entry["wall_seconds"] for entry in statistics]
    spans = [facts.span(document) for document in documents]
    rows = [
        row("steps", steps),
        row("mean step", over(spans, steps), "s"),
        row("evaluations of the right-hand side", evaluations),
        row("integration", walls, "s"),
        row("steps a second", over(steps, walls), "1/s"),
        row("seconds of motion per second", over(spans, walls)),
        row("compilation", [entry["compile_seconds"] for entry in statistics], "s"),
        ComparisonRow(
            "compiled before", tuple(facts.short(entry["compile_cached"]) for entry in statistics)
        ),
        ComparisonRow("code", tuple(map(facts.about_code, documents))),
        row("instructions of the right-hand side", [e.get("instructions") for e in statistics]),
        row("samples", [document.get("samples", len(document["times"])) for document in documents]),
    ]
    return [row for row in rows if set(row.cells) != {facts.NOTHING}]


def _count(value: float | None) -> str:
    return f"{value:,}" if isinstance(value, int) else facts.short(value, 4)


@dataclass(frozen=True)
class AgreementLine:
    """How far a state differed in the repeated run, and to how many digits it agreed."""

    name: str
    difference: str
    digits: str
    bar: Markup


def agreements(run: Document) -> list[AgreementLine]:
    """List the states of a verified run with their largest differences."""
    verification: Mapping[str, Any] = run["verification"] or {"difference": {}}
    units, sizes = run.get("units", {}), facts.magnitudes(run)
    found: list[AgreementLine] = []
    for name, value in verification["difference"].items():
        digits = facts.digits(value, sizes.get(name, 1.0))
        bar = meter(digits and 10.0**digits, 1.0, 10.0**facts.DIGITS)
        size = f"{facts.bounded(value)} {units.get(name, '')}".rstrip()
        found.append(
            AgreementLine(name, size, facts.NOTHING if digits is None else f"{digits:.1f}", bar)
        )
    return found


def grips(run: Document) -> list[tuple[str, str, Markup]]:
    """List the goals with the smallest grip of their reactions, and a bar for each."""
    return [
        (name, facts.short(value), meter(value, WORST_PIVOT, 1.0))
        for name, value in run.get("conditioning", {}).items()
    ]


def peaks(document: Document) -> list[tuple[str, str, str]]:
    """List the outputs that were watched, with their values of largest magnitude, and when."""
    units = document.get("units", {})
    return [
        (name, f"{facts.short(peak['value'], 7)} {units.get(name, '')}".rstrip(),
         f"{facts.short(peak['time'], 10)} s")
        for name, peak in document.get("peaks", {}).items()
    ]  # fmt: skip


def _rows(documents: Sequence[Document], key: str) -> list[ComparisonRow]:
    names = dict.fromkeys(name for document in documents for name in document[key])
    return [
        ComparisonRow(
            name,
            tuple(facts.exact(document[key].get(name)) for document in documents),
            next((u for d in documents if (u := d.get("parameter_units", {}).get(name))), ""),
        )
        for name in names
    ]


def _rate(document: Document, name: str) -> str:
    rates = document["rates"]
    return "off" if name in rates and rates[name] is None else facts.exact(rates.get(name))


def sparklines(documents: Sequence[Document]) -> list[dict[str, Markup]]:
    """Return, for each run, a sparkline of every residual, all with the same axes."""
    histories = [document.get("drift_history", {}) for document in documents]
    points = [point for run in histories for entry in run.values() for point in _points(entry)]
    if not points:
        return [{} for _ in documents]
    times, sizes = zip(*points, strict=True)
    box = (min(times), max(times), min(LOWEST, *sizes), max(HIGHEST, *sizes))
    return [
        {
            name: _sparkline(entry, box, driven=document["drift"][name]["driven"])
            for name, entry in run.items()
            if name in document["drift"]
        }
        for document, run in zip(documents, histories, strict=True)
    ]


def meter(value: float | None, least: float, largest: float) -> Markup:
    """Return a bar from the least size to a value, on a logarithmic scale."""
    if value is None or value <= least:
        share = 0.0
    else:
        share = min(1.0, math.log(value / least) / math.log(largest / least))
    return Markup('<span class="meter"><i style="width:{:.1f}%"></i></span>').format(100.0 * share)


def _points(entry: Mapping[str, Any]) -> Iterable[tuple[float, float]]:
    pairs = zip(entry["times"], entry["rms"], strict=True)
    return [(time, size) for time, size in pairs if size is not None and size > 0.0 and time > 0.0]


def _sparkline(
    entry: Mapping[str, Any], box: tuple[float, float, float, float], *, driven: bool
) -> Markup:
    first, last, low, high = map(math.log, box)

    def place(time: float, size: float) -> str:
        x = EDGE + (WIDTH - 2 * EDGE) * (math.log(time) - first) / ((last - first) or 1.0)
        y = EDGE + (HEIGHT - 2 * EDGE) * (high - math.log(size)) / (high - low)
        return f"{x:.1f},{y:.1f}"

    line = " ".join(place(time, size) for time, size in _points(entry))
    level = place(box[0], facts.ROUNDING).partition(",")[2]
    return Markup(
        '<svg class="spark {}" viewBox="0 0 {} {}" width="{}" height="{}" aria-hidden="true">'
        '<path class="level" d="M0,{}H{}"/><polyline points="{}"/></svg>'
    ).format("driven" if driven else "measured", WIDTH, HEIGHT, WIDTH, HEIGHT, level, WIDTH, line)


def measures_page(found: MeasuredDependence, title: str) -> str:
    """Return the page of the measures of a sweep: figures over the varied number, and orders.

    Parameters
    ----------
    found
        The measures.
    title
        Of the page.
    """
    heads = [found.over]
    columns = [[short(value) for value in found.values]]
    for measured in found.measures:
        heads += [f"{measured.name} ({measured.unit})" if measured.unit else measured.name, "order"]
        columns.append([short(value, 7) for value in measured.values])
        columns.append(["", *("" if n is None else f"{n:.4f}" for n in measured.orders)])
    with style():
        drawn = Markup(svg(measures(found), "measures"))
    caption = "The numbers at the lines are orders; the table has every value."
    rows = list(zip(*columns, strict=True))
    return page_of(
        title,
        f"Measures of {len(rows)} runs over {found.over}. An order is the log-log slope from one "
        "value to the next.",
        [
            ContentPart("", figure_of(f"Measures over {found.over}", drawn, caption)),
            ContentPart("", ContentTable(heads, rows, ()).in_page()),
        ],
    )
