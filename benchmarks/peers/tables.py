"""The measurements as text and as Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarks.common.tables import aligned, folded, markdown

from .comparing import OWN, Comparison, ahead, closest, compared, failures, titles
from .measuring import PEERS, Measurement

HEADS = ("s", "/ daesolve", "at", "setup s", "import s", "steps", "error", "gap m", "energy")
"""Widths of the columns of `text` after the first."""


def _tasks(found: Sequence[Measurement]) -> list[str]:
    return [name for name in titles() if any(entry.task == name for entry in found)]


def text(found: Sequence[Measurement]) -> str:
    """Return every setting of every package; the ratio compares costs at equal error."""
    parts: list[str] = []
    for task in _tasks(found):
        rows: list[list[str]] = []
        for peer in PEERS:
            rows += [_line(peer, entry) for entry in compared(found, task, peer)]
            rows += [[f"    {peer}", reason] for reason in failures(found, task, peer)]
        parts.append(aligned([titles()[task], *HEADS], rows))
    return "\n\n".join(parts)


def _line(peer: str, entry: Comparison) -> list[str]:
    one, own = entry.peer, entry.own
    return [
        f"{peer}, {one.method}, {one.setting}",
        f"{one.seconds:.5f}",
        "-" if entry.ratio is None else f"{entry.ratio:.3g}",
        f"{own.method}, {own.setting}" if own else "none as exact",
        f"{one.setup_seconds:.3f}",
        f"{one.import_seconds:.2f}",
        str(one.steps),
        *_figures(one),
    ]


def _figures(one: Measurement) -> list[str]:
    return [
        f"{value:.1e}" if math.isfinite(value) else "-"
        for value in (one.error, one.gap, one.energy)
    ]


def _own_row(one: Measurement) -> list[str]:
    cost = [f"{one.seconds:.4f}", "1", f"{one.setup_seconds:.2f}"]
    return [OWN, f"{one.method}, {one.setting}", *_figures(one), *cost]


def _peer_rows(found: Sequence[Measurement], task: str, peer: str) -> list[list[str]]:
    comparisons = compared(found, task, peer)
    rows: list[list[str]] = []
    shown = comparisons[:1]
    for entry in (ahead(comparisons), closest(comparisons)):
        shown += [entry] if entry and entry not in shown else []
    for entry in shown:
        one = entry.peer
        ratio = "none as exact" if entry.ratio is None else f"{entry.ratio:.3g}"
        if entry.ratio is not None and entry.ratio < 1.0:
            ratio = f"**{ratio}**"
        cost = [f"{one.seconds:.4f}", ratio, f"{one.setup_seconds:.2f}"]
        rows.append([peer, f"{one.method}, {one.setting}", *_figures(one), *cost])
    return rows or [[peer, "no result, see below", *["-"] * 6]]


def tables(found: Sequence[Measurement]) -> str:
    """Return a table for each task.

    Each package has up to three rows: its most accurate setting, its most accurate one that is
    cheaper than daesolve, and the one that compares best with daesolve.
    """
    parts: list[str] = []
    heads = ["package", "method", "error", "gap, m", "energy", "s", "s / daesolve", "setup, s"]
    for task in _tasks(found):
        rows: list[list[str]] = []
        own = compared(found, task, OWN)
        if own:
            cheapest = min(own, key=lambda entry: entry.peer.seconds)
            rows += [_own_row(entry.peer) for entry in dict.fromkeys((own[0], cheapest))]
        for peer in PEERS:
            if peer != OWN and any(e.peer == peer and e.task == task for e in found):
                rows += _peer_rows(found, task, peer)
        title = titles()[task]
        shown = [markdown(heads, rows)]
        reasons = [f"- {peer}: {why}" for peer in PEERS for why in failures(found, task, peer)]
        if reasons:
            shown += ["Without a result:", "\n".join(reasons)]
        summary = f"The table: {len(rows)} settings"
        parts += [f"### {title[0].upper()}{title[1:]}", folded(summary, "\n\n".join(shown))]
    return "\n\n".join(parts)
