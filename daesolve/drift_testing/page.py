"""The drift report: one page of HTML without scripts, and the same as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup

from daesolve.drift_testing import messages
from daesolve.drift_testing.limits import FORMAT, worst
from daesolve.reporting import facts
from daesolve.reporting.document import dump, replace_file
from daesolve.solving.descriptions import versions

PAGE_FILE = "drift.html"
JSON_FILE = "drift.json"
TEMPLATE = "drift.html.jinja"


@dataclass(frozen=True)
class RunSection:
    """A run in the page: its number, what was measured, its figure, and its worst residual."""

    number: int
    entry: Mapping[str, Any]
    figure: Markup
    worst: tuple[str, float | None, float | None]

    @property
    def ratio(self) -> str:
        """What was found over what is allowed, for reading."""
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
    return facts.template("daesolve.drift_testing", TEMPLATE).render(
        sections=[
            RunSection(number, entry, _figure(number, entry), worst(entry))
            for number, entry in enumerate(entries, start=1)
        ],
        tests=len({entry["test"] for entry in entries}),
        exceeded=sum(entry["verdict"] == "exceeded" for entry in entries),
        caption=facts.DRIFT,
        whole=whole,
        title=facts.title,
        headline=messages.headline,
        repetition=messages.repetition,
        settings=messages.settings,
    )


def _figure(number: int, entry: Mapping[str, Any]) -> Markup:
    """Draw the residuals over time."""
    if not any(history["times"] for history in entry["drift_history"].values()):
        return Markup("")
    from daesolve.reporting.figures import drift
    from daesolve.reporting.figures.style import style, svg

    with style():
        return Markup(svg(drift([entry]), f"drift-{number}"))
