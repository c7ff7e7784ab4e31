"""How checks end: where something is off the most, and whether that is too much."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from daesolve.core.results.trajectory.findings import Finding, Verdict, finding_for, unchecked
from daesolve.verification.audit.expressions import UncheckableError


def attempt(check: str, subject: str, find: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """Return what a check finds, or that the certificate does not tell what it needs."""
    findings: list[Finding] = []
    try:
        for finding in find():
            findings.append(finding)
    except UncheckableError as error:
        findings.append(unchecked(check, subject, str(error)))
    return findings


def judge(
    check: str,
    subject: str,
    defects: np.ndarray,
    allowed: float,
    times: np.ndarray,
    say: Callable[[Any, float, str], str],
) -> Finding:
    """Judge the largest of some defects.

    Parameters
    ----------
    check, subject, allowed
        As in `finding_for`.
    defects, times
        Of any shape, and when each is.
    say
        Returns in words where and when it is, of what size.
    """
    if not defects.size:
        return Finding(check, subject, Verdict.HOLDS, 0.0)
    place = np.unravel_index(int(np.argmax(defects)), defects.shape)
    worst, when = float(defects[place]), float(np.broadcast_to(times, defects.shape)[place])
    said = "" if worst <= allowed else say(place, worst, f"t = {when:.6g} s")
    return finding_for(check, subject, max(worst, 0.0), allowed, when, said)
