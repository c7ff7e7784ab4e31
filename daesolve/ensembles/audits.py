"""The audit of a sweep: each of its runs is made once more, and held against what was posed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from daesolve.core.results.trajectory.findings import Audit
from daesolve.core.results.trajectory.trajectory import Trajectory
from daesolve.core.run.solving.early_ends import reported_otherwise
from daesolve.ensembles.chunks import SweepTask
from daesolve.ensembles.members import Table, member_case, values_of
from daesolve.errors import DaesolveError, OutOfRangeError
from daesolve.plugins.bound_case import BoundCase
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


def audited_members(
    case: BoundCase,
    task: SweepTask,
    table: Table,
    results: Iterable[Mapping[str, Any]],
    members: Iterable[int] | None = None,
) -> SweepAudit:
    """Run members of a sweep once more, one by one, and audit each.

    Parameters
    ----------
    case, task, table
        What they share, and the values in which they differ.
    results
        A row for each that has run.
    members
        Their numbers; None for all that have run.

    Raises
    ------
    OutOfRangeError
        There is no such member, or it has not run yet.
    """
    rows = {row["member"]: row for row in results}
    audits: dict[int, Audit] = {}
    unaudited: dict[int, str] = {}
    apart: dict[int, float] = {}
    options = {name: value for name, value in task.options.items() if name != "verify"}
    for number in rows if members is None else members:
        if number not in rows:
            raise OutOfRangeError(f"there are no results for the member {number!r}")
        try:
            with reported_otherwise():
                chosen = member_case(case, values_of(table, number))
                run = chosen.solve(task.until, at=[], **options)
            audits[number] = run.audit()
        except DaesolveError as error:
            unaudited[number] = str(error)
            continue
        apart[number] = _apart(run, rows[number])
    return SweepAudit(audits, unaudited, apart)


def _apart(run: Trajectory, row: Mapping[str, Any]) -> float:
    """Return how far a run ends from where its row in the table says."""
    ends = {name: row.get(f"end_{name}") for name in run.end_state}
    off = [
        abs(run.end_state[name] - float(end)) / max(1.0, abs(run.end_state[name]))
        for name, end in ends.items()
        if end is not None
    ]
    return max(off, default=0.0)
