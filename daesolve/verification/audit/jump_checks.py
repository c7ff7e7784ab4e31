"""Whether states jump only where events say so, and as their resets and impulses say.

Where one step ends and the next begins, the polynomials of both are continued to the instant
between them. Events of one instant come in rounds: those of a round happen together, and share what
was before and after. The values of sampled laws are held against these laws at the end of each
step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

import casadi as ca
import numpy as np

from daesolve.core.posing.events import Event
from daesolve.core.posing.goals import Invariant
from daesolve.core.posing.inputs import Drive, PythonLaw
from daesolve.core.results.trajectory.findings import Finding, Verdict, finding_for, unchecked
from daesolve.verification.audit.balances import names_of_meters
from daesolve.verification.audit.certificate import Certificate, same_instant, sides
from daesolve.verification.audit.expressions import BESIDE, Expressions, names_of_states
from daesolve.verification.audit.guard_passages import passages_without, posed_events
from daesolve.verification.audit.impact_checks import check_impacts
from daesolve.verification.audit.judgement import attempt, judge
from daesolve.verification.audit.rounds import Round, at_instants, rounds_of

ALLOWED = 1e-5
"""The jump, as a part of the largest value of a state, that counts as none: steps projected onto
constraints leave 1e-6 near a singular position."""
START = 1e-7
"""The part of its largest value that a state may begin away from where it was asked to."""
ROUNDING = 1e-14
"""The part of the largest state, whichever it is, that counts as rounding."""
LEFT = 1e-13
"""A state, in its unit, that solvers may leave of none where all rests."""
BLUR = 10.0
"""How many times farther the polynomial of a step may be off at its ends than within it."""
EXACT = 1e-9
"""The relative difference between what a reset says and does that counts as none."""
Kind = tuple[tuple[str, tuple[int, ...]], ...]
SAMPLED_LAW = "sampled law"
ALLOWED_SAMPLE = 1e-7
"""The part of its largest value that what a law holds may be off: it is asked at the end of a step,
to which the polynomial of that step is continued."""


def check_jumps(along: Expressions) -> list[Finding]:
    """Hold the jumps of a run against its events, and these against what was posed."""
    certificate, rounds = along.certificate, rounds_of(along.certificate)
    findings = [*_start(certificate, rounds), _continuity(certificate, rounds)]
    findings += _held(certificate, rounds)
    return [*findings, *_resets(certificate, rounds), *check_impacts(along, rounds)]


# -- the start -------------------------------------------------------------------------------------


def _start(certificate: Certificate, rounds: Sequence[Round]) -> list[Finding]:
    """Check the states and works with which the first step, or the first event, begins."""
    begun, blurred = dict[str, float](), dict[str, float]()
    for name in [*names_of_states(certificate.system), *names_of_meters(certificate)]:
        first = certificate.columns[name][:1]
        begun[name] = float(sides(first)[1][0])
        blurred[name] = BLUR * float(certificate.unresolved(first)[0])
    for one in [one for one in rounds if one.place == -1][:1]:
        begun |= {name: one.before[name] for name in begun if name in one.before}
        blurred |= {name: 0.0 for name in begun if name in one.before}
    return check_start(certificate, begun, blurred)


def check_start(
    certificate: Certificate,
    begun: Mapping[str, float],
    blurred: Mapping[str, float],
    turning: Sequence[str] = (),
) -> list[Finding]:
    """Check that a run begins as it was asked to; of some states whole turns may be missing."""
    given = {name: float(asked) for name, asked in certificate.given.items() if name in begun}
    names = [*given]
    if not names:
        return []
    largest = max(certificate.scale(n, certificate.columns[n]) for n in blurred)
    off = np.array([begun[name] - given[name] for name in names])
    whole = np.array([name in turning for name in names])
    off = np.where(whole, np.remainder(off + np.pi, 2.0 * np.pi) - np.pi, off)
    sizes = [max(certificate.scale(n, certificate.columns[n]), abs(given[n])) for n in names]
    size = np.array(sizes) + (ROUNDING * largest + LEFT) / START
    off = np.abs(off) - np.array([blurred[name] for name in names])

    def say(place: Sequence[int], worst: float, when: str) -> str:
        name = names[place[0]]
        return f"{name} begins at {begun[name]:.6g}, not at {given[name]:.6g}"

    return [judge("start", "", off / size, START, certificate.starts[0], say)]


# -- continuity ------------------------------------------------------------------------------------


def _continuity(certificate: Certificate, rounds: Sequence[Round]) -> Finding:
    states = names_of_states(certificate.system)
    # No event changes a meter.
    names = [*states, *names_of_meters(certificate)]
    columns = np.array([certificate.columns[name] for name in names])
    left, right = sides(columns)
    blurred = BLUR * certificate.unresolved(columns)
    defects = np.abs(right[:, 1:] - left[:, :-1]) - blurred[:, :-1] - blurred[:, 1:]
    borders = certificate.starts[1:]
    ends = certificate.starts[:-1] + certificate.lengths[:-1]
    evident = same_instant(borders, ends)
    own = slice(len(states))
    for place, group in groupby(rounds, lambda one: one.place):
        if not 0 <= place < len(borders):
            continue
        # The states of the step before, those that its events say, and those of the step after.
        told = [_vector(side, states) for one in group for side in (one.before, one.after)]
        chain = [left[own, place], *told, right[own, place + 1]]
        gaps = [np.abs(a - b) for a, b in zip(chain[::2], chain[1::2], strict=True)]
        gaps[0] = gaps[0] - blurred[own, place]
        gaps[-1] = gaps[-1] - blurred[own, place + 1]
        defects[own, place], evident[place] = np.max(gaps, axis=0), True
    largest = np.array([certificate.scale(n, row) for n, row in zip(names, columns, strict=True)])
    # What rests, and work that nothing does, are what solvers leave beside the largest state.
    least = max(ROUNDING, BESIDE * certificate.accuracy) / ALLOWED
    size = largest + least * np.max(largest[own], initial=0.0) + 1e-300
    return judge(
        *("jumps", "", np.nan_to_num(np.where(evident, defects, 0.0)) / size[:, None]),
        certificate.allows(ALLOWED),
        borders,
        lambda place, worst, when: (
            f"{names[place[0]]} jumps by {worst:.1g} of its largest value at {when}, "
            "which no event says"
        ),
    )


def _vector(named: Mapping[str, float], names: Sequence[str]) -> np.ndarray:
    return np.array([named[name] for name in names])


def _held(certificate: Certificate, rounds: Sequence[Round]) -> list[Finding]:
    """Check that discrete values change only where events say so, and to what they say."""
    system, last = certificate.system, len(certificate.starts) - 1
    unknown = {name for event in system.events if not event.listed for name in _changed_by(event)}
    told = {one.place: one for one in rounds}
    findings: list[Finding] = []
    for name in changed_values(system):
        if name in unknown:
            said = "events change it that runs do not list"
            findings.append(unchecked("discrete value", name, said))
            continue
        row = certificate.values[name]
        wrong = [k for k in np.flatnonzero(np.diff(row)).tolist() if k not in told]
        wrong += [
            place
            for place, one in told.items()
            if 0 <= place < last and one.after.get(name, row[place + 1]) != row[place + 1]
        ]
        first = min(wrong, default=-1) + 1
        when = float(certificate.starts[first])
        said = f"it is {row[first]:.6g} from t = {when:.6g} s on, which no event says"
        findings.append(finding_for("discrete value", name, float(len(wrong)), 0.0, when, said))
    return findings


def changed_values(system: Any) -> list[str]:
    """Return the discrete values that posed events change: contacts and drives have their own."""
    changed = {name for event in posed_events(system) for name in _changed_by(event)}
    return [name for name in system.discrete.names if name in changed]


def _changed_by(event: Event) -> Sequence[str]:
    reset = event.then.reset
    return [] if reset is None else [*reset.changes_where(event.name, ca.SX.ones(event.count))]


# -- resets ----------------------------------------------------------------------------------------


def _resets(certificate: Certificate, rounds: Sequence[Round]) -> list[Finding]:
    """Hold each round of posed events against what their resets say, kind by kind."""
    events = {event.name: event for event in posed_events(certificate.system)}
    kinds: dict[Kind, list[Round]] = {}
    findings: list[Finding] = []
    happened = {record.name for one in rounds for record in one.records}
    for name, law in certificate.decided.items():
        if events.pop(name, None) is not None and name in happened:
            said = f"the law {law} decides what it changes"
            findings.append(unchecked("reset", name, said))
    own = [one for one in rounds if all(r.name in events for r in one.records)]
    for one in own:
        if one.held is not None:
            kinds.setdefault(tuple((r.name, r.fired) for r in one.records), []).append(one)
    if unknown := sum(one.held is None for one in own):
        said = f"{unknown} come with a step of an input, or at the start of a part"
        findings.append(unchecked("reset", "some", said))
    for kind, chosen in kinds.items():
        subject = " and ".join(dict.fromkeys(name for name, _ in kind))
        posed = [(events[name], fired) for name, fired in kind]
        findings += attempt("reset", subject, partial(_reset, certificate, subject, posed, chosen))
    return findings


def _reset(
    certificate: Certificate,
    subject: str,
    posed: Sequence[tuple[Event, tuple[int, ...]]],
    rounds: Sequence[Round],
) -> Iterator[Finding]:
    """Apply the resets of some events, one after another, and compare."""
    system, names = certificate.system, names_of_states(certificate.system)
    at, changed = at_instants(certificate, rounds, {}), set[str]()
    imposed = False
    for event, fired in sorted(posed, key=lambda one: system.events.index(one[0])):
        if event.then.reset is None:
            continue
        which = ca.SX([float(k in fired) for k in range(event.count)])
        new = after_reset(at, event, which)
        imposed |= bool(event.then.reset.impose)
        changed |= new.keys() & {*names}
        held = {name: row for name, row in new.items() if name in at.values}
        moved = {name: row[:, None] for name, row in new.items() if name in at.columns}
        at = replace(at, columns={**at.columns, **moved}, values={**at.values, **held})
    # Constraints have a say in the states after a reset.
    if imposed or (changed and not all(isinstance(goal, Invariant) for goal in system.goals)):
        names = []
    names = [*changed_values(system), *names]
    said = [at.values[n] if n in at.values else at.columns[n][:, 0] for n in names]
    did = [_vector(one.after, names) for one in rounds]
    size = [certificate.scale(n, row) + 1e-300 for n, row in zip(names, said, strict=True)]
    off = np.abs(np.array(said).T - did) / size
    yield judge(
        *("reset", subject, off, EXACT, at.starts[:, None]),
        lambda place, _, when: (
            f"{names[place[1]]} becomes {did[place[0]][place[1]]:.6g} instead of "
            f"{said[place[1]][place[0]]:.6g} at {when}"
        ),
    )


def after_reset(at: Certificate, event: Event, fired: ca.SX) -> dict[str, np.ndarray]:
    """Return what the reset of an event makes of states and values at some instants, (k,)."""
    assert event.then.reset is not None
    changes, along = event.then.reset.changes_where(event.name, fired), Expressions(at)
    rows = along(along.written(change) for change in changes.values())
    return dict(zip(changes, rows[..., 0], strict=True))


def check_sampled(along: Expressions) -> list[Finding]:
    """Hold the values of sampled laws against these laws, at the end of each step."""
    findings: list[Finding] = []
    for drive in along.system.drives:
        if drive.period is not None:
            findings += attempt(SAMPLED_LAW, drive.name, partial(_sampled, along, drive))
    return findings


def _sampled(along: Expressions, drive: Drive) -> list[Finding]:
    """Check that values change at passages of the guards of a law's own clock, and to what."""
    certificate = along.certificate
    values = np.array([certificate.values[name] for name in drive.values.names])
    instants = certificate.starts[1:][np.any(np.diff(values) != 0.0, axis=0)]
    missed: list[float] = []
    for event in drive.events:
        (guard,) = along([along.written(event.guards)])
        missed += passages_without(certificate, guard, event.direction.value, instants)
    if not missed:
        return [_kept(certificate, drive, values)]
    when = min(missed, key=lambda time: certificate.sign * time)
    said = f"it takes no sample at t = {when:.6g} s"
    return [Finding(SAMPLED_LAW, drive.name, Verdict.CONTRADICTED, None, when, said)]


