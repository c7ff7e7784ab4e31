"""What was measured: messages of a test and of a session, a page without scripts, and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup

from daesolve.core.run.solving.descriptions import versions
from daesolve.reporting import facts
from daesolve.reporting.content import template
from daesolve.reporting.document import dump, replace_file
from daesolve.reporting.drift_testing.baseline import FLOOR, FORMAT, WORSE, worst
from daesolve.reporting.facts import GOOD, OUTCOMES, bounded, growth, seconds, short, title

MOST_STATES = 12
MOST_ABSENT = 10
MOST_NAMES = 3
BEYOND = {
    "limits": "beyond the limit",
    "accuracy": "not within the accuracy",
    "baseline": "worse than the baseline",
}

Entry = Mapping[str, Any]

PAGE_FILE = "drift.html"
JSON_FILE = "drift.json"
TEMPLATE = "drift.html.jinja"


def failure(entry: Entry) -> str:
    """Return why a run fails its test: a headline, what exceeds what, and how to repeat it."""
    parts = [headline(entry)]
    exceeded, drift = entry["exceeded"], entry["drift"]
    if exceeded["limits"]:
        rows = [_row(name, drift[name], short(drift[name]["limit"])) for name in exceeded["limits"]]
        parts.append(_table(("goal", "fed back", "limit", "found", "final", "growth"), rows))
    if exceeded["baseline"]:
        before = entry["baseline"]["before"]
        rows = [_row(name, drift[name], bounded(before[name])) for name in exceeded["baseline"]]
        parts.append(_table(("goal", "fed back", "baseline", "found", "final", "growth"), rows))
        parts.append(
            f"the limit is {WORSE:g} times the baseline (a baseline below {FLOOR:g} counts as "
            f"{FLOOR:g})"
        )
    noted = dict.fromkeys([*exceeded["limits"], *exceeded["baseline"]])
    remarks = [f"{name}: {drift[name]['note']}" for name in noted if drift[name]["note"]]
    if remarks:
        parts.append("\n".join(remarks))
    if exceeded["accuracy"]:
        parts.append(_states(entry))
        parts.append(repetition(entry["verification"]))
    parts.append(
        f"run with {entry['formulation']} + {entry['solver']}, {settings(entry['tolerances'])}"
    )
    parts.append("to repeat: " + "\n           ".join(entry["repeat"]))
    return "\n\n".join(parts)


def headline(entry: Entry) -> str:
    """Return in a line what exceeds what, how a run ended where it should not, and which it is."""
    phrases: list[str] = []
    if entry["outcome"] not in GOOD:
        because = f": {entry['message']}" if entry["message"] else ""
        outcome = OUTCOMES.get(entry["outcome"], entry["outcome"])
        phrases.append(f"{outcome} at t = {short(entry['end_time'], 10)} s{because}")
    for kind, names in entry["exceeded"].items():
        if names:
            more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
            whose = "" if kind == "accuracy" else "drift of "
            phrases.append(f"{whose}{', '.join(names[:MOST_NAMES])}{more} {BEYOND[kind]}")
    span = f"{title(entry)}, {short(entry['start_time'], 6)} s to {short(entry['until'], 6)} s"
    return f"{'; '.join(phrases)}; in {span}" if phrases else span


def settings(tolerances: Mapping[str, float]) -> str:
    """Return a solver's tolerances in a line."""
    return ", ".join(f"{name} {short(value)}" for name, value in tolerances.items())


def repetition(verification: Entry) -> str:
    """Say what a run was repeated with, and whether it is chaotic."""
    repeated = f"repeated with {verification['against']}"
    if verification["growth"] == "exponential":
        return (
            f"{repeated}; the motion is chaotic: small errors grow e-fold in "
            f"{short(verification['lyapunov_time'])} s, and no solver predicts the states for "
            "much longer than 30 times that; shorten the run, or use only limits"
        )
    if verification["growth"] == "regular":
        return f"{repeated}; no exponential growth of small errors was seen"
    return f"{repeated}; the exponential growth of small errors was not measured"


def summary_lines(entries: Sequence[Entry], *, verbose: bool) -> list[str]:
    """Return the lines at the end of a session.

    Parameters
    ----------
    entries
        What each run measured.
    verbose
        Whether to list the worst of each.
    """
    lines = [_line(entry) for entry in entries] if verbose else []
    absent = [entry for entry in entries if entry["baseline"] and entry["baseline"]["missing"]]
    if absent:
        lines.append("not compared, because the baseline does not have it:")
        lines += [f"  {_identity(entry)}{_missing(entry)}" for entry in absent[:MOST_ABSENT]]
        if len(absent) > MOST_ABSENT:
            lines.append(f"  and {len(absent) - MOST_ABSENT} more")
    return lines


