"""The audit of a certificate: every check, each with its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from daesolve.core.results.trajectory.findings import Audit, Finding, Verdict, judged, unchecked
from daesolve.verification.audit.certificate import Certificate
from daesolve.verification.audit.equations import check_equations
from daesolve.verification.audit.expressions import Expressions, UncheckableError
from daesolve.verification.audit.goals import check_goals, check_outputs
from daesolve.verification.audit.jumps import check_jumps
from daesolve.verification.audit.passages import check_events
from daesolve.verification.audit.sampling import check_sampled


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
    found = [*check_goals(along), *check_equations(along), *check_jumps(along)]
    found += [*check_events(along), *check_outputs(along), *check_sampled(along)]
    # The tables that the run used, held against their nodes.
    begin, said = float(certificate.starts[0]), "the run used another piece of it"
    found += [judged("table", n, off, 1e-9, begin, said) for n, off in along.tables.items()]
    return Audit(tuple(found))


def merged(parts: Sequence[Audit]) -> Audit:
    """Return the audit of a run from those of its parts, in the order of the run.

    Of each check the first contradiction stands, else the largest defect.
    """
    found: dict[tuple[str, str], Finding] = {}
    for part in parts:
        for finding in part.findings:
            key = finding.check, finding.subject
            found[key] = _worse(found[key], finding) if key in found else finding
    left_out = dict.fromkeys(part.left_out for part in parts if part.left_out)
    return Audit(tuple(found.values()), "; ".join(left_out))


def _worse(before: Finding, after: Finding) -> Finding:
    """Return what a check found in two parts."""
    if Verdict.CONTRADICTED in (before.verdict, after.verdict):
        return before if before.verdict is Verdict.CONTRADICTED else after
    if before.verdict is after.verdict:
        return after if (after.defect or 0.0) > (before.defect or 0.0) else before
    held, other = (before, after) if before.verdict is Verdict.HOLDS else (after, before)
    return replace(held, sentence=held.sentence or f"not in a part of the run: {other.sentence}")
