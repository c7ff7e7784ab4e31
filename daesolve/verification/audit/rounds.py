"""The rounds of a run: events that happen together and share what was before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from daesolve.core.results.trajectory.results import EventRecord, Impact
from daesolve.verification.audit.certificate import ONCE, Certificate, same_instant
from daesolve.verification.audit.expressions import names_of_states


@dataclass(frozen=True, eq=False)
class Round:
    """Events that happened together and changed something.

    Parameters
    ----------
    records
        Of each of them.
    place
        After which step it comes: -1 at the start, n after the last of n steps; -2 where none ends.
    before, after
        The states before, and the states and discrete values after.
    held
        The values in force before; None where they are not known.
    """

    records: Sequence[EventRecord]
    place: int
    before: Mapping[str, float]
    after: Mapping[str, float]
    held: Mapping[str, float] | None

    @property
    def time(self) -> float:
        """When it was, s."""
        return self.records[0].time

    @property
    def impact(self) -> Impact | None:
        """The impact, if there was one."""
        return next((r.impact for r in self.records if r.impact is not None), None)


def rounds_of(certificate: Certificate) -> list[Round]:
    """Return the rounds of a run."""
    names, held = certificate.system.discrete.names, certificate.values
    others = [name for name in held if name not in names]
    ends = np.append(certificate.starts[:1], certificate.starts + certificate.lengths)
    changing = [record for record in certificate.events if record.after is not None]
    rounds: list[Round] = []
    for (time, before, after), records in groupby(
        changing, lambda one: (one.time, one.detail, one.after or {})
    ):
        # Steps may be shorter than what two events of one instant may be apart.
        near = int(np.argmin(np.abs(ends - time)))
        place = near - 1 if same_instant(time, ends[near]) else -2
        known = {name: float(row[place]) for name, row in held.items()} if place >= 0 else None
        if place == -1 and not certificate.continues:
            begins = certificate.parameters
            known = {name: begins[name] for name in held} if held.keys() <= begins.keys() else None
        # Where an input steps, an event may have come before or after that.
        if 0 <= place < len(ends) - 2 and any(held[n][place] != held[n][place + 1] for n in others):
            known = None
        if known is not None and rounds and same_instant(time, rounds[-1].time):
            known |= {name: rounds[-1].after.get(name, 0.0) for name in names}
        rounds.append(Round([*records], place, before, after, known))
    return rounds


def at_instants(
    certificate: Certificate,
    rounds: Sequence[Round],
    more: Mapping[str, np.ndarray],
    *,
    after: bool = False,
) -> Certificate:
    """Return the instants of some rounds, in which values are known, as steps with one node."""
    named = [one.after if after else one.before for one in rounds]
    columns = {n: np.array([row[n] for row in named]) for n in names_of_states(certificate.system)}
    held = [one.held or {} for one in rounds]
    return replace(
        certificate,
        starts=np.array([one.time for one in rounds]),
        lengths=np.zeros(len(rounds)),
        columns={name: row[:, None] for name, row in {**columns, **more}.items()},
        values={name: np.array([known[name] for known in held]) for name in certificate.values},
        places=ONCE,
    )
