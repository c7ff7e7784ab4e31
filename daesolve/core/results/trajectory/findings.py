"""What an audit finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any


class Verdict(Enum):
    """How a check ended; the value is its name in JSON."""

    HOLDS = "holds"
    CONTRADICTED = "contradicted"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Parameters
    ----------
    check, subject
        What was checked, and of which goal, contact, velocity or event; "" for the whole.
    verdict
        How it ended.
    defect
        The largest relative defect; None where there is none to tell.
    time
        Where it is, s; None where it is nowhere.
    sentence
        In words, where it does not hold, was not checked, or was checked in part.
    """

    check: str
    subject: str
    verdict: Verdict
    defect: float | None = None
    time: float | None = None
    sentence: str = ""

    @property
    def owner(self) -> str:
        """What was checked, and of what."""
        return f"{self.check}, {self.subject}" if self.subject else self.check

    def __str__(self) -> str:
        if self.verdict is Verdict.HOLDS:
            told = "holds" if self.defect is None else f"to {self.defect:.1g}"
            return f"{self.owner}: {told}" + (f" ({self.sentence})" if self.sentence else "")
        return f"{self.owner}: {self.verdict.value}: {self.sentence}"


@dataclass(frozen=True)
class Audit:
    """A run held against what was posed.

    Parameters
    ----------
    findings
        Of every check.
    left_out
        What of the run was not looked at, in a sentence; "" if all was.
    """

    findings: Sequence[Finding]
    left_out: str = ""

    @property
    def contradictions(self) -> tuple[Finding, ...]:
        """What in the run contradicts the posed system."""
        return tuple(f for f in self.findings if f.verdict is Verdict.CONTRADICTED)

    @property
    def unchecked(self) -> tuple[Finding, ...]:
        """What was not checked."""
        return tuple(f for f in self.findings if f.verdict is Verdict.NOT_CHECKED)

    @property
    def checked(self) -> int:
        """How many checks hold."""
        return sum(f.verdict is Verdict.HOLDS for f in self.findings)

    @property
    def worst(self) -> float:
        """The largest relative defect of those that hold."""
        held = [f.defect for f in self.findings if f.verdict is Verdict.HOLDS]
        return max((defect for defect in held if defect is not None), default=0.0)

    @property
    def objection(self) -> str:
        """What in the run contradicts the posed system, in a sentence; "" if nothing does."""
        if self.holds:
            return ""
        first, *others = self.contradictions
        rest = f", and {len(others)} more of its checks fail" if others else ""
        return f"{first.owner}: {first.sentence}{rest}"

    @property
    def holds(self) -> bool:
        """Whether nothing contradicts the posed system."""
        return not self.contradictions

    def __str__(self) -> str:
        lines = [str(finding) for finding in self.findings]
        if self.left_out:
            lines.append(self.left_out)
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        found = [asdict(f) | {"verdict": f.verdict.value} for f in self.findings]
        return {"holds": self.holds, "findings": found, "left_out": self.left_out}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Audit:
        """Return an audit from its plain values."""
        rows: Sequence[dict[str, Any]] = value["findings"]
        found = [Finding(**row) for row in rows]
        held = [replace(f, verdict=Verdict(f.verdict)) for f in found]
        return cls(tuple(held), value["left_out"])


def finding_for(
    check: str, subject: str, defect: float, allowed: float, time: float, sentence: str
) -> Finding:
    """Return what a check found whose defect may be as large as allowed."""
    if defect <= allowed:
        return Finding(check, subject, Verdict.HOLDS, defect, time)
    # A defect that is no number is over every limit.
    return Finding(check, subject, Verdict.CONTRADICTED, defect, time, sentence)


def unchecked(check: str, subject: str, why: str) -> Finding:
    """Return that something was not checked, and why."""
    return Finding(check, subject, Verdict.NOT_CHECKED, sentence=why)
