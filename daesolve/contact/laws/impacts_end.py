"""When impacts that are left out, as lower than what counts as a gap of zero, would have ended."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daesolve.contact.decisions import accumulation
from daesolve.contact.posing.names import ACCUMULATED, REST
from daesolve.core.events.law import Setting
from daesolve.core.posing.value_names import ENDS, PENDING

WITHIN = 1e-3
"""The end of impacts must be known to this fraction of their last few intervals."""


@dataclass(frozen=True)
class ImpactsEnd:
    """When impacts that are left out end: its event, the guard of that, and its values in p.

    And the event at which all rests.
    """

    event: int
    rest: int
    guard: int
    pending: int
    ends: int

    @staticmethod
    def of(setting: Setting) -> ImpactsEnd:
        """Return where a problem has it."""
        values = list(setting.dynamics.values)
        names = [event.name for event in setting.table.events]
        event, rest = names.index(ACCUMULATED), names.index(REST)
        guard = int(setting.table.firsts[event])
        return ImpactsEnd(event, rest, guard, values.index(PENDING), values.index(ENDS))

    def answered(
        self, time: float, p: np.ndarray, ended: bool, met: np.ndarray
    ) -> tuple[np.ndarray, list[int]]:
        """Return values after impacts that are left out have ended, or begun; and their events.

        Parameters
        ----------
        time, p, met
            As in `expected`.
        ended
            Whether those that were expected have ended.
        """
        if ended:
            p = p.copy()
            p[self.pending] = 0.0
        return self.expected(time, p, met), [self.event] if ended else []

    def expected(self, time: float, p: np.ndarray, met: np.ndarray) -> np.ndarray:
        """Return values that say when impacts that are left out would have ended.

        Parameters
        ----------
        time, p
            When (s), and the values.
        met
            (k, 5) when the contacts that stay closed before, s.
        """
        limits: list[float] = []
        for times in met:
            known = times[np.isfinite(times)]
            if len(known) < 2 or not np.all(np.diff(known) > 0.0):
                continue
            found = accumulation(known, WITHIN * (known[-1] - known[0]))
            if found is not None and found.time > time:
                limits.append(found.time)
        if not limits:
            return p
        p = p.copy()
        p[self.pending], p[self.ends] = 1.0, max(limits)
        return p
