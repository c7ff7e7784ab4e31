"""Whether sampled laws took a sample at each of their ticks, and held what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
import numpy as np

from daesolve.audit.certificate import NODES, Certificate, sides
from daesolve.audit.expressions import Expressions, UnknownSymbolsError, names_of_states
from daesolve.audit.passages import passages_without
from daesolve.posing.events import Event
from daesolve.posing.inputs import Drive, PythonLaw
from daesolve.trajectory.findings import Finding, Verdict, judged, unchecked

CHECK = "sampled law"
ALLOWED = 1e-7
"""The part of its largest value that what a law holds may be off: it is asked at the end of a step,
to which the polynomial of that step is continued."""
SAME = 1e-12
"""What part of a time two steps may be apart that follow one another."""


def check_sampled(certificate: Certificate, along: Expressions) -> list[Finding]:
    """Hold the values of sampled laws against these laws, at the end of each step."""
    found: list[Finding] = []
    for drive in certificate.system.drives:
        if drive.period is None:
            continue
        try:
            found.append(_sampled(certificate, along, drive))
        except UnknownSymbolsError as error:
            found.append(unchecked(CHECK, drive.name, str(error)))
    return found


def _sampled(certificate: Certificate, along: Expressions, drive: Drive) -> Finding:
    """Check that values change at passages of the guards of a law's own clock, and to what."""
    values = {name: certificate.values[name] for name in drive.values.names}
    changes = np.any([np.diff(row) != 0.0 for row in values.values()], axis=0)
    instants = certificate.starts[1:][changes]
    missed: list[float] = []
    for event in drive.events:
        guard = along([along.written(event.guards)])[0]
        missed += passages_without(certificate, guard, event.direction.value, instants)
    if missed:
        when = min(missed, key=lambda time: certificate.sign * time)
        said = f"it takes no sample at t = {when:.6g} s"
        return Finding(CHECK, drive.name, Verdict.CONTRADICTED, None, when, said)
    return _kept(certificate, drive, values)


def _kept(certificate: Certificate, drive: Drive, values: dict[str, np.ndarray]) -> Finding:
    """Compare what holds after each step with what the law makes of the state at its end."""
    ends = certificate.starts[:-1] + certificate.lengths[:-1]
    at = _ends(certificate)
    expected = {name: row[:-1].copy() for name, row in values.items()}
    due = np.zeros(len(ends), dtype=int)
    for event in drive.events:
        passed = _passed(certificate, at, event)
        due += passed
        law = drive.law if drive.law is not None and drive.law.event == event.name else None
        given = {} if law is None else _called(at, law, passed)
        asked = replace(at, values={**at.values, **given})
        for name, row in {**given, **_changed(asked, event)}.items():
            expected[name] = np.where(passed, row, expected[name])
    # Where two of its events, or other resets, share an instant, their order decides.
    apart = np.abs(certificate.starts[1:] - ends) > SAME * np.maximum(1.0, np.abs(ends))
    others = np.array([e.time for e in certificate.events if e.after is not None])
    clear = (due <= 1) & ~apart & ~_are_near(ends, others)
    worst, when, what = 0.0, float(certificate.starts[0]), ""
    for name, row in values.items():
        off = np.abs(row[1:] - expected[name]) / (certificate.scale(name, row) + 1e-300)
        off = np.where(clear, off, 0.0)
        place = int(np.argmax(off)) if len(off) else 0
        if len(off) and off[place] > worst:
            worst, when = float(off[place]), float(ends[place])
            what = f"{name} is {row[place + 1]:.6g}, not {expected[name][place]:.6g}, from t = "
            what += f"{when:.6g} s on"
    return judged(CHECK, drive.name, worst, max(ALLOWED, 1e4 * certificate.accuracy), when, what)


def _are_near(times: np.ndarray, others: np.ndarray) -> np.ndarray:
    if not len(others):
        return np.zeros(len(times), dtype=bool)
    known = np.sort(others)
    place = np.clip(np.searchsorted(known, times), 1, len(known)) - 1
    after = np.minimum(place + 1, len(known) - 1)
    off = np.minimum(np.abs(known[place] - times), np.abs(known[after] - times))
    return off <= SAME * np.maximum(1.0, np.abs(times))


def _ends(certificate: Certificate) -> Certificate:
    """Return the ends of all steps but the last as steps, each with one value at all nodes."""
    names: Sequence[str] = names_of_states(certificate.system)
    columns = {
        name: np.repeat(sides(certificate.columns[name])[0][:-1, None], NODES, axis=1)
        for name in names
    }
    return replace(
        certificate,
        starts=certificate.starts[:-1] + certificate.lengths[:-1],
        lengths=np.zeros(len(certificate.starts) - 1),
        columns=columns,
        values={name: row[:-1] for name, row in certificate.values.items()},
    )


def _passed(certificate: Certificate, at: Certificate, event: Event) -> np.ndarray:
    """Tell at the end of which steps the clock of a law is due."""
    along = Expressions(at)
    guard = along([along.written(event.guards)])[0][:, 0]
    return np.abs(guard) <= SAME * np.maximum(1.0, np.abs(at.starts))


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


def _changed(at: Certificate, event: Event) -> dict[str, np.ndarray]:
    """Return what an event would make of the values of its law at each instant."""
    reset = event.then.reset
    assert reset is not None
    changes = reset.changes_where(event.name, ca.SX.ones(event.count))
    along = Expressions(at)
    rows = along(along.written(change) for change in changes.values())
    return dict(zip(changes, rows[..., 0], strict=True))
