"""The audit of a run in a report: whether it holds, and what every check found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daesolve.reporting.document import IDENTITY
from daesolve.reporting.sampling import Document

UNAUDITED = "It was not held against what was posed."


@dataclass(frozen=True)
class AuditRow:
    """What one check found, in words: of what, how far it holds, and what else is to say."""

    check: str
    subject: str
    found: str
    sentence: str


def audit_document(document: Document) -> dict[str, Any]:
    """Return the audit of a run as an object for JSON, with the entries that identify the run."""
    kept = (*IDENTITY, "formulation", "solver", "outcome", "message", "end_time", "audit")
    return {name: document[name] for name in kept if name in document}


def audit_headline(document: Document) -> str:
    """Say in a few words whether a run holds against what was posed."""
    audit = document["audit"]
    if not audit:
        return UNAUDITED
    count = dict.fromkeys(("contradicted", "not checked", "holds"), 0)
    for found in audit["findings"]:
        count[found["verdict"]] += 1
    words = ("contradict what was posed", "were not made", "hold")
    told = [f"{n} {word}" for n, word in zip(count.values(), words, strict=True) if n]
    total = sum(count.values())
    return f"Of {total} checks {', '.join(told)}." if total else "There was nothing to check."


def audit_rows(document: Document, *, all_of_them: bool = True) -> Iterator[AuditRow]:
    """Return what the checks found: contradictions first, then what was not checked, then the rest.

    Parameters
    ----------
    document
        Of the run.
    all_of_them
        Whether to return checks of which all was done and holds, too.
    """
    findings: Sequence[Mapping[str, Any]] = (document["audit"] or {"findings": ()})["findings"]
    for verdict in ("contradicted", "not checked", "holds"):
        for found in findings:
            if found["verdict"] == verdict and (
                all_of_them or verdict != "holds" or found["sentence"]
            ):
                holds = "holds" if found["defect"] is None else f"to {found['defect']:.1g}"
                words = holds if verdict == "holds" else verdict
                yield AuditRow(found["check"], found["subject"], words, found["sentence"])


def audit_card(document: Document) -> tuple[str, str, str]:
    """Return value, detail and tone of the card of an audit."""
    audit = document["audit"]
    if not audit:
        return "not audited", "daesolve audit DIR (run.audit())", "warn"
    if not audit["holds"]:
        return "does not hold", next(audit_rows(document)).sentence, "bad"
    done = [found for found in audit["findings"] if found["verdict"] == "holds"]
    if not done:
        return "nothing checked", audit_headline(document), "warn"
    worst = max((found["defect"] or 0.0 for found in done), default=0.0)
    return f"holds to {worst:.0e}", audit_headline(document), "good"
