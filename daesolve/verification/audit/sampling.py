"""Whether sampled laws took a sample at each of their ticks, and held what they say."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import casadi as ca
import numpy as np

from daesolve.core.posing.inputs import Drive, PythonLaw
from daesolve.core.results.trajectory.findings import Finding, Verdict
from daesolve.verification.audit.certificate import Certificate, same_instant
from daesolve.verification.audit.expressions import Expressions
from daesolve.verification.audit.judging import attempt, judge
from daesolve.verification.audit.jumps import after_reset
from daesolve.verification.audit.passages import passages_without

CHECK = "sampled law"
ALLOWED = 1e-7
"""The part of its largest value that what a law holds may be off: it is asked at the end of a step,
to which the polynomial of that step is continued."""


def check_sampled(along: Expressions) -> list[Finding]:
    """Hold the values of sampled laws against these laws, at the end of each step."""
    found: list[Finding] = []
    for drive in along.system.drives:
        if drive.period is not None:
            found += attempt(CHECK, drive.name, partial(_sampled, along, drive))
    return found


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
    return [Finding(CHECK, drive.name, Verdict.CONTRADICTED, None, when, said)]


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
        *(CHECK, drive.name, off, certificate.allows(ALLOWED), at.starts),
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
