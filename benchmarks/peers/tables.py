"""The measurements as text, as JSON and as Markdown."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict

from .comparing import OWN, Comparison, Session, ahead, closest, compared, failures, titles
from .measuring import PEERS, Measurement

BEGIN, END = "<!-- peers: begin -->", "<!-- peers: end -->"


def _number(value: float) -> str:
    return f"{value:.1e}" if math.isfinite(value) else "-"


def _ratio(entry: Comparison) -> str:
    return "-" if entry.ratio is None else f"{entry.ratio:.3g}"


def _tasks(found: Sequence[Measurement]) -> list[str]:
    return [name for name in titles() if any(entry.task == name for entry in found)]


def text(run: Session) -> str:
    """Return every setting of every package; the ratio is that of the cost at equal error."""
    found = run.measurements
    lines = [", ".join(f"{name} {number}" for name, number in run.versions.items()), run.machine]
    heads = (
        f"{'s':>9} {'/ daesolve':>10} {'at':>24} {'setup s':>8} {'import s':>8} {'steps':>8} "
        f"{'error':>8} {'gap m':>8} {'energy':>8}"
    )
    for task in _tasks(found):
        lines += ["", f"{titles()[task]:44} {heads}"]
        for peer in PEERS:
            for entry in compared(found, task, peer):
                one = entry.peer
                name = f"{peer}, {one.method}, {one.setting}"
                at = f"{entry.own.method}, {entry.own.setting}" if entry.own else "none as exact"
                lines.append(
                    f"{name:44} {one.seconds:9.5f} {_ratio(entry):>10} {at:>24} "
                    f"{one.setup_seconds:8.3f} {one.import_seconds:8.2f} {one.steps:8d} "
                    f"{_number(one.error):>8} {_number(one.gap):>8} {_number(one.energy):>8}"
                )
            lines += [f"    {peer}: {reason}" for reason in failures(found, task, peer)]
    return "\n".join(lines)


def as_json(run: Session) -> str:
    """Return everything that was measured."""
    return json.dumps(asdict(run), indent=1)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _own_row(one: Measurement) -> str:
    cost = [f"{one.seconds:.4f}", "1", f"{one.setup_seconds:.2f}"]
    figures = [_number(one.error), _number(one.gap), _number(one.energy)]
    return _row([OWN, f"{one.method}, {one.setting}", *figures, *cost])


def _peer_rows(found: Sequence[Measurement], task: str, peer: str) -> list[str]:
    comparisons = compared(found, task, peer)
    rows = []
    shown = comparisons[:1]
    for entry in (ahead(comparisons), closest(comparisons)):
        shown += [entry] if entry and entry not in shown else []
    for entry in shown:
        one = entry.peer
        figures = [_number(one.error), _number(one.gap), _number(one.energy)]
        ratio = "none as exact" if entry.ratio is None else f"{entry.ratio:.3g}"
        if entry.ratio is not None and entry.ratio < 1.0:
            ratio = f"**{ratio}**"
        cost = [f"{one.seconds:.4f}", ratio, f"{one.setup_seconds:.2f}"]
        rows.append(_row([peer, f"{one.method}, {one.setting}", *figures, *cost]))
    return rows or [_row([peer, "no result, see below", *["-"] * 6])]


def markdown(run: Session) -> str:
    """Return a table for each task.

    Of each package it has the most exact setting, the most exact one that is cheaper than
    daesolve, and the one that comes off best beside daesolve.
    """
    found = run.measurements
    known = ", ".join(f"{name} {number}" for name, number in run.versions.items())
    parts = [BEGIN, f"Measured on {run.date}: {run.machine}. {known}."]
    heads = ["package", "method", "error", "gap, m", "energy", "s", "s / daesolve", "setup, s"]
    for task in _tasks(found):
        rows = [_row(heads), _row(["---"] * len(heads))]
        own = compared(found, task, OWN)
        if own:
            cheapest = min(own, key=lambda entry: entry.peer.seconds)
            rows += [_own_row(entry.peer) for entry in dict.fromkeys((own[0], cheapest))]
        for peer in PEERS:
            if peer != OWN and any(e.peer == peer and e.task == task for e in found):
                rows += _peer_rows(found, task, peer)
        title = titles()[task]
        parts += [f"### {title[0].upper()}{title[1:]}", "\n".join(rows)]
        reasons = [f"- {peer}: {why}" for peer in PEERS for why in failures(found, task, peer)]
        if reasons:
            parts += ["Without a result:", "\n".join(reasons)]
    return "\n\n".join([*parts, END]) + "\n"


def updated(document: str, run: Session) -> str:
    """Return a document with the tables between its two marks replaced.

    Raises
    ------
    ValueError
        It has no such marks.
    """
    if BEGIN not in document or END not in document:
        raise ValueError(f"the document has no lines {BEGIN} and {END} to put the tables between")
    before, rest = document.split(BEGIN, 1)
    return before + markdown(run).rstrip("\n") + rest.split(END, 1)[1]
