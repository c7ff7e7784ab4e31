"""Contacts in a run: open, sliding or sticking over time, and a table of impacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daesolve.reporting.sampling import Document

SLIDES = "slides"
"""The state of a contact that slips in space, in whichever direction."""
OPEN, CLOSED, FORWARD, BACKWARD, STICKS = "open", "closed", "slides +", "slides -", "sticks"
WORDS = {0.0: OPEN, 1.0: FORWARD, -1.0: BACKWARD, 2.0: STICKS}
"""The state of a contact, by the output `<name>_state`."""
MET, LOST = "_closed", "_lost"
"""Suffixes of the events at which a contact closes and opens."""
HOLD = "contact_"
"""The prefix of the discrete value of a contact."""


@dataclass(frozen=True)
class ContactSpan:
    """What a contact does in a span of time, s."""

    begin: float
    end: float
    state: str


def contact_names(document: Document) -> list[str]:
    """Return the contacts of a run: those that rub, then those that are smooth and met or lost."""
    outputs = document["outputs"]
    rubbing = [
        name.removesuffix("_state")
        for name in outputs
        if name.endswith("_state") and f"{name.removesuffix('_state')}_margin" in outputs
    ]
    changed = [event["after"] for event in document["events"] if event.get("after")]
    values: list[str] = list(changed[0]) if changed else []
    smooth = [name.removeprefix(HOLD) for name in values if name.startswith(HOLD)]
    return list(dict.fromkeys([*rubbing, *smooth]))


def stretches(document: Document) -> dict[str, list[ContactSpan]]:
    """Return the state of each contact over time, from events, and then from samples."""
    names, times = contact_names(document), document["times"]
    if not names or not times:
        return {}
    found: dict[str, list[ContactSpan]] = {}
    end = document["end_time"]
    for name in names:
        known = _known(document, name)
        parts: list[ContactSpan] = []
        for place, (time, state) in enumerate(known):
            until = known[place + 1][0] if place + 1 < len(known) else end
            if parts and parts[-1].state == state:
                parts[-1] = ContactSpan(parts[-1].begin, until, state)
            elif until != time:
                parts.append(ContactSpan(time, until, state))
        found[name] = parts
    return found


def _known(document: Document, name: str) -> list[tuple[float, str]]:
    """Return the instants at which the state of a contact is known, in the order of the run."""
    times = document["times"]
    changes = [
        (event["time"], _after(event["after"], name))
        for event in document["events"]
        if event.get("after") and HOLD + name in event["after"]
    ]
    values = document["outputs"].get(f"{name}_state")
    if values is not None:
        words = WORDS | {1.0: SLIDES} if f"{name}_slip_1" in document["outputs"] else WORDS
        samples = [(t, words.get(v, OPEN)) for t, v in zip(times, values, strict=True)]
    else:
        pushes = np.array(document["reactions"].get(name, [0.0])[:1], dtype=float)
        samples = [(times[0], CLOSED if pushes.any() else OPEN)]
    sign = -1.0 if times[-1] < times[0] else 1.0
    # A sample at the time of an event was taken before it.
    return sorted([*samples, *changes], key=lambda known: sign * known[0])


def _after(values: Mapping[str, float], name: str) -> str:
    """Return the state of a contact after an event."""
    if values[HOLD + name] != 1.0:
        return OPEN
    slides = values.get(f"slides_{name}")
    if slides is None:
        return CLOSED
    if abs(slides) < 1.0:
        return STICKS
    return SLIDES if f"sticks_{name}_1" in values else WORDS[slides]


@dataclass(frozen=True)
class ImpactLine:
    """An impact, for a table.

    Parameters
    ----------
    time
        s
    contacts
        Those that were met, by their events.
    impulses
        By the name of the reaction, N s; those that are zero are left out.
    lost
        Energy, J, and its part of the kinetic energy before.
    """

    time: float
    contacts: str
    impulses: tuple[tuple[str, float], ...]
    lost: tuple[float, float]


def impact_lines(document: Document, most: int) -> list[ImpactLine]:
    """Return the first impacts of a run; the first event of those at an instant has it."""
    lines: list[ImpactLine] = []
    for event in document["events"]:
        impact = event.get("impact")
        if lines and impact is None and event["time"] == lines[-1].time:
            if event["name"].endswith(MET):
                so_far, met = lines[-1].contacts, event["name"].removesuffix(MET)
                # What an impact throws open is not met.
                met = met if so_far.endswith(LOST) else f"{so_far}, {met}"
                lines[-1] = replace(lines[-1], contacts=met)
            continue
        if impact is None or "impulses" not in impact:
            continue
        if len(lines) == most:
            break
        lines.append(_line(event, impact))
    return lines


def _line(event: Mapping[str, Any], impact: Mapping[str, Any]) -> ImpactLine:
    before, after = impact["kinetic_before"] or 0.0, impact["kinetic_after"] or 0.0
    impulses = tuple((name, value) for name, value in impact["impulses"].items() if value)
    part = (before - after) / before if before > 0.0 else 0.0
    name = event["name"].removesuffix(MET)
    return ImpactLine(event["time"], name, impulses, (before - after, part))