def _missing(entry: Entry) -> str:
    whole = entry["baseline"]["before"] is None
    return "" if whole else f": {', '.join(entry['baseline']['missing'])}"


def _identity(entry: Entry) -> str:
    number = f" (run {entry['number']})" if entry["number"] > 1 else ""
    return f"{entry['test']}{number}"


def _line(entry: Entry) -> str:
    name, found, limit = worst(entry)
    residual = f"{name} {bounded(found)}" if name else "nothing watched"
    allowed = "" if limit is None else f" of {short(limit)}"
    wall = seconds(entry["statistics"]["wall_seconds"])
    return f"{_identity(entry)}: {entry['verdict']}, worst {residual}{allowed} ({wall})"


def _row(name: str, found: Entry, allowed: str) -> tuple[str, ...]:
    return (
        name,
        "driven" if found["driven"] else "measured",
        allowed,
        bounded(found["max_relative"]),
        bounded(found["final_relative"]),
        growth(found["growth_exponent"]),
    )


def _states(entry: Entry) -> str:
    """List the states that differ too much, the worst first."""
    verification = entry["verification"]
    relative = verification["relative"]
    names = sorted(
        entry["exceeded"]["accuracy"],
        key=lambda name: float("inf") if relative[name] is None else relative[name],
        reverse=True,
    )
    rows = [
        (
            name,
            short(entry["accuracy"]),
            bounded(relative[name]),
            bounded(verification["difference"][name]),
        )
        for name in names[:MOST_STATES]
    ]
    text = _table(("state", "accuracy", "difference", "absolute"), rows)
    more = len(names) - MOST_STATES
    return f"{text}\nand {more} more states" if more > 0 else text


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Align columns: words to the left, numbers to the right."""
    lines = [tuple(heads), *map(tuple, rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(heads))]
    words = sum(head in ("goal", "state", "fed back") for head in heads)
    return "\n".join(
        "  "
        + "  ".join(
            cell.ljust(width) if place < words else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


@dataclass(frozen=True)
class RunSection:
    """A run in the page: its number, what was measured, its figure, and its worst residual."""

    number: int
    entry: Mapping[str, Any]
    figure: Markup
    worst: tuple[str, float | None, float | None]

    @property
    def ratio(self) -> str:
        """The measured value over the allowed one, for reading."""
        _, found, limit = self.worst
        if limit is None:
            return facts.NOTHING
        return facts.bounded(None if found is None else found / limit)


def write_report(directory: Path, entries: Sequence[Mapping[str, Any]]) -> Path:
    """Write drift.html and drift.json, each whole or not at all, and return the page.

    Parameters
    ----------
    directory
        Where to; it is there.
    entries
        What each run measured.

    Raises
    ------
    OSError
        The files cannot be written.
    """
    created = datetime.now(UTC).replace(microsecond=0).isoformat()
    whole = {"format": FORMAT, "created": created, "versions": versions(), "runs": list(entries)}
    replace_file(directory / JSON_FILE, dump(whole, indent=1) + "\n")
    return replace_file(directory / PAGE_FILE, page(whole))


def page(whole: Mapping[str, Any]) -> str:
    """Return the page of what drift.json holds."""
    entries = whole["runs"]
    return template("daesolve.reporting.drift_testing", TEMPLATE).render(
        sections=[
            RunSection(number, entry, _figure(number, entry), worst(entry))
            for number, entry in enumerate(entries, start=1)
        ],
        tests=len({entry["test"] for entry in entries}),
        exceeded=sum(entry["verdict"] == "exceeded" for entry in entries),
        caption=facts.DRIFT,
        whole=whole,
        title=facts.title,
        headline=headline,
        repetition=repetition,
        settings=settings,
    )


def _figure(number: int, entry: Mapping[str, Any]) -> Markup:
    """Draw the residuals over time."""
    if not any(history["times"] for history in entry["drift_history"].values()):
        return Markup("")
    from daesolve.reporting.figures import drift
    from daesolve.reporting.figures.style import style, svg

    with style():
        return Markup(svg(drift([entry]), f"drift-{number}"))
