"""Whether every passage of a guard through zero has its event, and every event its passage.

Passages are looked for on the polynomials of the steps, not by the search of any solver. Where a
start or a reset puts a guard past zero, the way that it is on decides whether its event happens.
Near a pole or a jump of a guard, steps are divided until their polynomials are the guard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daesolve.contact.posing.brakes import brakes_of
from daesolve.contact.posing.guided_brakes import guided_laws
from daesolve.contact.posing.names import ACCUMULATED, JAM, REST
from daesolve.core.posing.events import Event
from daesolve.core.results.trajectory.findings import Finding, Verdict, unchecked
from daesolve.core.results.trajectory.results import EventRecord
from daesolve.verification.audit.certificate import (
    FINE,
    Certificate,
    fine,
    missed,
    same_instant,
    sides,
)
from daesolve.verification.audit.expressions import BESIDE, Expressions
from daesolve.verification.audit.judgement import attempt, judge

NOTHING = 1e-9
"""The part of the largest value of a guard, in a step and the next ones, that counts as zero."""
LEAST = 1e-12
"""The part of its largest value in the whole run that counts as zero as well."""
APART = 1e-9
"""How far, relative to the length of a step, an event may be from the passage."""
AWAY = 1e-6
"""The part of its largest value that a guard may be where it fires."""
PUT = 1e-5
"""The part of the largest value of a guard by which it is past zero where a reset has put it."""
OWN = {ACCUMULATED, REST, JAM}
"""The events that the library adds to contacts and guides."""
ROUGH = 1e-6
"""The part of the largest value of a guard in a step that its polynomial may miss."""
DOUBTED = 100.0 * ROUGH
"""The part of it below which the guard itself tells its sign: a polynomial may miss more at a kink
than it shows."""
ENDS_APART = 1e-4
"""The part of its value by which it jumps between two parts, whose ends are not as good."""
SHORTEST = 2.0**-32
"""The part of a step that is not divided: what lies in it is a pole or a jump."""
POLE = 1e4
"""How many times its usual value a guard is on both sides of a pole."""
MOST = 10_000
"""So many more parts than steps there are at most, about."""
LATE = 1e-14
"""The part of its end by which a run may end before a passage that counts as one at its end."""
BESIDE_IT = 1e-8
"""How far before and behind an event, as a part of its step, a guard tells that it jumps."""


def check_events(along: Expressions) -> list[Finding]:
    """Hold the events of a run against the passages of their guards."""
    findings: list[Finding] = []
    for event in posed_events(along.system):
        if not event.listed:
            findings.append(unchecked("event", event.name, "runs do not list it"))
            continue
        guards = guards_of(event)
        records = [record for record in along.certificate.events if record.name == event.name]
        judged = partial(_event, along, event, guards, records)
        findings += attempt("event", event.name, judged)
    return findings


def posed_events(system: Any) -> list[Event]:
    """Return the events that were posed: without those of contacts, tables and sampled laws."""
    contacts = [goal.name for goal in system.goals if hasattr(goal, "sticking")]
    contacts += [brake.name for brake in brakes_of(system)]
    contacts += [goal.law for goal in guided_laws(system)]
    kinds = ("lost", "closed", "sticks", "slips", "reverses", "sets_out", "shares", "sense")
    added = {f"{name}_{kind}" for name in contacts for kind in kinds} | OWN
    added |= {event.name for drive in system.drives for event in drive.events}
    return [event for event in system.events if event.name not in added]


def guards_of(event: Event) -> list[Guard]:
    """Return the guards of an event."""
    named = enumerate(ca.vertsplit(event.guards))
    return [Guard(("guard", f"{event.name}, {k}"), k, guard) for k, guard in named]


def _event(
    along: Expressions, event: Event, guards: Sequence[Guard], records: Sequence[EventRecord]
) -> Iterator[Finding]:
    """Judge an event by its guards."""
    certificate = along.certificate
    told = [along.measured(guard.key, guard.expression) for guard in guards]
    missing: list[float] = []
    for guard, (values, _, beside) in zip(guards, told, strict=True):
        if not np.isfinite(values).all():
            yield unchecked("event", event.name, "its guard is not finite everywhere")
            return
        # In a step in which a constraint or a contact keeps it at zero it has no sign.
        kept = np.all(np.abs(values) <= beside, axis=1)
        values = np.where(kept[:, None], 0.0, values)
        own = np.array([record.time for record in records if guard.place in record.fired])
        parts, known, pole = divided(along, guard, values)
        exact = None if parts is certificate else partial(at_events, Expressions(parts), guard)
        missing += passages_without(
            parts, known, event.direction.value, own, pole, certificate, exact
        )
        if event.then.interrupts and event.direction.value and not event.then.counts_past:
            missing += _put_past(certificate, values, event, own)
        if not event.then.interrupts or not event.then.counts_past:
            missing += _at_end(along, guard, (parts, known), event.direction.value, own)
    if not missing:
        yield _fired(along, event, guards, told, records)
        return
    first = min(missing, key=lambda time: certificate.sign * time)
    many = f"{len(missing)} passages of its guard have"
    count = "a passage of its guard has" if len(missing) == 1 else many
    said = f"{count} no event, the first at t = {first:.6g} s"
    yield Finding("event", event.name, Verdict.CONTRADICTED, None, first, said)


def unanswered(
    times: np.ndarray,
    values: np.ndarray,
    zero: np.ndarray,
    direction: int,
    joined: Callable[[np.ndarray, np.ndarray], np.ndarray],
    known: np.ndarray,
    slack: np.ndarray,
) -> Iterator[tuple[int, int]]:
    """Return between which places a guard passes zero without an event.

    Parameters
    ----------
    times, values, zero, slack
        (n,) of each place, in the order of the run: the guard, what of it counts as zero, and how
        far beside it an event may be, s.
    direction
        In which way of the run passages count; both if it is zero.
    joined
        Tells between which places a passage counts.
    known
        When events happen.
    """
    signs = np.where(np.abs(values) <= zero, 0.0, np.sign(values))
    kept = np.flatnonzero(signs)
    before, after = kept[:-1], kept[1:]
    turns = (signs[before] * signs[after] < 0.0) & joined(before, after)
    if direction:
        turns &= signs[after] == direction
    for a, b in zip(before[turns].tolist(), after[turns].tolist(), strict=True):
        low, high = sorted((times[a], times[b]))
        beside = slack[a] + slack[b]
        if not np.any((known >= low - beside) & (known <= high + beside)):
            yield a, b


def passages_without(
    certificate: Certificate,
    guard: np.ndarray,
    direction: int,
    known: np.ndarray,
    pole: float = np.inf,
    whole: Certificate | None = None,
    exact: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
) -> list[float]:
    """Return when a guard (n, NODES) passes zero in a direction without one of the known events.

    It passes at no pole, where it is beyond a value on both sides. The steps may be parts of those
    of the whole run. `exact` tells what the guard itself is in these, where polynomials overshoot
    zero at a kink.
    """
    values, lengths = np.clip(fine(guard), -pole, pole), np.abs(certificate.lengths)
    if exact is not None:
        sizes = np.maximum(np.max(np.abs(values), axis=1, keepdims=True), pole / POLE)
        steps, places = np.nonzero(np.abs(values) <= DOUBTED * sizes)
        values[steps, places] = exact(steps, FINE[places]) if steps.size else 0.0
    zero = NOTHING * np.max(np.abs(values), axis=1) + 10.0 * certificate.unresolved(guard)
    # A guard that begins at zero goes on from where the steps of its solver leave it.
    zero += max(LEAST, BESIDE * certificate.accuracy) * np.max(np.abs(values), initial=0.0)
    # The times of nodes are rounded, by which a fast guard moves at a late time.
    clock = 4.0 * np.spacing(np.abs(certificate.starts) + lengths)
    steepest = np.max(np.abs(np.diff(values, axis=1)), axis=1) * (len(FINE) - 1)
    zero += clock * steepest / lengths
    places = (certificate.starts[:, None] + certificate.lengths[:, None] * FINE).ravel()
    zero, slack = np.repeat([zero, APART * lengths], len(FINE), axis=1)
    values, borders = values.ravel(), (certificate if whole is None else whole).starts

    def joined(before: np.ndarray, after: np.ndarray) -> np.ndarray:
        # Both sides of the same instant: a reset put it past zero.
        jumps = (places[before] == places[after]) & np.isin(places[after], borders)
        return ~jumps & (np.minimum(np.abs(values[before]), np.abs(values[after])) < pole)

    return [
        float(places[a] + values[a] / (values[a] - values[b]) * (places[b] - places[a]))
        for a, b in unanswered(places, values, zero, direction, joined, known, slack)
    ]


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
    past[:1] &= not certificate.continues
    missing: list[float] = []
    for step in np.flatnonzero(past).tolist():
        time = float(certificate.starts[step])
        here = [record.after for record in certificate.events if same_instant(time, record.time)]
        resets = {tuple(after.values()) for after in here if after is not None}
        if len(resets) <= (step > 0) and not np.any(same_instant(time, known)):
            missing.append(time)
    return missing


def _at_end(
    along: Expressions,
    guard: Guard,
    divided: tuple[Certificate, np.ndarray],
    direction: int,
    known: np.ndarray,
) -> list[float]:
    """Return the end of a run if a guard passes there to rounding, without its event.

    Only a guard so steep that the rounding of the time moves it by more than its own is judged. Of
    the parts of steps (`divided`), the polynomial tells the rate.
    """
    certificate, values = divided
    last, length = fine(values[-1:])[0], float(certificate.lengths[-1])
    end = float(certificate.starts[-1]) + length
    rate = float(last[-3:] @ [0.5, -2.0, 1.5]) * (len(FINE) - 1) / abs(length)
    moves = LATE * abs(end) * abs(rate)
    least = max(LEAST, BESIDE * along.certificate.accuracy) * float(np.max(np.abs(values)))
    if not (np.isfinite(moves) and moves > least and direction * rate >= 0.0):
        return []
    near = APART * abs(length) + 2.0 * LATE * abs(end)
    if np.any(np.abs(known - end) <= near):
        return []
    final = np.array([len(along.certificate.starts) - 1])
    value = float(at_events(along, guard, final, np.ones(1))[0])
    return [end] if abs(value) <= moves else []


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
        return Finding("event", event.name, Verdict.HOLDS, 0.0)
    certificate, allowed = along.certificate, along.certificate.allows(AWAY)
    ends, every = (np.array([r.time for r in rs]) for rs in (records, certificate.events))
    order = certificate.sign * certificate.starts
    steps = np.maximum(np.searchsorted(order, certificate.sign * ends, side="left") - 1, 0)
    parts = (ends - certificate.starts[steps]) / certificate.lengths[steps]
    # Where a run starts, a guard that is past zero counts as passed.
    clear = (parts > 0.0) & (parts <= 1.0 + 1e-9)
    # The resets of other events at the same instant may have carried it.
    clear &= [np.count_nonzero(same_instant(time, every)) < 2 for time in ends]
    off = np.where(clear, np.inf, 0.0)
    for guard, (values, _, beside) in zip(guards, told, strict=True):
        own = np.flatnonzero(clear & [guard.place in record.fired for record in records])
        # A guard that stays at zero is nothing but rounding.
        largest, noise = float(np.max(np.abs(values))), np.max(beside, initial=0.0)
        usual = usual_size(certificate, values)
        if 0.0 < usual < largest / POLE:
            largest, noise = usual, np.max(beside[steps[own]], axis=1)
        sizes = np.abs(at_events(along, guard, steps[own], parts[own]))
        sizes /= largest + noise / AWAY + 1e-300
        far = np.flatnonzero(sizes > allowed)
        where = steps[own[far]], parts[own[far]]
        sizes[far] *= ~jump_through(along, guard, event.direction.value, *where)
        off[own] = np.minimum(off[own], sizes)
    return judge(
        *("event", event.name, off, allowed, ends),
        lambda _, worst, when: (
            f"it happens where its guard is {worst:.1g} of its largest value away from zero, at "
            f"{when}"
        ),
    )


class Guard(NamedTuple):
    """A guard of an event: under which key it is written down, its place there, and what it is."""

    key: tuple[str, str]
    place: int
    expression: ca.SX


def divided(
    along: Expressions, guard: Guard, values: np.ndarray
) -> tuple[Certificate, np.ndarray, float]:
    """Return parts of the steps in which the values of a guard, (n, NODES), are polynomials.

    Also its values there, and beyond what value it has a pole; infinity where nothing is divided.
    """
    whole, count, known = along.certificate, len(values), values
    steps, firsts, parts = np.arange(count), np.zeros(count), np.ones(count)
    # Near its zeros a guard is no larger than its rounding.
    usual = max(usual_size(whole, values), ROUGH * float(np.max(np.abs(values))))
    while True:
        rough = np.flatnonzero(_rough(steps, known, usual) & (parts > SHORTEST))
        if not rough.size or len(steps) > MOST + 2 * count:
            break
        half, kept = parts[rough] / 2.0, np.delete(np.arange(len(steps)), rough)
        owners, begins = np.tile(steps[rough], 2), np.append(firsts[rough], firsts[rough] + half)
        halves = whole.parts_of(owners, begins, np.tile(half, 2))
        rows = Expressions(halves).terms_of(guard.key, guard.expression)[0]
        steps, firsts = np.append(steps[kept], owners), np.append(firsts[kept], begins)
        parts, known = np.append(parts[kept], np.tile(half, 2)), np.concatenate([known[kept], rows])
        order = np.lexsort((firsts, steps))
        steps, firsts, parts, known = steps[order], firsts[order], parts[order], known[order]
    if len(steps) == count:
        return whole, values, np.inf
    return whole.parts_of(steps, firsts, parts), known, POLE * usual


def _rough(steps: np.ndarray, values: np.ndarray, usual: float) -> np.ndarray:
    """Tell of which parts of steps the polynomial of a guard, (k, NODES), is not the guard.

    Where it jumps beyond the last node of a part, the next part begins elsewhere.
    """
    sizes = np.maximum(np.max(np.abs(values), axis=1), usual)
    rough = missed(values) > ROUGH * sizes
    ends, begins = sides(values)
    apart = np.abs(ends[:-1] - begins[1:]) > ENDS_APART * np.maximum(sizes[:-1], sizes[1:])
    apart &= steps[:-1] == steps[1:]
    rough[:-1] |= apart
    rough[1:] |= apart
    return rough


def usual_size(certificate: Certificate, values: np.ndarray) -> float:
    """Return the magnitude below which a guard, (n, NODES), is for half of the time."""
    sizes = np.abs(values).ravel()
    order = np.argsort(sizes)
    lasts = np.cumsum(np.repeat(np.abs(certificate.lengths), values.shape[1])[order])
    return float(sizes[order][np.searchsorted(lasts, lasts[-1] / 2.0)])


def at_events(along: Expressions, guard: Guard, steps: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Return a guard at or beside events, (k,), with the inputs that are in force there.

    Parameters
    ----------
    along, guard
        The run, and the guard.
    steps, parts
        (k,) in which step each event lies, and where, as a fraction of it.
    """
    whole = along.certificate
    places = whole.at(steps, parts)
    after = np.minimum(steps + (parts > 1.0), len(whole.starts) - 1)
    given = {name: whole.values[name][after] for name in _inputs(whole)}
    places = replace(places, values={**places.values, **given})
    return Expressions(places).terms_of(guard.key, guard.expression)[0, :, 0]


def _inputs(certificate: Certificate) -> set[str]:
    """Return the names of the values that tables, sampled laws and what steps a run change."""
    system = certificate.system
    drives = {name for drive in system.drives for name in drive.values.names}
    return certificate.values.keys() & (drives | {*system.inputs.names})


def jump_through(
    along: Expressions, guard: Guard, direction: int, steps: np.ndarray, parts: np.ndarray
) -> np.ndarray:
    """Tell which events a guard has because it jumps through zero there, (k,).

    Where inputs step, reactions jump as well, to what nobody tells.
    """
    before = at_events(along, guard, steps, parts - BESIDE_IT)
    after = at_events(along, guard, steps, parts + BESIDE_IT)
    passed = (before * after < 0.0) & ((direction == 0) | (after * direction > 0.0))
    if ca.depends_on(guard.expression, ca.vertcat(ca.SX(0, 1), *along.reactions)):
        next_steps = np.minimum(steps + 1, len(along.certificate.starts) - 1)
        for name in _inputs(along.certificate):
            row = along.certificate.values[name]
            passed |= (row[steps] != row[next_steps]) & (parts + BESIDE_IT > 1.0)
    return passed
