"""The audit of a certificate, and a glance at a part of a run: every check, with its verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import casadi as ca
import numpy as np

from daesolve.core.posing.events import Event
from daesolve.core.results.trajectory.findings import (
    Audit,
    Finding,
    Verdict,
    finding_for,
    unchecked,
)
from daesolve.verification.audit.balances import check_equations
from daesolve.verification.audit.certificate import ONCE, Certificate
from daesolve.verification.audit.expressions import Expressions, UncheckableError, names_of_states
from daesolve.verification.audit.goal_checks import check_goals, check_outputs
from daesolve.verification.audit.guard_passages import (
    check_events,
    guards_of,
    posed_events,
    unanswered,
)
from daesolve.verification.audit.judgement import attempt
from daesolve.verification.audit.jump_checks import check_jumps, check_sampled, check_start

PASSED = 1e-9
"""The part of its terms that a guard is away from zero at least where its sign is certain."""


def audit(certificate: Certificate) -> Audit:
    """Hold a run against what was posed.

    Parameters
    ----------
    certificate
        The run.
    """
    if not len(certificate.starts):
        return Audit((unchecked("run", "", "it took no step"),))
    try:
        along = Expressions(certificate)
    except UncheckableError as error:
        return Audit((unchecked("run", "", str(error)),))
    findings = [*check_goals(along), *check_equations(along), *check_jumps(along)]
    findings += [*check_events(along), *check_outputs(along), *check_sampled(along)]
    # The tables that the run used, held against their nodes.
    begin, said = float(certificate.starts[0]), "the run used another piece of it"
    findings += [finding_for("table", n, off, 1e-9, begin, said) for n, off in along.tables.items()]
    return Audit(tuple(findings))


def merged(parts: Sequence[Audit]) -> Audit:
    """Return the audit of a run from those of its parts, in the order of the run.

    Of each check the first contradiction stands, else the largest defect.
    """
    findings: dict[tuple[str, str], Finding] = {}
    for part in parts:
        for finding in part.findings:
            key = finding.check, finding.subject
            findings[key] = _worse(findings[key], finding) if key in findings else finding
    left_out = dict.fromkeys(part.left_out for part in parts if part.left_out)
    return Audit(tuple(findings.values()), "; ".join(left_out))


def _worse(before: Finding, after: Finding) -> Finding:
    """Return what a check found in two parts."""
    if Verdict.CONTRADICTED in (before.verdict, after.verdict):
        return before if before.verdict is Verdict.CONTRADICTED else after
    if before.verdict is after.verdict:
        return after if (after.defect or 0.0) > (before.defect or 0.0) else before
    held, other = (before, after) if before.verdict is Verdict.HOLDS else (after, before)
    return replace(held, sentence=held.sentence or f"not in a part of the run: {other.sentence}")


@dataclass(frozen=True, eq=False, kw_only=True)
class Instants(Certificate):
    """A run for a glance: n instants, in its order, each with one value of everything.

    Parameters
    ----------
    smooth
        (n,) the number of the stretch between two resets in which an instant lies.
    within
        (n,) whether it is no instant of an event, where what is closed may be about to open.
    turning
        The states of which whole turns were taken out.
    """

    smooth: np.ndarray
    within: np.ndarray
    turning: Sequence[str]
    places: np.ndarray = field(default_factory=lambda: ONCE)

    def only(self, chosen: Any) -> Self:
        """Return some of the instants."""
        marks = {"smooth": self.smooth[chosen], "within": self.within[chosen]}
        return replace(super().only(chosen), **marks)


def glance(run: Instants) -> Audit:
    """Hold what is seen of a run at some instants against what was posed.

    Parameters
    ----------
    run
        The instants.
    """
    if not len(run.starts):
        return Audit((unchecked("run", "", "it took no step"),))
    try:
        along = Expressions(run)
        inside = along if run.within.all() else Expressions(run.only(run.within))
    except UncheckableError as error:
        return Audit((unchecked("run", "", str(error)),))
    begun = {n: float(run.columns[n][0, 0]) for n in names_of_states(run.system)}
    findings = check_start(run, begun, dict.fromkeys(begun, 0.0), run.turning)
    findings += check_passages(run, along)
    return Audit((*findings, *(check_goals(inside) if run.within.any() else ())))


def check_passages(run: Instants, along: Expressions) -> list[Finding]:
    """Check that guards that have changed their sign had their events.

    A guard that may jump, or has poles, changes its sign elsewhere too.
    """
    events = posed_events(along.system)
    if not all(event.listed for event in events):
        return [unchecked("event", "", "runs do not list all events")]
    findings: list[Finding] = []
    for event in events:
        findings += attempt("event", event.name, partial(_passed, run, along, event))
    return findings


def _passed(run: Instants, along: Expressions, event: Event) -> Iterator[Finding]:
    guards = guards_of(event)
    if not all(along.is_continuous(("sign", key[1]), guard) for key, _, guard in guards):
        yield unchecked("event", event.name, "its guard may jump, or has poles")
        return
    for key, place, guard in guards:
        values, sizes, beside = (row[:, 0] for row in along.measured(key, guard))
        zero = run.allows(PASSED) * sizes + beside
        changing = np.array([run.smooth, *_changing(run, guard)])
        fired = [e.time for e in run.events if e.name == event.name and place in e.fired]
        missed = unanswered(
            *(run.starts, values, zero, event.direction.value),
            lambda a, b, of=changing: np.all(of[:, a] == of[:, b], axis=0),
            *(np.array(fired, dtype=float), np.zeros(len(zero))),
        )
        for before, after in ((float(run.starts[a]), float(run.starts[b])) for a, b in missed):
            said = f"its guard passes zero between t = {before:.6g} s and {after:.6g} s without it"
            yield Finding("event", event.name, Verdict.CONTRADICTED, None, before, said)
            return
    yield Finding("event", event.name, Verdict.HOLDS)


def _changing(run: Instants, guard: ca.SX) -> list[np.ndarray]:
    """Return the rows of the values on which a guard depends, (n,) each."""
    used = {symbol.element_hash() for symbol in ca.symvar(guard)}
    known = [(n, vector[n]) for vector in (run.system.discrete, run.system.inputs) for n in vector]
    return [run.values[n] for n, s in known if n in run.values and s.element_hash() in used]
