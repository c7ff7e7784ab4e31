"""Results in a notebook: comparisons, sweeps, sections, periodic orbits, branches."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from daesolve.analysis.orbits.branch import Branch
from daesolve.analysis.orbits.orbit import PeriodicOrbit
from daesolve.analysis.sections import OWN_NAME, Section, portrait
from daesolve.ensembles.sweep_results import Sweep, outcomes, results_table
from daesolve.reporting.content import ContentPart, comparison_table, paragraph, table_part
from daesolve.reporting.document import comparison_document
from daesolve.reporting.facts import NOTHING, OUTCOMES, Card, short
from daesolve.reporting.figures.accuracy import work_precision
from daesolve.reporting.figures.style import style
from daesolve.reporting.notebook.blocks import block, drawn
from daesolve.verification.comparison import Comparison

MEMBERS_SHOWN, COLUMNS_SHOWN = 10, 8
EXACT = 10
"""Digits of a number that is used further."""
ROUNDED = 1e-9
"""What is not wider than this, in sizes of a state, is not drawn as an axis."""
LONG = {"member", "message", "notes"}
"""Columns of a sweep that are words, or come first by themselves."""
TONES = {"stable": "good", "unstable": "warn"}


def comparison_block(found: Comparison) -> str:
    """Return the notebook block of a comparison: each run, and the work for the precision."""
    document = comparison_document(found, {})
    pairs = len(found.pairs)
    refused = [f"{entry.formulation} + {entry.solver}: {entry.reason}" for entry in found.refused]
    return block(
        "Comparison",
        f"{len(found.runs)} runs of {pairs} pairs",
        parts=[
            ContentPart("", comparison_table(document).in_notebook(len(found.runs))),
            ContentPart("", paragraph(found.standard.note)),
            ContentPart("", drawn([work_precision(document)])),
            table_part("Refused", ("",), [(line,) for line in refused], folded=True),
        ],
    )


def sweep_block(found: Sweep) -> str:
    """Return the notebook block of a sweep: how its members ended, and the first of them."""
    counted = Counter(outcomes(found.directory).values())
    cards = [
        Card("Done", f"{found.done:,} of {found.count:,}", str(found.directory)),
        Card(
            "Failed",
            f"{found.failed:,}",
            ", ".join(f"{n:,} {OUTCOMES.get(word, word)}" for word, n in counted.items()),
            "bad" if found.failed else "good",
        ),
    ]
    members = results_table(found.directory, "members")
    known = [name for name in members.column_names if name not in LONG]
    names = ["member", *known[: COLUMNS_SHOWN - 1]]
    lines: list[dict[str, Any]] = members.slice(0, MEMBERS_SHOWN).to_pylist()
    rows = [[_cell(line[name]) for name in names] for line in lines]
    more = members.num_columns - len(names)
    hidden = [f"{found.done - len(rows):,}more members"] if found.done > len(rows) else []
    hidden += [f"{more}more columns"] if more else []
    return block(
        "Sweep",
        "interrupted" if found.interrupted else "",
        cards,
        [
            table_part("", names, rows, ()),
            ContentPart("", paragraph(f"and {', '.join(hidden)}: sweep.to_pandas() returns all"))
            if hidden
            else None,
        ],
    )


def _cell(value: Any) -> str:
    return short(value, 6)


def section_block(found: Section) -> str:
    """Return the notebook block of a section: its points, in the plane of two states."""
    names = _varying(found)[:2]
    parts: list[ContentPart | None] = []
    if len(found) and len(names) == 2:
        labels = [f"{n} ({u})" if (u := found.units.get(n)) else n for n in names]
        with style():
            figure = portrait(found[names[0]], found[names[1]], *labels)
        parts.append(ContentPart("", drawn([figure])))
    count = len(found)
    span = f", t = {short(found.times[0].item(), 6)} s to {short(found.times[-1].item(), 6)} s"
    words = f"{count:,} {'passage' if count == 1 else 'passages'}{span if count else ''}"
    title = "Section" if found.event == OWN_NAME else f"Section at {found.event}"
    return block(title, words, parts=parts)


def _varying(found: Section) -> list[str]:
    """Return the states that differ from point to point by more than rounding."""

    def varies(values: np.ndarray) -> bool:
        return bool(np.ptp(values) > ROUNDED * max(1.0, np.abs(values).max()))

    return [name for name, values in found.states.items() if len(values) and varies(values)]


def orbit_block(orbit: PeriodicOrbit) -> str:
    """Return the notebook block of a periodic orbit: its period, its multipliers."""
    digits = NOTHING if math.isnan(orbit.digits) else f"{orbit.digits:.1f}"
    cards = [
        Card("Verdict", orbit.verdict, "of small changes", TONES.get(orbit.verdict, "plain")),
        Card("Period", f"{orbit.period:.{EXACT}g} s", f"{len(orbit.events)} events"),
        Card("Largest multiplier", short(abs(orbit.leading), 6), "its size, per period"),
        Card("Closure error", short(orbit.residual), f"confirmed digits: {digits}"),
    ]
    rows = [(_complex(value), short(abs(value), EXACT)) for value in orbit.multipliers.tolist()]
    trivial = [(name, short(miss)) for name, miss in orbit.trivial.items()]
    start = [
        (name, short(float(value), EXACT), orbit.run.units.get(name, ""))
        for name, value in orbit.state.items()
    ]
    shifts = [
        f"{name} advances by {value:.{EXACT}g} in a period" for name, value in orbit.shift.items()
    ]
    return block(
        "Periodic orbit",
        "; ".join(shifts),
        cards,
        [
            table_part("Multipliers", ("multiplier", "size"), rows),
            table_part("Start", ("", "value", "unit"), start, (0, 2), folded=True),
            table_part("Trivial multipliers", ("", "error"), trivial, folded=True),
            table_part("Notes", ("",), [(note,) for note in orbit.notes], folded=True),
        ],
    )


def _complex(value: complex) -> str:
    if not value.imag:
        return f"{value.real:.{EXACT}g}"
    return f"{value.real:.{EXACT}g} {'+' if value.imag > 0 else '−'} {abs(value.imag):.{EXACT}g} i"


def branch_block(branch: Branch) -> str:
    """Return the notebook block of a branch: its drawing, and its special points."""
    values = [entry.value for entry in branch.entries]
    name = branch.axis.name
    verdicts = Counter(branch.verdicts)
    special = [
        (point.kind, short(point.value, EXACT), short(point.point.period, EXACT), point.detail)
        for point in branch.special
    ]
    with style():
        figure = branch.plot()
    span = f"{name} from {min(values):.{EXACT}g} to {max(values):.{EXACT}g}"
    listed = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    head = ("kind", name, "period (s)", "")
    return block(
        "Branch",
        f"{len(branch)} orbits, {span}: {listed}",
        parts=[
            ContentPart("", drawn([figure])),
            table_part("Special points", head, special, (0, 3)),
            *(ContentPart("", paragraph(end)) for end in branch.ends),
        ],
    )
