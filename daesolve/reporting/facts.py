"""Facts about a run for both the text and the page, taken from its document."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daesolve.core.encoding import is_mapping
from daesolve.core.solvers.taylor import Taylor
from daesolve.errors import readable
from daesolve.reporting.audits import audit_card
from daesolve.reporting.sampling import Document

NOTHING = "—"
UNVERIFIED = (
    "Not verified. Driven residuals are small at almost any accuracy and reveal nothing about "
    "phase errors; repeat the run with --verify to see how far you can trust the motion."
)
DRIFT = (
    "Residuals over their scales, root mean square over all accepted steps in each tenth of a "
    "decade. Solid: driven. Dashed: measured. Dotted, for comparison: one rounding error, and "
    "the growth of one error per step without feedback: √t if they are random (Brouwer's law), "
    "t if they are biased. Zeros and sizes below 1e-20 are not shown."
)
OUTCOMES = {
    "completed": "completed",
    "stopped_by_event": "stopped by an event",
    "interrupted": "interrupted",
    "degenerate": "degenerate",
    "contradicted": "contradicted by its audit",
    "failed": "failed",
}
GOOD = ("completed", "stopped_by_event")
DISTINGUISHING = (
    "problem",
    "case",
    "model",
    "structure",
    "parameters",
    "formulation",
    "rates",
    "solver",
    "tolerances",
    "until",
)
"""The respects in which runs can differ, the most informative first."""
MOST_PARTS = 3
DIGITS = 16.0
"""Digits of a double."""
ROUNDING = 2.2e-16
"""Relative rounding of a double."""
STILL = 1e-12
"""What is below this in the units of the system is taken for rounding."""
UNTRUSTED = 1e-2
"""A residual beyond this part of its scale cannot be trusted."""
FEW_DIGITS = 6


@dataclass(frozen=True)
class Worst:
    """The largest of several numbers and its name; `size` None is a number beyond bounds."""

    name: str
    size: float | None


def short(value: Any, digits: int = 3) -> str:
    """Return a number for reading: three digits, or a dash if there is none."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        text = f"{readable(value):.{digits}g}"
        mantissa, _, exponent = text.partition("e")
        return f"{mantissa}e{int(exponent)}" if exponent else text
    return str(value)


