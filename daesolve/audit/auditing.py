"""The audit of a certificate: every check, each with its verdict."""

from __future__ import annotations

from daesolve.audit.certificate import Certificate
from daesolve.audit.equations import check_equations
from daesolve.audit.expressions import Expressions, UnknownSymbolsError
from daesolve.audit.findings import Audit, Finding, judged, unchecked
from daesolve.audit.goals import check_goals
from daesolve.audit.passages import check_events


def audit(certificate: Certificate) -> Audit:
    """Hold a run against what was posed.

    Parameters
    ----------
    certificate
        The run.
    """
    if not len(certificate.starts):
        return Audit((unchecked("run", "", "it took no step"),), certificate.left_out)
    try:
        along = Expressions(certificate)
    except UnknownSymbolsError as error:
        return Audit((unchecked("run", "", str(error)),), certificate.left_out)
    found = [*check_goals(certificate, along), *check_equations(certificate, along)]
    found += [*check_events(certificate, along), *_tables(certificate, along)]
    return Audit(tuple(found), certificate.left_out)


def _tables(certificate: Certificate, along: Expressions) -> list[Finding]:
    """Hold the tables that the run used against their nodes."""
    begin = float(certificate.starts[0])
    return [
        judged("table", name, worst, 1e-9, begin, "the run used another piece of it")
        for name, worst in along.tables.items()
    ]