def _kept(certificate: Certificate, drive: Drive, values: np.ndarray) -> Finding:
    """Compare what holds after each step with what the law makes of the state at its end."""
    names, count = drive.values.names, len(certificate.starts) - 1
    at = certificate.at(np.arange(count), np.ones(count))
    expected = {name: row[:-1] for name, row in zip(names, values, strict=True)}
    due = np.zeros(count, dtype=int)
    for event in drive.events:
        guard = Expressions(at)([event.guards])[0, :, 0]
        passed = same_instant(at.starts, at.starts + guard)
        law = drive.law if drive.law is not None and drive.law.event == event.name else None
        given = {} if law is None else _called(at, law, passed)
        asked = replace(at, values={**at.values, **given})
        for name, row in {**given, **after_reset(asked, event, ca.SX.ones(event.count))}.items():
            expected[name] = np.where(passed, row, expected[name])
        due += passed
    # Where two of its events, or other resets, share an instant, their order decides.
    clear = (due <= 1) & same_instant(at.starts, certificate.starts[1:])
    for record in certificate.events:
        clear &= (record.after is None) | ~same_instant(record.time, at.starts)
    wanted = np.array([expected[name] for name in names])
    size = [certificate.scale(n, row) + 1e-300 for n, row in zip(names, values, strict=True)]
    off = np.where(clear, np.abs(values[:, 1:] - wanted), 0.0) / np.array(size)[:, None]
    return judge(
        *(SAMPLED_LAW, drive.name, off, certificate.allows(ALLOWED_SAMPLE), at.starts),
        lambda place, _, when: (
            f"{names[place[0]]} is {values[:, 1:][place]:.6g}, not {wanted[place]:.6g}, from "
            f"{when} on"
        ),
    )


def _called(at: Certificate, law: PythonLaw, ticks: np.ndarray) -> dict[str, np.ndarray]:
    """Return what a Python function gives at some of the instants, and what held at others."""
    along = Expressions(at)
    seen = along(along.written(ca.SX(value)) for value in law.arguments.values())[..., 0]
    found = {name: at.values[name].copy() for name in law.results}
    for place in np.flatnonzero(ticks).tolist():
        results = law.call(dict(zip(law.arguments, seen[:, place].tolist(), strict=True)))
        for name, value in zip(law.results, results, strict=True):
            found[name][place] = value
    return found