def power(value: float | None) -> str:
    """Return a tolerance in the usual form: 1e-4, not 0.0001."""
    if value is None:
        return NOTHING
    mantissa, _, exponent = f"{readable(value):.1e}".partition("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}"


def growth(exponent: float | None) -> str:
    """Return a growth exponent as a power of time."""
    return short(None) if exponent is None else f"t^{exponent:.2f}"


def family(name: str) -> str:
    """Return the common stem of numbered names; nothing for other names."""
    stem, _, number = name.rpartition("_")
    return stem if number.isdigit() else ""


def heading(name: str) -> str:
    """Return the name of a figure as a title: words, the first letter large."""
    words = name.replace("_", " ").replace("-", " ")
    return words[:1].upper() + words[1:]


def bounded(value: float | None) -> str:
    """Return a size for reading; None means that it was beyond all bounds."""
    return "not finite" if value is None else short(value)


def seconds(value: float | None) -> str:
    """Return a duration in a suitable unit."""
    if value is None:
        return NOTHING
    if value < 1.0:
        return f"{1e3 * value:.3g} ms"
    return f"{value:.3g} s" if value < 999.5 else f"{value:.0f} s"


def correction(entry: Mapping[str, Any]) -> str:
    """Return how much feedback a residual needed, or a dash if it was only measured."""
    return short(entry["correction"]) if entry["driven"] else NOTHING


def exact(value: Any) -> str:
    """Return a value in the form needed to repeat the run."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        value = readable(value)
        return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return NOTHING if value is None else str(value)


def title(document: Document) -> str:
    """Return the problem and its case, or a substitute for them."""
    parts = [document["problem"] or "your own system", document["case"]]
    return " · ".join(str(part) for part in parts if part)


def drift_worst(document: Document, *, driven: bool) -> Worst | None:
    """Find the residual that was largest relative to its scale, among the driven or the others."""
    sizes = {
        name: entry["max_relative"]
        for name, entry in document["drift"].items()
        if entry["driven"] is driven
    }
    return _worst(sizes)


def _worst(sizes: Mapping[str, float | None]) -> Worst | None:
    if not sizes:
        return None
    name = max(sizes, key=lambda n: _or_infinite(sizes[n]))
    return Worst(name, sizes[name])


def _or_infinite(value: float | None) -> float:
    return math.inf if value is None else value


def difference_worst(document: Document) -> Worst | None:
    """Find the state that differed most from the verification run, relative to `magnitudes`."""
    verification = document["verification"]
    if not verification:
        return None
    difference = verification["difference"]
    sizes = magnitudes(document)
    relative = {
        name: None if value is None else value / sizes.get(name, 1.0)
        for name, value in difference.items()
    }
    worst = _worst(relative)
    return None if worst is None else Worst(worst.name, difference[worst.name])


def agreement(document: Document) -> float | None:
    """Return the number of digits in which the verification run agrees; None without one.

    It is -log10 of the largest difference of a state, relative to the largest value among the
    states of its unit.
    """
    worst = difference_worst(document)
    return None if worst is None else digits(worst.size, magnitudes(document).get(worst.name, 1.0))


def digits(difference: float | None, size: float) -> float | None:
    """Return to how many digits two values of a size agree; None if unknown."""
    if difference is None:
        return None
    relative = difference / size
    return DIGITS if relative < 10.0**-DIGITS else max(0.0, -math.log10(relative))


def agreeing(count: float) -> str:
    """Say how many whole digits agree."""
    whole = math.floor(count)
    if whole < 1:
        return "no digit agrees"
    return "1 digit agrees" if whole == 1 else f"{whole} digits agree"


def separation(document: Document) -> str:
    """Say how small errors grow, from a run that was verified."""
    verification = document["verification"]
    time = verification["lyapunov_time"]
    if verification["growth"] == "regular":
        return "No exponential growth of small errors was seen."
    if verification["growth"] != "exponential" or not time:
        return "The exponential growth of small errors was not measured."
    digit = math.log(10.0) * time
    return (
        f"The motion is chaotic: small errors grow e-fold in {short(time)} s, which costs one "
        f"digit every {short(digit)} s, and the {DIGITS:.0f} of a double in "
        f"{short(DIGITS * digit)} s; the run is {short(span(document), 6)} s long."
    )


def span(document: Document) -> float:
    """Return the duration of the computed motion, s."""
    return abs((document["end_time"] or 0.0) - (document.get("start_time") or 0.0))


def magnitudes(document: Document) -> dict[str, float]:
    """Return for each state the largest value among the samples of all states of its unit.

    If that is only rounding, as for bodies at rest, it is 1.
    """
    units = document.get("units", {})
    largest: dict[str, float] = {}
    for name, values in document["states"].items():
        size = max((abs(value) for value in values if value is not None), default=0.0)
        unit = units.get(name, name)
        largest[unit] = max(largest.get(unit, 0.0), size)
    sizes = {unit: size if size > STILL else 1.0 for unit, size in largest.items()}
    return {name: sizes[units.get(name, name)] for name in document["states"]}


def pace(document: Document) -> float | None:
    """Return how many seconds of motion were computed per second; None if unknown."""
    wall = document["statistics"].get("wall_seconds")
    return span(document) / wall if wall else None


def changes(document: Document) -> list[str]:
    """List the changes that made the start consistent."""
    units = document.get("units", {})
    return [
        f"{name}: {_changed(entry['given'], entry['value'])} {units.get(name, '')}".rstrip()
        for name, entry in document.get("start_changes", {}).items()
    ]


def _changed(given: float | None, value: float | None) -> str:
    before, after = short(given, 6), short(value, 6)
    if before == after and given is not None and value is not None:
        return f"{before}, changed by {short(value - given)}"
    return f"{before} → {after}"


def notes(document: Document) -> list[str]:
    """List choices and findings, without the notes about the solver's code."""
    return [note for note in document.get("notes", []) if not Taylor.is_about_code(note)]


def about_code(document: Document) -> str:
    """Say how the solver's code was compiled."""
    chosen = [note for note in document.get("notes", []) if Taylor.is_about_code(note)]
    return "; ".join(chosen) or NOTHING


def ending(document: Document) -> str:
    """Say when a run ended or, if it failed, up to when its motion is known."""
    at = f"t = {short(document['end_time'], 10)} s"
    return f"at {at}" if document["outcome"] in GOOD else f"the motion is known up to {at}"


def start_state(document: Document) -> dict[str, Any]:
    """Return the state at the start; empty where no sample was taken there."""
    times = document["times"]
    if document.get("start_time") not in times:
        return {}
    index = times.index(document["start_time"])
    return {name: values[index] for name, values in document["states"].items()}


def labels(documents: Sequence[Document]) -> list[str]:
    """Name runs by what distinguishes them, otherwise by number."""
    if len(documents) == 1:
        return [title(documents[0])]
    parts: list[list[str]] = [[] for _ in documents]
    for key in DISTINGUISHING:
        values = [document.get(key) for document in documents]
        if key == "tolerances" and len({document["solver"] for document in documents}) > 1:
            continue
        if any(value != values[0] for value in values):
            for part, value in zip(parts, values, strict=True):
                part.extend(_distinction(key, value, values))
    names = [
        ", ".join(part if len(part) <= MOST_PARTS else [*part[:MOST_PARTS], "…"]) for part in parts
    ]
    return [
        f"run {number}: {name}" if names.count(name) > 1 and name else name or f"run {number}"
        for number, name in enumerate(names, start=1)
    ]


def _distinction(key: str, value: Any, values: Sequence[Any]) -> list[str]:
    if value is None:
        return []
    if not is_mapping(value):
        return [f"until {short(value)} s" if key == "until" else str(value)]
    if key == "rates":
        return _rates(value)
    others = [other for other in values if is_mapping(other)]
    parts: list[str] = []
    for name in dict.fromkeys(name for other in others for name in other):
        present = [other.get(name) for other in others]
        if name in value and any(entry != present[0] for entry in present):
            parts.append(f"{name} {short(value[name], 4)}")
    return parts


def _rates(rates: Mapping[str, float | None]) -> list[str]:
    """Name the rate that most goals have, and those of the others."""

    def shown(rate: float | None) -> str:
        return "off" if rate is None else short(rate, 4)

    if not rates:
        return []
    common = Counter(map(shown, rates.values())).most_common(1)[0][0]
    others = {name: shown(rate) for name, rate in rates.items() if shown(rate) != common}
    return [f"rates {common}", *(f"{name} {rate}" for name, rate in others.items())]


@dataclass(frozen=True)
class Card:
    """A fact of the headline; `tone` is good, plain, warn or bad."""

    label: str
    value: str
    detail: str
    tone: str = "plain"


@dataclass(frozen=True)
class Banner:
    """The banner of a run that did not reach its intended end.

    Parameters
    ----------
    headline, detail
        What happened.
    share
        How much of the horizon was reached, from 0 to 1.
    command
        The command that resumes it.
    tone
        warn or bad.
    """

    headline: str
    detail: str
    share: float
    command: str | None
    tone: str


def banner(run: Document) -> Banner | None:
    """Return the banner of a run that is not finished; None if it is."""
    if run["outcome"] in GOOD:
        return None
    start, until = run.get("start_time", 0.0), run.get("until", run["end_time"])
    share = span(run) / abs(until - start) if until != start else 1.0
    reached = f"t = {short(run['end_time'], 6)} s of {short(until, 6)} s, {100.0 * share:.3g} %"
    if run["outcome"] != "interrupted":
        words = OUTCOMES.get(run["outcome"]) or run["outcome"]
        headline = f"The run ended {words}; the motion is known up to {reached}."
        if run["outcome"] == "contradicted":
            headline = "The run contradicts what was posed."
        return Banner(headline, f"{run['message']}{_between(run)}", share, None, "bad")
    state = "was interrupted" if run.get("finished", True) else "is not finished"
    state = "is still running" if run.get("under_way") else state
    directory = run.get("directory")
    return Banner(
        f"This run {state}: it has reached {reached}.",
        "This report covers the motion up to there.",
        share,
        f"daesolve resume {directory}" if directory and not run.get("under_way") else None,
        "warn",
    )


def _between(run: Document) -> str:
    """Say why a fault lies beyond the time up to which the motion is known."""
    last = run["events"][-1]["time"] if run["events"] else run["end_time"]
    if abs(last - run["end_time"]) <= ROUNDING * max(1.0, abs(last)):
        return ""
    return (
        f". The last accepted step ends at t = {short(run['end_time'], 6)} s; the fault was "
        f"found within the next one, at t = {short(last, 6)} s."
    )


def cards(run: Document) -> list[Card]:
    """Return audit, outcome, verification, residuals, energy and cost of a run."""
    statistics = run["statistics"]
    rate = pace(run)
    speed = "" if rate is None else f", {short(rate)} simulated s/s"
    return [
        Card("Audit", *audit_card(run)),
        Card(
            "Outcome",
            OUTCOMES.get(run["outcome"]) or run["outcome"],
            (run["message"] if run["outcome"] in GOOD else "") or ending(run),
            "good" if run["outcome"] in GOOD else "bad",
        ),
        _verification_card(run),
        _drift_card(run),
        _energy_card(run),
        Card(
            "Cost",
            seconds(statistics["wall_seconds"] or None),
            f"{statistics['steps']:,} steps{speed}; compiled in "
            f"{seconds(statistics['compile_seconds'])}"
            f"{' (cached)' if statistics['compile_cached'] else ''}",
        ),
    ]


def _drift_card(run: Document) -> Card:
    worst = drift_worst(run, driven=True)
    if worst is None:
        return Card("Largest driven residual", NOTHING, "nothing was driven")
    value = bounded(worst.size)
    if worst.size is None or worst.size > UNTRUSTED:
        detail = f"{worst.name}: not to be trusted"
        return Card("Largest driven residual", value, detail, "bad")
    return Card(
        "Largest driven residual",
        value,
        f"{worst.name}, over its scale; fed back, so this does not prove accuracy",
    )


def _energy_card(run: Document) -> Card:
    entry = run["drift"].get("energy")
    if entry is None:
        return Card("Energy error", NOTHING, "energy is not a goal of this system")
    size = entry["max_relative"]
    detail = (
        "driven, so this does not prove accuracy" if entry["driven"] else "measured, not driven"
    )
    growth = entry["growth_exponent"]
    if growth is not None:
        detail += f"; grows like t^{growth:.2f}"
    tone = "bad" if size is None or size > UNTRUSTED else "plain"
    return Card("Energy error", bounded(size), detail, tone)


def _verification_card(run: Document) -> Card:
    verification = run["verification"]
    if not verification:
        return Card("Verification", "not verified", "repeat it with --verify (verify=True)", "warn")
    digits, worst = agreement(run), difference_worst(run)
    if digits is None or worst is None:
        return Card("Verification", "not verified", f"against {verification['against']}", "bad")
    unit = run.get("units", {}).get(worst.name, "")
    size = f"{short(worst.size)} {unit}".rstrip()
    return Card(
        "Verification",
        agreeing(digits),
        f"{worst.name} differs by {size}, against {verification['against']}",
        "good" if digits >= FEW_DIGITS else "warn",
    )
