"""The facts that head a report."""

from __future__ import annotations

from dataclasses import dataclass

from daesolve.reporting import facts
from daesolve.reporting.document import Document

UNTRUSTED = 1e-2
"""A residual beyond this part of its scale is not to be trusted."""
FEW_DIGITS = 6


@dataclass(frozen=True)
class Card:
    """A fact of the headline; `tone` is good, plain, warn or bad."""

    label: str
    value: str
    detail: str
    tone: str = "plain"


@dataclass(frozen=True)
class Banner:
    """What must be known before anything else of a run that did not end where it was meant to.

    Parameters
    ----------
    headline, detail
        What happened.
    share
        How much of the horizon was reached, from 0 to 1.
    command
        What goes on with it.
    tone
        warn or bad.
    """

    headline: str
    detail: str
    share: float
    command: str | None
    tone: str


def banner(run: Document) -> Banner | None:
    """Return what must be known of a run that is not finished; None of one that is."""
    if run["outcome"] in facts.GOOD:
        return None
    start, until = run.get("start_time", 0.0), run.get("until", run["end_time"])
    share = facts.span(run) / abs(until - start) if until != start else 1.0
    reached = (
        f"t = {facts.short(run['end_time'], 6)} s of {facts.short(until, 6)} s, "
        f"{100.0 * share:.3g} %"
    )
    if run["outcome"] != "interrupted":
        words = facts.OUTCOMES.get(run["outcome"]) or run["outcome"]
        headline = f"The run ended {words} at {reached}."
        return Banner(headline, run["message"], share, None, "bad")
    state = "was interrupted" if run.get("finished", True) else "is not finished"
    state = "is under way" if run.get("under_way") else state
    directory = run.get("directory")
    return Banner(
        f"This run {state}: it has come to {reached}.",
        "What follows is told of the motion up to there.",
        share,
        f"daesolve resume {directory}" if directory and not run.get("under_way") else None,
        "warn",
    )


def cards(run: Document) -> list[Card]:
    """Return outcome, verification, residuals, energy and cost of a run."""
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
        _verification_card(run),
        _drift_card(run),
        _energy_card(run),
        Card(
            "Cost",
            facts.seconds(statistics["wall_seconds"] or None),
            f"{statistics['steps']:,} steps{speed}; compiled in "
            f"{facts.seconds(statistics['compile_seconds'])}"
            f"{' (cached)' if statistics['compile_cached'] else ''}",
        ),
    ]


def _drift_card(run: Document) -> Card:
    worst = facts.drift_worst(run, driven=True)
    if worst is None:
        return Card("Largest driven residual", facts.NOTHING, "nothing was driven")
    value = facts.bounded(worst.size)
    if worst.size is None or worst.size > UNTRUSTED:
        detail = f"{worst.name}: not to be trusted"
        return Card("Largest driven residual", value, detail, "bad")
    return Card(
        "Largest driven residual",
        value,
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
    tone = "bad" if size is None or size > UNTRUSTED else "plain"
    return Card("Energy error", facts.bounded(size), told, tone)


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
        "no digit agrees" if digits < 1.0 else f"{digits:.0f} digits agree",
        f"{worst.name} differs by {size}, against {verification['against']}",
        "good" if digits >= FEW_DIGITS else "warn",
    )
