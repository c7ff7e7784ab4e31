"""Whether every passage of a guard through zero has its event, and every event its passage.

Passages are looked for on the polynomials of the steps, not by the search of any solver. Where a
start or a reset puts a guard past zero, the way that it is on decides whether its event happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from daesolve.audit.certificate import FINE, Certificate, fine
from daesolve.audit.expressions import Expressions, UnknownSymbolsError
from daesolve.audit.refining import POLE, Guard, at_events, divided, jump_through, usual_size
from daesolve.audit.rounding import BESIDE, measured
from daesolve.posing.contacts import ACCUMULATED, REST
from daesolve.posing.events import Event
from daesolve.posing.guides import JAM
from daesolve.trajectory.findings import Finding, Verdict, unchecked
from daesolve.trajectory.results import EventRecord

NOTHING = 1e-9
"""The part of the largest value of a guard, in a step and the next ones, that counts as zero."""
LEAST = 1e-12
"""The part of its largest value in the whole run that counts as zero as well."""
APART = 1e-9
"""How far, relative to the length of a step, an event may be from the passage."""
AWAY = 1e-6
"""The part of its largest value that a guard may be where it fires."""
STEPS_OFF = 1e4
"""How many times the accuracy of its steps the guards of other methods may be off."""
PUT = 1e-5
"""The part of the largest value of a guard by which it is past zero where a reset has put it."""
OWN = {ACCUMULATED, REST, JAM}
"""The events that the library adds to contacts and guides."""


def check_events(certificate: Certificate, along: Expressions) -> list[Finding]:
    """Hold the events of a run against the passages of their guards."""
    found: list[Finding] = []
    by_name: dict[str, list[EventRecord]] = {}
    for record in certificate.events:
        by_name.setdefault(record.name, []).append(record)
    for event in posed_events(certificate.system):
        if not event.listed:
            found.append(unchecked("event", event.name, "runs do not list it"))
            continue
        parts = enumerate(ca.vertsplit(event.guards))
        guards = [Guard(event.name, place, part) for place, part in parts]
        try:
            found.append(_event(along, event, guards, by_name.get(event.name, [])))
        except UnknownSymbolsError as error:
            found.append(unchecked("event", event.name, str(error)))
    return found


def posed_events(system: Any) -> list[Event]:
    """Return the events that were posed: without those of contacts, tables and sampled laws."""
    contacts = [goal.name for goal in system.goals if hasattr(goal, "sticking")]
    kinds = ("lost", "closed", "sticks", "slips", "reverses", "sets_out", "shares")
    added = {f"{name}_{kind}" for name in contacts for kind in kinds} | OWN
    added |= {event.name for drive in system.drives for event in drive.events}
    return [event for event in system.events if event.name not in added]


def _event(
    along: Expressions, event: Event, guards: Sequence[Guard], records: Sequence[EventRecord]
) -> Finding:
    """Judge an event by its guards."""
    certificate = along.certificate
    times = np.array([record.time for record in records])
    told = [measured(along, guard.key, guard.expression) for guard in guards]
    missing: list[float] = []
    for guard, (values, _, _) in zip(guards, told, strict=True):
        if not np.isfinite(values).all():
            return unchecked("event", event.name, "its guard is not finite everywhere")
        own = times[[guard.place in record.fired for record in records]] if len(times) else times
        parts, known, pole = divided(along, guard, values)
        missing += passages_without(parts, known, event.direction.value, own, pole, certificate)
        if event.then.interrupts and event.direction.value and not event.then.counts_past:
            missing += _put_past(certificate, values, event, own)
    if missing:
        first = min(missing, key=lambda time: certificate.sign * time)
        count = (
            "a passage of its guard has"
            if len(missing) == 1
            else f"{len(missing)} passages of its guard have"
        )
        return Finding(
            "event",
            event.name,
            Verdict.CONTRADICTED,
            None,
            first,
            f"{count} no event, the first at t = {first:.6g} s",
        )
    return _fired(along, event, guards, told, records)


def passages_without(
    certificate: Certificate,
    guard: np.ndarray,
    direction: int,
    known: np.ndarray,
    pole: float = np.inf,
    whole: Certificate | None = None,
) -> list[float]:
    """Return when a guard (n, NODES) passes zero in a direction without one of the known events.

    It passes at no pole, where it is beyond a value on both sides. The steps may be parts of those
    of the whole run.
    """
    values = np.clip(fine(guard), -pole, pole)
    zero = NOTHING * np.max(np.abs(values), axis=1) + 10.0 * certificate.unresolved(guard)
    # A guard that begins at zero goes on from where the steps of its solver leave it.
    zero += max(LEAST, BESIDE * certificate.accuracy) * np.max(np.abs(values), initial=0.0)
    # The times of nodes are rounded, by which a fast guard moves at a late time.
    clock = 4.0 * np.spacing(np.abs(certificate.starts) + np.abs(certificate.lengths))
    steepest = np.max(np.abs(np.diff(values, axis=1)), axis=1) * (len(FINE) - 1)
    zero += clock * steepest / np.abs(certificate.lengths)
    signs = np.where(np.abs(values) <= zero[:, None], 0.0, np.sign(values))
    places = certificate.starts[:, None] + certificate.lengths[:, None] * FINE
    signs, places, values = signs.ravel(), places.ravel(), values.ravel()
    steps = np.repeat(np.arange(len(guard)), len(FINE))
    kept = np.flatnonzero(signs)
    before, after = kept[:-1], kept[1:]
    turns = signs[before] * signs[after] < 0.0
    if direction:
        turns &= signs[after] == direction  # in the order of the run, also backwards
    # Both sides of the same instant: a reset put it past zero.
    borders = (certificate if whole is None else whole).starts
    turns &= (places[before] != places[after]) | ~np.isin(places[after], borders)
    turns &= np.minimum(np.abs(values[before]), np.abs(values[after])) < pole
    missing: list[float] = []
    for a, b in zip(before[turns], after[turns], strict=True):
        slack = APART * (abs(certificate.lengths[steps[a]]) + abs(certificate.lengths[steps[b]]))
        low, high = sorted((places[a], places[b]))
        if not np.any((known >= low - slack) & (known <= high + slack)):
            part = values[a] / (values[a] - values[b])
            missing.append(float(places[a] + part * (places[b] - places[a])))
    return missing


def _put_past(
    certificate: Certificate, guard: np.ndarray, event: Event, known: np.ndarray
) -> list[float]:
    """Return when a start or a reset puts a guard (n, NODES) past zero, without its event.

    The guard counts as passed there unless it is on its way back. Where one reset follows another
    at one instant, the steps do not show what was between them.
    """
    values = event.direction.value * fine(guard)
    zero = PUT * np.max(np.abs(values)) + 10.0 * certificate.unresolved(guard)
    rate = values[:, :3] @ [-1.5, 2.0, -0.5]  # by three places, of the length between two
    rises = np.ptp(values, axis=1) / len(FINE)
    past = (values[:, 0] > zero) & (np.minimum(rate, values[:, 1] - values[:, 0]) > 0.1 * rises)
    past[1:] &= values[:-1, -1] < -zero[:-1]
    if certificate.continues:
        past[0] = False
    missing: list[float] = []
    for step in np.flatnonzero(past).tolist():
        time = float(certificate.starts[step])
        near = 1e-12 * max(1.0, abs(time))
        here = [record.after for record in certificate.events if abs(record.time - time) <= near]
        resets = {tuple(after.values()) for after in here if after is not None}
        if len(resets) <= (step > 0) and not np.any(np.abs(known - time) <= near):
            missing.append(time)
    return missing


def _fired(
    along: Expressions,
    event: Event,
    guards: Sequence[Guard],
    told: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
    records: Sequence[EventRecord],
) -> Finding:
    """Check that at each event a guard that fired is zero, or something carried it past zero.

    Where guards have poles, their usual values count instead of the largest.
    """
    if not records:
        return Finding("event", event.name, Verdict.HOLDS, 0.0, None)
    certificate = along.certificate
    order, ends = certificate.sign * certificate.starts, np.array([r.time for r in records])
    steps = np.searchsorted(order, certificate.sign * ends, side="left") - 1
    steps = np.maximum(steps, 0)
    parts = (ends - certificate.starts[steps]) / certificate.lengths[steps]
    # Where a run starts, a guard that is past zero counts as passed.
    judged = (parts > 0.0) & (parts <= 1.0 + 1e-9)
    judged &= np.array([not _shared(certificate.events, one) for one in records], dtype=bool)
    off, allowed = np.full(len(records), np.inf), max(AWAY, STEPS_OFF * certificate.accuracy)
    for guard, (values, _, beside) in zip(guards, told, strict=True):
        own = np.flatnonzero(judged & [guard.place in record.fired for record in records])
        if not own.size:
            continue
        # A guard that stays at zero is nothing but rounding.
        largest, noise = float(np.max(np.abs(values))), np.max(beside, initial=0.0)
        usual = usual_size(certificate, values)
        if 0.0 < usual < largest / POLE:
            largest, noise = usual, np.max(beside[steps[own]], axis=1)
        largest = largest + noise / AWAY + 1e-300
        found = np.abs(at_events(along, guard, steps[own], parts[own])) / largest
        far = np.flatnonzero(found > allowed)
        if far.size:
            where = steps[own[far]], parts[own[far]]
            found[far] *= ~jump_through(along, guard, event.direction.value, *where)
        off[own] = np.minimum(off[own], found)
    off = np.where(judged, off, 0.0)
    place = int(np.argmax(off))
    worst = float(off[place])
    when = float(ends[place]) if worst > 0.0 else None
    if worst > allowed:
        return Finding(
            "event",
            event.name,
            Verdict.CONTRADICTED,
            worst,
            when,
            f"it happens where its guard is {worst:.1g} of its largest value away from zero, at "
            f"t = {when:.6g} s",
        )
    return Finding("event", event.name, Verdict.HOLDS, worst, when)


def _shared(events: Sequence[EventRecord], record: EventRecord) -> bool:
    """Tell whether other events happen at the same instant, whose resets may have carried it."""
    near = 1e-12 * max(1.0, abs(record.time))
    return any(e is not record and abs(e.time - record.time) <= near for e in events)
