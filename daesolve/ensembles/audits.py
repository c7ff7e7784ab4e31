"""What the audit of a sweep finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from daesolve.core.results.trajectory.findings import Audit
from daesolve.verification.audit import merged


@dataclass(frozen=True)
class SweepAudit:
    """The audits of the members of a sweep.

    Parameters
    ----------
    audits
        By the number of the member.
    unaudited
        Why members were not audited, by their numbers.
    apart
        By member, how far the end of the audited run is from that in the sweep's table: the largest
        difference of a state, relative to the state or, if that is less than one, to one.
    """

    audits: Mapping[int, Audit]
    unaudited: Mapping[int, str]
    apart: Mapping[int, float]

    @property
    def together(self) -> Audit:
        """Of each check the first contradiction, else the largest defect of all members."""
        return merged([*self.audits.values()])

    @property
    def objections(self) -> dict[int, str]:
        """What contradicts the posed system, by the numbers of the members of which it does."""
        return {number: one.objection for number, one in self.audits.items() if not one.holds}

    @property
    def holds(self) -> bool:
        """Whether no member contradicts the posed system."""
        return not self.objections

    def __str__(self) -> str:
        held = len(self.audits) - len(self.objections)
        lines = [f"{held} of {len(self.audits)} members hold, to {self.together.worst:.1g}"]
        if self.apart:
            farthest = max(self.apart, key=lambda number: self.apart[number])
            lines.append(
                f"audited runs end within {self.apart[farthest]:.1g} of the sweep's (member "
                f"{farthest})"
            )
        lines += [f"member {number}: {said}" for number, said in self.objections.items()]
        lines += [f"member {number}: not audited: {why}" for number, why in self.unaudited.items()]
        return "\n".join(lines)
