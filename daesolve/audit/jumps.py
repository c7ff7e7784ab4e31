"""Whether states jump only where events say so, and as their resets and impulses say.

Where one step ends and the next begins, the polynomials of both are continued to the instant
between them. Events of one instant come in rounds: those of a round happen together, and share what
was before and after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from daesolve.audit.certificate import Certificate, sides
from daesolve.audit.equations import names_of_meters
from daesolve.audit.expressions import Expressions, UnknownSymbolsError, names_of_states
from daesolve.audit.goals import LEFT
from daesolve.audit.impacts import check_impacts
from daesolve.audit.passages import posed_events
from daesolve.audit.rounds import Round, at_instants, rounds_of
from daesolve.posing.events import Event
from daesolve.posing.goals import Invariant
from daesolve.trajectory.findings import Finding, judged, unchecked

ALLOWED = 1e-5
"""The jump, as a part of the largest value of a state, that counts as none: steps projected onto
constraints leave 1e-6 near a singular position."""
BALANCED = 1e-7
"""The relative difference between the jump of a momentum and the impulses that counts as none."""
STEPS_OFF = 1e4
"""How many times the accuracy of its steps the ends of other methods may be off."""
ROUNDING = 1e-14
"""The part of the largest state, whichever it is, that counts as rounding."""
BLUR = 10.0
"""How many times farther the polynomial of a step may be off at its ends than within it."""
SAME = 1e-12
"""What part of a time two events of one instant may be apart."""
EXACT = 1e-9
"""The relative difference between what a reset says and does that counts as none."""


def check_jumps(certificate: Certificate, along: Expressions) -> list[Finding]:
    """Hold the jumps of a run against its events, and these against what was posed."""
    rounds = rounds_of(certificate.events)
    places = _places(certificate, rounds)
    found = [*_start(certificate, rounds, places), _continuity(certificate, rounds, places)]
    found += _held(certificate, rounds, places)
    if not rounds:
        return found
    values = _values_before(certificate, rounds, places)
    found += _resets(certificate, rounds, values)
    found += check_impacts(certificate, along, rounds, values)
    return found


def _places(certificate: Certificate, rounds: Sequence[Round]) -> np.ndarray:
    """Return after which step each round comes: -1 at the start, n after the last of n steps.

    One that is not where a step ends, in a part of the run that has no steps, gets -2.
    """
    times = np.array([one.time for one in rounds])
    ends = np.append(certificate.starts[:1], certificate.starts + certificate.lengths)
    # Steps may be shorter than what two events of one instant may be apart.
    after = np.searchsorted(certificate.sign * ends, certificate.sign * times)
    after = np.clip(after, 1, len(ends) - 1)
    nearer = np.abs(ends[after - 1] - times) < np.abs(ends[after] - times)
    near = np.where(nearer, after - 1, after)
    return np.where(np.abs(ends[near] - times) <= _near(times), near - 1, -2)


def _near(times: np.ndarray) -> np.ndarray:
    return SAME * np.maximum(1.0, np.abs(times))


def _values_before(
    certificate: Certificate, rounds: Sequence[Round], places: np.ndarray
) -> list[Mapping[str, float] | None]:
    """Return the values in force before each round; None where they are not known."""
    names, held = certificate.system.discrete.names, certificate.values
    others = [name for name in held if name not in names]
    last = len(certificate.starts) - 1
    found: list[Mapping[str, float] | None] = []
    for number, (one, place) in enumerate(zip(rounds, places.tolist(), strict=True)):
        # Where an input steps, an event may have come before or after that.
        steps = place < last and any(held[name][place] != held[name][place + 1] for name in others)
        if place < 0 or steps:
            found.append(None)
            continue
        known = {name: float(row[place]) for name, row in held.items()}
        if number and abs(rounds[number - 1].time - one.time) <= _near(np.array(one.time)):
            known |= {name: rounds[number - 1].after.get(name, 0.0) for name in names}
        found.append(known)
    return found


def _start(certificate: Certificate, rounds: Sequence[Round], places: np.ndarray) -> list[Finding]:
    """Check that the run begins as it was asked to."""
    known = {*names_of_states(certificate.system), *names_of_meters(certificate)}
    kept = {name: value for name, value in certificate.given.items() if name in known}
    if not kept:
        return []
    columns = np.array([certificate.columns[name][:1] for name in kept])
    begun, blurred = sides(columns)[1][:, 0], BLUR * certificate.unresolved(columns)[:, 0]
    if np.any(places == -1):
        first = rounds[int(np.argmax(places == -1))].before
        told = np.array([name in first for name in kept])
        said = np.array([first.get(name, 0.0) for name in kept])
        begun, blurred = np.where(told, said, begun), np.where(told, 0.0, blurred)
    largest = np.array([certificate.scale(name, certificate.columns[name]) for name in kept])
    size = largest + (ROUNDING * np.max(largest, initial=0.0) + LEFT) / BALANCED
    off = (np.abs(begun - _vector(kept, [*kept])) - blurred) / size
    worst = int(np.argmax(off))
    name, when = [*kept][worst], float(certificate.starts[0])
    said = f"{name} begins at {begun[worst]:.6g}, not at {kept[name]:.6g}"
    return [judged("start", "", max(float(off[worst]), 0.0), BALANCED, when, said)]


# -- continuity ------------------------------------------------------------------------------------


def _continuity(certificate: Certificate, rounds: Sequence[Round], places: np.ndarray) -> Finding:
    states = names_of_states(certificate.system)
    # No event changes a meter.
    names = [*states, *names_of_meters(certificate)]
    columns = np.array([certificate.columns[name] for name in names])
    left, right = sides(columns)
    starts, ends = certificate.starts, certificate.starts + certificate.lengths
    touching = np.abs(starts[1:] - ends[:-1]) <= _near(starts[1:])
    # Before and after each border, as the steps there are continued, or as its events say.
    before, after = left[:, :-1].copy(), right[:, 1:].copy()
    blurred = BLUR * certificate.unresolved(columns)
    largest = np.array(
        [certificate.scale(name, row) for name, row in zip(names, columns, strict=True)]
    )
    rounding = ROUNDING / ALLOWED * np.max(largest[: len(states)], initial=0.0)
    size = largest + rounding + 1e-300
    worst, when, what = 0.0, float(starts[0]), ""
    defect = np.abs(after - before) - blurred[:, :-1] - blurred[:, 1:]
    evident = touching.copy()
    for first, last in _instants(rounds, places):
        border = int(places[first])
        if not 0 <= border < len(starts) - 1:
            continue
        chain = [_vector(rounds[k].before, states) for k in range(first, last)]
        done = [_vector(rounds[k].after, states) for k in range(first, last)]
        own = slice(len(states))
        defect[own, border] = np.max(
            [
                np.abs(chain[0] - left[own, border]) - blurred[own, border],
                np.abs(done[-1] - right[own, border + 1]) - blurred[own, border + 1],
                *(np.abs(a - b) for a, b in zip(done[:-1], chain[1:], strict=True)),
            ],
            axis=0,
        )
        evident[border] = True
    relative = np.where(evident, defect / size[:, None], 0.0)
    if relative.size:
        state, border = np.unravel_index(int(np.nanargmax(relative)), relative.shape)
        worst, when = max(float(relative[state, border]), 0.0), float(starts[1:][border])
        what = f"{names[int(state)]} jumps by {worst:.1g} of its largest value at t = {when:.6g} s"
    allowed = max(ALLOWED, STEPS_OFF * certificate.accuracy)
    return judged("jumps", "", worst, allowed, when, f"{what}, which no event says")


def _instants(rounds: Sequence[Round], places: np.ndarray) -> Iterator[tuple[int, int]]:
    """Return from which round to before which others come at one border."""
    first = 0
    for number in range(1, len(rounds) + 1):
        if number == len(rounds) or places[number] != places[first]:
            yield first, number
            first = number


def _vector(named: Mapping[str, float], names: Sequence[str]) -> np.ndarray:
    return np.array([named[name] for name in names])


def _held(certificate: Certificate, rounds: Sequence[Round], places: np.ndarray) -> list[Finding]:
    """Check that discrete values change only where events say so, and to what they say."""
    system = certificate.system
    unknown = {name for event in system.events if not event.listed for name in _changed_by(event)}
    told = {int(place): one for one, place in zip(rounds, places, strict=True)}
    found: list[Finding] = []
    for name in changed_values(certificate.system):
        if name in unknown:
            said = "events change it that runs do not list"
            found.append(unchecked("discrete value", name, said))
            continue
        row = certificate.values[name]
        wrong = [
            border
            for border in np.flatnonzero(np.append(np.diff(row) != 0.0, False)).tolist()
            if border not in told
        ]
        wrong += [
            place
            for place, one in told.items()
            if 0 <= place < len(row) - 1 and one.after.get(name, row[place + 1]) != row[place + 1]
        ]
        when = float(certificate.starts[min(wrong) + 1]) if wrong else float(certificate.starts[0])
        said = f"it is {row[min(wrong) + 1]:.6g} from t = {when:.6g} s on" if wrong else ""
        said = f"{said}, which no event says"
        found.append(judged("discrete value", name, float(len(wrong)), 0.0, when, said))
    return found


def changed_values(system: Any) -> list[str]:
    """Return the discrete values that posed events change: contacts and drives have their own."""
    changed = {name for event in posed_events(system) for name in _changed_by(event)}
    return [name for name in system.discrete.names if name in changed]


def _changed_by(event: Event) -> Sequence[str]:
    reset = event.then.reset
    return [] if reset is None else [*reset.changes_where(event.name, ca.SX.ones(event.count))]


# -- resets ----------------------------------------------------------------------------------------


def _resets(
    certificate: Certificate,
    rounds: Sequence[Round],
    values: Sequence[Mapping[str, float] | None],
) -> list[Finding]:
    """Hold each round of posed events against what their resets say."""
    events = {event.name: event for event in posed_events(certificate.system)}
    kinds: dict[tuple[tuple[str, tuple[int, ...]], ...], list[int]] = {}
    for number, one in enumerate(rounds):
        if values[number] is not None and all(r.name in events for r in one.records):
            kinds.setdefault(tuple((r.name, r.fired) for r in one.records), []).append(number)
    found: dict[str, Finding] = {}
    for kind, numbers in kinds.items():
        subject = " and ".join(dict.fromkeys(name for name, _ in kind))
        chosen = [rounds[k] for k in numbers]
        given = [values[k] or {} for k in numbers]
        posed = [(events[name], fired) for name, fired in kind]
        try:
            finding = _reset(certificate, subject, posed, chosen, given)
        except UnknownSymbolsError as error:
            finding = unchecked("reset", subject, str(error))
        known = found.get(subject)
        if known is None or (finding.defect or 0.0) > (known.defect or 0.0):
            found[subject] = finding
    return list(found.values())


def _reset(
    certificate: Certificate,
    subject: str,
    posed: Sequence[tuple[Event, tuple[int, ...]]],
    rounds: Sequence[Round],
    values: Sequence[Mapping[str, float]],
) -> Finding:
    """Apply the resets of some events, one after another, and compare."""
    system, states = certificate.system, names_of_states(certificate.system)
    at = at_instants(certificate, rounds, values, {})
    changed: set[str] = set()
    for event, fired in sorted(posed, key=lambda one: system.events.index(one[0])):
        reset = event.then.reset
        if reset is None:
            continue
        which = ca.SX([float(k in fired) for k in range(event.count)])
        changes = reset.changes_where(event.name, which)
        rows = Expressions(at)(Expressions(at).written(value) for value in changes.values())
        new = {name: rows[k] for k, name in enumerate(changes)}
        changed |= {name for name in changes if name in states}
        held = {name: new[name][:, 0] for name in new if name in at.values}
        moved = {name: new[name] for name in new if name in at.columns}
        at = replace(at, columns={**at.columns, **moved}, values={**at.values, **held})
    projected = _is_projected(certificate, posed, changed)
    names = [*changed_values(certificate.system), *(() if projected else states)]
    worst, when, what = 0.0, rounds[0].time, ""
    for name in names:
        said = at.values[name] if name in at.values else at.columns[name][:, 0]
        did = np.array([one.after[name] for one in rounds])
        size = certificate.scale(name, said) + 1e-300
        off = np.abs(said - did) / size
        place = int(np.argmax(off))
        if off[place] > worst:
            worst, when = float(off[place]), rounds[place].time
            what = (
                f"{name} becomes {did[place]:.6g} instead of {said[place]:.6g} at t = {when:.6g} s"
            )
    return judged("reset", subject, worst, EXACT, when, what)


def _is_projected(
    certificate: Certificate, posed: Sequence[tuple[Event, tuple[int, ...]]], changed: set[str]
) -> bool:
    """Tell whether constraints have a say in the states after a reset."""
    imposed = any(event.then.reset and event.then.reset.impose for event, _ in posed)
    goals = certificate.system.goals
    return bool(imposed or (changed and any(not isinstance(goal, Invariant) for goal in goals)))
