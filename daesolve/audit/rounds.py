"""The rounds of a run: events that happen together and share what was before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from daesolve.audit.certificate import ONCE, Certificate
from daesolve.audit.expressions import names_of_states
from daesolve.trajectory.results import EventRecord, Impact


@dataclass(frozen=True, eq=False)
class Round:
    """Events that happened together: their records, and the states before and after."""

    time: float
    records: Sequence[EventRecord]

    @property
    def before(self) -> Mapping[str, float]:
        """The states before."""
        return self.records[0].detail

    @property
    def after(self) -> Mapping[str, float]:
        """The states and the discrete values after."""
        return self.records[0].after or {}

    @property
    def impact(self) -> Impact | None:
        """The impact, if there was one."""
        return next((r.impact for r in self.records if r.impact is not None), None)


def rounds_of(records: Sequence[EventRecord]) -> list[Round]:
    """Return the rounds in which events changed something."""
    changing = [record for record in records if record.after is not None]

    def together(record: EventRecord) -> tuple[object, ...]:
        after = record.after or {}
        return record.time, tuple(record.detail.values()), tuple(after.values())

    return [Round(key[0], [*group]) for key, group in groupby(changing, together)]  # pyright: ignore[reportArgumentType]


def at_instants(
    certificate: Certificate,
    rounds: Sequence[Round],
    values: Sequence[Mapping[str, float]],
    more: Mapping[str, np.ndarray],
    *,
    after: bool = False,
) -> Certificate:
    """Return the instants of some rounds as steps with one node."""
    named = [one.after if after else one.before for one in rounds]
    columns = {n: np.array([row[n] for row in named]) for n in names_of_states(certificate.system)}
    return replace(
        certificate,
        starts=np.array([one.time for one in rounds]),
        lengths=np.zeros(len(rounds)),
        columns={name: row[:, None] for name, row in {**columns, **more}.items()},
        values={name: np.array([v[name] for v in values]) for name in certificate.values},
        places=ONCE,
    )
